//! The lock tables alone, in seeded interleavings; the campaign runs the same with planted bugs.

use chiliad_driver::{LockCounts, LockLoad, LockTableKind, LockTrial};
use chiliad_lock::FAULTS;
use chiliad_machine::Rig;
use chiliad_simulator::MemoryModel;

fn seeds() -> u64 {
    std::env::var("CHILIAD_SEEDS").map_or(300, |it| it.parse().expect("a number"))
}

fn nobody_has_what_is_excluded(table: LockTableKind, seeds: u64) {
    let mut all = LockCounts::default();
    for seed in 0..seeds {
        let load = if seed % 5 == 4 { LockLoad::Conversions } else { LockLoad::Mixed };
        let model = if seed.is_multiple_of(2) { MemoryModel::Tso } else { MemoryModel::Sc };
        let trial = LockTrial { table, load, memory_model: model, seed, fault: None };
        let verdict = trial.run().expect("room");
        assert_eq!(verdict.wrong, None, "seed {seed} {table:?}: {}", verdict.text);
        all.add(&verdict.counts);
    }
    println!("{table:?} {all:?}");
    assert!(all.deadlocks > 0 && all.upgrade_deadlocks > 0 && all.timeouts > 0, "{all:?}");
}

#[test]
fn nobody_has_what_is_excluded_and_everybody_gets_on() {
    for table in [LockTableKind::Scalable, LockTableKind::Oldest] {
        nobody_has_what_is_excluded(table, seeds());
    }
}

#[test]
fn the_same_behind_mutexes() {
    for table in [LockTableKind::Global, LockTableKind::Bucket, LockTableKind::Inheriting] {
        nobody_has_what_is_excluded(table, seeds() / 10);
    }
}

#[test]
fn the_holder_of_one_lock_waits_for_others_only() {
    for table in [LockTableKind::Scalable, LockTableKind::Global, LockTableKind::Inheriting] {
        for seed in 0..seeds() / 2 {
            let (load, memory_model) = (LockLoad::Single, MemoryModel::Sc);
            let verdict = LockTrial { table, load, memory_model, seed, fault: None };
            let verdict = verdict.run().expect("room");
            assert_eq!(verdict.wrong, None, "seed {seed} {table:?}: {}", verdict.text);
            let LockCounts { granted, deadlocks, upgrade_deadlocks, .. } = verdict.counts;
            assert!(granted > 0, "seed {seed} {table:?}");
            assert_eq!((deadlocks, upgrade_deadlocks), (0, 0), "seed {seed} {table:?}");
        }
    }
}

#[test]
fn planted_bugs_are_caught() {
    for &fault in FAULTS {
        let memory_model = match fault.rig {
            Rig::SimTso => MemoryModel::Tso,
            Rig::SimSc => MemoryModel::Sc,
            _ => continue,
        };
        let load = LockLoad::named(fault.workload).expect("a load of locks alone");
        let trial = |seed, fault| LockTrial {
            table: LockTableKind::Scalable,
            load,
            memory_model,
            seed,
            fault,
        };
        let caught = (0..u64::from(fault.seeds)).find(|&seed| {
            let wrong = trial(seed, Some(fault)).run().expect("room").wrong;
            wrong.is_some_and(|wrong| fault.expected.contains(&wrong))
        });
        println!("{} {caught:?}", fault.name);
        let seed = caught.unwrap_or_else(|| panic!("{}: not caught", fault.name));
        assert_eq!(trial(seed, None).run().expect("room").wrong, None, "{}", fault.name);
    }
}
