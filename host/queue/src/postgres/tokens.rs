//! Tokens.

use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row};

use super::audit;
use super::pool::{Pool, Session};
use super::session::patient;
use crate::{Deed, NewToken, Token, TokenId};

/// `None` if a living token has the name, or any token the hash.
pub(super) async fn add(pool: &Pool, token: &NewToken, deed: &Deed) -> sqlx::Result<Option<TokenId>> {
    let mut tx = patient(pool).await?;
    let id = add_in(&mut tx, token, deed).await;
    tx.settle(id).await
}

async fn add_in(tx: &mut Session, token: &NewToken, deed: &Deed) -> sqlx::Result<Option<TokenId>> {
    let id: Option<i64> = sqlx::query_scalar(
        "insert into workhost.tokens (name, role, sha256, created_at) values ($1, $2, $3, now())
        on conflict do nothing
        returning id",
    )
    .bind(&token.name)
    .bind(token.role.as_str())
    .bind(&token.sha256[..])
    .fetch_optional(&mut *tx)
    .await?;
    if id.is_some() {
        audit::record(tx, deed).await?;
    }
    Ok(id.map(TokenId))
}

/// Answers whether it lived until now.
pub(super) async fn revoke(pool: &Pool, id: TokenId, actor: Option<&str>) -> sqlx::Result<bool> {
    let mut tx = patient(pool).await?;
    let lived = revoke_in(&mut tx, id, actor).await;
    tx.settle(lived).await
}

async fn revoke_in(tx: &mut Session, id: TokenId, actor: Option<&str>) -> sqlx::Result<bool> {
    let name: Option<String> = sqlx::query_scalar(
        "update workhost.tokens t set revoked_at = now() where t.id = $1 and t.revoked_at is null returning t.name",
    )
    .bind(id.0)
    .fetch_optional(&mut *tx)
    .await?;
    if let Some(name) = &name {
        let deed = Deed::new(actor, "revoke", format!("token {name}"));
        audit::record(tx, &deed).await?;
    }
    Ok(name.is_some())
}

pub(super) async fn tokens(executor: impl PgExecutor<'_>) -> sqlx::Result<Vec<Token>> {
    let rows = sqlx::query(
        "select t.id, t.name, t.role, t.created_at, t.last_used_at, t.revoked_at from workhost.tokens t order by t.id",
    )
    .fetch_all(executor)
    .await?;
    rows.iter().map(token).collect()
}

/// The living token with this hash, and whether its use is to be noted.
pub(super) async fn find(executor: impl PgExecutor<'_>, sha256: &[u8; 32]) -> sqlx::Result<Option<(Token, bool)>> {
    let row = sqlx::query(
        "select t.id, t.name, t.role, t.created_at, t.last_used_at, t.revoked_at,
            coalesce(t.last_used_at < now() - interval '1 minute', true) as unnoted
        from workhost.tokens t
        where t.sha256 = $1 and t.revoked_at is null",
    )
    .bind(&sha256[..])
    .fetch_optional(executor)
    .await?;
    row.map(|row| Ok((token(&row)?, row.try_get("unnoted")?))).transpose()
}

/// Notes that a token was shown.
pub(super) async fn used(executor: impl PgExecutor<'_>, id: TokenId) -> sqlx::Result<()> {
    sqlx::query("update workhost.tokens t set last_used_at = now() where t.id = $1")
        .bind(id.0)
        .execute(executor)
        .await?;
    Ok(())
}

fn token(row: &PgRow) -> sqlx::Result<Token> {
    let role: &str = row.try_get("role")?;
    Ok(Token {
        id: TokenId(row.try_get("id")?),
        name: row.try_get("name")?,
        role: role.parse().map_err(|error: String| sqlx::Error::Decode(error.into()))?,
        created_at: row.try_get("created_at")?,
        last_used_at: row.try_get("last_used_at")?,
        revoked_at: row.try_get("revoked_at")?,
    })
}
