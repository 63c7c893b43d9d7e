//! When kinds run by themselves: `every`, or `cron` with `time_zone`.

use std::time::Duration;

use workhost_queue::{Cron, CronPart, Json, Limits, NewItem, Periodic, QueueError, Schedule};

use super::{Config, KindSettings, ScopeRule, Source};
use crate::finding::Finding;

/// Reads the schedules of all kinds, and answers what is wrong with them.
pub(crate) fn read(config: &mut Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    let limits = config.limits.queue();
    for (name, kind) in &mut config.kinds {
        match schedule(&config.source, name, kind) {
            Ok(schedule) => kind.schedule = schedule,
            Err(finding) => findings.push(*finding),
        }
        findings.extend(scopes(&config.source, name, kind));
        findings.extend(items(&config.source, &limits, name, kind));
    }
    findings
}

fn schedule(source: &Source, name: &str, kind: &KindSettings) -> Result<Option<Schedule>, Box<Finding>> {
    let refused = |code, key, problem: &str, mend: &str| {
        Box::new(source.finding(code, &["kinds", name, key], problem.to_owned(), Some(mend.to_owned())))
    };
    match (&kind.every, &kind.cron, &kind.time_zone) {
        (Some(_), Some(_), _) => Err(refused(
            "schedule-invalid",
            "cron",
            "the kind has `every` and `cron`, which are two schedules",
            "keep one of them",
        )),
        (_, None, Some(_)) => Err(refused(
            "schedule-invalid",
            "time_zone",
            "only `cron` has a time zone, and the kind has none",
            "remove `time_zone`, or add `cron`, as in cron = \"30 3 * * *\"",
        )),
        (Some(every), None, None) if *every < Duration::from_secs(1) => {
            Err(refused("setting-out-of-bounds", "every", "is shorter than 1s", "use at least 1s"))
        }
        (Some(every), None, None) => Ok(Some(Schedule::Every(*every))),
        (None, Some(cron), time_zone) => match Cron::parse(cron, time_zone.as_deref()) {
            Ok(cron) => Ok(Some(Schedule::Cron(cron))),
            Err(error) => {
                let key = match error.part {
                    CronPart::Expression => "cron",
                    CronPart::TimeZone => "time_zone",
                };
                Err(refused("schedule-invalid", key, &error.problem, &error.mend))
            }
        },
        (None, None, None) => Ok(None),
    }
}

fn scopes(source: &Source, name: &str, kind: &KindSettings) -> Option<Finding> {
    let refused = |key, problem: &str, mend: &str| {
        Some(source.finding("setting-out-of-bounds", &["kinds", name, key], problem.into(), Some(mend.into())))
    };
    let listed = !kind.scopes.is_empty();
    let by = if kind.cron.is_some() { "cron" } else { "every" };
    let scheduled_by_scope = (kind.every.is_some() || kind.cron.is_some()) && kind.scope == ScopeRule::Required;
    if scheduled_by_scope && !listed {
        return refused(
            by,
            "the kind is periodic and requires a scope, but lists none",
            "add scopes = [\"…\"]: each one gets a schedule of its own",
        );
    }
    if listed && !scheduled_by_scope {
        return refused(
            "scopes",
            "scopes are listed, but only a periodic kind (`every` or `cron`) with scope = \"required\" uses them",
            "remove `scopes`, or add a schedule and scope = \"required\"",
        );
    }
    None
}

