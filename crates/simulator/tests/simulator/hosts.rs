//! Hosts: crashes at every moment, restarts, pauses, and memory that nobody shares.

use crate::common::{configs, words};
use chiliad_machine::disk::{Access, BLOCK_BYTES, Blocks, Disk};
use chiliad_machine::{Class, Machine, Ordering, Spin, Woken, Word, WorkerId};
use chiliad_simulator::description::{Description, Waiting};
use chiliad_simulator::{
    Config, DiskFaults, FaultyDisk, Host, MemoryModel, Outcome, Run, Sim, SimWord, Verdict, crash,
    host, pause, spawn_crew_during, spawn_daemon_during, spawn_during, stopping,
};
use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use Ordering::{Acquire, Relaxed, Release};

const CHAOS: Host = Host(0);
const VICTIM: Host = Host(1);
const PEER: Host = Host(2);

/// Explored by seed under both memory models, and timed.
fn all_configs(seeds: u64) -> impl Iterator<Item = Config> {
    let explored = [MemoryModel::Sc, MemoryModel::Tso];
    let explored = explored.into_iter().flat_map(move |model| configs(model, seeds));
    explored.chain((0..seeds).map(timed))
}

fn timed(seed: u64) -> Config {
    Config { machine: Some(Description::mesh()), region_bytes: 4 << 20, ..Config::new(seed) }
}

fn sleep(ticks: u64) {
    let until = Sim::now() + ticks;
    while Sim::now() < until {
        Sim::park_until(until);
    }
}

/// What a server does here: it counts under a latch, sleeps, wakes its sibling, obtains and frees memory.
fn work(words: &[SimWord], rounds: u64, done: &Cell<u64>) {
    for round in 0..rounds {
        let mut spin = Spin::<Sim>::new();
        while words[0].compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            spin.wait();
        }
        Sim::enter_section();
        words[1].store(words[1].load(Relaxed) + 1, Relaxed);
        words[0].store(0, Release);
        Sim::leave_section();
        if round % 3 == 0 {
            sleep(5);
        }
        Sim::await_line(std::ptr::from_ref(&words[2]).cast(), 1);
        let layout = Layout::new::<[u64; 4]>();
        let block = Sim::alloc(layout, Class::Control).expect("room");
        // SAFETY: the block is this function's, and nobody else knows it.
        unsafe { Sim::free(block, layout, Class::Control) };
        done.set(done.get() + 1);
    }
}

const CORES: u64 = 3;
const ROUNDS: u64 = 6;

/// A server on `host`: two cores, one of them with two workers, and a daemon.
fn serve(run: &mut Run, host: Host, done: &Rc<Cell<u64>>) -> &'static [SimWord] {
    let words = run.outside_on(host, || words(8));
    let body = |done: &Rc<Cell<u64>>| -> Box<dyn FnOnce()> {
        let done = Rc::clone(done);
        Box::new(move || work(words, ROUNDS, &done))
    };
    run.spawn_on(host, "alone", body(done));
    run.spawn_crew_on(host, "crew", vec![body(done), body(done)]);
    run.spawn_daemon_on(host, "daemon", || {
        while !stopping() {
            sleep(20);
        }
    });
    words
}

/// Two servers, of which one crashes at a time: how the run ended, and what the victim and its peer had done.
fn crash_at(config: Config, at: u64) -> (Outcome, u64) {
    let mut run = Run::new(config);
    let [victim, peer] = [VICTIM, PEER].map(|_| Rc::new(Cell::new(0)));
    serve(&mut run, VICTIM, &victim);
    let words = serve(&mut run, PEER, &peer);
    let (seen, then) = (Rc::clone(&victim), Rc::new(Cell::new(None)));
    let note = Rc::clone(&then);
    run.spawn_on(CHAOS, "chaos", move || {
        let begun = Sim::now();
        while Sim::now() < begun + at {
            Sim::pause();
        }
        crash(VICTIM);
        note.set(Some(seen.get()));
    });
    let outcome = run.go();
    assert_eq!(then.get(), Some(victim.get()), "the dead do nothing");
    assert_eq!(peer.get(), CORES * ROUNDS, "the peer went on");
    assert_eq!(run.outside(|| words[1].load(Relaxed)), CORES * ROUNDS);
    (outcome, victim.get())
}

