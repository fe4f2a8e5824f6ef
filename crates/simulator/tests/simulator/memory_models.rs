//! Litmus tests: what each memory model must and must not show.

use crate::common::{configs, run_with_words};
use chiliad_machine::{Machine, Ordering, Word};
use chiliad_simulator::{Config, MemoryModel, Sim};
use std::cell::Cell;
use std::rc::Rc;

use Ordering::{Acquire, Relaxed, Release, SeqCst};

const SEEDS: u64 = 400;

type Results = Rc<[Cell<u64>; 4]>;

/// Runs two cores, each storing to one word and reading the other's with `left` and `right` in
/// between; counts how often both read zero.
fn store_buffering(
    memory_model: MemoryModel,
    store: Ordering,
    left: fn(&chiliad_simulator::SimWord),
    right: fn(&chiliad_simulator::SimWord),
) -> u32 {
    let mut both_zero = 0;
    for config in configs(memory_model, SEEDS) {
        let (mut run, words) = run_with_words(config, 3);
        let seen: Results = Rc::default();
        for (me, barrier) in [left, right].into_iter().enumerate() {
            let seen = Rc::clone(&seen);
            run.spawn(format!("core {me}"), move || {
                words[me].store(1, store);
                barrier(&words[2]);
                seen[me].set(words[1 - me].load(Relaxed));
            });
        }
        assert!(run.go().verdict.is_completed());
        both_zero += u32::from(seen[0].get() == 0 && seen[1].get() == 0);
    }
    both_zero
}

fn nothing(_: &chiliad_simulator::SimWord) {}
fn full(_: &chiliad_simulator::SimWord) {
    Sim::fence(SeqCst);
}
fn acquire_release(_: &chiliad_simulator::SimWord) {
    Sim::fence(Ordering::AcqRel);
}
fn light(_: &chiliad_simulator::SimWord) {
    Sim::light_fence();
}
fn heavy(_: &chiliad_simulator::SimWord) {
    Sim::heavy_fence();
}
fn modify(word: &chiliad_simulator::SimWord) {
    word.fetch_add(1, Relaxed);
}

#[test]
fn store_buffering_shows_under_tso_alone() {
    assert_eq!(store_buffering(MemoryModel::Sc, Release, nothing, nothing), 0);
    assert!(store_buffering(MemoryModel::Tso, Release, nothing, nothing) > 10);
    assert!(store_buffering(MemoryModel::Tso, Relaxed, acquire_release, acquire_release) > 10);
}

#[test]
fn full_barriers_forbid_store_buffering() {
    assert_eq!(store_buffering(MemoryModel::Tso, Relaxed, full, full), 0);
    assert_eq!(store_buffering(MemoryModel::Tso, Relaxed, modify, modify), 0);
    assert_eq!(store_buffering(MemoryModel::Tso, SeqCst, nothing, nothing), 0);
    assert!(store_buffering(MemoryModel::Tso, Relaxed, full, nothing) > 0);
}

#[test]
fn an_asymmetric_pair_is_as_good_as_two_full_barriers() {
    assert_eq!(store_buffering(MemoryModel::Tso, Relaxed, light, heavy), 0);
    assert!(store_buffering(MemoryModel::Tso, Relaxed, light, light) > 0);
    assert!(store_buffering(MemoryModel::Tso, Relaxed, light, full) > 0);
}

#[test]
fn messages_pass_in_order() {
    for memory_model in [MemoryModel::Sc, MemoryModel::Tso] {
        for config in configs(memory_model, SEEDS) {
            let (mut run, words) = run_with_words(config, 2);
            run.spawn("sender", move || {
                for message in 1..5 {
                    words[0].store(message, Relaxed);
                    words[1].store(message, Release);
                }
            });
            run.spawn("receiver", move || {
                for _ in 0..20 {
                    let announced = words[1].load(Acquire);
                    assert!(words[0].load(Relaxed) >= announced);
                }
            });
            assert!(run.go().verdict.is_completed());
        }
    }
}

#[test]
fn readers_agree_on_the_order_of_independent_writes() {
    for memory_model in [MemoryModel::Sc, MemoryModel::Tso] {
        for config in configs(memory_model, SEEDS) {
            let (mut run, words) = run_with_words(config, 2);
            let seen: Results = Rc::default();
            for word in words {
                run.spawn("writer", move || word.store(1, Relaxed));
            }
            for me in 0..2 {
                let seen = Rc::clone(&seen);
                run.spawn("reader", move || {
                    seen[2 * me].set(words[me].load(Relaxed));
                    seen[2 * me + 1].set(words[1 - me].load(Relaxed));
                });
            }
            assert!(run.go().verdict.is_completed());
            let seen = [seen[0].get(), seen[1].get(), seen[2].get(), seen[3].get()];
            assert_ne!(seen, [1, 0, 1, 0]);
        }
    }
}

#[test]
fn a_core_sees_its_own_stores_and_all_are_visible_in_the_end() {
    for config in configs(MemoryModel::Tso, SEEDS) {
        let (mut run, words) = run_with_words(config, 4);
        for (me, word) in words.iter().enumerate() {
            run.spawn(format!("core {me}"), move || {
                for value in 1..50 {
                    word.store(value, Relaxed);
                    assert_eq!(word.load(Relaxed), value);
                }
            });
        }
        assert!(run.go().verdict.is_completed());
        assert!(run.outside(|| words.iter().all(|word| word.load(Relaxed) == 49)));
    }
}

#[test]
fn racy_increments_lose_updates_and_atomic_ones_do_not() {
    let mut lost = 0;
    for config in configs(MemoryModel::Sc, 20) {
        let (mut run, words) = run_with_words(Config { ..config }, 2);
        for _ in 0..4 {
            run.spawn("adder", move || {
                for _ in 0..25 {
                    words[0].fetch_add(1, Relaxed);
                    words[1].store(words[1].load(Relaxed) + 1, Relaxed);
                }
            });
        }
        assert!(run.go().verdict.is_completed());
        let sums = run.outside(|| [words[0].load(Relaxed), words[1].load(Relaxed)]);
        assert_eq!(sums[0], 100);
        lost += u32::from(sums[1] < 100);
    }
    assert!(lost >= 10, "{lost}");
}
