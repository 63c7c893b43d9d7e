//! A statement's text as the configuration has it, with the item's own values by name.

use std::sync::Arc;

use crate::bindings::workhost::handler::sql::Value;
use crate::capability::Caller;

/// A value of the item that a statement may take. The host sends it: a handler cannot send another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    Id,
    Attempt,
    Scope,
}

impl Own {
    /// How the statement names it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Own::Id => "{id}",
            Own::Attempt => "{attempt}",
            Own::Scope => "{scope}",
        }
    }

    /// Its value for an attempt.
    pub(super) fn value(self, caller: &Caller) -> Value {
        match self {
            Own::Id => Value::Integer(caller.id.cast_signed()),
            Own::Attempt => Value::Integer(caller.attempt.into()),
            Own::Scope => caller.scope.clone().map_or(Value::Null, Value::Text),
        }
    }

    /// A value of its type, to try where it fits.
    pub(super) fn sample(self) -> Value {
        match self {
            Own::Id | Own::Attempt => Value::Integer(1),
            Own::Scope => Value::Text("a".into()),
        }
    }
}

/// A text that the database understands, and the values that it takes after those that the handler sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) sql: Arc<str>,
    pub(super) own: Vec<Own>,
}

impl Text {
    /// Puts parameters in the place of `{id}`, `{attempt}` and `{scope}`, outside of quotes and comments. The error is
    /// text for the operator.
    pub(super) fn read(statement: &str) -> Result<Text, String> {
        let pieces = pieces(statement);
        if makes_a_table(&pieces) {
            return Err("it makes a table (`select … into`); a statement reads or changes rows".into());
        }
        let plain = pieces.iter().filter(|(_, quoted)| !quoted);
        let sent = plain.map(|(piece, _)| highest(piece)).max().unwrap_or(0);
        let (mut sql, mut own) = (String::with_capacity(statement.len()), Vec::new());
        for (piece, quoted) in &pieces {
            if *quoted {
                sql.push_str(piece);
                continue;
            }
            let mut rest = *piece;
            while let Some(open) = rest.find('{') {
                let end = rest[open..].find('}').map_or(rest.len(), |close| open + close + 1);
                let name = &rest[open..end];
                let value = [Own::Id, Own::Attempt, Own::Scope].into_iter().find(|value| value.name() == name);
                let value = value
                    .ok_or_else(|| format!("`{name}` is none of the item's values: {{id}}, {{attempt}}, {{scope}}"))?;
                let place = own.iter().position(|other| *other == value).unwrap_or_else(|| {
                    own.push(value);
                    own.len() - 1
                });
                sql.push_str(&rest[..open]);
                sql.push_str(&format!("${}", sent + place + 1));
                rest = &rest[end..];
            }
            sql.push_str(rest);
        }
        if !own.is_empty() && pieces.iter().any(|(piece, quoted)| !quoted && piece.contains('?')) {
            return Err("beside the item's own values, write the handler's parameters as `$1`, `$2`, …".into());
        }
        Ok(Text { sql: sql.into(), own })
    }
}

/// Whether it is PostgreSQL's `select … into`, which makes a table: `into` behind anything else than the words that it
/// belongs to where rows are changed.
fn makes_a_table(pieces: &[(&str, bool)]) -> bool {
    let mut before = String::new();
    for (piece, quoted) in pieces {
        if *quoted {
            // A name or a value. A comment is no word.
            before = if piece.starts_with("--") || piece.starts_with("/*") { before } else { String::new() };
            continue;
        }
        for word in piece.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()) {
            let word = word.to_ascii_lowercase();
            let of_a_change = ["insert", "merge", "replace", "ignore", "abort", "fail", "rollback"];
            if word == "into" && !of_a_change.contains(&before.as_str()) {
                return true;
            }
            before = word;
        }
    }
    false
}

/// The highest number of the parameters `$1`, `$2`, …
fn highest(piece: &str) -> usize {
    let after = piece.split('$').skip(1);
    let number = |rest: &str| rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())].parse().ok();
    after.filter_map(number).max().unwrap_or(0)
}

