//! The tokens with which people and programs show who they are. A token itself is never stored, only its hash.

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::{Limits, QueueError, Result};

/// What the bearer of a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Everything.
    Admin,
    /// Read.
    Viewer,
    /// Enqueue, and nothing else.
    Enqueuer,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 3] = [Role::Admin, Role::Viewer, Role::Enqueuer];

    /// The word for this role.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Admin => "admin",
            Role::Viewer => "viewer",
            Role::Enqueuer => "enqueuer",
        }
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl std::str::FromStr for Role {
    type Err = String;

    fn from_str(word: &str) -> std::result::Result<Self, String> {
        let known = Role::ALL.into_iter().find(|role| role.as_str() == word);
        known.ok_or_else(|| format!("`{word}` is no role: admin, viewer or enqueuer"))
    }
}

/// A token to add. Its maker draws it at random, with at least 128 bits, and shows it once.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// What people call it; one living token has it.
    pub name: String,
    /// What its bearer may do.
    pub role: Role,
    /// SHA-256 of the token.
    pub sha256: [u8; 32],
}

impl NewToken {
    pub(crate) fn check(&self, limits: &Limits) -> Result<()> {
        limits.check_words("name", &self.name)
    }

    /// Why it was not added.
    pub(crate) fn taken(&self) -> QueueError {
        let reason = format!("there is a token `{}` already, or this very token under another name", self.name);
        QueueError::Invalid { field: "name", reason }
    }
}

/// The number of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenId(pub i64);

/// A token, without its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Token {
    /// Its number.
    pub id: TokenId,
    /// What people call it.
    pub name: String,
    /// What its bearer may do.
    pub role: Role,
    /// When it was added.
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    /// When it was last shown, to within a minute.
    #[serde(with = "time::serde::rfc3339::option")]
    pub last_used_at: Option<OffsetDateTime>,
    /// When it was revoked. Nobody is let in with it since then.
    #[serde(with = "time::serde::rfc3339::option")]
    pub revoked_at: Option<OffsetDateTime>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_known_by_its_word() {
        for (role, word) in [(Role::Admin, "admin"), (Role::Viewer, "viewer"), (Role::Enqueuer, "enqueuer")] {
            assert_eq!((role.to_string().as_str(), word.parse()), (word, Ok(role)));
        }
        assert!("root".parse::<Role>().unwrap_err().contains("viewer"));
    }
}
