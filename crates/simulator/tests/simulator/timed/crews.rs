//! Several workers on one timed core.

use super::kit::{Notes, complete, config, idle, lines, mesh};
use chiliad_machine::{Cost, Machine, Ordering, Patience, Word, WorkerId};
use chiliad_simulator::{Run, Sim};

/// Three workers take turns where they pause; the core does the work of all.
#[test]
fn workers_share_their_cores_time() {
    let mut run = Run::new(config(mesh(), 1));
    let notes = Notes::new();
    let worker = |number: u64| -> Box<dyn FnOnce()> {
        let notes = notes.clone();
        Box::new(move || {
            for _ in 0..10 {
                Sim::work(Cost::ALL[0], 100);
                notes.note((Sim::now(), number));
                Sim::pause();
            }
        })
    };
    run.spawn_crew("crew", (0..3).map(worker).collect());
    let outcome = complete(&mut run);
    let notes = notes.take();
    assert!(notes.is_sorted(), "time passes on a core, whoever runs");
    assert!(notes.iter().zip((0..3).cycle()).all(|(note, number)| note.1 == number));
    let cycles = outcome.timings.expect("a timed run").cycles;
    assert_eq!(cycles, 30 * (100 + 1 + 8));
    assert_eq!(outcome.counters.hand_overs, 30);
}

/// One waits for what its sibling does, which therefore must run; a third sleeps and is woken from another
/// core.
#[test]
fn siblings_wait_for_each_other_and_for_others() {
    let mut run = Run::new(config(mesh(), 1));
    let word = lines(&run, 1)[0];
    let waits: Box<dyn FnOnce()> = Box::new(move || {
        let mut patience = Patience::<Sim>::new();
        while word.load(Ordering::Acquire) != 2 {
            patience.wait();
        }
    });
    let steps: Box<dyn FnOnce()> = Box::new(move || {
        for _ in 0..200 {
            Sim::work(Cost::ALL[0], 50);
            Sim::pause();
        }
        word.fetch_add(1, Ordering::AcqRel);
    });
    let sleeps: Box<dyn FnOnce()> = Box::new(move || {
        while word.load(Ordering::Acquire) == 0 {
            Sim::park();
        }
        word.fetch_add(1, Ordering::AcqRel);
    });
    run.spawn_crew("crew", vec![waits, steps, sleeps]);
    run.spawn("waker", move || {
        let mut patience = Patience::<Sim>::new();
        while word.load(Ordering::Acquire) == 0 {
            patience.wait();
        }
        Sim::unpark(WorkerId(3));
    });
    idle(&mut run, 2..9);
    complete(&mut run);
    assert_eq!(run.outside(|| word.load(Ordering::Relaxed)), 2);
}
