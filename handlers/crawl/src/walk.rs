//! Which folder comes next.

/// The folders that are left to visit, in order. The stack is explicit: a tree may be deeper than the
/// machine's own stack.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// The folder that the walk is in.
    path: String,
    levels: Vec<Level>,
}

/// Folders of one parent.
#[derive(Debug)]
struct Level {
    /// The length of the parent's path.
    parent: usize,
    /// Their names, the next one last.
    names: Vec<String>,
}

impl Walk {
    /// Puts the subfolders of the folder that the walk is in next, in this order.
    pub(crate) fn descend(&mut self, mut names: Vec<String>) {
        names.reverse();
        self.levels.push(Level { parent: self.path.len(), names });
    }

    /// Goes to the next folder and answers its path.
    pub(crate) fn next(&mut self) -> Option<&str> {
        while let Some(level) = self.levels.last_mut() {
            self.path.truncate(level.parent);
            if let Some(name) = level.names.pop() {
                if !self.path.is_empty() {
                    self.path.push('/');
                }
                self.path.push_str(&name);
                return Some(&self.path);
            }
            self.levels.pop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn folders_come_depth_first() {
        let mut walk = Walk::default();
        walk.descend(names(&["a", "b"]));
        let mut seen = Vec::new();
        while let Some(path) = walk.next().map(str::to_owned) {
            walk.descend(if path == "a" { names(&["x", "y"]) } else { Vec::new() });
            seen.push(path);
        }
        assert_eq!(seen, ["a", "a/x", "a/y", "b"]);
    }

    #[test]
    fn depth_is_bounded_by_memory_alone() {
        let mut walk = Walk::default();
        for depth in 0..100_000 {
            walk.descend(names(&["d"]));
            assert_eq!(walk.next().map(str::len), Some(2 * depth + 1));
        }
        assert_eq!(walk.next(), None);
    }
}
