//! Where symbolic links lead. None is followed: what lies in the folder is met by itself.

use serde::{Deserialize, Serialize};

/// How many symbolic links lead where, as far as a sandbox can tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Links {
    /// To something in the folder that was granted.
    pub(crate) inside: u64,
    /// Out of it.
    pub(crate) outside: u64,
    /// To a folder that the link lies in, or to each other without an end.
    pub(crate) circular: u64,
    /// To nothing.
    pub(crate) dangling: u64,
    /// Unknown: the way there cannot be read.
    pub(crate) unknown: u64,
}

/// What is met by going where a link leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Something.
    There,
    /// Nothing.
    Missing,
    /// The wall around the granted folder.
    Outside,
    /// Links without an end.
    Loop,
    /// Something unreadable on the way.
    Unknown,
}

impl Links {
    /// Counts a link that lies in this folder, reads like this, and leads there.
    pub(crate) fn count(&mut self, folder: &str, text: Option<&str>, target: Target) {
        let counter = match target {
            Target::There if text.is_some_and(|text| leads_upwards(folder, text)) => &mut self.circular,
            Target::There => &mut self.inside,
            Target::Missing => &mut self.dangling,
            Target::Outside => &mut self.outside,
            Target::Loop => &mut self.circular,
            Target::Unknown => &mut self.unknown,
        };
        *counter += 1;
    }
}

/// Whether a link in this folder that reads like this leads to the folder itself or to one above it.
/// Other links on the way are taken for folders.
fn leads_upwards(folder: &str, text: &str) -> bool {
    let folder: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    let mut way = folder.clone();
    for step in text.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                way.pop();
            }
            name => way.push(name),
        }
    }
    folder.starts_with(&way)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_a_folder_that_it_lies_in_is_circular() {
        for (folder, text) in [("a/b", ".."), ("a/b", "."), ("a/b", "../../a"), ("", "."), ("a", "./../a/")] {
            assert!(leads_upwards(folder, text), "{text} in {folder}");
        }
        for (folder, text) in [("a/b", "c"), ("a/b", "../bb"), ("a", "../b/a"), ("", "a")] {
            assert!(!leads_upwards(folder, text), "{text} in {folder}");
        }
    }
}
