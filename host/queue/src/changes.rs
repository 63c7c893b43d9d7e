//! Following what changes.

use serde::Serialize;

use crate::WorkItem;

/// A place in the store's changes. Opaque; as text, it can be handed to a reader and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The change: on PostgreSQL the transaction's number, on SQLite a count.
    pub(crate) change: u64,
    /// The last item that was told of it.
    pub(crate) id: i64,
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.change, self.id)
    }
}

impl std::str::FromStr for Cursor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('-').and_then(|(change, id)| Some((change.parse().ok()?, id.parse().ok()?)));
        let (change, id) = parsed.ok_or_else(|| format!("`{text}` is no cursor: expected one as it was given out"))?;
        Ok(Cursor { change, id })
    }
}

impl Serialize for Cursor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What changed since a cursor.
#[derive(Clone, Debug)]
pub enum Changes {
    /// These items changed. Each is told once, as it is now, however often it changed; a page as full as was asked for
    /// may have more behind it. An item that retention removed is not told.
    Items {
        /// The items, in the order of their last change.
        items: Vec<WorkItem>,
        /// Where to go on.
        cursor: Cursor,
    },
    /// There was no cursor, it is too old, or it is not of this store: an item whose change was not told is gone. Read
    /// everything anew, and then go on from here; what changes meanwhile will be told.
    Resync {
        /// Where to go on.
        cursor: Cursor,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_as_text() {
        let cursor = Cursor { change: u64::MAX, id: i64::MAX };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for odd in ["", "-", "1", "1-x", "-1-1", "x-1"] {
            assert!(odd.parse::<Cursor>().is_err(), "{odd}");
        }
    }
}
