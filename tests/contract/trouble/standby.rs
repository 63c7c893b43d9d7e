//! A real hot standby: hosts that are led to it, and go on with it once it has taken over.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sqlx::Connection as _;
use workhost_queue::{
    AuditPage, Beat, CancelAnswer, Changes, Claim, Deed, Enqueued, Filter, Finish, HostReport, ItemId, NewToken,
    Outcome, Pausable, Pulse, Queue, QueueError, Recorded, Result, Role, Status, connect,
};

use super::verbs::nothing_but_unavailable;
use crate::replicated::{PATIENCE, Pair};
use crate::store::{LEASE, ask, json, keyed, new};

/// What a promoted store must still have: an item that runs, one that waits, one that is done, and a bit of all else.
async fn fill(queue: &dyn Queue) -> (Claim, ItemId) {
    queue.migrate().await.unwrap();
    let token = NewToken { name: "ci".to_owned(), role: Role::Admin, sha256: [1; 32] };
    queue.add_token(&token, None).await.unwrap();
    queue.pause(&Pausable::Scope { scope: "held".to_owned() }, Some("me")).await.unwrap();
    queue.host_seen(&HostReport { host: "h".to_owned(), kinds: vec!["a".to_owned()], slots: 1 }).await.unwrap();
    queue
        .audit(&Deed { actor: None, action: "reload".to_owned(), target: "all".to_owned(), item: None })
        .await
        .unwrap();
    queue.enqueue(&[new("a"), keyed("a", "runs"), new("a")]).await.unwrap();
    let done = claim_one(queue).await;
    assert_eq!(queue.finish(&[broke(&done)]).await.unwrap(), [Recorded::Recorded]);
    let claim = claim_one(queue).await;
    (claim, queue.list(&Filter::default()).await.unwrap()[0].id)
}

async fn claim_one(queue: &dyn Queue) -> Claim {
    queue.claim(&ask("h", &[("a", 1)])).await.unwrap().pop().expect("an item is due")
}

fn broke(claim: &Claim) -> Finish {
    Finish::new(claim.fence(), Outcome::Failed { error: "broke".to_owned() })
}

/// What every verb that reads answers.
async fn read(queue: &dyn Queue, claim: &Claim) -> Result<Vec<String>> {
    queue.check().await?;
    let items = queue.list(&Filter::default()).await?;
    let mut answers = vec![format!("{items:?}"), format!("{:?}", queue.get(claim.item.id).await?)];
    for item in &items {
        answers.push(format!("{:?}", queue.attempts(item.id).await?));
    }
    answers.push(format!("{:?}", queue.counts().await?));
    answers.push(format!("{:?}", queue.paused().await?));
    answers.push(format!("{:?}", queue.hosts().await?));
    answers.push(format!("{:?}", queue.audit_log(&AuditPage::default()).await?));
    answers.push(format!("{:?}", queue.tokens().await?));
    Ok(answers)
}

