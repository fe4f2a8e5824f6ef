//! Each host is a chip of its own.

use super::kit::{Notes, complete, config, mesh, timed};
use chiliad_machine::{Class, Machine, Ordering, Word};
use chiliad_simulator::description::{Background, Description};
use chiliad_simulator::{
    Host, Outcome, Run, Sim, SimWord, crash, spawn_crew_during, spawn_during, stopping,
};
use std::alloc::Layout;
use std::cell::Cell;
use std::rc::Rc;

const CORES: u64 = 4;

/// Words of the host that runs, which no two hosts' differ by in what caches and homes look at.
fn words(count: usize) -> &'static [SimWord] {
    let layout = Layout::from_size_align(8 * count, 1 << 16).expect("a small array");
    let block = Sim::alloc(layout, Class::Control).expect("room").cast::<SimWord>();
    // SAFETY: the block is ours, large enough, and lives as long as the run; no test keeps the words longer.
    unsafe {
        (0..count).for_each(|word| block.add(word).write(SimWord::new(0)));
        std::slice::from_raw_parts(block.as_ptr(), count)
    }
}

/// One server's cores contend for lines, read what others write, wake each other, ask the counter in the middle;
/// when each of them has done so.
fn serve(run: &mut Run, host: Host) -> Notes<(u64, u64, Option<u64>)> {
    let (words, notes) = (run.outside_on(host, || words(4096)), Notes::new());
    for core in 0..CORES {
        let notes = notes.clone();
        run.spawn_on(host, format!("{host} core {core}"), move || {
            for round in 0..200 {
                words[0].fetch_add(1, Ordering::AcqRel);
                words[8 * (1 + core as usize)].store(round, Ordering::Release);
                for line in 1..=CORES as usize {
                    words[8 * line].load(Ordering::Acquire);
                }
                words[((round * 37 + core * 11) % 512) as usize * 8].load(Ordering::Acquire);
            }
            let counted = Sim::counter();
            notes.note((core, Sim::now(), counted));
        });
    }
    run.spawn_daemon_on(host, format!("{host} daemon"), move || {
        while !stopping() {
            words[8].load(Ordering::Acquire);
            let until = Sim::now() + 500;
            Sim::park_until(until);
        }
    });
    notes
}

fn machines() -> [Description; 2] {
    let counts = Description { counter: true, ..mesh() };
    [Description { background: Background::Shared, ..counts.clone() }, counts]
}

/// What a host does takes the same cycles, whatever others do at the same time.
#[test]
fn chips_do_not_disturb_each_other() {
    for machine in machines() {
        let among = |hosts: &[u32]| -> (Vec<_>, Outcome) {
            let mut run = Run::new(config(machine.clone(), 5));
            let notes: Vec<_> = hosts.iter().map(|&host| serve(&mut run, Host(host))).collect();
            let outcome = complete(&mut run);
            (notes.iter().map(Notes::take).collect(), outcome)
        };
        let (alone, counted) = among(&[0]);
        let (others, all) = among(&[0, 3, 1, 2]);
        assert_eq!(alone[0].len() as u64, CORES);
        assert!(others.iter().all(|times| *times == alone[0]), "{others:?} {alone:?}");
        let (one, four) = (counted.timings.expect("timed"), all.timings.expect("timed"));
        assert_eq!((four.cycles, four.accesses), (one.cycles, 4 * one.accesses));
        assert_eq!((four.misses, four.transfers), (4 * one.misses, 4 * one.transfers));
        assert_eq!(four.memory_reads, 4 * one.memory_reads);
        assert!(one.transfers > 1000, "they contend: {one:?}");
    }
}

/// Two hosts' words may lie in one line, and neither knows.
#[test]
fn a_line_between_two_hosts_is_in_both_chips() {
    let mut run = Run::new(config(mesh(), 1));
    let small = || {
        let block = Sim::alloc(Layout::new::<SimWord>(), Class::Control).expect("room");
        let word = block.cast::<SimWord>();
        // SAFETY: the block is ours and large enough; it lives as long as the run.
        unsafe {
            word.write(SimWord::new(0));
            word.as_ref()
        }
    };
    let words = [1, 2].map(|host| (Host(host), run.outside_on(Host(host), small)));
    for (host, word) in words {
        run.spawn_on(host, format!("{host}"), move || {
            (0..1000).for_each(|_| _ = word.fetch_add(1, Ordering::AcqRel));
        });
    }
    let timings = complete(&mut run).timings.expect("timed");
    let address = |word| run.outside(|| Sim::address(std::ptr::from_ref::<SimWord>(word).cast()));
    let [first, second] = words.map(|(_, word)| address(word) / 64);
    assert_eq!(first, second, "the test's words share a line");
    assert_eq!((timings.misses, timings.transfers, timings.invalidations), (2, 0, 0));
}

