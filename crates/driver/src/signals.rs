//! How the driver tells its clients what to do, and how they show how far they are.
//!
//! These are the driver's own words, natively and in simulation: no part of the database, no event
//! of the simulated machine. One cache line per writer, so that watching costs the watched nothing.

use super::{Bell, Idle};
use chiliad_machine::{Machine, Ticks, WorkerId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// The state that a driver shares with its clients.
#[derive(Clone)]
pub struct RunSignals(pub(crate) Arc<Signals>, pub(crate) Arc<Bell>);

/// The phase of a run, which clients follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Wait for each other.
    Assemble = 0,
    /// Run; nothing counts.
    Warmup = 1,
    /// Run and count.
    Measure = 2,
    /// Return.
    Stop = 3,
}

/// One client's transactions so far, committed ones in any phase.
#[repr(align(64))]
#[derive(Default)]
pub(crate) struct Progressed(AtomicU64);

impl Progressed {
    /// Publishes a count.
    #[inline]
    pub(crate) fn set(&self, committed: u64) {
        // Relaxed: a count that says nothing about other memory.
        self.0.store(committed, Ordering::Relaxed);
    }
}

/// Others that wait for the clients: the cores that time a window and turn the epochs, and a transaction
/// that is to stall.
const OTHERS: usize = 3;

/// State shared by driver and clients.
pub(crate) struct Signals {
    phase: AtomicU8,
    /// The phase that begins when all clients are there.
    first: Phase,
    /// When that was.
    begun: AtomicU64,
    assembled: AtomicUsize,
    /// Clients that wait for it, by worker plus one, and after them the others.
    waiting: Vec<AtomicU32>,
    early: AtomicBool,
    /// Transactions may be followed.
    following: AtomicBool,
    history_bytes: AtomicU64,
    history_bytes_max: u64,
    clients: Vec<Progressed>,
    /// When somebody has last committed, of a simulated run, and the longest time until somebody did.
    last_commit: AtomicU64,
    longest_idle: AtomicU64,
    starved: AtomicBool,
}

impl Signals {
    /// For `clients` clients whose histories may hold `history_bytes_max` bytes, and that begin with
    /// the phase `first` when all are there.
    pub(crate) fn new(clients: usize, first: Phase, history_bytes_max: u64) -> Self {
        Self {
            phase: AtomicU8::new(Phase::Assemble as u8),
            first,
            begun: AtomicU64::new(0),
            assembled: AtomicUsize::new(0),
            waiting: (0..clients + OTHERS).map(|_| AtomicU32::new(0)).collect(),
            early: AtomicBool::new(false),
            following: AtomicBool::new(true),
            history_bytes: AtomicU64::new(0),
            history_bytes_max,
            clients: (0..clients).map(|_| Progressed::default()).collect(),
            last_commit: AtomicU64::new(0),
            longest_idle: AtomicU64::new(0),
            starved: AtomicBool::new(false),
        }
    }

