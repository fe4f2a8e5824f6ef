//! The simulated disk under simulated cores: where they take turns, what a sync covers, and runs
//! that lose power and are followed by others.

use crate::common::configs;
use chiliad_machine::Machine;
use chiliad_machine::disk::{Access, BLOCK_BYTES, Blocks, Disk};
use chiliad_simulator::{Config, DiskFaults, FaultyDisk, MemoryModel, Outcome, Run, Sim, Verdict};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const BLOCK: u64 = BLOCK_BYTES as u64;

fn block(byte: u8) -> Blocks {
    let mut blocks = Blocks::new();
    blocks.push(&[byte; BLOCK_BYTES]);
    blocks
}

/// Two cores, each of which writes and syncs a file of its own; who did what, in order.
fn two_writers(config: Config) -> (Outcome, Vec<&'static str>) {
    let disk = FaultyDisk::new(config.seed, DiskFaults::default());
    let mut run = Run::new(config);
    let order = Rc::new(RefCell::new(Vec::new()));
    for name in ["a", "b"] {
        let (disk, order) = (disk.clone(), order.clone());
        run.spawn(name, move || {
            let file = disk.create(name, 4 * BLOCK).unwrap();
            for at in 0..4 {
                file.write_at(at * BLOCK, &block(1)).unwrap();
                order.borrow_mut().push(name);
            }
            file.sync().unwrap();
            disk.sync_names().unwrap();
        });
    }
    let outcome = run.go();
    (outcome, order.take())
}

#[test]
fn cores_take_turns_at_a_disk_and_equal_seeds_repeat() {
    let (mut interleaved, mut hashes) = (0, std::collections::BTreeSet::new());
    for config in configs(MemoryModel::Sc, 40) {
        let (outcome, order) = two_writers(config.clone());
        assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
        interleaved += u64::from(order.windows(2).filter(|two| two[0] != two[1]).count() > 1);
        let (again, same) = two_writers(config);
        assert_eq!((outcome.trace_hash, &order), (again.trace_hash, &same));
        hashes.insert(outcome.trace_hash);
    }
    assert!(interleaved > 20, "{interleaved}");
    assert!(hashes.len() > 30, "{}", hashes.len());
}

#[test]
fn a_sync_takes_time_and_covers_what_was_written_before_it_began() {
    let mut later_lost = 0;
    for config in configs(MemoryModel::Sc, 40) {
        let faults = DiskFaults { sync_ticks_mean: 1000, ..DiskFaults::default() };
        let disk = FaultyDisk::new(config.seed, faults);
        let mut run = Run::new(config.clone());
        let syncing = Rc::new(Cell::new(true));
        let lasted = Rc::new(Cell::new(0));
        let file = disk.create("a", 2 * BLOCK).unwrap();
        disk.sync_names().unwrap();
        file.sync().unwrap();
        let (worker, flag, ticks) = (disk.clone(), syncing.clone(), lasted.clone());
        run.spawn("syncs", move || {
            file.write_at(0, &block(1)).unwrap();
            let start = Sim::now();
            file.sync().unwrap();
            flag.set(false);
            ticks.set(Sim::now() - start);
            drop(worker);
        });
        let (worker, flag) = (disk.clone(), syncing);
        let during = Rc::new(Cell::new(false));
        let noted = during.clone();
        run.spawn("writes", move || {
            let file = worker.open("a", Access::Write).unwrap();
            Sim::park_until(Sim::now() + 40);
            file.write_at(BLOCK, &block(2)).unwrap();
            noted.set(flag.get());
        });
        assert!(run.go().verdict.is_completed());
        assert!(lasted.get() > 1, "{}", lasted.get());
        for seed in 0..10 {
            let found = disk.crash(seed).contents("a").expect("its name is durable");
            assert!(found[..BLOCK_BYTES].iter().all(|&byte| byte == 1), "synced");
            let lost = found[BLOCK_BYTES..].iter().all(|&byte| byte == 0);
            later_lost += u64::from(lost && during.get());
        }
    }
    assert!(later_lost > 10, "{later_lost}");
}

#[test]
fn a_wake_up_during_a_sync_is_not_lost() {
    for config in configs(MemoryModel::Sc, 60) {
        let disk = FaultyDisk::new(config.seed, DiskFaults::default());
        let mut run = Run::new(config);
        let sleeper = run.spawn("sleeps", move || {
            disk.create("a", BLOCK).unwrap().sync().unwrap();
            Sim::park();
        });
        run.spawn("wakes", move || Sim::unpark(sleeper));
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
    }
}

#[test]
fn outside_the_schedule_an_operation_is_just_performed() {
    let run = Run::new(Config::new(1));
    let disk = FaultyDisk::new(1, DiskFaults::default());
    run.outside(|| {
        let file = disk.create("a", BLOCK).unwrap();
        file.write_at(0, &block(1)).unwrap();
        let before = Sim::now();
        file.sync().unwrap();
        assert_eq!(Sim::now(), before + 1, "the two looks alone took time");
    });
    assert_eq!(disk.contents("a").unwrap()[0], 1);
}

/// A core appends blocks and acknowledges each after its sync, until the run is halted. The next run
/// finds what was acknowledged, whatever became of the rest; its own file works.
#[test]
fn the_next_run_finds_what_the_halted_one_acknowledged() {
    let (mut unfinished, mut unacknowledged) = (0, 0);
    for seed in 0..60 {
        let disk = FaultyDisk::new(seed, DiskFaults::default());
        let acknowledged = Rc::new(Cell::new(0));
        let config = Config { events_max: 20 + seed * 4, ..Config::new(seed) };
        let mut run = Run::new(config);
        let (worker, count) = (disk.clone(), acknowledged.clone());
        run.spawn("appends", move || {
            let file = worker.create("log", 32 * BLOCK).unwrap();
            worker.sync_names().unwrap();
            for at in 0..32 {
                file.write_at(at * BLOCK, &block(1)).unwrap();
                file.sync().unwrap();
                count.set(at as usize + 1);
                if chiliad_simulator::stopping() {
                    // Halted here: what was begun stays as it is.
                    file.write_at((at + 1) * BLOCK, &block(1)).unwrap();
                    loop {
                        Sim::pause();
                    }
                }
            }
        });
        let outcome = run.go();
        unfinished += u64::from(matches!(outcome.verdict, Verdict::EventLimit { .. }));
        drop(run);
        let after = disk.crash(seed);
        let mut next = Run::new(Config::new(seed));
        let found = Rc::new(Cell::new(0));
        let (worker, blocks) = (after.clone(), found.clone());
        next.spawn("recovers", move || {
            let file = worker.open("log", Access::Read).expect("its name is durable");
            let mut read = Blocks::new();
            loop {
                read.clear();
                file.read_at(blocks.get() as u64 * BLOCK, BLOCK_BYTES, &mut read).unwrap();
                if read.is_empty() || read.bytes().iter().any(|&byte| byte != 1) {
                    break;
                }
                blocks.set(blocks.get() + 1);
            }
            worker.create("next", BLOCK).unwrap().sync().unwrap();
        });
        let outcome = next.go();
        assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
        assert!(found.get() >= acknowledged.get(), "seed {seed}");
        unacknowledged += u64::from(found.get() > acknowledged.get());
        assert!(disk.names().is_err() && after.names().unwrap() == ["log", "next"]);
    }
    assert!(unfinished > 20, "{unfinished}");
    assert!(unacknowledged > 0, "{unacknowledged}");
}
