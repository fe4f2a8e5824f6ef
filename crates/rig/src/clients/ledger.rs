//! The attempts of clients, on the host's heap, so that they outlive the crash.
//!
//! A transaction is entered when it begins. From [`Ended::Prepared`] on it may have come into the
//! log, whether or not the run let it go on; what was acknowledged was observed to be durable while
//! the disk was still on. Where servers share a log, one that is [`Ended::Open`] may have come into it too.

use chiliad_engine::{Range, Recorder, Stamp, TableId, WriteKind};
use chiliad_machine::{Machine, Ticks};
use chiliad_simulator::{Sim, lose_core, stopping};
use chiliad_workload::random::Random;
use std::any::Any;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A key.
pub type Key = Box<[u8]>;

/// One access.
#[derive(Clone, Debug)]
pub enum Op {
    Read {
        table: u32,
        key: Key,
        stamp: Stamp,
        absent: bool,
    },
    Scan {
        table: u32,
        low: Bound<Key>,
        high: Bound<Key>,
        reverse: bool,
        limited: bool,
    },
    /// Of the scan before.
    Entry {
        key: Key,
        stamp: Stamp,
        absent: bool,
    },
    Write {
        table: u32,
        key: Key,
        kind: WriteKind,
        over: Stamp,
        value: Box<[u8]>,
    },
}

/// How far a transaction came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Nobody else can have seen anything of it.
    Open,
    Aborted,
    Prepared {
        epoch: u64,
        order: u64,
    },
    Committed {
        epoch: u64,
        order: u64,
    },
}

/// One transaction.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The number of its client here.
    pub client: usize,
    pub stamp: Stamp,
    pub snapshot: bool,
    /// Its client asked for all that had been acknowledged by then.
    pub newest: bool,
    /// When its client asked for it, or it began.
    pub start: Ticks,
    /// When its client was told the outcome.
    pub end: Option<Ticks>,
    pub ops: Vec<Op>,
    pub ended: Ended,
    /// Its client was told that it is durable.
    pub acknowledged: bool,
}

impl Attempt {
    /// Its place, if it may have come into the log.
    pub fn place(&self) -> Option<(u64, u64)> {
        match self.ended {
            Ended::Prepared { epoch, order } | Ended::Committed { epoch, order } => {
                Some((epoch, order))
            }
            Ended::Open | Ended::Aborted => None,
        }
    }

    /// Whether there is anything of it to be logged.
    pub fn writes(&self) -> bool {
        self.ops.iter().any(|op| matches!(op, Op::Write { .. }))
    }

    /// The writers of what it has read, itself apart.
    pub fn read_from(&self) -> impl Iterator<Item = Stamp> {
        let seen = self.ops.iter().filter_map(|op| match op {
            Op::Read { stamp, .. } | Op::Entry { stamp, .. } => Some(*stamp),
            Op::Write { over, .. } => Some(*over),
            Op::Scan { .. } => None,
        });
        seen.filter(|&stamp| stamp != self.stamp)
    }
}

#[derive(Default)]
struct Entries {
    attempts: Vec<Attempt>,
    /// The attempt in hand, by client.
    current: Vec<usize>,
    /// When a client asks for its next attempt, if it said so, and whether for the newest state.
    asked: Vec<Option<(Ticks, bool)>>,
}

/// The transactions of one incarnation.
#[derive(Clone, Default)]
pub struct Ledger(Arc<Mutex<Entries>>);

impl Ledger {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        // Never held across an event of the machine.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A recorder for one more client, and the client's number here.
    pub fn recorder(&self, stalls: Option<Stalls>) -> (usize, Box<dyn Recorder>) {
        let mut entries = self.entries();
        let client = entries.current.len();
        entries.current.push(usize::MAX);
        entries.asked.push(None);
        (client, Box::new(Scribe { ledger: self.clone(), client, stalls }))
    }

    /// A client is about to ask for an attempt, on the `newest` state or on any.
    pub fn ask(&self, client: usize, newest: bool) {
        self.entries().asked[client] = Some((Sim::now(), newest));
    }

    /// The attempt that a client had last may have committed, whatever it was told.
    pub fn leave_open(&self, client: usize) {
        let mut entries = self.entries();
        let current = entries.current[client];
        if let Some(attempt) = entries.attempts.get_mut(current) {
            (attempt.ended, attempt.end) = (Ended::Open, None);
        }
    }

