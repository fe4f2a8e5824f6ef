//! A database in a directory: opened, checkpointed, copied, closed.

use crate::acks::Acks;
use crate::background::BackgroundThreads;
use crate::copy_destination::{CopyDestination, refuse_foreign};
use crate::engine;
use crate::persistent::Persistent;
use crate::place::{disk, make_directory};
use crate::threads::{Show, Threads};
use crate::until::Until;
use crate::watch::{event, span};
use crate::{
    Checkpointed, Database, Durability, Error, Options, Phase, Recovered, Result, RunOptions,
};
use chiliad_engine::{Copied, Mode};
use chiliad_machine::disk::Lock;
use std::path::Path;
use std::sync::Arc;

/// How the storage of a database is. Of a joined database the epoch is the number of the last transaction that this
/// server has rolled forward, and the bytes of log are those that it has read.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Storage {
    /// The commit epoch now.
    pub epoch: u64,
    /// Every transaction of this epoch and before is durable.
    pub durable_epoch: u64,
    /// Bytes of log written since the database was opened.
    pub log_bytes: u64,
    /// Why nothing more becomes durable; `None`: all is well.
    pub failure: Option<Error>,
    /// The error of the last automatic checkpoint.
    pub checkpoint_failure: Option<Error>,
}

impl Database {
    /// Opens the database in a directory, with default options; makes one if the directory is empty or
    /// missing. A transaction whose call has returned survives the process and the power.
    ///
    /// ```
    /// use chiliad::{Database, Table};
    /// # let path = std::env::temp_dir().join(format!("chiliad-doc-open-{}", std::process::id()));
    /// # let _ = std::fs::remove_dir_all(&path);
    ///
    /// let db = Database::open(&path)?;
    /// let names: Table<u64, String> = db.create_table("names")?;
    /// db.run(|tx| tx.insert(&names, &1, &"ann".into()))?; // durable
    /// drop(db);
    ///
    /// let db = Database::open(&path)?;
    /// let names: Table<u64, String> = db.table("names")?;
    /// assert_eq!(db.run(|tx| tx.get(&names, &1))?.as_deref(), Some("ann"));
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).unwrap();
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Database::open_with`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, Options::default())
    }

    /// Opens the database in a directory. One process at a time may use it; any scheme may, whatever
    /// scheme wrote it.
    ///
    /// Everything that was durable is there. Tables keep their names and numbers: take them up by
    /// [`Database::table`].
    ///
    /// # Errors
    /// [`Error::Data`] when the directory cannot be used: it is locked, not ours, of a newer format,
    /// damaged (see [`crate::directory::salvage`]), or the system refuses something. Nothing has been changed
    /// then. [`Error::InvalidOption`]; [`Error::OutOfMemory`].
    pub fn open_with(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        Self::open_watched(path, options, &|_, _, _| {})
    }

    /// As [`Database::open_with`]; `show` is told how far the recovery is: a phase, units done, all
    /// units.
    ///
    /// # Errors
    /// As for [`Database::open_with`].
    pub fn open_watched(
        path: impl AsRef<Path>,
        options: Options,
        show: &(dyn Fn(Phase, u64, u64) + Sync),
    ) -> Result<Self> {
        options.check()?;
        if options.durability == Durability::None {
            let message = "durability None in a directory: Epoch and Sync are accepted";
            return Err(Error::InvalidOption(message.into()));
        }
        span!("chiliad.open", path = %path.as_ref().display());
        let (lock, mode) = match options.read_only {
            true => (Lock::Shared, Mode::Read),
            false => (Lock::Exclusive, Mode::Write),
        };
        let mut made = None;
        if mode == Mode::Write {
            refuse_foreign(path.as_ref())?;
            made = make_directory(path.as_ref())?;
        }
        let disk = Arc::new(disk(path.as_ref(), lock)?);
        let readers = threads(&options, Threads::two_per_core());
        let host = Threads::showing(readers, show as Show<'_>);
        let opened = {
            span!("chiliad.recovery");
            engine::open_on(disk.clone(), mode, &options, &host)
        };
        let (engine, runners, recovered) = opened.inspect_err(|_| disk.leave_nothing())?;
        if let Some(made) = made {
            made.keep();
        }
        event!(INFO, rows = recovered.rows, transactions = recovered.transactions, "recovered");
        let mut persistent = Persistent::new(recovered, disk);
        if mode == Mode::Write {
            let acks = Arc::new(Acks::new(engine.clone()));
            persistent.background =
                Some(BackgroundThreads::start(&engine, runners, &acks, walkers(&options))?);
            persistent.acks = Some(acks);
        }
        Self::assemble(options, engine, Some(persistent), None)
    }

    /// The results of recovery when the database was opened; `None` in memory.
    #[must_use]
    pub fn recovered(&self) -> Option<&Recovered> {
        self.shared.persistent.as_ref().map(|persistent| &persistent.recovered)
    }

    /// How the storage is; `None` in memory. Of a joined database, everything that it has committed is durable as its log
    /// is; [`Storage::failure`] says why it rolls the log forward no more.
    #[must_use]
    pub fn storage(&self) -> Option<Storage> {
        let engine = &self.shared.engine;
        let (durable_epoch, checkpoint_failure) =
            match (&self.shared.persistent, &self.shared.joined) {
                (Some(persistent), _) => {
                    let background = persistent.background.as_ref();
                    let failure = background.and_then(BackgroundThreads::checkpoint_failure);
                    (engine.durable_epoch(), failure)
                }
                (None, Some(joined)) => (engine.epoch(), joined.checkpoint_failure()),
                (None, None) => return None,
            };
        Some(Storage {
            epoch: engine.epoch(),
            durable_epoch,
            log_bytes: engine.log_bytes(),
            failure: engine.log_failure(),
            checkpoint_failure,
        })
    }

    /// Returns when everything that was committed before the call is durable; at once in memory.
    ///
    /// # Errors
    /// [`Error::LogFailed`].
    pub fn sync(&self) -> Result<()> {
        self.sync_until(&Until::default())
    }

    /// Waits no longer than until the [`deadline`](RunOptions::deadline), counted from this call, or until
    /// [`cancel`](RunOptions::cancel) is told; nothing else of the options counts.
    ///
    /// # Errors
    /// [`Error::NotYetDurable`] then: everything becomes durable in its turn. [`Error::LogFailed`].
    pub fn sync_with(&self, options: &RunOptions) -> Result<()> {
        self.sync_until(&Until::now(options))
    }

    fn sync_until(&self, limit: &Until) -> Result<()> {
        match &self.shared.rules.acks {
            Some(acks) => acks.sync(limit),
            None => Ok(()),
        }
    }

    /// Writes a checkpoint, while transactions go on, and removes the logs that it replaces: the next
    /// opening is fast. A joined database trims the log that servers share. Checkpoints are made by themselves too: [`Options::checkpoint_log_bytes`].
    ///
    /// # Errors
    /// [`Error::Data`] when it could not be written: the one before still counts. [`Error::LogFailed`];
    /// [`Error::InvalidOption`] in memory, and without [`Options::checkpoints`]; [`Error::Canceled`].
    pub fn checkpoint(&self) -> Result<Checkpointed> {
        span!("chiliad.checkpoint");
        self.shared.engine.checkpoint(&Threads::new(walkers(&self.shared.options)))
    }

    /// Copies the database to a directory that is empty or missing, while transactions go on. The copy
    /// has everything that was committed before the call, is itself a directory to be opened, and is
    /// durable.
    ///
    /// # Errors
    /// [`Error::Data`], [`Error::LogFailed`]; [`Error::InvalidOption`] in memory.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<Copied> {
        let destination = CopyDestination::new(to.as_ref())?;
        if let Some(acks) = &self.shared.rules.acks {
            // Sooner than the epoch ends by itself; the backup waits for as much.
            acks.sync(&Until::default())?;
        }
        let copied = self.shared.engine.backup(destination.disk())?;
        destination.keep();
        Ok(copied)
    }
}

fn threads(options: &Options, usual: usize) -> usize {
    if options.recovery_threads == 0 { usual } else { options.recovery_threads }
}

/// Threads of a checkpoint.
fn walkers(options: &Options) -> usize {
    threads(options, Threads::one_per_core())
}
