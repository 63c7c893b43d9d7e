//! Who may touch the queue's table: `host/queue`, and in it one place per store inserts.

use std::path::Path;

use anyhow::Result;

use super::Violation;
use super::source::{self, Source, Text};

/// The table that the rules protect.
const TABLE: &str = "work_items";

/// Places outside the queue that touch its table, and inserts too many or too few inside.
///
/// # Errors
/// When a source file cannot be read.
pub(super) fn violations(root: &Path) -> Result<Vec<Violation>> {
    let mut violations = Vec::new();
    for folder in ["host", "handlers", "examples"] {
        for source in source::read(root, folder)? {
            // These rules themselves name what they forbid.
            if !source.file.starts_with("host/queue") && !source.file.starts_with("host/xtask/src/architecture") {
                violations.extend(outside(&source));
            }
        }
    }
    violations.extend(inserts(root)?);
    Ok(violations)
}

/// Uses of the table by others than the queue. The examples may read it, to show what was done; they
/// write through verbs and SQL functions, as applications do.
fn outside(source: &Source) -> Vec<Violation> {
    let may_read = source.file.starts_with("examples");
    let mut violations = Vec::new();
    let (mut open_statement, mut bare_name) = (None, false);
    for (line, text) in literals(source) {
        let words = words(text);
        for (position, (offset, _)) in words.iter().enumerate().filter(|(_, (_, word))| word == TABLE) {
            match Use::of(&words[..position]) {
                Some(Use::Read) if may_read => {}
                Some(found) => violations.push(Violation {
                    place: place(source, line_at(line, text, *offset)),
                    what: format!("{} `{TABLE}` outside host/queue; use a verb of the queue", found.described()),
                }),
                None => bare_name = true,
            }
        }
        if is_open(&words, text) {
            open_statement = Some(line);
        }
    }
    // Either alone is harmless; together they make a statement at run time.
    if let (Some(line), true) = (open_statement, bare_name) {
        violations.push(Violation {
            place: place(source, line),
            what: format!("a statement without its table, and `{TABLE}` in the same file; use a verb of the queue"),
        });
    }
    violations
}

/// The places that insert work items, in the queue and in the functions of the migrations: exactly
/// one per store.
fn inserts(root: &Path) -> Result<Vec<Violation>> {
    let mut sources = source::read(root, "host/queue")?;
    sources.extend(source::read(root, "migrations")?);
    let mut found = Vec::new();
    for source in &sources {
        for (line, text) in literals(source) {
            let words = words(text);
            for (position, (offset, _)) in words.iter().enumerate().filter(|(_, (_, word))| word == TABLE) {
                if Use::of(&words[..position]) == Some(Use::Insert) {
                    let file = source.file.to_string_lossy();
                    let store = ["postgres", "sqlite"].into_iter().find(|store| file.contains(store));
                    found.push((store, place(source, line_at(line, text, *offset))));
                }
            }
        }
    }
    let mut violations = Vec::new();
    for store in ["postgres", "sqlite"] {
        let places: Vec<&String> = found.iter().filter(|(of, _)| *of == Some(store)).map(|(_, place)| place).collect();
        if places.is_empty() {
            violations.push(Violation {
                place: "host/queue".to_owned(),
                what: format!(
                    "nothing inserts into `{TABLE}` on {store}: the rule that looks for it has lost its object"
                ),
            });
        }
        violations.extend(places.iter().skip(1).map(|place| Violation {
            place: (*place).clone(),
            what: format!(
                "a second insert into `{TABLE}` on {store}, after {}; the verb `enqueue` is the one place",
                places[0]
            ),
        }));
    }
    violations.extend(found.into_iter().filter(|(store, _)| store.is_none()).map(|(_, place)| Violation {
        place,
        what: format!("an insert into `{TABLE}` that belongs to no store; put it into that store's `enqueue`"),
    }));
    Ok(violations)
}

/// What a statement does with a table.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Use {
    Insert,
    Change,
    Read,
}

impl Use {
    /// Judged by the words before the table's name; `None` where they are no SQL.
    fn of(before: &[(usize, String)]) -> Option<Self> {
        // `only` and a schema's name may stand between; a name before a dot is one.
        let mut before = before
            .iter()
            .rev()
            .map(|(_, word)| word.as_str())
            .skip_while(|word| word.ends_with('.') || *word == "only");
        match before.next()? {
            "into" => Some(Self::Insert),
            "update" | "truncate" | "table" | "copy" => Some(Self::Change),
            // `update or ignore work_items` is SQLite's.
            "abort" | "fail" | "ignore" | "replace" | "rollback" if before.next() == Some("or") => Some(Self::Change),
            "from" if before.next() == Some("delete") => Some(Self::Change),
            "from" | "join" => Some(Self::Read),
            _ => None,
        }
    }

    fn described(self) -> &'static str {
        match self {
            Self::Insert => "inserts into",
            Self::Change => "changes",
            Self::Read => "reads",
        }
    }
}

/// Whether a text breaks off, or goes on with a value, where a statement that writes names its table.
fn is_open(words: &[(usize, String)], text: &str) -> bool {
    let ends_open = |words: &[(usize, String)]| {
        let last: Vec<&str> = words.iter().rev().take(2).map(|(_, word)| word.as_str()).collect();
        matches!(
            last[..],
            ["into", "insert" | "replace" | "merge" | "ignore"]
                | ["from", "delete"]
                | ["update"]
                | ["update", "do" | "or"]
        )
    };
    let before_values = words
        .iter()
        .enumerate()
        .filter(|(_, (offset, word))| text[offset + word.len()..].trim_start().starts_with('{'));
    ends_open(words) || before_values.into_iter().any(|(position, _)| ends_open(&words[..=position]))
}

/// The words of a text in lower case with their places; quotes are no part of them, and a dot after
/// a schema's name is.
fn words(text: &str) -> Vec<(usize, String)> {
    let mut words: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (offset, letter) in text.char_indices() {
        match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' if open => {
                let (_, word) = words.last_mut().expect("an open word is the last one");
                word.push(letter.to_ascii_lowercase());
            }
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => {
                words.push((offset, letter.to_ascii_lowercase().to_string()));
                open = true;
            }
            '.' => {
                if let Some((_, word)) = words.last_mut() {
                    word.push('.');
                }
                open = false;
            }
            _ => open = false,
        }
    }
    words
}

fn literals(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    source.pieces.iter().filter_map(|piece| match &piece.text {
        Text::Literal(text) => Some((piece.line, text.as_str())),
        Text::Name(_) => None,
    })
}

fn line_at(first: usize, text: &str, offset: usize) -> usize {
    first + text[..offset].matches('\n').count()
}

fn place(source: &Source, line: usize) -> String {
    format!("{}:{line}", source.file.display())
}

#[cfg(test)]
mod tests;
