//! When a failed attempt is tried again.

use std::time::Duration;

use crate::config::KindSettings;

/// A kind's policy. Nothing is retried unless the kind asks for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetryPolicy {
    retries: u32,
    first: Duration,
    longest: Duration,
}

impl RetryPolicy {
    pub(super) fn of(settings: &KindSettings) -> RetryPolicy {
        RetryPolicy { retries: settings.retries, first: settings.retry_delay, longest: settings.retry_delay_max }
    }

    /// How long to wait after a failure, given how many the item had before; `None` once its retries are used up.
    ///
    /// The delay doubles with each failure up to the longest. `jitter`, from 0 to 1, takes up to half of it off, so that
    /// items that failed together do not come back together.
    pub(super) fn delay(&self, failures_before: u32, jitter: f64) -> Option<Duration> {
        if failures_before >= self.retries {
            return None;
        }
        let doubled = 2u32.checked_pow(failures_before).and_then(|factor| self.first.checked_mul(factor));
        let delay = doubled.map_or(self.longest, |delay| delay.min(self.longest));
        Some(delay.mul_f64(1.0 - jitter.clamp(0.0, 1.0) / 2.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(policy: &RetryPolicy, failures_before: u32, jitter: f64) -> Option<f64> {
        policy.delay(failures_before, jitter).map(|delay| delay.as_secs_f64())
    }

    #[test]
    fn delays_double_up_to_the_longest_until_the_retries_are_used_up() {
        let policy = RetryPolicy { retries: 6, first: Duration::from_secs(10), longest: Duration::from_secs(60) };
        let delays: Vec<_> = (0..7).map(|failures| seconds(&policy, failures, 0.0)).collect();
        assert_eq!(delays, [Some(10.0), Some(20.0), Some(40.0), Some(60.0), Some(60.0), Some(60.0), None]);
    }

    #[test]
    fn jitter_takes_off_at_most_half() {
        let policy = RetryPolicy { retries: 1, first: Duration::from_secs(10), longest: Duration::from_secs(60) };
        assert_eq!(seconds(&policy, 0, 0.5), Some(7.5));
        assert_eq!(seconds(&policy, 0, 1.0), Some(5.0));
    }

    #[test]
    fn nothing_is_retried_unless_asked_for() {
        let policy = RetryPolicy { retries: 0, first: Duration::from_secs(10), longest: Duration::from_secs(60) };
        assert_eq!(policy.delay(0, 0.0), None);
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let policy = RetryPolicy { retries: u32::MAX, first: Duration::MAX, longest: Duration::from_secs(60) };
        assert_eq!(seconds(&policy, 1000, 0.0), Some(60.0));
    }
}
