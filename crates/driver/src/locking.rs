//! Locks alone: threads lock one thing and let it go, over and over, without any transaction around it.
//!
//! One in [`TIMED`] pairs is timed, so that looking at the clock does not add to the others.

use super::signals::{Phase, Signals};
use super::window::{Counted, Window};
use super::{Failure, Progress, Tally};
use chiliad_engine::{Error, Reason};
use chiliad_lock::{
    Latched, LatchedOptions, LatchedSession, Locks, Manager, Mode, Name, Options, Reclaim, Refused,
    Session,
};
use chiliad_machine::{MutexKind, Native, Shared};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Pairs between two looks at what the driver wants; what has been done by then counts. Few, since a pair may take long
/// where all want the same lock.
const BATCH: u64 = 64;

/// Of so many pairs one is timed.
const TIMED: u64 = 64;

/// Things that a thread locks by turns, where it has its own.
const OWN: u64 = 1024;

/// Which lock table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockTableKind {
    /// Without latches.
    Scalable,
    /// One mutex.
    Global,
    /// A mutex for each bucket.
    Bucket,
    /// With a mutex for each bucket, and inheritance.
    Inheriting,
    /// Without latches, reclaimed behind the oldest transaction.
    Oldest,
}

/// The measurement to make.
#[derive(Clone, Debug)]
pub struct Locking {
    /// The lock table.
    pub table: LockTableKind,
    /// How its mutexes are waited for, if it has any.
    pub mutex: MutexKind,
    /// In which mode things are locked: records, but tables where it is an intention.
    pub mode: Mode,
    /// All threads lock the same thing, or each has its own.
    pub hot: bool,
    /// Threads.
    pub threads: usize,
    /// The measured window.
    pub duration: Duration,
    /// Time before it.
    pub warmup: Duration,
    /// Pairs of each thread, instead of a window.
    pub pairs: Option<u64>,
}

/// Locks and unlocks. What is counted are pairs.
///
/// # Errors
/// When there are too many threads, or one fails.
pub fn run_locking(
    locking: &Locking,
    progress: &dyn Progress,
) -> Result<(Counted, Tally), Failure> {
    let latched = |by_bucket, inherits| {
        let mutex = locking.mutex;
        Latched::new(&LatchedOptions { by_bucket, inherits, mutex, ..LatchedOptions::default() })
    };
    let scalable = |reclaim| Manager::new(&Options { reclaim, ..Options::default() });
    match locking.table {
        LockTableKind::Scalable => {
            run::<Session<_>>(locking, scalable(Reclaim::EpochGuards), progress)
        }
        LockTableKind::Oldest => {
            run::<Session<_>>(locking, scalable(Reclaim::OldestTransaction), progress)
        }
        LockTableKind::Global => run::<LatchedSession<_>>(locking, latched(false, false), progress),
        LockTableKind::Bucket => run::<LatchedSession<_>>(locking, latched(true, false), progress),
        LockTableKind::Inheriting => {
            run::<LatchedSession<_>>(locking, latched(true, true), progress)
        }
    }
}

fn run<L: Locks<Native, Manager: Send + Sync>>(
    locking: &Locking,
    manager: L::Manager,
    progress: &dyn Progress,
) -> Result<(Counted, Tally), Failure> {
    let manager = Arc::new(Shared::<Native, _>::new(manager));
    let Locking { threads, duration, warmup, .. } = *locking;
    let tally = Mutex::new(Tally::new(1));
    let work = |thread: usize, signals: &Signals| {
        let session = L::session(&manager);
        let mut session =
            session.ok_or(Failure::Engine { doing: "starting", error: Error::NO_SLOT })?;
        let counted = Turns { locking, thread, signals }.take(&mut session)?;
        tally.lock().unwrap_or_else(PoisonError::into_inner).add(&counted);
        Ok(())
    };
    let counted = match locking.pairs {
        None => Window { threads, warmup, duration }.run(progress, work)?,
        Some(pairs) => count(threads, pairs, work)?,
    };
    let mut tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    tally.kinds[0].committed = counted.count;
    Ok((counted, tally))
}

/// Measures a number of pairs.
fn count(
    threads: usize,
    pairs: u64,
    work: impl Fn(usize, &Signals) -> Result<(), Failure> + Sync,
) -> Result<Counted, Failure> {
    let signals = Signals::new(threads, Phase::Measure, u64::MAX);
    signals.set(Phase::Measure);
    let start = Instant::now();
    std::thread::scope(|scope| {
        let begin = |it| {
            let (work, signals) = (&work, &signals);
            super::threads::start(scope, move || work(it, signals))
        };
        let threads: Result<Vec<_>, _> = (0..threads).map(begin).collect();
        let threads = threads.inspect_err(|_| signals.set(Phase::Stop))?;
        threads.into_iter().try_for_each(|thread| super::threads::join(thread.join()))
    })?;
    let memory_bytes = super::series::resident_bytes();
    Ok(Counted {
        seconds: start.elapsed().as_secs_f64(),
        count: pairs * threads as u64,
        memory_bytes,
        interrupted: false,
    })
}

/// One thread's turns.
struct Turns<'a> {
    locking: &'a Locking,
    thread: usize,
    signals: &'a Signals,
}

impl Turns<'_> {
    fn take<L: Locks<Native>>(&self, session: &mut L) -> Result<Tally, Failure> {
        let mut tally = Tally::new(1);
        let mut done = 0;
        let last = self.locking.pairs.unwrap_or(u64::MAX);
        while self.signals.phase() != Phase::Stop && done < last {
            let end = last.min(done + BATCH);
            while done < end {
                let timed = (done % TIMED == 0).then(Instant::now);
                self.pair(session, done)?;
                if let Some(begun) = timed
                    && self.signals.phase() == Phase::Measure
                {
                    let nanoseconds = begun.elapsed().as_nanos() as u64;
                    tally.kinds[0].latency_ns.saturating_record(nanoseconds.max(1));
                }
                done += 1;
            }
            self.signals.client(self.thread).set(done);
        }
        Ok(tally)
    }

    #[inline]
    fn pair<L: Locks<Native>>(&self, session: &mut L, turn: u64) -> Result<(), Failure> {
        session.begin();
        let asked = session.acquire(self.name(turn), self.locking.mode, None);
        session.release_all();
        // Nobody waits for itself with one lock at a time.
        let reason = |refused| match refused {
            Refused::Exhausted => Reason::LocksExhausted,
            _ => Reason::Deadlock,
        };
        let error = |refused| Failure::doing("locking")(Error::Conflict(reason(refused)));
        asked.map_err(error)
    }

    #[inline]
    fn name(&self, turn: u64) -> Name {
        let thread = self.thread as u64;
        match (self.locking.mode.is_intention(), self.locking.hot) {
            (true, true) => Name::table(0),
            (true, false) => Name::table(self.thread as u32),
            (false, true) => Name::record(0, 0),
            (false, false) => Name::record(0, thread * OWN + turn % OWN),
        }
    }
}
