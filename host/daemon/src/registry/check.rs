//! Does every declared kind have exactly one handler, and every described kind a declaration?

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::PayloadSchema;
use crate::config::{Config, KindSettings};
use crate::finding::Finding;

/// What a loaded component says that it runs.
pub(super) struct Described {
    /// Its place in `[[handlers]]`.
    pub(super) index: usize,
    /// Its file.
    pub(super) component: PathBuf,
    /// Its kinds.
    pub(super) kinds: Vec<String>,
}

/// All that does not match. While some component could not be loaded (`incomplete`), a kind without a
/// handler is not reported: it may be that component's.
pub(super) fn coverage(config: &Config, handlers: &[Described], incomplete: bool) -> Vec<Finding> {
    let mut by_kind: BTreeMap<&str, Vec<&Described>> = BTreeMap::new();
    for handler in handlers {
        for kind in &handler.kinds {
            by_kind.entry(kind).or_default().push(handler);
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
                Some(format!("add [kinds.{kind}], or remove the component")),
            ));
        }
    }
    findings
}

/// Whether a periodic kind's own payload is one that its handler takes.
pub(super) fn periodic_payload(
    config: &Config,
    name: &str,
    settings: &KindSettings,
    schema: &PayloadSchema,
) -> Option<Finding> {
    settings.schedule.as_ref()?;
    let problem = schema.check(&settings.payload).err()?;
    let mend = "set `payload` to one that matches the handler's schema".to_owned();
    Some(config.source.finding("periodic-payload-refused", &["kinds", name, "payload"], problem, Some(mend)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(toml: &str, handlers: &[&[&str]], incomplete: bool) -> Vec<&'static str> {
        let config: Config = toml::from_str(toml).unwrap();
        let described: Vec<_> = handlers
            .iter()
            .enumerate()
            .map(|(index, kinds)| Described {
                index,
                component: format!("{index}.wasm").into(),
                kinds: kinds.iter().map(|kind| kind.to_string()).collect(),
            })
            .collect();
        coverage(&config, &described, incomplete).iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn a_catalogue_that_its_handlers_match_exactly_has_no_findings() {
        assert!(codes("[kinds.a]\n[kinds.b]\n", &[&["a"], &["b"]], false).is_empty());
    }

    #[test]
    fn each_way_not_to_match_is_a_finding_of_its_own_and_all_are_told_at_once() {
        assert_eq!(codes("[kinds.a]\n", &[], false), ["kind-without-handler"]);
        assert_eq!(codes("[kinds.a]\n", &[&["a"], &["a"]], false), ["kind-with-several-handlers"]);
        assert_eq!(codes("", &[&["a"]], false), ["kind-undeclared"]);
        assert_eq!(
            codes("[kinds.a]\n[kinds.b]\n", &[&["b"], &["b"], &["c"]], false),
            ["kind-without-handler", "kind-with-several-handlers", "kind-undeclared"]
        );
    }

    #[test]
    fn a_component_that_did_not_load_is_not_told_twice() {
        assert!(codes("[kinds.a]\n", &[], true).is_empty());
    }
}
