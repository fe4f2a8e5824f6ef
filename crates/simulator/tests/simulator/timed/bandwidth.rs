//! Links and memory controllers that carry as much as they can.

use super::kit::{Notes, complete, config, lines_at, mesh, read};
use chiliad_machine::Machine;
use chiliad_simulator::description::{Description, Memory};
use chiliad_simulator::{Run, Sim};

const TILES: usize = 64;

/// Cycles in which each core reads `each` fresh lines of its own of home `home`.
fn fetch(machine: Description, home: usize, each: usize) -> u64 {
    let mut run = Run::new(config(machine, 1));
    let lines = lines_at(&run, home, TILES, TILES * each);
    let notes = Notes::new();
    for core in 0..TILES {
        let mine: Vec<_> = lines[core * each..(core + 1) * each].to_vec();
        let notes = notes.clone();
        run.spawn(format!("core {core}"), move || {
            mine.iter().for_each(|line| read(line));
            notes.note(Sim::now());
        });
    }
    complete(&mut run);
    notes.take().into_iter().max().expect("cores")
}

/// Lines leave the corner for the 56 tiles of other columns over one link, nine flits each.
#[test]
fn a_link_carries_a_flit_a_cycle() {
    let memory = Memory { controllers: None, cycles: 100, line_centicycles: 100 };
    let cycles = fetch(Description { memory, ..mesh() }, TILES - 1, 40);
    let expected = 56 * 40 * 9;
    let off = cycles as f64 / f64::from(expected) - 1.0;
    assert!((0.0..0.04).contains(&off), "{cycles} for {expected}");
}

/// With one controller a line comes from memory each 12.8 cycles, 13 in whole quarters.
#[test]
fn a_controller_has_its_bandwidth() {
    let memory = Memory { controllers: Some(1), cycles: 100, line_centicycles: 1280 };
    let cycles = fetch(Description { memory, ..mesh() }, 27, 40);
    let expected = TILES as f64 * 40.0 * 13.0;
    let off = cycles as f64 / expected - 1.0;
    assert!((0.0..0.03).contains(&off), "{cycles} for {expected}");
    let memory = Memory { controllers: Some(1), cycles: 100, line_centicycles: 2560 };
    let half = fetch(Description { memory, ..mesh() }, 27, 40);
    let ratio = half as f64 / cycles as f64;
    assert!((1.94..2.0).contains(&ratio), "{ratio}");
}
