//! What a connection could change.

use sqlx::postgres::PgPool;

use crate::capability::sql::database::Writable;
use crate::capability::sql::lease::Lease;

/// The tables of this schema that the pool's role could change, if any.
pub(in crate::capability::sql) async fn writable(pool: &PgPool, schema: &str) -> Option<Writable> {
    let mut lease = Lease::begin(pool).await.ok()?;
    let found: Vec<(String, String, bool, bool)> = sqlx::query_as(
        "select c.relname::text, current_user::text,
            (select r.rolsuper from pg_catalog.pg_roles r where r.rolname = current_user),
            pg_catalog.pg_has_role(c.relowner, 'usage')
        from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where n.nspname = $1 and c.relkind in ('r', 'p')
            and pg_catalog.has_schema_privilege(n.oid, 'usage')
            and pg_catalog.has_table_privilege(c.oid, 'insert, update, delete, truncate')
        order by 1",
    )
    .bind(schema)
    .fetch_all(&mut *lease)
    .await
    .ok()?;
    let (_, role, is_superuser, is_owner) = found.first()?.clone();
    let mend = match (is_superuser, is_owner) {
        (true, _) => format!("connect as a role of its own, since `{role}` is a superuser: `create role app login`"),
        (false, true) => format!("connect as a role of its own, since `{role}` owns them: `create role app login`"),
        (false, false) => format!("`revoke all on all tables in schema {schema} from {role}`"),
    };
    Some(Writable { tables: found.into_iter().map(|(table, ..)| table).collect(), mend })
}
