//! Scheduling, parking and the ends that a run can have.

use crate::common::{configs, run_with_words, words};
use chiliad_machine::{Fault, Machine, Ordering, Rig, Spin, Woken, Word, WorkerId};
use chiliad_simulator::{
    Config, MemoryModel, Outcome, Run, Schedule, Sim, SimWord, TooManySteps, Verdict, stopping,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use Ordering::{AcqRel, Acquire, Relaxed, Release};

fn latch(word: &SimWord) {
    let mut spin = Spin::<Sim>::new();
    while word.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
        spin.wait();
    }
    Sim::enter_section();
}

fn unlatch(word: &SimWord) {
    word.store(0, Release);
    Sim::leave_section();
}

/// Sixteen cores that increment a plain counter under a spin latch.
fn latched(config: Config) -> (Outcome, u64) {
    let (mut run, words) = run_with_words(config, 2);
    for core in 0..16 {
        run.spawn(format!("core {core}"), move || {
            for _ in 0..20 {
                latch(&words[0]);
                words[1].store(words[1].load(Relaxed) + 1, Relaxed);
                unlatch(&words[0]);
            }
        });
    }
    let outcome = run.go();
    (outcome, run.outside(|| words[1].load(Relaxed)))
}

#[test]
fn spins_make_progress_and_exclude_under_every_schedule() {
    for memory_model in [MemoryModel::Sc, MemoryModel::Tso] {
        for config in configs(memory_model, 40) {
            let (outcome, sum) = latched(config);
            assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
            assert_eq!(sum, 320);
        }
    }
}

#[test]
fn equal_seeds_give_equal_runs_wherever_memory_lies() {
    for memory_model in [MemoryModel::Sc, MemoryModel::Tso] {
        let mut hashes = std::collections::BTreeSet::new();
        for config in configs(memory_model, 20) {
            let first = latched(config.clone()).0;
            let (junk, mapped) =
                (vec![0_u8; 12_345 + config.seed as usize], Run::new(config.clone()));
            let again = config.clone();
            let there = std::thread::spawn(move || latched(again).0.trace_hash);
            let second = latched(config).0;
            assert_eq!((first.events, first.switches), (second.events, second.switches));
            assert_eq!(first.trace_hash, second.trace_hash);
            assert_eq!(first.trace_hash, there.join().expect("no panic"));
            hashes.insert(first.trace_hash);
            drop((junk, mapped));
        }
        assert_eq!(hashes.len(), 20);
    }
}

#[test]
fn a_permit_given_before_the_park_is_not_lost() {
    for config in configs(MemoryModel::Tso, 200) {
        let (mut run, words) = run_with_words(config, 1);
        let sleeper = run.spawn("sleeper", move || {
            while words[0].load(Acquire) == 0 {
                Sim::park();
            }
        });
        run.spawn("waker", move || {
            words[0].store(1, Release);
            Sim::unpark(sleeper);
        });
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
    }
}

#[test]
fn a_lost_wake_up_is_a_deadlock_and_names_the_sleeper() {
    let mut found = 0;
    for config in configs(MemoryModel::Sc, 100) {
        let (mut run, words) = run_with_words(config, 2);
        let sleeper = run.spawn("sleeper", move || {
            if words[0].load(Acquire) == 0 {
                words[1].store(1, Release);
                Sim::park();
            }
        });
        run.spawn("waker", move || {
            // The mistake: whoever has not announced itself yet is not woken.
            let announced = words[1].load(Acquire) == 1;
            words[0].store(1, Release);
            if announced {
                Sim::unpark(sleeper);
            }
        });
        let outcome = run.go();
        if let Verdict::Deadlock { waiting } = &outcome.verdict {
            found += 1;
            assert_eq!(waiting.len(), 1);
            assert_eq!((waiting[0].name.as_str(), waiting[0].parked), ("sleeper", true));
            // Told to stop, it returned.
            assert_eq!(outcome.discarded, 0);
        }
    }
    assert!(found > 5, "{found}");
}

#[test]
fn a_ticker_alone_does_not_hide_a_deadlock() {
    let mut run = Run::new(Config::new(3));
    run.spawn("sleeper", Sim::park);
    run.spawn_daemon("ticker", || {
        while !stopping() {
            Sim::park_until(Sim::now() + 100);
        }
    });
    let outcome = run.go();
    assert!(matches!(outcome.verdict, Verdict::Deadlock { .. }), "{}", outcome.verdict);
    assert_eq!(outcome.discarded, 0);
}

