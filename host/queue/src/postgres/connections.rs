//! The connections to the server: how many there are, which are used again, and when one is given up.
//!
//! The server, or the way to it, may fall silent without a word, and nothing tells a connection on which all is lost from
//! one on which an answer takes long. So whatever waits has a limit, and only a connection on which nothing is owed is used
//! again. One that is given up in the middle is closed at once, and its place is free: to say goodbye on it, or to
//! ask how it is, could take as long as whatever the verb was given up for.

use std::fmt;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deadpool::managed::{Manager, Metrics, Object, Pool, PoolConfig, PoolError, QueueMode, RecycleResult, Timeouts};
use futures::TryStreamExt;
use sqlx::postgres::{PgConnectOptions, PgDatabaseError, PgQueryResult, PgRow, PgSeverity};
use sqlx::{ConnectOptions as _, Connection as _, Either, Execute, Executor, PgConnection, Postgres};
use tokio::time::{Instant, sleep, timeout};

/// How long a connection rests until it must give a sign of life before it is used. Shorter, each verb of a busy host
/// would cost a round more.
const RESTED: Duration = Duration::from_millis(100);

/// How long it has for that. Where it takes longer, a new connection is the better one.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// How long a connection apart from these has to open.
pub(super) const CONNECT: Duration = Duration::from_secs(5);

/// How long a statement has: longer than the server lets it run, so whoever waited so long is not answered any more.
const ANSWER: Duration = Duration::from_secs(40);

/// How long a connection is kept that nobody needs.
const IDLE: Duration = Duration::from_secs(600);

/// How long a connection is used: what a server process has gathered, and where a name led then, is not kept for ever.
const AGE: Duration = Duration::from_secs(1800);

/// How long it takes at most until a server that refuses connections is asked for one again.
const RECONNECT: Duration = Duration::from_millis(500);

/// What a statement is answered with, in pieces.
pub(super) type Step = Either<PgQueryResult, PgRow>;

/// Up to so many connections, opened as they are needed.
#[derive(Debug)]
pub(super) struct Connections(Pool<Server>);

impl Connections {
    /// `patience` is how long to wait for a place, and then for a connection to open.
    pub(super) fn new(server: &PgConnectOptions, most: u32, patience: Duration) -> Connections {
        let server = Server { options: server.clone(), patience, suspects: Mutex::new(None) };
        let config = PoolConfig {
            max_size: most as usize,
            timeouts: Timeouts { wait: Some(patience), ..Timeouts::default() },
            // The one that was used last: it needs no test, and those that nobody needs grow old.
            queue_mode: QueueMode::Lifo,
        };
        let pool = Pool::builder(server).config(config).runtime(deadpool::Runtime::Tokio1);
        Connections(pool.build().expect("a pool with a limit to its waits has the runtime that they need"))
    }

    pub(super) async fn lend(&self) -> sqlx::Result<Lent> {
        self.0.retain(|kept, _| kept.rests_since.elapsed() < IDLE && kept.opened.elapsed() < AGE);
        match self.0.get().await {
            Ok(kept) => Ok(Lent(Some(kept))),
            Err(PoolError::Backend(error)) => Err(error),
            Err(_) => Err(sqlx::Error::PoolTimedOut),
        }
    }
}

/// A connection, while a verb has it. Closed when it is dropped, unless it was given back.
#[derive(Debug)]
pub(super) struct Lent(Option<Object<Server>>);

impl Lent {
    pub(super) fn connection(&mut self) -> &mut PgConnection {
        &mut self.0.as_mut().expect("it is there until it is given back").connection
    }

    /// Runs a statement to its end.
    pub(super) async fn run<'q>(&mut self, statement: impl Execute<'q, Postgres> + 'q) -> sqlx::Result<Vec<Step>> {
        within(ANSWER, "a statement", self.connection().fetch_many(statement).try_collect()).await
    }

    /// Gives the connection back after its last statement, if it can be used again.
    pub(super) fn give_back<T>(mut self, answer: sqlx::Result<T>) -> sqlx::Result<T> {
        if leads_elsewhere(&answer)
            && let Some(pool) = self.0.as_ref().and_then(Object::pool)
        {
            pool.manager().suspect(Instant::now());
        }
        if goes_on(&answer)
            && let Some(mut kept) = self.0.take()
        {
            kept.rests_since = Instant::now();
        }
        answer
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(kept) = self.0.take() {
            drop(Object::take(kept));
        }
    }
}