#[test]
fn a_host_crashes_at_every_event_and_its_peer_goes_on() {
    let (mut died, mut lived, mut lost) = (0, 0, false);
    for config in all_configs(4) {
        // A timed run's clock goes by cycles, of which an access takes many.
        let (step, last) = if config.machine.is_some() { (17, 12_000) } else { (1, 900) };
        for at in (0..last).step_by(step) {
            let (outcome, done) = crash_at(config.clone(), at);
            assert!(outcome.verdict.is_completed(), "at {at}: {}", outcome.verdict);
            assert_eq!(outcome.discarded, 0);
            assert_eq!(outcome.crashed > 1, done < CORES * ROUNDS, "all but the daemon ends");
            died += u64::from(done < CORES * ROUNDS);
            lived += u64::from(done == CORES * ROUNDS);
            lost |= outcome.marks.contains("stores lost in a crash");
        }
    }
    assert!(died > 1000 && lived > 100 && lost, "{died} {lived} {lost}");
}

#[test]
fn equal_seeds_give_equal_runs_with_crashes() {
    let mut hashes = BTreeSet::new();
    for config in all_configs(10) {
        let run = || crash_at(config.clone(), 150).0;
        let (first, second) = (run(), run());
        assert_eq!(first.trace_hash, second.trace_hash);
        assert_eq!((first.events, first.timings), (second.events, second.timings));
        hashes.insert(first.trace_hash);
    }
    assert!(hashes.len() > 20, "{}", hashes.len());
}

#[test]
fn wake_ups_for_the_dead_are_lost_and_they_count_for_nothing() {
    for config in all_configs(20) {
        let mut run = Run::new(config);
        let sleeper = run.spawn_on(VICTIM, "sleeper", || {
            loop {
                Sim::park();
            }
        });
        run.spawn_on(VICTIM, "timer", || {
            sleep(1000);
            panic!("it is dead by then");
        });
        run.spawn_on(PEER, "peer", move || {
            sleep(10);
            crash(VICTIM);
            Sim::unpark(sleeper);
            // Later than the dead sleeper's alarm.
            sleep(2000);
            Sim::unpark(sleeper);
            crash(VICTIM);
        });
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
        assert_eq!((outcome.crashed, outcome.discarded), (2, 0));
    }
}

#[test]
fn a_deadlock_names_only_the_living() {
    for config in all_configs(10) {
        let mut run = Run::new(config);
        run.spawn_on(VICTIM, "dead", Sim::park);
        run.spawn_on(PEER, "waits", || {
            sleep(10);
            crash(VICTIM);
            Sim::park();
        });
        let outcome = run.go();
        let Verdict::Deadlock { waiting } = outcome.verdict else { panic!("{}", outcome.verdict) };
        assert_eq!(waiting.iter().map(|it| it.worker).collect::<Vec<_>>(), [WorkerId(2)]);
    }
}

#[test]
fn a_run_ends_when_the_last_worker_dies() {
    for config in all_configs(10) {
        let mut run = Run::new(config);
        run.spawn_on(VICTIM, "worker", Sim::park);
        run.spawn_daemon_on(PEER, "daemon", || {
            sleep(10);
            crash(VICTIM);
            while !stopping() {
                sleep(10);
            }
        });
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
        assert_eq!((outcome.crashed, outcome.discarded), (1, 0));
    }
}

/// A page of `byte`s.
fn page(byte: u8) -> Blocks {
    let mut blocks = Blocks::new();
    blocks.push(&[byte; BLOCK_BYTES]);
    blocks.pad();
    blocks
}

