//! The five fields: which wall clock times they name.

use std::cmp::Ordering;
use std::fmt;

use croner::errors::CronError;
use croner::parser::CronParser;
use croner::{CivilDate, CivilDateTime, CivilTime, CronDateTime, Resolution, Weekday, YEAR_UPPER_LIMIT};
use jiff::civil::{DateTime, date};

use super::{CronPart, InvalidCron};

/// The longest expression in bytes: several times what lists of all values need.
const MAX_BYTES: usize = 1024;

/// Each field's name, what it may be, and the largest step that makes sense.
const FIELDS: [(&str, &str, u32); 5] = [
    ("minute", "a minute is 0-59", 59),
    ("hour", "an hour is 0-23", 23),
    ("day of month", "a day of month is 1-31, or L for the last", 30),
    ("month", "a month is 1-12 or JAN-DEC", 11),
    ("day of week", "a day of week is 0-7 or SUN-SAT, 0 and 7 both being Sunday", 6),
];

/// Wall clock times, as five fields name them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expression {
    text: String,
    cron: croner::Cron,
}

impl Expression {
    pub(super) fn parse(text: &str) -> Result<Expression, InvalidCron> {
        let refused = |problem, mend: &str| InvalidCron { part: CronPart::Expression, problem, mend: mend.to_owned() };
        if text.len() > MAX_BYTES {
            let problem = format!("it has {} bytes; a cron expression has at most {MAX_BYTES}", text.len());
            return Err(refused(problem, "use ranges and steps, as in `*/15 9-17 * * MON-FRI`"));
        }
        let fields: Vec<&str> = text.split_whitespace().collect();
        if fields.len() != FIELDS.len() {
            return Err(refused(
                format!("`{text}` has {} field{}, not 5", fields.len(), if fields.len() == 1 { "" } else { "s" }),
                "write minute, hour, day of month, month and day of week, as in `30 3 * * *` (each day at 03:30)",
            ));
        }
        for (place, field) in fields.iter().enumerate() {
            check_field(place, field).map_err(|reason| {
                let (name, values, _) = FIELDS[place];
                refused(
                    format!("`{field}` is no {name}: {reason}"),
                    &format!("{values}; `*`, lists, ranges and steps as in `0,30`, `1-5`, `*/2`"),
                )
            })?;
        }
        let text = fields.join(" ");
        // The parser would take seconds and years too, but there are five fields.
        let cron = CronParser::new().parse(&text).map_err(|error| {
            refused(
                format!("`{text}` cannot be read: {}", reason(&error)),
                "write it as in `30 3 * * *`; a range runs upwards, as in `22-23,0-2` and not `22-2`",
            )
        })?;
        let expression = Expression { text, cron };
        // The calendar repeats every 400 years, and the search gives up at the year limit: what does not match between
        // here and there never does.
        let last_cycle = date(year(YEAR_UPPER_LIMIT - 401), 12, 31).at(23, 59, 59, 0);
        match expression.next_after(last_cycle) {
            Some(_) => Ok(expression),
            None => Err(refused(
                format!("`{}` never matches: there is no such date", expression.text),
                "name a day that the month has",
            )),
        }
    }

    /// The first time after this one that the fields name.
    pub(super) fn next_after(&self, shown: DateTime) -> Option<DateTime> {
        self.cron.find_next_occurrence(&Shown(shown), false).ok().map(|next| next.0)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Refuses a field by itself, so that it can be named, and what the parser would read as something else: `,` as
/// nothing, `JAN2` as 12, `*/90` as the full hour.
fn check_field(place: usize, field: &str) -> Result<(), String> {
    let (_, _, longest) = FIELDS[place];
    let entries = if place == 4 { field.strip_prefix('+').unwrap_or(field) } else { field };
    let digit = |c: char| c.is_ascii_digit();
    for piece in entries.split([',', '-', '/', '#']) {
        if piece.is_empty() {
            return Err("an entry is empty".to_owned());
        }
        let value = piece.trim_end_matches(['L', 'l', 'W', 'w']);
        if value.contains(digit) && !value.chars().all(digit) {
            return Err(format!("`{piece}` mixes digits with something else"));
        }
    }
    for step in entries.split(',').filter_map(|entry| entry.split_once('/')?.1.parse::<u32>().ok()) {
        if step > longest {
            return Err(format!("the step {step} is longer than the field"));
        }
    }
    let mut alone = ["*"; 5];
    alone[place] = field;
    CronParser::new().parse(&alone.join(" ")).map(drop).map_err(|error| reason(&error))
}

/// What the parser says, in our form. Its text for a character that it does not know is about what it made of the field.
fn reason(error: &CronError) -> String {
    match error {
        CronError::IllegalCharacters(_) => "it has a character that means nothing there".to_owned(),
        CronError::ComponentError(text) | CronError::InvalidPattern(text) => {
            let text = text.trim_end_matches('.');
            let mut chars = text.chars();
            chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
        }
        other => other.to_string(),
    }
}

/// A wall clock time for the search: it knows no zone, so none of the library's own rules for changes of the clock apply.
#[derive(Clone)]
struct Shown(DateTime);

impl CronDateTime for Shown {
    fn to_civil(&self) -> CivilDateTime {
        let part = |part: i8| u32::from(part.unsigned_abs());
        let (day, time) = (self.0.date(), self.0.time());
        CivilDateTime::new(
            CivilDate::from_parts_unchecked(day.year().into(), part(day.month()), part(day.day())),
            CivilTime::from_parts_unchecked(part(time.hour()), part(time.minute()), part(time.second())),
        )
    }

    fn civil_weekday(&self) -> Weekday {
        Weekday::from_days_from_sunday(u32::from(self.0.weekday().to_sunday_zero_offset().unsigned_abs()))
    }

    fn resolve_civil(&self, civil: CivilDateTime) -> Result<Resolution<Self>, CronError> {
        let part = |part: u32| i8::try_from(part).expect("no part of a date or time is over 59");
        let day = date(year(civil.year()), part(civil.month()), part(civil.day()));
        Ok(Resolution::Single(Shown(day.at(part(civil.hour()), part(civil.minute()), part(civil.second()), 0))))
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        self.0.checked_add(jiff::SignedDuration::from_secs(seconds)).ok().map(Shown)
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

/// A year as the calendar takes it.
fn year(year: i32) -> i16 {
    i16::try_from(year).expect("the search ends at its year limit")
}
