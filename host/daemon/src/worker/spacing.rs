//! Claims of a kind whose handler fails at once, every time, are spaced.
//!
//! A handler that was deployed broken would fail all items that are queued for it within seconds. After some failures in a
//! row its kind is tried with one item at a time, less and less often, until one ends otherwise.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::{info, warn};

/// A failure that came sooner counts as one at once: nothing was done yet.
const AT_ONCE: Duration = Duration::from_secs(1);

/// How many failures at once, in a row, begin the spacing. Fewer could be ten bad items among good ones.
const IN_A_ROW: u32 = 10;

/// The first wait; it doubles with each failure.
const FIRST: Duration = Duration::from_secs(1);

/// The longest wait: a mended handler is noticed within it.
const LONGEST: Duration = Duration::from_secs(30);

/// The kinds that fail, by name.
#[derive(Default)]
pub(super) struct Spacing(Mutex<HashMap<String, Failing>>);

struct Failing {
    in_a_row: u32,
    /// When the next one may be claimed, once the kind is spaced.
    next: Option<Instant>,
}

impl Spacing {
    /// An attempt has failed, so long after it began.
    pub(super) fn failed(&self, kind: &str, after: Duration) {
        if after >= AT_ONCE {
            return self.passed(kind);
        }
        let mut kinds = self.lock();
        let failing = kinds.entry(kind.to_owned()).or_insert(Failing { in_a_row: 0, next: None });
        if failing.next.is_some_and(|next| next > Instant::now()) {
            // It ran already when the spacing began, and tells nothing new.
            return;
        }
        failing.in_a_row = failing.in_a_row.saturating_add(1);
        let Some(over) = failing.in_a_row.checked_sub(IN_A_ROW) else { return };
        if failing.next.is_none() {
            warn!(
                kind,
                in_a_row = failing.in_a_row,
                "its handler fails at once every time: it is tried with one item at a time, up to {LONGEST:?} apart, until one ends otherwise"
            );
        }
        let doubled = 2_u32.checked_pow(over).and_then(|factor| FIRST.checked_mul(factor));
        failing.next = Some(Instant::now() + doubled.map_or(LONGEST, |wait| wait.min(LONGEST)));
    }

    /// An attempt has ended otherwise.
    pub(super) fn passed(&self, kind: &str) {
        if self.lock().remove(kind).is_some_and(|failing| failing.next.is_some()) {
            info!(kind, "its handler works again: its items are claimed as before");
        }
    }

    /// How many of `slots` may be claimed of a kind of which so many run.
    pub(super) fn of(&self, kind: &str, running: u32, slots: u32) -> u32 {
        match self.lock().get(kind).and_then(|failing| failing.next) {
            None => slots,
            Some(next) if running == 0 && next <= Instant::now() => slots.min(1),
            Some(_) => 0,
        }
    }

    /// When the next one of a spaced kind may be claimed, if that is still to come.
    pub(super) fn next(&self) -> Option<Instant> {
        let now = Instant::now();
        self.lock().values().filter_map(|failing| failing.next).filter(|next| *next > now).min()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Failing>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn fail(spacing: &Spacing, times: u32) {
        for _ in 0..times {
            spacing.failed("mail", Duration::ZERO);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_fails_at_once_every_time_is_tried_one_at_a_time_less_and_less_often() {
        let spacing = Spacing::default();
        fail(&spacing, IN_A_ROW - 1);
        assert_eq!((spacing.of("mail", 0, 8), spacing.next()), (8, None));
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            fail(&spacing, 1);
            let wait = Duration::from_secs(seconds);
            assert_eq!((spacing.of("mail", 0, 8), spacing.next()), (0, Some(Instant::now() + wait)));
            advance(wait).await;
            assert_eq!((spacing.of("mail", 0, 8), spacing.of("mail", 1, 7), spacing.next()), (1, 0, None));
        }
        assert_eq!((spacing.of("mail", 0, 0), spacing.of("other", 0, 8)), (0, 8));
    }

    #[tokio::test(start_paused = true)]
    async fn whatever_ends_otherwise_ends_the_spacing() {
        let spacing = Spacing::default();
        for end in [|spacing: &Spacing| spacing.passed("mail"), |spacing: &Spacing| spacing.failed("mail", AT_ONCE)] {
            fail(&spacing, IN_A_ROW);
            assert_eq!(spacing.of("mail", 0, 8), 0);
            end(&spacing);
            assert_eq!((spacing.of("mail", 0, 8), spacing.next()), (8, None));
            // It counts from the start.
            fail(&spacing, IN_A_ROW - 1);
            assert_eq!(spacing.of("mail", 0, 8), 8);
            end(&spacing);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_ran_already_when_the_spacing_began_does_not_lengthen_it() {
        let spacing = Spacing::default();
        fail(&spacing, IN_A_ROW + 100);
        assert_eq!(spacing.next(), Some(Instant::now() + FIRST));
    }

    #[tokio::test(start_paused = true)]
    async fn failures_without_end_do_not_overflow() {
        let spacing = Spacing::default();
        for _ in 0..100 {
            fail(&spacing, 1);
            advance(LONGEST).await;
        }
        fail(&spacing, 1);
        assert_eq!(spacing.next(), Some(Instant::now() + LONGEST));
    }
}
