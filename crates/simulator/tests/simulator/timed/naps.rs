//! Cores that sleep through their spins take the same cycles as cores that spin.

use super::kit::{Notes, background, complete, config, lines, mesh};
use chiliad_machine::{Cost, Machine, Mutex, MutexKind, Ordering, Place, Shared, Spin, Word};
use chiliad_simulator::description::{Background, Coherence, Description, Homes, Slack};
use chiliad_simulator::{Config, Outcome, Run, Sim};
use std::cell::Cell;
use std::rc::Rc;

/// When what happened on which core.
type Story = Vec<(u64, usize)>;

fn setup(seed: u64, naps: bool) -> Config {
    let coherence = if seed.is_multiple_of(2) { Coherence::Msi } else { Coherence::Mesi };
    let slack =
        [Slack::of(0), Slack::of(16), Slack { read: 500, write: 40 }][seed as usize / 2 % 3];
    let machine = Description { homes: Homes::Hashed, coherence, slack, ..mesh() };
    Config { naps, ..config(machine, seed) }
}

/// Cores that want a mutex again and again, and hold it for long.
fn contend(kind: MutexKind, cores: usize, config: Config) -> (Outcome, Story) {
    let mut run = Run::new(config);
    let mutex = Rc::new(run.outside(|| Shared::<Sim, _>::new(Mutex::<Sim>::new(kind))));
    let notes = Notes::new();
    for core in 0..cores {
        let (mutex, notes) = (mutex.clone(), notes.clone());
        run.spawn(format!("core {core}"), move || {
            let mut place = Place::new();
            for _ in 0..4 {
                mutex.hold(&mut place, || {
                    Sim::work(Cost::ALL[0], 500 + (Sim::random() % 2_000) as u32);
                    notes.note((Sim::now(), core));
                });
                Sim::work(Cost::ALL[0], (Sim::random() % 300) as u32);
            }
        });
    }
    let outcome = complete(&mut run);
    run.outside(|| drop(mutex));
    (outcome, notes.take())
}

#[test]
fn mutexes_take_the_same_cycles() {
    for kind in [MutexKind::Spin, MutexKind::Ticket, MutexKind::Mcs] {
        for seed in 0..12 {
            let cores = [3, 16, 40][seed as usize % 3];
            let (asleep, story) = contend(kind, cores, setup(seed, true));
            let (awake, same) = contend(kind, cores, setup(seed, false));
            assert_eq!(story, same, "{kind:?}, {cores} cores, seed {seed}");
            let (asleep_at, awake_at) =
                (asleep.timings.expect("time"), awake.timings.expect("time"));
            assert_eq!(asleep_at.cycles, awake_at.cycles);
            assert_eq!(asleep_at.misses, awake_at.misses);
            assert!(asleep_at.naps > 0 && awake_at.naps == 0);
            assert!(asleep.events * 2 < awake.events, "{} {}", asleep.events, awake.events);
        }
    }
}

/// All wait for one line, which one changes now and then.
fn follow(cores: usize, config: Config) -> (Outcome, Story) {
    follow_in(Run::new(config), cores, 0)
}

/// The same in a run to which something may have been added, by core `writer`.
fn follow_in(mut run: Run, cores: usize, writer: usize) -> (Outcome, Story) {
    let word = lines(&run, 1)[0];
    let notes = Notes::new();
    for core in 0..cores {
        let notes = notes.clone();
        run.spawn(format!("core {core}"), move || {
            for round in 1..=5 {
                if core == writer {
                    Sim::work(Cost::ALL[0], 3_000 + (Sim::random() % 100) as u32);
                    word.store(round, Ordering::Release);
                }
                let mut spin = Spin::<Sim>::new();
                while word.load(Ordering::Acquire) < round {
                    spin.wait();
                }
                notes.note((Sim::now(), core));
            }
        });
    }
    let outcome = complete(&mut run);
    (outcome, notes.take())
}

#[test]
fn those_who_wait_for_one_see_it_at_the_same_cycle() {
    for seed in 0..20 {
        let cores = [2, 10, 64][seed as usize % 3];
        let (asleep, story) = follow(cores, setup(seed, true));
        let (awake, same) = follow(cores, setup(seed, false));
        assert_eq!(story, same, "{cores} cores, seed {seed}");
        assert!(asleep.events * 2 < awake.events, "{} {}", asleep.events, awake.events);
    }
}

/// Core 0, which waits, has a guest that takes its time.
#[test]
fn whoever_has_guests_sees_it_at_the_same_cycle() {
    for seed in 0..20 {
        let cores = [2, 10, 64][seed as usize % 3];
        let [(asleep, story), (awake, same)] = [true, false].map(|naps| {
            let mut config = setup(seed, naps);
            config.machine.as_mut().expect("timed").background = Background::Shared;
            let mut run = Run::new(config);
            background(&mut run, 70, 700);
            follow_in(run, cores, 1)
        });
        assert_eq!(story, same, "{cores} cores, seed {seed}");
        if cores > 2 {
            assert!(asleep.events * 2 < awake.events, "{} {}", asleep.events, awake.events);
        }
    }
}

/// Whoever spins sees also what is written by a core whose doings take no time any more.
#[test]
fn what_takes_no_time_is_seen() {
    let mut run = Run::new(setup(2, true));
    let word = lines(&run, 1)[0];
    let stored = Rc::new(Cell::new(0));
    for core in 0..2 {
        let stored = stored.clone();
        run.spawn(format!("core {core}"), move || {
            if core == 0 {
                Sim::work(Cost::ALL[0], 3_000);
                // It is this core's turn from here on: the other has come to its spin.
                assert_eq!(word.load(Ordering::Acquire), 0);
                stored.set(Sim::now());
                Sim::clocked(false);
                word.store(1, Ordering::Release);
                return;
            }
            let mut spin = Spin::<Sim>::new();
            while word.load(Ordering::Acquire) == 0 {
                spin.wait();
            }
            assert!(Sim::now() >= stored.get(), "not seen before it was stored");
        });
    }
    let outcome = complete(&mut run);
    assert!(outcome.timings.expect("time").naps > 0);
    assert!(stored.get() >= 3_000);
}
