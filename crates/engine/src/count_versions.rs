//! How many older versions the records have: the measure of Tu (2013, 6.7) of whether what snapshots no longer
//! need is collected.

use crate::base::Base;
use crate::contract::Scheme;
use crate::database::Database;
use crate::record_word;
use crate::tables::catalog::View;
use crate::tables::dropped::unpin_catalog_version;
use chiliad_api::{Error, Result, TableId};
use chiliad_machine::{Machine, Ordering, Word};
use chiliad_storage::{LeafRun, LocalHeap, RecordRef};

impl<M: Machine, S: Scheme<M>> Database<M, S> {
    /// Counts the records of all tables by their number of older versions: at index `n` stands how many
    /// records have `n`. A record that was deleted counts as long as its index holds it.
    ///
    /// Transactions may run meanwhile; the counts are then of different moments.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`].
    pub fn count_versions(&self) -> Result<Vec<u64>> {
        self.inner.base().count_versions()
    }
}

impl<M: Machine> Base<'_, M> {
    /// The word below which a version is old enough for all snapshots: what it has replaced may have expired. Asked
    /// while pinned.
    pub(crate) fn expired_below(&self) -> u64 {
        match self.versions_expire {
            true => record_word::first_of(self.epochs.oldest()),
            false => 0,
        }
    }

    fn count_versions(&self) -> Result<Vec<u64>> {
        let heap = LocalHeap::new(self.heap).ok_or(Error::NO_SLOT)?;
        let mut view = View::new();
        let mut run = LeafRun::default();
        let mut counts = vec![0];
        for (number, walk) in &self.catalog.walks() {
            let mut more = true;
            while more {
                more = false;
                view.show(self.catalog, heap.slot());
                if let Ok(table) = view.get(TableId(*number)) {
                    heap.pin();
                    let expired = self.expired_below();
                    more = walk.next(&heap, &table.index, &mut run);
                    for (_, record) in run.iter() {
                        let older = old_versions(table.of_row(record), expired).count();
                        if counts.len() <= older {
                            counts.resize(older + 1, 0);
                        }
                        counts[older] += 1;
                    }
                    heap.unpin();
                }
                unpin_catalog_version(heap.slot());
            }
        }
        Ok(counts)
    }
}

/// The older versions of a record, from new to old, but for those that have expired: those below one whose word is less
/// than `expired_below`. Pinned since before that was asked for.
pub(crate) fn old_versions<M: Machine>(
    record: RecordRef<M>,
    expired_below: u64,
) -> impl Iterator<Item = RecordRef<M>> {
    let older = move |block: RecordRef<M>, word: u64| {
        // Acquire pairs with the release of the writer that linked the version.
        let next = block.next(Ordering::Acquire).filter(|_| word >= expired_below);
        next.map(|block| (block, block.word().load(Ordering::Relaxed)))
    };
    // Acquire pairs with the release that has published the word: the link is no older.
    let first = older(record.value(), record.word().load(Ordering::Acquire));
    core::iter::successors(first, move |&(block, word)| older(block, word)).map(|(block, _)| block)
}
