//! The handler of kind `token-cleanup`: deletes refresh tokens that have expired.
//!
//! The application's schema is not known here. The statement `delete-expired-tokens` stands in workhost's
//! configuration and takes the cutoff as its one parameter; README.md shows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workhost_sdk::{Ending, Failure, Handler, Timestamp, Work, export_handlers, sql};

/// Deletes the refresh tokens that expired before a cutoff.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenCleanup {
    /// The cutoff: a token that expires exactly then stays. Without it, the time at which the run starts.
    before: Option<Timestamp>,
}

/// What a run did.
#[derive(Debug, Serialize)]
pub struct Deleted {
    /// How many tokens were deleted.
    deleted: u64,
    /// All of them had expired before this time.
    cutoff: Timestamp,
}

impl Handler for TokenCleanup {
    const KIND: &'static str = "token-cleanup";
    const SUMMARY: &'static str = "Deletes refresh tokens that have expired.";
    type Summary = Deleted;

    fn run(self, _: &Work) -> Result<Ending<Deleted>, Failure> {
        let cutoff = self.before.unwrap_or_else(Timestamp::now);
        let deleted = sql::execute("delete-expired-tokens", &[cutoff.into()])?;
        Ok(Ending::Done(Deleted { deleted, cutoff }))
    }
}

export_handlers!(TokenCleanup);

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use workhost_sdk::sql::{Error, Value};
    use workhost_sdk::testing::sqlite::Database;
    use workhost_sdk::testing::{Host, Ran};

    use super::*;

    fn run(payload: &str) -> (Ran, Vec<(String, Vec<Value>)>) {
        let calls = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&calls);
        let host = Host::new().execute(move |statement, params| {
            seen.borrow_mut().push((statement.to_owned(), params.to_vec()));
            Ok(3)
        });
        (host.run::<TokenCleanup>(payload), calls.take())
    }

    #[test]
    fn the_cutoff_is_the_one_parameter_of_the_named_statement() {
        let (ran, calls) = run(r#"{"before": "2026-01-31T14:00:00+02:00"}"#);
        assert!(
            matches!(&calls[..], [(name, params)] if name == "delete-expired-tokens"
                && matches!(params[..], [Value::Timestamp(1_769_860_800_000_000)])),
            "{calls:?}"
        );
        let summary = serde_json::json!({ "deleted": 3, "cutoff": "2026-01-31T12:00:00Z" });
        assert_eq!(ran.ending, Ok(Ending::Done(summary)));
    }

    #[test]
    fn a_token_that_expires_exactly_at_the_cutoff_stays() {
        let schema = "
            create table refresh_tokens (name text, expires_at text);
            insert into refresh_tokens values
                ('long before', '2020-01-01T00:00:00.000000Z'), ('just before', '2026-01-31T11:59:59.999999Z'),
                ('exactly then', '2026-01-31T12:00:00.000000Z'), ('after', '2026-01-31T12:00:00.000001Z')";
        let database = Database::new(schema, include_str!("../statements.toml"));
        let ran = Host::new().execute(database.answers()).run::<TokenCleanup>(r#"{"before": "2026-01-31T12:00:00Z"}"#);
        assert!(matches!(ran.ending, Ok(Ending::Done(summary)) if summary["deleted"] == 2));
        let left = database.rows("select name from refresh_tokens order by expires_at");
        assert_eq!(left, [["exactly then".into()], ["after".into()]]);
    }

    #[test]
    fn without_a_cutoff_it_is_now() {
        let earliest = Timestamp::now().as_micros();
        let (_, calls) = run("{}");
        let latest = Timestamp::now().as_micros();
        assert!(matches!(calls[0].1[..], [Value::Timestamp(cutoff)] if (earliest..=latest).contains(&cutoff)));
    }

    #[test]
    fn a_cutoff_that_is_no_time_deletes_nothing_and_fails_for_good() {
        let (ran, calls) = run(r#"{"before": "yesterday"}"#);
        let failure = ran.ending.unwrap_err();
        assert!(failure.permanent && failure.message.contains("`before`"), "{failure:?}");
        assert!(!failure.message.contains("yesterday"), "a payload's value is in a message: {failure:?}");
        assert!(calls.is_empty());
    }

    #[test]
    fn an_unreachable_database_is_a_failure_that_may_pass() {
        let ran = Host::new().execute(|_, _| Err(Error::Unavailable("app is away".into()))).run::<TokenCleanup>("{}");
        assert_eq!(ran.ending, Err(Failure::new("app is away")));
    }
}
