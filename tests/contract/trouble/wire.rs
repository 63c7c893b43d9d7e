//! What lies between a host and the server: it cuts connections, or falls silent, when it is told to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use workhost_queue::{ConnectOptions, Queue, Result, connect};

use crate::store::TestStore;

/// The wire of one host. Its connections are numbered as they come.
pub(super) struct Wire {
    url: String,
    state: Arc<State>,
    _relay: JoinSet<()>,
}

struct State {
    server: (String, u16),
    /// How many answers of the server still pass; below zero all do.
    passing: AtomicI64,
    /// Whether the connections end at the answer that does not pass. Else the host hears nothing, and the server all.
    cut: AtomicBool,
    /// Nothing passes for now, either way; what was sent arrives later.
    held: watch::Sender<bool>,
    /// Of the connections with smaller numbers nothing arrives any more, and nobody is told.
    lost_before: AtomicUsize,
    opened: AtomicUsize,
    /// How often a host sent something, and on how many lost connections it tried.
    asked: AtomicUsize,
    tried: AtomicUsize,
    /// How many lost connections the host has closed.
    closed: AtomicUsize,
}

impl Wire {
    pub(super) async fn new(store: &TestStore) -> Wire {
        let server: PgConnectOptions = store.url.parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = listener.local_addr().unwrap();
        let state = Arc::new(State {
            server: (server.get_host().to_owned(), server.get_port()),
            passing: AtomicI64::new(-1),
            cut: false.into(),
            held: watch::Sender::new(false),
            lost_before: 0.into(),
            opened: 0.into(),
            asked: 0.into(),
            tried: 0.into(),
            closed: 0.into(),
        });
        let mut relay = JoinSet::new();
        let shared = Arc::clone(&state);
        relay.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((host, _)) = listener.accept().await {
                connections.spawn(carry(host, Arc::clone(&shared)));
            }
        });
        Wire { url: led_to(&store.url, here), state, _relay: relay }
    }

    /// A host at the end of the wire.
    pub(super) async fn host(&self, options: ConnectOptions) -> Result<Arc<dyn Queue>> {
        connect(&self.url, options).await
    }

    /// Lets so many more answers pass, and cuts every connection at the next one.
    pub(super) fn cut_after(&self, answers: i64) {
        self.state.cut.store(true, Ordering::SeqCst);
        self.state.passing.store(answers, Ordering::SeqCst);
    }

    /// Lets so many more answers pass, and none after that. The server hears everything.
    pub(super) fn mute_after(&self, answers: i64) {
        self.state.cut.store(false, Ordering::SeqCst);
        self.state.passing.store(answers, Ordering::SeqCst);
    }

    /// Lets everything pass again; answers whether anything was kept back.
    pub(super) fn mend(&self) -> bool {
        self.state.held.send_replace(false);
        self.state.passing.swap(-1, Ordering::SeqCst) == 0
    }

    /// Holds everything back, new connections too, until it is mended.
    pub(super) fn hold(&self) {
        self.state.held.send_replace(true);
    }

    /// Loses the connections that there are, for good and without a word. New ones are as ever.
    pub(super) fn lose(&self) {
        self.state.lost_before.store(self.opened(), Ordering::SeqCst);
        self.state.tried.store(0, Ordering::SeqCst);
        self.state.closed.store(0, Ordering::SeqCst);
    }

    /// How many connections there were so far.
    pub(super) fn opened(&self) -> usize {
        self.state.opened.load(Ordering::SeqCst)
    }

    /// How often something was sent to the server.
    pub(super) fn asked(&self) -> usize {
        self.state.asked.load(Ordering::SeqCst)
    }

    /// On how many of the lost connections something was sent.
    pub(super) fn tried(&self) -> usize {
        self.state.tried.load(Ordering::SeqCst)
    }

    /// How many of the lost connections the host has closed.
    pub(super) fn closed(&self) -> usize {
        self.state.closed.load(Ordering::SeqCst)
    }
}

/// The URL with another address.
fn led_to(url: &str, here: SocketAddr) -> String {
    let (before, after) = url.split_once('@').expect("the URL names a user");
    let (_, database) = after.split_once('/').expect("the URL names a database");
    format!("{before}@{here}/{database}")
}

async fn carry(mut host: TcpStream, state: Arc<State>) {
    let number = state.opened.fetch_add(1, Ordering::SeqCst);
    let mut held = state.held.subscribe();
    held.wait_for(|held| !held).await.unwrap();
    let mut server = TcpStream::connect(state.server.clone()).await.unwrap();
    let (mut asked, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let (from_host, read) = tokio::select! {
            read = host.read(&mut asked) => (true, read.unwrap_or(0)),
            read = server.read(&mut answered) => (false, read.unwrap_or(0)),
        };
        held.wait_for(|held| !held).await.unwrap();
        if number < state.lost_before.load(Ordering::SeqCst) {
            return lose(host, server, from_host.then_some(read), &state).await;
        }
        let passed = if read == 0 {
            false
        } else if from_host {
            state.asked.fetch_add(1, Ordering::SeqCst);
            server.write_all(&asked[..read]).await.is_ok()
        } else if state.passing.load(Ordering::SeqCst) == 0 {
            // The server has done what it was asked, and nobody hears of it.
            !state.cut.load(Ordering::SeqCst)
        } else {
            let _ =
                state.passing.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| (left > 0).then_some(left - 1));
            host.write_all(&answered[..read]).await.is_ok()
        };
        if !passed {
            return;
        }
    }
}

/// Keeps both ends open for ever, and notes what the host does: it starts with so many bytes that were read already.
async fn lose(mut host: TcpStream, _server: TcpStream, mut read: Option<usize>, state: &State) {
    let mut tried = false;
    loop {
        match read.take() {
            Some(0) => break,
            Some(_) if !tried => {
                tried = true;
                state.tried.fetch_add(1, Ordering::SeqCst);
            }
            _ => {}
        }
        read = Some(host.read(&mut [0; 1024]).await.unwrap_or(0));
    }
    state.closed.fetch_add(1, Ordering::SeqCst);
    std::future::pending().await
}
