//! The ends that a timed run can have.

use super::kit::{complete, config, lines, mesh, wait_until};
use chiliad_machine::{Cost, Machine, Ordering, Spin, Word};
use chiliad_simulator::{Config, Run, Sim, Verdict, stopping};

#[test]
fn a_panic_is_its_cores_own() {
    let mut run = Run::new(config(mesh(), 1));
    let word = lines(&run, 1)[0];
    for core in 0..4 {
        run.spawn(format!("core {core}"), move || {
            for round in 0..100 {
                word.fetch_add(1, Ordering::Relaxed);
                assert!(core != 2 || round != 50, "on purpose");
            }
        });
    }
    let outcome = run.go();
    let Verdict::CorePanicked(panic) = &outcome.verdict else { panic!("{}", outcome.verdict) };
    assert!(panic.name == "core 2" && panic.message.contains("on purpose"), "{panic:?}");
    assert_eq!(outcome.discarded, 0);
    assert_eq!(run.outside(|| word.load(Ordering::Relaxed)), 351);
}

#[test]
fn nobody_left_to_wake_sleepers_is_a_deadlock() {
    let mut run = Run::new(config(mesh(), 1));
    run.spawn("done", || wait_until(1_000));
    run.spawn("asleep", Sim::park);
    let outcome = run.go();
    let Verdict::Deadlock { waiting } = &outcome.verdict else { panic!("{}", outcome.verdict) };
    assert_eq!(waiting.len(), 1);
    assert!(waiting[0].name == "asleep" && waiting[0].parked);
}

/// Two cores that each hold what the other spins for.
fn embrace(config: Config) -> Verdict {
    let mut run = Run::new(config);
    let words = lines(&run, 2);
    for core in 0..2 {
        let words = words.clone();
        run.spawn(format!("core {core}"), move || {
            words[core].store(1, Ordering::Release);
            let mut spin = Spin::<Sim>::new();
            while !stopping() && words[1 - core].load(Ordering::Acquire) != 2 {
                spin.wait();
            }
        });
    }
    run.go().verdict
}

#[test]
fn spins_that_cannot_end_are_found_out() {
    let found = embrace(config(mesh(), 1));
    let Verdict::Deadlock { waiting } = &found else { panic!("{found}") };
    assert_eq!(waiting.len(), 2);
    let found = embrace(Config { naps: false, events_max: 10_000, ..config(mesh(), 1) });
    assert!(matches!(found, Verdict::EventLimit { .. }), "{found}");
}

#[test]
fn a_run_that_is_told_to_stop_ends() {
    let config = Config { stop_after: Some(1_000), ..config(mesh(), 1) };
    let mut run = Run::new(config);
    let word = lines(&run, 1)[0];
    for core in 0..4 {
        run.spawn(format!("core {core}"), move || {
            while !stopping() {
                word.fetch_add(1, Ordering::Relaxed);
                Sim::work(Cost::ALL[0], 10);
            }
        });
    }
    run.spawn_daemon("background", || {
        while !stopping() {
            Sim::park_until(Sim::now() + 1_000);
        }
    });
    let outcome = complete(&mut run);
    assert!(outcome.events < 2_000, "{}", outcome.events);
    assert!(run.outside(|| word.load(Ordering::Relaxed)) > 100);
}

/// A spin that ends by the clock ends by it, though nothing that it reads changes.
#[test]
fn a_spin_with_a_deadline_ends_at_it() {
    let mut run = Run::new(config(mesh(), 1));
    let word = lines(&run, 1)[0];
    run.spawn("waits", move || {
        let mut spin = Spin::<Sim>::new();
        while word.load(Ordering::Acquire) == 0 && Sim::now() < 5_000 {
            spin.wait();
        }
        let now = Sim::now();
        assert!((5_000..5_050).contains(&now), "{now}");
    });
    complete(&mut run);
}
