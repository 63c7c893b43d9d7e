//! Cron schedules: which wall clock times they name, and which instants these are.

mod expression;
mod zone;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use time::OffsetDateTime;

use expression::Expression;

/// A cron expression and the time zone whose wall clock it is about.
///
/// A **slot** is the first instant at which the zone's wall clock shows a time that the expression names, or a later
/// one. So a time that the clock skips is a slot at the end of that gap (`30 2 * * *` in Berlin on the last Sunday of
/// March: 03:00 summer time), several skipped times are one slot, and a time that the clock shows twice is a slot the
/// first time only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    /// Shared by the schedules of all scopes.
    expression: Arc<Expression>,
    zone: TimeZone,
}

/// What is wrong with a cron schedule, and the mend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}: {mend}")]
pub struct InvalidCron {
    /// Which part is at fault.
    pub part: CronPart,
    /// What is wrong with it.
    pub problem: String,
    /// What would be right.
    pub mend: String,
}

/// A part of a cron schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CronPart {
    /// The five fields.
    Expression,
    /// The name of the time zone.
    TimeZone,
}

impl Cron {
    /// Reads an expression of five fields (minute, hour, day of month, month, day of week) and the name of a time zone in
    /// the IANA database, by default UTC. The database is a part of the program, so that all hosts of one version agree.
    ///
    /// # Errors
    /// [`InvalidCron`], also for an expression that never matches.
    pub fn parse(expression: &str, time_zone: Option<&str>) -> Result<Cron, InvalidCron> {
        Ok(Cron { expression: Arc::new(Expression::parse(expression)?), zone: zone::find(time_zone.unwrap_or("UTC"))? })
    }

    /// The first slot after this instant; `None` beyond the times that can be computed, millennia from now.
    pub fn next_after(&self, after: OffsetDateTime) -> Option<OffsetDateTime> {
        let after = Timestamp::from_nanosecond(after.unix_timestamp_nanos()).ok()?;
        let mut shown = self.zone.to_datetime(after);
        // More than one round only where the clock was put back: what it shows again has been a slot before. Slots follow
        // each other as their wall clock times do, so the first one after the instant is the next.
        loop {
            shown = self.expression.next_after(shown)?;
            let slot = self.first_instant(shown)?;
            if slot > after {
                return OffsetDateTime::from_unix_timestamp_nanos(slot.as_nanosecond()).ok();
            }
        }
    }

    /// The first instant at which the wall clock shows this or more.
    fn first_instant(&self, shown: DateTime) -> Option<Timestamp> {
        match self.zone.to_ambiguous_timestamp(shown).offset() {
            AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => {
                offset.to_timestamp(shown).ok()
            }
            AmbiguousOffset::Gap { after, .. } => {
                // By the later offset, a skipped time lies before the change.
                let before_change = after.to_timestamp(shown).ok()?;
                self.zone.following(before_change).find(|change| change.offset() == after).map(|end| end.timestamp())
            }
        }
    }
}

/// `30 3 * * * Europe/Berlin`
impl std::fmt::Display for Cron {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.expression, self.zone.iana_name().unwrap_or("UTC"))
    }
}
