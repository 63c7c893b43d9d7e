//! The hosts, as people see them.

use std::time::Duration;

use serde_json::json;
use sqlx::{Row, SqlitePool};

use super::read::moment;
use super::session::{millis, now, write};
use crate::ending::{micros, number};
use crate::{HostReport, HostSeen};

/// Keeps the report, and forgets hosts that were not seen for longer than `kept`.
pub(super) async fn seen(writer: &SqlitePool, report: &HostReport, kept: Duration) -> sqlx::Result<()> {
    let mut tx = write(writer).await?;
    sqlx::query(concat!(
        "insert into hosts (host, kinds, slots, first_seen_at, last_seen_at) values (?1, ?2, ?3, ",
        now!(),
        ", ",
        now!(),
        ") on conflict (host) do update
        set kinds = excluded.kinds, slots = excluded.slots, last_seen_at = excluded.last_seen_at"
    ))
    .bind(&report.host)
    .bind(json!(report.kinds).to_string())
    .bind(number(report.slots))
    .execute(&mut *tx)
    .await?;
    sqlx::query(concat!("delete from hosts where last_seen_at < ", now!(), " - ?1"))
        .bind(millis(micros(kept)))
        .execute(&mut *tx)
        .await?;
    tx.commit().await
}

pub(super) async fn hosts(readers: &SqlitePool) -> sqlx::Result<Vec<HostSeen>> {
    let rows = sqlx::query("select host, kinds, slots, first_seen_at, last_seen_at from hosts order by host")
        .fetch_all(readers)
        .await?;
    rows.iter()
        .map(|row| {
            let kinds: String = row.try_get("kinds")?;
            Ok(HostSeen {
                host: row.try_get("host")?,
                kinds: serde_json::from_str(&kinds).map_err(|error| sqlx::Error::Decode(error.into()))?,
                slots: row.try_get("slots")?,
                first_seen_at: moment(row.try_get("first_seen_at")?)?,
                last_seen_at: moment(row.try_get("last_seen_at")?)?,
            })
        })
        .collect()
}
