//! Enqueueing by a handler, with a queue of the test's own.

use std::sync::Mutex;

use super::queue::Host;
use super::*;
use crate::control::Control;
use crate::job::Job;

/// Remembers what it was asked for.
struct Book {
    answer: Result<(), WorkQueueError>,
    asked: Mutex<Vec<(u64, u32, Vec<NewItem>)>>,
}

#[async_trait]
impl WorkQueue for Book {
    async fn enqueue(&self, id: u64, attempt: u32, items: Vec<NewItem>) -> Result<Vec<Enqueued>, WorkQueueError> {
        let answers = items.iter().map(|item| match &item.dedup_key {
            None => Enqueued::Created(11),
            Some(_) => Enqueued::Existing(10),
        });
        let answers = answers.collect();
        self.asked.lock().unwrap().push((id, attempt, items));
        self.answer.clone().map(|()| answers)
    }

    async fn delete_finished(&self, _: u64, _: u32, _: u32) -> Result<u64, WorkQueueError> {
        unreachable!("not asked for")
    }
}

fn book(answer: Result<(), WorkQueueError>) -> Arc<Book> {
    Arc::new(Book { answer, asked: Mutex::default() })
}

fn context(control: &Arc<Control>, book: &Arc<Book>) -> QueueContext {
    let job = Job { id: 3, kind: "parent".into(), scope: None, attempt: 2, payload: "{}".into(), resume_from: None };
    let grant = QueueGrant { kinds: BTreeSet::from(["mail".to_owned()]) };
    let granted = Granted { grant, backend: book.clone() };
    let limits = Limits { queue_items: 3, ..Limits::default() };
    QueueContext::new(Caller::new(control, &job), Some(granted), &limits)
}

fn item(kind: &str, dedup_key: Option<&str>) -> WitNewItem {
    WitNewItem {
        kind: kind.into(),
        payload: "{}".into(),
        dedup_key: dedup_key.map(str::to_owned),
        scope: None,
        delay_seconds: 60,
        priority: 1,
    }
}

#[tokio::test]
async fn items_of_listed_kinds_reach_the_queue_with_the_attempt_and_are_answered_in_order() {
    let (control, book) = (Arc::new(Control::new()), book(Ok(())));
    let answers = context(&control, &book).enqueue(vec![item("mail", Some("k")), item("mail", None)]).await.unwrap();
    assert!(matches!(answers.unwrap()[..], [WitEnqueued::Existing(10), WitEnqueued::Created(11)]));
    let asked = book.asked.lock().unwrap();
    let (id, attempt, items) = &asked[0];
    assert_eq!((*id, *attempt, items.len()), (3, 2, 2));
    assert_eq!((items[0].delay, items[0].priority), (Duration::from_secs(60), 1));
}

#[tokio::test]
async fn as_many_items_as_the_limit_are_taken() {
    let most = (0..3).map(|_| item("mail", None)).collect();
    let answers = context(&Arc::new(Control::new()), &book(Ok(()))).enqueue(most).await.unwrap();
    assert_eq!(answers.unwrap().len(), 3);
}

#[tokio::test]
async fn a_kind_that_is_not_listed_is_refused_with_the_whole_batch() {
    let (control, book) = (Arc::new(Control::new()), book(Ok(())));
    let refused = context(&control, &book).enqueue(vec![item("mail", None), item("pay\u{1b}", None)]).await.unwrap();
    assert!(matches!(&refused, Err(EnqueueError::NotGranted(words)) if words.contains("`pay\\u{1b}`")), "{refused:?}");
    let many = vec![item("mail", None); 4];
    let refused = context(&control, &book).enqueue(many).await.unwrap();
    assert!(matches!(&refused, Err(EnqueueError::Invalid(words)) if words.contains("4 items")), "{refused:?}");
    assert!(book.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn without_a_grant_nothing_is_enqueued() {
    let (control, book) = (Arc::new(Control::new()), book(Ok(())));
    let mut context = QueueContext { granted: None, ..context(&control, &book) };
    assert!(matches!(context.enqueue(vec![item("mail", None)]).await.unwrap(), Err(EnqueueError::NotGranted(_))));
}

#[tokio::test]
async fn an_ended_attempt_enqueues_nothing() {
    let (control, book) = (Arc::new(Control::new()), book(Ok(())));
    let mut context = context(&control, &book);
    control.end();
    assert!(context.enqueue(vec![item("mail", None)]).await.is_err());
    assert!(book.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_attempt_of_which_the_queue_says_that_it_is_lost_ends() {
    let (control, book) = (Arc::new(Control::new()), book(Err(WorkQueueError::Lost)));
    assert!(context(&control, &book).enqueue(vec![item("mail", None)]).await.is_err());
    assert!(control.is_ended());
}

#[tokio::test]
async fn what_the_queue_refuses_is_told_to_the_handler() {
    let control = Arc::new(Control::new());
    let book = book(Err(WorkQueueError::Unavailable("no answer".into())));
    let refused = context(&control, &book).enqueue(vec![item("mail", None)]).await.unwrap();
    assert!(matches!(refused, Err(EnqueueError::Unavailable(reason)) if reason == "no answer"));
    assert!(!control.is_ended());
}
