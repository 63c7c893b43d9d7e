//! Deletion by a handler, with a queue of the test's own.

use async_trait::async_trait;

use super::retention::Host;
use super::*;
use crate::capability::queue::{Enqueued, NewItem};
use crate::control::Control;
use crate::job::Job;

/// Answers this to attempt 2 of item 3.
struct Answers(Result<u64, WorkQueueError>);

#[async_trait]
impl WorkQueue for Answers {
    async fn enqueue(&self, _: u64, _: u32, _: Vec<NewItem>) -> Result<Vec<Enqueued>, WorkQueueError> {
        unreachable!("not asked for")
    }

    async fn delete_finished(&self, id: u64, attempt: u32, older_than_days: u32) -> Result<u64, WorkQueueError> {
        assert_eq!((id, attempt), (3, 2));
        assert!(older_than_days >= 30, "below the grant");
        self.0.clone()
    }
}

fn context(control: &Arc<Control>, answer: Result<u64, WorkQueueError>) -> RetentionContext {
    let job = Job { id: 3, kind: "tidy".into(), scope: None, attempt: 2, payload: "{}".into(), resume_from: None };
    let granted = Granted { grant: RetentionGrant { min_days: 30 }, backend: Arc::new(Answers(answer)) };
    RetentionContext::new(Caller::new(control, &job), Some(granted))
}

#[tokio::test]
async fn deletion_never_goes_below_the_days_of_the_grant() {
    let control = Arc::new(Control::new());
    let mut context = context(&control, Ok(7));
    assert_eq!(context.delete_finished(30).await.unwrap(), Ok(7));
    assert!(context.delete_finished(29).await.unwrap().unwrap_err().contains("30"));
}

#[tokio::test]
async fn an_ended_attempt_deletes_nothing() {
    let control = Arc::new(Control::new());
    let mut context = context(&control, Ok(7));
    control.end();
    assert!(context.delete_finished(30).await.is_err());
}

#[tokio::test]
async fn an_attempt_of_which_the_queue_says_that_it_is_lost_ends() {
    let control = Arc::new(Control::new());
    assert!(context(&control, Err(WorkQueueError::Lost)).delete_finished(30).await.is_err());
    assert!(control.is_ended());
}

#[tokio::test]
async fn trouble_with_the_store_is_told_to_the_handler() {
    let control = Arc::new(Control::new());
    let mut context = context(&control, Err(WorkQueueError::Unavailable("no answer".into())));
    assert_eq!(context.delete_finished(30).await.unwrap(), Err("no answer".into()));
    assert!(!control.is_ended());
}

#[tokio::test]
async fn without_a_grant_nothing_is_deleted() {
    let control = Arc::new(Control::new());
    let mut context = RetentionContext { granted: None, ..context(&control, Ok(7)) };
    assert!(context.delete_finished(30).await.unwrap().is_err());
}