#[test]
fn a_host_starts_again_from_its_disk() {
    for config in all_configs(10) {
        let seed = config.seed;
        let mut run = Run::new(config);
        let disk = Rc::new(RefCell::new(FaultyDisk::new(seed, DiskFaults::default())));
        let (synced, found) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let serve = {
            let (synced, found) = (Rc::clone(&synced), Rc::clone(&found));
            move |disk: FaultyDisk| {
                let mut last = 0;
                if disk.is_file("log").is_ok() {
                    let file = disk.open("log", Access::Read).expect("it is there");
                    let mut blocks = Blocks::new();
                    file.read_at(0, BLOCK_BYTES, &mut blocks).expect("no fault");
                    last = blocks.bytes()[0];
                } else {
                    let file = disk.create("log", BLOCK_BYTES as u64).expect("room");
                    file.sync().expect("no fault");
                    disk.sync_names().expect("no fault");
                }
                found.set(last);
                let file = disk.open("log", Access::Write).expect("it is there");
                for byte in last + 1..200 {
                    file.write_at(0, &page(byte)).expect("no fault");
                    file.sync().expect("no fault");
                    synced.set(byte);
                }
            }
        };
        let (first, begin) = (disk.borrow().clone(), serve.clone());
        run.spawn_on(VICTIM, "first", move || begin(first));
        run.spawn_on(CHAOS, "chaos", move || {
            for life in 0..5 {
                sleep(300);
                crash(VICTIM);
                let before = synced.get();
                let after = if life % 2 == 0 {
                    disk.borrow().kill()
                } else {
                    disk.borrow().crash(seed + life)
                };
                disk.replace(after.clone());
                let serve = serve.clone();
                spawn_during(VICTIM, format!("life {life}"), move || {
                    assert_eq!(host(), VICTIM);
                    serve(after);
                });
                sleep(200);
                assert!(found.get() >= before, "what was synced is there");
            }
            crash(VICTIM);
        });
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
    }
}

#[test]
fn hundreds_of_lives_use_the_same_cores() {
    for config in all_configs(2) {
        let mut run = Run::new(config);
        run.spawn_on(VICTIM, "first", Sim::park);
        run.spawn_on(CHAOS, "chaos", || {
            let cores = Rc::new(RefCell::new(BTreeSet::new()));
            for life in 0..300 {
                crash(VICTIM);
                let words = Rc::new(Cell::new(None));
                let (told, seen) = (Rc::clone(&words), Rc::clone(&cores));
                let serve = move |leader: bool| -> Box<dyn FnOnce()> {
                    let (told, seen) = (Rc::clone(&told), Rc::clone(&seen));
                    Box::new(move || {
                        seen.borrow_mut().insert(Sim::core());
                        if leader {
                            told.set(Some(crate::common::words(8)));
                        }
                        loop {
                            match told.get() {
                                Some(words) => work(words, 3, &Cell::new(0)),
                                None => Sim::pause(),
                            }
                        }
                    })
                };
                spawn_during(VICTIM, "leader", serve(true));
                spawn_crew_during(VICTIM, "crew", vec![serve(false), serve(false)]);
                spawn_daemon_during(VICTIM, "daemon", serve(false));
                sleep(if life % 2 == 0 { 200 } else { 1 });
            }
            crash(VICTIM);
            // In a timed run a core is used again when what its last program asked for has been answered.
            assert!(cores.borrow().len() < 24, "{:?}", cores.borrow());
        });
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
        assert_eq!(outcome.crashed, 300 * 4 + 1);
    }
}

/// Stores that a dead core held back have become visible in their order, up to some point.
#[test]
fn a_part_of_a_dead_cores_stores_becomes_visible_in_order() {
    const COUNT: usize = 12;
    let mut ends = BTreeSet::new();
    for config in configs(MemoryModel::Tso, 400) {
        let at = 1 + config.seed % (COUNT as u64 + 4);
        let mut run = Run::new(config);
        let words = run.outside_on(VICTIM, || words(COUNT));
        let made = Rc::new(Cell::new(0));
        let count = Rc::clone(&made);
        run.spawn_on(VICTIM, "writer", move || {
            for word in words {
                word.store(1, Relaxed);
                count.set(count.get() + 1);
            }
            Sim::park();
        });
        let seen = Rc::clone(&made);
        run.spawn_on(CHAOS, "chaos", move || {
            while seen.get() < at.min(COUNT as u64) {
                Sim::pause();
            }
            crash(VICTIM);
        });
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
        let visible = run.outside(|| words.iter().take_while(|it| it.load(Relaxed) == 1).count());
        let holes = run.outside(|| words[visible..].iter().any(|word| word.load(Relaxed) == 1));
        assert!(!holes && visible as u64 <= made.get());
        let lost = made.get() - visible as u64;
        assert_eq!(lost > 0, outcome.marks.contains("stores lost in a crash"));
        ends.insert((lost > 0, visible > 0));
    }
    assert_eq!(ends.len(), 4 - usize::from(!ends.contains(&(false, false))), "{ends:?}");
}

