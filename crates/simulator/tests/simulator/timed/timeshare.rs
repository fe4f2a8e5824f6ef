//! More threads than cores.

use super::kit::{Notes, complete, config, lines, mesh, timed, wait_until};
use chiliad_machine::{
    Cost, Machine, Mutex, MutexKind, Ordering, Place, Shared, Spin, Woken, Word, WorkerId,
};
use chiliad_simulator::description::{Description, Waiting};
use chiliad_simulator::{Config, Outcome, Run, Sim};
use std::rc::Rc;

const SLICE: u64 = 10_000;
const SWITCH: u64 = 700;

/// A machine whose threads have slices of [`SLICE`] cycles, and change hands in [`SWITCH`].
fn shared_mesh() -> Description {
    let waiting = Waiting { slice: SLICE as u32, switch: SWITCH as u32, ..mesh().waiting };
    Description { waiting, ..mesh() }
}

/// When what happened on which core.
type Story = Notes<(u64, u32)>;

/// Threads on so many cores that do what `body` does, by their numbers from 0 on.
fn threads(
    run: &mut Run,
    cores: usize,
    count: usize,
    body: impl Fn(usize) + Clone + 'static,
) -> Vec<WorkerId> {
    let thread = |number: usize| -> (String, Box<dyn FnOnce()>) {
        let body = body.clone();
        (format!("thread {number}"), Box::new(move || body(number)))
    };
    run.spawn_threads(cores, (0..count).map(thread).collect())
}

fn compute(cycles: u64) {
    Sim::work(Cost::ALL[0], cycles as u32);
}

/// A core does the work of all its threads, and switches at the end of each slice.
#[test]
fn threads_that_compute_take_turns() {
    for (count, slices) in [(2, 1), (2, 8), (3, 5), (7, 3)] {
        let mut run = Run::new(config(shared_mesh(), 1));
        let notes = Notes::new();
        let left = notes.clone();
        threads(&mut run, 1, count, move |number| {
            compute(slices * SLICE - 1);
            left.note((Sim::now(), number));
        });
        let outcome = complete(&mut run);
        // The look at the clock is the last cycle of the last slice, and the thread leaves behind it.
        let switches = count as u64 * slices - 1;
        let turn = |thread: u64| {
            let before = count as u64 * (slices - 1) + thread;
            before * (SLICE + SWITCH) + SLICE
        };
        let expected: Vec<(u64, usize)> =
            (0..count).map(|number| (turn(number as u64), number)).collect();
        assert_eq!(notes.take(), expected);
        assert_eq!(outcome.counters.context_switches, switches);
        assert_eq!(outcome.counters.preemptions, switches - (count as u64 - 1));
    }
}

/// With a core for each thread nothing is shared, whether or not others idle.
#[test]
fn threads_with_a_core_each_are_cores() {
    let story = |spawn: &dyn Fn(&mut Run, Story)| {
        let mut run = Run::new(config(shared_mesh(), 1));
        let notes = Notes::new();
        spawn(&mut run, notes.clone());
        let outcome = complete(&mut run);
        (notes.take(), outcome.trace_hash, outcome.counters.context_switches)
    };
    let body = |notes: &Story| {
        compute(3 * SLICE);
        notes.note((Sim::now(), Sim::core()));
    };
    let cores = story(&|run, notes| {
        for core in 0..4 {
            let notes = notes.clone();
            run.spawn(format!("core {core}"), move || body(&notes));
        }
    });
    assert_eq!(cores.0, [1, 2, 3, 4].map(|core| (3 * SLICE + 1, core)));
    let threads_of = |cores: usize, count: usize| {
        story(&|run, notes| {
            threads(run, cores, count, move |_| body(&notes));
        })
    };
    assert_eq!(threads_of(4, 4), cores);
    assert_eq!(threads_of(9, 4).0, cores.0);
}