#[test]
fn time_passes_for_sleepers_and_the_clock_jumps() {
    for config in configs(MemoryModel::Sc, 20) {
        let mut run = Run::new(config);
        let order = Rc::new(RefCell::new(Vec::new()));
        for delay in [300_000, 100_000, 200_000] {
            let order = Rc::clone(&order);
            run.spawn("sleeper", move || {
                let time = Sim::now() + delay;
                assert_eq!(Sim::park_until(time), Woken::ByTime);
                assert!(Sim::now() >= time);
                order.borrow_mut().push(delay);
            });
        }
        let outcome = run.go();
        assert!(outcome.verdict.is_completed());
        assert!(outcome.events < 100);
        assert_eq!(*order.borrow(), [100_000, 200_000, 300_000]);
    }
}

#[test]
fn a_peer_wakes_before_the_time() {
    let mut run = Run::new(Config::new(1));
    let sleeper = run.spawn("sleeper", || {
        assert_eq!(Sim::park_until(Sim::now() + 1_000_000), Woken::ByPeer);
        assert!(Sim::now() < 1_000_000);
    });
    assert_eq!(sleeper, WorkerId(1));
    run.spawn("waker", move || Sim::unpark(sleeper));
    assert!(run.go().verdict.is_completed());
}

#[test]
fn daemons_end_when_the_others_have() {
    for config in configs(MemoryModel::Tso, 20) {
        let (mut run, words) = run_with_words(config, 1);
        let ended = Rc::new(Cell::new(false));
        let seen = Rc::clone(&ended);
        run.spawn_daemon("ticker", move || {
            while !stopping() {
                words[0].fetch_add(1, AcqRel);
                Sim::park_until(Sim::now() + 50);
            }
            seen.set(true);
        });
        run.spawn("worker", move || {
            while words[0].load(Acquire) < 10 {
                Sim::pause();
            }
            assert!(!stopping());
        });
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
        assert!(ended.get());
        assert_eq!(outcome.discarded, 0);
    }
}

/// Makes a shared access when it is dropped.
struct Guard(&'static SimWord);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_add(1, AcqRel);
        latch(self.0);
    }
}

#[test]
fn cores_that_never_end_are_discarded_and_the_next_run_is_sound() {
    for config in configs(MemoryModel::Tso, 20) {
        let config = Config { events_max: 5_000, ..config };
        let (mut run, words) = run_with_words(config, 2);
        run.spawn("stuck", move || {
            let _guard = Guard(&words[1]);
            loop {
                Sim::pause();
            }
        });
        run.spawn("asleep", move || {
            let _guard = Guard(&words[1]);
            loop {
                Sim::park();
            }
        });
        run.spawn("done", || {});
        let outcome = run.go();
        let Verdict::EventLimit { waiting } = &outcome.verdict else {
            panic!("{}", outcome.verdict);
        };
        assert_eq!(waiting.len(), 2);
        assert_eq!(outcome.discarded, 2);
        assert_eq!(run.outside(|| words[1].load(Relaxed)), 0);
        drop(run);
        let (outcome, sum) = latched(Config::new(1));
        assert!(outcome.verdict.is_completed());
        assert_eq!(sum, 320);
    }
}

