//! The handler of kind `work-item-retention`: deletes work items that finished long ago.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workhost_sdk::{Ending, Failure, Handler, Work, export_handlers, retention};

/// Deletes work items that finished more than some days ago.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkItemRetention {
    /// Items that finished more than this many days ago are deleted.
    older_than_days: u32,
}

impl Default for WorkItemRetention {
    fn default() -> Self {
        WorkItemRetention { older_than_days: 30 }
    }
}

/// What a run did, or has done so far.
#[derive(Debug, Serialize)]
pub struct Deleted {
    /// How many items this attempt deleted.
    deleted: u64,
    /// The age that applied.
    older_than_days: u32,
}

impl Handler for WorkItemRetention {
    const KIND: &'static str = "work-item-retention";
    const SUMMARY: &'static str = "Deletes work items that finished long ago.";
    type Summary = Deleted;

    fn run(self, work: &Work) -> Result<Ending<Deleted>, Failure> {
        let mut total = Deleted { deleted: 0, older_than_days: self.older_than_days };
        while work.stop_requested().is_none() {
            match retention::delete_finished(self.older_than_days)? {
                0 => return Ok(Ending::Done(total)),
                batch => total.deleted += batch,
            }
            work.report_progress(&total);
        }
        Ok(Ending::Stopped(total))
    }
}

export_handlers!(WorkItemRetention);

#[cfg(test)]
mod tests {
    use serde_json::json;
    use workhost_sdk::StopReason;
    use workhost_sdk::testing::Host;

    use super::*;

    /// A store that deletes batches of 100 out of this many items.
    fn store(mut items: u64) -> impl FnMut(u32) -> Result<u64, String> {
        move |_| {
            let batch = items.min(100);
            items -= batch;
            Ok(batch)
        }
    }

    #[test]
    fn batches_are_deleted_until_none_is_left() {
        let ran = Host::new().retention(store(250)).run::<WorkItemRetention>("{}");
        assert_eq!(ran.ending, Ok(Ending::Done(json!({ "deleted": 250, "older_than_days": 30 }))));
        assert_eq!(ran.progress[0], json!({ "deleted": 100, "older_than_days": 30 }));
    }

    #[test]
    fn the_age_comes_from_the_payload() {
        let ran = Host::new()
            .retention(|days| if days == 7 { Ok(0) } else { Err(format!("{days}")) })
            .run::<WorkItemRetention>(r#"{"older_than_days": 7}"#);
        assert_eq!(ran.ending, Ok(Ending::Done(json!({ "deleted": 0, "older_than_days": 7 }))));
    }

    #[test]
    fn a_wish_to_stop_ends_it_between_two_batches() {
        let mut asked = 0;
        let ran = Host::new()
            .retention(store(u64::MAX))
            .stop(move || {
                asked += 1;
                (asked > 3).then_some(StopReason::Shutdown)
            })
            .run::<WorkItemRetention>("{}");
        assert_eq!(ran.ending, Ok(Ending::Stopped(json!({ "deleted": 300, "older_than_days": 30 }))));
    }

    #[test]
    fn a_refusal_of_the_host_is_a_failure() {
        let ran = Host::new().retention(|_| Err("below min_days".into())).run::<WorkItemRetention>("{}");
        assert_eq!(ran.ending, Err(Failure::new("below min_days")));
    }
}
