//! Seeded interleavings of transactions that lock a few things in all modes, convert, wait, find deadlocks and
//! are cut off, with a pool so small that locks are reclaimed all the time. Nobody ever has what a lock of
//! another excludes, everybody gets on, and nothing is left behind.
//!
//! The transactions have no database: each tells a ledger what it has, and the ledger is the judge.

use super::{Failure, LockTableKind};
use chiliad_lock::{
    Latched, LatchedOptions, LatchedSession, Locks, Manager, Mode, Name, Options, Reclaim, Refused,
    Session,
};
use chiliad_machine::{Fault, Machine, MutexKind, Shared};
use chiliad_simulator::{Config, MemoryModel, Run, Schedule, Sim};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

const CORES: u32 = 5;
const TURNS: u32 = 64;

/// The verdict where two have what excludes each other.
pub const EXCLUDED: &str = "excluded";
/// The verdict where something is left when everybody has gone.
pub const LEFT: &str = "lock left behind";

/// The load of the transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockLoad {
    /// Anything, on a few records and, for some seeds, a table and the database.
    Mixed,
    /// Weak locks of one record that become stronger, beside others that come and go after them.
    Conversions,
    /// One record, and one lock in a transaction: nobody waits for itself.
    Single,
}

impl LockLoad {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Mixed, Self::Conversions, Self::Single];

    /// The name in tables of planted bugs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mixed => "locks",
            Self::Conversions => "conversions",
            Self::Single => "single",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|load| load.name() == name)
    }
}

/// One run.
#[derive(Clone, Copy, Debug)]
pub struct LockTrial {
    /// The lock table.
    pub table: LockTableKind,
    /// The load of the transactions.
    pub load: LockLoad,
    /// Which writes are seen when.
    pub memory_model: MemoryModel,
    /// The seed of schedule and requests, and of the table's layout.
    pub seed: u64,
    /// A planted bug.
    pub fault: Option<&'static Fault>,
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct LockVerdict {
    /// The violation, by name; `None` if there is none.
    pub wrong: Option<&'static str>,
    /// How the machine stopped, for people.
    pub text: String,
    /// Counts of the rare branches that it has taken.
    pub counts: LockCounts,
    /// Rare branches taken.
    pub marks: Vec<&'static str>,
    /// Events simulated.
    pub events: u64,
}

/// How requests went.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LockCounts {
    /// Granted.
    pub granted: u32,
    /// Refused, for their transaction would have waited for itself.
    pub deadlocks: u32,
    /// Deadlocks of two that share a lock and both want it alone.
    pub upgrade_deadlocks: u32,
    /// Given up.
    pub timeouts: u32,
}

impl LockCounts {
    /// Adds those of another run.
    pub fn add(&mut self, other: &Self) {
        self.granted += other.granted;
        self.deadlocks += other.deadlocks;
        self.upgrade_deadlocks += other.upgrade_deadlocks;
        self.timeouts += other.timeouts;
    }
}

impl LockTrial {
    /// Runs it.
    ///
    /// # Errors
    /// The host refuses the memory that it needs.
    pub fn run(&self) -> Result<LockVerdict, Failure> {
        match self.table {
            LockTableKind::Scalable | LockTableKind::Oldest => self.simulate::<Session<Sim>>(),
            _ => self.simulate::<LatchedSession<Sim>>(),
        }
    }

    fn simulate<L: Table>(&self) -> Result<LockVerdict, Failure> {
        let schedule = match self.seed.is_multiple_of(3) {
            true => Schedule::few_preemptions(),
            false => Schedule::Random,
        };
        let config = Config {
            schedule,
            fault: self.fault,
            memory_model: self.memory_model,
            events_max: 40_000_000,
            ..Config::new(self.seed)
        };
        let mut run = Run::try_new(config).map_err(|refused| Failure::Host(refused.to_string()))?;
        let world = run.outside(|| {
            Rc::new(World::<L> {
                manager: Arc::new(Shared::new(L::make(self.seed, self.table))),
                ledger: RefCell::default(),
                excluded: Cell::default(),
                names: 1 + self.seed % 3,
                with_tables: self.seed % 4 == 1,
                load: self.load,
                counts: RefCell::default(),
            })
        });
        for core in 0..CORES {
            let world = Rc::clone(&world);
            run.spawn(format!("core {core}"), move || world.work(core));
        }
        if let Err(refused) = run.obtain_stacks() {
            run.outside(|| drop(world));
            return Err(Failure::Host(refused.to_string()));
        }
        let outcome = run.go();
        let mut wrong = (!outcome.verdict.is_completed()).then(|| outcome.verdict.name());
        if world.excluded.get() {
            wrong = Some(EXCLUDED);
        }
        if wrong.is_none() && run.outside(|| !L::is_empty(&world.manager)) {
            wrong = Some(LEFT);
        }
        let counts = *world.counts.borrow();
        // A run that ended early has left memory in any state.
        if wrong.is_none() {
            run.outside(|| drop(world));
        } else {
            std::mem::forget(world);
        }
        let (text, marks) = (outcome.verdict.to_string(), outcome.marks.into_iter().collect());
        Ok(LockVerdict { wrong, text, counts, marks, events: outcome.events })
    }
}

