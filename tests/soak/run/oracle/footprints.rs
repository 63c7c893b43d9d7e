//! Whether the hosts take no more and more of the machine.

use std::collections::BTreeMap;

use super::Verdict;
use crate::run::book::Pages;
use crate::run::footprint::Footprint;

/// A life that is shorter tells nothing: components are loaded, and caches are filled.
const LIFE_MS: i64 = 30_000;

/// An allocator keeps some of what it was given back, the more the more threads were at work.
const MIB: u64 = 64;
/// Threads for blocking calls, and connections, come and go.
const THREADS: u64 = 32;
const FILES: u64 = 64;

pub(super) fn judge(verdict: &mut Verdict, pages: &Pages) {
    let mut lives: BTreeMap<u32, Vec<&Footprint>> = BTreeMap::new();
    for footprint in &pages.footprints {
        lives.entry(footprint.pid).or_default().push(footprint);
    }
    let mut judged = 0;
    for life in lives.values() {
        let (first, last) = (life[0], life[life.len() - 1]);
        let lived = last.at_ms - first.at_ms;
        if lived < LIFE_MS {
            continue;
        }
        judged += 1;
        // The most that it took between its first sixth and its first third.
        let warm = first.at_ms + lived / 6..first.at_ms + lived / 3;
        let warm: Vec<_> = life.iter().filter(|footprint| warm.contains(&footprint.at_ms)).collect();
        let most = |of: fn(&Footprint) -> u64| warm.iter().map(|footprint| of(footprint)).max().unwrap_or(0);
        for (what, of, more) in [
            ("MiB", (|footprint: &Footprint| footprint.resident_mib) as fn(&Footprint) -> u64, MIB),
            ("threads", |footprint| footprint.threads, THREADS),
            ("files", |footprint| footprint.files, FILES),
        ] {
            let (before, after) = (most(of), of(last));
            let said = format!("host {} in {} s: {before} {what}, then {after}", first.host, lived / 1000);
            if after > before * 3 / 2 + more {
                verdict.find("memory, threads and files stay flat", None, said.clone());
            }
            verdict.footprints.push(said);
        }
    }
    if judged == 0 {
        let said = format!("no host lived for {} s: nothing can be said", LIFE_MS / 1000);
        let times = || pages.footprints.iter().map(|footprint| footprint.at_ms);
        // A shorter soak has no such host.
        if times().max().unwrap_or(0) - times().min().unwrap_or(0) > 3 * LIFE_MS {
            verdict.find("memory, threads and files stay flat", None, said.clone());
        }
        verdict.footprints.push(said);
    }
}
