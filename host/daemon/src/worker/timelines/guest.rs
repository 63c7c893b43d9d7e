//! Handlers that do as the test says.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::sleep;
use workhost_runtime::{Control, Ended, Job};

use super::diary::Diary;
use crate::registry::Run;

/// What a guest does.
#[derive(Clone)]
pub(super) enum Guest {
    /// Runs for so long, hearing nothing, and then ends so.
    Ends(Duration, Ended),
    /// Looks each millisecond whether it is to stop; then tidies up for so long, and ends so.
    Tidies(Duration, Ended),
    /// Goes on for ever, hearing nothing.
    Deaf,
    /// Reports progress whenever so long has passed, and is done after the last.
    Reports(Vec<(Duration, &'static str)>),
}

impl Guest {
    pub(super) fn done(after: Duration) -> Guest {
        Guest::Ends(after, Ended::Done(Some("{}".to_owned())))
    }

    pub(super) fn fails(after: Duration) -> Guest {
        Guest::Ends(after, Ended::Failed { message: "no".to_owned(), permanent: false })
    }

    pub(super) fn stops(after: Duration) -> Guest {
        Guest::Tidies(after, Ended::Stopped(Some("{}".to_owned())))
    }

    pub(super) fn with(self, diary: Arc<Diary>) -> Arc<dyn Run> {
        Arc::new(Scripted { guest: self, diary })
    }
}

struct Scripted {
    guest: Guest,
    diary: Arc<Diary>,
}

/// Notes when a guest is no more.
struct Here {
    id: u64,
    diary: Arc<Diary>,
}

impl Drop for Here {
    fn drop(&mut self) {
        self.diary.note(format_args!("gone {}", self.id));
    }
}

#[async_trait]
impl Run for Scripted {
    async fn run(&self, job: Job, control: Arc<Control>) -> Ended {
        // As a component, which never begins once its time is over.
        if control.is_ended() {
            return Ended::ByHost;
        }
        self.diary.note(format_args!("begins {}", job.id));
        let _here = Here { id: job.id, diary: self.diary.clone() };
        tokio::select! {
            biased;
            () = ended(&control) => Ended::ByHost,
            ended = self.guest.run(&job, &control, &self.diary) => ended,
        }
    }
}

/// Returns when the attempt was ended, as the runtime ends a component.
async fn ended(control: &Control) {
    while !control.is_ended() {
        sleep(Duration::from_millis(10)).await;
    }
}

impl Guest {
    async fn run(&self, job: &Job, control: &Control, diary: &Diary) -> Ended {
        match self {
            Guest::Ends(after, ended) => {
                sleep(*after).await;
                ended.clone()
            }
            Guest::Tidies(after, ended) => {
                let reason = loop {
                    match control.stop_asked() {
                        Some(reason) => break reason,
                        None => sleep(Duration::from_millis(1)).await,
                    }
                };
                diary.note(format_args!("hears {} {reason:?}", job.id));
                sleep(*after).await;
                ended.clone()
            }
            Guest::Deaf => std::future::pending().await,
            Guest::Reports(snapshots) => {
                for (after, snapshot) in snapshots {
                    sleep(*after).await;
                    control.set_progress((*snapshot).into()).unwrap();
                }
                Ended::Done(None)
            }
        }
    }
}
