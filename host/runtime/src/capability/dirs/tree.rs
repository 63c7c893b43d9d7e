//! Whether two folders lie in one tree.

use std::path::PathBuf;

use super::{SCOPE, segments};

/// Two of these, by their places, of which one may be written and lies in, or around, one that may only be read. What
/// `{scope}` stands for may be any name.
pub(super) fn both_ways<'a>(folders: impl Iterator<Item = (&'a str, bool)>) -> Option<(usize, usize)> {
    let folders: Vec<(Vec<String>, bool)> = folders.map(|(path, writable)| (resolved(path), writable)).collect();
    let pairs = (0..folders.len()).flat_map(|one| (0..one).map(move |other| (other, one)));
    let is_both_ways = |(other, one): &(usize, usize)| {
        let ((path, writable), (other_path, other_writable)) = (&folders[*one], &folders[*other]);
        let same = |(a, b): (&String, &String)| a == b || a == SCOPE || b == SCOPE;
        writable != other_writable && path.iter().zip(other_path).all(same)
    };
    { pairs }.find(is_both_ways)
}

/// The path in parts, with links followed as far as it exists.
fn resolved(path: &str) -> Vec<String> {
    let parts = segments(path);
    for length in (1..=parts.len()).rev() {
        if let Ok(real) = std::fs::canonicalize(parts[..length].iter().collect::<PathBuf>()) {
            return segments(&real.to_string_lossy()).into_iter().chain(parts[length..].iter().cloned()).collect();
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clash(folders: &[(&str, bool)]) -> Option<(usize, usize)> {
        both_ways(folders.iter().copied())
    }

    #[test]
    fn one_tree_is_found_whichever_of_the_two_is_above() {
        assert_eq!(clash(&[("/none/a", false), ("/none/a/b", true)]), Some((0, 1)));
        assert_eq!(clash(&[("/none/a/b", false), ("/none/x", false), ("/none/a", true)]), Some((0, 2)));
        assert_eq!(clash(&[("/none/a/", true), ("/none/./a", false)]), Some((0, 1)));
        assert_eq!(clash(&[("/none/a", false), ("/none/ab", true), ("/none/b", true)]), None);
        assert_eq!(clash(&[("/none/a", true), ("/none/a/b", true)]), None);
    }

    #[test]
    fn a_scope_may_have_any_name() {
        assert_eq!(clash(&[("/none/{scope}", false), ("/none/shared", true)]), Some((0, 1)));
        assert_eq!(clash(&[("/none/{scope}/in", false), ("/none/{scope}/out", true)]), None);
        assert_eq!(clash(&[("/none/{scope}/in", false), ("/none/{scope}", true)]), Some((0, 1)));
    }

    #[test]
    fn a_link_is_where_it_leads() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| format!("{}/{name}", dir.path().display());
        std::fs::create_dir(path("real")).unwrap();
        std::os::unix::fs::symlink(path("real"), path("link")).unwrap();
        assert_eq!(clash(&[(&path("real"), false), (&path("link/new"), true)]), Some((0, 1)));
    }
}