/// Five threads on two cores: all have had as much when they have had it several times.
#[test]
fn slices_are_fair_and_threads_migrate() {
    let mut run = Run::new(config(shared_mesh(), 1));
    let notes = Notes::new();
    let left = notes.clone();
    threads(&mut run, 2, 5, move |number| {
        for _ in 0..200 {
            compute(999);
            left.note((Sim::now(), number, Sim::core()));
        }
    });
    let outcome = complete(&mut run);
    let notes = notes.take();
    for number in 0..5 {
        let of = |until: u64| notes.iter().filter(|it| it.1 == number && it.0 < until).count();
        // A round is two and a half slices, and the switches.
        for rounds in 1..7 {
            let work = of(rounds * 5 * (SLICE + SWITCH)) as f64;
            let fair = rounds as f64 * 2.0 * SLICE as f64 / 1_000.0;
            assert!((work - fair).abs() <= 11.0, "thread {number}: {work} of {fair}");
        }
        let mut cores: Vec<u32> = notes.iter().filter(|it| it.1 == number).map(|it| it.2).collect();
        cores.dedup();
        assert!(cores.len() > 3, "thread {number} on {cores:?}");
    }
    let busy = 5 * 200 * 1_000 + outcome.counters.context_switches * SWITCH;
    let last = notes.iter().map(|it| it.0).max().expect("notes");
    assert!((busy / 2..busy / 2 + 2 * SLICE).contains(&last), "{last} of {busy}");
}

/// Who sleeps leaves its core to who is ready; who is woken waits for one that is free.
#[test]
fn sleepers_give_their_core_away() {
    let mut run = Run::new(config(shared_mesh(), 1));
    let notes = Notes::new();
    let left = notes.clone();
    threads(&mut run, 1, 2, move |number| {
        if number == 0 {
            compute(1_000);
            Sim::park();
            left.note((Sim::now(), 0));
            assert_eq!(Sim::park_until(50_000), Woken::ByTime);
            left.note((Sim::now(), 0));
        } else {
            left.note((Sim::now(), 1));
            compute(2_000);
            Sim::unpark(WorkerId(1));
            compute(3_000);
            left.note((Sim::now(), 1));
        }
    });
    let outcome = complete(&mut run);
    // Nobody pre-empts who has its core; and nobody takes over an idle one from anybody.
    let second = 1_000 + SWITCH;
    let woken = second + 1 + 5_000 + 1 + SWITCH;
    let expected = [(second + 1, 1), (second + 1 + 5_000 + 1, 1), (woken + 1, 0), (50_001, 0)];
    assert_eq!(notes.take(), expected);
    assert_eq!((outcome.counters.context_switches, outcome.counters.preemptions), (2, 0));
}

/// A wake-up takes its time, and goes to an idle core where there is one.
#[test]
fn whoever_wakes_takes_an_idle_core() {
    const WAKE: u64 = 400;
    let machine = shared_mesh();
    let waiting = Waiting { wake: WAKE as u32, ..machine.waiting };
    let mut run = Run::new(config(Description { waiting, ..machine }, 1));
    let notes = Notes::new();
    let left = notes.clone();
    // Two cores: the first thread sleeps, the third has its core, and the second one's has nobody.
    threads(&mut run, 2, 3, move |number| match number {
        0 => {
            Sim::park();
            left.note((Sim::now(), Sim::core()));
        }
        1 => compute(2_000),
        _ => {
            wait_until(4_000);
            let now = Sim::now();
            left.note((now, Sim::core()));
            Sim::unpark(WorkerId(1));
            compute(3_000);
        }
    });
    complete(&mut run);
    let [(asked, from), (woken, to)] = notes.take()[..] else { panic!("two notes") };
    assert_ne!(from, to);
    assert!((WAKE..WAKE + 10).contains(&(woken - asked)), "{}", woken - asked);
}

/// Cycles until a thread, which waits with `wait` for another that was pre-empted, goes on.
fn waits(wait: fn(&mut Spin<Sim>)) -> (u64, Outcome) {
    let mut run = Run::new(config(shared_mesh(), 1));
    let word = lines(&run, 1)[0];
    let notes = Notes::new();
    let left = notes.clone();
    threads(&mut run, 1, 2, move |number| {
        if number == 0 {
            // Pre-empted with a thousand cycles to go.
            compute(SLICE + 1_000);
            word.store(1, Ordering::Release);
            compute(5_000);
        } else {
            left.note(timed(|| {
                let mut spin = Spin::new();
                while word.load(Ordering::Acquire) == 0 {
                    wait(&mut spin);
                }
            }));
        }
    });
    let outcome = complete(&mut run);
    (notes.take()[0], outcome)
}

