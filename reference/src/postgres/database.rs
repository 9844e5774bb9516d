//! A few connections to one database, which are made when they are needed and replaced when they are lost.
//!
//! Every attempt at an operation has a deadline, and so have all attempts together: a server that is restarted meanwhile
//! fails none. An attempt may be repeated although it took effect, its answer having been lost; so what is done here must
//! come to the same when it is done twice, or find out that it was done.
//! A process that stands still in the middle of a transaction loses it to the server after [`IDLE`], so that the rows which
//! it locked do not stay locked.

use std::borrow::Cow;
use std::error::Error as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::poll_fn;
use futures::{FutureExt as _, StreamExt as _};
use tokio::runtime::Handle;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, NoTls, Socket};
pub(crate) use tokio_postgres::{Client, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::explained::explained;
use super::schema;
use super::tls;
use super::url::DatabaseUrl;
use crate::cause::Cause;
use crate::sync::locked;

/// Connections that a store has at most; further operations wait.
const CONNECTIONS: usize = 8;
/// For a connection to be there.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
/// For one attempt at an operation, which may make a connection first.
const ATTEMPT_DEADLINE: Duration = Duration::from_secs(15);
/// For all attempts at one operation to begin in.
const OPERATION_DEADLINE: Duration = Duration::from_secs(20);
/// Between two attempts.
const RETRY: Duration = Duration::from_millis(200);
/// After so long without a statement the server ends a transaction.
const IDLE: Duration = Duration::from_secs(4);
/// For a row that another transaction has.
const LOCK: Duration = Duration::from_secs(8);
/// For one statement, which may wait for a row.
const STATEMENT: Duration = Duration::from_secs(10);

/// A database.
pub(crate) struct Database {
    config: tokio_postgres::Config,
    tls: Option<MakeRustlsConnect>,
    /// What each connection begins with.
    settings: String,
    shown: String,
    idle: Mutex<Vec<Client>>,
    places: Arc<Semaphore>,
    handle: Handle,
}

/// A connection, and the right to have one.
pub(crate) struct Lent {
    pub(crate) client: Client,
    database: Arc<Database>,
    _place: OwnedSemaphorePermit,
}

/// An attempt that failed.
pub(crate) enum Failure {
    /// For good.
    Refused(Cause),
    /// Another one may succeed; whether this one did is not known.
    Again(Cause),
}

impl Failure {
    pub(crate) fn refused(cause: impl Into<Cause>) -> Self {
        Self::Refused(cause.into())
    }
}

impl From<Failure> for Cause {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(cause) | Failure::Again(cause) => cause,
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::refused(error)
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        let cause = explained(&error).into();
        match error.code() {
            Some(code) if !is_passing(code) => Self::Refused(cause),
            // Without a code it is the connection, or a value that is not of the type that is asked for.
            None if !error.is_closed() && is_ours(&error) => Self::Refused(cause),
            _ => Self::Again(cause),
        }
    }
}

/// Whether the server means the moment and not the statement.
fn is_passing(code: &SqlState) -> bool {
    let passing = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::QUERY_CANCELED,
        SqlState::READ_ONLY_SQL_TRANSACTION,
    ];
    passing.contains(code) || code.code().starts_with("08")
}

/// Whether an error comes from what was asked for, and not from the connection.
fn is_ours(error: &tokio_postgres::Error) -> bool {
    error.source().is_some_and(|source| !source.is::<std::io::Error>())
}

impl Database {
    /// Connects, and makes these tables where they are not there.
    ///
    /// # Errors
    /// The server is not reached within 5 s or refuses, which the error says with the URL and without its password.
    pub(crate) async fn open(url: &DatabaseUrl, tables: &str) -> Result<Arc<Self>, Cause> {
        let shown = url.to_string();
        let mut config = url.config()?;
        let tls = tls::connector(url.encryption())?;
        config.connect_timeout(CONNECT_DEADLINE).keepalives_idle(Duration::from_secs(30));
        if config.get_application_name().is_none() {
            config.application_name("callmark");
        }
        let settings = format!(
            "SET client_min_messages = warning; SET search_path = \"{}\"; SET statement_timeout = {}; \
             SET lock_timeout = {}; SET idle_in_transaction_session_timeout = {}",
            url.schema(),
            STATEMENT.as_millis(),
            LOCK.as_millis(),
            IDLE.as_millis()
        );
        let (idle, places) = (Mutex::default(), Arc::new(Semaphore::new(CONNECTIONS)));
        let database = Self { config, tls, settings, shown, idle, places, handle: Handle::current() };
        let opened = async {
            let mut client = database.connect().await?;
            schema::prepare(&mut client, url.schema(), tables).await?;
            locked(&database.idle).push(client);
            Ok(())
        };
        let opened = timeout(ATTEMPT_DEADLINE, opened).await.unwrap_or_else(|_elapsed| Err(too_late()));
        match opened {
            Ok(()) => Ok(Arc::new(database)),
            Err(Failure::Refused(cause) | Failure::Again(cause)) => Err(database.named(&cause)),
        }
    }

    /// Does something with a connection, again until it succeeds, is refused, or the time is over. `work` learns whether an
    /// attempt before may have taken effect. It waits, and so belongs on a thread for that.
    pub(crate) fn wait<T>(
        self: &Arc<Self>,
        work: impl AsyncFnMut(&mut Client, bool) -> Result<T, Failure>,
    ) -> Result<T, Cause> {
        self.handle.block_on(self.run(work))
    }

