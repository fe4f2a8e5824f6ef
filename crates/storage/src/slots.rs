//! Worker slots: what a worker shows the others, one cache line each.
//!
//! Five lifetimes, five words, so that none of them holds back what another is for:
//!
//! | word | from .. to | what waits for it |
//! | --- | --- | --- |
//! | `pin` | one engine call | reclamation of memory |
//! | `window` | commit-epoch load .. writes installed (microseconds) | the snapshot boundary |
//! | `snapshot` | a snapshot transaction | collection of old versions |
//! | `catalog_version` | a transaction and what it collects afterwards | the memory of dropped tables |
//! | `timestamp` | a transaction, under schemes that order by timestamps | younger transactions; collection of old versions |
//!
//! A sixth word, `tick`, is the slot's own and stays when the slot changes hands: the last tick of the
//! clock that went into a timestamp.
//!
//! Slots come in segments allocated on demand and never given back; a freed slot is reused. Each segment is as large as
//! all before it together, so that few links lead to all of them: a small database has few words, and a model of
//! reclamation few to keep a history of.

use chiliad_machine::{Array, Latch, Link, Machine, Ordering, Tagged, Word};

/// The greatest number of workers that a database can have at once.
pub const WORKERS_MAX: usize = 65_536;

/// Slots of the first segment, and of the second.
const FIRST_SLOTS: usize = 64;

/// One worker's words. Zero means "not in it" for the first five.
#[repr(C, align(64))]
pub struct Slot<M: Machine> {
    /// The reclaim epoch in which the worker is pinned, shifted left by one, with bit 0 set.
    pub pin: M::Word,
    /// The commit epoch that the worker saw when it opened its commit window.
    pub window: M::Word,
    /// The snapshot boundary that the worker reads at.
    pub snapshot: M::Word,
    /// The version of the catalog by which the worker finds its tables.
    pub catalog_version: M::Word,
    /// The timestamp of the transaction in hand: the scheme says in which form.
    pub timestamp: M::Word,
    /// The greatest tick that a timestamp of the slot was made of. Only the slot's worker uses it.
    pub tick: M::Word,
}

/// Segments that hold [`WORKERS_MAX`].
const SEGMENTS_MAX: usize = (WORKERS_MAX / FIRST_SLOTS).ilog2() as usize + 1;

impl<M: Machine> Slot<M> {
    fn new() -> Self {
        Self {
            pin: M::Word::new(0),
            window: M::Word::new(0),
            snapshot: M::Word::new(0),
            catalog_version: M::Word::new(0),
            timestamp: M::Word::new(0),
            tick: M::Word::new(0),
        }
    }
}

/// All worker slots of a database.
pub struct Slots<M: Machine> {
    /// The first slot of each.
    segments: [M::Link<Slot<M>>; SEGMENTS_MAX],
    /// One more than the greatest slot number ever in use.
    high: M::Word,
    registry: Latch<M, Registry<M>>,
}

struct Registry<M: Machine> {
    owned: Vec<Array<M, Slot<M>>>,
    free: Vec<u32>,
}

impl<M: Machine> Slots<M> {
    /// [`FIRST_SLOTS`], but few on a machine that keeps a history of every word, whose chunks are small: a model goes through
    /// all words of the first segment whenever it fences.
    const FIRST: usize =
        if M::CHUNK_BYTES / 256 < FIRST_SLOTS { M::CHUNK_BYTES / 256 } else { FIRST_SLOTS };
    /// Slots of all segments: [`WORKERS_MAX`], but where the first is small.
    const MAX: usize = Self::FIRST << (SEGMENTS_MAX - 1);

    /// The segment of a slot, and the slot's place in it.
    fn place_of(slot: usize) -> (usize, usize) {
        match (slot / Self::FIRST).checked_ilog2() {
            None => (0, slot),
            Some(doublings) => (doublings as usize + 1, slot - (Self::FIRST << doublings)),
        }
    }

    /// Slots of a segment.
    fn slots_of(segment: usize) -> usize {
        Self::FIRST << segment.saturating_sub(1)
    }

    /// No slot in use.
    #[must_use]
    pub fn new() -> Self {
        Self {
            segments: core::array::from_fn(|_| M::Link::new(Tagged::null())),
            high: M::Word::new(0),
            registry: Latch::new(Registry { owned: Vec::new(), free: Vec::new() }),
        }
    }

    /// Takes a slot; `None` when all [`WORKERS_MAX`] are in use.
    pub fn acquire(&self) -> Option<u32> {
        let mut registry = self.registry.lock();
        if let Some(slot) = registry.free.pop() {
            return Some(slot);
        }
        let next = usize::try_from(self.high.load(Ordering::Relaxed)).expect("few slots");
        if next == Self::MAX {
            return None;
        }
        let (segment, place) = Self::place_of(next);
        if place == 0 {
            let slots = Array::new(Self::slots_of(segment), Slot::new);
            debug_assert!(registry.owned.len() == segment, "segments come in order");
            // Release pairs with the acquire in `get`: the slots are constructed.
            self.segments[segment].store(Tagged::new(slots.first(), 0), Ordering::Release);
            registry.owned.push(slots);
        }
        // Release pairs with the acquire in `iter`: the segment is linked.
        self.high.store(next as u64 + 1, Ordering::Release);
        Some(u32::try_from(next).expect("fewer than WORKERS_MAX"))
    }

    /// Gives a slot back, all of whose words but the tick are zero.
    pub fn release(&self, slot: u32) {
        let mut registry = self.registry.lock();
        debug_assert!(!registry.free.contains(&slot), "a slot is released once");
        debug_assert!(Self::place_of(slot as usize).0 < registry.owned.len(), "it was acquired");
        registry.free.push(slot);
    }

    /// The slot with a number that [`Slots::acquire`] gave out.
    ///
    /// # Panics
    /// When it never did.
    pub fn get(&self, slot: u32) -> &Slot<M> {
        let (segment, place) = Self::place_of(slot as usize);
        // Acquire pairs with the release in `acquire`: the slots are constructed.
        let first = self.segments[segment].load(Ordering::Acquire);
        assert!(!first.is_null(), "a slot that was never acquired");
        // SAFETY: segments live as long as `self`, which owns them, and this one has the place.
        unsafe { &*first.pointer().add(place) }
    }

    /// All slots ever in use, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Slot<M>)> {
        // Acquire pairs with the release in `acquire`: the segments of all slots below are linked.
        let high = u32::try_from(self.high.load(Ordering::Acquire)).expect("few slots");
        (0..high).map(|slot| (slot, self.get(slot)))
    }
}

impl<M: Machine> Default for Slots<M> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chiliad_loom::Loom;
    use chiliad_machine::Native;

    fn have_places<M: Machine>() {
        let mut next = (0, 0);
        for slot in 0..Slots::<M>::MAX {
            let (segment, place) = Slots::<M>::place_of(slot);
            assert_eq!((segment, place), next, "slot {slot}");
            let last = place + 1 == Slots::<M>::slots_of(segment);
            next = if last { (segment + 1, 0) } else { (segment, place + 1) };
        }
        assert_eq!(next, (SEGMENTS_MAX, 0), "there is a link for each");
    }

    #[test]
    fn each_slot_has_a_place_of_its_own() {
        have_places::<Native>();
        have_places::<Loom>();
        assert_eq!(Slots::<Native>::MAX, WORKERS_MAX);
    }
}
