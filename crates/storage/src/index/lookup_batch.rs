//! Look-ups in flight together: each takes a step in turn, so that the cache miss of one is on its
//! way while the others take theirs.

use super::{Found, Index, Probe};
use crate::{LocalHeap, RecordRef};
use chiliad_machine::{Cost, Machine};

/// A group of look-ups, in one index or in many. Reused, so that steady state does not allocate.
pub struct LookupBatch<M: Machine> {
    probes: Vec<Probe<M>>,
    found: Vec<Option<Found<M>>>,
}

impl<M: Machine> Default for LookupBatch<M> {
    fn default() -> Self {
        Self { probes: Vec::new(), found: Vec::new() }
    }
}

impl<M: Machine> LookupBatch<M> {
    /// Forgets all look-ups.
    pub fn clear(&mut self) {
        self.probes.clear();
        self.found.clear();
    }

    /// Begins a look-up and asks for the first line it needs. The caller is pinned from here on, for
    /// as long as it uses what is found.
    #[inline]
    pub fn begin(&mut self, index: &Index<M>, key: &[u8]) {
        debug_assert!(self.probes.len() == self.found.len(), "an answer for each");
        self.probes.push(index.probe(key));
        self.found.push(None);
    }

    /// Ends all look-ups. `request` is asked for the index and the key that the look-up of this
    /// number began with, and `arrived` is told of each record when it is found.
    #[inline]
    pub fn finish<'a>(
        &mut self,
        heap: &LocalHeap<M>,
        request: impl Fn(usize) -> (&'a Index<M>, &'a [u8]),
        mut arrived: impl FnMut(usize, RecordRef<M>),
    ) where
        M: 'a,
    {
        let mut pending = self.probes.len();
        while pending > 0 {
            let ways = self.probes.iter_mut().zip(&mut self.found).enumerate();
            for (at, (probe, found)) in ways.filter(|(_, (_, found))| found.is_none()) {
                let (index, key) = request(at);
                // Written only when there is something to write: a store at every step would be
                // read back by the next one before it has left the store buffer.
                M::work(Cost::GroupStep, 1);
                let Some(it) = index.step(heap, probe, key) else { continue };
                if let Found::Record(record) = it {
                    arrived(at, record);
                }
                *found = Some(it);
                pending -= 1;
            }
        }
        debug_assert!(self.found.iter().all(Option::is_some), "all have landed");
    }

    /// The result of the look-up of this number.
    ///
    /// # Panics
    /// When it has not ended.
    #[must_use]
    #[inline]
    pub fn found(&self, at: usize) -> Found<M> {
        self.found[at].expect("it has landed")
    }
}
