//! A place in the walk.
//!
//! The walk is depth first. A folder's files come first, by the bytes of their names, and then its
//! subfolders, each whole, by the bytes of theirs. So folders come in the order of their paths compared
//! name by name, and a folder comes before all that it holds.

use serde::{Deserialize, Serialize};

/// The place up to which a crawl has come: all that comes before it in the walk is done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cursor {
    /// The folder, from the granted one, which is the empty text.
    pub(crate) folder: String,
    /// The last file of it that is done; none if the folder itself is recorded, but no file of it.
    pub(crate) file: Option<String>,
    /// Nothing is left of the folder, nor below it: it could not be listed.
    pub(crate) closed: bool,
}

/// How much of a folder is left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visit<'a> {
    /// All of it.
    Whole,
    /// Its files after this one, or all its files, and then its subfolders. The folder is recorded.
    Rest(Option<&'a str>),
    /// Its subfolders: the cursor is somewhere below.
    Subfolders,
    /// Nothing.
    Nothing,
}

/// How much of this folder is left to a crawl that had come to this cursor.
pub(crate) fn visit<'a>(cursor: Option<&'a Cursor>, folder: &str) -> Visit<'a> {
    let Some(cursor) = cursor else { return Visit::Whole };
    if cursor.folder == folder {
        return if cursor.closed { Visit::Nothing } else { Visit::Rest(cursor.file.as_deref()) };
    }
    let (mut done, mut here) = (names(&cursor.folder), names(folder));
    loop {
        match (done.next(), here.next()) {
            (Some(done), Some(here)) if done == here => {}
            (Some(done), Some(here)) if here < done => return Visit::Nothing,
            (Some(_), None) => return Visit::Subfolders,
            _ => return Visit::Whole,
        }
    }
}

fn names(folder: &str) -> impl Iterator<Item = &str> {
    folder.split('/').filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(folder: &str, file: Option<&str>) -> Cursor {
        Cursor { folder: folder.into(), file: file.map(str::to_owned), closed: false }
    }

    #[test]
    fn a_fresh_crawl_visits_all_folders_whole() {
        assert_eq!(visit(None, ""), Visit::Whole);
        assert_eq!(visit(None, "a/b"), Visit::Whole);
    }

    #[test]
    fn a_folder_before_the_cursor_is_done_and_one_after_it_is_not() {
        let cursor = at("m/m", Some("file"));
        for done in ["a", "m/a", "m/a/z", "m/lz"] {
            assert_eq!(visit(Some(&cursor), done), Visit::Nothing, "{done}");
        }
        for open in ["n", "m/n", "m/m/a", "mm"] {
            assert_eq!(visit(Some(&cursor), open), Visit::Whole, "{open}");
        }
    }

    #[test]
    fn folders_above_the_cursor_are_passed_through_and_its_own_is_finished() {
        let cursor = at("m/m", Some("file"));
        assert_eq!(visit(Some(&cursor), ""), Visit::Subfolders);
        assert_eq!(visit(Some(&cursor), "m"), Visit::Subfolders);
        assert_eq!(visit(Some(&cursor), "m/m"), Visit::Rest(Some("file")));
        assert_eq!(visit(Some(&at("", None)), ""), Visit::Rest(None));
    }

    #[test]
    fn of_a_folder_that_could_not_be_listed_nothing_is_left() {
        let cursor = Cursor { closed: true, ..at("m", None) };
        assert_eq!(visit(Some(&cursor), "m"), Visit::Nothing);
        assert_eq!(visit(Some(&cursor), ""), Visit::Subfolders);
        assert_eq!(visit(Some(&cursor), "n"), Visit::Whole);
    }

    #[test]
    fn names_are_compared_and_not_whole_paths() {
        // As a text `a b` sorts before `a/x`, and as names it comes after all of `a`.
        assert_eq!(visit(Some(&at("a/x", None)), "a b"), Visit::Whole);
        assert_eq!(visit(Some(&at("a b", None)), "a/x"), Visit::Nothing);
    }
}
