//! Timed cores are sequentially consistent, whatever the distances, and however far reads may run ahead.

use super::kit::{Notes, complete, config, idle, lines, mesh, read};
use chiliad_machine::{Cost, Machine, Ordering, Word};
use chiliad_simulator::description::{Description, Homes, Slack};
use chiliad_simulator::{Run, Sim, SimWord};
use std::collections::BTreeSet;

const SEEDS: u64 = 300;

type Program = fn(usize, &[&'static SimWord]) -> u64;

/// What the cores of a program saw, over many seeds: each at a random time on a core of a random place, with
/// the lines in its cache or not.
fn outcomes(cores: usize, program: Program) -> BTreeSet<Vec<u64>> {
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let slack =
            [Slack::of(0), Slack::of(16), Slack { read: 500, write: 40 }][seed as usize % 3];
        let machine = Description { slack, homes: Homes::Hashed, ..mesh() };
        let mut run = Run::new(config(machine, seed));
        let lines = lines(&run, 2);
        let notes = Notes::new();
        for core in 0..cores {
            let (notes, lines) = (notes.clone(), lines.clone());
            idle(&mut run, 0..(seed as usize * 7 + core * 5) % 9);
            run.spawn(format!("core {core}"), move || {
                if Sim::random() % 2 == 0 {
                    lines.iter().for_each(|line| read(line));
                }
                Sim::work(Cost::ALL[0], 300 + (Sim::random() % 120) as u32);
                notes.note((core, program(core, &lines)));
            });
        }
        complete(&mut run);
        let mut notes = notes.take();
        notes.sort_unstable();
        seen.insert(notes.into_iter().map(|note| note.1).collect());
    }
    seen
}

fn get(word: &SimWord) -> u64 {
    word.load(Ordering::Relaxed)
}

fn set(word: &SimWord) {
    word.store(1, Ordering::Relaxed);
}

#[test]
fn one_of_two_stores_is_seen() {
    let seen = outcomes(2, |core, lines| {
        set(lines[core]);
        get(lines[1 - core])
    });
    assert_eq!(seen, BTreeSet::from([vec![0, 1], vec![1, 0], vec![1, 1]]));
}

#[test]
fn messages_pass_in_order() {
    let seen = outcomes(2, |core, lines| {
        if core == 0 {
            set(lines[0]);
            set(lines[1]);
            return 0;
        }
        let flag = get(lines[1]);
        flag * 2 + get(lines[0])
    });
    let all: BTreeSet<u64> = seen.into_iter().map(|seen| seen[1]).collect();
    assert_eq!(all, BTreeSet::from([0, 1, 3]), "the flag without the message is 2");
}

#[test]
fn readers_agree_on_the_order_of_independent_writes() {
    let seen = outcomes(4, |core, lines| match core {
        0 | 1 => {
            set(lines[core]);
            0
        }
        _ => {
            let first = get(lines[core - 2]);
            first * 2 + get(lines[3 - core])
        }
    });
    // One saw the first alone, the other the second alone.
    assert!(!seen.contains(&vec![0, 0, 2, 2]), "{seen:?}");
    assert!(seen.len() > 4, "{seen:?}");
}
