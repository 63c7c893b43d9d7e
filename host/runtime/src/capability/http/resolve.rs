//! Names to addresses, and only to those that may be reached.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

use super::address::{self, Network};

/// Looks up names. The answer is checked by whoever asks.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// The addresses of a name, which is no address itself.
    async fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>>;
}

/// Looks names up as all programs of this machine do.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// Looks names up for each new connection. The connector gets addresses that were checked and connects to one of
/// them, so that nobody can change a name's address between check and use.
#[derive(Clone)]
pub(super) struct Checked {
    pub(super) resolver: Arc<dyn Resolve>,
    pub(super) listed: Arc<[Network]>,
}

/// Why a name leads nowhere.
#[derive(Debug)]
pub(super) enum NoAddress {
    /// The resolver has none.
    Unknown(String),
    /// All that it has are refused; each with the reason.
    Refused(Vec<(IpAddr, &'static str)>),
}

impl fmt::Display for NoAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoAddress::Unknown(reason) => write!(f, "the name has no address: {reason}"),
            NoAddress::Refused(_) => write!(f, "the name has no address that may be reached"),
        }
    }
}

impl Error for NoAddress {}

impl Checked {
    async fn look_up(&self, name: &str) -> Result<Vec<SocketAddr>, NoAddress> {
        let addresses = self.resolver.resolve(name).await.map_err(|error| NoAddress::Unknown(error.to_string()))?;
        let (mut reachable, mut refused) = (Vec::new(), Vec::new());
        for address in addresses {
            match address::refused(address, &self.listed) {
                // The connector puts the port of the URL in.
                None => reachable.push(SocketAddr::new(address, 0)),
                Some(what) => refused.push((address, what)),
            }
        }
        match (reachable.is_empty(), refused.is_empty()) {
            (false, _) => Ok(reachable),
            (true, false) => Err(NoAddress::Refused(refused)),
            (true, true) => Err(NoAddress::Unknown("the resolver knows none".into())),
        }
    }
}

impl Service<Name> for Checked {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = NoAddress;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, NoAddress>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NoAddress>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let this = self.clone();
        Box::pin(async move { Ok(this.look_up(name.as_str()).await?.into_iter()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(&'static [&'static str]);

    #[async_trait]
    impl Resolve for Fixed {
        async fn resolve(&self, _: &str) -> std::io::Result<Vec<IpAddr>> {
            Ok(self.0.iter().map(|address| address.parse().unwrap()).collect())
        }
    }

    async fn look_up(addresses: &'static [&'static str], listed: &[&str]) -> Result<Vec<String>, NoAddress> {
        let listed = listed.iter().map(|text| text.parse().unwrap()).collect();
        let checked = Checked { resolver: Arc::new(Fixed(addresses)), listed };
        Ok(checked.look_up("a.example").await?.iter().map(|address| address.ip().to_string()).collect())
    }

    #[tokio::test]
    async fn of_several_addresses_only_those_that_may_be_reached_are_left() {
        let addresses = &["10.0.0.1", "1.1.1.1", "::1", "2606:4700::1111", "169.254.169.254"];
        assert_eq!(look_up(addresses, &[]).await.unwrap(), ["1.1.1.1", "2606:4700::1111"]);
        assert_eq!(look_up(addresses, &["10.0.0.0/8"]).await.unwrap(), ["10.0.0.1", "1.1.1.1", "2606:4700::1111"]);
    }

    #[tokio::test]
    async fn a_name_that_leads_to_refused_addresses_alone_is_told_apart_from_an_unknown_one() {
        let error = look_up(&["10.0.0.1", "fd00:ec2::254"], &[]).await.unwrap_err();
        assert!(matches!(&error, NoAddress::Refused(refused) if refused.len() == 2), "{error:?}");
        assert!(matches!(look_up(&[], &[]).await, Err(NoAddress::Unknown(_))));
    }
}
