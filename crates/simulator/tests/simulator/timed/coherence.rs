//! Copies: who has them, what taking them away costs, and that the shared cache knows them all.

use super::kit::{
    Notes, at_one_line, complete, config, idle, lines_at, mesh, read, timed, wait_until, way,
    way_of_line, write,
};
use chiliad_simulator::description::{Cache, Coherence, Description};
use chiliad_simulator::{Run, Timings};

/// Reads a line of its own and then writes it, twice.
fn read_then_write(coherence: Coherence) -> (Timings, Vec<u64>) {
    let mut run = Run::new(config(Description { coherence, ..mesh() }, 1));
    let line = lines_at(&run, 3, 4, 1)[0];
    let notes = Notes::new();
    let left = notes.clone();
    run.spawn("writer", move || {
        read(line);
        left.note(timed(|| write(line)));
        left.note(timed(|| write(line)));
    });
    idle(&mut run, 1..4);
    let outcome = complete(&mut run);
    (outcome.timings.expect("a timed run"), notes.take())
}

#[test]
fn the_first_write_asks_the_home_unless_the_line_is_known_to_be_alone() {
    let (msi, cycles) = read_then_write(Coherence::Msi);
    assert_eq!(msi.misses, 2);
    assert_eq!(cycles, [1 + way(4, 0, 3) + 8 + way(4, 3, 0) + 1, 1]);
    let (mesi, cycles) = read_then_write(Coherence::Mesi);
    assert_eq!(mesi.misses, 1);
    assert_eq!(cycles, [1, 1]);
}

/// Invalidations leave one after the other, a cycle each, in the order of the cores, and the last one to be
/// answered counts.
#[test]
fn a_write_waits_for_all_who_share() {
    const TILES: usize = 64;
    for (sharers, home, held) in [(1, 9, false), (8, 9, false), (62, 20, true), (63, 0, true)] {
        let (outcome, notes) = at_one_line(TILES, home, move |core, line, notes| {
            if (1..=sharers).contains(&core) || (core == 0 && held) {
                wait_until(1_000 * (core as u64 + 1));
                read(line);
            }
            if core == 0 {
                wait_until(100_000);
                notes.note(timed(|| write(line)));
            }
        });
        let timings = outcome.timings.expect("a timed run");
        assert_eq!(timings.invalidations, sharers as u64);
        let answered = |(sent, core): (u64, usize)| sent + 2 * way(TILES, home, core) + 1;
        let gone = (0..).zip(1..=sharers).map(answered).max().expect("sharers");
        let back = if held { way(TILES, home, 0) } else { way_of_line(TILES, home, 0) };
        assert_eq!(notes, [1 + way(TILES, 0, home) + 8 + gone + back + 1], "{sharers}");
    }
}

/// What the shared cache has no room for any more the cores' own caches lose too.
#[test]
fn what_leaves_the_shared_cache_leaves_all() {
    for others in [7, 8] {
        let shared = Cache { bytes: 8 * 64, ways: 8, cycles: 8 };
        let mut run = Run::new(config(Description { shared, ..mesh() }, 1));
        let lines = lines_at(&run, 2, 4, 9);
        let (first, rest) = (lines[0], lines[1..=others].to_vec());
        let notes = Notes::new();
        let left = notes.clone();
        run.spawn("reader", move || {
            write(first);
            wait_until(50_000);
            left.note(timed(|| read(first)));
        });
        run.spawn("other", move || {
            wait_until(10_000);
            rest.iter().for_each(|line| read(line));
        });
        idle(&mut run, 2..4);
        let outcome = complete(&mut run);
        let there = 1 + way(4, 0, 2) + 3 + 100 + way_of_line(4, 2, 0) + 1;
        assert_eq!(notes.take(), [if others == 7 { 1 } else { there }]);
        let reads = outcome.timings.expect("a timed run").memory_reads;
        assert_eq!(reads, if others == 7 { 8 } else { 10 });
    }
}
