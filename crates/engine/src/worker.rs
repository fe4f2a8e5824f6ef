//! A worker: runs one transaction at a time, and owns everything that is reused between them.

use crate::contract::Scheme;
use crate::core::{Core, State};
use crate::shared::Inner;
use crate::tables::catalog::View;
use crate::tables::dropped::unpin_catalog_version;
use chiliad_api::{Error, Intent, Outer, Recorder, Result, Running, TableId};
use chiliad_machine::Machine;
use chiliad_storage::LocalHeap;
use std::sync::Arc;

/// Runs one transaction at a time on a database. Any thread may use it, one at a time.
pub struct Worker<M: Machine, S: Scheme<M>> {
    pub(crate) view: View<M>,
    pub(crate) core: Core<M, S>,
}

/// A transaction in progress on a worker. Rolled back when dropped.
pub type Tx<'w, M, S> = Running<'w, M, Worker<M, S>>;

impl<M: Machine, S: Scheme<M>> Worker<M, S> {
    pub(crate) fn new(inner: Arc<Inner<M, S>>) -> Result<Self> {
        let heap = LocalHeap::new(&inner.heap).ok_or(Error::NO_SLOT)?;
        let core = Core::new(inner, heap);
        Ok(Self { view: View::new(), core })
    }

    /// Begins a transaction. It ends by [`Tx::commit`], [`Tx::rollback`] or by being dropped.
    ///
    /// # Errors
    /// A conflict, for schemes that can refuse this early; [`Error::InvalidOption`] for a partition
    /// that does not exist.
    #[inline]
    pub fn begin(&mut self, intent: &Intent<'_>) -> Result<Tx<'_, M, S>> {
        Tx::begin(self, intent)
    }

    /// Takes note of tables created and dropped, and shows that what is there now is in use.
    #[inline]
    pub(crate) fn catch_up(&mut self) {
        if self.view.show(&self.core.inner.words.catalog, self.core.heap.slot()) {
            self.core.learn(&self.view);
        }
    }

    /// The transaction in progress finds tables that were made since it began.
    pub(crate) fn catch_up_with_new(&mut self) {
        if self.view.show_newer(&self.core.inner.words.catalog) {
            self.core.learn(&self.view);
        }
    }

    pub(crate) fn load_once(
        &mut self,
        outer: &[Outer],
        table: TableId,
        key: &[u8],
        parts: &[&[u8]],
    ) -> Result<()> {
        use chiliad_api::Transaction;
        let mut tx = self.begin(&Intent { loads: true, outer, ..Intent::update() })?;
        let worker = tx.session();
        worker.core.verification.stamp_as_loaded();
        worker.core.attempt.loads = true;
        let gate = worker.view.gate(table);
        if gate.as_ref().is_some_and(|gate| !gate.enter()) {
            return Err(Error::ReadOnlyTable(tx.session().view.get(table)?.name().to_owned()));
        }
        let loaded = match tx.insert_parts(table, key, parts) {
            Ok(()) => tx.commit().map(|_| ()),
            Err(error) => {
                tx.rollback();
                Err(error)
            }
        };
        if let Some(gate) = gate {
            gate.leave();
        }
        loaded
    }

    /// The recorder in use.
    #[must_use]
    pub fn recorder(&self) -> Option<&dyn Recorder> {
        self.core.verification.recorder()
    }

    /// Collects the garbage of this worker and of those that have gone. For a worker that is idle
    /// while others work; transactions do it by themselves.
    pub fn maintain(&mut self) {
        debug_assert!(matches!(self.core.attempt.state, State::Idle), "it is idle");
        if let Some(mut orphans) = self.core.inner.words.orphans.try_lock() {
            self.core.garbage.absorb(&mut orphans);
        }
        self.catch_up();
        self.core.collect(&self.view, usize::MAX);
        unpin_catalog_version(self.core.heap.slot());
    }
}

impl<M: Machine, S: Scheme<M>> Drop for Worker<M, S> {
    fn drop(&mut self) {
        let words = &self.core.inner.words;
        words.orphans.lock().absorb(&mut self.core.garbage);
        debug_assert!(self.core.garbage.is_empty(), "others collect it");
        words.retired.lock().absorb(&mut self.core.tally);
        if let Some(log) = &self.core.log {
            log.close();
        }
    }
}
