//! State shared by all handles and workers of a database.

use crate::base::Base;
use crate::contract::Scheme;
use crate::durable::{Durable, Turn};
use crate::epoch::Epochs;
use crate::garbage::GarbageQueue;
use crate::options::Options;
use crate::recent::Recent;
use crate::tables::catalog::Catalog;
use chiliad_api::{Error, Tally};
use chiliad_machine::{Latch, Machine, Shared, Word};
use chiliad_storage::Heap;
use std::sync::Arc;

/// Serial numbers of workers set aside for each incarnation, in verified runs.
const WORKERS_PER_INCARNATION: u64 = 1 << 12;

/// State shared by all handles and workers.
pub struct Inner<M: Machine, S: Scheme<M>> {
    pub options: Options,
    pub heap: Arc<Shared<M, Heap<M>>>,
    /// Rows that were overwritten a moment ago.
    pub recent: Recent<M>,
    pub words: Shared<M, Words<M, S>>,
}

/// The part in the machine's memory.
pub struct Words<M: Machine, S: Scheme<M>> {
    pub epochs: Epochs<M>,
    pub catalog: Catalog<M>,
    pub scheme: S::Shared,
    /// Held while a table is created or dropped.
    pub declaring: Turn<M>,
    /// The log and files of the database, if it is on a disk.
    pub durable: Option<Durable<M>>,
    /// Workers ever made: their serial numbers name them in stamps, since slots are used again.
    pub workers: M::Word,
    /// Garbage of workers that have gone.
    pub orphans: Latch<M, GarbageQueue<M>>,
    /// The tallies of workers that have gone.
    pub retired: Latch<M, Tally>,
}

impl<M: Machine, S: Scheme<M>> Inner<M, S> {
    /// Assembles the shared state of a database.
    pub fn assemble(
        options: Options,
        heap: Arc<Shared<M, Heap<M>>>,
        catalog: Catalog<M>,
        durable: Option<Durable<M>>,
    ) -> Arc<Self> {
        // Stamps must not repeat from one incarnation to the next.
        let incarnation =
            durable.as_ref().map_or(0, |durable| u64::from(durable.log.incarnation()));
        let words = Words {
            epochs: Epochs::new(options.snapshots, options.snapshot_every),
            catalog,
            scheme: S::shared(&options),
            declaring: Turn::new(),
            durable,
            workers: M::Word::new(incarnation * WORKERS_PER_INCARNATION),
            orphans: Latch::new(GarbageQueue::new()),
            retired: Latch::new(Tally::default()),
        };
        Arc::new(Self {
            options,
            heap,
            recent: Recent::new(S::NEEDS.knows_columns),
            words: Shared::new(words),
        })
    }

    /// The database without its scheme.
    pub fn base(&self) -> Base<'_, M> {
        let Words { epochs, catalog, declaring, durable, retired, .. } = &*self.words;
        let (options, heap, durable) = (&self.options, &self.heap, durable.as_ref());
        let versions_expire = S::NEEDS.versions_expire;
        Base { options, heap, epochs, catalog, declaring, durable, retired, versions_expire }
    }

    /// The typed error for a memory limit that is reached.
    pub fn out_of_memory(&self) -> Error {
        Error::OutOfMemory { limit_bytes: self.options.memory_bytes_max }
    }
}
