//! What is wrong with a configuration or a registry, said so that it can be mended.

use std::path::PathBuf;

use serde::Serialize;

/// One thing that is wrong, where it stands, and the mend.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// A stable word for programs (`kind-without-handler`).
    pub code: &'static str,
    /// The file to change.
    pub file: PathBuf,
    /// The line in it, from 1, where one is to blame.
    pub line: Option<usize>,
    /// The key at fault (`kinds.crawl.every`).
    pub key: Option<String>,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub mend: Option<String>,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ": {key}")?;
        }
        write!(f, ": {} [{}]", self.problem, self.code)?;
        if let Some(mend) = &self.mend {
            write!(f, "\n    hint: {mend}")?;
        }
        Ok(())
    }
}

/// All that was found wrong, at once; never empty.
#[derive(Debug, thiserror::Error)]
#[error("{}", list(.0))]
pub struct Findings(pub Vec<Finding>);

fn list(findings: &[Finding]) -> String {
    let mut text: String = findings.iter().map(|finding| format!("{finding}\n")).collect();
    let plural = if findings.len() == 1 { "" } else { "s" };
    text.push_str(&format!("{} finding{plural}", findings.len()));
    text
}
