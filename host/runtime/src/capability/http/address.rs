//! Which addresses a name may lead to: public ones, and those that the grant lists.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::IpNet;

use super::BadEntry;

/// Networks of IPv4 that are no part of the public internet, or that no handler has business with.
const REFUSED_V4: &[([u8; 4], u8, &str)] = &[
    ([0, 0, 0, 0], 8, "this host"),
    ([10, 0, 0, 0], 8, "private"),
    ([100, 64, 0, 0], 10, "shared by a carrier"),
    ([127, 0, 0, 0], 8, "loopback"),
    // Cloud metadata, 169.254.169.254, is one of these.
    ([169, 254, 0, 0], 16, "link-local"),
    // The agent of Azure's machines, which answers with their secrets.
    ([168, 63, 129, 16], 32, "cloud metadata"),
    ([172, 16, 0, 0], 12, "private"),
    ([192, 0, 0, 0], 24, "reserved"),
    ([192, 0, 2, 0], 24, "documentation"),
    ([192, 88, 99, 0], 24, "reserved"),
    ([192, 168, 0, 0], 16, "private"),
    ([198, 18, 0, 0], 15, "benchmarking"),
    ([198, 51, 100, 0], 24, "documentation"),
    ([203, 0, 113, 0], 24, "documentation"),
    ([224, 0, 0, 0], 4, "multicast"),
    // The broadcast address is its last one.
    ([240, 0, 0, 0], 4, "reserved"),
];

/// The same of IPv6, within 2000::/3; everything outside of it is refused anyway.
const REFUSED_V6: &[([u16; 3], u8, &str)] = &[
    ([0x2001, 0, 0], 23, "reserved"),
    ([0x2001, 0xdb8, 0], 32, "documentation"),
    ([0x3fff, 0, 0], 20, "documentation"),
];

/// A network that a name may lead to although it is not public: `10.0.0.0/8`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(IpNet);

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Network {
    type Err = BadEntry;

    fn from_str(text: &str) -> Result<Network, BadEntry> {
        let wrong = |problem: String, mend: &str| Err(BadEntry { problem, mend: mend.to_owned() });
        let network = match text.parse::<IpAddr>() {
            Ok(address) => IpNet::from(address),
            Err(_) => match text.parse::<IpNet>() {
                Ok(network) => network,
                Err(_) => {
                    return wrong(
                        format!("`{text}` is no network"),
                        "write an address and a length, such as \"10.0.0.0/8\"",
                    );
                }
            },
        };
        if network.trunc() != network {
            let mend = format!("write \"{}\", or \"{}\" for the one address", network.trunc(), network.addr());
            return wrong(format!("`{text}` names an address inside of the network"), &mend);
        }
        // The largest blocks that are set aside for private use have these lengths.
        let shortest = if network.addr().is_ipv4() { 8 } else { 7 };
        if network.prefix_len() < shortest {
            return wrong(
                format!("`{text}` is more than any private network"),
                "list the networks that the names lead to",
            );
        }
        Ok(Network(network))
    }
}

/// Why a name may not lead to this address, in a word; `None` if it may.
pub(super) fn refused(address: IpAddr, listed: &[Network]) -> Option<&'static str> {
    let is_listed = |address: IpAddr| listed.iter().any(|Network(network)| network.contains(&address));
    if is_listed(address) {
        return None;
    }
    match address {
        IpAddr::V4(address) => refused_v4(address),
        IpAddr::V6(address) => match carried(address) {
            Carried::Nothing => refused_v6(address),
            // The packets go to the IPv4 address in it.
            Carried::V4(inner) if is_listed(inner.into()) => None,
            Carried::V4(inner) => refused_v4(inner),
            Carried::Both(one, other) => refused_v4(one).or(refused_v4(other)),
        },
    }
}

/// The IPv4 addresses that an IPv6 address stands for.
enum Carried {
    Nothing,
    V4(Ipv4Addr),
    Both(Ipv4Addr, Ipv4Addr),
}

fn carried(address: Ipv6Addr) -> Carried {
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        // Mapped, and NAT64's well-known prefix.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Carried::V4(v4(high, low)),
        // 6to4.
        [0x2002, high, low, ..] => Carried::V4(v4(high, low)),
        // Teredo: its server, and the client with all bits turned over.
        [0x2001, 0, high, low, _, _, client_high, client_low] => {
            Carried::Both(v4(high, low), v4(!client_high, !client_low))
        }
        _ => Carried::Nothing,
    }
}