#[test]
fn a_paused_host_does_nothing_and_comes_back() {
    const PAUSE: u64 = 5_000;
    let mut woken = BTreeSet::new();
    for config in all_configs(30) {
        let mut run = Run::new(config);
        let done = Rc::new(Cell::new(0u64));
        let count = Rc::clone(&done);
        run.spawn_on(VICTIM, "busy", move || {
            for _ in 0..400 {
                Sim::pause();
                count.set(count.get() + 1);
            }
        });
        let (how, back) = (Rc::new(Cell::new(None)), Rc::new(Cell::new(0)));
        let (note, time) = (Rc::clone(&how), Rc::clone(&back));
        let sleeper = run.spawn_on(VICTIM, "sleeper", move || {
            note.set(Some(Sim::park_until(Sim::now() + 2_000)));
            time.set(Sim::now());
        });
        run.spawn_on(PEER, "peer", move || {
            sleep(50);
            let (now, before) = (Sim::now(), done.get());
            pause(VICTIM, PAUSE);
            pause(VICTIM, 10);
            let stopped = done.get();
            sleep(1_000);
            if now % 2 == 0 {
                Sim::unpark(sleeper);
            }
            sleep(PAUSE - 1_500);
            assert_eq!(done.get(), stopped, "it is stopped");
            sleep(2_000);
            assert!(before == 400 || done.get() > before || stopped == 400, "it is back");
            assert!(back.get() >= now + PAUSE || back.get() < now + 200, "{} {now}", back.get());
            woken_by(how.get());
        });
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
        woken.insert(outcome.marks.contains("woken by a peer"));
    }
    assert_eq!(woken.len(), 2);
}

fn woken_by(how: Option<Woken>) {
    if how == Some(Woken::ByPeer) {
        Sim::mark("woken by a peer");
    }
}

#[test]
fn a_paused_host_can_crash_and_start_again() {
    for config in all_configs(10) {
        let mut run = Run::new(config);
        run.spawn_on(VICTIM, "first", || {
            loop {
                Sim::pause();
            }
        });
        run.spawn_on(PEER, "peer", || {
            pause(VICTIM, 1_000_000_000);
            crash(VICTIM);
            let begun = Sim::now();
            let ran = Rc::new(Cell::new(false));
            let note = Rc::clone(&ran);
            spawn_during(VICTIM, "second", move || note.set(true));
            sleep(1_000);
            assert!(ran.get() && Sim::now() < begun + 100_000);
        });
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
    }
}

#[test]
fn what_begins_on_a_paused_host_waits_too() {
    for config in all_configs(10) {
        let mut run = Run::new(config);
        run.spawn_on(PEER, "peer", || {
            let begun = Sim::now();
            pause(VICTIM, 3_000);
            let began = Rc::new(Cell::new(0));
            let note = Rc::clone(&began);
            spawn_during(VICTIM, "core", move || note.set(Sim::now()));
            sleep(10_000);
            assert!((begun + 3_000..begun + 10_000).contains(&began.get()));
        });
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
    }
}

