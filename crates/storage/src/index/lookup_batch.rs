//! Look-ups in flight together: each takes a step in turn, so that the cache miss of one is on its
//! way while the others take theirs.

use super::{Found, Index, Probe};
use crate::{LocalHeap, RecordRef};
use chiliad_machine::{Cost, Machine};

/// A group of look-ups, in one index or in many. Reused, so that steady state does not allocate.
pub struct LookupBatch<M: Machine> {
    /// Look-ups, with their numbers.
    probes: Vec<(u32, Probe<M>)>,
    /// By number.
    ends: Vec<End<M>>,
}

/// How far a look-up has come.
#[derive(Clone, Copy)]
enum End<M: Machine> {
    /// It is on its way.
    Pending,
    /// It is for the same key in the same index as the one before.
    AsBefore,
    Found(Found<M>),
}

impl<M: Machine> Default for LookupBatch<M> {
    fn default() -> Self {
        Self { probes: Vec::new(), ends: Vec::new() }
    }
}

impl<M: Machine> LookupBatch<M> {
    /// Forgets all look-ups.
    pub fn clear(&mut self) {
        self.probes.clear();
        self.ends.clear();
    }

    /// Begins a look-up and asks for the first line it needs. The caller is pinned from here on, for
    /// as long as it uses what is found.
    #[inline(always)]
    pub fn begin(&mut self, index: &Index<M>, key: &[u8]) {
        debug_assert!(self.probes.len() <= self.ends.len(), "an end for each");
        self.probes.push((self.ends.len() as u32, index.probe(key)));
        self.ends.push(End::Pending);
    }

    /// Adds a look-up that is for the same key in the same index as the last one: it costs nothing.
    ///
    /// # Panics
    /// When there is none before.
    #[inline]
    pub fn begin_as_before(&mut self) {
        assert!(!self.ends.is_empty(), "a look-up before");
        self.ends.push(End::AsBefore);
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
        let Self { probes, ends } = self;
        let mut pending = probes.len();
        while pending > 0 {
            let mut kept = 0;
            for place in 0..pending {
                let (at, probe) = &mut probes[place];
                let at = *at as usize;
                let (index, key) = request(at);
                M::work(Cost::GroupStep, 1);
                let Some(it) = index.step(heap, probe, key) else {
                    // Those on their way stay in front, in their order.
                    if kept < place {
                        probes.swap(kept, place);
                    }
                    kept += 1;
                    continue;
                };
                if let Found::Record(record) = it {
                    arrived(at, record);
                }
                ends[at] = End::Found(it);
            }
            pending = kept;
        }
        debug_assert!(!self.ends.iter().any(|end| matches!(end, End::Pending)), "all have landed");
    }

    /// The result of the look-up of this number.
    ///
    /// # Panics
    /// When it has not ended.
    #[must_use]
    #[inline]
    pub fn found(&self, at: usize) -> Found<M> {
        match self.ends[at] {
            End::Found(found) => found,
            End::AsBefore => self.found(at - 1),
            End::Pending => panic!("it has not landed"),
        }
    }
}
