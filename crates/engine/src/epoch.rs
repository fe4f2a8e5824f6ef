//! Commit epochs, and the snapshot boundaries laid over them.
//!
//! The commit epoch `E` is advanced by a ticker every `Options::epoch`. A transaction loads it
//! inside its *commit window*, after it has excluded conflicting writers and before it validates
//! (Tu, 2013, 4.7, fixes it at begin; then a transaction of epoch `e + 1` may read what one of epoch `e`
//! later overwrites, and the snapshot between the two is no prefix of the serial order).
//!
//! Every `snapshot_every`-th epoch is a *boundary* `b`: the snapshot at `b` is the effect of all
//! transactions of epochs below `b`. It may be read once no window below `b` is open. `oldest` is
//! the boundary below which nobody reads any more: versions that only older snapshots could see may
//! be collected.
//!
//! Kept on demand, versions are kept from the boundary `armed` on; zero means that nobody has asked.

#[cfg(test)]
mod models;

use crate::options::Snapshots;
use crate::wait::{Ended, Limits};
use chiliad_machine::{Fault, Latch, Machine, Ordering, Rig, Spin, Word};
use chiliad_storage::{Slot, Slots};

/// Snapshot epochs without a reader after which versions are no longer kept on demand: some seconds. On exploring machines
/// fewer, so that it happens within short runs.
fn disarm_after<M: Machine>() -> u64 {
    if M::explores() { 4 } else { 20 }
}

/// The smallest epoch: zero stands for "no window" and "no snapshot".
pub(crate) const FIRST_EPOCH: u64 = 1;

/// The snapshot is taken one epoch too early: transactions that are still installing belong to it.
pub static SNAPSHOT_TOO_NEW: Fault = Fault {
    name: "snapshot-too-new",
    step: "a boundary is published once the commit windows below it have closed",
    rig: Rig::SimSc,
    schemes: &[],
    workload: "scan",
    expected: &["G-single", "G2", "G2-item", "G1c"],
    seeds: 200,
};

/// The collector works one snapshot ahead of the readers.
pub static COLLECT_TOO_EAGER: Fault = Fault {
    name: "collect-too-eager",
    step: "the oldest boundary in use is no newer than any snapshot",
    rig: Rig::SimSc,
    schemes: &[],
    workload: "scan",
    expected: &["use of freed memory", "G-single", "G2", "G2-item", "G1c"],
    seeds: 200,
};

/// A window that is still in a store buffer is not seen, and counts as closed.
pub static TICK_WITHOUT_FENCE: Fault = Fault {
    name: "tick-without-fence",
    step: "the ticker runs the heavy fence before it looks at the commit windows",
    // Simulated runs miss windows often, but hardly ever does a snapshot begin, and read, within
    // what is then left of one. The model in `models.rs` tells at once.
    rig: Rig::Loom,
    schemes: &[],
    workload: "scan",
    expected: &["below the stable epoch"],
    seeds: 0,
};

/// A snapshot that is still in a store buffer is not seen, and what it needs is collected.
pub static BOUNDARY_WITHOUT_FENCE: Fault = Fault {
    name: "boundary-without-fence",
    step: "the ticker runs the heavy fence before it looks at the snapshots",
    rig: Rig::SimTso,
    schemes: &[],
    workload: "scan",
    expected: &["use of freed memory", "lost record", "G-single", "G2", "G2-item", "G1c"],
    seeds: 2000,
};

/// Commit epochs and snapshot boundaries of a database.
pub struct Epochs<M: Machine> {
    current: M::Word,
    /// The newest boundary that may be read.
    boundary: M::Word,
    oldest: M::Word,
    armed: M::Word,
    /// Set for one tick before `armed` is cleared: no snapshot begins any more, versions are still
    /// kept for one that has begun unseen.
    closing: M::Word,
    snapshot_every: u64,
    mode: Snapshots,
    /// Held while epochs advance; guards the idle count.
    ticking: Latch<M, Ticking>,
}

struct Ticking {
    last_snapshot: u64,
}

impl<M: Machine> Epochs<M> {
    pub fn new(mode: Snapshots, snapshot_every: u64) -> Self {
        debug_assert!(snapshot_every > 0, "there are boundaries");
        // A run starts just above a boundary, so that the first snapshot is the empty database.
        let armed = if mode == Snapshots::Always { snapshot_every } else { 0 };
        Self {
            current: M::Word::new(snapshot_every.max(FIRST_EPOCH)),
            boundary: M::Word::new(snapshot_every),
            oldest: M::Word::new(snapshot_every),
            armed: M::Word::new(armed),
            closing: M::Word::new(0),
            snapshot_every,
            mode,
            ticking: Latch::new(Ticking { last_snapshot: 0 }),
        }
    }

    /// The epoch now.
    #[inline]
    pub fn current(&self) -> u64 {
        // Acquire pairs with the release in `tick`: what was armed before the epoch is visible.
        self.current.load(Ordering::Acquire)
    }

