//! Whether a granted text is one statement that reads or changes rows, before a database sees it.

/// The words that such a statement begins with. Others change the connection for those who use it next
/// (`set`, `begin`, `pragma`), reach other files (`attach`), change the schema, or cannot run in the host's transaction.
const FIRST: [&str; 9] = ["select", "insert", "update", "delete", "with", "values", "replace", "merge", "call"];

/// Checks the first word. The error is text for the operator.
pub(super) fn must_touch_rows_only(statement: &str) -> Result<(), String> {
    let rest = statement[skip_blank(statement)..].trim_start_matches(|c: char| c == '(' || c.is_whitespace());
    let word: String = rest.chars().take_while(|c| c.is_ascii_alphabetic()).collect::<String>().to_ascii_lowercase();
    if FIRST.contains(&word.as_str()) {
        return Ok(());
    }
    if word.is_empty() {
        return Err("it is empty".into());
    }
    let instead = instead(&word).map(|instead| format!(" ({instead})")).unwrap_or_default();
    Err(format!("it begins with `{word}`{instead}; a statement reads or changes rows: {}", FIRST.join(", ")))
}

/// Why such a statement cannot run in the transaction that the host puts around each, and what to do instead.
fn instead(word: &str) -> Option<&'static str> {
    match word {
        "vacuum" | "reindex" | "cluster" | "checkpoint" => Some(
            "each statement runs in a transaction of the host's, and this one cannot: leave it to the database's own upkeep, \
             or to a job beside workhost",
        ),
        "create" | "alter" | "drop" => {
            Some("the schema is the application's: change it in the application's migrations")
        }
        "begin" | "start" | "commit" | "end" | "rollback" | "abort" | "savepoint" | "release" => {
            Some("the host itself puts a transaction around each statement: grant what stands in between")
        }
        _ => None,
    }
}

/// Checks that nothing follows the first `;`, as SQLite reads text. (PostgreSQL refuses several statements
/// by itself.)
pub(super) fn must_be_one(statement: &str) -> Result<(), String> {
    let mut at = 0;
    while let Some(c) = statement[at..].chars().next() {
        at += match c {
            '\'' | '"' | '`' => quoted(&statement[at..], c),
            '[' => quoted(&statement[at..], ']'),
            '-' | '/' => skip_blank(&statement[at..]).max(1),
            ';' => {
                let tail = statement[at..].trim_start_matches(|c: char| c == ';' || c.is_whitespace());
                let tail = &tail[skip_blank(tail)..];
                return if tail.trim_matches(|c: char| c == ';' || c.is_whitespace()).is_empty() {
                    Ok(())
                } else {
                    Err("it is more than one statement".into())
                };
            }
            c => c.len_utf8(),
        };
    }
    Ok(())
}

/// Bytes of a quoted piece, its quotes included. A doubled quote inside is two pieces in a row.
fn quoted(text: &str, end: char) -> usize {
    text[1..].find(end).map_or(text.len(), |found| found + 2)
}

/// Bytes of spaces and comments at the beginning.
fn skip_blank(text: &str) -> usize {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once('\n').map_or("", |(_, next)| next);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, next)| next);
        } else {
            return text.len() - rest.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_touch_rows_pass() {
        for statement in [
            "select 1",
            " -- why\n/* and */ Delete from t",
            "(values (1))",
            "with x as (select 1) insert into t select * from x",
        ] {
            must_touch_rows_only(statement).unwrap();
        }
    }

    #[test]
    fn statements_that_reach_further_are_refused() {
        for statement in [
            "attach 'x' as y",
            "/* select */ PRAGMA journal_mode",
            "begin",
            "set role x",
            "drop table t",
            "",
            "-- select",
            "selectx",
        ] {
            assert!(must_touch_rows_only(statement).is_err(), "{statement}");
        }
    }

    #[test]
    fn what_cannot_run_in_a_transaction_is_refused_with_what_to_do_instead() {
        for (statement, words) in [
            ("vacuum t", "the database's own upkeep"),
            ("REINDEX database concurrently x", "in a transaction of the host's"),
            ("create database x", "the application's migrations"),
            ("commit", "puts a transaction around each statement"),
        ] {
            let said = must_touch_rows_only(statement).unwrap_err();
            assert!(said.contains(words) && said.contains("it begins with"), "{said}");
        }
    }

    #[test]
    fn a_tail_is_found_wherever_it_hides() {
        for statement in [
            "select 1; select 2",
            "select ';' ; delete from t",
            "select 1 -- ;\n; x",
            "select /* ' */ 1; drop table t",
            "select 1;; /* */ x",
            "select ''';'; x",
            "select [a'b]; x",
        ] {
            assert!(must_be_one(statement).is_err(), "{statement}");
        }
    }

    #[test]
    fn a_semicolon_in_quotes_or_comments_or_at_the_end_is_no_tail() {
        for statement in [
            "select 1",
            "select 1;",
            "select 1 ; -- done\n",
            "select 1; -- done\n ; ",
            "select ';'",
            "select \";\"",
            "select [;]",
            "select `;`",
            "select 1 -- ; x",
            "select /* ; */ 1",
            "select 4/2-1, 'é;'",
        ] {
            must_be_one(statement).unwrap();
        }
    }
}
