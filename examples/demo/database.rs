//! The application's own database: refresh tokens, and the tables of the crawl.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{Connection as _, SqliteConnection};

/// The grants of the crawl's statements, as they ship with the handler.
pub(crate) const CRAWL_STATEMENTS: &str = include_str!("../../handlers/crawl/statements.toml");

const TOKENS: i64 = 20_000;

/// Makes the database with tokens of which three in four have expired.
pub(crate) async fn create(file: &Path) -> Result<()> {
    // The journal mode stays with the file: what workhost writes later is as fast.
    let options =
        SqliteConnectOptions::new().filename(file).create_if_missing(true).journal_mode(SqliteJournalMode::Wal);
    let mut connection = SqliteConnection::connect_with(&options).await?;
    sqlx::raw_sql(include_str!("../../handlers/crawl/schema.sqlite.sql")).execute(&mut connection).await?;
    sqlx::raw_sql("create table refresh_tokens (token text primary key, expires_at text not null)")
        .execute(&mut connection)
        .await?;
    // An hour apart, from three quarters of them ago to one quarter ahead; in the form that workhost gives timestamps.
    let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())?;
    sqlx::query(
        "with recursive numbers (number) as (select 0 union all select number + 1 from numbers where number + 1 < $1)
        insert into refresh_tokens
        select printf('token-%06d', number),
            strftime('%Y-%m-%dT%H:%M:%S.000000Z', $2 + (number - $1 * 3 / 4) * 3600, 'unixepoch')
        from numbers",
    )
    .bind(TOKENS)
    .bind(now)
    .execute(&mut connection)
    .await?;
    connection.close().await?;
    Ok(())
}
