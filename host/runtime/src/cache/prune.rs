//! Keeping a cache's folder small.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use super::entry;
use super::folder::{Folder, Listed, UNFINISHED};

/// How old a file is, in seconds, when whoever was writing it has surely gone.
const ABANDONED_SECONDS: i64 = 60 * 60;

/// Removes what was abandoned, and of the entries those not used for longest until all have at most `total_bytes`.
/// Files that are none of ours stay.
pub(super) fn prune(folder: &Folder, total_bytes: u64) -> io::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()).cast_signed();
    surplus(folder.list()?, total_bytes, now).iter().try_for_each(|name| folder.remove(name))
}

/// The names of what has to go.
fn surplus(files: Vec<Listed>, total_bytes: u64, now: i64) -> Vec<String> {
    let (mut entries, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| entry::is_name(&file.name));
    // The newest first: each stays while there is room.
    entries.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.name.cmp(&b.name)));
    let mut bytes = 0u64;
    let too_much = entries.into_iter().filter(|entry| {
        bytes = bytes.saturating_add(entry.bytes);
        bytes > total_bytes
    });
    let abandoned = others
        .into_iter()
        .filter(|file| file.name.starts_with(UNFINISHED) && now.saturating_sub(file.modified) > ABANDONED_SECONDS);
    too_much.chain(abandoned).map(|file| file.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: u8) -> String {
        format!("{number:064x}-{:064x}", 1)
    }

    fn file(name: impl Into<String>, bytes: u64, modified: i64) -> Listed {
        Listed { name: name.into(), bytes, modified }
    }

    #[test]
    fn what_was_not_used_for_longest_goes_until_the_rest_fits() {
        let files = || vec![file(name(1), 40, 100), file(name(2), 40, 300), file(name(3), 40, 200)];
        assert_eq!(surplus(files(), 120, 1000), Vec::<String>::new());
        assert_eq!(surplus(files(), 119, 1000), [name(1)]);
        assert_eq!(surplus(files(), 79, 1000), [name(3), name(1)]);
        assert_eq!(surplus(files(), 0, 1000).len(), 3);
    }

    #[test]
    fn what_was_abandoned_goes_and_what_is_none_of_ours_stays() {
        let files = || {
            vec![
                file("unfinished-00000000000000aa", 1 << 40, 1000),
                file("unfinished-00000000000000bb", 10, 5000),
                file("secret", 32, 0),
                file("notes.txt", 1 << 40, 0),
            ]
        };
        assert_eq!(surplus(files(), 0, 4601), ["unfinished-00000000000000aa"]);
        assert_eq!(surplus(files(), 0, 4600), Vec::<String>::new());
    }
}
