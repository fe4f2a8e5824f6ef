//! Look-ups in flight together: each takes a step in turn, so that the cache miss of one is on its
//! way while the others take theirs.

use super::hash::{BucketProbe, Entered};
use super::{Found, Index, Probe};
use crate::{LocalHeap, RecordRef};
use chiliad_machine::{Cost, Machine};

/// Look-ups in hash indexes that look into their buckets between two steps of the others: what those have asked for arrives
/// meanwhile.
const ENTERED_AT_ONCE: usize = 6;

/// A group of look-ups, in one index or in many. Reused, so that steady state does not allocate.
pub struct LookupBatch<M: Machine> {
    /// Look-ups in hash indexes that have not gone beyond their bucket, with their numbers: most end there, so they are
    /// kept apart from the others and short.
    entering: Vec<(u32, BucketProbe<M>)>,
    /// All other look-ups on their way, with their numbers.
    probes: Vec<(u32, Probe<M>)>,
    /// Those that only go ahead, with their numbers.
    ahead: Vec<(u32, Probe<M>)>,
    /// By number; `None` for one that is on its way or goes ahead, or is for the same key in the same index as the one before.
    ends: Vec<Option<Found<M>>>,
}

impl<M: Machine> Default for LookupBatch<M> {
    fn default() -> Self {
        Self { entering: Vec::new(), probes: Vec::new(), ahead: Vec::new(), ends: Vec::new() }
    }
}

impl<M: Machine> LookupBatch<M> {
    /// Forgets all look-ups.
    pub fn clear(&mut self) {
        self.entering.clear();
        self.probes.clear();
        self.ahead.clear();
        self.ends.clear();
    }

    /// Begins a look-up and asks for the first line it needs. The caller is pinned from here on, for
    /// as long as it uses what is found.
    #[inline(always)]
    pub fn begin(&mut self, index: &Index<M>, key: &[u8]) {
        let number = self.ends.len() as u32;
        match index {
            Index::Hash(index) => self.entering.push((number, index.begin(key))),
            Index::Ordered(index) => {
                self.probes.push((number, Probe::Ordered(index.probe(key))));
            }
        }
        self.ends.push(None);
    }

    /// Begins a look-up of which nothing is wanted but that the way to the key, and the record that is there, come into the
    /// cache. It has no result: [`LookupBatch::finish`] takes some of its steps, and [`LookupBatch::step_ahead`] the others.
    #[inline]
    pub fn begin_ahead(&mut self, index: &Index<M>, key: &[u8]) {
        self.ahead.push((self.ends.len() as u32, index.probe(key)));
        self.ends.push(None);
    }

    /// Whether a look-up that only goes ahead is on its way.
    #[must_use]
    #[inline]
    pub fn goes_ahead(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// Takes a step of each look-up that only goes ahead. What the steps have asked for arrives while the caller does other
    /// things. `request` is as for [`LookupBatch::finish`], and so is the pin.
    pub fn step_ahead<'a>(
        &mut self,
        heap: &LocalHeap<M>,
        request: impl Fn(usize) -> (&'a Index<M>, &'a [u8]),
    ) where
        M: 'a,
    {
        step_all(&mut self.ahead, heap, request);
    }

    /// Adds a look-up that is for the same key in the same index as the last one: it costs nothing.
    ///
    /// # Panics
    /// When there is none before.
    #[inline]
    pub fn begin_as_before(&mut self) {
        assert!(!self.ends.is_empty(), "a look-up before");
        self.ends.push(None);
    }

    /// Ends all look-ups but those that only go ahead. `request` is asked for the index and the key that the look-up of this
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
        let Self { entering, probes, ahead, ends } = self;
        let mut land = |at: usize, found| {
            if let Found::Record(record) = found {
                arrived(at, record);
            }
            ends[at] = Some(found);
        };
        let mut entering = entering.chunks(ENTERED_AT_ONCE);
        let mut pending = probes.len();
        loop {
            let entered = entering.next().unwrap_or_default();
            for &(number, ref begun) in entered {
                let at = number as usize;
                let (Index::Hash(index), key) = request(at) else {
                    unreachable!("a look-up in another index")
                };
                M::work(Cost::GroupStep, 1);
                match index.enter(begun, key) {
                    Entered::Found(found) => land(at, found),
                    Entered::On(on) => probes.push((number, Probe::Hash(on))),
                }
            }
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
                land(at, it);
            }
            if kept < pending {
                probes.drain(kept..pending);
            }
            step_all(ahead, heap, &request);
            pending = probes.len();
            if pending == 0 && entered.is_empty() {
                break;
            }
        }
    }

    /// The result of the look-up of this number, after [`LookupBatch::finish`].
    ///
    /// # Panics
    /// When there is no such look-up.
    #[must_use]
    #[inline]
    pub fn found(&self, mut at: usize) -> Found<M> {
        loop {
            match self.ends[at] {
                Some(found) => return found,
                None => at -= 1,
            }
        }
    }
}

/// Takes a step of each look-up, and forgets those that end.
fn step_all<'a, M: Machine>(
    probes: &mut Vec<(u32, Probe<M>)>,
    heap: &LocalHeap<M>,
    request: impl Fn(usize) -> (&'a Index<M>, &'a [u8]),
) {
    probes.retain_mut(|(number, probe)| {
        let (index, key) = request(*number as usize);
        M::work(Cost::GroupStep, 1);
        index.step(heap, probe, key).is_none()
    });
}
