//! A server: what it listens on, whom it lets in, and its end.

use crate::auth::Users;
use crate::catalog::Catalog;
use crate::jobs::{Job, Jobs};
use crate::net::{EventLoop, Listener, Mail, Mailbox, server_config};
use crate::procedures::{Arguments, InRust, in_rust};
use crate::shared::{Choices, Limits, Shared};
use chiliad::{Database, Transaction};
use chiliad_machine::set_slice;
use chiliad_sql::SqlError;
use core::fmt;
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The port of PostgreSQL, by which clients know the file of a Unix socket.
const PORT: u16 = 5432;
/// Threads at most.
const THREADS_MAX: usize = 1024;
/// How long a thread that serves keeps a core that others wait for: about as long as it takes for some statements. Clients
/// on the same computer that have been answered then go on sooner.
const SLICE: Duration = Duration::from_micros(100);

/// A server before it is started: from [`Server::builder`].
#[must_use = "a server serves when it is started"]
pub struct Server {
    database: Database,
    addresses: Vec<SocketAddr>,
    directories: Vec<PathBuf>,
    threads: usize,
    limits: Limits,
    users: Users,
    procedures: HashMap<String, InRust>,
    tls: Option<(Vec<u8>, Vec<u8>)>,
    constant: bool,
    restless: bool,
}

/// Why a server has not started. Nothing listens then.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// An option that cannot be: which, and what is accepted.
    InvalidOption(String),
    /// The system refuses a socket, or a thread: what for, and why.
    System(String, io::Error),
    /// The database.
    Database(chiliad::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidOption(what) => f.write_str(what),
            Self::System(what, why) => write!(f, "{what}: {why}"),
            Self::Database(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::InvalidOption(_) => None,
            Self::System(_, why) => Some(why),
            Self::Database(error) => Some(error),
        }
    }
}

impl Server {
    /// A server of this database, which the application goes on using. It listens nowhere yet.
    pub fn builder(database: Database) -> Self {
        Self {
            database,
            addresses: Vec::new(),
            directories: Vec::new(),
            threads: thread::available_parallelism().map_or(1, usize::from),
            limits: Limits::default(),
            users: Users::new(),
            procedures: HashMap::new(),
            tls: None,
            constant: false,
            restless: false,
        }
    }

    /// Listens on this address, besides others; port 0 is any that is free.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.addresses.push(address);
        self
    }

    /// Listens on a Unix socket in this directory, besides others: the file `.s.PGSQL.5432`, with the port of the first
    /// address in place of 5432 where there is one.
    pub fn socket(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directories.push(directory.into());
        self
    }

    /// The threads that serve, 1 to 1,024; one for each core by default.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// How many clients may be logged in at once, 100 by default; others are refused with 53300.
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.limits.sessions_max = connections;
        self
    }

    /// Lets these users in, with their passwords. Without any, clients on a Unix socket and on the same computer are
    /// trusted, and all others are refused.
    pub fn users(self, users: Users) -> Self {
        Self { users, ..self }
    }

    /// Offers TLS, with a chain of certificates and its key, both in PEM.
    pub fn tls(mut self, certificates: &[u8], key: &[u8]) -> Self {
        self.tls = Some((certificates.to_vec(), key.to_vec()));
        self
    }

    /// Answers every statement with one row of one number, whatever it says, and never looks at the database: for
    /// measurements of what sockets and messages cost by themselves.
    pub fn answer_constants(self) -> Self {
        Self { constant: true, ..self }
    }

    /// Has connections go from thread to thread whenever something has come: for tests, since they go only now and then
    /// otherwise.
    #[doc(hidden)]
    pub fn restless(self) -> Self {
        Self { restless: true, ..self }
    }

    /// Has `CALL name(..)` run `body`, as one transaction, which is run again where it is refused. The arguments are converted
    /// to the types of `body`'s; a call with others fails with 42883.
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// # use chiliad_server::Server;
    /// # let db = Database::in_memory()?;
    /// let sums: Table<i64, i64> = db.create_table("sums")?;
    /// let server = Server::builder(db).procedure("add", move |tx, (key, amount): (i64, Option<i64>)| {
    ///     tx.update(&sums, &key, |sum| *sum += amount.unwrap_or(1))?;
    ///     Ok(())
    /// });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn procedure<A: Arguments>(
        mut self,
        name: &str,
        body: impl Fn(&mut Transaction<'_>, A) -> Result<(), SqlError> + Send + Sync + 'static,
    ) -> Self {
        self.procedures.insert(name.into(), in_rust(body));
        self
    }

    /// Listens and serves, on threads of its own, until [`Running::shutdown`] or until that is dropped.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start(self) -> Result<Running, StartError> {
        self.check()?;
        let tls = match &self.tls {
            Some((certificates, key)) => {
                Some(server_config(certificates, key).map_err(StartError::InvalidOption)?)
            }
            None => None,
        };
        let catalog = Catalog::new(self.database.clone()).map_err(StartError::Database)?;
        let (jobs, work) = Jobs::new();
        let (users, procedures, limits) = (self.users, self.procedures, self.limits);
        let (constant, restless) = (self.constant, self.restless);
        let choices = Choices { users, procedures, limits, tls, constant, restless };
        let shared = Shared::new(catalog, choices, jobs);
        let shared = Arc::new(shared);
        let listeners = listen(&self.addresses, &self.directories)?;
        let addresses = listeners.iter().filter_map(Listener::address).collect();
        let paths = listeners.iter().filter_map(|it| it.path().map(Path::to_owned)).collect();
        let mut running =
            Running { shared, addresses, paths, mailboxes: Vec::new(), threads: Vec::new() };
        running.start(self.threads, listeners, work)?;
        Ok(running)
    }

    fn check(&self) -> Result<(), StartError> {
        let refuse = |what: String| Err(StartError::InvalidOption(what));
        if !(1..=THREADS_MAX).contains(&self.threads) {
            let given = self.threads;
            return refuse(format!("threads {given}: 1 to {THREADS_MAX} are accepted"));
        }
        if self.addresses.is_empty() && self.directories.is_empty() {
            return refuse("no address: an address or a directory for a socket is needed".into());
        }
        if self.addresses.len() + self.directories.len() > 64 {
            return refuse("more than 64 addresses and sockets".into());
        }
        if !self.database.options().scheme.info().has_transactions() {
            let scheme = self.database.options().scheme;
            return refuse(format!("scheme {scheme}: it has no transactions, which SQL needs"));
        }
        Ok(())
    }
}

