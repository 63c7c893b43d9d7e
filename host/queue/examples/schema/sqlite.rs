//! SQLite keeps the text that made each object, with the comments inside, and what was altered later worked into it.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, SqliteConnection};

/// The tables in the order of their making, each with its indexes and triggers.
pub(crate) async fn objects(path: &str) -> sqlx::Result<Vec<String>> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let mut connection = SqliteConnection::connect_with(&options).await?;
    let objects: Vec<(String, String)> = sqlx::query_as(
        "select o.type, o.sql
        from sqlite_schema o left join sqlite_schema t on t.type = 'table' and t.name = o.tbl_name
        -- SQLite's own have no text, or its name.
        where o.sql is not null and o.name not like 'sqlite\\_%' escape '\\'
        order by t.rowid, case o.type when 'table' then 1 when 'index' then 2 else 3 end, o.name",
    )
    .fetch_all(&mut connection)
    .await?;
    connection.close().await?;
    let mut shown: Vec<String> = Vec::new();
    for (kind, sql) in objects {
        let text = format!("{};", lower_case_head(&dedented(&sql)));
        match shown.last_mut() {
            // Indexes stand close to their table.
            Some(table) if kind == "index" => {
                table.push('\n');
                table.push_str(&text);
            }
            _ => shown.push(text),
        }
    }
    Ok(shown)
}

/// The text with its closing bracket at the left, and everything before it as far to the left.
fn dedented(sql: &str) -> String {
    let last = sql.lines().last().unwrap_or_default();
    let indent =
        last.strip_suffix(last.trim_start()).filter(|_| last.trim_start().starts_with(')')).unwrap_or_default();
    sql.lines().map(|line| line.strip_prefix(indent).unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// SQLite writes the words before an object's name in its own way.
fn lower_case_head(sql: &str) -> String {
    const HEADS: [&str; 5] = ["CREATE TABLE", "CREATE INDEX", "CREATE UNIQUE INDEX", "CREATE TRIGGER", "CREATE VIEW"];
    match HEADS.iter().find_map(|head| Some((head, sql.strip_prefix(head)?))) {
        Some((head, rest)) => head.to_lowercase() + rest,
        None => sql.to_owned(),
    }
}