/// The attempt that ran when the trouble came is recorded once, the item that waited runs once, and that is all there is.
async fn assert_whole(queue: &dyn Queue, claim: &Claim, waiting: ItemId) {
    let beat = Beat { fence: claim.fence(), progress: Some(json("1")) };
    assert_eq!(queue.heartbeat(&[beat], LEASE).await.unwrap(), [Pulse::Alive]);
    for _ in 0..2 {
        assert_eq!(queue.finish(&[broke(claim)]).await.unwrap(), [Recorded::Recorded]);
    }
    let ended = queue.get(claim.item.id).await.unwrap().unwrap();
    assert_eq!((ended.status, ended.attempt, ended.failures), (Status::Failed, 1, 1));
    assert_eq!(queue.attempts(claim.item.id).await.unwrap().len(), 1);
    let claims = queue.claim(&ask("h", &[("a", 9)])).await.unwrap();
    assert_eq!(crate::store::ids(&claims), [waiting]);
    assert_eq!(claims[0].item.attempt, 1);
    assert_eq!(queue.cancel(waiting).await.unwrap(), CancelAnswer::Requested);
    assert_eq!(queue.recover_expired(3, 10).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hot_standby_reads_and_is_unavailable_to_every_verb_that_writes() {
    let pair = Pair::start().await;
    let (primary, standby) = (pair.primary().host().await, pair.standby().host().await);
    pair.primary().sql("create database empty").await;
    let unmigrated = connect(&pair.standby().url("empty"), Default::default()).await.unwrap();
    assert!(matches!(unmigrated.migrate().await, Err(QueueError::Unavailable { .. })));
    let (claim, _) = fill(&*primary).await;
    assert_eq!(standby.migrate().await.unwrap().applied, [""; 0], "there is nothing to do");
    let before = read(&*primary, &claim).await.unwrap();
    assert_eq!(read(&*standby, &claim).await.unwrap(), before);
    assert_eq!(nothing_but_unavailable(&*standby, &claim).await, [""; 0]);
    assert_eq!(standby.token_by_hash(&[1; 32]).await.unwrap().unwrap().name, "ci", "nobody is shut out");
    assert_eq!(read(&*standby, &claim).await.unwrap(), before);
    assert_eq!(read(&*primary, &claim).await.unwrap(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_follows_the_changes_on_a_hot_standby_and_beyond_its_promotion() {
    let pair = Pair::start().await;
    let (primary, standby) = (pair.primary().host().await, pair.standby().host().await);
    primary.migrate().await.unwrap();
    let Changes::Resync { mut cursor } = standby.changes_since(None, 10).await.unwrap() else { panic!("no cursor") };
    let mut told = Vec::new();
    let mut enqueued = Vec::new();
    for writer in [&primary, &standby] {
        if Arc::ptr_eq(writer, &standby) {
            pair.standby().promote().await;
        }
        enqueued.push(writer.enqueue(&[new("a")]).await.unwrap()[0].id());
        let deadline = Instant::now() + PATIENCE;
        while told.len() < enqueued.len() {
            assert!(Instant::now() < deadline, "{told:?} of {enqueued:?}");
            match standby.changes_since(Some(cursor), 10).await.unwrap() {
                Changes::Items { items, cursor: next } => {
                    told.extend(items.iter().map(|item| item.id));
                    cursor = next;
                }
                resync => panic!("{resync:?}"),
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    assert_eq!(told, enqueued);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_of_a_standby_goes_on_once_that_is_promoted() {
    let pair = Pair::start().await;
    let (primary, standby) = (pair.primary().host().await, pair.standby().host().await);
    let (claim, waiting) = fill(&*primary).await;
    assert_eq!(nothing_but_unavailable(&*standby, &claim).await, [""; 0]);
    pair.standby().promote().await;
    assert_whole(&*standby, &claim, waiting).await;
    assert_eq!(standby.list(&Filter::default()).await.unwrap().len(), 3);
    // What a standby cannot do either is to listen.
    tokio::time::timeout(PATIENCE, standby.wake().notified()).await.expect("the host hears of new work again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_being_enqueued_while_a_standby_looked_is_claimed_as_soon_as_it_is_promoted() {
    let pair = Pair::start().await;
    let (primary, standby) = (pair.primary().host().await, pair.standby().host().await);
    primary.migrate().await.unwrap();
    let mut application = pair.primary().connection("postgres").await.unwrap();
    let mut tx = application.begin().await.unwrap();
    let id: i64 =
        sqlx::query_scalar("select e.id from workhost.enqueue('a', '{}') as e").fetch_one(&mut *tx).await.unwrap();
    // The standby hears of a transaction that is open by one that came later and ended.
    primary.enqueue(&[new("b")]).await.unwrap();
    assert_eq!(standby.claim(&ask("h", &[("a", 1)])).await.unwrap().len(), 0);
    tx.commit().await.unwrap();
    pair.standby().promote().await;
    assert_eq!(claim_one(&*standby).await.item.id, ItemId(id));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_whose_primary_is_lost_goes_on_with_the_standby_and_loses_and_doubles_nothing() {
    let mut pair = Pair::start().await;
    let queue = pair.host().await;
    let (claim, waiting) = fill(&*queue).await;
    let count = Arc::new(AtomicUsize::new(0));
    let enqueueing = tokio::spawn(enqueue_until_refused(Arc::clone(&queue), Arc::clone(&count)));
    let deadline = Instant::now() + PATIENCE;
    while count.load(Ordering::SeqCst) < 10 {
        assert!(Instant::now() < deadline, "{}", count.load(Ordering::SeqCst));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    pair.stop_primary_hard();
    let answered = enqueueing.await.unwrap();
    let beat = Beat { fence: claim.fence(), progress: None };
    let beaten = queue.heartbeat(&[beat], LEASE).await;
    assert!(matches!(beaten, Err(QueueError::Unavailable { .. })), "nobody is there: {beaten:?}");
    pair.lead_to_standby();
    assert_eq!(nothing_but_unavailable(&*queue, &claim).await, [""; 0]);
    pair.standby().promote().await;
    assert_whole(&*queue, &claim, waiting).await;
    // Each was answered and is there, and the one whose answer was lost is made once or not at all.
    for (n, id) in answered.iter().enumerate() {
        assert_eq!(queue.enqueue(&[key(n)]).await.unwrap(), [Enqueued::Existing(*id)]);
    }
    queue.enqueue(&[key(answered.len())]).await.unwrap();
    let counts = queue.counts().await.unwrap();
    let queued: Vec<_> = counts.iter().filter(|count| count.kind == "many").collect();
    assert_eq!(queued.iter().map(|count| count.count).sum::<u64>(), answered.len() as u64 + 1, "{queued:?}");
    assert_eq!(counts.iter().filter(|count| count.kind == "a").map(|count| count.count).sum::<u64>(), 3);
}

fn key(n: usize) -> workhost_queue::NewItem {
    keyed("many", &n.to_string())
}

/// Enqueues one by one, and answers those that were answered.
async fn enqueue_until_refused(queue: Arc<dyn Queue>, count: Arc<AtomicUsize>) -> Vec<ItemId> {
    let mut answered = Vec::new();
    loop {
        match queue.enqueue(&[key(answered.len())]).await {
            Ok(answers) => answered.push(answers[0].created().expect("no other enqueues this key")),
            Err(QueueError::Unavailable { .. }) => return answered,
            Err(error) => panic!("{error:?}"),
        }
        count.store(answered.len(), Ordering::SeqCst);
    }
}