/// Whether the server only reads: it is a standby, or has become one. A new connection may lead to the one that writes.
fn leads_elsewhere<T>(answer: &sqlx::Result<T>) -> bool {
    let error = answer.as_ref().err().and_then(sqlx::Error::as_database_error);
    error.and_then(|error| error.code()).is_some_and(|code| code == "25006")
}

/// Whether the connection goes on after this answer: the server gave it, did not end the connection with it, and is the
/// right one.
pub(super) fn goes_on<T>(answer: &sqlx::Result<T>) -> bool {
    if leads_elsewhere(answer) {
        return false;
    }
    let Err(error) = answer else { return true };
    error
        .as_database_error()
        .and_then(|error| error.try_downcast_ref::<PgDatabaseError>())
        .is_some_and(|error| !matches!(error.severity(), PgSeverity::Fatal | PgSeverity::Panic))
}

/// A connection that rests.
#[derive(Debug)]
struct Kept {
    connection: PgConnection,
    opened: Instant,
    rests_since: Instant,
}

/// Opens connections, and tests those that have rested.
struct Server {
    options: PgConnectOptions,
    patience: Duration,
    /// When a connection fell silent, or led to a server that only reads. What has rested since before is no better, most
    /// likely: tested one by one, a whole pool of them would cost a verb all its time.
    suspects: Mutex<Option<Instant>>,
}

impl fmt::Debug for Server {
    /// The options hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Server")
    }
}

impl Server {
    fn suspects(&self) -> MutexGuard<'_, Option<Instant>> {
        // The time is whole after any panic.
        self.suspects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn suspect(&self, asked: Instant) {
        let mut suspects = self.suspects();
        *suspects = (*suspects).max(Some(asked));
    }

    /// Tries again while the server is starting, or full; when no time is left, the reason is told.
    async fn open(&self, deadline: Instant) -> sqlx::Result<Kept> {
        let mut pause = Duration::from_millis(10);
        loop {
            match self.options.connect().await {
                Err(error) if is_passing(&error) && Instant::now() + pause < deadline => {}
                opened => {
                    let now = Instant::now();
                    return opened.map(|connection| Kept { connection, opened: now, rests_since: now });
                }
            }
            sleep(pause).await;
            pause = RECONNECT.min(pause * 2);
        }
    }
}

impl Manager for Server {
    type Type = Kept;
    type Error = sqlx::Error;

    async fn create(&self) -> sqlx::Result<Kept> {
        within(self.patience, "a new connection", self.open(Instant::now() + self.patience)).await
    }

    async fn recycle(&self, kept: &mut Kept, _: &Metrics) -> RecycleResult<sqlx::Error> {
        let asked = Instant::now();
        if *self.suspects() >= Some(kept.rests_since) {
            return Err(silent("another sign of life", SIGN_OF_LIFE).into());
        }
        if kept.rests_since.elapsed() < RESTED {
            return Ok(());
        }
        let sign = within(SIGN_OF_LIFE, "a sign of life", kept.connection.ping()).await;
        if sign.as_ref().is_err_and(is_silent) {
            self.suspect(asked);
        }
        Ok(sign?)
    }
}

/// Opens a connection.
pub(super) async fn connect(server: &PgConnectOptions, limit: Duration) -> sqlx::Result<PgConnection> {
    within(limit, "a new connection", server.connect()).await
}

/// What comes in time; else the error of a silent server.
pub(super) async fn within<T>(
    limit: Duration,
    asked: &str,
    answer: impl Future<Output = sqlx::Result<T>>,
) -> sqlx::Result<T> {
    timeout(limit, answer).await.unwrap_or_else(|_| Err(silent(asked, limit)))
}

/// Whether the server may be there in a moment: it is starting, or the connections that were closed are not yet gone there.
fn is_passing(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(error) => error.kind() == io::ErrorKind::ConnectionRefused,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| ["53300", "57P03"].contains(&&*code)),
        _ => false,
    }
}

fn silent(asked: &str, limit: Duration) -> sqlx::Error {
    let told = format!("the server did not answer {asked} within {limit:?}");
    sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, told))
}

/// Whether the server did not answer in time.
pub(super) fn is_silent(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Io(error) if error.kind() == io::ErrorKind::TimedOut)
}