/// Threads share cores by slices: those that have one die, and those that wait for one.
#[test]
fn threads_die_with_their_host() {
    let (mut died, mut lived) = (0, 0);
    for config in (0..40).map(timed) {
        let at = 500 * config.seed;
        let slice = Description { waiting: short_slices(), ..Description::mesh() };
        let mut run = Run::new(Config { machine: Some(slice), ..config });
        let done = Rc::new(Cell::new(0));
        let words = run.outside(|| words(8));
        let body = |number: u64| -> (String, Box<dyn FnOnce()>) {
            let done = Rc::clone(&done);
            (format!("thread {number}"), Box::new(move || work(words, ROUNDS, &done)))
        };
        run.spawn_threads(2, (0..5).map(body).collect());
        let seen = Rc::clone(&done);
        run.spawn_on(PEER, "chaos", move || {
            sleep(at);
            crash(Host(0));
            let then = seen.get();
            spawn_during(Host(0), "again", || {
                let word = &crate::common::words(1)[0];
                word.fetch_add(1, Relaxed);
            });
            sleep(5_000);
            assert_eq!(seen.get(), then);
        });
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
        died += outcome.crashed;
        lived += 5 - outcome.crashed;
    }
    assert!(died > 20 && lived > 20, "{died} {lived}");
}

fn short_slices() -> Waiting {
    Waiting { slice: 300, switch: 20, ..Description::mesh().waiting }
}

