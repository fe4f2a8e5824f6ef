//! The hash index under threads.

use crate::hash_common::{Random, present, value};
use chiliad_machine::Native;
use chiliad_storage::{Found, HashIndex, Heap, Inserted, Kind, LocalHeap, NoHooks};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;

/// Readers verify while four threads insert a million keys into a table that began tiny.
#[test]
fn growth_under_threads_loses_nothing() {
    const THREADS: u64 = 4;
    let keys: u64 = if cfg!(debug_assertions) { 400_000 } else { 1_000_000 };
    let heap = Heap::<Native>::new(u64::MAX);
    let index = HashIndex::new(&heap, 16).expect("memory");
    let key = |number: u64| match number % 3 {
        0 => number.to_be_bytes().to_vec(),
        1 => format!("a longer key {number}").into_bytes(),
        _ => number.to_be_bytes()[3..].to_vec(),
    };
    let progress: Vec<_> = (0..THREADS).map(|_| AtomicU64::new(0)).collect();
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let (heap, index, progress, ended) = (&heap, &index, &progress, &ended);
        let writers: Vec<_> = (0..THREADS)
            .map(|writer| {
                scope.spawn(move || {
                    let mut local = LocalHeap::new(heap).expect("a slot");
                    let mut changes = Vec::new();
                    for number in (writer..keys).step_by(THREADS as usize) {
                        let record = local.alloc_record(Kind::Record, 8).expect("memory");
                        record.write(&number.to_le_bytes());
                        local.pin();
                        let done = index.insert(
                            &mut local,
                            &key(number),
                            record,
                            &mut NoHooks,
                            &mut changes,
                        );
                        assert!(matches!(done, Ok(Inserted::Yes)));
                        local.unpin();
                        local.reclaim();
                        changes.clear();
                        progress[writer as usize].store(number + 1, SeqCst);
                    }
                })
            })
            .collect();
        for reader in 0..2 {
            scope.spawn(move || {
                let local = LocalHeap::new(heap).expect("a slot");
                let mut random = Random(99 + reader);
                while !ended.load(SeqCst) {
                    let writer = random.below(THREADS);
                    let reached = progress[writer as usize].load(SeqCst);
                    let number = random.below(keys) / THREADS * THREADS + writer;
                    local.pin();
                    match index.get(&local, &key(number)) {
                        Found::Record(record) => assert_eq!(value(record), number),
                        Found::Absent(_) => assert!(number >= reached, "lost {number}"),
                    }
                    local.unpin();
                }
            });
        }
        for writer in writers {
            writer.join().expect("no panic");
        }
        ended.store(true, SeqCst);
    });
    let local = LocalHeap::new(&heap).expect("a slot");
    local.pin();
    let mut count = 0;
    index.walk(&local, |found, record| {
        assert_eq!(found, key(value(record)));
        count += 1;
    });
    assert_eq!(count, keys);
    local.unpin();
    let estimate = index.keys_estimated();
    assert!(estimate.abs_diff(keys) < keys / 50, "{estimate}");
    // Growth lags behind where somebody lost the core while it held the right to grow.
    let load = keys as f64 / index.buckets() as f64;
    assert!((3.0..12.0).contains(&load), "{load}");
}

/// Threads insert and unlink the same few keys; whoever succeeds owns the record until it unlinks.
#[test]
fn contended_keys_have_one_owner() {
    let heap = Heap::<Native>::new(u64::MAX);
    let index = HashIndex::new(&heap, 0).expect("memory");
    let owners: Vec<_> = (0..24).map(|_| AtomicBool::new(false)).collect();
    thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (heap, index, owners) = (&heap, &index, &owners);
            scope.spawn(move || {
                let mut local = LocalHeap::new(heap).expect("a slot");
                let mut random = Random(thread + 1);
                let mut changes = Vec::new();
                for _ in 0..60_000 {
                    let number = random.below(24) as usize;
                    let key = vec![number as u8; number];
                    let record = local.alloc_record(Kind::Record, 8).expect("memory");
                    local.pin();
                    let done = index.insert(&mut local, &key, record, &mut NoHooks, &mut changes);
                    changes.clear();
                    if matches!(done, Ok(Inserted::Yes)) {
                        assert!(!owners[number].swap(true, SeqCst));
                        assert_eq!(present(index.get(&local, &key)), record);
                        owners[number].store(false, SeqCst);
                        let taken =
                            index.unlink(&mut local, &key, record, &mut NoHooks, &mut |_| true);
                        assert!(taken);
                        // SAFETY: unlinked during this pin.
                        unsafe { local.retire_record(Kind::Record, record) };
                    } else {
                        // SAFETY: nobody has seen it.
                        unsafe { local.free_record(Kind::Record, record) };
                    }
                    local.unpin();
                    local.reclaim();
                }
            });
        }
    });
    let local = LocalHeap::new(&heap).expect("a slot");
    local.pin();
    index.walk(&local, |_, _| panic!("all were unlinked"));
    local.unpin();
}

#[test]
fn a_walk_sees_every_key_that_stays_once_while_the_table_grows() {
    let heap = Heap::<Native>::new(u64::MAX);
    let index = HashIndex::new(&heap, 0).expect("memory");
    let insert = |local: &mut LocalHeap<Native>, number: u64| {
        let record = local.alloc_record(Kind::Record, 8).expect("memory");
        record.write(&number.to_le_bytes());
        local.pin();
        let key = number.to_be_bytes();
        let done = index.insert(local, &key, record, &mut NoHooks, &mut Vec::new());
        assert!(matches!(done, Ok(Inserted::Yes)));
        local.unpin();
    };
    let mut local = LocalHeap::new(&heap).expect("a slot");
    (0..2_000).for_each(|number| insert(&mut local, number));
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let (heap, index, insert, ended) = (&heap, &index, &insert, &ended);
        scope.spawn(move || {
            let mut local = LocalHeap::new(heap).expect("a slot");
            (2_000..300_000).for_each(|number| insert(&mut local, number));
            ended.store(true, SeqCst);
        });
        scope.spawn(move || {
            let local = LocalHeap::new(heap).expect("a slot");
            while !ended.load(SeqCst) {
                let mut seen = HashSet::new();
                local.pin();
                index.walk(&local, |_, record| assert!(seen.insert(value(record))));
                local.unpin();
                assert!((0..2_000).all(|number| seen.contains(&number)));
            }
        });
    });
}