    /// Snapshots below this boundary are over.
    #[inline]
    pub fn oldest(&self) -> u64 {
        // Acquire pairs with the release in `advance_boundary`: the readers below are done.
        self.oldest.load(Ordering::Acquire)
    }

    /// Whether any snapshot, now or later, may need versions that are overwritten now.
    #[inline]
    pub fn keeps_versions(&self) -> bool {
        self.armed.load(Ordering::Relaxed) != 0
    }

    /// The epoch below which a version must be kept that one of epoch `new` overwrites: there is a boundary that the old one
    /// lies below and the new one does not. Zero: none must be.
    #[inline]
    pub fn kept_below(&self, new: u64) -> u64 {
        let armed = self.armed.load(Ordering::Relaxed);
        if armed == 0 {
            return 0;
        }
        // The last boundary at or below `new`.
        let boundary = new - new % self.snapshot_every;
        if boundary >= armed { boundary } else { 0 }
    }

    /// Opens the commit window of `slot` and returns the commit epoch. The caller holds all its
    /// write latches, and a full fence lies between them and this call.
    #[inline]
    pub fn open_window(&self, slot: &Slot<M>) -> u64 {
        loop {
            // Acquire, here and below, pairs with the release in `tick`: what was armed before the epoch is
            // visible.
            let epoch = self.current.load(Ordering::Acquire);
            debug_assert!(epoch >= FIRST_EPOCH, "zero stands for no window");
            slot.window.store(epoch, Ordering::Relaxed);
            // Pairs with the heavy fence in `tick`: either the ticker sees our window, or we see
            // its new epoch here and open the window anew.
            M::light_fence();
            if self.current.load(Ordering::Acquire) == epoch {
                return epoch;
            }
        }
    }

    /// Closes the commit window: everything is installed, or nothing will be.
    #[inline]
    pub fn close_window(&self, slot: &Slot<M>) {
        // Release pairs with the acquire of the window in `tick`: the writes are visible.
        slot.window.store(0, Ordering::Release);
    }

    /// Advances the commit epoch and, where one is due, the snapshot boundary. Cheap; called by the ticker, and by a
    /// snapshot that waits for a boundary without a ticker. Returns the epoch through which all transactions have
    /// installed.
    pub fn tick(&self, slots: &Slots<M>) -> u64 {
        let mut ticking = self.ticking.lock();
        let epoch = self.current.load(Ordering::Relaxed) + 1;
        debug_assert!(epoch > FIRST_EPOCH, "the first epoch is over");
        // Release pairs with the acquires in `open_window` and `current`: a transaction that sees the epoch sees what
        // was armed before it.
        self.current.store(epoch, Ordering::Release);
        // Pairs with the light fences in `open_window` and `acquire_snapshot`.
        if !M::fault(&TICK_WITHOUT_FENCE) {
            M::heavy_fence();
        }
        let stable = if M::fault(&SNAPSHOT_TOO_NEW) {
            epoch
        } else {
            // Acquire pairs with the release in `close_window`.
            let windows = slots.iter().map(|(_, slot)| slot.window.load(Ordering::Acquire));
            windows.filter(|&window| window != 0).min().unwrap_or(epoch) - 1
        };
        debug_assert!(stable <= epoch, "a window is never ahead of the epoch");
        self.advance_boundary(&mut ticking, stable, slots);
        stable
    }

    fn advance_boundary(&self, ticking: &mut Ticking, stable: u64, slots: &Slots<M>) {
        let reached = stable + 1;
        let boundary = reached - reached % self.snapshot_every;
        debug_assert!(boundary <= reached, "no window below a boundary is open");
        if boundary > self.boundary.load(Ordering::Relaxed) {
            // Release pairs with the acquire in `acquire_snapshot`: the windows below are closed.
            self.boundary.store(boundary, Ordering::Release);
            // Pairs with the light fence in `acquire_snapshot`.
            if !M::fault(&BOUNDARY_WITHOUT_FENCE) {
                M::heavy_fence();
            }
        }
        let boundary = self.boundary.load(Ordering::Relaxed);
        debug_assert!(boundary.is_multiple_of(self.snapshot_every), "a snapshot's epoch");
        // Acquire pairs with the releases in `release_snapshot` and `acquire_snapshot`: a reader that is gone is done.
        let snapshots = slots.iter().map(|(_, slot)| slot.snapshot.load(Ordering::Acquire));
        let oldest_snapshot = snapshots.filter(|&snapshot| snapshot != 0).min();
        debug_assert!(
            oldest_snapshot.is_none_or(|snapshot| snapshot <= boundary),
            "snapshots are of boundaries"
        );
        if oldest_snapshot.is_some() || ticking.last_snapshot == 0 {
            ticking.last_snapshot = boundary;
        }
        let idle = boundary.saturating_sub(ticking.last_snapshot) / self.snapshot_every;
        if self.mode == Snapshots::OnDemand {
            self.disarm_if(idle >= disarm_after::<M>() && oldest_snapshot.is_none());
        }
        let oldest = if M::fault(&COLLECT_TOO_EAGER) {
            boundary + self.snapshot_every
        } else {
            oldest_snapshot.unwrap_or(boundary)
        };
        // Release pairs with the acquire in `oldest`: the collector that sees it also sees that the readers
        // have gone.
        self.oldest.store(oldest.max(self.oldest.load(Ordering::Relaxed)), Ordering::Release);
    }

