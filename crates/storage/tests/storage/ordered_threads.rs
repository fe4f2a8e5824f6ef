//! The ordered index under real threads.

use crate::ordered_common::{Keys, Worker, populate};
use chiliad_machine::Native;
use chiliad_storage::{Heap, LocalHeap, OrderedIndex};
use std::sync::atomic::{AtomicUsize, Ordering};

fn stress(style: usize, count: usize, workers: usize, rounds: usize, populated: bool) {
    let keys = Keys { count, workers, style, populated };
    let shared = Heap::<Native>::new(u64::MAX);
    let mut heap = LocalHeap::new(&shared).expect("a slot");
    let index = OrderedIndex::new(&mut heap).expect("room");
    populate(&index, &mut heap, &keys);
    let kept = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for number in 0..workers {
            let heap = LocalHeap::new(&shared).expect("a slot");
            let (index, keys, kept) = (&index, &keys, &kept);
            scope.spawn(move || {
                let mut worker = Worker::new(index, heap, keys, number, 1);
                for round in 0..rounds {
                    worker.act(round % 16 == 0);
                    if round % 2000 == 1999 {
                        worker.finish();
                    }
                }
                kept.fetch_add(worker.count(), Ordering::Relaxed);
            });
        }
    });
    heap.pin();
    let shape = index.check(&heap);
    heap.unpin();
    let always = (0..count).filter(|&n| keys.is_in(n)).count();
    assert_eq!(shape.keys, always + kept.into_inner());
}

#[test]
fn eight_byte_keys() {
    stress(0, 400, 4, 60_000, true);
}

#[test]
fn keys_of_one_deep_layer() {
    stress(1, 400, 4, 60_000, true);
}

#[test]
fn keys_that_are_prefixes_of_each_other() {
    stress(2, 400, 4, 60_000, true);
}

#[test]
fn hardly_any_keys() {
    for style in 0..3 {
        stress(style, 40, 4, 40_000, true);
    }
}

/// Nothing stays: leaves, layers and inner nodes come and go all the time.
#[test]
fn emptied_again_and_again() {
    for style in 0..3 {
        stress(style, 60, 3, 40_000, false);
    }
}
