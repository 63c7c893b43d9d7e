//! Every limit of the queue, and how what exceeds one is told or cut.

use std::time::Duration;

use crate::{Json, NewItem, Periodic, QueueError, Result};

/// Bytes of a payload where nobody says otherwise; 1 MiB.
pub const DEFAULT_PAYLOAD_BYTES: usize = 1 << 20;

/// What the queue accepts. What is enqueued past a limit is refused; what an attempt reports past one is
/// cut or replaced by a note, since a state change is never lost because of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a payload; what the store says. A payload says what to work on. The work itself belongs in a store
    /// made for it, and every claim carries the payload through memory several times. SQLite takes
    /// [1 MiB](DEFAULT_PAYLOAD_BYTES) unless this says otherwise. On PostgreSQL applications enqueue past this process, so
    /// the limit of all stands in `workhost.enqueue_limits`; this one can only be lower.
    pub payload_bytes: Option<usize>,
    /// Bytes of a result; 1 MiB, like the payload, for the same reason. A longer one is replaced by a note.
    pub result_bytes: usize,
    /// Bytes of a progress snapshot; 64 KiB. It is rewritten with every heartbeat. Of a longer one nothing is
    /// stored: the snapshot before it stays.
    pub progress_bytes: usize,
    /// Bytes of an error text; 16 KiB, which holds a panic message with a long backtrace. A longer one is cut.
    pub error_bytes: usize,
    /// Bytes of the end of an attempt's log; 16 KiB, some two hundred lines. Of a longer one the end is kept.
    pub log_tail_bytes: usize,
    /// Bytes of a kind's name; 128. It stands in every index and in every metric.
    pub kind_bytes: usize,
    /// Bytes of a scope; 512. It stands in indexes, whose entries PostgreSQL limits to about 2,700 bytes.
    pub scope_bytes: usize,
    /// Bytes of a dedup key; 1,024, for the same reason.
    pub dedup_key_bytes: usize,
    /// Bytes of a host's name and of a handler's digest; 256.
    pub host_bytes: usize,
    /// Bytes of the name of a person, a program or a token; 256.
    pub actor_bytes: usize,
    /// How long a host is shown after it was last seen; 24 hours.
    pub hosts_kept: Duration,
    /// How far in the future an item may be due; ten years. Longer is a mistake of units.
    pub delay: Duration,
    /// Items in one enqueue; 10,000. It is one transaction, and others wait for its dedup keys.
    pub batch_items: usize,
    /// Items in one list; 500, a page that a person can take in.
    pub list_items: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            payload_bytes: None,
            result_bytes: 1 << 20,
            progress_bytes: 64 << 10,
            error_bytes: 16 << 10,
            log_tail_bytes: 16 << 10,
            kind_bytes: 128,
            scope_bytes: 512,
            dedup_key_bytes: 1024,
            host_bytes: 256,
            actor_bytes: 256,
            hosts_kept: Duration::from_secs(24 * 60 * 60),
            delay: Duration::from_secs(10 * 366 * 24 * 60 * 60),
            batch_items: 10_000,
            list_items: 500,
        }
    }
}

impl Limits {
    /// Refuses items that a store could not hold, or should not.
    pub(crate) fn check_new(&self, items: &[NewItem]) -> Result<()> {
        if items.len() > self.batch_items {
            return Err(refused("items", format!("{} at once; the limit is {}", items.len(), self.batch_items)));
        }
        items.iter().try_for_each(|item| self.check(item))
    }

    /// Refuses an item that a store could not hold, or should not, with [`QueueError::Invalid`].
    pub fn check(&self, item: &NewItem) -> Result<()> {
        self.check_kind(&item.kind)?;
        if let Some(scope) = &item.scope {
            self.check_scope(scope)?;
        }
        if let Some(key) = &item.dedup_key {
            check_name("dedup_key", key, self.dedup_key_bytes)?;
        }
        if item.delay > self.delay {
            let (asked, limit) = (item.delay.as_secs(), self.delay.as_secs());
            return Err(refused("delay", format!("{asked} s is longer than the limit of {limit} s")));
        }
        let bytes = item.payload.as_str().len();
        if let Some(limit) = self.payload_bytes.filter(|limit| bytes > *limit) {
            return Err(refused("payload", format!("{bytes} bytes; the limit is {limit}")));
        }
        item.payload.check().map_err(|error| refused("payload", error.to_string()))
    }

