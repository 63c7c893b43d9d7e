//! A PgBouncer of one test, in front of the private server.

use std::fs::{self, Permissions};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use workhost_queue::{ConnectOptions, Pooler, Queue, Result, connect};

use crate::store::TestStore;

/// Ends the program when the pipe from us closes, however we end.
const GUARDIAN: &str = r#""$@" </dev/null & read -r _; kill $!; wait"#;

/// A running PgBouncer; dropping it ends it.
pub(crate) struct PgBouncer {
    guardian: Child,
    /// The test's database, through it.
    url: String,
    _folder: tempfile::TempDir,
}

impl PgBouncer {
    /// Starts one with two connections to the server for each database, so that clients have to share them.
    pub(crate) fn start(store: &TestStore, pool_mode: &str, more: &str) -> PgBouncer {
        let (login, place) = store.url.strip_prefix("postgres://").unwrap().split_once('@').unwrap();
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (address, database) = place.split_once('/').unwrap();
        let (host, server_port) = address.split_once(':').unwrap();
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let password = if password.is_empty() { String::new() } else { format!(" password={password}") };
        // It refuses root.
        let account = if fs::metadata("/proc/self").is_ok_and(|us| us.uid() == 0) { "user = nobody" } else { "" };
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let configuration = folder.path().join("pgbouncer.ini");
        let text = format!(
            "[databases]\n* = host={host} port={server_port} user={user}{password}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = {pool_mode}\ndefault_pool_size = 2\n\
             {account}\n{more}\n"
        );
        fs::write(&configuration, text).unwrap();
        let guardian = Command::new("/bin/sh")
            .args(["-c", GUARDIAN, "guardian"])
            .arg(program())
            .arg(&configuration)
            .stdin(Stdio::piped())
            .stderr(fs::File::create(folder.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            let log = || fs::read_to_string(folder.path().join("log")).unwrap();
            assert!(Instant::now() < deadline, "PgBouncer does not answer:\n{}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
        PgBouncer { guardian, url: format!("postgres://{user}@127.0.0.1:{port}/{database}"), _folder: folder }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The queue as a host behind it sees it.
    pub(crate) async fn host(&self, pooler: Pooler) -> Result<Arc<dyn Queue>> {
        self.host_with(ConnectOptions { pooler, ..ConnectOptions::default() }).await
    }

    /// The same with other options.
    pub(crate) async fn host_with(&self, options: ConnectOptions) -> Result<Arc<dyn Queue>> {
        connect(&self.url, options).await
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        drop(self.guardian.stdin.take());
        let _ = self.guardian.wait();
    }
}

/// The program that `cargo xtask test` provides, or the machine's. Its absence fails the test.
fn program() -> PathBuf {
    let provided = std::env::var_os("WORKHOST_TEST_PGBOUNCER").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let candidates = folders.map(|folder| folder.join("pgbouncer"));
    provided.or_else(|| candidates.into_iter().find(|file| file.is_file())).expect(
        "there is no `pgbouncer`: run `cargo xtask test`, or install it (Debian, Ubuntu: apt-get install pgbouncer)",
    )
}
