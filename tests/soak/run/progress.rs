//! How far it is: one line for each store that is drawn anew on a terminal, and a plain line now and then elsewhere.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{HumanDuration, MultiProgress, ProgressBar, ProgressStyle};
use tokio::time::sleep;

use super::Scene;
use super::book::{Pages, What};
use super::plan::Store;

/// Where progress is shown.
pub(crate) struct View {
    bars: Option<MultiProgress>,
}

/// Where the progress of one store is shown.
pub(super) struct Line {
    bar: Option<ProgressBar>,
}

impl View {
    /// Bars on a terminal, plain lines elsewhere.
    pub(crate) fn new() -> View {
        View { bars: std::io::stdout().is_terminal().then(MultiProgress::new) }
    }

    pub(super) fn of(&self, store: Store) -> Line {
        let style = ProgressStyle::with_template("{prefix:8} {bar:20} {msg}").expect("the template is right");
        let bar = self.bars.as_ref().map(|bars| bars.add(ProgressBar::new(1000).with_style(style)));
        Line { bar: bar.map(|bar| bar.with_prefix(store.name())) }
    }

    /// Leaves the lines as they are, and what follows below them.
    pub(super) fn leave(&self) {
        if let Some(bars) = &self.bars {
            let _ = bars.println("");
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.abandon();
        }
    }
}

/// Tells how far it is until it is dropped.
pub(super) async fn tell(scene: Arc<Scene>, line: Line) {
    // Some thirty lines where each stays.
    let pause = if line.bar.is_some() { Duration::from_secs(1) } else { scene.plan.total / 30 };
    loop {
        sleep(pause.max(Duration::from_secs(1))).await;
        let (elapsed, total) = (scene.clock.begun.elapsed(), scene.plan.total);
        let said = scene.book.write(|pages| words(pages));
        match &line.bar {
            Some(bar) => {
                let share = elapsed.as_secs_f64() / total.as_secs_f64().max(1.0);
                bar.set_position((share.min(1.0) * 1000.0) as u64);
                bar.set_message(format!("{}  {said}", HumanDuration(elapsed)));
            }
            None => println!("{} {} s: {said}", scene.plan.store.name(), elapsed.as_secs()),
        }
    }
}

/// All that was done, in a line.
fn words(pages: &Pages) -> String {
    // The newest of each host.
    let newest: BTreeMap<&str, u64> =
        pages.footprints.iter().map(|footprint| (&*footprint.host, footprint.resident_mib)).collect();
    let memory: Vec<_> = newest.iter().map(|(host, mib)| format!("{host} {mib}")).collect();
    format!(
        "{} enqueued, {} finished; {} kills, {} restarts, {} stops, {} cuts, {} outages, {} cancels; MiB: {}",
        pages.enqueued.len(),
        pages.finished,
        pages.count(What::Killed),
        pages.count(What::Terminated),
        pages.count(What::Stopped),
        pages.count(What::CutOff),
        pages.count(What::Outage),
        pages.cancels.len(),
        memory.join(", "),
    )
}