    /// The schedules whose items a store could hold. The others are told, and harm none of these.
    pub(crate) fn sound<'p>(&self, periodics: &'p [Periodic]) -> Vec<&'p Periodic> {
        let sound = |periodic: &&Periodic| match self.check(&periodic.item()) {
            Ok(()) => true,
            Err(error) => {
                tracing::error!(kind = periodic.kind, scope = periodic.scope, %error, "a schedule can enqueue nothing");
                false
            }
        };
        periodics.iter().filter(sound).collect()
    }

    pub(crate) fn check_kind(&self, kind: &str) -> Result<()> {
        check_name("kind", kind, self.kind_bytes)?;
        match kind.chars().find(|c| c.is_control()) {
            Some(control) => Err(refused("kind", format!("it contains the control character {control:?}"))),
            None => Ok(()),
        }
    }

    pub(crate) fn check_scope(&self, scope: &str) -> Result<()> {
        check_name("scope", scope, self.scope_bytes)
    }

    pub(crate) fn check_actor(&self, actor: Option<&str>) -> Result<()> {
        actor.map_or(Ok(()), |actor| check_name("actor", actor, self.actor_bytes))
    }

    /// Refuses words of people that are empty, or too long to be a name.
    pub(crate) fn check_words(&self, field: &'static str, words: &str) -> Result<()> {
        // A target may hold the longest kind, and the longest scope beside it.
        check_name(field, words, self.actor_bytes + self.kind_bytes + self.scope_bytes)
    }

    /// Refuses a host's name, or a digest, that a store could not hold, with [`QueueError::Invalid`].
    pub fn check_host(&self, host: &str, digests: impl Iterator<Item = impl AsRef<str>>) -> Result<()> {
        check_name("host", host, self.host_bytes)?;
        for digest in digests {
            check_name("handler_digest", digest.as_ref(), self.host_bytes)?;
        }
        Ok(())
    }

    /// The text as it is stored: without NUL, and cut with a word on its length if it is too long.
    pub(crate) fn error_text(&self, text: &str) -> String {
        let mut stored = text.replace('\0', "\u{fffd}");
        if stored.len() > self.error_bytes {
            let note = format!("… (cut: the text has {} bytes)", stored.len());
            stored.truncate(stored.floor_char_boundary(self.error_bytes.saturating_sub(note.len())));
            stored.push_str(&note);
        }
        stored
    }

    /// The end of a log as it is stored: without NUL, and without its beginning if it is too long.
    pub(crate) fn log_tail(&self, text: &str) -> String {
        let stored = text.replace('\0', "\u{fffd}");
        if stored.len() <= self.log_tail_bytes {
            return stored;
        }
        let note = format!("(cut: the last of {} bytes) …", stored.len());
        let from = stored.len() - self.log_tail_bytes.saturating_sub(note.len()).min(stored.len());
        format!("{note}{}", &stored[stored.ceil_char_boundary(from)..])
    }

    /// The result as it is stored; in place of one that no store takes, a note that says so.
    pub(crate) fn result(&self, result: &Json) -> Json {
        let bytes = result.as_str().len();
        let note = if bytes > self.result_bytes {
            format!("not kept: the result has {bytes} bytes; the limit is {}", self.result_bytes)
        } else {
            match result.made_storable() {
                Ok(storable) => return storable,
                Err(error) => format!("not kept: the result has {error}"),
            }
        };
        serde_json::json!({ "workhost": note }).into()
    }

    /// The progress as it is stored; `None` where no store takes it, so that the one before it stays.
    pub(crate) fn progress(&self, progress: &Json) -> Option<Json> {
        let bytes = progress.as_str().len();
        if bytes > self.progress_bytes {
            tracing::warn!(bytes, limit = self.progress_bytes, "a progress snapshot is too long and was not stored");
            return None;
        }
        progress.made_storable().ok()
    }
}

fn check_name(field: &'static str, name: &str, limit: usize) -> Result<()> {
    if name.is_empty() {
        return Err(refused(field, "it is empty".to_owned()));
    }
    if name.len() > limit {
        return Err(refused(field, format!("{} bytes; the limit is {limit}", name.len())));
    }
    if name.contains('\0') {
        return Err(refused(field, "it contains a NUL character, which PostgreSQL cannot hold".to_owned()));
    }
    Ok(())
}

fn refused(field: &'static str, reason: String) -> QueueError {
    QueueError::Invalid { field, reason }
}

#[cfg(test)]
mod tests;
