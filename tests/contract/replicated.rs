//! A primary of one test and its hot standby, in a private folder.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tempfile::TempDir;
use workhost_queue::{ConnectOptions, Queue, connect};

/// Ends the server at once when the pipe from us closes, however we end, and removes its files. A line from us ends it at
/// once too, and the next one starts it again on its files. `$1` is its folder, the rest is its command.
const GUARDIAN: &str = r#"
folder=$1; shift
while
    "$@" </dev/null >>"$folder/log" 2>&1 &
    read -r _
do
    kill -QUIT $!
    wait
    read -r _ || exec rm -rf "$folder"
done
kill -QUIT $!
wait
exec rm -rf "$folder"
"#;

/// How long a step may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Part of a socket's name, no more.
const PORT: u16 = 5432;

/// A commit is answered once the standby shows it: what was answered is not lost with the primary, and no test has to
/// wait for the standby.
const SETTINGS: [&str; 7] = [
    "fsync=off",
    "jit=off",
    "listen_addresses=",
    "shared_buffers=16MB",
    "synchronous_commit=remote_apply",
    "timezone=UTC",
    // The standby starts beside the primary, and soon asks again.
    "wal_retrieve_retry_interval=100ms",
];

/// A primary and its standby. They listen on sockets in a folder that their account alone may enter.
pub(crate) struct Pair {
    primary: Option<Server>,
    standby: Server,
    /// A name that leads to one of them, as an address does that moves at a failover.
    leader: PathBuf,
    // After the servers, since fields are dropped in this order and the folder is theirs.
    _folder: TempDir,
}

impl Pair {
    /// Starts both, and waits until the standby follows. The name leads to the primary.
    pub(crate) async fn start() -> Pair {
        let account = Account::for_servers();
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
        account.own(folder.path());
        let [primary, standby, leader] = ["primary", "standby", "leader"].map(|name| folder.path().join(name));
        initialise(&account, &primary, &standby);
        symlink(&primary, &leader).unwrap();
        let conninfo = format!("primary_conninfo=host={} port={PORT} user=postgres", primary.display());
        let pair = Pair {
            primary: Some(Server::spawn(&account, primary, "synchronous_standby_names=*")),
            standby: Server::spawn(&account, standby, &conninfo),
            leader,
            _folder: folder,
        };
        pair.standby.wait_until("select pg_is_in_recovery()").await;
        let follows = "select exists (select from pg_stat_replication r where r.sync_state = 'sync')";
        pair.primary().wait_until(follows).await;
        pair
    }

    pub(crate) fn primary(&self) -> &Server {
        self.primary.as_ref().expect("it was not stopped")
    }

    pub(crate) fn standby(&self) -> &Server {
        &self.standby
    }

    /// The queue as a host sees it who knows the servers by their common name.
    pub(crate) async fn host(&self) -> Arc<dyn Queue> {
        host(&self.leader).await
    }

    /// Ends the primary without letting it finish anything.
    pub(crate) fn stop_primary_hard(&mut self) {
        self.primary = None;
    }

