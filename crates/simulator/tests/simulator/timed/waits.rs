//! Sleeping, the counter in the middle, background work.

use super::kit::{Notes, complete, config, idle, mesh, timed, wait_until, way};
use chiliad_machine::{Cost, Machine, Woken, WorkerId};
use chiliad_simulator::description::{Background, Description, Waiting};
use chiliad_simulator::{Run, Sim};

/// A wake-up travels to the sleeper's core, which then takes its time.
#[test]
fn a_wake_up_is_a_message_and_a_price() {
    const TILES: usize = 16;
    for (sleeper, waker) in [(0, 15), (4, 5), (13, 2)] {
        let waiting = Waiting { wake: 50, ..mesh().waiting };
        let mut run = Run::new(config(Description { waiting, ..mesh() }, 1));
        let notes = Notes::new();
        for core in 0..TILES {
            let notes = notes.clone();
            run.spawn(format!("core {core}"), move || {
                if core == sleeper {
                    Sim::park();
                    notes.note(Sim::now() - 1);
                } else if core == waker {
                    wait_until(5_000);
                    let now = Sim::now();
                    Sim::unpark(WorkerId(sleeper as u32 + 1));
                    notes.note(now);
                }
            });
        }
        complete(&mut run);
        let notes = notes.take();
        assert_eq!(notes[1] - notes[0], way(TILES, waker, sleeper) + 50);
    }
}

#[test]
fn a_permit_is_kept_and_a_time_comes() {
    let mut run = Run::new(config(mesh(), 1));
    run.spawn("sleeper", || {
        Sim::work(Cost::ALL[0], 1_000);
        // The permit is there.
        assert_eq!(timed(Sim::park), 0);
        assert_eq!(Sim::park_until(3_000), Woken::ByTime);
        assert_eq!(Sim::now(), 3_001);
        assert_eq!(Sim::park_until(9_000), Woken::ByPeer);
    });
    run.spawn("waker", || {
        Sim::unpark(WorkerId(1));
        wait_until(4_000);
        Sim::unpark(WorkerId(1));
    });
    complete(&mut run);
}

/// Whoever asks alone waits for the round trip and the addition; all together get one number a cycle.
#[test]
fn the_counter_adds_one_a_cycle() {
    const TILES: usize = 256;
    let centre = 7 * 16 + 7;
    for core in [0, centre, 255] {
        let mut run = Run::new(config(Description { counter: true, ..mesh() }, 1));
        idle(&mut run, 0..core);
        run.spawn("alone", move || {
            for number in 1..=10 {
                let cycles = timed(|| assert_eq!(Sim::counter(), Some(number)));
                assert_eq!(cycles, 2 * way(TILES, core, centre) + 1);
            }
        });
        idle(&mut run, core + 1..TILES);
        complete(&mut run);
    }
    let mut run = Run::new(config(Description { counter: true, ..mesh() }, 1));
    let notes = Notes::new();
    for core in 0..TILES {
        let notes = notes.clone();
        run.spawn(format!("core {core}"), move || {
            for _ in 0..40 {
                notes.note((Sim::counter().expect("a counter"), Sim::now()));
            }
        });
    }
    complete(&mut run);
    let mut notes = notes.take();
    notes.sort_unstable();
    assert!(notes.iter().zip(1..).all(|(note, number)| note.0 == number));
    // In the middle of the run, where all ask.
    let cycles = notes[8_000].1 - notes[1_000].1;
    assert!((6_900..7_100).contains(&cycles), "{cycles}");
}

#[test]
fn a_machine_without_a_counter_has_none() {
    let run = Run::new(config(mesh(), 1));
    run.outside(|| assert_eq!(Sim::counter(), None));
    run.outside(|| assert!(!Sim::clocks_agree()));
}

/// Cycles of a core's computation beside a thread that computes a tenth of the time.
fn beside(background: Background) -> u64 {
    let mut run = Run::new(config(Description { background, ..mesh() }, 1));
    let notes = Notes::new();
    let left = notes.clone();
    run.spawn("core", move || {
        left.note(timed(|| {
            for _ in 0..1_000 {
                Sim::work(Cost::ALL[0], 100);
                Sim::pause();
            }
        }));
    });
    super::kit::background(&mut run, 1_000, 10_000);
    complete(&mut run);
    notes.take()[0]
}

#[test]
fn background_work_takes_the_time_of_the_core_that_it_shares() {
    let (own, shared) = (beside(Background::Own), beside(Background::Shared));
    assert_eq!(own, 1_000 * 108);
    let share = shared as f64 / own as f64;
    assert!((1.09..1.13).contains(&share), "{share}");
}
