//! What lies in a store beside the items that are measured.

use clap::ValueEnum;

use crate::database::{Database, Engine};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backlog {
    /// Finished items.
    Finished,
    /// Queued items of one scope, one of which runs.
    BusyScope,
    /// Queued items of a kind that no host runs.
    UnknownKind,
    /// Items of the measured kind that are due in a year, at a higher priority.
    FarFuture,
    /// The same, each in a scope of its own.
    FarFutureScopes,
    /// Due items of the measured kind at a lower priority, each in a scope of its own.
    FreeScopes,
    /// Items that run.
    #[value(skip)]
    Running,
    /// What the measured claims are to take.
    #[value(skip)]
    Due,
}

impl Backlog {
    pub(crate) fn named(self, count: u64) -> String {
        match self {
            Backlog::Finished => format!("{count} finished items"),
            Backlog::BusyScope => format!("{count} queued items of one busy scope"),
            Backlog::UnknownKind => format!("{count} queued items of an unknown kind"),
            Backlog::FarFuture => format!("{count} items of the far future in front"),
            Backlog::FarFutureScopes => format!("{count} scopes, each with an item of the far future in front"),
            Backlog::FreeScopes => format!("{count} free scopes, each with an item behind"),
            Backlog::Running => format!("{count} running items"),
            Backlog::Due => format!("{count} items"),
        }
    }

    /// Inserts past the queue's own verb, which would take far longer.
    pub(crate) async fn fill(self, store: &Database, count: u64) {
        let (now, year, numbers) = match store.engine {
            Engine::Postgres => ("now()", "now() + interval '1 year'", format!("generate_series(1, {count}) as n (n)")),
            Engine::Sqlite => (
                "unixepoch() * 1000",
                "unixepoch() * 1000 + 31536000000",
                format!(
                    "(with recursive s (n) as (select 1 union all select n + 1 from s where n < {count}) select n from s)"
                ),
            ),
        };
        let scope = "'scope ' || n";
        let (kind, scope, priority, run_at, status) = match self {
            Backlog::Finished => ("'measured'", "null", 0, now, "succeeded"),
            Backlog::BusyScope => ("'measured'", "'busy'", 9, now, "queued"),
            Backlog::UnknownKind => ("'unknown'", "null", 9, now, "queued"),
            Backlog::FarFuture => ("'measured'", "null", 9, year, "queued"),
            Backlog::FarFutureScopes => ("'measured'", scope, 9, year, "queued"),
            Backlog::FreeScopes => ("'measured'", scope, -9, now, "queued"),
            Backlog::Running => ("'measured'", "null", 0, now, "running"),
            Backlog::Due => ("'measured'", "null", 0, now, "queued"),
        };
        let item = |kind, scope, status, priority, run_at, from: &str| {
            let (table, changed, change) = match store.engine {
                Engine::Postgres => ("workhost.work_items", "", String::new()),
                Engine::Sqlite => {
                    ("work_items", ", changed", ", (select coalesce(max(changed), 0) from work_items) + n".to_owned())
                }
            };
            let (started, lease, finished) = match status {
                "running" => (now, year, "null"),
                "succeeded" => (now, "null", now),
                _ => ("null", "null", "null"),
            };
            format!(
                "insert into {table} (kind, payload, scope, priority, run_at, status, attempt, host, ended_as, created_at, updated_at,
                    started_at, lease_expires_at, finished_at{changed})
                select {kind}, '{{}}', {scope}, {priority}, {run_at}, '{status}', {attempt}, 'h', {ended_as}, {now}, {now},
                    {started}, {lease}, {finished}{change}
                from {from};",
                attempt = i32::from(status != "queued"),
                ended_as = if status == "succeeded" { "'succeeded'" } else { "null" },
            )
        };
        store.sql(&item(kind, scope, status, priority, run_at, &numbers)).await;
        if self == Backlog::BusyScope {
            store.sql(&item(kind, scope, "running", priority, run_at, "(select 1 as n) as n")).await;
        }
        if self == Backlog::Due {
            return;
        }
        store.sql(if store.engine == Engine::Postgres { "vacuum analyze" } else { "analyze" }).await;
    }
}
