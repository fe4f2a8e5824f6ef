//! A database that several servers share: each has all of it, and they agree by one log.

use crate::engine::Engine;
use crate::joined_threads::JoinedThreads;
use crate::logs::{CHECKPOINTS, directory, open_log};
use crate::place::{disk, make_directory, names};
use crate::{Database, Durability, Error, LogError, Options, Result};
use chiliad_hyder::{CHECKPOINT_PREFIX, Hyder, ServerOptions};
use chiliad_machine::Interleaved;
use chiliad_machine::disk::{Disk, LOCK_NAME, Lock};
use chiliad_machine::shared_log::SharedLog;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

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
    /// options only memory, workers, back-off and checkpoints count.
    ///
    /// **Checkpoints.** Where there is a directory for them ([`Options::checkpoints`]), a thread makes one whenever the log
    /// has grown by [`Options::checkpoint_log_bytes`], and trims the log to what begins with the one before. A server
    /// begins with the newest that is sound, and the rest of the log. A trimmed log can be joined with such a checkpoint
    /// alone: let the servers share the directory, or copy it to where a new one starts; one whose own checkpoints are all
    /// older than the trimmed log is refused by [`Error::LogRefused`]. Nobody but such servers may write to the
    /// directory.
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
    /// [`Error::InvalidOption`] for a log that cannot be meant; [`Error::Data`] for one that cannot be used, and for
    /// checkpoints that cannot; [`Error::LogRefused`] for one that does not go on from the newest of them;
    /// [`Error::LogFailed`]; [`Error::OutOfMemory`].
    pub fn join(log: &str, options: Options) -> Result<Self> {
        let opened = open_log(log)?;
        let beside = || directory(log).map(|directory| directory.join(CHECKPOINTS));
        let checkpoints = options.checkpoints.clone().or_else(beside);
        Self::join_log(opened, Options { checkpoints, ..options })
    }

    /// As [`Database::join`], for a log that the application has opened.
    ///
    /// # Errors
    /// As for [`Database::join`].
    pub fn join_log(log: Arc<dyn SharedLog>, options: Options) -> Result<Self> {
        options.check()?;
        let server = ServerOptions {
            memory_bytes_max: options.memory_bytes_max,
            checkpoint_log_bytes: options.checkpoint_log_bytes,
            ..ServerOptions::default()
        };
        let mut made = None;
        let mut checkpoints: Option<Arc<dyn Disk>> = None;
        if let Some(path) = &options.checkpoints {
            refuse_others(path)?;
            made = make_directory(path)?;
            // Servers that share it leave each other's files alone: nobody is locked out.
            checkpoints = Some(Arc::new(disk(path, Lock::Shared)?));
        }
        let makes_checkpoints = checkpoints.is_some();
        let server = Hyder::<Interleaved>::join_with(log, checkpoints, server)?;
        let engine: Engine = Arc::new(server.clone());
        let threads = JoinedThreads::start(&server, &engine, makes_checkpoints)?;
        if let Some(made) = made {
            made.keep();
        }
        // What the log has told is durable.
        let options = Options { durability: Durability::None, ..options };
        Self::assemble(options, engine, None, Some(threads))
    }
}

/// Refuses a directory with anything but checkpoints in it.
fn refuse_others(path: &Path) -> Result<()> {
    let is_ours = |name: &OsString| {
        name == LOCK_NAME || name.to_str().is_some_and(|name| name.starts_with(CHECKPOINT_PREFIX))
    };
    match names(path)?.iter().flatten().all(is_ours) {
        true => Ok(()),
        false => Err(Error::Data(LogError::NotOurs { place: path.display().to_string() })),
    }
}
