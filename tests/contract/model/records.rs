//! What the reference keeps beside the items: what people did and hold back, their tokens, and the hosts.

use std::collections::BTreeMap;
use std::time::Duration;

use time::OffsetDateTime;
use workhost_queue::{
    AUDIT_KEPT, AuditEntry, HostReport, HostSeen, ItemId, NewToken, Pausable, Paused, Token, TokenId,
};

use super::times::now;

const HOSTS_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
const USE_NOTED: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct Records {
    pub(super) pauses: BTreeMap<Pausable, Paused>,
    /// The oldest first.
    pub(super) deeds: Vec<AuditEntry>,
    /// With the byte that its hash is made of.
    pub(super) tokens: Vec<(Token, u8)>,
    pub(super) hosts: BTreeMap<String, HostSeen>,
}

impl Records {
    /// Each new deed removes those that are outdated. What number it gets is the store's choice.
    pub(super) fn deed(&mut self, actor: Option<&str>, action: &str, target: String, item: Option<ItemId>) {
        let early = OffsetDateTime::now_utc() - AUDIT_KEPT;
        self.deeds.retain(|deed| deed.at >= early);
        let (actor, action) = (actor.map(str::to_owned), action.to_owned());
        self.deeds.push(AuditEntry { id: 0, at: now(), actor, action, target, item });
    }

    pub(super) fn pause(&mut self, work: &Pausable, by: Option<&str>) -> bool {
        if self.pauses.contains_key(work) {
            return false;
        }
        let paused = Paused { work: work.clone(), since: now(), by: by.map(str::to_owned) };
        self.pauses.insert(work.clone(), paused);
        self.deed(by, "pause", work.to_string(), None);
        true
    }

    pub(super) fn resume(&mut self, work: &Pausable, by: Option<&str>) -> bool {
        let resumed = self.pauses.remove(work).is_some();
        if resumed {
            self.deed(by, "resume", work.to_string(), None);
        }
        resumed
    }

    /// Whether no new attempt of such an item may begin.
    pub(super) fn holds_back(&self, kind: &str, scope: Option<&str>) -> bool {
        let scoped = |scope: &str| Pausable::Scope { scope: scope.to_owned() };
        self.pauses.contains_key(&Pausable::Kind { kind: kind.to_owned() })
            || scope.is_some_and(|scope| self.pauses.contains_key(&scoped(scope)))
    }

    pub(super) fn add_token(&mut self, token: &NewToken, id: Option<TokenId>, by: Option<&str>) {
        let secret = token.sha256[0];
        let taken = |(old, hash): &(Token, u8)| *hash == secret || (old.name == token.name && old.revoked_at.is_none());
        let taken = self.tokens.iter().any(taken);
        assert_eq!(id.is_none(), taken, "{token:?}");
        if let Some(id) = id {
            assert!(self.tokens.iter().all(|(old, _)| old.id < id), "{id:?} is not new");
            let (name, role) = (token.name.clone(), token.role);
            let token = Token { id, name, role, created_at: now(), last_used_at: None, revoked_at: None };
            self.deed(by, "add", format!("token {}", token.name), None);
            self.tokens.push((token, secret));
        }
    }

    pub(super) fn revoke_token(&mut self, id: TokenId, by: Option<&str>) -> bool {
        let living = self.tokens.iter_mut().find(|(token, _)| token.id == id && token.revoked_at.is_none());
        let Some((token, _)) = living else { return false };
        token.revoked_at = Some(now());
        let target = format!("token {}", token.name);
        self.deed(by, "revoke", target, None);
        true
    }

    /// The token as it was before it was shown.
    pub(super) fn show_token(&mut self, secret: u8) -> Option<Token> {
        let living = |(token, hash): &&mut (Token, u8)| *hash == secret && token.revoked_at.is_none();
        let (token, _) = self.tokens.iter_mut().find(living)?;
        let shown = token.clone();
        if token.last_used_at.is_none_or(|at| at < OffsetDateTime::now_utc() - USE_NOTED) {
            token.last_used_at = Some(now());
        }
        Some(shown)
    }

    pub(super) fn seen(&mut self, report: &HostReport) {
        let HostReport { host, kinds, slots } = report.clone();
        let first_seen_at = self.hosts.get(&host).map_or_else(now, |known| known.first_seen_at);
        self.hosts.retain(|_, known| known.last_seen_at >= OffsetDateTime::now_utc() - HOSTS_KEPT);
        self.hosts.insert(host.clone(), HostSeen { host, kinds, slots, first_seen_at, last_seen_at: now() });
    }
}