fn refused_v4(address: Ipv4Addr) -> Option<&'static str> {
    let within = |network: [u8; 4], length: u8| {
        let mask = u32::MAX << (32 - length);
        u32::from(address) & mask == u32::from_be_bytes(network)
    };
    REFUSED_V4.iter().find(|(network, length, _)| within(*network, *length)).map(|(_, _, what)| *what)
}

fn refused_v6(address: Ipv6Addr) -> Option<&'static str> {
    let within = |network: [u16; 3], length: u8| {
        let [a, b, c] = network;
        let mask = u128::MAX << (128 - length);
        u128::from(address) & mask == u128::from(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0))
    };
    if address.is_loopback() {
        return Some("loopback");
    }
    // Link-local, private, multicast, and whatever somebody thinks of next: only 2000::/3 is public.
    if !within([0x2000, 0, 0], 3) {
        return Some("not public");
    }
    REFUSED_V6.iter().find(|(network, length, _)| within(*network, *length)).map(|(_, _, what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(address: &str, listed: &[&str]) -> Option<&'static str> {
        let listed: Vec<Network> = listed.iter().map(|text| text.parse().unwrap()).collect();
        super::refused(address.parse().unwrap(), &listed)
    }

    const REFUSED: &str = "
        0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.100.100.200 100.127.255.255 127.0.0.1 127.255.255.255
        168.63.129.16 169.254.0.0 169.254.169.254 172.16.0.0 172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.0
        192.168.255.255 198.18.0.0 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1
        255.255.255.255
        :: ::1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:169.254.169.254 64:ff9b::10.0.0.1 64:ff9b:1::8.8.8.8 100::1 2001:db8::1
        2001:2::1 2001:10::1 2002:7f00:1:: 2002:a9fe:a9fe::1 2001:0:a00:1:0:0:f7f7:f7f7 2001:0:808:808:0:0:80ff:fffe
        2001:0:808:808:0:0:3fff:fdfe 3fff::1
        4000::1 5f00::1 fc00::1 fd00:ec2::254 fd20:ce::254 fe80::1 fec0::1 ff02::1";

    const REACHABLE: &str = "
        1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 168.63.129.15 169.253.255.255
        169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255
        ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2001:200::1 2001:4860:4860::8888 2002:808:808::1 2001:0:808:808:0:0:f7f7:f7f7
        2606:4700::1111 3ffe::1";

    #[test]
    fn what_is_not_public_is_refused_up_to_the_edges_of_its_network() {
        for address in REFUSED.split_whitespace() {
            assert!(refused(address, &[]).is_some(), "{address}");
        }
        for address in REACHABLE.split_whitespace() {
            assert_eq!(refused(address, &[]), None, "{address}");
        }
    }

    #[test]
    fn a_listed_network_is_let_in_and_nothing_beside_it() {
        let listed = &["10.1.0.0/16", "fd12:3456::/32", "127.0.0.1"];
        for address in ["10.1.0.0", "10.1.255.255", "::ffff:10.1.2.3", "fd12:3456::7", "127.0.0.1"] {
            assert_eq!(refused(address, listed), None, "{address}");
        }
        for address in ["10.0.255.255", "10.2.0.0", "fd12:3457::7", "127.0.0.2", "169.254.169.254"] {
            assert!(refused(address, listed).is_some(), "{address}");
        }
    }

    #[test]
    fn an_entry_that_is_no_private_network_is_told_with_its_mend() {
        for (text, words) in [
            ("10.0.0.0/", "is no network"),
            ("intranet", "is no network"),
            ("", "is no network"),
            ("10.0.0.7/8", "inside of the network"),
            ("0.0.0.0/0", "more than any private network"),
            ("::/0", "more than any private network"),
        ] {
            let bad = text.parse::<Network>().unwrap_err();
            assert!(bad.problem.contains(words) && !bad.mend.is_empty(), "{text}: {bad:?}");
        }
        assert_eq!("10.0.0.0/8".parse::<Network>().unwrap().to_string(), "10.0.0.0/8");
        assert!("10.0.0.7/8".parse::<Network>().unwrap_err().mend.contains("\"10.0.0.0/8\""));
    }
}
