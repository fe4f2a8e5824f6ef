//! What all threads and sessions of a server share.

use crate::auth::Users;
use crate::cancel::Sessions;
use crate::catalog::Catalog;
use crate::claims::Claims;
use crate::jobs::Jobs;
use crate::plans::Plans;
use crate::procedures::{Bodies, InRust};
use chiliad_sql::SqlError;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What all threads and sessions of a server share.
pub(crate) struct Shared {
    pub catalog: Catalog,
    pub plans: Plans,
    pub sessions: Arc<Sessions>,
    pub users: Users,
    /// Makes verifiers of users that are not there.
    pub mock_secret: [u8; 32],
    pub procedures: HashMap<String, InRust>,
    pub bodies: Bodies,
    pub limits: Limits,
    pub jobs: Jobs,
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Commits are answered when they are durable, unless a session says otherwise.
    pub durable: bool,
    /// Transactions of the database's scheme wait for each other.
    pub waits: bool,
    /// Those of blocks, where transactions of the scheme do not wait for each other.
    pub claims: Arc<Claims>,
    /// Every statement is answered with a constant.
    pub constant: bool,
    /// Connections go to another thread whenever something has come.
    pub restless: bool,
    draining: AtomicBool,
    /// Some names are about to mean other tables: no statement begins.
    tables_closed: AtomicBool,
}

/// No session begins a statement or commits, until it is dropped.
pub(crate) struct TablesClosed(Arc<Shared>);

impl Drop for TablesClosed {
    fn drop(&mut self) {
        self.0.tables_closed.store(false, Ordering::SeqCst);
    }
}

/// The limits of a server.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub sessions_max: usize,
    /// Bytes of a message.
    pub message_bytes_max: usize,
    /// Bytes of a message before the login is done.
    pub login_bytes_max: usize,
    /// Bytes of a statement's result.
    pub result_bytes_max: usize,
    /// Bytes that a session leaves unsent before it runs no more messages.
    pub unsent_bytes_max: usize,
    /// Bytes of messages that are kept to be run again.
    pub kept_bytes_max: usize,
    /// Bytes of results of a pipeline that are kept back to be made again.
    pub repeat_bytes_max: usize,
    /// How long a transaction that is refused is run again.
    pub retry_for: Duration,
    /// How long a login may take.
    pub login_for: Duration,
    /// How long a client may read nothing of what it is sent.
    pub stalled_for: Duration,
    /// How long a change of tables waits for statements that are running.
    pub tables_for: Duration,
    /// How long transactions may go on when the server shuts down.
    pub drain_for: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions_max: 100,
            message_bytes_max: 64 << 20,
            login_bytes_max: 10_000,
            result_bytes_max: 256 << 20,
            unsent_bytes_max: 1 << 20,
            kept_bytes_max: 1 << 20,
            repeat_bytes_max: 256 << 10,
            retry_for: Duration::from_secs(5),
            login_for: Duration::from_secs(60),
            stalled_for: Duration::from_secs(60),
            tables_for: Duration::from_secs(5),
            drain_for: Duration::from_secs(5),
        }
    }
}

/// The parts of a [`Shared`] that its server chooses.
pub(crate) struct Choices {
    pub users: Users,
    pub procedures: HashMap<String, InRust>,
    pub limits: Limits,
    pub tls: Option<Arc<rustls::ServerConfig>>,
    pub constant: bool,
    pub restless: bool,
}

impl Shared {
    pub fn new(catalog: Catalog, choices: Choices, jobs: Jobs) -> Self {
        let options = catalog.database().options();
        let durable = options.durability == chiliad::Durability::Sync;
        let waits = options.scheme != chiliad::Scheme::default();
        let Choices { users, procedures, limits, tls, constant, restless } = choices;
        Self {
            plans: Plans::default(),
            sessions: Arc::default(),
            mock_secret: crate::auth::random(),
            draining: AtomicBool::new(false),
            tables_closed: AtomicBool::new(false),
            catalog,
            users,
            procedures,
            bodies: Bodies::default(),
            limits,
            jobs,
            tls,
            durable,
            waits,
            claims: Arc::default(),
            constant,
            restless,
        }
    }

    /// The server is going down: sessions end when they are idle.
    pub fn drain(&self) {
        // Relaxed, here and below: loops are woken, and look again.
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Keeps sessions from beginning a statement or a commit, and waits for the end of those that run. One thread at a
    /// time does so.
    ///
    /// # Errors
    /// 55P03 where they do not end.
    pub fn close_tables(self: &Arc<Self>) -> Result<TablesClosed, SqlError> {
        // SeqCst: a session says that it uses tables and then looks at this; here it is the other way round. So at least
        // one of the two sees the other.
        self.tables_closed.store(true, Ordering::SeqCst);
        let closed = TablesClosed(Arc::clone(self));
        let until = Instant::now() + self.limits.tables_for;
        while self.sessions.use_tables() {
            if Instant::now() > until {
                let message = "statements that are running keep the tables from being changed";
                return Err(SqlError::new("55P03", message));
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        Ok(closed)
    }

    /// Whether sessions are kept from their tables.
    pub fn are_tables_closed(&self) -> bool {
        self.tables_closed.load(Ordering::SeqCst)
    }

    /// Whether it is.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}