/// The text in pieces, and whether each is a quoted text, a quoted name or a comment.
fn pieces(statement: &str) -> Vec<(&str, bool)> {
    let (mut pieces, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some(c) = statement[at..].chars().next() {
        let length = match c {
            '\'' | '"' | '`' => statement[at + 1..].find(c).map(|end| end + 2),
            '-' if statement[at..].starts_with("--") => statement[at..].find('\n'),
            '/' if statement[at..].starts_with("/*") => statement[at..].find("*/").map(|end| end + 2),
            '$' => match tag(&statement[at..]) {
                Some(tag) => statement[at + tag.len()..].find(tag).map(|end| end + 2 * tag.len()),
                None => Some(0),
            },
            _ => Some(0),
        };
        match length.unwrap_or(statement.len() - at) {
            0 => at += c.len_utf8(),
            length => {
                pieces.push((&statement[from..at], false));
                pieces.push((&statement[at..at + length], true));
                at += length;
                from = at;
            }
        }
    }
    pieces.push((&statement[from..], false));
    pieces
}

/// The beginning of a text that PostgreSQL quotes with dollars: `$$`, `$tag$`.
fn tag(text: &str) -> Option<&str> {
    let name = text[1..].find(|c: char| !c.is_alphanumeric() && c != '_')?;
    let ends = text[1 + name..].starts_with('$') && !text[1..].starts_with(|c: char| c.is_ascii_digit());
    ends.then(|| &text[..name + 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(statement: &str) -> (String, Vec<Own>) {
        let text = Text::read(statement).unwrap();
        (text.sql.to_string(), text.own)
    }

    #[test]
    fn the_items_values_become_parameters_behind_those_of_the_handler() {
        assert_eq!(
            read("update t set a = $2, by = {attempt} where k = $1 and (f, s) = ({id}, {scope}) and {attempt} > 0"),
            (
                "update t set a = $2, by = $3 where k = $1 and (f, s) = ($4, $5) and $3 > 0".into(),
                vec![Own::Attempt, Own::Id, Own::Scope]
            )
        );
        assert_eq!(read("select {id}"), ("select $1".into(), vec![Own::Id]));
        assert_eq!(read("select $12, $x, '$99'"), ("select $12, $x, '$99'".into(), vec![]));
    }

    #[test]
    fn quotes_and_comments_stay_as_they_are() {
        for statement in [
            "select '{id}', \"{id}\", `{id}` -- {id}\n, 1",
            "select /* {id} */ 1 -- {id}",
            "select $${id}$$, $q${id}$$ {id}$q$, '{id}",
            "select '{1,2}'::int[]",
            "select 1 -- don't {id}",
        ] {
            assert_eq!(read(statement), (statement.to_owned(), vec![]));
        }
        assert_eq!(read("select 'it''s', {id} -- '").0, "select 'it''s', $1 -- '");
        assert_eq!(read("select $1$2, {id}").0, "select $1$2, $3");
        assert_eq!(read("select 'é', {id}, 'é'").0, "select 'é', $1, 'é'");
    }

    #[test]
    fn what_only_begins_like_a_comment_or_a_quote_is_none_and_each_ends_where_it_ends() {
        assert_eq!(read("select 4 - {id}").0, "select 4 - $1");
        assert_eq!(read("select 4 / {id}").0, "select 4 / $1");
        assert_eq!(read("select /*{*/ 1").0, "select /*{*/ 1");
        assert_eq!(read("select $$abcd$$, {id}").0, "select $$abcd$$, $1");
        assert_eq!(read("select $q$x$q$a$, {id}").0, "select $q$x$q$a$, $1");
        assert_eq!(read("select $q$ {id} $$ {id} $q$").0, "select $q$ {id} $$ {id} $q$");
    }

    #[test]
    fn a_select_that_makes_a_table_is_refused_and_a_change_of_rows_is_not() {
        for statement in [
            "select 1 as x into pwn",
            "with a as (select 1) select * /* insert */ INTO temp t from a",
            "select a \"insert\" into t from b",
            "select 'insert'into t",
        ] {
            assert!(Text::read(statement).unwrap_err().contains("makes a table"), "{statement}");
        }
        for statement in [
            "insert into t values (1)",
            "insert -- why\n into t select 'select into', \"into\" from u",
            "insert or replace into t values (1)",
            "merge into t using u on true when matched then delete",
            "with a as (insert into t values (1) returning *) select * from a",
        ] {
            assert!(Text::read(statement).is_ok(), "{statement}");
        }
    }

    #[test]
    fn what_is_no_value_of_the_item_is_refused_in_words() {
        for statement in ["select {ids}", "select {", "select {}", "select { id }"] {
            assert!(Text::read(statement).unwrap_err().contains("{id}, {attempt}, {scope}"), "{statement}");
        }
        assert!(Text::read("select ?, {id}").unwrap_err().contains("`$1`"));
        assert!(Text::read("select ?").is_ok());
    }
}
