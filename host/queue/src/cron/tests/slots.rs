//! Slots against a wall clock that is read minute by minute.

use std::collections::BTreeSet;

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp, ToSpan};
use proptest::collection::btree_set;
use proptest::prelude::*;
use time::OffsetDateTime;

use crate::Cron;

/// Zones and days on which their clocks were changed, before noon UTC of the day after.
const CHANGES: [(&str, &str); 9] = [
    ("Europe/Berlin", "2026-03-29"),
    ("Europe/Berlin", "2026-10-25"),
    ("America/New_York", "2026-03-08"),
    ("America/New_York", "2026-11-01"),
    ("Australia/Lord_Howe", "2026-10-03"),
    ("Australia/Lord_Howe", "2026-04-04"),
    ("Pacific/Apia", "2011-12-30"),
    // Twice the same day.
    ("Pacific/Kwajalein", "1969-09-30"),
    ("UTC", "2026-06-30"),
];

const A_MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// The values of each field; an empty one stands for `*`.
type Fields = [BTreeSet<i8>; 5];

fn fields() -> impl Strategy<Value = Fields> {
    let day = prop_oneof![3 => Just(BTreeSet::new()), 1 => btree_set(27..=31_i8, 1..3), 1 => btree_set(1..=8_i8, 1..3)];
    (
        prop_oneof![btree_set(0..60_i8, 1..4), Just(BTreeSet::new())],
        prop_oneof![3 => btree_set(0..6_i8, 1..4), 1 => btree_set(0..24_i8, 1..4), 1 => Just(BTreeSet::new())],
        day,
        prop_oneof![4 => Just(BTreeSet::new()), 1 => btree_set(1..=12_i8, 6..12)],
        prop_oneof![2 => Just(BTreeSet::new()), 1 => btree_set(0..7_i8, 1..5)],
    )
        .prop_map(|(minute, hour, day, month, weekday)| [minute, hour, day, month, weekday])
}

fn expression(fields: &Fields) -> String {
    let field = |values: &BTreeSet<i8>| match values.is_empty() {
        true => "*".to_owned(),
        false => values.iter().map(i8::to_string).collect::<Vec<_>>().join(","),
    };
    fields.iter().map(field).collect::<Vec<_>>().join(" ")
}

/// Whether the fields name this time: of the two fields about days, either, if both are given.
fn names([minutes, hours, days, months, weekdays]: &Fields, shown: DateTime) -> bool {
    let has = |values: &BTreeSet<i8>, value| values.is_empty() || values.contains(&value);
    let weekday = has(weekdays, shown.weekday().to_sunday_zero_offset());
    let day = has(days, shown.day());
    let either = if days.is_empty() || weekdays.is_empty() { day && weekday } else { day || weekday };
    has(minutes, shown.minute()) && has(hours, shown.hour()) && has(months, shown.month()) && either
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_slot_is_the_first_minute_that_shows_a_named_time_or_a_later_one(
        fields in fields(),
        (zone, day) in proptest::sample::select(&CHANGES[..]),
        before_seconds in 0..43_200_i64,
    ) {
        let Ok(cron) = Cron::parse(&expression(&fields), Some(zone)) else {
            // Such as 31 November.
            return Ok(());
        };
        let middle: Timestamp = format!("{day}T12:00:00Z").parse().unwrap();
        let start = middle - (12 * 3600 + before_seconds).seconds();
        let end = middle + 36.hours();

        // Read the clock each minute. What it shows for the first time, it and all that it skipped, was not a slot before.
        let mut expected = Vec::new();
        let mut minute = start - 26.hours();
        minute -= minute.as_second().rem_euclid(60).seconds();
        let mut newest = cron.zone.to_datetime(minute);
        while minute < end {
            minute += A_MINUTE;
            let shown = cron.zone.to_datetime(minute);
            let mut named = false;
            while newest < shown {
                newest += A_MINUTE;
                named |= names(&fields, newest);
            }
            if named && minute > start && minute <= end {
                expected.push(minute);
            }
        }

        let instant = |at: Timestamp| OffsetDateTime::from_unix_timestamp_nanos(at.as_nanosecond()).unwrap();
        let next = |after: &OffsetDateTime| cron.next_after(*after).filter(|slot| *slot <= instant(end));
        let slots: Vec<OffsetDateTime> = std::iter::successors(next(&instant(start)), next).collect();
        prop_assert_eq!(&slots, &expected.into_iter().map(instant).collect::<Vec<_>>());

        // The same, asked at instants that are no slots: also while the clock repeats itself.
        let mut asked = instant(start);
        while asked < instant(end) {
            let first = slots.iter().copied().find(|slot| *slot > asked);
            prop_assert_eq!(next(&asked), first, "after {}", asked);
            asked += std::time::Duration::from_secs(37 * 60);
        }
    }
}
