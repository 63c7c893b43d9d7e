//! What a check of a payload can cost at most, told from the schema alone.
//!
//! A schema is a handler's, and checks run in the host. Its parts may apply each other; where one applies another twice,
//! and that a third twice, the work doubles with each step, and in a recursive schema with each level of the payload. So a
//! schema is taken only if its parts, written out, are few, and if it comes back to itself once per value at most. Then a
//! check takes no more steps than there are values in the payload times parts in the schema.

use std::collections::{BTreeMap, HashMap, HashSet};

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use serde_json::{Map, Value};

/// Bytes of a schema; 64 KiB, some hundred fields with their descriptions.
const BYTES: usize = 64 << 10;

/// Parts of a schema, each counted as often as it is applied.
const PARTS: u64 = 10_000;

/// How many parts may apply each other in a row; 200.
const DEPTH: usize = 200;

/// Keywords that apply a schema, or several, to the very value.
const SAME: [&str; 7] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];
/// Keywords that apply a schema to each element or to each field that others leave over.
const EACH: [&str; 8] = [
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "contentSchema",
];
/// References that depend on the way to them, so that nothing can be told of them here.
const DYNAMIC: [&str; 2] = ["$dynamicRef", "$recursiveRef"];

/// The parts of a schema and how they apply each other.
struct Parts<'s> {
    root: &'s Value,
    graph: DiGraph<(), ()>,
    nodes: HashMap<*const Value, NodeIndex>,
    /// What each part applies to the same value.
    same: HashMap<NodeIndex, Vec<NodeIndex>>,
    /// What it applies to values within: by field or place, where one is named.
    within: HashMap<NodeIndex, Vec<(Option<String>, NodeIndex)>>,
}

/// A part that another applies.
struct Applied<'s> {
    /// The field or place that it is for, where one is named.
    key: Option<String>,
    part: &'s Value,
    /// Whether it applies to the very value, and not to one within.
    same: bool,
}

impl<'s> Applied<'s> {
    fn same(part: &'s Value) -> Self {
        Applied { key: None, part, same: true }
    }

    fn within(key: Option<String>, part: &'s Value) -> Self {
        Applied { key, part, same: false }
    }
}

/// How many parts the schema has, written out.
///
/// # Errors
/// Why a check of it has no bound.
pub(super) fn parts(schema: &Value) -> Result<u64, String> {
    let bytes = schema.to_string().len();
    if bytes > BYTES {
        return Err(format!("it has {bytes} bytes; the most is {BYTES}"));
    }
    let mut parts = Parts {
        root: schema,
        graph: DiGraph::new(),
        nodes: HashMap::new(),
        same: HashMap::new(),
        within: HashMap::new(),
    };
    let root = parts.read(schema)?;
    let count = parts.count(root, &mut HashMap::new(), &mut HashSet::new());
    parts.comes_back_once()?;
    if count > PARTS { Err(format!("its parts apply each other more than {PARTS} times")) } else { Ok(count) }
}

impl<'s> Parts<'s> {
    /// Takes in a part and all that it applies. Bounded by the schema's size; the stack by the nesting of JSON and by the
    /// worklist here.
    fn read(&mut self, schema: &'s Value) -> Result<NodeIndex, String> {
        let root = self.node(schema);
        let mut open = vec![schema];
        let mut done = HashSet::new();
        while let Some(part) = open.pop() {
            if !done.insert(std::ptr::from_ref(part)) {
                continue;
            }
            let Some(keywords) = part.as_object() else { continue };
            let from = self.node(part);
            for Applied { key, part, same } in self.applied(keywords)? {
                let to = self.node(part);
                self.graph.add_edge(from, to, ());
                if same {
                    self.same.entry(from).or_default().push(to);
                } else {
                    self.within.entry(from).or_default().push((key, to));
                }
                open.push(part);
            }
        }
        Ok(root)
    }

    fn node(&mut self, part: &'s Value) -> NodeIndex {
        let graph = &mut self.graph;
        *self.nodes.entry(std::ptr::from_ref(part)).or_insert_with(|| graph.add_node(()))
    }

