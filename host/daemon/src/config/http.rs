//! Whether the entries of `[handlers.http]` are origins and networks.

use std::str::FromStr;

use workhost_runtime::{AllowedOrigin, BadEntry, Network};

use super::Config;
use crate::finding::Finding;

/// All that is wrong with them, each at its place.
pub(super) fn check(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, handler) in config.handlers.iter().enumerate() {
        let Some(http) = &handler.http else { continue };
        let mut find = |key: &str, entry: Option<usize>, BadEntry { problem, mend }: BadEntry| {
            let (index, entry) = (index.to_string(), entry.map(|entry| entry.to_string()));
            let keys: Vec<&str> = ["handlers", &index, "http", key].into_iter().chain(entry.as_deref()).collect();
            findings.push(config.source.finding("http-entry-invalid", &keys, problem, Some(mend)));
        };
        for (entry, bad) in bad::<AllowedOrigin>(&http.allow) {
            find("allow", Some(entry), bad);
        }
        for (entry, bad) in bad::<Network>(&http.private) {
            find("private", Some(entry), bad);
        }
        if http.allow.is_empty() {
            let problem = "lists no origin, so every request would be denied".to_owned();
            let mend = "list the origins that the handler sends requests to, or take the grant away".to_owned();
            find("allow", None, BadEntry { problem, mend });
        }
    }
    findings
}

fn bad<T: FromStr<Err = BadEntry>>(entries: &[String]) -> impl Iterator<Item = (usize, BadEntry)> {
    entries.iter().enumerate().filter_map(|(index, entry)| Some((index, entry.parse::<T>().err()?)))
}
