//! `retention`: deletion of finished work items, in bounded batches.

use std::sync::Arc;

use async_trait::async_trait;
use wasmtime::component::{HasSelf, Linker};

use crate::bindings::workhost::handler::retention;
use crate::control::Control;
use crate::job::Job;
use crate::sandbox::State;

/// The right to delete finished work items.
#[derive(Clone)]
pub struct RetentionGrant {
    /// Items that finished fewer days ago than this are never deleted.
    pub min_days: u32,
    /// Who deletes.
    pub backend: Arc<dyn Retention>,
}

/// Deletes finished work items: the other side of the capability, which knows the store.
#[async_trait]
pub trait Retention: Send + Sync {
    /// Deletes one bounded batch of items that finished more than so many days ago, and answers how many.
    /// `id` and `attempt` fence it: an attempt that lost its item deletes nothing. The error is text for
    /// the guest.
    async fn delete_finished(&self, id: u64, attempt: u32, older_than_days: u32) -> Result<u64, String>;
}

/// What the attempt's calls of `retention` reach.
pub(crate) struct RetentionContext {
    control: Arc<Control>,
    grant: Option<RetentionGrant>,
    id: u64,
    attempt: u32,
}

impl RetentionContext {
    pub(crate) fn new(control: Arc<Control>, grant: Option<RetentionGrant>, job: &Job) -> Self {
        RetentionContext { control, grant, id: job.id, attempt: job.attempt }
    }

    /// Refuses everything.
    pub(crate) fn none(control: Arc<Control>) -> Self {
        RetentionContext { control, grant: None, id: 0, attempt: 0 }
    }
}

impl retention::Host for RetentionContext {
    async fn delete_finished(&mut self, older_than_days: u32) -> wasmtime::Result<Result<u64, String>> {
        self.control.alive()?;
        let Some(grant) = &self.grant else {
            return Ok(Err("retention is not granted here".into()));
        };
        if older_than_days < grant.min_days {
            return Ok(Err(format!(
                "{older_than_days} days are fewer than the {} that the grant allows",
                grant.min_days
            )));
        }
        Ok(grant.backend.delete_finished(self.id, self.attempt, older_than_days).await)
    }
}

pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    retention::add_to_linker::<State, HasSelf<RetentionContext>>(linker, |state| &mut state.retention)
}

#[cfg(test)]
mod tests {
    use super::retention::Host;
    use super::*;

    struct Seven;

    #[async_trait]
    impl Retention for Seven {
        async fn delete_finished(&self, id: u64, attempt: u32, older_than_days: u32) -> Result<u64, String> {
            assert_eq!((id, attempt), (3, 2));
            assert!(older_than_days >= 30, "below the grant");
            Ok(7)
        }
    }

    fn context(control: &Arc<Control>) -> RetentionContext {
        let grant = RetentionGrant { min_days: 30, backend: Arc::new(Seven) };
        RetentionContext { control: control.clone(), grant: Some(grant), id: 3, attempt: 2 }
    }

    #[tokio::test]
    async fn deletion_never_goes_below_the_days_of_the_grant() {
        let control = Arc::new(Control::new());
        let mut context = context(&control);
        assert_eq!(context.delete_finished(30).await.unwrap(), Ok(7));
        assert!(context.delete_finished(29).await.unwrap().unwrap_err().contains("30"));
    }

    #[tokio::test]
    async fn an_ended_attempt_deletes_nothing() {
        let control = Arc::new(Control::new());
        let mut context = context(&control);
        control.end();
        assert!(context.delete_finished(30).await.is_err());
    }

    #[tokio::test]
    async fn without_a_grant_nothing_is_deleted() {
        let mut context = RetentionContext::none(Arc::new(Control::new()));
        assert!(context.delete_finished(30).await.unwrap().is_err());
    }
}