    /// The phase that clients are to be in.
    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        // Relaxed: what a client counts it hands over when its thread is joined.
        match self.phase.load(Ordering::Relaxed) {
            0 => Phase::Assemble,
            1 => Phase::Warmup,
            2 => Phase::Measure,
            _ => Phase::Stop,
        }
    }

    /// Client `index` is ready: returns when all are. So all have their workers before the first
    /// gives its back, and no worker's number comes twice in a history.
    pub(crate) fn assemble<M: Machine>(&self, index: usize) {
        if self.assembled.fetch_add(1, Ordering::SeqCst) + 1 == self.clients.len() {
            self.begun.store(M::now(), Ordering::Relaxed);
            self.set(self.first);
            self.wake::<M>();
        }
        self.await_clients::<M>(index, || false);
    }

    /// Waits until all clients are ready or `leave` says not to. Others have places after theirs.
    pub(crate) fn await_clients<M: Machine>(&self, place: usize, leave: impl Fn() -> bool) {
        // SeqCst: either the waker sees the waiter, or the waiter sees the phase.
        self.waiting[place].store(M::worker().0 + 1, Ordering::SeqCst);
        while self.phase.load(Ordering::SeqCst) == Phase::Assemble as u8 && !leave() {
            M::park();
        }
    }

    /// As `await_clients`, for the transaction that is to stall.
    pub(crate) fn await_clients_to_stall<M: Machine>(&self) {
        self.await_clients::<M>(self.clients() + OTHERS - 1, || false);
    }

    /// Ends the run, also for those that wait for the clients to be ready.
    pub(crate) fn stop<M: Machine>(&self) {
        self.set(Phase::Stop);
        self.wake::<M>();
    }

    /// Wakes all that wait for the clients to be ready, after the phase was set.
    pub(crate) fn wake<M: Machine>(&self) {
        for waiting in &self.waiting {
            if let Some(worker) = waiting.load(Ordering::SeqCst).checked_sub(1) {
                M::unpark(WorkerId(worker));
            }
        }
    }

    /// When the first phase began, by the machine's clock.
    pub(crate) fn begun(&self) -> Ticks {
        self.begun.load(Ordering::Relaxed)
    }

    /// Moves on to `phase`; never back.
    pub(crate) fn set(&self, phase: Phase) {
        self.phase.fetch_max(phase as u8, Ordering::SeqCst);
    }

    /// Whether the clients have been told to stop.
    pub(crate) fn is_over(&self) -> bool {
        self.phase() == Phase::Stop
    }

    /// A client's history has grown by `bytes`. Ends the run before its time when all histories
    /// together reach their limit.
    #[cold]
    pub(crate) fn history_grew(&self, bytes: u64) {
        let before = self.history_bytes.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) >= self.history_bytes_max {
            self.early.store(true, Ordering::Relaxed);
            self.set(Phase::Stop);
        }
    }

    /// Whether transactions may be followed through the parts of their time.
    #[inline]
    pub(crate) fn following(&self) -> bool {
        // Relaxed: whichever transaction is the first to see it.
        self.following.load(Ordering::Relaxed)
    }

    /// From now on they may, or may not.
    pub(crate) fn follow(&self, on: bool) {
        self.following.store(on, Ordering::Relaxed);
    }

    /// A transaction has committed at this time of a simulated machine.
    pub(crate) fn committed_at(&self, now: Ticks) {
        self.longest_idle.fetch_max(self.idle_at(now), Ordering::Relaxed);
        self.last_commit.fetch_max(now, Ordering::Relaxed);
    }

    /// For how long nobody has committed at this time of a simulated machine.
    fn idle_at(&self, now: Ticks) -> Ticks {
        now.saturating_sub(self.last_commit.load(Ordering::Relaxed).max(self.begun()))
    }

    /// Ends a simulated run in which nobody has committed for longer than `limit`; whether it did.
    pub(crate) fn end_if_idle(&self, now: Ticks, limit: Ticks) -> bool {
        let ends = !self.is_over() && self.idle_at(now) > limit;
        if ends {
            self.longest_idle.fetch_max(self.idle_at(now), Ordering::Relaxed);
            self.starved.store(true, Ordering::Relaxed);
            self.set(Phase::Stop);
        }
        ends
    }

    /// The times without a commit in a simulated run.
    pub(crate) fn idle(&self) -> Idle {
        Idle {
            longest: self.longest_idle.load(Ordering::Relaxed),
            stood_still: 0,
            exceeded: self.starved.load(Ordering::Relaxed),
        }
    }

    /// Whether the run ended before its time.
    pub(crate) fn ended_early(&self) -> bool {
        self.early.load(Ordering::Relaxed)
    }

    /// How many clients there are.
    pub(crate) fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Where a client publishes its count.
    pub(crate) fn client(&self, index: usize) -> &Progressed {
        &self.clients[index]
    }

    /// Transactions committed so far, by all clients in any phase.
    pub(crate) fn committed(&self) -> u64 {
        self.clients.iter().map(|client| client.0.load(Ordering::Relaxed)).sum()
    }
}
