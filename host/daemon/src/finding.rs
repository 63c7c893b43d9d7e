//! What is wrong with a configuration or a registry, said so that it can be mended.

use std::path::PathBuf;

use serde::Serialize;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing starts with it.
    Error,
    /// Something could not be checked, so nobody knows. Nothing starts with it either.
    Unchecked,
    /// It works, and is probably not meant so.
    Warning,
}

/// One thing that is wrong, where it stands, and the mend.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
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

impl Finding {
    /// The same as an annotation of a GitHub workflow: one line, with its own way of writing what would end it.
    pub fn annotation(&self) -> String {
        let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
        let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
        let level = if self.severity == Severity::Warning { "warning" } else { "error" };
        let line = self.line.map_or_else(String::new, |line| format!(",line={line}"));
        format!(
            "::{level} file={}{line},title={}::{}",
            property(&self.file.display().to_string()),
            property(self.code),
            data(&self.message())
        )
    }

    /// What is wrong and the mend, without the place.
    fn message(&self) -> String {
        let key = self.key.as_ref().map_or_else(String::new, |key| format!("{key}: "));
        let doubt = match self.severity {
            Severity::Error => "",
            Severity::Unchecked => "could not be checked: ",
            Severity::Warning => "warning: ",
        };
        let mend = self.mend.as_ref().map_or_else(String::new, |mend| format!("\n    hint: {mend}"));
        format!("{key}{doubt}{} [{}]{mend}", self.problem, self.code)
    }

    /// The same, with another severity.
    pub fn with(self, severity: Severity) -> Finding {
        Finding { severity, ..self }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_is_one_line_that_names_its_place() {
        let finding = Finding {
            severity: Severity::Error,
            code: "kind-without-handler",
            file: "a,b:c.toml".into(),
            line: Some(7),
            key: Some("kinds.a".into()),
            problem: "100% wrong\nreally".into(),
            mend: Some("mend it".into()),
        };
        assert_eq!(
            finding.annotation(),
            "::error file=a%2Cb%3Ac.toml,line=7,title=kind-without-handler::kinds.a: 100%25 wrong%0Areally \
             [kind-without-handler]%0A    hint: mend it"
        );
        assert!(finding.with(Severity::Warning).annotation().starts_with("::warning file="));
    }
}
