//! What is no schedule, and what people are told.

use crate::{Cron, CronPart};

fn told(expression: &str) -> String {
    let error = Cron::parse(expression, None).expect_err(expression);
    assert_eq!(error.part, CronPart::Expression, "{expression}");
    error.to_string()
}

#[test]
fn the_field_at_fault_is_named_with_the_values_that_it_takes() {
    for (expression, at_fault) in [
        ("60 * * * *", "`60` is no minute: number out of bounds: a minute is 0-59;"),
        ("0 24 * * *", "`24` is no hour: number out of bounds: an hour is 0-23;"),
        ("0 0 0 * *", "`0` is no day of month: number out of bounds: a day of month is 1-31"),
        ("0 0 1 13 *", "`13` is no month: number out of bounds: a month is 1-12 or JAN-DEC;"),
        ("0 0 * * 8", "`8` is no day of week: number out of bounds: a day of week is 0-7 or SUN-SAT"),
        ("0 22-4 * * *", "`22-4` is no hour: range out of bounds"),
        ("x * * * *", "`x` is no minute: it has a character that means nothing there"),
    ] {
        assert!(told(expression).starts_with(at_fault), "{}", told(expression));
    }
}

#[test]
fn five_fields_are_asked_for_with_an_example() {
    for (expression, count) in
        [("", "0 fields"), ("@daily", "1 field"), ("* * * *", "4 fields"), ("0 0 * * * *", "6 fields")]
    {
        let told = told(expression);
        assert!(told.contains(&format!("has {count}, not 5")) && told.contains("30 3 * * *"), "{told}");
    }
    assert!(told(&"1,".repeat(600)).contains("1200 bytes"));
    assert!(Cron::parse(&format!("{:1024}", "* * * * *"), None).is_ok(), "it just fits");
}

#[test]
fn what_the_parser_would_read_as_something_else_is_refused() {
    for (expression, why) in [
        (", * * * *", "an entry is empty"),
        ("1,,2 * * * *", "an entry is empty"),
        ("0 0 1 1 ,", "an entry is empty"),
        ("0 0 1 1 +", "an entry is empty"),
        ("-5 * * * *", "an entry is empty"),
        ("0 0 1 JAN2 *", "`JAN2` mixes digits with something else"),
        ("1MON * * * *", "`1MON` mixes digits with something else"),
        ("*/90 * * * *", "the step 90 is longer than the field"),
        ("*/0 * * * *", "step cannot be zero"),
    ] {
        assert!(told(expression).contains(why), "{}", told(expression));
    }
}

#[test]
fn a_date_that_no_year_has_is_refused() {
    for expression in ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "* * 31W 2 *", "0 0 30 2 +MON"] {
        assert!(told(expression).contains("never matches"), "{}", told(expression));
    }
    assert!(Cron::parse("0 0 30 2 MON", None).is_ok(), "or on Mondays");
}

#[test]
fn usual_expressions_are_taken() {
    for expression in [
        "* * * * *",
        "*/15 9-17 * * MON-FRI",
        "0 0 L * *",
        "0 0 LW * *",
        "0 0 15W * *",
        "0 0 * * FRIL",
        "0 0 * * 5L",
        "0 0 * * MON#1",
        "0 0 1,15 jan,jul sun",
        "0 0 * * FRI-SUN",
        "5-59/10 * * * *",
        "0 0 ? * 7",
        "0 0 29 2 *",
        "*/59 */23 */30 */11 */6",
    ] {
        assert!(Cron::parse(expression, Some("Europe/Berlin")).is_ok(), "{expression}");
    }
}

#[test]
fn an_unknown_zone_is_told_with_the_nearest_name() {
    for (name, nearest) in [
        ("Europe/Berln", "did you mean `Europe/Berlin`?"),
        ("Tunsi", "did you mean `Africa/Tunis`?"),
        ("Berlin", "did you mean `Europe/Berlin`?"),
        ("New York", "did you mean `America/New_York`?"),
        ("Autralia/lord_how", "did you mean `Australia/Lord_Howe`?"),
        ("CEST", "use one of its names, such as `Europe/Berlin`"),
        ("+02:00", "use one of its names"),
        ("", "use one of its names"),
        ("Etc/Unknown", ""),
        ("../../etc/passwd", "use one of its names"),
    ] {
        let error = Cron::parse("0 0 * * *", Some(name)).expect_err(name);
        assert_eq!(error.part, CronPart::TimeZone);
        assert!(error.problem.contains(&format!("`{name}` is no time zone")), "{error}");
        assert!(error.mend.contains(nearest), "{error}");
    }
}
