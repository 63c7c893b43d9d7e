//! Does every declared kind have exactly one handler, and every described kind a declaration?

use std::collections::BTreeMap;
use std::path::PathBuf;

use workhost_runtime::Examined;

use super::{PayloadSchema, component_finding};
use crate::config::key;
use crate::config::{Config, KindSettings};
use crate::finding::{Finding, Severity};

/// A component that could be loaded, and what it said.
pub struct Described {
    /// Its place in `[[handlers]]`.
    pub index: usize,
    /// Its file.
    pub component: PathBuf,
    /// What is known of it.
    pub examined: Examined,
}

/// Checks the components against the catalogue, and answers the payload types by kind.
pub(super) fn join(config: &Config, handlers: &[Described]) -> (BTreeMap<String, PayloadSchema>, Vec<Finding>) {
    let mut findings = coverage(config, handlers);
    findings.extend(undeclared_children(config));
    let mut schemas = BTreeMap::new();
    for Described { index, examined, .. } in handlers {
        for kind in &examined.kinds {
            match PayloadSchema::compile(&kind.payload_schema) {
                Ok(schema) => {
                    let settings = config.kinds.get(&kind.kind);
                    findings
                        .extend(settings.and_then(|settings| periodic_payload(config, &kind.kind, settings, &schema)));
                    schemas.insert(kind.kind.clone(), schema);
                }
                Err(reason) => {
                    let name = &kind.kind;
                    let problem = format!(
                        "the payload schema that the component gives for kind `{name}` is no JSON Schema: {reason}"
                    );
                    findings.push(component_finding(config, *index, "schema-invalid", problem, None));
                }
            }
        }
        findings.extend(examined.unused_grants.iter().map(|grant| unused(config, *index, grant)));
    }
    (schemas, findings)
}

/// A right that nobody uses is one that somebody else may find.
fn unused(config: &Config, index: usize, grant: &str) -> Finding {
    let problem = "is granted, and the component does not import it".to_owned();
    let mend = "take the grant away, or build the component that uses it".to_owned();
    let keys = ["handlers", &index.to_string(), grant];
    config.source.finding("grant-unused", &keys, problem, Some(mend)).with(Severity::Warning)
}

/// Kinds that a handler may enqueue and that this registry does not declare. Another host may run them.
fn undeclared_children(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, handler) in config.handlers.iter().enumerate() {
        let kinds = handler.queue.iter().flat_map(|grant| &grant.kinds);
        for kind in kinds.filter(|kind| !config.kinds.contains_key(*kind)) {
            let problem = format!("kind `{kind}` may be enqueued, and the catalogue does not declare it");
            let mend = "correct the name, or see that another host runs it".to_owned();
            let keys = ["handlers", &index.to_string(), "queue", "kinds"];
            let finding = config.source.finding("enqueued-kind-undeclared", &keys, problem, Some(mend));
            findings.push(finding.with(Severity::Warning));
        }
    }
    findings
}

/// All that does not match. While some component could not be loaded, a kind without a handler is not reported: it may
/// be that component's.
fn coverage(config: &Config, handlers: &[Described]) -> Vec<Finding> {
    let incomplete = handlers.len() < config.handlers.len();
    let mut by_kind: BTreeMap<&str, Vec<&Described>> = BTreeMap::new();
    for handler in handlers {
        for kind in &handler.examined.kinds {
            by_kind.entry(&kind.kind).or_default().push(handler);
        }
    }
    let mut findings = Vec::new();
    for name in config.kinds.keys().filter(|name| !incomplete && !by_kind.contains_key(name.as_str())) {
        findings.push(config.source.finding(
            "kind-without-handler",
            &["kinds", name],
            format!("no component in [[handlers]] runs kind `{name}`"),
            Some("add the component that runs it, or remove the kind".into()),
        ));
    }
    for (kind, handlers) in &by_kind {
        if handlers.len() > 1 {
            let files: Vec<_> = handlers.iter().map(|handler| handler.component.display().to_string()).collect();
            findings.push(config.source.finding(
                "kind-with-several-handlers",
                &["handlers", &handlers[1].index.to_string(), "component"],
                format!("kind `{kind}` has {} handlers: {}", files.len(), files.join(", ")),
                Some("keep one of them".into()),
            ));
        }
        if !config.kinds.contains_key(*kind) {
            findings.push(config.source.finding(
                "kind-undeclared",
                &["handlers", &handlers[0].index.to_string(), "component"],
                format!("{} runs kind `{kind}`, which the catalogue does not declare", handlers[0].component.display()),
                Some(format!("add [kinds.{}], or remove the component", key(kind))),
            ));
        }
    }
    findings
}