    /// Cuts the primary's power, or gives it back; its files stay. Returns once it is down, or answers again.
    #[allow(dead_code, reason = "for the tests of the program")]
    pub(crate) async fn primary_power(&mut self, on: bool) {
        let primary = self.primary.as_mut().expect("it was not stopped");
        let is_on = std::mem::replace(&mut primary.is_on, on);
        assert_ne!(is_on, on);
        writeln!(primary.guardian.stdin.as_ref().expect("it is piped")).unwrap();
        if on {
            return primary.wait_until("select true").await;
        }
        let deadline = Instant::now() + PATIENCE;
        while primary.connection("postgres").await.is_ok() {
            assert!(Instant::now() < deadline, "it does not end\n{}", primary.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The URL of a database by the common name.
    #[allow(dead_code, reason = "for the tests of the program")]
    pub(crate) fn leader_url(&self, database: &str) -> String {
        url(&self.leader, database)
    }

    /// From now on the name leads to the standby.
    pub(crate) fn lead_to_standby(&self) {
        let next = self.leader.with_file_name("next");
        symlink(&self.standby.folder, &next).unwrap();
        fs::rename(next, &self.leader).unwrap();
    }
}

/// A running server; dropping it ends it at once.
pub(crate) struct Server {
    guardian: Child,
    folder: PathBuf,
    is_on: bool,
}

impl Server {
    fn spawn(account: &Account, folder: PathBuf, setting: &str) -> Server {
        let mut guardian = account.command("/bin/sh", &folder);
        guardian.args(["-c", GUARDIAN, "guardian"]).arg(&folder).arg(programs().join("postgres"));
        guardian.arg("-D").arg(folder.join("data")).arg("-p").arg(PORT.to_string());
        guardian.arg("-c").arg(format!("unix_socket_directories={}", folder.display()));
        guardian.args(SETTINGS.iter().copied().chain([setting]).flat_map(|setting| ["-c", setting]));
        // Ctrl-C ends the test, and by that the guardian ends the server.
        let guardian = guardian.process_group(0).stdin(Stdio::piped()).spawn().unwrap();
        Server { guardian, folder, is_on: true }
    }

    /// The queue as a host of this server sees it.
    pub(crate) async fn host(&self) -> Arc<dyn Queue> {
        host(&self.folder).await
    }

    /// A connection past the queue, to one of the server's databases.
    pub(crate) async fn connection(&self, database: &str) -> sqlx::Result<PgConnection> {
        PgConnection::connect(&self.url(database)).await
    }

    pub(crate) fn url(&self, database: &str) -> String {
        url(&self.folder, database)
    }

    pub(crate) async fn sql(&self, statement: &str) {
        let mut connection = self.connection("postgres").await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    /// Makes a standby a primary, and returns once it is one.
    pub(crate) async fn promote(&self) {
        let mut connection = self.connection("postgres").await.unwrap();
        let seconds = i32::try_from(PATIENCE.as_secs()).unwrap();
        let promoted: bool =
            sqlx::query_scalar("select pg_promote(true, $1)").bind(seconds).fetch_one(&mut connection).await.unwrap();
        assert!(promoted, "{}", self.log());
        connection.close().await.unwrap();
    }

    async fn wait_until(&self, question: &str) {
        let ask = async || -> sqlx::Result<bool> {
            let mut connection = self.connection("postgres").await?;
            sqlx::query_scalar(AssertSqlSafe(question)).fetch_one(&mut connection).await
        };
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = ask().await;
            if matches!(answer, Ok(true)) {
                return;
            }
            assert!(Instant::now() < deadline, "{question}: {answer:?}\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.guardian.stdin.take());
        let _ = self.guardian.wait();
    }
}

async fn host(folder: &Path) -> Arc<dyn Queue> {
    connect(&url(folder, "postgres"), ConnectOptions::default()).await.unwrap()
}

fn url(folder: &Path, database: &str) -> String {
    format!("postgres://postgres@localhost:{PORT}/{database}?host={}", folder.display())
}

/// Makes both clusters. A cluster that never ran is as good a base backup as any of a running one, and needs no program
/// but the server's own.
fn initialise(account: &Account, primary: &Path, standby: &Path) {
    let parent = primary.parent().unwrap();
    let mut initdb = account.command(programs().join("initdb"), parent);
    initdb.args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--pgdata"]);
    succeed(initdb.arg(primary.join("data")));
    succeed(account.command("cp", parent).arg("-Rp").args([primary, standby]));
    fs::write(standby.join("data/standby.signal"), "").unwrap();
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
}

/// Whom the servers run as, since PostgreSQL refuses root. `None`: us.
struct Account(Option<(u32, u32)>);

impl Account {
    fn for_servers() -> Account {
        if !fs::metadata("/proc/self").is_ok_and(|us| us.uid() == 0) {
            return Account(None);
        }
        let id = |option: &str, user: &str| -> Option<u32> {
            let output = Command::new("id").args([option, user]).output().ok()?;
            String::from_utf8(output.stdout).ok()?.trim().parse().ok()
        };
        let ids = ["postgres", "nobody"].iter().find_map(|user| Some((id("-u", user)?, id("-g", user)?)));
        Account(Some(
            ids.expect("PostgreSQL does not run as root, and there is neither a user `postgres` nor `nobody`"),
        ))
    }

    /// A program that runs as this account, and that a person's settings for PostgreSQL's clients do not reach.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>, folder: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some((uid, gid)) = self.0 {
            command.uid(uid).gid(gid);
        }
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
            command.env_remove(name);
        }
        if let Some(libraries) = std::env::var_os("WORKHOST_TEST_POSTGRES_LIBRARIES") {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        command.env("LC_ALL", "C").current_dir(folder);
        command
    }

    fn own(&self, path: &Path) {
        let (uid, gid) = self.0.unzip();
        chown(path, uid, gid).unwrap();
    }
}

/// The folder of the programs that `cargo xtask test` provides, or the machine's. Their absence fails the test.
fn programs() -> PathBuf {
    let provided = std::env::var_os("WORKHOST_TEST_POSTGRES_PROGRAMS").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Debian's folders are on nobody's PATH.
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|version| version.path());
    let mut debian: Vec<PathBuf> = debian.map(|version| version.join("bin")).collect();
    debian.sort();
    let mut candidates = std::env::split_paths(&path).chain(debian.into_iter().rev());
    provided.or_else(|| candidates.find(|folder| folder.join("initdb").is_file())).expect(
        "there is no PostgreSQL server: run `cargo xtask test`, or install one (Debian, Ubuntu: apt-get install postgresql)",
    )
}
