//! From [`Handler`] types to the functions that a component exports.

use crate::__export::{Ending as WitEnding, Failure as WitFailure, KindDescription, WorkItem};
use crate::{Ending, Failure, Handler, Work};

/// Makes a component of one or more [`Handler`](crate::Handler) types, once per crate:
/// `export_handlers!(TokenCleanup);`
#[macro_export]
macro_rules! export_handlers {
    ($($handler:ty),+ $(,)?) => {
        const _: () = {
            struct Exported;

            impl $crate::__export::Guest for Exported {
                fn describe() -> ::std::vec::Vec<$crate::__export::KindDescription> {
                    ::std::vec![$($crate::__export::describe::<$handler>()),+]
                }

                fn run(
                    item: $crate::__export::WorkItem,
                ) -> ::core::result::Result<$crate::__export::Ending, $crate::__export::Failure> {
                    $(
                        if item.kind == <$handler as $crate::Handler>::KIND {
                            return $crate::__export::run::<$handler>(item);
                        }
                    )+
                    ::core::result::Result::Err($crate::__export::unknown_kind(&item))
                }
            }

            $crate::bindings::export!(Exported with_types_in $crate::bindings);
        };
    };
}

/// What a component says about one of its kinds.
pub fn describe<H: Handler>() -> KindDescription {
    KindDescription {
        kind: H::KIND.to_owned(),
        summary: H::SUMMARY.to_owned(),
        payload_schema: schemars::schema_for!(H).as_value().to_string(),
    }
}

/// Runs one item of this handler's kind.
///
/// # Errors
/// The handler's failure, or a permanent one if the payload does not fit the handler's type.
pub fn run<H: Handler>(item: WorkItem) -> Result<WitEnding, WitFailure> {
    let handler = payload::<H>(&item.payload)?;
    let work = Work::new(item.id, item.attempt, item.scope, item.resume_from);
    let ending = match handler.run(&work)? {
        Ending::Done(summary) => WitEnding::Done(to_json(&summary)?),
        Ending::Stopped(summary) => WitEnding::Stopped(to_json(&summary)?),
    };
    Ok(ending)
}

/// The answer to an item of a kind that the component did not describe.
pub fn unknown_kind(item: &WorkItem) -> WitFailure {
    Failure::permanent(format!("this component runs no kind `{}`", item.kind)).into()
}

// The host has checked the payload against the schema. What is left are rules that a schema does not
// say. The message names the place and no value: payloads are not logged.
fn payload<H: Handler>(json: &str) -> Result<H, Failure> {
    let mut json = serde_json::Deserializer::from_str(json);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let place = match error.path().to_string() {
            path if path == "." => "the payload".to_owned(),
            path => format!("the payload's `{path}`"),
        };
        Failure::permanent(format!("{place} is not what kind `{}` takes", H::KIND))
    })
}

fn to_json(summary: &impl serde::Serialize) -> Result<Option<String>, Failure> {
    match serde_json::to_string(summary) {
        Ok(json) if json == "null" => Ok(None),
        Ok(json) => Ok(Some(json)),
        Err(error) => Err(Failure::permanent(format!("the summary is not valid JSON: {error}"))),
    }
}

impl From<Failure> for WitFailure {
    fn from(failure: Failure) -> Self {
        WitFailure { message: failure.message, permanent: failure.permanent }
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Nap {
        /// How long.
        minutes: u8,
    }

    impl Handler for Nap {
        const KIND: &'static str = "nap";
        const SUMMARY: &'static str = "Sleeps.";
        type Summary = Option<u8>;

        fn run(self, _: &Work) -> Result<Ending<Option<u8>>, Failure> {
            match self.minutes {
                0 => Ok(Ending::Done(None)),
                minutes @ ..60 => Ok(Ending::Stopped(Some(minutes))),
                _ => Err("that is no nap".into()),
            }
        }
    }

    fn nap(payload: &str) -> Result<WitEnding, WitFailure> {
        run::<Nap>(WorkItem {
            id: 1,
            kind: "nap".to_owned(),
            scope: None,
            attempt: 1,
            payload: payload.to_owned(),
            resume_from: None,
        })
    }

    #[test]
    fn the_payloads_type_is_its_schema() {
        let described = describe::<Nap>();
        let schema: serde_json::Value = serde_json::from_str(&described.payload_schema).unwrap();
        assert_eq!((described.kind.as_str(), described.summary.as_str()), ("nap", "Sleeps."));
        assert_eq!(schema["properties"]["minutes"]["description"], "How long.");
        assert_eq!((&schema["required"], &schema["additionalProperties"]), (&["minutes"][..].into(), &false.into()));
    }

    #[test]
    fn a_summary_of_nothing_is_left_out() {
        assert!(matches!(nap(r#"{"minutes": 0}"#), Ok(WitEnding::Done(None))));
        assert!(matches!(nap(r#"{"minutes": 9}"#), Ok(WitEnding::Stopped(Some(json))) if json == "9"));
    }

    #[test]
    fn a_handlers_failure_is_passed_on_and_may_be_tried_again() {
        assert!(matches!(nap(r#"{"minutes": 90}"#), Err(failure) if !failure.permanent));
    }

    #[test]
    fn a_payload_that_does_not_fit_fails_for_good_with_the_place_and_not_the_value() {
        for (payload, place) in
            [(r#"{"minutes": 777}"#, "`minutes`"), (r#"{"hours": 777}"#, "`hours`"), ("777", "payload")]
        {
            let failure = nap(payload).unwrap_err();
            assert!(failure.permanent && failure.message.contains(place), "{failure:?}");
            assert!(!failure.message.contains("777"), "a payload's value is in a message: {failure:?}");
        }
    }

    #[test]
    fn an_item_of_a_kind_that_was_not_described_fails_for_good() {
        let item = WorkItem {
            id: 1,
            kind: "other".to_owned(),
            scope: None,
            attempt: 1,
            payload: "{}".to_owned(),
            resume_from: None,
        };
        assert!(unknown_kind(&item).permanent);
    }
}