/// Whether a periodic kind's own payload is one that its handler takes.
fn periodic_payload(config: &Config, name: &str, settings: &KindSettings, schema: &PayloadSchema) -> Option<Finding> {
    settings.schedule.as_ref()?;
    let problem = schema.check(&settings.payload).err()?;
    let mend = "set `payload` to one that matches the handler's schema".to_owned();
    Some(config.source.finding("periodic-payload-refused", &["kinds", name, "payload"], problem, Some(mend)))
}

#[cfg(test)]
mod tests {
    use workhost_runtime::KindDescription;

    use super::*;
    use crate::config::schedule;

    /// The codes of what is found with a component for each list of kinds.
    fn codes(toml: &str, handlers: &[&[&str]]) -> Vec<&'static str> {
        let mut config: Config = toml::from_str(toml).unwrap();
        let schema = serde_json::json!({ "required": ["a"] });
        let kind = |kind: &&str| KindDescription {
            kind: kind.to_string(),
            summary: String::new(),
            payload_schema: schema.clone(),
        };
        let described: Vec<_> = handlers
            .iter()
            .enumerate()
            .map(|(index, kinds)| Described {
                index,
                component: format!("{index}.wasm").into(),
                examined: Examined {
                    digest: String::new(),
                    contract: String::new(),
                    kinds: kinds.iter().map(kind).collect(),
                    imports: Vec::new(),
                    unused_grants: Vec::new(),
                },
            })
            .collect();
        schedule::read(&mut config);
        join(&config, &described).1.iter().map(|finding| finding.code).collect()
    }

    /// So many entries of `[[handlers]]`.
    fn entries(n: usize) -> String {
        "[[handlers]]\ncomponent = \"a.wasm\"\n".repeat(n)
    }

    #[test]
    fn a_catalogue_that_its_handlers_match_exactly_has_no_findings() {
        assert!(codes("[kinds.a]\n[kinds.b]\n", &[&["a"], &["b"]]).is_empty());
    }

    #[test]
    fn each_way_not_to_match_is_a_finding_of_its_own_and_all_are_told_at_once() {
        assert_eq!(codes("[kinds.a]\n", &[]), ["kind-without-handler"]);
        assert_eq!(codes("[kinds.a]\n", &[&["a"], &["a"]]), ["kind-with-several-handlers"]);
        assert_eq!(codes("", &[&["a"]]), ["kind-undeclared"]);
        assert_eq!(
            codes("[kinds.a]\n[kinds.b]\n", &[&["b"], &["b"], &["c"]]),
            ["kind-without-handler", "kind-with-several-handlers", "kind-undeclared"]
        );
    }

    #[test]
    fn a_kind_that_is_enqueued_and_not_declared_is_warned_of() {
        let toml = |kind: &str| {
            format!("[kinds.a]\n[[handlers]]\ncomponent = \"a.wasm\"\n[handlers.queue]\nkinds = [\"{kind}\"]\n")
        };
        assert_eq!(codes(&toml("b"), &[&["a"]]), ["enqueued-kind-undeclared"]);
        assert!(codes(&toml("a"), &[&["a"]]).is_empty());
    }

    #[test]
    fn a_component_that_did_not_load_is_not_told_twice() {
        assert!(codes(&format!("[kinds.a]\n{}", entries(1)), &[]).is_empty());
    }

    #[test]
    fn a_periodic_kind_needs_a_payload_that_its_handler_takes() {
        assert_eq!(codes("[kinds.a]\nevery = \"1h\"\n", &[&["a"]]), ["periodic-payload-refused"]);
        assert!(codes("[kinds.a]\nevery = \"1h\"\npayload = { a = 1 }\n", &[&["a"]]).is_empty());
    }
}