    /// Stops keeping versions in two ticks, between which `tick` runs a heavy fence: a snapshot that
    /// had not seen `closing` is seen by its snapshot word, one that sees it asks for versions anew.
    fn disarm_if(&self, idle: bool) {
        let closing = self.closing.load(Ordering::Relaxed) != 0;
        if self.armed.load(Ordering::Relaxed) == 0 {
            return;
        }
        if idle && closing {
            self.armed.store(0, Ordering::Relaxed);
        }
        // Release pairs with the acquires in `acquire_snapshot`: a snapshot that finds it clear again finds `armed`
        // cleared at its second look.
        self.closing.store(u64::from(idle && !closing), Ordering::Release);
    }

    /// Takes the newest snapshot boundary for `slot` and returns it. Waits for the next boundary if versions
    /// were not being kept, as long as the `limits` allow if nobody ticks; the caller holds nothing.
    pub fn acquire_snapshot(
        &self,
        slots: &Slots<M>,
        slot: &Slot<M>,
        interval: u64,
        limits: &Limits<M>,
    ) -> Result<u64, Ended> {
        let mut spin = Spin::<M>::new();
        let mut wait = None;
        loop {
            // Acquire, each at both looks. `armed` pairs with its store in `keep_versions`, `boundary` with
            // the one in `advance_boundary`: the windows below are closed; `closing` pairs with its stores
            // in `disarm_if` and `keep_versions`.
            let armed = self.armed.load(Ordering::Acquire);
            let boundary = self.boundary.load(Ordering::Acquire);
            if armed == 0 || self.closing.load(Ordering::Acquire) != 0 {
                self.keep_versions();
                continue;
            }
            if boundary < armed {
                // A ticker does this in its own time; if there is none, it is up to us.
                if spin.turns() == 0 && interval == 0 {
                    self.tick(slots);
                } else {
                    let wait = wait.get_or_insert_with(|| limits.wait_for_time());
                    wait.asleep(Some(M::now() + interval))?;
                }
                spin.wait();
                continue;
            }
            slot.snapshot.store(boundary, Ordering::Relaxed);
            // Pairs with the heavy fence in `advance_boundary`: either our snapshot is seen, or the
            // boundary has moved and we take the new one. The loads pair as the first ones do.
            M::light_fence();
            let unchanged = self.boundary.load(Ordering::Acquire) == boundary
                && self.armed.load(Ordering::Acquire) == armed
                && self.closing.load(Ordering::Acquire) == 0;
            if unchanged {
                debug_assert!(boundary.is_multiple_of(self.snapshot_every), "a snapshot's epoch");
                return Ok(boundary);
            }
            // Release pairs with the acquire in `advance_boundary`; nothing was read at it.
            slot.snapshot.store(0, Ordering::Release);
        }
    }

    /// Releases the snapshot of `slot`: the collector no longer waits for it.
    pub fn release_snapshot(&self, slot: &Slot<M>) {
        // Release pairs with the acquire in `advance_boundary`: our reads are done.
        slot.snapshot.store(0, Ordering::Release);
    }

    /// Asks for versions to be kept from the next boundary on.
    #[cold]
    pub fn keep_versions(&self) {
        if self.mode == Snapshots::Off {
            return;
        }
        let mut ticking = self.ticking.lock();
        // Release pairs with the acquires of `closing` in `acquire_snapshot`, which asks again until it is clear.
        self.closing.store(0, Ordering::Release);
        if self.armed.load(Ordering::Relaxed) == 0 {
            // Writers of the current epoch may have looked already, and the boundary must lie
            // above every epoch in which they did.
            let next = self.current.load(Ordering::Relaxed) + 1;
            let boundary = next.next_multiple_of(self.snapshot_every);
            debug_assert!(boundary >= next, "above every epoch in which writers have looked");
            ticking.last_snapshot = boundary;
            // Release pairs with the acquires of `armed` in `acquire_snapshot`.
            self.armed.store(boundary, Ordering::Release);
        }
    }

    /// The epoch, the newest boundary and the oldest one in use, for statistics.
    pub fn overview(&self) -> (u64, u64, u64) {
        (
            self.current.load(Ordering::Relaxed),
            self.boundary.load(Ordering::Relaxed),
            self.oldest.load(Ordering::Relaxed),
        )
    }
}
