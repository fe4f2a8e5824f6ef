//! A database: tables, epochs and the memory they live in, under one scheme.

use crate::catalog::Catalog;
use crate::epoch::Epochs;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::scheme::ruins::portion;
use crate::scheme::{Garbage, Scheme};
use crate::stats::{Hold, Stats, Tally};
use crate::table::{TableId, TableSpec};
use crate::worker::Worker;
use chiliad_machine::{Latch, Machine, Ordering, Shared, Word};
use chiliad_storage::Heap;
use std::sync::Arc;

/// A handle to a database; clones lead to the same one.
pub struct Database<M: Machine, S: Scheme<M>> {
    inner: Arc<Inner<M, S>>,
}

impl<M: Machine, S: Scheme<M>> Clone for Database<M, S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

/// What all handles and workers share.
pub struct Inner<M: Machine, S: Scheme<M>> {
    pub options: Options,
    pub heap: Arc<Shared<M, Heap<M>>>,
    pub words: Shared<M, Words<M, S>>,
}

/// The part that lives in the machine's memory.
pub struct Words<M: Machine, S: Scheme<M>> {
    pub epochs: Epochs<M>,
    pub catalog: Catalog<M>,
    pub scheme: S::Shared,
    /// Workers ever made: their serial numbers name them in stamps, since slots are used again.
    pub workers: M::Word,
    /// What workers that have gone have left to collect.
    pub orphans: Latch<M, Vec<Garbage<M>>>,
    /// The tallies of workers that have gone.
    pub retired: Latch<M, Tally>,
}

impl<M: Machine, S: Scheme<M>> Database<M, S> {
    /// Opens an empty database in memory.
    ///
    /// Its epochs advance when somebody calls [`Database::tick`], every `options.epoch`.
    ///
    /// # Errors
    /// [`Error::InvalidOption`]; [`Error::OutOfMemory`] when `memory_bytes_ready` is too much.
    pub fn open(options: Options) -> Result<Self> {
        options.validate()?;
        let heap = Heap::new(options.memory_bytes_max);
        heap.prepare(options.memory_bytes_ready)
            .map_err(|_| Error::OutOfMemory { limit_bytes: options.memory_bytes_max })?;
        let words = Words {
            epochs: Epochs::new(options.snapshots, options.snapshot_every),
            catalog: Catalog::new(),
            scheme: S::shared(&options),
            workers: M::Word::new(0),
            orphans: Latch::new(Vec::new()),
            retired: Latch::new(Tally::default()),
        };
        Ok(Self { inner: Arc::new(Inner { options, heap, words: Shared::new(words) }) })
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
    /// [`Error::OutOfMemory`].
    pub fn create_table(&self, spec: TableSpec) -> Result<TableId> {
        self.inner.words.catalog.create(&self.inner.heap, spec, self.inner.options.verify)
    }

    /// Drops a table and its secondary indexes. Transactions that have begun may finish with it.
    ///
    /// Its memory serves other tables from then on, for rows, keys and nodes of the same sizes; a
    /// hash table's buckets return to the machine. This takes time in proportion to the table: the
    /// call does it, for this table and others dropped before, unless a transaction that began
    /// before the drop still runs. In that case [`Database::tick`] does it later, bit by bit.
    ///
    /// # Errors
    /// [`Error::UnknownTable`].
    pub fn drop_table(&self, name: &str) -> Result<()> {
        let Inner { heap, words, .. } = &*self.inner;
        words.catalog.drop_table(name)?;
        words.catalog.ruins.take_apart::<S>(heap, usize::MAX);
        Ok(())
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

    /// Advances the commit epoch: called every `options.epoch` by a ticker that whoever owns the
    /// machine runs. Gives back a portion of the memory of dropped tables, if there are any.
    pub fn tick(&self) {
        let Inner { heap, words, .. } = &*self.inner;
        words.epochs.tick(&heap.slots);
        words.catalog.ruins.take_apart::<S>(heap, portion::<M>());
    }

    /// Advances epochs until a snapshot begun from now on sees everything committed before the
    /// call; for the time between loading tables and using them.
    pub fn settle(&self) {
        for _ in 0..=self.inner.options.snapshot_every {
            self.tick();
        }
    }

    /// Keeps versions for snapshots from the next boundary on, so that the first snapshot need not
    /// ask for them and wait.
    pub fn keep_versions(&self) {
        self.inner.words.epochs.keep_versions();
    }

    /// What the database has done, what it holds and who holds it back.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let words = &self.inner.words;
        let (epoch, boundary, oldest) = words.epochs.overview();
        let tally = words.retired.lock().clone();
        let mut stats = Stats::new(tally, |table| words.catalog.name(table));
        stats.memory = self.inner.heap.usage();
        stats.epoch = epoch;
        stats.snapshot_boundary = boundary;
        stats.snapshot_oldest = oldest;
        stats.reclaim_lag = self.inner.heap.reclaim_lag();
        let ruins = &words.catalog.ruins;
        stats.tables_dropped = ruins.count();
        stats.holds = self
            .inner
            .heap
            .slots
            .iter()
            .filter_map(|(slot, words)| {
                let hold = Hold {
                    worker: slot,
                    pinned: words.pin.load(Ordering::Relaxed) != 0,
                    window: words.window.load(Ordering::Relaxed),
                    lease: words.lease.load(Ordering::Relaxed),
                    dropped: ruins.wait_for(words.view.load(Ordering::Relaxed)),
                };
                let holds = hold.pinned || hold.window != 0 || hold.lease != 0 || hold.dropped;
                holds.then_some(hold)
            })
            .collect();
        stats
    }
}

impl<M: Machine, S: Scheme<M>> Inner<M, S> {
    /// The typed error for a memory limit that is reached.
    pub fn out_of_memory(&self) -> Error {
        Error::OutOfMemory { limit_bytes: self.options.memory_bytes_max }
    }
}