fn listen(addresses: &[SocketAddr], directories: &[PathBuf]) -> Result<Vec<Listener>, StartError> {
    let mut listeners = Vec::new();
    for &address in addresses {
        let listener = Listener::tcp(address)
            .map_err(|why| StartError::System(format!("listening on {address}"), why))?;
        listeners.push(listener);
    }
    let port = listeners.iter().find_map(Listener::address).map_or(PORT, |it| it.port());
    for directory in directories {
        let path = directory.join(format!(".s.PGSQL.{port}"));
        let listener = Listener::unix(&path)
            .map_err(|why| StartError::System(format!("listening on {}", path.display()), why))?;
        listeners.push(listener);
    }
    Ok(listeners)
}

/// A server that serves. Dropped, it shuts down.
pub struct Running {
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    paths: Vec<PathBuf>,
    mailboxes: Vec<Arc<Mailbox>>,
    threads: Vec<JoinHandle<()>>,
}

impl Running {
    fn start(
        &mut self,
        threads: usize,
        listeners: Vec<Listener>,
        work: Receiver<Job>,
    ) -> Result<(), StartError> {
        // A loop belongs to its thread from the begin: it tells its mailbox from there.
        let (tells, told) = std::sync::mpsc::channel();
        let mut starts = Vec::new();
        for number in 0..threads {
            let (starts_it, start) = std::sync::mpsc::channel();
            starts.push(starts_it);
            let (tells, shared) = (tells.clone(), Arc::clone(&self.shared));
            let serve = move || serve(&shared, &tells, &start);
            self.spawn(format!("chiliad-server-{number}"), serve)?;
            let mailbox = told.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
            let system = |why| StartError::System("a thread that serves".into(), why);
            self.mailboxes.push(mailbox.map_err(system)?);
        }
        let mailboxes = self.mailboxes.clone();
        self.spawn("chiliad-server-jobs".into(), move || {
            for job in work {
                let done = job();
                // Whose it is only one of them knows; that one may have gone.
                for mailbox in &mailboxes {
                    // One that has gone has no sessions.
                    _ = mailbox.send(Mail::JobDone(done.clone()));
                }
            }
        })?;
        let mut listeners = Some(listeners);
        for start in starts {
            _ = start.send((self.mailboxes.clone(), listeners.take().unwrap_or_default()));
        }
        Ok(())
    }

    fn spawn(
        &mut self,
        name: String,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<(), StartError> {
        let spawned = thread::Builder::new().name(name).spawn(body);
        self.threads.push(spawned.map_err(|why| StartError::System("a thread".into(), why))?);
        Ok(())
    }

    /// The addresses that it listens on, with the ports that it has got.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The files of its Unix sockets.
    #[must_use]
    pub fn socket_paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// How many clients are logged in.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.sessions.count()
    }

    /// Shuts down: accepts nobody more, lets statements and open transactions end for a few seconds, ends idle clients
    /// at once with 57P01, and returns when all have gone. The database stays open.
    pub fn shutdown(self) {}

    fn end(&mut self) {
        self.shared.drain();
        for mailbox in &self.mailboxes {
            // One that could not be started has nothing to end.
            _ = mailbox.send(Mail::Drain);
        }
        let last = self.threads.len().saturating_sub(1);
        for (number, thread) in self.threads.drain(..).enumerate() {
            if number == last {
                self.shared.jobs.close();
            }
            // Its panic has been reported, and is no other's.
            _ = thread.join();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

type Told = std::sync::mpsc::Sender<io::Result<Arc<Mailbox>>>;
type Start = Receiver<(Vec<Arc<Mailbox>>, Vec<Listener>)>;

/// A thread that serves: makes its loop, tells its mailbox, and begins when it is told.
fn serve(shared: &Arc<Shared>, tells: &Told, start: &Start) {
    let mut event_loop = match EventLoop::new(Arc::clone(shared)) {
        Ok(event_loop) => event_loop,
        Err(error) => {
            // Where nobody listens any more, another thread could not be started.
            _ = tells.send(Err(error));
            return;
        }
    };
    if tells.send(Ok(event_loop.mailbox())).is_err() {
        return;
    }
    // It is not started where another thread could not be.
    let Ok((mailboxes, listeners)) = start.recv() else { return };
    if event_loop.join(mailboxes, listeners).is_err() {
        return;
    }
    // A client that has sent a request keeps its core for others that it may send. Where the system refuses that, the
    // thread serves all the same.
    _ = set_slice(SLICE);
    // Without room for stacks it serves nobody; its connections are closed.
    _ = event_loop.run();
}
