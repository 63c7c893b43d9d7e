//! The `queue` capability: more work, enqueued by the running attempt.

use serde::Serialize;

use crate::bindings::workhost::handler::queue::{self as wit, EnqueueError};
use crate::{Failure, host};

pub use crate::bindings::workhost::handler::queue::Enqueued;

/// An item to enqueue.
#[derive(Clone, Debug, PartialEq)]
pub struct NewItem(pub(crate) wit::NewItem);

/// Why nothing was enqueued.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A kind is not listed in the grant.
    #[error("{0}")]
    NotGranted(String),
    /// An item is not one that the queue takes: which one, and why.
    #[error("{0}")]
    Invalid(String),
    /// The queue's store did not answer. Trying again may help; items without a dedup key may be enqueued twice then.
    #[error("{0}")]
    Unavailable(String),
}

impl NewItem {
    /// An item of this kind, due now, without key, scope or priority.
    ///
    /// # Panics
    /// If the payload cannot be written as JSON, such as a map whose keys are no texts.
    pub fn new(kind: &str, payload: &impl Serialize) -> NewItem {
        NewItem(wit::NewItem {
            kind: kind.to_owned(),
            payload: serde_json::to_string(payload).expect("a payload can be written as JSON"),
            dedup_key: None,
            scope: None,
            delay_seconds: 0,
            priority: 0,
        })
    }

    /// While an item of its kind with this key is queued, enqueueing it answers that one.
    pub fn dedup_key(mut self, key: &str) -> NewItem {
        self.0.dedup_key = Some(key.to_owned());
        self
    }

    /// At most one item of this scope runs at a time.
    pub fn scope(mut self, scope: &str) -> NewItem {
        self.0.scope = Some(scope.to_owned());
        self
    }

    /// It is due this many seconds from now.
    pub fn delay_seconds(mut self, seconds: u32) -> NewItem {
        self.0.delay_seconds = seconds;
        self
    }

    /// Higher runs first; the usual priority is 0.
    pub fn priority(mut self, priority: i32) -> NewItem {
        self.0.priority = priority;
        self
    }
}

/// Enqueues items, all or none, and answers each in order. They name this attempt's item as their parent.
///
/// An attempt that is repeated enqueues again: give each item a dedup key, or see to it that a second one does no harm.
///
/// # Errors
/// Says why nothing was enqueued.
pub fn enqueue(items: impl IntoIterator<Item = NewItem>) -> Result<Vec<Enqueued>, Error> {
    let items: Vec<wit::NewItem> = items.into_iter().map(|item| item.0).collect();
    Ok(host::enqueue(&items)?)
}

impl From<EnqueueError> for Error {
    fn from(error: EnqueueError) -> Self {
        match error {
            EnqueueError::NotGranted(reason) => Error::NotGranted(reason),
            EnqueueError::Invalid(reason) => Error::Invalid(reason),
            EnqueueError::Unavailable(reason) => Error::Unavailable(reason),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::NotGranted(reason) | Error::Invalid(reason) => Failure::permanent(reason),
            Error::Unavailable(reason) => Failure::new(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;
    use crate::testing::Host;
    use crate::{Ending, Handler, Work};

    #[derive(Deserialize, JsonSchema)]
    struct Fan {}

    impl Handler for Fan {
        const KIND: &'static str = "fan";
        const SUMMARY: &'static str = "Enqueues.";
        type Summary = u64;

        fn run(self, _: &Work) -> Result<Ending<u64>, Failure> {
            let item = NewItem::new("mail", &serde_json::json!({ "to": 7 })).dedup_key("k").scope("s");
            match enqueue([item.delay_seconds(60).priority(-1)])?[..] {
                [Enqueued::Created(id) | Enqueued::Existing(id)] => Ok(Ending::Done(id)),
                _ => Err(Failure::new("one item, one answer")),
            }
        }
    }

    #[test]
    fn an_item_reaches_the_host_as_it_was_made() {
        let ran = Host::new()
            .enqueue(|items| {
                let wit::NewItem { kind, payload, dedup_key, scope, delay_seconds, priority } = &items[0].0;
                assert_eq!((kind.as_str(), payload.as_str()), ("mail", r#"{"to":7}"#));
                assert_eq!((dedup_key.as_deref(), scope.as_deref()), (Some("k"), Some("s")));
                assert_eq!((*delay_seconds, *priority), (60, -1));
                Ok(vec![Enqueued::Created(11)])
            })
            .run::<Fan>("{}");
        assert_eq!(ran.ending, Ok(Ending::Done(11.into())));
    }

    #[test]
    fn what_is_not_granted_fails_for_good() {
        let failure = Host::new().run::<Fan>("{}").ending.unwrap_err();
        assert!(failure.permanent && failure.message.contains("not granted"), "{failure:?}");
        let down = Host::new().enqueue(|_| Err(Error::Unavailable("no answer".to_owned()))).run::<Fan>("{}");
        assert!(!down.ending.unwrap_err().permanent);
    }
}
