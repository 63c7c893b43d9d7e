//! Hosts in network namespaces of a test's own, each on a cable to one switch.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Daemon;
use super::left_out;
use super::proxy::{Proxy, server_of};

/// A switch and its cables, and the server's door to it. Gone when dropped, also when the test panics.
pub(crate) struct Network {
    /// In all names: no other process and no other test of this one has it.
    name: String,
    hosts: usize,
    proxy: Option<Proxy>,
}

impl Network {
    /// A network of so many hosts, with a way to the server of this store. `None` where the machine allows none.
    pub(crate) fn new(hosts: usize, store_url: &str) -> Option<Network> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let (process, next) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        // A device's name has at most 15 letters. Dropped whatever happens below.
        let mut network = Network { name: format!("wh{process}x{next}"), hosts, proxy: None };
        // 198.18.0.0/15 is for tests of networks; a part of it that no other process has at the moment.
        let part = (process.wrapping_mul(8).wrapping_add(next)) % 512;
        let address = |host: usize| Ipv4Addr::from(0xc612_0000 + part * 256 + host as u32);
        if let Err(why) = network.lay(&address) {
            left_out(&format!("this machine allows no network namespaces: {why}"));
            return None;
        }
        network.proxy = Some(Proxy::start(SocketAddr::from((address(1), 0)), server_of(store_url)));
        Some(network)
    }

    fn lay(&self, address: &impl Fn(usize) -> Ipv4Addr) -> Result<(), String> {
        let switch = self.switch();
        ip(&format!("link add {switch} type bridge"))?;
        ip(&format!("addr add {}/24 dev {switch}", address(1)))?;
        ip(&format!("link set {switch} up"))?;
        for host in 0..self.hosts {
            let (space, cable) = (self.space(host), self.cable(host));
            ip(&format!("netns add {space}"))?;
            ip(&format!("link add {cable} type veth peer name eth0 netns {space}"))?;
            ip(&format!("link set {cable} master {switch} up"))?;
            ip(&format!("-n {space} addr add {}/24 dev eth0", address(host + 2)))?;
            ip(&format!("-n {space} link set eth0 up"))?;
            ip(&format!("-n {space} link set lo up"))?;
        }
        Ok(())
    }

    /// The URL of the store as these hosts reach it.
    pub(crate) fn url(&self, store_url: &str) -> String {
        self.proxy.as_ref().unwrap().url(store_url)
    }

    /// What a program is to be started by to be that host.
    pub(crate) fn wrapper(&self, host: usize) -> [String; 4] {
        ["ip".into(), "netns".into(), "exec".into(), self.space(host)]
    }

    /// Pulls a host's cable at the switch.
    pub(crate) fn cut(&self, host: usize) {
        ip(&format!("link set {} down", self.cable(host))).unwrap();
    }

    /// Plugs it in again.
    pub(crate) fn join(&self, host: usize) {
        ip(&format!("link set {} up", self.cable(host))).unwrap();
    }

    /// The status of a page of a daemon, asked for on its own machine.
    pub(crate) fn status(&self, host: usize, daemon: &Daemon, path: &str) -> u16 {
        let port = daemon.address.port();
        let ask = format!(
            "exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET {path} HTTP/1.1\\r\\nhost: workhost\\r\\nconnection: close\\r\\n\\r\\n' >&3; cat <&3"
        );
        let output =
            Command::new("ip").args(["netns", "exec", &self.space(host), "bash", "-c", &ask]).output().unwrap();
        let answer = String::from_utf8_lossy(&output.stdout);
        let status = answer.split_whitespace().nth(1).and_then(|status| status.parse().ok());
        status.unwrap_or_else(|| panic!("no answer from {path}: {output:?}"))
    }

    fn switch(&self) -> String {
        self.name.clone()
    }

    fn space(&self, host: usize) -> String {
        format!("{}n{host}", self.name)
    }

    fn cable(&self, host: usize) -> String {
        format!("{}c{host}", self.name)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // What was not made cannot be removed, and that is well.
        for host in 0..self.hosts {
            let _ = ip(&format!("link del {}", self.cable(host)));
            let _ = ip(&format!("netns del {}", self.space(host)));
        }
        let _ = ip(&format!("link del {}", self.switch()));
    }
}

fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip").args(arguments.split(' ')).output().map_err(|error| format!("ip: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("ip {arguments}: {}", said.trim())) }
}
