//! Tokens.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqlitePool};

use super::audit;
use super::read::moment;
use super::session::{now, write};
use crate::{Deed, NewToken, Token, TokenId};

/// `None` if a living token has the name, or any token the hash.
pub(super) async fn add(writer: &SqlitePool, token: &NewToken, deed: &Deed) -> sqlx::Result<Option<TokenId>> {
    let mut tx = write(writer).await?;
    let id: Option<i64> = sqlx::query_scalar(concat!(
        "insert into tokens (name, role, sha256, created_at) values (?1, ?2, ?3, ",
        now!(),
        ") on conflict do nothing
        returning id"
    ))
    .bind(&token.name)
    .bind(token.role.as_str())
    .bind(&token.sha256[..])
    .fetch_optional(&mut *tx)
    .await?;
    if id.is_some() {
        audit::record(&mut tx, deed).await?;
    }
    tx.commit().await?;
    Ok(id.map(TokenId))
}

/// Answers whether it lived until now.
pub(super) async fn revoke(writer: &SqlitePool, id: TokenId, actor: Option<&str>) -> sqlx::Result<bool> {
    let mut tx = write(writer).await?;
    let name: Option<String> = sqlx::query_scalar(concat!(
        "update tokens set revoked_at = ",
        now!(),
        " where id = ?1 and revoked_at is null returning name"
    ))
    .bind(id.0)
    .fetch_optional(&mut *tx)
    .await?;
    if let Some(name) = &name {
        let deed = Deed::new(actor, "revoke", format!("token {name}"));
        audit::record(&mut tx, &deed).await?;
    }
    tx.commit().await?;
    Ok(name.is_some())
}

pub(super) async fn tokens(readers: &SqlitePool) -> sqlx::Result<Vec<Token>> {
    let rows = sqlx::query("select id, name, role, created_at, last_used_at, revoked_at from tokens order by id")
        .fetch_all(readers)
        .await?;
    rows.iter().map(token).collect()
}

/// The living token with this hash, and whether its use is to be noted.
pub(super) async fn find(readers: &SqlitePool, sha256: &[u8; 32]) -> sqlx::Result<Option<(Token, bool)>> {
    let row = sqlx::query(concat!(
        "select id, name, role, created_at, last_used_at, revoked_at,
            coalesce(last_used_at < ",
        now!(),
        " - 60000, true) as unnoted
        from tokens
        where sha256 = ?1 and revoked_at is null"
    ))
    .bind(&sha256[..])
    .fetch_optional(readers)
    .await?;
    row.map(|row| Ok((token(&row)?, row.try_get("unnoted")?))).transpose()
}

/// Notes that a token was shown.
pub(super) async fn used(writer: &SqlitePool, id: TokenId) -> sqlx::Result<()> {
    sqlx::query(concat!("update tokens set last_used_at = ", now!(), " where id = ?1"))
        .bind(id.0)
        .execute(writer)
        .await?;
    Ok(())
}

fn token(row: &SqliteRow) -> sqlx::Result<Token> {
    let role: &str = row.try_get("role")?;
    let maybe = |name: &str| row.try_get::<Option<i64>, _>(name)?.map(moment).transpose();
    Ok(Token {
        id: TokenId(row.try_get("id")?),
        name: row.try_get("name")?,
        role: role.parse().map_err(|error: String| sqlx::Error::Decode(error.into()))?,
        created_at: moment(row.try_get("created_at")?)?,
        last_used_at: maybe("last_used_at")?,
        revoked_at: maybe("revoked_at")?,
    })
}
