//! Atomic additions to one word: the ceiling of Yu, 2015, 4.3.1.

use super::kit::{at_one_line, way, way_of_line};
use chiliad_machine::{Machine, Ordering, Word};
use chiliad_simulator::Sim;

/// What one addition holds the line's home: the slice twice, the owner's cache, a cycle to begin; and the
/// way to the core that has the line and back, with the line.
fn service(tiles: usize, home: usize, owner: usize) -> u64 {
    8 + way(tiles, home, owner) + 1 + way_of_line(tiles, owner, home) + 8 + 1
}

/// What each core got, and when: `(value, core, time)`.
fn additions(cores: usize, home: usize, each: usize) -> Vec<(u64, usize, u64)> {
    let (_, mut notes) = at_one_line(cores, home, move |core, word, notes| {
        for _ in 0..each {
            let value = word.fetch_add(1, Ordering::Relaxed);
            notes.note((value, core, Sim::now() - 1));
        }
    });
    notes.sort_unstable();
    notes
}

/// The cores take turns; a round takes the sum of their services.
#[test]
fn one_after_the_other_at_the_home() {
    for (cores, homes) in [
        (2, vec![0, 1]),
        (4, vec![0, 3]),
        (16, vec![0, 5, 7]),
        (64, vec![0, 27, 60]),
        (256, vec![17, 255]),
        (1024, vec![0, 495]),
    ] {
        for home in homes {
            let each = if cores < 256 { 12 } else { 5 };
            let notes = additions(cores, home, each);
            let expected: u64 = (0..cores).map(|core| service(cores, home, core)).sum();
            // From the third round on all cores have come; in the last ones some have gone.
            let (from, to) = (2 * cores, (each - 1) * cores);
            let rounds = (to - from) / cores - 1;
            let span = notes[from + rounds * cores].2 - notes[from].2;
            assert_eq!(notes[from].1, notes[from + rounds * cores].1, "{cores}: they take turns");
            let measured = span as f64 / rounds as f64;
            let off = measured / expected as f64 - 1.0;
            assert!(off.abs() < 0.02, "{cores} cores, home {home}: {measured} for {expected}");
        }
    }
}

/// Averaged over homes that is the closed form: 2 slices, a cache, a line's flits, a round trip of the mean
/// distance, and a cycle.
#[test]
fn the_ceiling_is_the_closed_form() {
    for (cores, width) in [(4, 2.0), (16, 4.0), (64, 8.0), (256, 16.0), (1024, 32.0)] {
        let mean = 2.0 * (width * width - 1.0) / (3.0 * width);
        let closed: f64 = 2.0 * 8.0 + 1.0 + 8.0 + 2.0 * 2.0 * mean + 1.0;
        let homes: Vec<usize> = match cores {
            4 | 16 => (0..cores).collect(),
            // Along a diagonal of every second tile the distances average as over all.
            _ => (0..width as usize)
                .step_by(width as usize / 8)
                .map(|at| at * (width as usize + 1))
                .collect(),
        };
        let each = if cores < 256 { 10 } else { 4 };
        let cycles = homes.iter().map(|&home| {
            let notes = additions(cores, home, each);
            let (from, to) = (cores, (each - 1) * cores);
            (notes[to - 1].2 - notes[from].2) as f64 / (to - 1 - from) as f64
        });
        let measured = cycles.sum::<f64>() / homes.len() as f64;
        // The core at the home has no flits to wait for, which the closed form leaves out.
        let off = measured / (closed - 8.0 / cores as f64) - 1.0;
        assert!(off.abs() < 0.04, "{cores} cores: {measured} for {closed}");
    }
}

/// Values are given out once and in the order of service: when the home was done with each of them is
/// their order, however far the answers travel.
#[test]
fn values_are_in_the_order_of_service() {
    let (cores, home) = (64, 9);
    let notes = additions(cores, home, 10);
    let values: Vec<u64> = notes.iter().map(|note| note.0).collect();
    assert_eq!(values, (0..640).collect::<Vec<u64>>());
    let done = |note: &(u64, usize, u64)| note.2 - 1 - way_of_line(cores, home, note.1);
    for pair in notes.windows(2) {
        assert!(done(&pair[0]) < done(&pair[1]), "{pair:?}");
    }
}
