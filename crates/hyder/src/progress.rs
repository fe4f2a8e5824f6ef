//! The progress of a server, for any reader.

use chiliad_api::RolledForward;
use chiliad_machine::shared_log::Position;
use chiliad_machine::{Machine, Ordering, Ticks, Word};
use core::time::Duration;

/// A stage whose time is counted.
#[derive(Clone, Copy)]
pub enum Timed {
    Reading,
    Building,
    Deciding,
}

/// The conflict zones of intentions that were judged.
#[derive(Clone, Copy, Default)]
pub struct Zones {
    pub intentions: u64,
    pub total: u64,
    pub max: u64,
}

impl Zones {
    /// An intention had so many items between the state that it has read and itself.
    pub fn note(&mut self, zone: u64) {
        self.intentions += 1;
        self.total += zone;
        self.max = self.max.max(zone);
    }
}

/// Counts that the roller writes and others look at now and then.
pub struct Progress<M: Machine> {
    next: M::Word,
    log_bytes: M::Word,
    waiting: M::Word,
    /// By [`Timed`], in ticks.
    times: [M::Word; 3],
    intentions: M::Word,
    zone_total: M::Word,
    zone_max: M::Word,
}

impl<M: Machine> Progress<M> {
    /// Nothing was read; the log goes on at `next`.
    pub fn new(next: Position) -> Self {
        let zero = || M::Word::new(0);
        Self {
            next: M::Word::new(next),
            log_bytes: zero(),
            waiting: zero(),
            times: core::array::from_fn(|_| zero()),
            intentions: zero(),
            zone_total: zero(),
            zone_max: zero(),
        }
    }

    /// The time at which a stage begins to work. Runs that explore have no time: nothing of it is counted there.
    pub fn start() -> Ticks {
        if M::explores() { 0 } else { M::now() }
    }

    /// A stage has worked since `start`.
    pub fn worked(&self, stage: Timed, start: Ticks) {
        if !M::explores() {
            let taken = M::now().saturating_sub(start);
            self.times[stage as usize].fetch_add(taken, Ordering::Relaxed);
        }
    }

    /// The last stage has judged so many intentions, in all.
    pub fn has_judged(&self, zones: Zones) {
        if !M::explores() {
            self.intentions.store(zones.intentions, Ordering::Relaxed);
            self.zone_total.store(zones.total, Ordering::Relaxed);
            self.zone_max.store(zones.max, Ordering::Relaxed);
        }
    }

    /// How the log was rolled forward so far.
    pub fn rolled(&self) -> RolledForward {
        let time = |stage: Timed| duration::<M>(self.times[stage as usize].load(Ordering::Relaxed));
        let mut rolled = RolledForward::default();
        rolled.intentions = self.intentions.load(Ordering::Relaxed);
        rolled.zone_total = self.zone_total.load(Ordering::Relaxed);
        rolled.zone_max = self.zone_max.load(Ordering::Relaxed);
        rolled.reading = time(Timed::Reading);
        rolled.building = time(Timed::Building);
        rolled.deciding = time(Timed::Deciding);
        rolled
    }

    /// So many bytes were read, up to `next`, and the state after them is published.
    pub fn has_read(&self, next: Position, bytes: u64) {
        self.log_bytes.fetch_add(bytes, Ordering::Relaxed);
        // Release pairs with the acquire in `next`: a reader that sees the position sees the state.
        self.next.store(next, Ordering::Release);
    }

    /// So many blocks wait for readers.
    pub fn waits(&self, blocks: u64) {
        self.waiting.store(blocks, Ordering::Relaxed);
    }

    /// Where the log goes on, after what is part of the published state.
    pub fn next(&self) -> Position {
        // Acquire pairs with the release in `has_read`.
        self.next.load(Ordering::Acquire)
    }

    /// Bytes of records read.
    pub fn log_bytes(&self) -> u64 {
        self.log_bytes.load(Ordering::Relaxed)
    }

    /// Blocks that wait for readers.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }
}

/// So many of the machine's ticks.
fn duration<M: Machine>(ticks: Ticks) -> Duration {
    let nanos = u128::from(ticks) * 1_000_000_000 / u128::from(M::ticks_per_second());
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
