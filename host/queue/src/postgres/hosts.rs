//! The hosts, as people see them.

use std::time::Duration;

use sqlx::{PgExecutor, Row};

use crate::ending::{micros, number};
use crate::{HostReport, HostSeen};

/// Keeps the report, and forgets hosts that were not seen for longer than `kept`.
pub(super) async fn seen(executor: impl PgExecutor<'_>, report: &HostReport, kept: Duration) -> sqlx::Result<()> {
    sqlx::query(
        "with seen as (
            insert into workhost.hosts (host, kinds, slots, first_seen_at, last_seen_at) values ($1, $2, $3, now(), now())
            on conflict (host) do update
            set kinds = excluded.kinds, slots = excluded.slots, last_seen_at = excluded.last_seen_at
        )
        delete from workhost.hosts h
        where h.host in (
            select gone.host from workhost.hosts gone
            where gone.last_seen_at < now() - $4 * interval '1 microsecond' and gone.host <> $1
            for update skip locked
        )",
    )
    .bind(&report.host)
    .bind(&report.kinds)
    .bind(number(report.slots))
    .bind(micros(kept))
    .execute(executor)
    .await?;
    Ok(())
}

pub(super) async fn hosts(executor: impl PgExecutor<'_>) -> sqlx::Result<Vec<HostSeen>> {
    let rows = sqlx::query(
        "select h.host, h.kinds, h.slots, h.first_seen_at, h.last_seen_at from workhost.hosts h order by h.host",
    )
    .fetch_all(executor)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(HostSeen {
                host: row.try_get("host")?,
                kinds: row.try_get("kinds")?,
                slots: row.try_get::<i32, _>("slots")?.cast_unsigned(),
                first_seen_at: row.try_get("first_seen_at")?,
                last_seen_at: row.try_get("last_seen_at")?,
            })
        })
        .collect()
}
