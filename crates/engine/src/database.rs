//! A database: tables, epochs and the memory they live in, under one scheme.

use crate::contract::{LockTable, Scheme};
use crate::durable::CatalogBlob;
use crate::options::Options;
use crate::shared::Inner;
use crate::tables::catalog::Catalog;
use crate::tables::dropped::portion;
use crate::worker::Worker;
use chiliad_api::{Error, Result, Session, Stats, TableId, TableLayout, TableSpec};
use chiliad_machine::Machine;
use std::sync::Arc;

/// A handle to a database; clones lead to the same one.
pub struct Database<M: Machine, S: Scheme<M>> {
    pub(crate) inner: Arc<Inner<M, S>>,
}

impl<M: Machine, S: Scheme<M>> Clone for Database<M, S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<M: Machine, S: Scheme<M>> Database<M, S> {
    /// Opens an empty database in memory.
    ///
    /// Its epochs advance when somebody calls [`Database::tick`], every `options.epoch`.
    ///
    /// # Errors
    /// [`Error::InvalidOption`]; [`Error::OutOfMemory`] when `memory_bytes_ready` is too much.
    pub fn open(options: Options) -> Result<Self> {
        options.validate::<M>()?;
        let heap = options.heap::<M>(S::NEEDS.record_words, S::NEEDS.copies_rows)?;
        Ok(Self::from_inner(Inner::assemble(
            options,
            heap,
            Catalog::new(Vec::new(), &CatalogBlob::default()),
            None,
        )))
    }

    /// A handle.
    pub(crate) fn from_inner(inner: Arc<Inner<M, S>>) -> Self {
        Self { inner }
    }

    /// How it was opened.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// Creates a table.
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::InvalidOption`] for a declaration that makes no sense,
    /// [`Error::OutOfMemory`]; [`Error::LogFailed`], [`Error::OpenedReadOnly`].
    pub fn create_table(&self, spec: TableSpec) -> Result<TableId> {
        self.inner.base().create_table(spec)
    }

    /// Gives a table another layout, as [`TableSpec::change_layout`] allows.
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; those of [`TableSpec::change_layout`]; [`Error::LogFailed`],
    /// [`Error::OpenedReadOnly`].
    pub fn change_layout(&self, table: TableId, layout: TableLayout) -> Result<()> {
        self.inner.base().change_layout(table, layout)
    }

    /// Ends the loading of a table that is declared read-only: from now on nothing changes in it, and
    /// transactions read it without their scheme. Waits for the loads in progress; on a disk, until
    /// what was loaded is durable. A table that is sealed stays as it is.
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; [`Error::InvalidOption`] for a table not declared read-only;
    /// [`Error::LogFailed`], [`Error::OpenedReadOnly`].
    pub fn seal(&self, name: &str) -> Result<()> {
        self.inner.base().seal(name)
    }

    /// The tables that were created and not dropped, with their numbers.
    #[must_use]
    pub fn tables(&self) -> Vec<(TableId, TableSpec)> {
        self.inner.base().tables()
    }

    /// Drops a table and its secondary indexes. Transactions that have begun may finish with it.
    ///
    /// Its memory serves other tables from then on, for rows, keys and nodes of the same sizes; a
    /// hash table's buckets return to the machine. This takes time in proportion to the table: the
    /// call does it, for this table and others dropped before, unless a transaction that began
    /// before the drop still runs. In that case [`Database::tick`] does it later, bit by bit.
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; [`Error::LogFailed`], [`Error::OpenedReadOnly`].
    pub fn drop_table(&self, name: &str) -> Result<()> {
        self.inner.base().drop_table(name)
    }

    /// The number of the table of this name.
    ///
    /// # Errors
    /// [`Error::UnknownTable`].
    pub fn table(&self, name: &str) -> Result<TableId> {
        self.inner.words.catalog.find(name)
    }

    /// A worker: runs one transaction at a time.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`].
    pub fn worker(&self) -> Result<Worker<M, S>> {
        Worker::new(Arc::clone(&self.inner))
    }

    /// Advances the commit epoch: called every `options.epoch` by a ticker that the owner of the machine runs. Gives
    /// back a portion of the memory of dropped tables, if there are any, and maintains
    /// the scheme's lock table.
    pub fn tick(&self) {
        let Inner { heap, words, .. } = &*self.inner;
        self.inner.base().end_epoch();
        words.catalog.dropped_tables.take_apart(heap, S::NEEDS.versions_expire, portion::<M>());
        S::LockTable::background_tick(&words.scheme);
    }

    /// Collects the garbage of workers that have gone: the owner of the machine calls it now and then, and when
    /// memory is short. Returns the bytes that others have gained.
    pub fn tidy(&self) -> u64 {
        if self.inner.words.orphans.lock().is_empty() {
            return 0;
        }
        let Ok(mut worker) = self.worker() else { return 0 };
        worker.maintain();
        worker.rest(0).1
    }

    /// The newest epoch of which every transaction is durable: as many as there are where nothing is.
    #[must_use]
    #[inline]
    pub fn durable_epoch(&self) -> u64 {
        self.inner.words.durable.as_ref().map_or(u64::MAX, |durable| durable.log.durable())
    }

    /// Asks that an epoch end soon, for a caller that waits until it is durable. [`LogRunner::run`] does it.
    ///
    /// [`LogRunner::run`]: crate::LogRunner::run
    pub fn hurry(&self, epoch: u64) {
        if let Some(durable) = &self.inner.words.durable {
            durable.log.hurry(epoch);
        }
    }

    /// A transaction is open whose owner comes back to it, until [`Database::transaction_closed`]: it may soon call
    /// [`Database::hurry`].
    pub fn transaction_opened(&self) {
        if let Some(durable) = &self.inner.words.durable {
            durable.log.transaction_opened();
        }
    }

    /// Such a transaction is over.
    pub fn transaction_closed(&self) {
        if let Some(durable) = &self.inner.words.durable {
            durable.log.transaction_closed();
        }
    }

    /// The commit epoch now.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.inner.words.epochs.current()
    }

    /// Why the database only reads since its log has failed; `None` if it has not.
    #[must_use]
    pub fn log_failure(&self) -> Option<Error> {
        self.inner.words.durable.as_ref().and_then(|durable| durable.check().err())
    }

    /// Bytes of log written since the database was opened.
    #[must_use]
    pub fn log_bytes(&self) -> u64 {
        self.inner.words.durable.as_ref().map_or(0, |durable| durable.log.written_bytes())
    }

    /// Advances epochs until a snapshot begun from now on sees everything committed before the
    /// call; for the time between loading tables and using them.
    pub fn reach_snapshot(&self) {
        for _ in 0..=self.inner.options.snapshot_every {
            self.tick();
        }
    }

    /// Obtains memory and touches it, until [`Options::memory_bytes_ready`] lie ready, as when the database was opened.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn prepare_memory(&self) -> Result<()> {
        self.inner.options.prepare_heap(&self.inner.heap)
    }

    /// Keeps versions for snapshots from the next boundary on, so that the first snapshot need not
    /// ask for them and wait.
    pub fn keep_versions(&self) {
        self.inner.words.epochs.keep_versions();
    }

    /// Statistics: commits and aborts, memory, and the workers that hold memory or epochs back.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.inner.base().stats()
    }
}
