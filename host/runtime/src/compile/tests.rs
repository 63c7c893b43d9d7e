//! What people are told, and how many compile at a time.

use std::future::ready;

use super::*;
use crate::limits::Limits;
use crate::log_of::log_of;
use crate::runtime::Runtime;

fn notices(patience: Duration, work: impl Future<Output = Result<(), LoadError>>) -> Vec<String> {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    log_of(|| drop(tokio.block_on(with_notice(Path::new("handlers/crawl.wasm"), patience, work))))
}

/// Ready when the clock of the runtime has gone on, so that a patience of nothing is over.
async fn slow() -> Result<(), LoadError> {
    tokio::time::sleep(Duration::from_millis(20)).await;
    Ok(())
}

#[test]
fn people_are_told_of_what_takes_long() {
    let told = notices(Duration::ZERO, slow());
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].ends_with("compiling handlers/crawl.wasm"), "{told:?}");
    assert!(told[1].contains("compiled handlers/crawl.wasm in 0.0 s"), "{told:?}");
}

#[test]
fn people_are_not_told_of_what_does_not() {
    assert_eq!(notices(Duration::from_secs(600), slow()), Vec::<String>::new());
    assert_eq!(notices(Duration::ZERO, ready(Ok(()))), Vec::<String>::new());
}

#[test]
fn a_failure_is_not_told_as_a_success() {
    let failure = async {
        slow().await?;
        Err(LoadError::Empty { path: "handlers/crawl.wasm".into() })
    };
    assert_eq!(notices(Duration::ZERO, failure).len(), 1);
}

#[tokio::test]
async fn as_many_compile_at_a_time_as_there_are_cores() {
    let runtime = Runtime::new(Limits { attempts: 1, ..Limits::default() }).unwrap();
    let turns = &runtime.shared().compiling;
    assert_eq!(turns.available_permits(), std::thread::available_parallelism().unwrap().get());
    let all = turns.acquire_many(turns.available_permits() as u32).await.unwrap();
    let mut one_more = std::pin::pin!(runtime.inspect(Path::new("no such file")));
    assert!(tokio::time::timeout(Duration::from_millis(50), &mut one_more).await.is_err(), "it took no turn");
    drop(all);
    assert!(matches!(one_more.await, Err(LoadError::Missing { .. })));
}