#[test]
fn a_panic_is_reported_and_the_others_finish() {
    for config in configs(MemoryModel::Tso, 50) {
        let (mut run, words) = run_with_words(config, 3);
        run.spawn("bad", move || {
            latch(&words[1]);
            // Released while unwinding: performed, not scheduled.
            struct Release(&'static SimWord);
            impl Drop for Release {
                fn drop(&mut self) {
                    for _ in 0..1_000 {
                        self.0.fetch_and(0, AcqRel);
                        Sim::pause();
                    }
                    Sim::leave_section();
                }
            }
            let _release = Release(&words[1]);
            assert_eq!(words[0].load(Relaxed), 99, "not what I expected");
        });
        for _ in 0..3 {
            run.spawn("good", move || {
                for _ in 0..10 {
                    assert!(!std::thread::panicking());
                    latch(&words[1]);
                    words[2].fetch_add(1, Relaxed);
                    unlatch(&words[1]);
                }
            });
        }
        let outcome = run.go();
        let Verdict::CorePanicked(panic) = &outcome.verdict else { panic!("{}", outcome.verdict) };
        assert_eq!((panic.name.as_str(), panic.worker), ("bad", WorkerId(1)));
        assert!(panic.message.contains("not what I expected"), "{}", panic.message);
        assert!(panic.message.contains("running.rs"), "{}", panic.message);
        assert_eq!(outcome.panics.len(), 1);
        assert_eq!(run.outside(|| words[2].load(Relaxed)), 30);
    }
}

#[test]
fn a_caught_panic_is_nobodys_business() {
    let mut run = Run::new(Config::new(1));
    run.spawn("careful", || {
        let caught = std::panic::catch_unwind(|| panic!("caught"));
        assert!(caught.is_err());
    });
    assert!(run.go().verdict.is_completed());
}

static PLANTED: Fault = Fault {
    name: "planted",
    step: "nothing",
    rig: Rig::SimSc,
    schemes: &[],
    workload: "none",
    expected: &[],
    seeds: 1,
};
static OTHER: Fault = Fault { name: "other", ..PLANTED };

#[test]
fn faults_and_marks_are_the_runs_own() {
    let program = |config: Config| {
        let mut run = Run::new(config);
        run.spawn("core", || {
            assert!(!Sim::fault(&OTHER));
            Sim::mark(if Sim::fault(&PLANTED) { "planted" } else { "clean" });
            Sim::mark("both");
        });
        run.go().marks.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(program(Config::new(1)), ["both", "clean"]);
    let planted = Config { fault: Some(&PLANTED), ..Config::new(1) };
    assert_eq!(program(planted), ["both", "planted"]);
}

#[test]
fn random_numbers_belong_to_the_core_and_the_seed() {
    let program = |seed| {
        let mut run = Run::new(Config::new(seed));
        let drawn = Rc::new(RefCell::new(vec![0; 2]));
        for core in 0..2 {
            let drawn = Rc::clone(&drawn);
            run.spawn("core", move || drawn.borrow_mut()[core] = Sim::random());
        }
        assert!(run.go().verdict.is_completed());
        drawn.take()
    };
    assert_eq!(program(1), program(1));
    assert_ne!(program(1), program(2));
    assert_ne!(program(1)[0], program(1)[1]);
}

#[test]
fn cores_stop_early_when_the_run_says_so() {
    let mut run = Run::new(Config { stop_after: Some(1_000), ..Config::new(1) });
    let word = run.outside(|| &words(1)[0]);
    for _ in 0..2 {
        run.spawn("worker", move || {
            while !stopping() {
                word.fetch_add(1, Relaxed);
            }
        });
    }
    let outcome = run.go();
    assert!(outcome.verdict.is_completed());
    assert!((1_000..1_010).contains(&outcome.events));
}

#[test]
fn a_run_without_cores_or_with_daemons_alone_ends() {
    assert!(Run::new(Config::new(1)).go().verdict.is_completed());
    let mut run = Run::new(Config::new(1));
    run.spawn_daemon("ticker", || {
        while !stopping() {
            Sim::pause();
        }
    });
    assert!(run.go().verdict.is_completed());
}

#[test]
fn a_run_that_never_goes_drops_its_closures_in_its_own_memory() {
    struct Last(Rc<Cell<bool>>, &'static SimWord);
    impl Drop for Last {
        fn drop(&mut self) {
            self.1.store(5, Release);
            self.0.set(true);
        }
    }
    let (mut run, words) = run_with_words(Config::new(1), 1);
    let dropped = Rc::new(Cell::new(false));
    let last = Last(Rc::clone(&dropped), &words[0]);
    run.spawn("never", move || drop(last));
    drop(run);
    assert!(dropped.get());
}

#[test]
fn many_cores_run() {
    let config = Config { schedule: Schedule::few_preemptions(), ..Config::new(1) };
    let (mut run, words) = run_with_words(config, 1);
    for _ in 0..200 {
        run.spawn("core", move || {
            for _ in 0..10 {
                words[0].fetch_add(1, Relaxed);
            }
        });
    }
    assert!(run.go().verdict.is_completed());
    assert_eq!(run.outside(|| words[0].load(Relaxed)), 2_000);
}

#[test]
fn a_look_at_memory_that_does_not_end_is_given_up() {
    let timed = chiliad_simulator::description::Description::tiled(4);
    for machine in [None, Some(timed)] {
        let config = Config { machine, ..Config::new(1) };
        let (run, words) = run_with_words(config, 1);
        let read = |times: u64| (0..times).map(|_| words[0].load(Relaxed)).sum::<u64>();
        assert_eq!(run.outside_within(100, || read(99)), Ok(0));
        let mut reads = 0;
        let endless = || loop {
            reads += words[0].load(Relaxed) + 1;
        };
        assert_eq!(run.outside_within(100, endless), Err::<(), _>(TooManySteps));
        assert_eq!(reads, 99);
        // The bound is that of one look, and holds for no other.
        assert_eq!(run.outside(|| read(1000)), 0);
        assert_eq!(run.outside_within(100, || read(50)), Ok(0));
    }
}
