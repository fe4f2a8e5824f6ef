//! How the driver tells its clients what to do, and how they show how far they are.
//!
//! These are the driver's own words, natively and in simulation: no part of the database, no event
//! of the simulated machine. One cache line per writer, so that watching costs the watched nothing.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// What clients do at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Run; nothing counts.
    Warmup = 0,
    /// Run and count.
    Measure = 1,
    /// Return.
    Stop = 2,
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

/// What driver and clients share.
pub(crate) struct Signals {
    phase: AtomicU8,
    early: AtomicBool,
    history_bytes: AtomicU64,
    history_bytes_max: u64,
    clients: Vec<Progressed>,
}

impl Signals {
    /// Warm-up, for `clients` clients whose histories may hold `history_bytes_max` bytes.
    pub(crate) fn new(clients: usize, history_bytes_max: u64) -> Self {
        Self {
            phase: AtomicU8::new(0),
            early: AtomicBool::new(false),
            history_bytes: AtomicU64::new(0),
            history_bytes_max,
            clients: (0..clients).map(|_| Progressed::default()).collect(),
        }
    }

    /// What clients shall do.
    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        // Relaxed: what a client counts it hands over when its thread is joined.
        match self.phase.load(Ordering::Relaxed) {
            0 => Phase::Warmup,
            1 => Phase::Measure,
            _ => Phase::Stop,
        }
    }

    /// Moves on to `phase`; never back.
    pub(crate) fn set(&self, phase: Phase) {
        self.phase.fetch_max(phase as u8, Ordering::Relaxed);
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

    /// Whether the run ended before its time.
    pub(crate) fn ended_early(&self) -> bool {
        self.early.load(Ordering::Relaxed)
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
