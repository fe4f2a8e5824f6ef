//! Single accesses, alone on the machine.

use super::kit::{
    Notes, at_one_line, complete, config, idle, lines, lines_at, mesh, read, timed, wait_until,
    way, way_of_line, write,
};
use chiliad_simulator::Run;

const TILES: usize = 16;

/// A request from `asker` for a line that `owner` has written: own cache, request, slice, request to the
/// owner, its cache, the line back, slice, the line, own cache.
fn transfer(asker: usize, owner: usize, home: usize) -> u64 {
    let there = 1 + way(TILES, asker, home) + 8;
    let fetched = way(TILES, home, owner) + 1 + way_of_line(TILES, owner, home) + 8;
    there + fetched + way_of_line(TILES, home, asker) + 1
}

/// Two cores write one line in turns.
#[test]
fn a_line_goes_to_and_fro() {
    for (left, right, home) in [(0, 15, 5), (3, 12, 3), (6, 9, 15), (1, 2, 2)] {
        let (_, notes) = at_one_line(TILES, home, move |core, line, notes| {
            for round in 1..=10 {
                let turn = if core == left { 0 } else { 1 };
                if core == left || core == right {
                    wait_until(round * 10_000 + turn * 5_000);
                    notes.note((core, timed(|| write(line))));
                }
            }
        });
        assert_eq!(notes.len(), 20);
        for (core, cycles) in notes.into_iter().skip(1) {
            let owner = left + right - core;
            assert_eq!(cycles, transfer(core, owner, home), "{core} from {owner} by {home}");
        }
    }
}

/// The first access brings a line from memory: the slice's tags, its controller's memory. Then its own
/// cache has it.
#[test]
fn a_line_comes_from_memory_once() {
    for home in [0, 5, 15] {
        let mut run = Run::new(config(mesh(), 1));
        let line = lines_at(&run, home, TILES, 1)[0];
        let notes = Notes::new();
        let left = notes.clone();
        run.spawn("reader", move || {
            for _ in 0..3 {
                left.note(timed(|| read(line)));
            }
        });
        idle(&mut run, 1..TILES);
        complete(&mut run);
        let first = 1 + way(TILES, 0, home) + 3 + 100 + way_of_line(TILES, home, 0) + 1;
        assert_eq!(notes.take(), [first, 1, 1]);
    }
}

/// What only one core reads costs the same whoever else does the same.
#[test]
fn private_data_scales() {
    for cores in [1, 2, 9, 64, 256] {
        let mut run = Run::new(config(mesh(), 1));
        let notes = Notes::new();
        for core in 0..cores {
            let mine = lines(&run, 40);
            let notes = notes.clone();
            run.spawn(format!("core {core}"), move || {
                mine.iter().for_each(|line| read(line));
                notes.note(timed(|| {
                    for _ in 0..5 {
                        mine.iter().for_each(|line| read(line));
                    }
                }));
            });
        }
        complete(&mut run);
        assert_eq!(notes.take(), vec![200; cores]);
    }
}
