//! A host's way to PostgreSQL, which can fail in the ways in which networks do.

use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// What passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// Everything.
    Open,
    /// Nothing: connections are cut, and new ones too.
    Closed,
    /// Nothing, and nobody is told. What was sent meanwhile arrives when it is open again.
    Held,
    /// What is small, as where a path's packets are too large for it. The rest arrives when it is open again: a connection
    /// looks alive, and a write comes late.
    Narrow,
    /// What the host asks, but no answer. When it is open again those connections are cut, their answers lost.
    Deaf,
}

/// What is small: the question whether the server is there, not a statement.
const SMALL: usize = 64;

/// A TCP proxy between one host and the server.
pub(crate) struct Wire {
    url: String,
    passage: watch::Sender<Passage>,
    _carrying: JoinSet<()>,
}

impl Wire {
    /// A wire to the server of this URL.
    pub(super) async fn to(url: &str) -> Result<Wire> {
        let (before, rest) = url.rsplit_once('@').context("the URL names no user")?;
        let (server, database) = rest.split_once('/').context("the URL names no database")?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("{before}@{}/{database}", listener.local_addr()?);
        let (passage, server) = (watch::Sender::new(Passage::Open), server.to_owned());
        let state = passage.subscribe();
        let mut carrying = JoinSet::new();
        carrying.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((host, _)) = listener.accept().await {
                connections.spawn(carry(host, server.clone(), state.clone()));
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Wire { url, passage, _carrying: carrying })
    }

    /// The store's URL by way of this wire.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn pass(&self, passage: Passage) {
        self.passage.send_replace(passage);
    }
}

async fn carry(host: TcpStream, server: String, mut state: watch::Receiver<Passage>) {
    if until(&mut state, &[Passage::Open, Passage::Closed]).await == Passage::Closed {
        return;
    }
    let Ok(Ok(server)) = tokio::time::timeout(Duration::from_secs(5), TcpStream::connect(server)).await else { return };
    let (from_host, to_host) = host.into_split();
    let (from_server, to_server) = server.into_split();
    let mut cut = state.clone();
    // Whatever ends first ends all: both sockets are closed.
    tokio::select! {
        () = pass_on(from_host, to_server, state.clone(), Passage::Deaf) => {}
        () = pass_on(from_server, to_host, state, Passage::Open) => {}
        _ = until(&mut cut, &[Passage::Closed]) => {}
    }
}

/// Passes bytes on while it is open, or in this other state.
async fn pass_on(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut state: watch::Receiver<Passage>, also: Passage) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        // An answer that came while the host was deaf is lost, and its connection with it.
        let is_lost = *state.borrow() == Passage::Deaf && also != Passage::Deaf;
        let is_passed = *state.borrow() == Passage::Narrow && read <= SMALL;
        if !is_passed {
            until(&mut state, &[Passage::Open, also]).await;
        }
        if is_lost || to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}

/// Waits for one of these states.
async fn until(state: &mut watch::Receiver<Passage>, wanted: &[Passage]) -> Passage {
    match state.wait_for(|passage| wanted.contains(passage)).await {
        Ok(passage) => *passage,
        Err(_) => Passage::Closed,
    }
}
