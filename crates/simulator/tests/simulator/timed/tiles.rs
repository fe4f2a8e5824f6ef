//! Tiles of several cores: a second cache that they share, first caches that write through.

use super::kit::{Notes, complete, config, lines_at, mesh, read, timed, wait_until, write};
use chiliad_machine::{Machine, Ordering, Word};
use chiliad_simulator::description::{Cache, Coherence, Description, Homes, Memory, Slack, Tiles};
use chiliad_simulator::{Config, Run, Sim, SimWord};

/// Cores of a tile, and tiles.
const CORES: usize = 4;
const TILES: usize = 4;

/// Four tiles of four cores, with latencies as Yan (2015, Table 5.1) has them.
fn tiled() -> Description {
    Description {
        tiles: Some(Tiles { cores: CORES as u32 }),
        cores_max: (CORES * TILES) as u32,
        first: Cache { bytes: 16 << 10, ways: 8, cycles: 2 },
        second: Some(Cache { bytes: 256 << 10, ways: 8, cycles: 7 }),
        coherence: Coherence::Mesi,
        ..mesh()
    }
}

/// What every core does with two lines at `home`, and what the cores noted.
fn on_all<T: 'static>(
    machine: Description,
    home: usize,
    body: impl Fn(usize, [&SimWord; 2], &Notes<T>) + Copy + 'static,
) -> (chiliad_simulator::Timings, Vec<T>) {
    let mut run = Run::new(config(machine, 1));
    let all = lines_at(&run, home, TILES, 2);
    let lines = [all[0], all[1]];
    let notes = Notes::new();
    for core in 0..CORES * TILES {
        let notes = notes.clone();
        run.spawn(format!("core {core}"), move || body(core, lines, &notes));
    }
    let outcome = complete(&mut run);
    (outcome.timings.expect("a timed run"), notes.take())
}

/// Cycles of a message's head between two of the four tiles, and of one with a line.
fn way(from: usize, to: usize) -> u64 {
    2 * ((from % 2).abs_diff(to % 2) + (from / 2).abs_diff(to / 2)) as u64
}

fn way_of_line(from: usize, to: usize) -> u64 {
    if from == to { 0 } else { way(from, to) + 8 }
}

/// One sibling's miss brings a line for all: the next one finds it in the second cache, and then in its own.
#[test]
fn siblings_find_what_one_has_brought() {
    let (timings, notes) = on_all(tiled(), 3, |core, [line, _], notes| {
        if core == 0 {
            notes.note([timed(|| read(line)), timed(|| read(line))]);
        } else if core == 1 {
            wait_until(5_000);
            notes.note([timed(|| read(line)), timed(|| read(line))]);
        }
    });
    let missed = 7 + way(0, 3) + 3 + 100 + way_of_line(3, 0) + 2;
    assert_eq!(notes, [[missed, 2], [7, 2]]);
    assert_eq!((timings.misses, timings.memory_reads), (1, 1));
}

/// A line that is on its way for one sibling is there for the other when it arrives, and is fetched once.
#[test]
fn a_sibling_waits_for_a_line_on_its_way() {
    let (timings, notes) = on_all(tiled(), 3, |core, [line, _], notes| {
        if core < 2 {
            wait_until(1_000 + core as u64 * 112);
            read(line);
            notes.note(Sim::now() - 1_001);
        }
    });
    // Served by the home when its memory has answered, and on its way from then on.
    let arrives = 7 + way(0, 3) + 3 + 100 + way_of_line(3, 0);
    assert_eq!(timings.memory_reads, 1);
    assert!(notes[1] >= arrives, "{notes:?}");
    assert!(notes[1] <= arrives + 7 + 2, "{notes:?}");
}

/// A write goes through to the second cache and takes the line from the siblings' first ones.
#[test]
fn a_write_takes_the_line_from_siblings() {
    let (timings, notes) = on_all(tiled(), 2, |core, [line, _], notes| match core {
        0 => {
            write(line);
            wait_until(5_000);
            notes.note(timed(|| write(line)));
            wait_until(9_000);
            notes.note(timed(|| read(line)));
        }
        1 => {
            wait_until(2_000);
            notes.note(timed(|| read(line)));
            notes.note(timed(|| read(line)));
            wait_until(7_000);
            notes.note(timed(|| read(line)));
            notes.note(timed(|| _ = line.fetch_add(1, Ordering::AcqRel)));
        }
        _ => {}
    });
    // Core 1 reads by the second cache; core 0 writes through; core 1 has lost it, and adds; so has core 0.
    assert_eq!(notes, [7, 2, 7, 7, 7, 7]);
    assert_eq!((timings.misses, timings.invalidations, timings.transfers), (1, 0, 0));
}

/// Between tiles the directory asks the tile, whichever core of it wrote, and tells all its cores.
#[test]
fn the_directory_knows_tiles() {
    let home = 1;
    let (timings, notes) = on_all(tiled(), home, move |core, [line, _], notes| match core {
        // Two cores of tile 0 hold it, of which one has written.
        0 => write(line),
        3 => {
            wait_until(2_000);
            read(line);
            wait_until(8_000);
            notes.note(timed(|| read(line)));
        }
        // A core of tile 2 takes it.
        8 => {
            wait_until(5_000);
            notes.note(timed(|| write(line)));
        }
        _ => {}
    });
    let fetched = |asker: usize, owner: usize| {
        7 + way(asker, home) + 8 + way(home, owner) + 7 + way_of_line(owner, home) + 8
    };
    let taken = fetched(2, 0) + way_of_line(home, 2) + 2;
    let back = fetched(0, 2) + way_of_line(home, 0) + 2;
    assert_eq!(notes, [taken, back]);
    assert_eq!((timings.transfers, timings.misses), (2, 3));
}

