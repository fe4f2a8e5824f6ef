//! Mutexes of every kind exclude and lose no wake-up, on timed cores and under every schedule.

use super::kit::mesh;
use chiliad_machine::{Cost, Machine, Mutex, MutexKind, Ordering, Place, Shared, Word};
use chiliad_simulator::description::{Description, Homes};
use chiliad_simulator::{Config, MemoryModel, Outcome, Run, Schedule, Sim, SimWord};
use std::rc::Rc;

/// What the cores share: a mutex, and a word that only its holder touches.
struct World {
    mutex: Mutex<Sim>,
    inner: Mutex<Sim>,
    count: SimWord,
}

/// Cores, each with a crew, that add one under the mutex, and now and then under another inside it.
fn add(kind: MutexKind, cores: usize, members: usize, config: Config) -> (Outcome, u64) {
    let mut run = Run::new(config);
    let world = Rc::new(run.outside(|| {
        let count = SimWord::new(0);
        Shared::<Sim, _>::new(World { mutex: Mutex::new(kind), inner: Mutex::new(kind), count })
    }));
    for core in 0..cores {
        let member = |_| -> Box<dyn FnOnce()> {
            let world = world.clone();
            Box::new(move || {
                let (mut place, mut nested) = (Place::new(), Place::new());
                for round in 0..6 {
                    let add = || {
                        let before = world.count.load(Ordering::Relaxed);
                        if round == 3 {
                            // In a section nobody sleeps.
                            world.inner.hold_awake(&mut nested, || Sim::work(Cost::ALL[0], 5));
                        }
                        world.count.store(before + 1, Ordering::Relaxed);
                    };
                    world.mutex.hold(&mut place, add);
                    if round == 4 {
                        Sim::pause();
                    }
                }
            })
        };
        run.spawn_crew(&format!("core {core}"), (0..members).map(member).collect());
    }
    let outcome = run.go();
    let count = run.outside(|| world.count.load(Ordering::Relaxed));
    if outcome.verdict.is_completed() {
        run.outside(|| drop(world));
    } else {
        std::mem::forget(world);
    }
    (outcome, count)
}

fn check(kind: MutexKind, cores: usize, members: usize, config: Config) {
    let seed = config.seed;
    let (outcome, count) = add(kind, cores, members, config);
    assert!(outcome.verdict.is_completed(), "{kind:?}, seed {seed}: {}", outcome.verdict);
    assert_eq!(count, (cores * members * 6) as u64, "{kind:?}, seed {seed}");
}

#[test]
fn every_schedule() {
    for kind in MutexKind::ALL {
        for seed in 0..150 {
            let schedule =
                if seed % 2 == 0 { Schedule::Random } else { Schedule::few_preemptions() };
            let memory_model = if seed / 2 % 2 == 0 { MemoryModel::Sc } else { MemoryModel::Tso };
            let members = 1 + (seed / 4 % 3) as usize;
            check(kind, 4, members, Config { schedule, memory_model, ..Config::new(seed) });
        }
    }
}

#[test]
fn timed_cores() {
    for kind in MutexKind::ALL {
        for seed in 0..30 {
            let (cores, members) = ([2, 5, 64][seed as usize % 3], 1 + (seed / 3 % 2) as usize);
            let machine = Some(Description { homes: Homes::Hashed, ..mesh() });
            check(kind, cores, members, Config { machine, ..Config::new(seed) });
        }
    }
}
