//! Seeded interleavings of transactions that lock a few things in all modes, convert, wait, find deadlocks
//! and are cut off, with a pool so small that locks are reclaimed all the time. Nobody ever has what a
//! lock of another excludes, everybody gets on, and nothing is left behind.

use chiliad_lock::{
    FAULTS, Latched, LatchedOptions, LatchedSession, Locks, Manager, Mode, Name, Options, Reclaim,
    Refused, Session,
};
use chiliad_machine::{Fault, Machine, MutexKind, Rig, Shared};
use chiliad_simulator::{Config, MemoryModel, Run, Schedule, Sim};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

const CORES: u32 = 5;
const TURNS: u32 = 64;

/// A lock manager under test.
trait Table: Locks<Sim> {
    /// One with few buckets and little memory.
    fn make(seed: u64, kind: Kind) -> Self::Manager;

    /// Looks for what was left behind when everybody has gone.
    fn check_empty(manager: &Self::Manager);
}

/// Which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Regions,
    OldestTransaction,
    Global,
    ByBucket,
    Inheriting,
}

impl Table for Session<Sim> {
    fn make(seed: u64, kind: Kind) -> Manager<Sim> {
        // Where transactions hold back memory, those that wait hold back much.
        let (locks_max, reclaim) = match kind {
            Kind::Regions => (256, Reclaim::Regions),
            _ => (1 << 14, Reclaim::OldestTransaction),
        };
        let buckets = 1 + (seed % 2) as usize;
        Manager::new(&Options { buckets, locks_max, segment_locks: 8, reclaim })
    }

    fn check_empty(manager: &Manager<Sim>) {
        manager.supply();
        let usage = manager.usage();
        assert_eq!(usage.locks, 0, "nothing is left behind");
        assert_eq!(usage.obsolete, 0, "nor in the way");
    }
}

impl Table for LatchedSession<Sim> {
    fn make(seed: u64, kind: Kind) -> Latched<Sim> {
        Latched::new(&LatchedOptions {
            buckets: 1 + (seed % 2) as usize,
            by_bucket: kind != Kind::Global,
            mutex: MutexKind::ALL[seed as usize / 2 % 4],
            inherits: kind == Kind::Inheriting,
            locks_max: 256,
        })
    }

    fn check_empty(manager: &Latched<Sim>) {
        assert_eq!(manager.locks(), 0, "nothing is left behind");
    }
}

struct World<L: Table> {
    manager: Arc<Shared<Sim, L::Manager>>,
    /// Who has what, told by those who have it.
    ledger: RefCell<Vec<(u32, Name, Mode)>>,
    excluded: Cell<bool>,
    /// Records that are locked.
    names: u64,
    /// Whether the database and a table are, too.
    with_tables: bool,
    workload: &'static str,
    counts: RefCell<Counts>,
}

/// What a run has come through.
#[derive(Default, Clone, Copy, Debug)]
struct Counts {
    granted: u32,
    deadlocks: u32,
    upgrade_deadlocks: u32,
    timeouts: u32,
}

fn below(n: u64) -> u64 {
    Sim::random() % n
}

impl<L: Table> World<L> {
    fn work(&self, core: u32) {
        let mut session = L::session(&self.manager).expect("an agent");
        for _ in 0..TURNS {
            session.begin();
            for _ in 0..=below(4) {
                // Everything may fall into one bucket.
                let (name, mode) = self.draw(core);
                let deadline = (below(4) == 0).then(|| Sim::now() + below(400));
                if let Err(refused) = session.acquire(name, mode, deadline) {
                    self.count_refused(refused);
                    break;
                }
                let held = session.mode_of(name).expect("granted");
                self.enter(core, name, held);
            }
            self.ledger.borrow_mut().retain(|&(owner, ..)| owner != core);
            session.release_all();
        }
    }