/// A sharer is a tile: a write waits for one answer of each.
#[test]
fn a_write_waits_for_tiles() {
    let (timings, _) = on_all(tiled(), 1, |core, [line, _], _: &Notes<()>| {
        if core >= 4 {
            wait_until(1_000 * core as u64);
            read(line);
        } else if core == 0 {
            wait_until(50_000);
            write(line);
        }
    });
    assert_eq!(timings.invalidations, 3);
    assert_eq!(timings.memory_reads, 1);
}

/// What the second cache loses the first ones lose too.
#[test]
fn a_second_cache_holds_all_that_the_first_ones_do() {
    let second = Some(Cache { bytes: 64, ways: 1, cycles: 7 });
    let (timings, notes) =
        on_all(Description { second, ..tiled() }, 0, |core, [line, other], notes| {
            if core == 0 {
                read(line);
                wait_until(5_000);
                notes.note(timed(|| read(line)));
            } else if core == 1 {
                wait_until(2_000);
                read(other);
            }
        });
    assert_eq!(notes, [7 + 8 + 2], "from the slice");
    assert_eq!((timings.misses, timings.memory_reads), (3, 2));
}

/// A core that spins on a line sleeps until a sibling writes it, or until a sibling's line pushes it out.
#[test]
fn naps_end_by_siblings_as_they_do_awake() {
    let spin = |naps: bool, ways: u32| {
        let second = Some(Cache { bytes: 64 * u64::from(ways), ways, cycles: 7 });
        let machine = Description { second, ..tiled() };
        let mut run = Run::new(Config { naps, ..config(machine, 1) });
        let all = lines_at(&run, 0, TILES, 3);
        let (flag, others) = (all[0], [all[1], all[2]]);
        let notes = Notes::new();
        for core in 0..CORES {
            let notes = notes.clone();
            run.spawn(format!("core {core}"), move || match core {
                0 => {
                    while flag.load(Ordering::Acquire) == 0 {
                        Sim::stall(true);
                    }
                    notes.note(Sim::now());
                }
                1 => {
                    wait_until(3_000);
                    others.iter().for_each(|line| read(line));
                }
                2 => {
                    wait_until(9_001);
                    write(flag);
                }
                _ => {}
            });
        }
        let outcome = complete(&mut run);
        (notes.take(), outcome.timings.expect("a timed run").naps)
    };
    for ways in [2, 8] {
        let ((slept, naps), (spun, none)) = (spin(true, ways), spin(false, ways));
        assert_eq!(slept, spun, "{ways} ways");
        assert!(naps > 0 && none == 0);
    }
}

/// Additions by all cores of a tile all count, whatever else they race with.
#[test]
fn no_addition_is_lost() {
    for seed in 0..10 {
        let first = Cache { bytes: 64 * 4, ways: 2, cycles: 2 };
        let second = Some(Cache { bytes: 64 * 8, ways: 2, cycles: 7 });
        let slack = Slack::of(16);
        let machine = Description { first, second, slack, homes: Homes::Hashed, ..tiled() };
        let mut run = Run::new(config(machine, seed));
        let lines: Vec<_> = (0..TILES).flat_map(|home| lines_at(&run, home, TILES, 4)).collect();
        for core in 0..CORES * TILES {
            let lines = lines.clone();
            run.spawn(format!("core {core}"), move || {
                for _ in 0..100 {
                    let line = lines[Sim::random() as usize % lines.len()];
                    line.fetch_add(1, Ordering::Relaxed);
                    read(lines[Sim::random() as usize % lines.len()]);
                }
            });
        }
        complete(&mut run);
        let sum: u64 = run.outside(|| lines.iter().map(|line| line.load(Ordering::Relaxed)).sum());
        assert_eq!(sum, (CORES * TILES * 100) as u64);
    }
}

/// Half of the cores have half of the tiles and half of the controllers.
#[test]
fn fewer_cores_have_fewer_tiles_and_controllers() {
    for (cores, controllers) in [(16, 4), (8, 2), (4, 1), (1, 1)] {
        let memory = Memory { controllers: Some(4), cycles: 100, line_centicycles: 10_000 };
        let mut run = Run::new(config(Description { memory, ..tiled() }, 1));
        let tiles = usize::div_ceil(cores, CORES);
        let lines: Vec<_> =
            (0..tiles).map(|home| lines_at(&run, home, tiles, 50 * cores)).collect();
        for core in 0..cores {
            let home = |turn: usize| lines[(core + turn) % tiles][50 * core + turn];
            let mine: Vec<_> = (0..50).map(home).collect();
            run.spawn(format!("core {core}"), move || mine.iter().for_each(|line| read(line)));
        }
        let cycles = complete(&mut run).timings.expect("a timed run").cycles;
        // A controller transfers a line in a hundred cycles (short queues are ignored), and a core waits two hundred for one.
        let least = (50 * cores / controllers * 100) as u64;
        assert!(cycles >= least * 19 / 20, "{cores} cores: {cycles} of {least}");
        if cores >= 4 {
            assert!(cycles < least * 6 / 5, "{cores} cores: {cycles} of {least}");
        }
    }
}