/// A host that starts again has its tiles, with what their caches hold; one that comes late has as many.
#[test]
fn a_host_that_starts_has_tiles_of_its_own() {
    let mut run = Run::new(config(mesh(), 1));
    for core in 0..16 {
        run.spawn_on(Host(1), format!("first {core}"), Sim::park);
    }
    let times = Notes::new();
    let notes = times.clone();
    run.spawn_on(Host(2), "chaos", move || {
        let begun = Sim::now();
        Sim::park_until(begun + 100);
        crash(Host(1));
        for host in [Host(1), Host(9)] {
            let ended = Rc::new(Cell::new(0));
            for core in 0..16 {
                let (ended, notes) = (Rc::clone(&ended), notes.clone());
                spawn_during(host, format!("second {core}"), move || {
                    let words = words(8 * 16);
                    // One line at home on each tile: the more tiles, the further they are.
                    let cycles: u64 = (0..16)
                        .map(|line| timed(|| _ = words[8 * line].load(Ordering::Acquire)))
                        .sum();
                    notes.note((host.0, core, Sim::core(), cycles));
                    ended.set(ended.get() + 1);
                });
            }
            while ended.get() < 16 {
                Sim::pause();
            }
        }
        spawn_crew_during(Host(9), "crew", vec![Box::new(|| {}), Box::new(|| {})]);
    });
    complete(&mut run);
    let times = times.take();
    let of = |host: u32| {
        let mut all: Vec<_> = times.iter().filter(|it| it.0 == host).collect();
        all.sort_unstable_by_key(|it| it.1);
        all.iter().map(|it| it.2).collect::<Vec<_>>()
    };
    assert_eq!(of(1), (1..=16).collect::<Vec<_>>(), "the cores that it had");
    assert_eq!(of(9), (18..=33).collect::<Vec<_>>(), "new ones");
    let sums =
        [1, 9].map(|host| times.iter().filter(|it| it.0 == host).map(|it| it.3).sum::<u64>());
    assert!(sums[0] > 0 && sums[0].abs_diff(sums[1]) < sums[0] / 10, "{sums:?}");
}

/// Requests of the dead are on their way, wait in queues, are half done: those that start on the same cores, and use
/// the same lines, are served.
#[test]
fn nothing_that_the_dead_asked_for_stands_in_the_way() {
    for at in (1..4_000).step_by(13) {
        let mut run = Run::new(config(mesh(), 1));
        let words = run.outside_on(Host(1), || words(8 * 8 * 64));
        let added = Rc::new(Cell::new(0));
        let body = |core: usize, added: &Rc<Cell<u64>>| {
            let (own, added) = (&words[64 * (1 + core)..][..64], Rc::clone(added));
            move || {
                for round in 0..20 {
                    words[0].fetch_add(1, Ordering::AcqRel);
                    added.set(added.get() + 1);
                    SimWord::write_bytes(own, &[round; 512]);
                    let mut bytes = [0; 512];
                    SimWord::read_bytes(own, &mut bytes);
                    assert_eq!(bytes, [round; 512]);
                }
            }
        };
        for core in 0..8 {
            run.spawn_on(Host(1), format!("first {core}"), body(core, &added));
        }
        let second: Vec<_> = (0..8).map(|core| body(core, &added)).collect();
        run.spawn_on(Host(2), "chaos", move || {
            let begun = Sim::now();
            while Sim::now() < begun + at {
                Sim::park_until(begun + at);
            }
            crash(Host(1));
            // Some cores are at rest by then, with a half of a copy behind them.
            let begun = Sim::now();
            Sim::park_until(begun + at % 200);
            for (core, body) in second.into_iter().enumerate() {
                spawn_during(Host(1), format!("second {core}"), body);
            }
        });
        complete(&mut run);
        let counted = run.outside(|| words[0].load(Ordering::Relaxed));
        // An addition may be done that the dead never heard of.
        assert!((added.get()..=added.get() + 8).contains(&counted) && counted >= 160);
    }
}
