//! Time zones by their names.

use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::{CronPart, InvalidCron};

/// The zone of this name in the database that is a part of the program, whatever the machine has.
pub(super) fn find(name: &str) -> Result<TimeZone, InvalidCron> {
    let database = TimeZoneDatabase::bundled();
    match database.get(name) {
        Ok(zone) if !zone.is_unknown() => Ok(zone),
        _ => Err(InvalidCron {
            part: CronPart::TimeZone,
            problem: format!("`{name}` is no time zone of the IANA database"),
            mend: match nearest(&database, name) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => "use one of its names, such as `Europe/Berlin`, `America/New_York` or `UTC`".to_owned(),
            },
        }),
    }
}

/// The name that was probably meant: hardly different, also where the region was left out.
fn nearest(database: &TimeZoneDatabase, name: &str) -> Option<String> {
    let wanted = name.trim().replace(' ', "_").to_lowercase();
    let distance = |known: &str| {
        let known = known.to_lowercase();
        let place = known.rsplit_once('/').map_or(known.as_str(), |(_, place)| place);
        strsim::osa_distance(&wanted, &known).min(strsim::osa_distance(&wanted, place))
    };
    let (distance, nearest) =
        database.available().map(|known| (distance(known.as_str()), known.as_str().to_owned())).min()?;
    // One letter in five: abbreviations, such as EST and CET, are close to each other and mean other things.
    (distance * 5 <= wanted.len()).then_some(nearest)
}