    /// What `core` locks: a table now and then, more often with an intention than not, or one of a few records.
    fn draw(&self, core: u32) -> (Name, Mode) {
        if self.workload == "conversions" {
            // Some begin weakly and become stronger, beside others who come and go behind them.
            let modes = if core < 2 { [Mode::Is, Mode::S] } else { [Mode::Ix, Mode::S] };
            return (Name::record(1, 0), modes[below(2) as usize]);
        }
        let any = Mode::ALL[below(5) as usize];
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

/// How a run ended, and what it came through.
fn simulate<L: Table>(
    seed: u64,
    workload: &'static str,
    kind: Kind,
    model: MemoryModel,
    fault: Option<&'static Fault>,
) -> (&'static str, Counts) {
    let schedule =
        if seed.is_multiple_of(3) { Schedule::few_preemptions() } else { Schedule::Random };
    let config = Config {
        schedule,
        fault,
        memory_model: model,
        events_max: 40_000_000,
        ..Config::new(seed)
    };
    let mut run = Run::new(config);
    let world = run.outside(|| {
        let manager = Arc::new(Shared::new(L::make(seed, kind)));
        let (ledger, excluded) = (RefCell::default(), Cell::default());
        Rc::new(World::<L> {
            manager,
            ledger,
            excluded,
            names: 1 + seed % 3,
            with_tables: seed % 4 == 1,
            workload,
            counts: RefCell::default(),
        })
    });
    for core in 0..CORES {
        let world = Rc::clone(&world);
        run.spawn(format!("core {core}"), move || world.work(core));
    }
    let outcome = run.go();
    let mut verdict = outcome.verdict.name();
    if world.excluded.get() {
        verdict = "excluded";
    }
    if verdict == "completed" {
        run.outside(|| {
            L::check_empty(&world.manager);
        });
    } else if fault.is_none() {
        println!("{}", outcome.verdict);
    }
    let counts = *world.counts.borrow();
    run.outside(|| drop(world));
    (verdict, counts)
}

fn seeds() -> u64 {
    std::env::var("CHILIAD_SEEDS").map_or(300, |it| it.parse().expect("a number"))
}

fn model(seed: u64) -> MemoryModel {
    if seed.is_multiple_of(2) { MemoryModel::Tso } else { MemoryModel::Sc }
}

fn nobody_has_what_is_excluded<L: Table>(kind: Kind, seeds: u64) {
    let mut all = Counts::default();
    for seed in 0..seeds {
        let workload = if seed % 5 == 4 { "conversions" } else { "mixed" };
        let (verdict, counts) = simulate::<L>(seed, workload, kind, model(seed), None);
        assert_eq!(verdict, "completed", "seed {seed} {kind:?}");
        all.granted += counts.granted;
        all.deadlocks += counts.deadlocks;
        all.upgrade_deadlocks += counts.upgrade_deadlocks;
        all.timeouts += counts.timeouts;
    }
    println!("{kind:?} {all:?}");
    assert!(all.deadlocks > 0 && all.upgrade_deadlocks > 0 && all.timeouts > 0, "{all:?}");
}

#[test]
fn nobody_has_what_is_excluded_and_everybody_gets_on() {
    for kind in [Kind::Regions, Kind::OldestTransaction] {
        nobody_has_what_is_excluded::<Session<Sim>>(kind, seeds());
    }
}

#[test]
fn the_same_behind_mutexes() {
    for kind in [Kind::Global, Kind::ByBucket, Kind::Inheriting] {
        nobody_has_what_is_excluded::<LatchedSession<Sim>>(kind, seeds() / 4);
    }
}

#[test]
fn planted_bugs_are_caught() {
    for fault in FAULTS.iter().filter(|it| matches!(it.rig, Rig::SimSc | Rig::SimTso)) {
        let model = match fault.rig {
            Rig::SimTso => MemoryModel::Tso,
            _ => MemoryModel::Sc,
        };
        let caught = (0..u64::from(fault.seeds)).find(|&seed| {
            let (verdict, _) =
                simulate::<Session<Sim>>(seed, fault.workload, Kind::Regions, model, Some(fault));
            fault.expected.contains(&verdict)
        });
        println!("{} {caught:?}", fault.name);
        let seed = caught.unwrap_or_else(|| panic!("{}: not caught", fault.name));
        {
            assert_eq!(
                simulate::<Session<Sim>>(seed, fault.workload, Kind::Regions, model, None).0,
                "completed"
            );
        }
    }
}