/// Whether the store would take the items of a periodic kind: its own name, its payload, each of its scopes.
fn items(source: &Source, limits: &Limits, name: &str, kind: &KindSettings) -> Vec<Finding> {
    let refused = |key: &[&str], problem: String, mend: &str| {
        source.finding("setting-out-of-bounds", &[&["kinds", name], key].concat(), problem, Some(mend.to_owned()))
    };
    let payload = Json::from_value(&kind.payload);
    let item = NewItem::new(name, payload);
    let mut findings = Vec::new();
    if let Err(QueueError::Invalid { field, reason }) = limits.check(&item) {
        let key: &[&str] = if field == "payload" { &["payload"] } else { &[] };
        findings.push(refused(key, format!("the store would refuse its items: {field}: {reason}"), "set another one"));
    }
    for (index, scope) in kind.scopes.iter().enumerate() {
        let index = index.to_string();
        let periodic = Periodic {
            kind: name.to_owned(),
            scope: Some(scope.clone()),
            payload: Json::from_value(&serde_json::Value::Null),
            schedule: Schedule::Every(Duration::ZERO),
        };
        let item = NewItem {
            scope: periodic.scope.clone(),
            dedup_key: Some(periodic.key()),
            ..NewItem::new("a", periodic.payload)
        };
        if let Err(error) = limits.check(&item) {
            findings.push(refused(
                &["scopes", &index],
                error.to_string(),
                "name the scope by a shorter text that is not empty",
            ));
        }
        if kind.scopes.iter().take_while(|earlier| !std::ptr::eq(*earlier, scope)).any(|earlier| earlier == scope) {
            findings.push(refused(&["scopes", &index], format!("the scope `{scope}` is listed twice"), "list it once"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_whose_items_no_store_takes_is_found() {
        let scopes = |list: &str| format!("every = \"1h\"\nscope = \"required\"\nscopes = [{list}]");
        let long = "x".repeat(600);
        for (settings, told) in [
            (scopes("\"\", \"a\""), "workhost.toml:4: kinds.a.scopes[0]: scope: it is empty"),
            (scopes(&format!("\"a\", \"{long}\"")), "kinds.a.scopes[1]: scope: 600 bytes; the limit is 512"),
            (scopes("\"a\", \"b\", \"a\""), "kinds.a.scopes[2]: the scope `a` is listed twice"),
            (
                "every = \"1h\"\npayload = { x = \"\\u0000\" }".to_owned(),
                "workhost.toml:3: kinds.a.payload: the store would refuse its items: payload: a NUL character",
            ),
        ] {
            let said = read_kind(&settings).expect_err(told);
            assert!(said.contains(told), "{said}");
        }
    }

    #[test]
    fn what_the_store_takes_is_no_finding() {
        let settings = "every = \"1s\"\nscope = \"required\"\nscopes = [\"a\", \"b\"]";
        assert_eq!(read_kind(settings), Ok(Some(Schedule::Every(Duration::from_secs(1)))));
    }

    /// The schedule of the kind `a`, or what is told of it.
    fn read_kind(settings: &str) -> Result<Option<Schedule>, String> {
        let text = format!("[kinds.a]\n{settings}\n");
        let mut config: Config = toml::from_str(&text).unwrap();
        config.source = Source { file: "workhost.toml".into(), text };
        let findings = read(&mut config);
        match findings.as_slice() {
            [] => Ok(config.kinds.remove("a").unwrap().schedule),
            all => Err(all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
        }
    }

    #[test]
    fn a_kind_runs_by_interval_by_cron_or_not_by_itself() {
        assert_eq!(read_kind(""), Ok(None));
        assert_eq!(read_kind("every = \"24h\""), Ok(Some(Schedule::Every(Duration::from_secs(24 * 3600)))));
        let cron = |zone| Ok(Some(Schedule::Cron(Cron::parse("30 3 * * *", zone).unwrap())));
        assert_eq!(read_kind("cron = \"30 3 * * *\""), cron(None));
        assert_eq!(read_kind("cron = \"30 3 * * *\"\ntime_zone = \"Europe/Berlin\""), cron(Some("Europe/Berlin")));
    }

    #[test]
    fn a_schedule_that_cannot_be_is_told_with_its_key_and_the_mend() {
        for (settings, told) in [
            ("every = \"1h\"\ncron = \"30 3 * * *\"", ["workhost.toml:3: kinds.a.cron: ", "hint: keep one of them"]),
            (
                "every = \"1h\"\ntime_zone = \"UTC\"",
                ["workhost.toml:3: kinds.a.time_zone: ", "hint: remove `time_zone`"],
            ),
            ("time_zone = \"UTC\"", ["workhost.toml:2: kinds.a.time_zone: ", "hint: remove `time_zone`"]),
            ("cron = \"30 25 * * *\"", ["workhost.toml:2: kinds.a.cron: `25` is no hour", "hint: an hour is 0-23"]),
            ("cron = \"0 0 30 2 *\"", ["kinds.a.cron: `0 0 30 2 *` never matches", "hint: name a day"]),
            ("cron = \"@daily\"", ["kinds.a.cron: `@daily` has 1 field, not 5", "as in `30 3 * * *`"]),
            (
                "cron = \"30 3 * * *\"\ntime_zone = \"Europe/Berln\"",
                [
                    "workhost.toml:3: kinds.a.time_zone: `Europe/Berln` is no time zone",
                    "hint: did you mean `Europe/Berlin`?",
                ],
            ),
            ("every = \"10ms\"", ["kinds.a.every: is shorter than 1s", "hint: use at least 1s"]),
        ] {
            let said = read_kind(settings).expect_err(settings);
            assert!(told.iter().all(|part| said.contains(part)), "{said}");
        }
    }

    #[test]
    fn a_periodic_kind_that_requires_a_scope_lists_its_scopes_and_no_other_kind_does() {
        for schedule in ["every = \"1h\"", "cron = \"0 * * * *\""] {
            assert!(read_kind(&format!("{schedule}\nscope = \"required\"\nscopes = [\"x\"]")).is_ok());
            assert!(read_kind(&format!("{schedule}\nscope = \"required\"")).unwrap_err().contains("lists none"));
            assert!(read_kind(&format!("{schedule}\nscopes = [\"x\"]")).unwrap_err().contains("kinds.a.scopes"));
        }
    }
}