/// A lock table, as one under test.
trait Table: Locks<Sim> {
    /// One with few buckets and little memory.
    fn make(seed: u64, kind: LockTableKind) -> Self::Manager;

    /// Whether nothing is left behind when everybody has gone.
    fn is_empty(manager: &Self::Manager) -> bool;
}

impl Table for Session<Sim> {
    fn make(seed: u64, kind: LockTableKind) -> Manager<Sim> {
        // Where transactions hold back memory, those that wait hold back much.
        let (locks_max, reclaim) = match kind {
            LockTableKind::Oldest => (1 << 14, Reclaim::OldestTransaction),
            _ => (256, Reclaim::EpochGuards),
        };
        let buckets = 1 + (seed % 2) as usize;
        Manager::new(&Options { buckets, locks_max, segment_locks: 8, reclaim })
    }

    fn is_empty(manager: &Manager<Sim>) -> bool {
        manager.supply();
        let usage = manager.usage();
        usage.locks == 0 && usage.obsolete == 0
    }
}

impl Table for LatchedSession<Sim> {
    fn make(seed: u64, kind: LockTableKind) -> Latched<Sim> {
        Latched::new(&LatchedOptions {
            buckets: 1 + (seed % 2) as usize,
            by_bucket: kind != LockTableKind::Global,
            mutex: MutexKind::ALL[seed as usize / 2 % 4],
            inherits: kind == LockTableKind::Inheriting,
            // A session keeps some.
            locks_max: 1 << 12,
        })
    }

    fn is_empty(manager: &Latched<Sim>) -> bool {
        manager.locks() == 0
    }
}

struct World<L: Table> {
    manager: Arc<Shared<Sim, L::Manager>>,
    /// The locks that are held, by what their holders say.
    ledger: RefCell<Vec<(u32, Name, Mode)>>,
    excluded: Cell<bool>,
    /// Records that are locked.
    names: u64,
    /// Whether the database and a table are, too.
    with_tables: bool,
    load: LockLoad,
    counts: RefCell<LockCounts>,
}

fn below(n: u64) -> u64 {
    Sim::random() % n
}

impl<L: Table> World<L> {
    fn work(&self, core: u32) {
        let mut session = L::session(&self.manager).expect("an agent");
        for _ in 0..TURNS {
            session.begin();
            let locks = if self.load == LockLoad::Single { 1 } else { 1 + below(4) };
            let mut commits = true;
            for _ in 0..locks {
                // Everything may fall into one bucket.
                let (name, mode) = self.draw(core);
                let deadline = (below(4) == 0).then(|| Sim::now() + below(400));
                if let Err(refused) = session.acquire(name, mode, deadline) {
                    self.count_refused(refused);
                    commits = false;
                    break;
                }
                let held = session.mode_of(name).expect("granted");
                self.enter(core, name, held);
            }
            self.ledger.borrow_mut().retain(|&(owner, ..)| owner != core);
            if commits {
                session.renew();
            }
            session.release_all();
        }
    }

    /// Draws a lock for `core`: a table now and then, more often with an intention than not, or one of a few records.
    fn draw(&self, core: u32) -> (Name, Mode) {
        if self.load == LockLoad::Conversions {
            // Some begin weakly and become stronger, beside others that come and go after them.
            let modes = if core < 2 { [Mode::Is, Mode::S] } else { [Mode::Ix, Mode::S] };
            return (Name::record(1, 0), modes[below(2) as usize]);
        }
        let any = Mode::ALL[below(5) as usize];
        if self.load == LockLoad::Single {
            return (Name::record(1, 0), any);
        }
        if self.with_tables && below(3) == 0 {
            let name = if below(2) == 0 { Name::DATABASE } else { Name::table(1) };
            return (name, [Mode::Is, Mode::Ix, any][below(3) as usize]);
        }
        let mode = [Mode::Is, Mode::Ix, Mode::S, any][below(4) as usize];
        (Name::record(1, below(self.names)), mode)
    }

    fn count_refused(&self, refused: Refused) {
        let mut counts = self.counts.borrow_mut();
        match refused {
            Refused::Deadlock => counts.deadlocks += 1,
            Refused::UpgradeDeadlock => counts.upgrade_deadlocks += 1,
            Refused::Timeout => counts.timeouts += 1,
            other => panic!("{other}"),
        }
    }

    /// Takes note that `core` has `name` in `mode`.
    fn enter(&self, core: u32, name: Name, mode: Mode) {
        let mut ledger = self.ledger.borrow_mut();
        ledger.retain(|&(owner, what, _)| owner != core || what != name);
        let clash =
            ledger.iter().any(|&(_, what, other)| what == name && !mode.is_compatible(other));
        self.excluded.set(self.excluded.get() || clash);
        ledger.push((core, name, mode));
        self.counts.borrow_mut().granted += 1;
    }
}
