//! A finish, flattened into what both stores write.

use std::time::Duration;

use crate::{Finish, Limits, Outcome};

/// What one attempt's end writes into its row.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) id: i64,
    pub(crate) attempt: i32,
    /// The outcome's word, kept in the row so that a repeated finish is known again.
    pub(crate) ended_as: &'static str,
    pub(crate) result: Option<String>,
    pub(crate) error: Option<String>,
    /// How far from now a retry is due, in microseconds.
    pub(crate) delay_micros: i64,
    pub(crate) progress: Option<String>,
    pub(crate) log_tail: Option<String>,
}

impl Ending {
    pub(crate) fn new(finish: &Finish, limits: &Limits) -> Ending {
        let (ended_as, result, error, delay) = match &finish.outcome {
            Outcome::Succeeded(result) => ("succeeded", result.as_ref(), None, Duration::ZERO),
            Outcome::Failed { error } => ("failed", None, Some(error), Duration::ZERO),
            Outcome::Cancelled(result) => ("cancelled", result.as_ref(), None, Duration::ZERO),
            Outcome::Released => ("released", None, None, Duration::ZERO),
            Outcome::Retry { error, delay } => ("retry", None, Some(error), (*delay).min(limits.delay)),
        };
        Ending {
            id: finish.fence.id.0,
            attempt: number(finish.fence.attempt),
            ended_as,
            result: result.map(|json| limits.result(json).as_str().to_owned()),
            error: error.map(|text| limits.error_text(text)),
            delay_micros: micros(delay),
            progress: finish
                .progress
                .as_ref()
                .and_then(|json| limits.progress(json))
                .map(|json| json.as_str().to_owned()),
            log_tail: finish.log_tail.as_ref().map(|text| limits.log_tail(text)),
        }
    }
}

/// A duration as a store takes it. A century stands for anything longer, since a store's times end somewhere.
pub(crate) fn micros(duration: Duration) -> i64 {
    const CENTURY: i64 = 100 * 366 * 24 * 60 * 60 * 1_000_000;
    i64::try_from(duration.as_micros()).map_or(CENTURY, |micros| micros.min(CENTURY))
}

/// A count as a store takes it.
pub(crate) fn number(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_century_at_most() {
        assert_eq!(micros(Duration::from_millis(1500)), 1_500_000);
        let century = micros(Duration::MAX);
        assert_eq!(century, 3_162_240_000_000_000, "of 366 days a year");
        assert_eq!(micros(Duration::from_micros(century.unsigned_abs()) + Duration::from_micros(1)), century);
    }
}