type Act = fn(&'static SimWord);

/// The verdict on a core of [`PEER`] that does something to a word of [`VICTIM`].
fn trespass(config: Config, act: Act) -> Verdict {
    let mut run = Run::new(config);
    let told = Rc::new(Cell::new(None));
    let known = Rc::clone(&told);
    run.spawn_on(VICTIM, "owner", move || {
        let words = words(2);
        words[0].store(1, Release);
        told.set(Some(words));
    });
    run.spawn_on(PEER, "stranger", move || {
        let own = words(1);
        own[0].store(2, Relaxed);
        let words = loop {
            match known.get() {
                Some(words) => break words,
                None => Sim::pause(),
            }
        };
        act(&words[1]);
        unreachable!("the run stops before");
    });
    run.go().verdict
}

#[test]
fn nobody_touches_memory_of_another_host() {
    let acts: [(Act, &str); 5] = [
        (|word| _ = word.load(Relaxed), "Load"),
        (|word| word.store(1, Relaxed), "Store"),
        (|word| _ = word.fetch_add(1, Relaxed), ""),
        (|word| Sim::poison(std::ptr::from_ref(word).cast(), 8), "Poison"),
        (
            |word| {
                let block = std::ptr::NonNull::from(word).cast();
                // SAFETY: it is not, which is the point: the run stops before anything is freed.
                unsafe { Sim::free(block, Layout::new::<u64>(), Class::Control) };
            },
            "Free",
        ),
    ];
    for config in all_configs(6) {
        for (act, name) in acts {
            let verdict = trespass(config.clone(), act);
            assert_eq!(verdict.name(), "foreign memory");
            let said = verdict.to_string();
            assert!(
                said.starts_with(&format!("host 2 touched memory of host 1: {name}")),
                "{said}"
            );
            let Verdict::ForeignMemory(found) = verdict else { unreachable!("by its name") };
            assert_eq!((found.host, found.owner), (PEER, VICTIM));
            assert_eq!((found.worker, found.name.as_str()), (WorkerId(2), "stranger"));
        }
    }
}

#[test]
fn memory_made_outside_is_that_of_the_host_it_is_made_for() {
    for (made_for, fits) in [(CHAOS, false), (VICTIM, false), (PEER, true)] {
        for config in all_configs(3) {
            let mut run = Run::new(config);
            let words = run.outside_on(made_for, || words(1));
            // Whoever is outside may look at and change all.
            run.outside(|| words[0].store(words[0].load(Relaxed) + 1, Relaxed));
            run.outside_on(VICTIM, || words[0].store(words[0].load(Relaxed) + 1, Relaxed));
            run.spawn_on(PEER, "peer", || assert_eq!(words[0].fetch_add(1, Relaxed), 2));
            let outcome = run.go();
            assert_eq!(outcome.verdict.is_completed(), fits, "{}", outcome.verdict);
            assert_eq!(run.outside(|| words[0].load(Relaxed)), 2 + u64::from(fits));
        }
    }
}

/// What one host has freed another may be handed out, and then it is its own.
#[test]
fn freed_memory_changes_hands() {
    let layout = Layout::from_size_align(1 << 20, 8).expect("a layout");
    for config in all_configs(10) {
        let mut run = Run::new(Config { region_bytes: 2 << 20, ..config });
        run.spawn_on(CHAOS, "chaos", move || {
            for number in 1..6 {
                let host = Host(number);
                let ended = Rc::new(Cell::new(false));
                let end = Rc::clone(&ended);
                spawn_during(host, "short", move || {
                    let block = Sim::alloc(layout, Class::Control).expect("the only room");
                    let word = block.cast::<SimWord>();
                    // SAFETY: the block is ours, and large enough.
                    unsafe {
                        word.write(SimWord::new(0));
                        word.as_ref().store(1, Relaxed);
                        Sim::poison(block.as_ptr(), 64);
                        Sim::unpoison(block.as_ptr(), 64);
                        assert_eq!(word.as_ref().load(Relaxed), 1);
                        Sim::free(block, layout, Class::Control);
                    }
                    end.set(true);
                });
                while !ended.get() {
                    Sim::pause();
                }
            }
        });
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
    }
}

#[test]
fn a_section_of_the_dead_is_over() {
    for config in configs(MemoryModel::Sc, 10) {
        let mut run = Run::new(config);
        run.spawn_on(VICTIM, "holder", || {
            Sim::enter_section();
            loop {
                Sim::stall(false);
                if stopping() {
                    return;
                }
            }
        });
        run.spawn_on(PEER, "spinner", || {
            Sim::yield_now();
            crash(VICTIM);
            loop {
                Sim::stall(false);
            }
        });
        assert_eq!(run.go().verdict.name(), "spin for nobody");
    }
}

#[test]
fn misuse_is_told() {
    let said = |body: fn()| {
        let mut run = Run::new(Config::new(1));
        run.spawn_on(VICTIM, "core", body);
        run.go().verdict.to_string()
    };
    assert!(said(|| crash(VICTIM)).contains("host 1 cannot do that to itself"));
    assert!(said(|| pause(VICTIM, 1)).contains("host 1 cannot do that to itself"));
    assert!(said(|| _ = spawn_during(Host(1 << 20), "x", || {})).contains("hosts at most"));
    let outside = std::panic::catch_unwind(|| Run::new(Config::new(1)).outside(|| crash(VICTIM)));
    assert!(outside.is_err());
}

/// A program without hosts, by its configuration.
fn without_hosts(config: Config) -> Outcome {
    let mut run = Run::new(config);
    let words = run.outside(|| words(32));
    for core in 0..6u64 {
        let body = move |member: u64| {
            for i in 0..20u64 {
                let mut spin = Spin::<Sim>::new();
                while words[0].compare_exchange(0, 1, Acquire, Relaxed).is_err() {
                    spin.wait();
                }
                words[((core + member + i) % 16 + 8) as usize].store(i, Relaxed);
                words[1].store(words[1].load(Relaxed) + 1, Relaxed);
                words[0].store(0, Release);
                if i % 4 == 0 {
                    let until = Sim::now() + Sim::random() % 50;
                    Sim::park_until(until);
                }
                Sim::await_line(std::ptr::from_ref(&words[2]).cast(), 1);
                Sim::heavy_fence();
            }
        };
        if core % 2 == 0 {
            run.spawn(format!("{core}"), move || body(0));
        } else {
            let body = |member| -> Box<dyn FnOnce()> { Box::new(move || body(member)) };
            run.spawn_crew(&format!("{core}"), (0..3).map(body).collect());
        }
    }
    run.go()
}

/// The seeds that are written down somewhere mean the runs that they meant before there were hosts. Whoever
/// has to change this number changes all of them.
#[test]
fn runs_without_hosts_are_what_they_were() {
    let explored = [MemoryModel::Sc, MemoryModel::Tso];
    let explored = explored.into_iter().flat_map(|model| configs(model, 40));
    let all = explored.chain((0..10).map(timed)).fold(0u64, |all, config| {
        let outcome = without_hosts(config);
        all.rotate_left(7) ^ outcome.trace_hash ^ outcome.events
    });
    assert_eq!(all, 0xc574_c314_2352_e80a);
}
