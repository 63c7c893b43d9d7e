//! What must hold at the end, whatever happened: a pure judgement over what was enqueued and called off, what was done to
//! the hosts, what their guests noted outside, and what the store says of each item.
//!
//! One thing is excused. A host that is stopped (SIGSTOP) is amid a step of each guest; when it goes on, that one step may
//! still show, although the item is another host's by then: one line of the diary for each attempt and stop. A second
//! line is a violation. (A host that is killed or cut off has no such excuse.)

mod accounted;
mod effects;
mod footprints;
mod items;
mod kept;
#[cfg(test)]
mod tests;

use anyhow::Result;

use super::book::{Deed, Pages};
use super::diary::Line;
pub(super) use kept::{Kept, read};
#[cfg(test)]
pub(super) use tests::made_up;

/// Something that may not be.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    /// What was to hold.
    pub(crate) rule: &'static str,
    /// Whose it is, if it is an item's.
    pub(crate) item: Option<i64>,
    /// What was found instead.
    pub(crate) said: String,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) violations: Vec<Violation>,
    /// Lines of the diary.
    pub(super) lines: u64,
    /// Lines that were excused.
    pub(super) late_steps: u64,
    /// What was seen of memory, in words.
    pub(super) footprints: Vec<String>,
}

impl Verdict {
    fn find(&mut self, rule: &'static str, item: impl Into<Option<i64>>, said: String) {
        self.violations.push(Violation { rule, item: item.into(), said });
    }
}

/// Judges.
///
/// # Errors
/// When the diary cannot be read.
pub(super) fn judge(pages: &Pages, kept: &[Kept], diary: impl Iterator<Item = Result<Line>>) -> Result<Verdict> {
    let mut verdict = Verdict { violations: pages.amiss.clone(), ..Verdict::default() };
    let kept = kept::by_id(kept);
    let effects = effects::judge(&mut verdict, pages, &kept, diary)?;
    items::judge(&mut verdict, pages, &kept, &effects);
    accounted::judge(&mut verdict, pages, &kept);
    footprints::judge(&mut verdict, pages);
    Ok(verdict)
}

/// Deeds against one host, or against all.
fn against<'a>(pages: &'a Pages, host: &'a str) -> impl Iterator<Item = &'a Deed> {
    pages.deeds.iter().filter(move |deed| deed.host.as_deref().is_none_or(|other| other == host))
}