    /// One attempt at a statement, for tasks that try again by themselves and may be aborted at any time.
    pub(crate) async fn once(
        self: &Arc<Self>,
        statement: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Cause> {
        let attempt = async {
            let lent = self.lend().await?;
            let rows = lent.client.query(statement, values).await?;
            lent.give_back();
            Ok(rows)
        };
        let rows = timeout(ATTEMPT_DEADLINE, attempt).await.unwrap_or_else(|_elapsed| Err(too_late()));
        rows.map_err(|failure: Failure| self.named(&failure.into()))
    }

    async fn run<T>(
        self: &Arc<Self>,
        mut work: impl AsyncFnMut(&mut Client, bool) -> Result<T, Failure>,
    ) -> Result<T, Cause> {
        let began = Instant::now();
        let mut is_repeated = false;
        loop {
            let attempt = timeout(ATTEMPT_DEADLINE, self.attempt(&mut work, is_repeated));
            let cause = match attempt.await.unwrap_or_else(|_elapsed| Err(too_late())) {
                Ok(value) => return Ok(value),
                Err(Failure::Refused(cause)) => return Err(self.named(&cause)),
                Err(Failure::Again(cause)) => cause,
            };
            if began.elapsed() + RETRY >= OPERATION_DEADLINE {
                return Err(self.named(&cause));
            }
            is_repeated = true;
            sleep(RETRY).await;
        }
    }

    async fn attempt<T>(
        self: &Arc<Self>,
        work: &mut impl AsyncFnMut(&mut Client, bool) -> Result<T, Failure>,
        is_repeated: bool,
    ) -> Result<T, Failure> {
        let mut lent = self.lend().await?;
        let outcome = work(&mut lent.client, is_repeated).await;
        // After a failure it may be in any state; the one that is dropped ends its transaction.
        if outcome.is_ok() {
            lent.give_back();
        }
        outcome
    }

    /// A connection for what must not be repeated.
    pub(crate) async fn lend(self: &Arc<Self>) -> Result<Lent, Failure> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(Failure::refused)?;
        let idle = std::iter::from_fn(|| locked(&self.idle).pop()).find(|client| !client.is_closed());
        let client = match idle {
            Some(client) => client,
            None => self.connect().await?,
        };
        Ok(Lent { client, database: Arc::clone(self), _place: place })
    }

    async fn connect(&self) -> Result<Client, Failure> {
        let (client, connection) = self.reach(None).await?;
        // It ends with its client; what it ends with, the client's operations report.
        tokio::spawn(connection);
        client.batch_execute(&self.settings).await?;
        Ok(client)
    }

    /// A connection that has the server's words on a channel wake whoever waits, for as long as it is kept.
    pub(crate) async fn listen(&self, channel: &str, word: Arc<Notify>) -> Result<Client, Failure> {
        let (client, connection) = self.reach(Some(word)).await?;
        tokio::spawn(connection);
        client.batch_execute(&self.settings).await?;
        client.batch_execute(&format!("LISTEN {channel}")).await?;
        Ok(client)
    }

    /// A client, and what moves its messages; `word` is woken by notifications.
    async fn reach(&self, word: Option<Arc<Notify>>) -> Result<(Client, BoxFuture<'static, ()>), Failure> {
        let connecting = async {
            match &self.tls {
                None => reached(&self.config, NoTls, word).await,
                Some(tls) => reached(&self.config, tls.clone(), word).await,
            }
        };
        Ok(timeout(CONNECT_DEADLINE, connecting).await.map_err(|_elapsed| too_late())??)
    }

    fn named(&self, cause: &Cause) -> Cause {
        format!("PostgreSQL at `{}`: {cause}", self.shown).into()
    }
}

impl Lent {
    /// Keeps the connection for others; one that is not given back is closed.
    pub(crate) fn give_back(self) {
        if !self.client.is_closed() {
            locked(&self.database.idle).push(self.client);
        }
    }
}

/// Does what waits on a thread for that.
pub(crate) async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Cause> + Send + 'static,
) -> Result<T, Cause> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.into()))
}

async fn reached<T>(
    config: &tokio_postgres::Config,
    tls: T,
    word: Option<Arc<Notify>>,
) -> Result<(Client, BoxFuture<'static, ()>), tokio_postgres::Error>
where
    T: MakeTlsConnect<Socket, Stream: Send, TlsConnect: Send> + 'static,
    <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
{
    let (client, mut connection) = config.connect(tls).await?;
    let moved = async move {
        let mut messages = poll_fn(move |context| connection.poll_message(context));
        while let Some(Ok(message)) = messages.next().await {
            if let (AsyncMessage::Notification(_), Some(word)) = (message, &word) {
                word.notify_one();
            }
        }
    };
    Ok((client, moved.boxed()))
}

fn too_late() -> Failure {
    Failure::Again("it does not answer in time".into())
}

/// A text as PostgreSQL takes it, which knows no NUL: with `\` and NUL escaped, so that two texts stay two.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if text.contains(['\0', '\\']) {
        Cow::Owned(text.replace('\\', "\\\\").replace('\0', "\\0"))
    } else {
        Cow::Borrowed(text)
    }
}
