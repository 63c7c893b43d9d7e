//! A server that behaves as its paths say, and remembers what it saw.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::harness::PATIENCE;

/// Listens on a port of its own until the test ends.
pub(crate) struct Server {
    pub(crate) port: u16,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    /// Connections that ended.
    closed: AtomicUsize,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
    requests: Mutex<Vec<Received>>,
}

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    /// Method and target.
    pub(crate) line: String,
    pub(crate) host: String,
    /// Bytes of its body.
    pub(crate) bytes: usize,
    /// Whether the body came to its end.
    pub(crate) whole: bool,
}

impl Server {
    pub(crate) fn start() -> Server {
        Server::at(Ipv4Addr::LOCALHOST.into(), 0)
    }

    /// On this address of this machine; port 0 is a free one.
    pub(crate) fn at(address: IpAddr, port: u16) -> Server {
        let listener = TcpListener::bind((address, port)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Seen::default());
        std::thread::spawn({
            let seen = seen.clone();
            move || {
                for stream in listener.incoming() {
                    let (stream, seen) = (stream.unwrap(), seen.clone());
                    seen.connections.fetch_add(1, SeqCst);
                    std::thread::spawn(move || {
                        // A client that goes away is what many tests are about.
                        let _ = serve(&stream, stream.try_clone().unwrap(), &seen);
                        seen.closed.fetch_add(1, SeqCst);
                    });
                }
            }
        });
        Server { port, seen }
    }

    /// Its URL with this path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(SeqCst)
    }

    /// Waits until no more than so many connections are open; it learns a moment later that one was closed.
    pub(crate) async fn until_open(&self, most: usize) {
        until(|| self.connections() - self.seen.closed.load(SeqCst) <= most, "the end of a connection").await;
    }

    pub(crate) fn most_at_once(&self) -> usize {
        self.seen.most_at_once.load(SeqCst)
    }

    pub(crate) fn requests(&self) -> Vec<Received> {
        self.seen.requests.lock().unwrap().clone()
    }

    /// Waits until it has so many requests.
    pub(crate) async fn until_requests(&self, requests: usize) {
        until(|| self.requests().len() >= requests, "a request").await;
    }

    /// Waits until all connections are closed.
    pub(crate) async fn until_closed(&self) {
        self.until_open(0).await;
    }
}

async fn until(is: impl Fn() -> bool, what: &str) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < PATIENCE, "the server did not see {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Serves one connection: over TLS the two sides are not the same.
pub(crate) fn serve_once(reader: impl Read, writer: impl Write) -> std::io::Result<()> {
    serve(reader, writer, &Seen::default())
}

fn serve(reader: impl Read, mut writer: impl Write, seen: &Seen) -> std::io::Result<()> {
    let mut reader = BufReader::new(reader);
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if line.trim().is_empty() {
                break;
            }
            head.push(line.trim().to_owned());
        }
        let at_once = seen.at_once.fetch_add(1, SeqCst) + 1;
        seen.most_at_once.fetch_max(at_once, SeqCst);
        let served = answer(&mut reader, &mut writer, seen, &head);
        seen.at_once.fetch_sub(1, SeqCst);
        served?;
    }
}

fn answer(reader: &mut impl BufRead, writer: &mut impl Write, seen: &Seen, head: &[String]) -> std::io::Result<()> {
    let value = |name: &str| {
        head.iter().find_map(|line| line.split_once(": ").filter(|(header, _)| header.eq_ignore_ascii_case(name)))
    };
    let line = head[0].trim_end_matches(" HTTP/1.1").to_owned();
    let target = line.split_once(' ').map(|(_, target)| target.to_owned()).unwrap_or_default();
    let host = value("host").map(|(_, host)| host.to_owned()).unwrap_or_default();
    let length = value("content-length").map(|(_, length)| length.parse().unwrap());
    let (bytes, whole) = match length {
        Some(length) => read_exactly(reader, length),
        None if value("transfer-encoding").is_some() => read_chunks(reader),
        None => (0, true),
    };
    seen.requests.lock().unwrap().push(Received { line, host, bytes, whole });
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    match path {
        "/hang" => loop {
            // Nothing comes any more, but the end of the connection.
            if reader.fill_buf()?.is_empty() {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        },
        "/redirect" => write!(writer, "HTTP/1.1 302 Found\r\nlocation: {query}\r\ncontent-length: 0\r\n\r\n"),
        "/close" => {
            write!(writer, "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 3\r\n\r\nbye")?;
            Err(std::io::ErrorKind::UnexpectedEof.into())
        }
        "/slow" => {
            std::thread::sleep(Duration::from_millis(50));
            write!(writer, "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nslow")
        }
        "/endless" => {
            write!(writer, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
            loop {
                write!(writer, "1\r\n.\r\n")?;
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        "/stalls" => {
            write!(writer, "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nonly")?;
            // Until the client goes.
            while reader.fill_buf().is_ok_and(|bytes| !bytes.is_empty()) {}
            Err(std::io::ErrorKind::UnexpectedEof.into())
        }
        "/long" | "/long-unsaid" => {
            let gigabytes = 10_u64 << 30;
            if path == "/long" {
                write!(writer, "HTTP/1.1 200 OK\r\ncontent-length: {gigabytes}\r\n\r\n")?;
            } else {
                write!(writer, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")?;
            }
            let piece = vec![b'x'; 1 << 20];
            (0..gigabytes >> 20).try_for_each(|_| writer.write_all(&piece))
        }
        "/long-head" => {
            write!(writer, "HTTP/1.1 200 OK\r\n")?;
            (0..1_000_000).try_for_each(|number| write!(writer, "x-{number}: {}\r\n", "x".repeat(100)))
        }
        _ => write!(writer, "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"),
    }
}

/// How many bytes of the body came, and whether that is all of them.
fn read_exactly(reader: &mut impl BufRead, length: u64) -> (usize, bool) {
    let mut bytes = 0;
    while bytes < length {
        let Ok(read) = reader.fill_buf().map(|bytes| bytes.len()) else { break };
        if read == 0 {
            break;
        }
        let read = read.min((length - bytes) as usize);
        reader.consume(read);
        bytes += read as u64;
    }
    (bytes as usize, bytes == length)
}

fn read_chunks(reader: &mut impl BufRead) -> (usize, bool) {
    let mut bytes = 0;
    loop {
        let mut size = String::new();
        if reader.read_line(&mut size).is_err() {
            return (bytes, false);
        }
        let Ok(size) = u64::from_str_radix(size.trim(), 16) else { return (bytes, false) };
        let (read, whole) = read_exactly(reader, size);
        bytes += read;
        let mut end = String::new();
        if !whole || reader.read_line(&mut end).is_err() || end != "\r\n" {
            return (bytes, false);
        }
        if size == 0 {
            return (bytes, true);
        }
    }
}
