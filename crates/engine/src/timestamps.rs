//! Timestamps (Yu, 2015, 4.3.1): where transactions get the numbers by which schemes order
//! them.
//!
//! | kind | how a worker gets one | what it costs |
//! | --- | --- | --- |
//! | `mutex` | adds one to a counter under a mutex, of a kind to choose | mutex and counter move from core to core,
//! and waiters have to be woken |
//! | `atomic` | adds one to a shared word | the word moves from core to core |
//! | `batched` | takes 16, or as many as asked for, from a shared word at a time | the same, as much more seldom; see below |
//! | `clock` | the machine's clock, followed by its slot's number | nothing shared |
//! | `hardware` | asks a counter in the middle of the chip | a message; no processor that can be bought has one |
//!
//! Common to all of them: a timestamp is given out once, is never zero, is below
//! 2^[`TIMESTAMP_BITS`] so that three flags fit beside it, and exceeds all that its worker had before.
//! They begin anew when a database is opened again.
//!
//! **Batches and restarts.** A transaction that is refused runs again in its worker and takes the next
//! timestamp of its worker's batch, which is still older than that of the transaction it lost to. Under
//! a scheme that refuses the older one it is refused again, until the batch is used up. That is the
//! paper's finding (figure 4-5b), and why `atomic` is the default.
//!
//! **The clock.** A timestamp is `tick << 16 | slot`. All workers' ticks are those of one clock: natively
//! the system's monotonic one, which no core sees run backwards against another (the kernel vouches
//! for it, by the processor's synchronised counters or else by another source); in simulation the
//! machine has one, which moves on while a database is loaded. A tick is some 256 ns natively. A worker
//! that asks more often runs ahead of the clock for as long as it does; the last tick of a slot stays in
//! the slot, for the worker that has it next. After 2^44 ticks (52 days natively) there is no room for
//! more, and timestamps come from a counter that starts above them.

use crate::options::{Options, Timestamps};
use chiliad_machine::{Cost, Line, Machine, Mutex, Ordering, Place, Word};
use chiliad_storage::{LocalHeap, WORKERS_MAX};

/// Bits of a timestamp.
pub const TIMESTAMP_BITS: u32 = 61;

const SLOT_BITS: u32 = 16;
const _: () = assert!(WORKERS_MAX == 1 << SLOT_BITS, "slot numbers fit behind ticks");

/// The first timestamp that is not the clock's.
const AFTER_CLOCK: u64 = 1 << (TIMESTAMP_BITS - 1);

/// Ticks in a second, at least, before they are counted in larger steps.
const RATE_BITS: u32 = 21;

/// State shared by workers, each contended word on a line of its own. Lives in the machine's memory.
pub struct TimestampSource<M: Machine> {
    kind: Timestamps,
    /// Timestamps that a worker takes at a time, where it takes several.
    batch: u64,
    counter: Line<M::Word>,
    mutex: Mutex<M>,
}

impl<M: Machine> TimestampSource<M> {
    /// Timestamps from 1, as the options want them.
    #[must_use]
    pub fn new(options: &Options) -> Self {
        let counter = Line(M::Word::new(0));
        let batch = u64::from(options.timestamp_batch.max(1));
        Self { kind: options.timestamps, batch, counter, mutex: Mutex::new(options.mutex) }
    }

    /// Takes `count` numbers and returns the first.
    #[inline]
    fn count(&self, count: u64) -> u64 {
        // Relaxed: the number itself is all that is handed over.
        self.counter.0.fetch_add(count, Ordering::Relaxed) + 1
    }

    /// Takes the next number under the mutex, and returns it.
    fn count_alone(&self, place: &mut Place<M>, may_sleep: bool) -> u64 {
        // Relaxed, both: under the mutex.
        let add = || {
            let next = self.counter.0.load(Ordering::Relaxed) + 1;
            self.counter.0.store(next, Ordering::Relaxed);
            next
        };
        if may_sleep { self.mutex.hold(place, add) } else { self.mutex.hold_awake(place, add) }
    }
}

/// One worker's part.
pub struct Clock<M: Machine> {
    /// The rest of its batch: from here up to, but without, the end.
    next: u64,
    end: u64,
    /// Where it waits for the mutex.
    place: Option<Place<M>>,
}

impl<M: Machine> Clock<M> {
    /// Nothing taken yet.
    #[must_use]
    pub fn new() -> Self {
        Self { next: 0, end: 0, place: None }
    }

