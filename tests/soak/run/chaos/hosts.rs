//! What is done to one host after another: each has its own troublemaker.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use rand::RngExt as _;
use rand::rngs::StdRng;
use tokio::time::sleep;

use super::doing;
use crate::run::Scene;
use crate::run::book::What;
use crate::run::fleet::{Host, Passage, STEADY, Signal, Wire};
use crate::run::load::kinds;
use crate::run::plan::{LEASE, Store};

/// Troubles a host until the load ends, and leaves it running.
pub(super) async fn trouble(scene: Arc<Scene>, number: usize) -> Result<()> {
    let host = &scene.fleet.hosts[number];
    let mut choices = scene.plan.choices(&host.name);
    let mut edition = 0;
    while scene.clock.wait(Duration::from_millis(choices.random_range(1000..4000))).await {
        if let Some(status) = host.has_ended().await {
            let said = format!("host {} ended with {status}: see {}", host.name, host.log().display());
            scene.book.amiss("a host that nobody ends goes on", None, said);
            scene.clock.end_load();
            break;
        }
        match draw(&mut choices, host, lives(&scene, host)) {
            Trouble::Kill => {
                host.kill(&scene.book).await?;
                sleep(Duration::from_millis(choices.random_range(0..3000))).await;
                host.start(&scene.book).await?;
            }
            Trouble::Restart => {
                host.terminate(&scene.book).await?;
                host.start(&scene.book).await?;
            }
            Trouble::Stop => {
                // Longer than a lease, so that another host finishes what this one holds.
                let long = LEASE.mul_f64(choices.random_range(1.2..2.0));
                let stopped = async {
                    host.signal(Signal::STOP)?;
                    sleep(long).await;
                    host.signal(Signal::CONT)
                };
                doing(&scene, Some(&host.name), What::Stopped, stopped).await?;
            }
            Trouble::Cut(wire, passage) => {
                // What was held up is best late when another host is just at it.
                let leases = if matches!(passage, Passage::Held | Passage::Narrow) { 1.05..1.6 } else { 0.3..2.5 };
                let long = LEASE.mul_f64(choices.random_range(leases));
                doing(&scene, Some(&host.name), What::CutOff, cut(wire, passage, long)).await;
            }
            Trouble::Reload => {
                edition += 1;
                let url = host.wire.as_ref().map_or(&*scene.store_url, Wire::url);
                let configuration = kinds::configuration(&scene.plan, &host.name, url, edition);
                std::fs::write(scene.plan.folder.join(format!("{}.toml", host.name)), configuration)?;
                doing(&scene, Some(&host.name), What::Reloaded, async { host.signal(Signal::HUP) }).await?;
            }
        }
    }
    Ok(())
}

/// Whether the host may not be ended now: its memory is watched. Where it is the only one, it lives for one half.
fn lives(scene: &Scene, host: &Host) -> bool {
    host.name == STEADY && (scene.plan.store == Store::Postgres || scene.clock.share() < 0.5)
}

enum Trouble<'a> {
    Kill,
    Restart,
    Stop,
    Cut(&'a Wire, Passage),
    Reload,
}

fn draw<'a>(choices: &mut StdRng, host: &'a Host, lives: bool) -> Trouble<'a> {
    let drawn = choices.random_range(0..100);
    let passage = [Passage::Closed, Passage::Held, Passage::Narrow, Passage::Deaf][choices.random_range(0..4)];
    match (drawn, &host.wire, lives) {
        (0..35, _, false) => Trouble::Kill,
        (35..55, _, false) => Trouble::Restart,
        (55..80, Some(wire), _) => Trouble::Cut(wire, passage),
        (80..90, _, _) => Trouble::Stop,
        (90..100, _, _) => Trouble::Reload,
        (number, _, _) if number % 2 == 0 => Trouble::Stop,
        (_, Some(wire), _) => Trouble::Cut(wire, passage),
        _ => Trouble::Reload,
    }
}

async fn cut(wire: &Wire, passage: Passage, long: Duration) {
    wire.pass(passage);
    sleep(long).await;
    wire.pass(Passage::Open);
}
