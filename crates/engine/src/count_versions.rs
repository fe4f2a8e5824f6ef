//! How many older versions the records have: the measure of Tu (2013, 6.7) of whether what snapshots no longer
//! need is collected.

use crate::base::Base;
use crate::contract::{Scheme, Tables as _};
use crate::database::Database;
use crate::tables::catalog::View;
use crate::tables::dropped::unpin_catalog_version;
use chiliad_api::{Error, Result};
use chiliad_machine::{Machine, Ordering};
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
                view.with_index(*number, &mut |index, _| {
                    heap.pin();
                    more = walk.next(&heap, index, &mut run);
                    for (_, record) in run.iter() {
                        let older = older_versions(record);
                        if counts.len() <= older {
                            counts.resize(older + 1, 0);
                        }
                        counts[older] += 1;
                    }
                    heap.unpin();
                });
                unpin_catalog_version(heap.slot());
            }
        }
        Ok(counts)
    }
}

/// The length of the record's chain of older versions. Pinned.
fn older_versions<M: Machine>(record: RecordRef<M>) -> usize {
    // Acquire pairs with the release of the writer that linked the version.
    let older = |block: &RecordRef<M>| block.next(Ordering::Acquire);
    core::iter::successors(older(&record.value()), older).count()
}
