//! The control socket: where the command line asks a running daemon. Whoever may open the file may ask.
//!
//! One line of text asks, one line of JSON answers.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::{info, warn};

use crate::reload::{Reloaded, Reloader};

/// Bytes of a question. There is one, and it is short.
const QUESTION: u64 = 64;

/// How long a client may take to ask.
const ASKING: Duration = Duration::from_secs(5);

/// How long a connection that failed keeps the next one waiting, so that no fault becomes a busy loop.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// A socket in the file system; removed when dropped.
pub(crate) struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl ControlSocket {
    /// Opens it for the daemon's own user. A file that an earlier daemon left is taken over.
    ///
    /// # Errors
    /// Another daemon listens there, or the file cannot be made.
    pub(crate) async fn open(path: &Path) -> io::Result<ControlSocket> {
        if UnixStream::connect(path).await.is_ok() {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "another daemon listens there"));
        }
        let meta = std::fs::symlink_metadata(path);
        if meta.is_ok_and(|meta| std::os::unix::fs::FileTypeExt::is_socket(&meta.file_type())) {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        info!(socket = %path.display(), "the command line can reach this daemon");
        Ok(ControlSocket { listener, path: path.to_owned() })
    }

    /// Answers questions until dropped.
    pub(crate) async fn serve(self, reloader: Arc<Reloader>) {
        let mut running = JoinSet::new();
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => drop(running.spawn(answer(stream, reloader.clone()))),
                Err(error) => {
                    warn!(%error, "the control socket failed");
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            }
            while running.try_join_next().is_some() {}
        }
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn answer(mut stream: UnixStream, reloader: Arc<Reloader>) {
    let (reading, mut writing) = stream.split();
    let mut question = String::new();
    let mut reading = BufReader::new(reading.take(QUESTION));
    let answer = match timeout(ASKING, reading.read_line(&mut question)).await {
        Ok(Ok(_)) if question.trim_end() == "reload" => {
            serde_json::to_string(&reloader.reload("workhost reload").await).unwrap_or_default()
        }
        _ => "{}".to_owned(),
    };
    // Whoever asked may have gone.
    let _ = writing.write_all(format!("{answer}\n").as_bytes()).await;
}

/// Asks the daemon behind this socket to reload.
///
/// # Errors
/// No daemon listens there, or it did not answer.
pub(crate) async fn ask_to_reload(path: &Path) -> anyhow::Result<Reloaded> {
    let mut stream = UnixStream::connect(path).await.with_context(|| {
        format!(
            "no daemon can be reached at {}\n    hint: is `workhost serve` running with this configuration? SIGHUP does the same",
            path.display()
        )
    })?;
    stream.write_all(b"reload\n").await.context("the daemon went away")?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).await.context("the daemon went away")?;
    if answer.is_empty() {
        bail!("the daemon ended before it answered");
    }
    serde_json::from_str(&answer).context("the daemon does not know this command: is it an older one?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_goes_with_its_daemon() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let socket = ControlSocket::open(&path).await.unwrap();
        assert!(path.exists());
        drop(socket);
        assert!(!path.exists());
    }
}
