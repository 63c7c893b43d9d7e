//! Where a key stands in the configuration file, so that a finding can name the line.

use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};
use workhost_runtime::harmless_line;

use super::Url;
use crate::finding::{Finding, Severity};

/// Bytes of a finding's text; 2 KiB. More is nothing that a person reads.
const TEXT_BYTES: usize = 2 << 10;

/// The text of a configuration file and where it came from.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The file.
    pub file: PathBuf,
    pub(super) text: String,
}

/// A key as TOML writes it: bare, or quoted where it has to be.
pub fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_bare = !name.is_empty() && name.chars().all(bare);
    // A string of JSON is one of TOML, too.
    if is_bare { name.to_owned() } else { serde_json::Value::from(name).to_string() }
}

impl Source {
    /// The text of a file.
    pub(crate) fn new(file: &Path, text: String) -> Source {
        Source { file: file.to_owned(), text }
    }

    /// A finding about the value under these keys; array elements are keys such as `0`. The deepest
    /// key that exists gives the line.
    pub fn finding(&self, code: &'static str, keys: &[&str], problem: String, mend: Option<String>) -> Finding {
        let line = self.offset_of(keys).map(|offset| self.line_at(offset));
        let key = (!keys.is_empty()).then(|| display(keys));
        // What stands in them may come from a component or from a payload.
        let problem = harmless_line(&problem, TEXT_BYTES);
        let mend = mend.map(|mend| harmless_line(&mend, TEXT_BYTES));
        let key = key.map(|key| harmless_line(&key, TEXT_BYTES));
        Finding { severity: Severity::Error, code, file: self.file.clone(), line, key, problem, mend }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The path that a relative path of the configuration means.
    pub fn resolve(&self, path: impl AsRef<Path>) -> PathBuf {
        let folder = self.file.parent().unwrap_or(Path::new(""));
        folder.join(path)
    }

    /// The store URL with a relative SQLite file made relative to the configuration file.
    pub fn resolve_url(&self, url: &Url) -> String {
        match url.0.strip_prefix("sqlite://") {
            Some(path) => format!("sqlite://{}", self.resolve(path).display()),
            None => url.0.clone(),
        }
    }

    pub(super) fn line_at(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
    }

    fn offset_of(&self, keys: &[&str]) -> Option<usize> {
        let document = DeTable::parse(&self.text).ok()?;
        let mut offset = None;
        let mut value: Option<&DeValue<'_>> = None;
        for key in keys {
            let table = match value {
                None => Some(document.get_ref()),
                Some(DeValue::Table(table)) => Some(table),
                Some(_) => None,
            };
            let next = match (table, value) {
                (Some(table), _) => table.get_key_value(*key).map(|(name, next)| (name.span(), next)),
                (None, Some(DeValue::Array(array))) => {
                    key.parse::<usize>().ok().and_then(|index| array.get(index)).map(|next| (next.span(), next))
                }
                _ => None,
            };
            let Some((span, next)) = next else { break };
            offset = Some(span.start);
            value = Some(next.get_ref());
        }
        offset
    }
}

/// `["handlers", "0", "sql", "x"]` as people write it: `handlers[0].sql.x`.
fn display(keys: &[&str]) -> String {
    let mut text = String::new();
    for name in keys {
        if name.bytes().all(|byte| byte.is_ascii_digit()) && !name.is_empty() {
            text.push_str(&format!("[{name}]"));
        } else if text.is_empty() {
            text.push_str(&key(name));
        } else {
            text.push_str(&format!(".{}", key(name)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source { file: "workhost.toml".into(), text: text.into() }
    }

    #[test]
    fn a_finding_names_the_line_of_its_key() {
        let source = source(
            "[kinds.a]\ntimeout = \"5m\"\n\n[[handlers]]\ncomponent = \"a.wasm\"\n[handlers.sql.x]\ndatabase = \"app\"\n",
        );
        let line = |keys: &[&str]| source.finding("x", keys, String::new(), None).line;
        assert_eq!(line(&["kinds", "a", "timeout"]), Some(2));
        assert_eq!(line(&["handlers", "0", "component"]), Some(5));
        assert_eq!(line(&["handlers", "0", "sql", "x", "database"]), Some(7));
        assert_eq!(line(&["store"]), None);
    }

    #[test]
    fn a_key_that_is_missing_is_reported_at_its_table() {
        let source = source("[worker]\nslots = 2\n");
        assert_eq!(source.finding("x", &["worker", "lease"], String::new(), None).line, Some(1));
    }

    #[test]
    fn a_key_is_quoted_where_toml_needs_it() {
        for (name, written) in [("a-b_1", "a-b_1"), ("a b", "\"a b\""), ("é", "\"é\""), ("", "\"\""), ("\"", r#""\"""#)]
        {
            assert_eq!(key(name), written);
        }
    }

    #[test]
    fn a_finding_says_no_more_than_a_person_reads() {
        let problem = source("").finding("x", &[], "x".repeat(3000), None).problem;
        assert!(problem.starts_with(&"x".repeat(2048)) && problem.ends_with("(952 bytes more)"), "{problem}");
    }

    #[test]
    fn keys_read_as_people_write_them() {
        assert_eq!(display(&["handlers", "0", "sql", "x"]), "handlers[0].sql.x");
    }
}
