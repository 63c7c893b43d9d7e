//! One crawl: walk, record, sweep.

use workhost_sdk::{Ending, Failure, Work, log, sql};

use crate::counts::Counts;
use crate::cursor::{self, Visit};
use crate::image::Picture;
use crate::links::Links;
use crate::progress::{Progress, Summary};
use crate::read::read;
use crate::record::{Record, parent};
use crate::tree::{Folder, Listing, Root, Trouble};
use crate::walk::Walk;

/// Crawls a folder, from the start or from where an earlier attempt had come.
pub(crate) fn crawl(root: &Root, work: &Work) -> Result<Ending<Summary>, Failure> {
    let scope =
        work.scope().ok_or_else(|| Failure::permanent("a crawl needs a scope: it records that scope's files"))?;
    let progress = work.resume_from().unwrap_or_else(Progress::start);
    let record = Record { scope: scope.to_owned(), crawl: progress.crawl };
    let mut crawl = Crawl { root, work, record, progress };
    let outcome = crawl.walk().and_then(|()| crawl.sweep());
    // Whatever came since the last snapshot: people see how it ended, and a later attempt goes on there.
    if crawl.progress.fits() {
        work.report_progress_now(&crawl.progress);
    }
    match outcome {
        Ok(()) => Ok(Ending::Done(crawl.progress.into())),
        Err(Halt::Asked) => Ok(Ending::Stopped(crawl.progress.into())),
        Err(Halt::Failed(failure)) => Err(failure),
    }
}

/// Why a crawl ends early.
enum Halt {
    /// The host asked it to stop.
    Asked,
    /// It cannot go on.
    Failed(Failure),
}

impl From<sql::Error> for Halt {
    fn from(error: sql::Error) -> Self {
        Halt::Failed(error.into())
    }
}

struct Crawl<'a> {
    root: &'a Root,
    work: &'a Work,
    record: Record,
    progress: Progress,
}

impl Crawl<'_> {
    fn walk(&mut self) -> Result<(), Halt> {
        let resume_at = self.progress.cursor.clone();
        let mut walk = Walk::default();
        let subfolders = self.visit("", cursor::visit(resume_at.as_ref(), ""))?;
        walk.descend(subfolders);
        while let Some(folder) = walk.next() {
            let subfolders = self.visit(folder, cursor::visit(resume_at.as_ref(), folder))?;
            walk.descend(subfolders);
        }
        Ok(())
    }

    /// Does what is left to do of a folder, and answers its subfolders.
    fn visit(&mut self, path: &str, visit: Visit<'_>) -> Result<Vec<String>, Halt> {
        if visit == Visit::Nothing {
            return Ok(Vec::new());
        }
        self.check_stop()?;
        let listed = self.root.folder(path).and_then(|folder| Ok((folder.list()?, folder)));
        let (listing, folder) = match listed {
            Ok(listed) => listed,
            Err(trouble) => return self.unlisted(path, trouble).map(|()| Vec::new()),
        };
        match visit {
            Visit::Whole => {
                self.enter(path, &listing)?;
                self.files(path, &folder, &listing.files)?;
            }
            Visit::Rest(done) => {
                let after = listing.files.partition_point(|name| done.is_some_and(|done| name.as_str() <= done));
                self.files(path, &folder, &listing.files[after..])?;
            }
            Visit::Subfolders | Visit::Nothing => {}
        }
        Ok(listing.folders)
    }

    /// Counts and records a folder that cannot be listed. Without the granted folder there is no crawl:
    /// taken for empty, it would lose all its rows.
    fn unlisted(&mut self, path: &str, trouble: Trouble) -> Result<(), Halt> {
        let Some(parent) = parent(path) else {
            return Err(Halt::Failed(Failure::new(format!("the granted folder cannot be read: {trouble}"))));
        };
        match trouble {
            Trouble::Gone => self.progress.counts.vanished += 1,
            Trouble::Unreadable(reason) => {
                log::warn("a folder cannot be read", &[("folder", &path), ("reason", &reason)]);
                self.record.folder(path, 1)?;
                self.record.unreadable_entry(parent)?;
                self.progress.counts.unreadable += 1;
            }
        }
        self.progress.close(path);
        self.report();
        Ok(())
    }

    /// Counts and records a folder, before its files.
    fn enter(&mut self, path: &str, listing: &Listing) -> Result<(), Halt> {
        let links = self.links(path, &listing.links)?;
        let unreadable = listing.unreadable + listing.nameless;
        if unreadable > 0 {
            log::warn("entries of a folder cannot be read", &[("folder", &path), ("entries", &unreadable)]);
        }
        self.record.folder(path, unreadable)?;
        let counts = &mut self.progress.counts;
        counts.folders += 1;
        counts.unreadable += listing.unreadable;
        counts.nameless += listing.nameless;
        counts.vanished += listing.vanished;
        counts.skipped += listing.special;
        counts.links = links;
        self.progress.enter(path);
        self.report();
        Ok(())
    }

    /// The links counted so far, and these.
    fn links(&self, path: &str, names: &[String]) -> Result<Links, Halt> {
        let mut links = self.progress.counts.links;
        for name in names {
            self.check_stop()?;
            let link = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            links.count(path, self.root.link_text(&link).as_deref(), self.root.target(&link));
        }
        Ok(links)
    }

    fn files(&mut self, path: &str, folder: &Folder, names: &[String]) -> Result<(), Halt> {
        for name in names {
            match read(folder, name, || self.work.stop_requested().is_some()) {
                Ok(None) => return Err(Halt::Asked),
                Ok(Some(content)) => {
                    self.record.file(path, name, &content)?;
                    self.progress.files_done += 1;
                    self.progress.bytes_done += content.size;
                    count(content.picture, &mut self.progress.counts);
                }
                Err(Trouble::Gone) => self.progress.counts.vanished += 1,
                Err(Trouble::Unreadable(reason)) => {
                    log::warn("a file cannot be read", &[("folder", &path), ("file", name), ("reason", &reason)]);
                    self.record.unreadable_entry(path)?;
                    self.progress.counts.unreadable += 1;
                }
            }
            self.progress.pass(name);
            self.report();
        }
        Ok(())
    }

    /// Removes the rows of what is gone, in bounded steps.
    fn sweep(&mut self) -> Result<(), Halt> {
        loop {
            self.check_stop()?;
            match self.record.forget_gone_files()? {
                0 => break,
                removed => self.progress.counts.removed += removed,
            }
            self.report();
        }
        Ok(self.record.forget_gone_folders()?)
    }

    fn check_stop(&self) -> Result<(), Halt> {
        if self.work.stop_requested().is_some() { Err(Halt::Asked) } else { Ok(()) }
    }

    fn report(&self) {
        if self.progress.fits() {
            self.work.report_progress(&self.progress);
        }
    }
}

fn count(picture: Picture, counts: &mut Counts) {
    match picture {
        Picture::None => {}
        Picture::Sized { .. } => counts.images += 1,
        Picture::Broken => counts.broken_images += 1,
    }
}