    /// The attempt that a client has in hand, or had last.
    pub fn current(&self, client: usize) -> usize {
        self.entries().current[client]
    }

    /// A client was told that its transaction is durable.
    pub fn acknowledge(&self, attempt: usize) {
        self.entries().attempts[attempt].acknowledged = true;
    }

    /// The database was closed: everything that was committed is said to be durable.
    pub fn acknowledge_all(&self) {
        let committed = |it: &&mut Attempt| matches!(it.ended, Ended::Committed { .. });
        for attempt in self.entries().attempts.iter_mut().filter(committed) {
            attempt.acknowledged = true;
        }
    }

    /// Everything, once the incarnation is over.
    pub fn take(&self) -> Vec<Attempt> {
        std::mem::take(&mut self.entries().attempts)
    }
}

/// A client's core is taken from it at the worst moment, as a system does with threads: when its
/// transaction can no longer be refused and is not in the log yet.
pub struct Stalls {
    pub random: Random,
    /// One commit in so many.
    pub one_in: u32,
    /// How long it lasts at most.
    pub ticks: Ticks,
}

/// Enters what one client does.
struct Scribe {
    ledger: Ledger,
    client: usize,
    stalls: Option<Stalls>,
}

impl Scribe {
    fn note(&self, note: impl FnOnce(&mut Attempt)) {
        let mut entries = self.ledger.entries();
        let current = entries.current[self.client];
        if let Some(attempt) = entries.attempts.get_mut(current) {
            note(attempt);
        }
    }

    fn add(&self, op: Op) {
        self.note(|attempt| attempt.ops.push(op));
    }
}

fn owned(bound: Bound<&[u8]>) -> Bound<Key> {
    bound.map(Key::from)
}

impl Recorder for Scribe {
    fn begin(&mut self, stamp: Stamp, start: u64, snapshot: bool) {
        let (client, mut entries) = (self.client, self.ledger.entries());
        entries.current[client] = entries.attempts.len();
        let (start, newest) = entries.asked[client].take().unwrap_or((start, false));
        entries.attempts.push(Attempt {
            client,
            stamp,
            snapshot,
            newest,
            start,
            end: None,
            ops: Vec::new(),
            ended: Ended::Open,
            acknowledged: false,
        });
    }

    fn read(&mut self, table: TableId, key: &[u8], stamp: Stamp, absent: bool) {
        self.add(Op::Read { table: table.0, key: key.into(), stamp, absent });
    }

    fn scan(&mut self, table: TableId, range: &Range<'_>, last: Option<&[u8]>) {
        let (low, high) = (owned(range.low), owned(range.high));
        let (reverse, limited) = (range.reverse, last.is_some());
        self.add(Op::Scan { table: table.0, low, high, reverse, limited });
    }

    fn scan_entry(&mut self, key: &[u8], stamp: Stamp, absent: bool) {
        self.add(Op::Entry { key: key.into(), stamp, absent });
    }

    fn write(&mut self, table: TableId, key: &[u8], kind: WriteKind, over: Stamp, _order: u64) {
        let value = Box::default();
        self.add(Op::Write { table: table.0, key: key.into(), kind, over, value });
    }

    fn value(&mut self, written: &[u8]) {
        self.note(|attempt| {
            if let Some(Op::Write { value, .. }) = attempt.ops.last_mut() {
                *value = written.into();
            }
        });
    }

    fn prepared(&mut self, epoch: u64, order: u64) {
        self.note(|attempt| attempt.ended = Ended::Prepared { epoch, order });
        if let Some(Stalls { random, one_in, ticks }) = &mut self.stalls
            && random.below(*one_in) == 0
        {
            let until = Sim::now() + random.below_u64(*ticks);
            while Sim::now() < until && !stopping() {
                lose_core(until);
            }
        }
    }

    fn commit(&mut self, end: u64, epoch: u64, order: u64) {
        self.note(|attempt| {
            attempt.ended = Ended::Committed { epoch, order };
            attempt.end = Some(end);
        });
    }

    fn abort(&mut self, end: u64) {
        self.note(|attempt| {
            attempt.ended = Ended::Aborted;
            attempt.end = Some(end);
        });
    }

    fn bytes(&self) -> usize {
        0
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
