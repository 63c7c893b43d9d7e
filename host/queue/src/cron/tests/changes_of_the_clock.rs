//! Real dates on which clocks were changed.

use jiff::Timestamp;
use time::OffsetDateTime;

use crate::Cron;

/// The slots from one instant on up to another, as the zone's wall clock shows them.
pub(super) fn slots(expression: &str, zone: &str, from: &str, to: &str) -> Vec<String> {
    let cron = Cron::parse(expression, Some(zone)).unwrap();
    let instant = |text: &str| {
        let timestamp: Timestamp = text.parse().unwrap();
        OffsetDateTime::from_unix_timestamp_nanos(timestamp.as_nanosecond() - 1).unwrap()
    };
    let to = instant(to);
    let next = |after: &OffsetDateTime| cron.next_after(*after).filter(|slot| *slot <= to);
    std::iter::successors(next(&instant(from)), next)
        .map(|slot| {
            let slot = Timestamp::from_nanosecond(slot.unix_timestamp_nanos()).unwrap();
            cron.zone.to_offset_info(slot).offset().to_datetime(slot).strftime("%d %H:%M ").to_string()
                + cron.zone.to_offset_info(slot).abbreviation()
        })
        .collect()
}

#[test]
fn in_berlin_a_skipped_time_is_a_slot_at_the_end_of_the_gap() {
    let spring = |expression| slots(expression, "Europe/Berlin", "2026-03-28T00:00:00+01", "2026-03-31T00:00:00+02");
    assert_eq!(spring("30 2 * * *"), ["28 02:30 CET", "29 03:00 CEST", "30 02:30 CEST"]);
    assert_eq!(spring("0 3 * * *"), ["28 03:00 CET", "29 03:00 CEST", "30 03:00 CEST"]);
    assert_eq!(spring("59 1 29 * *"), ["29 01:59 CET"]);
}

#[test]
fn several_slots_in_one_gap_are_one_run() {
    let spring = slots("*/15 * * * *", "Europe/Berlin", "2026-03-29T01:30:00+01", "2026-03-29T03:31:00+02");
    assert_eq!(spring, ["29 01:30 CET", "29 01:45 CET", "29 03:00 CEST", "29 03:15 CEST", "29 03:30 CEST"]);
    let both = slots("10,50 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00+01", "2026-03-30T00:00:00+02");
    assert_eq!(both, ["29 03:00 CEST"]);
}

#[test]
fn in_berlin_a_time_that_is_shown_twice_is_a_slot_the_first_time_only() {
    let autumn = |expression, from, to| slots(expression, "Europe/Berlin", from, to);
    let days = autumn("30 2 * * *", "2026-10-24T00:00:00+02", "2026-10-27T00:00:00+01");
    assert_eq!(days, ["24 02:30 CEST", "25 02:30 CEST", "26 02:30 CET"]);
    let hours = autumn("0 * * * *", "2026-10-25T01:00:00+02", "2026-10-25T05:00:00+01");
    assert_eq!(hours, ["25 01:00 CEST", "25 02:00 CEST", "25 03:00 CET", "25 04:00 CET"]);
    // Asked in the repeated hour itself.
    assert_eq!(autumn("30 2 * * *", "2026-10-25T02:10:00+01", "2026-10-27T00:00:00+01"), ["26 02:30 CET"]);
}

#[test]
fn new_york_changes_on_other_days() {
    let spring = slots("30 2 * * *", "America/New_York", "2026-03-07T00:00:00-05", "2026-03-10T00:00:00-04");
    assert_eq!(spring, ["07 02:30 EST", "08 03:00 EDT", "09 02:30 EDT"]);
    let autumn = slots("30 1 * * *", "America/New_York", "2026-10-31T00:00:00-04", "2026-11-03T00:00:00-05");
    assert_eq!(autumn, ["31 01:30 EDT", "01 01:30 EDT", "02 01:30 EST"]);
}

#[test]
fn lord_howe_changes_by_half_an_hour() {
    let spring = |expression| slots(expression, "Australia/Lord_Howe", "2026-10-03T12:00:00Z", "2026-10-04T12:00:00Z");
    assert_eq!(spring("15 2 4 * *"), ["04 02:30 +11"]);
    assert_eq!(spring("0,30 1-2 4 * *"), ["04 01:00 +1030", "04 01:30 +1030", "04 02:30 +11"]);
    let autumn = |expression| slots(expression, "Australia/Lord_Howe", "2026-04-04T12:00:00Z", "2026-04-05T12:00:00Z");
    assert_eq!(autumn("45 1 5 * *"), ["05 01:45 +11"]);
    assert_eq!(autumn("0,30 1-2 5 * *"), ["05 01:00 +11", "05 01:30 +11", "05 02:00 +1030", "05 02:30 +1030"]);
}

#[test]
fn a_day_that_apia_skipped_is_a_slot_at_its_end() {
    let days = |expression| slots(expression, "Pacific/Apia", "2011-12-29T00:00:00Z", "2012-01-01T20:00:00Z");
    assert_eq!(days("0 12 * * *"), ["29 12:00 -10", "31 00:00 +14", "31 12:00 +14", "01 12:00 +14"]);
    assert_eq!(days("0 12 30 12 *"), ["31 00:00 +14"]);
    assert_eq!(days("0 * 30 12 *"), ["31 00:00 +14"]);
}

#[test]
fn without_a_zone_it_is_utc() {
    let cron = Cron::parse(" 30  3 * * 1 ", None).unwrap();
    assert_eq!(cron.to_string(), "30 3 * * 1 UTC");
    let next = cron.next_after(time::macros::datetime!(2026-11-30 3:29:59.5 UTC)).unwrap();
    assert_eq!(next, time::macros::datetime!(2026-11-30 3:30 UTC));
}

#[test]
fn a_leap_day_is_found_over_the_years() {
    let next = |expression, after| Cron::parse(expression, None).unwrap().next_after(after).unwrap();
    let noon = time::macros::datetime!(2097-01-01 12:00 UTC);
    assert_eq!(next("0 0 29 2 *", noon), time::macros::datetime!(2104-02-29 0:00 UTC));
    // Both the day of the month and, by the `+`, the day of the week.
    assert_eq!(next("0 0 29 2 +MON", noon), time::macros::datetime!(2112-02-29 0:00 UTC));
}