    /// The next timestamp, for the worker of this heap, which is in no section.
    ///
    /// # Panics
    /// For `hardware` on a machine without such a counter; opening a database refuses that.
    #[inline]
    pub fn draw(&mut self, source: &TimestampSource<M>, heap: &LocalHeap<M>) -> u64 {
        self.draw_as(source, heap, true)
    }

    /// As [`Clock::draw`], for a worker in a section: it waits for nobody asleep.
    ///
    /// # Panics
    /// As [`Clock::draw`].
    #[inline]
    pub fn draw_awake(&mut self, source: &TimestampSource<M>, heap: &LocalHeap<M>) -> u64 {
        self.draw_as(source, heap, false)
    }

    #[inline]
    fn draw_as(
        &mut self,
        source: &TimestampSource<M>,
        heap: &LocalHeap<M>,
        may_sleep: bool,
    ) -> u64 {
        M::work(Cost::Timestamp, 1);
        let timestamp = match source.kind {
            Timestamps::Latched => {
                source.count_alone(self.place.get_or_insert_with(Place::new), may_sleep)
            }
            Timestamps::Atomic => source.count(1),
            Timestamps::Batched => {
                if self.next == self.end {
                    self.next = source.count(source.batch);
                    self.end = self.next + source.batch;
                }
                debug_assert!(self.next < self.end, "a timestamp is left of the batch");
                debug_assert!(self.end - self.next <= source.batch, "and no more than there were");
                self.next += 1;
                self.next - 1
            }
            Timestamps::Clock => by_clock(source, heap),
            Timestamps::Hardware => M::counter().expect("options refuse what the chip lacks"),
        };
        debug_assert!(timestamp != 0, "zero stands for no timestamp");
        debug_assert!(timestamp >> TIMESTAMP_BITS == 0, "flags fit beside it");
        timestamp
    }
}

impl<M: Machine> Default for Clock<M> {
    fn default() -> Self {
        Self::new()
    }
}

/// The clock's next tick for the slot.
#[inline]
fn by_clock<M: Machine>(source: &TimestampSource<M>, heap: &LocalHeap<M>) -> u64 {
    let last = &heap.slot().tick;
    // Relaxed: the slot is one worker's, and changes hands under the latch of the slots.
    let tick = tick_after(last.load(Ordering::Relaxed), M::now(), M::ticks_per_second());
    last.store(tick, Ordering::Relaxed);
    match concatenate(tick, heap.slot_number()) {
        Some(timestamp) => timestamp,
        None => AFTER_CLOCK + source.count(1),
    }
}

/// The tick of the time `now` of a clock of `rate`, or the one after `last` if that is later.
#[inline]
fn tick_after(last: u64, now: u64, rate: u64) -> u64 {
    debug_assert!(rate > 0, "the clock runs");
    let tick = now >> rate.ilog2().saturating_sub(RATE_BITS);
    tick.max(last + 1)
}

/// A tick followed by a slot's number; `None` if the tick is too large.
#[inline]
fn concatenate(tick: u64, slot: u32) -> Option<u64> {
    debug_assert!(slot >> SLOT_BITS == 0, "slot numbers fit behind ticks");
    (tick < AFTER_CLOCK >> SLOT_BITS).then_some(tick << SLOT_BITS | u64::from(slot))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_never_sees_a_tick_twice() {
        // The time stands still, runs on, and is earlier than that of a previous worker.
        let mut last = 0;
        for now in [0, 0, 0, 1 << 20, 1 << 20, 5] {
            let tick = tick_after(last, now, 1_000_000_000);
            assert!(tick > last && tick >= now >> 8);
            last = tick;
        }
        // A slow clock is taken as it is.
        assert_eq!(tick_after(1, 77, 1_000_000), 77);
    }

    #[test]
    fn a_tick_takes_some_256_ns() {
        assert_eq!(tick_after(0, 1 << 20, 1_000_000_000), 1 << 12);
    }

    #[test]
    fn slots_lie_behind_ticks_until_there_is_no_room() {
        assert_eq!(concatenate(1, 0), Some(1 << 16));
        assert!(concatenate(1, 65_535) < concatenate(2, 0));
        let last = (AFTER_CLOCK >> SLOT_BITS) - 1;
        assert!(concatenate(last, 65_535).expect("room") < AFTER_CLOCK);
        assert_eq!(concatenate(last + 1, 0), None);
    }
}