/// Who only pauses keeps the core from whom it waits for until its slice is over; who yields does not.
#[test]
fn a_spin_burns_its_slice_and_a_patient_one_yields() {
    let (burnt, outcome) = waits(|_| Sim::pause());
    // Its slice, and what the other does in one of its own: it ends before that is over.
    let others = SWITCH + 6_000 + SWITCH;
    assert!((SLICE + others..SLICE + others + 600).contains(&burnt), "{burnt}");
    assert_eq!(outcome.counters.preemptions, 2);
    let (yielded, outcome) = waits(|_| Sim::yield_now());
    assert!((others..others + 600).contains(&yielded), "{yielded}");
    assert_eq!(outcome.counters.preemptions, 1);
    // A spin for a latch pauses for a while before it yields.
    let (spun, outcome) = waits(Spin::wait);
    assert!((others + 500..others + 2_000).contains(&spun), "{spun}");
    assert_eq!(outcome.counters.preemptions, 1);
}

/// A spin that is slept through while nobody is ready yields to who wakes.
#[test]
fn who_naps_yields_to_who_wakes() {
    let story = |naps: bool| {
        let mut run = Run::new(Config { naps, ..config(shared_mesh(), 1) });
        let word = lines(&run, 1)[0];
        let notes = Notes::new();
        let left = notes.clone();
        threads(&mut run, 1, 2, move |number| {
            if number == 0 {
                assert_eq!(Sim::park_until(300_000), Woken::ByTime);
                left.note(Sim::now());
                word.store(1, Ordering::Release);
            } else {
                while word.load(Ordering::Acquire) == 0 {
                    Sim::yield_now();
                }
                left.note(Sim::now());
            }
        });
        let outcome = complete(&mut run);
        (notes.take(), outcome.counters.context_switches, outcome.events)
    };
    let (asleep, awake) = (story(true), story(false));
    assert_eq!(asleep.1, awake.1);
    // A round of the spin is a read and a pause.
    assert!(
        asleep.0.iter().zip(&awake.0).all(|(a, b)| a.abs_diff(*b) <= 9),
        "{asleep:?} {awake:?}"
    );
    assert!((300_000 + SWITCH..300_200 + SWITCH).contains(&asleep.0[0]), "{:?}", asleep.0);
    assert!(asleep.2 * 10 < awake.2, "{} {}", asleep.2, awake.2);
}

/// Times that threads hold a latch in so many cycles on four cores: it is wanted for a tenth of the time.
fn holds(count: usize, until: u64, seed: u64) -> (usize, Outcome) {
    let mut run = Run::new(config(shared_mesh(), seed));
    let mutex =
        Rc::new(run.outside(|| Shared::<Sim, _>::new(Mutex::<Sim>::new(MutexKind::Ticket))));
    let (notes, shared) = (Notes::new(), mutex.clone());
    let left = notes.clone();
    threads(&mut run, 4, count, move |_| {
        let mut place = Place::new();
        while Sim::now() < until {
            shared.hold(&mut place, || compute(100));
            left.note(());
            compute(900 + Sim::random() % 200);
        }
    });
    let outcome = complete(&mut run);
    run.outside(|| drop(mutex));
    (notes.take().len(), outcome)
}

/// A holder that loses its core keeps all others out until it has one again, and they queue up behind it.
#[test]
fn a_convoy_forms_behind_a_latch_whose_holder_lost_its_core() {
    const UNTIL: u64 = 100 * SLICE;
    let (alone, outcome) = holds(4, UNTIL, 1);
    assert_eq!(outcome.counters.context_switches, 0);
    assert!(alone as u64 > 4 * UNTIL / 1_000 * 7 / 10, "{alone}");
    let (crowd, outcome) = holds(40, UNTIL, 1);
    assert!(outcome.counters.context_switches > 400);
    assert!(crowd * 2 < alone, "{crowd} of {alone}");
}

#[test]
fn equal_seeds_give_equal_runs() {
    let run = |seed| {
        let (held, outcome) = holds(23, 20 * SLICE, seed);
        (held, outcome.trace_hash, outcome.timings, outcome.counters)
    };
    for seed in 1..4 {
        assert_eq!(run(seed), run(seed));
        assert_ne!(run(seed), run(seed + 1));
    }
}
