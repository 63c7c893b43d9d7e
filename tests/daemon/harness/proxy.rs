//! A way to PostgreSQL that a test can make worse.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// What becomes of the bytes of its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// They go through.
    Open,
    /// They wait, as behind a cable that was pulled, and arrive once the way is open again.
    Held,
    /// They vanish, in both directions. A connection that has lost some stays mute for good, as behind a firewall that has
    /// forgotten it.
    Swallowed,
    /// Connections are ended, and new ones refused.
    Refused,
}

/// Passes connections on to a server. It runs on a thread of its own: a test may block while it waits for its daemon.
pub(crate) struct Proxy {
    address: SocketAddr,
    way: watch::Sender<Way>,
    runtime: Option<Runtime>,
}

impl Proxy {
    /// Listens on this address, and passes on to that one.
    pub(crate) fn start(listen: SocketAddr, server: SocketAddr) -> Proxy {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (way, ways) = watch::channel(Way::Open);
        let socket = {
            let _guard = runtime.enter();
            bind(listen)
        };
        let address = socket.local_addr().unwrap();
        runtime.spawn(serve(socket, server, ways));
        Proxy { address, way, runtime: Some(runtime) }
    }

    pub(crate) fn set(&self, way: Way) {
        self.way.send_replace(way);
    }

    /// The URL of a store, by this way.
    pub(crate) fn url(&self, store_url: &str) -> String {
        let server = server_of(store_url).to_string();
        let url = store_url.replacen(&server, &self.address.to_string(), 1);
        assert_ne!(url, store_url);
        url
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Its own end is not waited for: a test is asynchronous, and must not block here.
        self.runtime.take().unwrap().shutdown_background();
    }
}

/// Where the server of this URL listens.
pub(crate) fn server_of(store_url: &str) -> SocketAddr {
    let (_, rest) = store_url.split_once('@').unwrap();
    rest.split_once('/').unwrap().0.parse().unwrap()
}

/// A socket that is bound and does not listen yet: it keeps the port, and refuses connections.
fn bind(address: SocketAddr) -> TcpSocket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    socket.bind(address).unwrap();
    socket
}

async fn serve(mut socket: TcpSocket, server: SocketAddr, mut ways: watch::Receiver<Way>) {
    let address = socket.local_addr().unwrap();
    loop {
        ways.wait_for(|way| *way != Way::Refused).await.unwrap();
        let listener = socket.listen(128).unwrap();
        tokio::select! {
            () = accept(&listener, server, &ways) => {}
            _ = async { ways.clone().wait_for(|way| *way == Way::Refused).await.map(drop) } => {}
        }
        drop(listener);
        socket = loop {
            let again = TcpSocket::new_v4().unwrap();
            again.set_reuseaddr(true).unwrap();
            match again.bind(address) {
                Ok(()) => break again,
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        };
    }
}

async fn accept(listener: &TcpListener, server: SocketAddr, ways: &watch::Receiver<Way>) {
    loop {
        let Ok((client, _)) = listener.accept().await else { continue };
        tokio::spawn(connection(client, server, ways.clone()));
    }
}

async fn connection(client: TcpStream, server: SocketAddr, ways: watch::Receiver<Way>) {
    let pumps = async {
        if !reaches_server(&client, &ways).await {
            return;
        }
        let Ok(server) = TcpStream::connect(server).await else { return };
        let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
        let mute = Arc::new(AtomicBool::new(false));
        let requests = pump(from_client, to_server, ways.clone(), mute.clone());
        let answers = pump(from_server, to_client, ways.clone(), mute);
        tokio::join!(requests, answers);
    };
    let mut refused = ways.clone();
    tokio::select! {
        () = pumps => {}
        _ = async { refused.wait_for(|way| *way == Way::Refused).await.map(drop) } => {}
    }
}

/// Waits until a new connection may go on to the server, which hears of it only then. `false`: it never will.
async fn reaches_server(client: &TcpStream, ways: &watch::Receiver<Way>) -> bool {
    let mut mute = false;
    loop {
        match *ways.borrow() {
            Way::Open if !mute => return true,
            Way::Swallowed => mute = true,
            _ => {}
        }
        let closed = tokio::time::timeout(Duration::from_millis(20), client.ready(Interest::READABLE)).await;
        if closed.is_ok_and(|ready| ready.is_ok_and(|ready| ready.is_read_closed())) {
            return false;
        }
        // What it has sent makes it ready at once.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// One direction, until its sender has nothing more to say.
async fn pump(from: OwnedReadHalf, to: OwnedWriteHalf, mut ways: watch::Receiver<Way>, mute: Arc<AtomicBool>) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = match from.readable().await.and_then(|()| from.try_read(&mut buffer)) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            Ok(read) => read,
            Err(_) => 0,
        };
        let way = *ways.wait_for(|way| *way != Way::Held).await.unwrap();
        if way == Way::Swallowed {
            mute.store(true, Ordering::Relaxed);
        }
        match (mute.load(Ordering::Relaxed), read) {
            // The other side never hears of the end.
            (true, 0) => std::future::pending().await,
            (true, _) => {}
            (false, 0) => return,
            (false, _) if write(&to, &buffer[..read]).await => {}
            (false, _) => return,
        }
    }
}

async fn write(to: &OwnedWriteHalf, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        match to.writable().await.and_then(|()| to.try_write(bytes)) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Ok(written) => bytes = &bytes[written..],
            Err(_) => return false,
        }
    }
    true
}