    /// What the keywords of one part apply.
    fn applied(&self, keywords: &'s Map<String, Value>) -> Result<Vec<Applied<'s>>, String> {
        let mut applied = Vec::new();
        for (name, value) in keywords {
            let all: Vec<(Option<String>, &Value)> = match value {
                Value::Array(all) => all.iter().enumerate().map(|(n, one)| (Some(n.to_string()), one)).collect(),
                Value::Object(map) => map.iter().map(|(key, one)| (Some(key.clone()), one)).collect(),
                _ => Vec::new(),
            };
            match name.as_str() {
                "$ref" => applied.push(Applied::same(self.resolve(value)?)),
                name if DYNAMIC.contains(&name) => return Err(format!("it uses `{name}`, whose cost cannot be told")),
                name if SAME.contains(&name) && value.is_array() => {
                    applied.extend(all.into_iter().map(|(_, part)| Applied::same(part)));
                }
                name if SAME.contains(&name) => applied.push(Applied::same(value)),
                "dependentSchemas" | "dependencies" => {
                    applied.extend(
                        all.into_iter().filter(|(_, part)| !part.is_array()).map(|(_, part)| Applied::same(part)),
                    );
                }
                "properties" | "prefixItems" => {
                    applied.extend(all.into_iter().map(|(key, part)| Applied::within(key, part)))
                }
                "items" if value.is_array() => {
                    applied.extend(all.into_iter().map(|(key, part)| Applied::within(key, part)))
                }
                "patternProperties" => applied.extend(all.into_iter().map(|(_, part)| Applied::within(None, part))),
                name if EACH.contains(&name) => applied.push(Applied::within(None, value)),
                _ => {}
            }
        }
        Ok(applied)
    }

    fn resolve(&self, reference: &Value) -> Result<&'s Value, String> {
        let text = reference.as_str().unwrap_or_default();
        let found = text.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        found.ok_or_else(|| "a `$ref` is no path within the schema, as in `#/$defs/address`".to_owned())
    }

    /// Whether a recursive schema comes back to itself once per value: for each field or element, on all ways that
    /// apply to one value together.
    fn comes_back_once(&self) -> Result<(), String> {
        let mut group = HashMap::new();
        for (number, members) in tarjan_scc(&self.graph).into_iter().enumerate() {
            group.extend(members.into_iter().map(|member| (member, number)));
        }
        let mut known = HashMap::new();
        for node in self.graph.node_indices() {
            let ways = self.ways_back(node, &group, &mut known, &mut HashSet::new());
            let left_over = ways.get(&None).copied().unwrap_or_default();
            let most = ways.iter().map(|(key, n)| if key.is_some() { n + left_over } else { *n }).max();
            if most > Some(1) {
                return Err("it is recursive, and applies itself more than once to one value".to_owned());
            }
        }
        Ok(())
    }

    /// How often the parts that apply to one value come back to their own group, by field or place; `None` for any.
    fn ways_back(
        &self,
        node: NodeIndex,
        group: &HashMap<NodeIndex, usize>,
        known: &mut HashMap<NodeIndex, BTreeMap<Option<String>, u64>>,
        open: &mut HashSet<NodeIndex>,
    ) -> BTreeMap<Option<String>, u64> {
        if let Some(ways) = known.get(&node) {
            return ways.clone();
        }
        let mut ways: BTreeMap<Option<String>, u64> = BTreeMap::new();
        if !open.insert(node) {
            return ways;
        }
        let back = |to: &NodeIndex| group[to] == group[&node];
        if open.len() > DEPTH {
            // Too deep to be followed, so nothing can be told.
            open.remove(&node);
            return BTreeMap::from([(None, 2)]);
        }
        for (key, _) in self.within.get(&node).into_iter().flatten().filter(|(_, to)| back(to)) {
            *ways.entry(key.clone()).or_default() += 1;
        }
        for to in self.same.get(&node).into_iter().flatten().filter(|to| back(to)) {
            for (key, n) in self.ways_back(*to, group, known, open) {
                let all = ways.entry(key).or_default();
                *all = all.saturating_add(n);
            }
        }
        open.remove(&node);
        known.insert(node, ways.clone());
        ways
    }

    /// The parts of a part, written out; what comes back to itself counts once.
    fn count(&self, node: NodeIndex, known: &mut HashMap<NodeIndex, u64>, open: &mut HashSet<NodeIndex>) -> u64 {
        if let Some(count) = known.get(&node) {
            return *count;
        }
        if open.len() > DEPTH {
            return u64::MAX;
        }
        if !open.insert(node) {
            return 1;
        }
        let same = self.same.get(&node).into_iter().flatten();
        let within = self.within.get(&node).into_iter().flatten().map(|(_, to)| to);
        let count = same.chain(within).fold(1_u64, |all, to| all.saturating_add(self.count(*to, known, open)));
        open.remove(&node);
        known.insert(node, count);
        count
    }
}

#[cfg(test)]
mod tests;
