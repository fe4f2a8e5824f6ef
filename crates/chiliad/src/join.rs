//! A database that several servers share: each has all of it, and they agree by one log.

use crate::joined_threads::JoinedThreads;
use crate::{Database, Durability, Error, LogError, Options, Result};
use chiliad_hyder::{Hyder, ServerOptions};
use chiliad_machine::Interleaved;
use chiliad_machine::shared_log::{SharedLog, SharedLogError};
use chiliad_shared_log::{FileLog, FileLogOptions, MemoryLog};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// What comes before the name of a log in memory, and before a directory.
const MEMORY: &str = "memory:";
const FILE: &str = "file:";
const NATS: &str = "nats://";

/// The logs in memory of this process that somebody has open, by name.
type Named = Mutex<HashMap<String, Weak<MemoryLog>>>;

impl Database {
    /// Joins the servers that share a log, with the state that the log makes: all that has committed on any of them is
    /// there, and is seen by all. Transactions run on this server's own copy; one that writes is appended to the log,
    /// and every server comes to the same verdict on it.
    ///
    /// | `log` | is |
    /// | --- | --- |
    /// | `memory:` | a new log in memory, which nobody else joins |
    /// | `memory:NAME` | a log in memory that all who give this name in this process share |
    /// | a directory, or `file:DIRECTORY` | a log in files, which one server at a time uses; made if it is missing |
    /// | `nats://HOST:PORT,HOST:PORT,.../NAME` | a log in NATS JetStream, with the feature `jetstream` |
    ///
    /// A transaction reads the state that this server has published when it begins, which others may be a moment
    /// ahead of: [`RunOptions::linearizable`](crate::RunOptions::linearizable) asks for the newest. When a call has
    /// returned, what it has written is durable as the log is, and seen by this server's next transaction. Of the
    /// options only memory, workers and back-off count.
    ///
    /// ```
    /// use chiliad::{Database, Options, RunOptions, Table};
    ///
    /// let one = Database::join("memory:orders", Options::default())?;
    /// let other = Database::join("memory:orders", Options::default())?;
    /// let orders: Table<u64, String> = one.create_table("orders")?;
    /// one.run(|tx| tx.insert(&orders, &1, &"tea".into()))?;
    ///
    /// let newest = RunOptions::default().linearizable();
    /// let seen = other.run_with(&newest, |tx| {
    ///     let orders: Table<u64, String> = other.table("orders")?;
    ///     tx.get(&orders, &1)
    /// })?;
    /// assert_eq!(seen.as_deref(), Some("tea"));
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for a log that cannot be meant; [`Error::Data`] for one that cannot be used;
    /// [`Error::LogFailed`]; [`Error::OutOfMemory`].
    pub fn join(log: &str, options: Options) -> Result<Self> {
        Self::join_log(open_log(log)?, options)
    }

    /// As [`Database::join`], for a log that the application has opened.
    ///
    /// # Errors
    /// As for [`Database::join`].
    pub fn join_log(log: Arc<dyn SharedLog>, options: Options) -> Result<Self> {
        options.check()?;
        let server = ServerOptions {
            memory_bytes_max: options.memory_bytes_max,
            ..ServerOptions::default()
        };
        let server = Hyder::<Interleaved>::join(log, server)?;
        let threads = JoinedThreads::start(&server)?;
        // What the log has told is durable.
        let options = Options { durability: Durability::None, ..options };
        Self::assemble(options, Arc::new(server), None, Some(threads))
    }
}

/// Opens the log that a text names, as [`Database::join`] does.
///
/// # Errors
/// As for [`Database::join`].
pub fn open_log(text: &str) -> Result<Arc<dyn SharedLog>> {
    if let Some(name) = text.strip_prefix(MEMORY) {
        return Ok(in_memory(name));
    }
    if text.starts_with(NATS) {
        return jetstream(text);
    }
    let directory = text.strip_prefix(FILE).unwrap_or(text);
    if directory.is_empty() || directory.contains("://") {
        let message = format!(
            "shared log {text:?}: accepted are memory:, memory:NAME, a directory, and nats://HOST:PORT,.../NAME"
        );
        return Err(Error::InvalidOption(message));
    }
    let opened =
        FileLog::<Interleaved>::open_directory(Path::new(directory), FileLogOptions::default());
    Ok(Arc::new(opened.map_err(|error| cannot_be_used(directory, &error))?))
}

fn in_memory(name: &str) -> Arc<dyn SharedLog> {
    static LOGS: OnceLock<Named> = OnceLock::new();
    if name.is_empty() {
        return Arc::new(MemoryLog::new());
    }
    let logs = LOGS.get_or_init(Named::default);
    let mut logs = logs.lock().unwrap_or_else(PoisonError::into_inner);
    logs.retain(|_, log| log.strong_count() > 0);
    if let Some(log) = logs.get(name).and_then(Weak::upgrade) {
        return log;
    }
    let log = Arc::new(MemoryLog::new());
    logs.insert(name.into(), Arc::downgrade(&log));
    log
}

#[cfg(feature = "jetstream")]
fn jetstream(url: &str) -> Result<Arc<dyn SharedLog>> {
    use crate::jetstream::{JetStream, OpenError, Options};
    let opened = JetStream::open(url, Options::default());
    let refused = |error: OpenError| match error {
        OpenError::Invalid(what) => Error::InvalidOption(what),
        OpenError::Refused { .. } => Error::InvalidOption(error.to_string()),
        OpenError::Log(error) => cannot_be_used(url, &error),
    };
    Ok(Arc::new(opened.map_err(refused)?))
}

#[cfg(not(feature = "jetstream"))]
fn jetstream(url: &str) -> Result<Arc<dyn SharedLog>> {
    let message =
        format!("shared log {url:?}: built without it; accepted with the feature jetstream");
    Err(Error::InvalidOption(message))
}

fn cannot_be_used(place: &str, error: &SharedLogError) -> Error {
    let (doing, message) = (format!("opening the shared log {place}"), error.to_string());
    Error::Data(LogError::Io { doing, kind: std::io::ErrorKind::Other, message })
}
