//! Slots, records and their reclamation.

use chiliad_machine::{Allocator, Link, Machine, Native, Ordering, Plain, Shared, Tagged, Word};
use chiliad_storage::{Heap, Kind, LocalHeap, OutOfMemory, RecordRef, Slots, Supply};
use std::collections::HashSet;
use std::ptr::NonNull;
use std::sync::atomic::AtomicBool;
use std::thread;

const UNLIMITED: u64 = u64::MAX;

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + length) as u8).collect()
}

fn every_length_round_trips<M: Machine>(lengths: impl Iterator<Item = usize>) {
    let heap = Heap::<M>::new(UNLIMITED);
    let mut local = LocalHeap::new(&heap).expect("a slot");
    for length in lengths {
        let record = local.alloc_record(Kind::Record, length).expect("memory");
        assert!(record.capacity() >= length);
        assert_eq!(record.length(), 0);
        record.write(&pattern(length));
        assert_eq!(record.length(), length);
        assert!(record.overflow().is_none());
        let mut back = vec![0; length];
        record.read(&mut back);
        assert_eq!(back, pattern(length));
        // The length stands elsewhere when much room is left.
        record.write(&back[..length / 2]);
        assert_eq!(record.length(), length / 2);
        record.read(&mut back[..length / 2]);
        assert_eq!(back[..length / 2], pattern(length)[..length / 2]);
        // SAFETY: nobody else has seen it.
        unsafe { local.free_record(Kind::Record, record) };
    }
}

#[test]
fn records_of_every_length_round_trip() {
    if cfg!(miri) {
        return every_length_round_trips::<Plain>((0..600).step_by(7).chain([4096]));
    }
    every_length_round_trips::<Native>((0..2100).chain([4096, 65_536, 1 << 20]));
    every_length_round_trips::<Plain>((0..600).chain([4096, 65_536, 1 << 20]));
}

static SYSTEM: Allocator = Allocator::new("system", &std::alloc::System);

#[test]
fn slots_from_an_allocator_are_like_those_from_chunks() {
    let heap = Heap::<Native>::for_scheme(UNLIMITED, 1, Supply::Single(&SYSTEM), None);
    let mut locals = [0, 1].map(|_| LocalHeap::new(&heap).expect("a slot"));
    let mut seen = HashSet::new();
    for round in 0..3 {
        for length in [0, 40, 130, 300, 5000, 300_000] {
            let [one, two] = &mut locals;
            let records: Vec<_> =
                (0..200).map(|_| one.alloc_record(Kind::Record, length).expect("memory")).collect();
            for record in records {
                seen.insert(record.as_ptr());
                record.write(&pattern(length));
                let mut back = vec![0; length];
                record.read(&mut back);
                assert_eq!(back, pattern(length));
                // What one worker frees serves the other too.
                // SAFETY: nobody else has seen it.
                unsafe { two.free_record(Kind::Record, record) };
            }
            let leaf = one.alloc(Kind::Leaf, 256).expect("memory");
            assert_eq!(leaf.addr().get() % 64, 0, "nodes lie at lines");
            // SAFETY: allocated above with this kind and size, and never handed out.
            unsafe { one.free(Kind::Leaf, 256, leaf) };
        }
        assert!(seen.len() < 2 * 6 * 200, "round {round}: freed slots live again");
    }
    let small = Heap::<Native>::for_scheme(1 << 20, 0, Supply::Single(&SYSTEM), None);
    let mut local = LocalHeap::new(&small).expect("a slot");
    let count = (0..).take_while(|_| local.alloc_record(Kind::Record, 1000).is_ok()).count();
    assert!((900..=1024).contains(&count), "{count} in a MiB");
    let before = small.usage().reserved_bytes;
    assert!(before <= 1 << 20);
}

#[test]
fn a_worker_that_needs_many_slots_takes_more_at_a_time() {
    let heap = Heap::<Native>::new(UNLIMITED);
    let mut local = LocalHeap::new(&heap).expect("a slot");
    let records: Vec<_> =
        (0..100_000).map(|_| local.alloc_record(Kind::Record, 48).expect("memory")).collect();
    let spare = heap.usage().reserved_bytes - heap.usage().spare_bytes;
    assert!((100_000 * 64..120_000 * 64 + (4 << 20)).contains(&spare), "{spare}");
    let all: HashSet<_> = records.iter().map(|record| record.as_ptr()).collect();
    assert_eq!(all.len(), records.len());
    for record in records {
        // SAFETY: nobody else has seen it.
        unsafe { local.free_record(Kind::Record, record) };
    }
    // It has given most of them away, and another worker finds them.
    let reserved = heap.usage().reserved_bytes;
    let mut other = LocalHeap::new(&heap).expect("a slot");
    for _ in 0..90_000 {
        other.alloc_record(Kind::Record, 48).expect("memory");
    }
    assert_eq!(heap.usage().reserved_bytes, reserved);
}

#[test]
fn a_reused_slot_keeps_its_word_and_nothing_else() {
    let heap = Heap::<Plain>::new(UNLIMITED);
    let mut local = LocalHeap::new(&heap).expect("a slot");
    let record = local.alloc_record(Kind::Record, 100).expect("memory");
    record.write(&pattern(100));
    record.word().store(77, Ordering::Relaxed);
    let block = local.alloc_record(Kind::Version, 100).expect("memory");
    record.set_overflow(block);
    // SAFETY: nobody else has seen it.
    unsafe { local.free_record(Kind::Record, record) };
    let again = local.alloc_record(Kind::Record, 97).expect("memory");
    assert_eq!(again, record, "the last slot freed is the first one reused");
    assert_eq!(again.word().load(Ordering::Relaxed), 77);
    assert!(again.next(Ordering::Relaxed).is_none());
    assert_eq!(again.length(), 0);
    assert!(again.overflow().is_none());
    assert!(again.capacity() >= 97);
}

#[test]
fn the_link_and_the_length_do_not_disturb_each_other() {
    let heap = Heap::<Plain>::new(UNLIMITED);
    let mut local = LocalHeap::new(&heap).expect("a slot");
    for bytes in [0, 8, 64, 300, 5000] {
        let record = local.alloc_record(Kind::Record, bytes).expect("memory");
        let version = local.alloc_record(Kind::Version, bytes).expect("memory");
        let block = local.alloc_record(Kind::Version, 10_000).expect("memory");
        for length in [0, bytes / 2, bytes] {
            record.set_next(Some(version), Ordering::Relaxed);
            record.write(&pattern(length));
            assert_eq!((record.length(), record.next(Ordering::Relaxed)), (length, Some(version)));
            assert_eq!(record.value(), record);
            block.write(&pattern(9999));
            block.set_next(record.next(Ordering::Relaxed), Ordering::Relaxed);
            record.set_overflow(block);
            assert_eq!((record.value(), record.length()), (block, 0));
            assert_eq!((block.length(), block.next(Ordering::Relaxed)), (9999, Some(version)));
            record.write_before(&pattern(length), None);
            assert_eq!((record.length(), record.next(Ordering::Relaxed)), (length, None));
        }
        assert!(record.capacity() >= bytes);
    }
}

#[test]
fn slots_do_not_overlap_and_pools_do_not_mix() {
    let heap = Heap::<Plain>::new(UNLIMITED);
    let mut local = LocalHeap::new(&heap).expect("a slot");
    let mut spans = Vec::new();
    for round in 0..400 {
        for kind in [Kind::Record, Kind::Version, Kind::Leaf, Kind::Inner] {
            let bytes = 1 + round * 13 % 700;
            let place = local.alloc(kind, bytes).expect("memory");
            spans.push((place.addr().get(), bytes));
        }
    }
    spans.sort_unstable();
    assert!(spans.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));

    let leaf = local.alloc(Kind::Leaf, 64).expect("memory");
    // SAFETY: nobody else has seen it.
    unsafe { local.free(Kind::Leaf, 64, leaf) };
    let inner = local.alloc(Kind::Inner, 64).expect("memory");
    assert_ne!(leaf, inner, "a leaf's slot never becomes something without a guard");
    assert_eq!(local.alloc(Kind::Leaf, 64), Ok(leaf));
}

#[test]
fn the_limit_is_a_typed_error_and_the_heap_goes_on() {
    let heap = Heap::<Plain>::new(3 * Plain::CHUNK_BYTES as u64);
    let mut local = LocalHeap::new(&heap).expect("a slot");
    let mut records = Vec::new();
    let refused = loop {
        match local.alloc_record(Kind::Record, 100) {
            Ok(record) => records.push(record),
            Err(error) => break error,
        }
    };
    assert_eq!(refused, OutOfMemory);
    let usage = heap.usage();
    assert!(usage.reserved_bytes <= usage.limit_bytes);
    assert!(records.len() * 128 > 2 * Plain::CHUNK_BYTES, "most of it was usable");
    let record = records.pop().expect("some");
    // SAFETY: nobody else has seen it.
    unsafe { local.free_record(Kind::Record, record) };
    assert_eq!(local.alloc_record(Kind::Record, 100), Ok(record));
    assert_eq!(heap.reserve(1 << 20), Err(OutOfMemory));
    assert_eq!(heap.usage(), usage);
    assert_eq!(local.alloc(Kind::Inner, usize::MAX >> 1), Err(OutOfMemory));
}

#[test]
#[cfg_attr(miri, ignore = "the plain machine is what Miri runs")]
fn a_large_slot_does_not_waste_the_chunk() {
    let heap = Heap::<Native>::new(UNLIMITED);
    let mut local = LocalHeap::new(&heap).expect("a slot");
    local.alloc(Kind::Record, 64).expect("memory");
    local.alloc(Kind::Version, 1 << 20).expect("memory");
    local.alloc(Kind::Version, 2 << 20).expect("memory");
    let before = heap.usage().reserved_bytes;
    for _ in 0..1000 {
        local.alloc(Kind::Record, 128).expect("memory");
    }
    assert_eq!(heap.usage().reserved_bytes, before);
}

#[test]
fn what_is_retired_waits_for_the_pinned() {
    let heap = Heap::<Plain>::new(UNLIMITED);
    let mut writer = LocalHeap::new(&heap).expect("a slot");
    let reader = LocalHeap::new(&heap).expect("a slot");
    reader.pin();
    writer.pin();
    let record = writer.alloc_record(Kind::Record, 40).expect("memory");
    // SAFETY: pinned, and no structure leads to it.
    unsafe { writer.retire_record(Kind::Record, record) };
    writer.unpin();
    for _ in 0..8 {
        writer.reclaim_now();
    }
    assert_eq!(writer.limbo_bytes(), 56);
    assert_eq!(heap.reclaim_lag(), 1);
    reader.unpin();
    for _ in 0..3 {
        writer.reclaim_now();
    }
    assert_eq!((writer.limbo_bytes(), heap.reclaim_lag()), (0, 0));
    assert_eq!(writer.alloc_record(Kind::Record, 40), Ok(record));
}

#[test]
#[cfg_attr(miri, ignore = "the plain machine is what Miri runs")]
fn who_finds_the_epoch_advanced_leaves_it_as_it_is() {
    let heap = Heap::<Native>::new(UNLIMITED);
    let [mut writer, mut other, reader] = [(); 3].map(|()| LocalHeap::new(&heap).expect("a slot"));
    let retire = |writer: &mut LocalHeap<Native>| {
        writer.pin();
        for _ in 0..2_000 {
            let record = writer.alloc_record(Kind::Record, 40).expect("memory");
            // SAFETY: pinned, and no structure leads to it.
            unsafe { writer.retire_record(Kind::Record, record) };
        }
        writer.unpin();
    };
    retire(&mut writer);
    for _ in 0..3 {
        other.reclaim_now();
    }
    reader.pin();
    writer.reclaim();
    assert_eq!((writer.limbo_bytes(), heap.reclaim_lag()), (0, 0), "freed, and nothing else");
    retire(&mut writer);
    writer.reclaim();
    assert_eq!(heap.reclaim_lag(), 1, "advanced, since nobody else has");
}

#[test]
fn a_leaving_worker_hands_its_limbo_and_slots_on() {
    let heap = Heap::<Plain>::new(UNLIMITED);
    let mut first = LocalHeap::new(&heap).expect("a slot");
    first.pin();
    let record = first.alloc_record(Kind::Record, 40).expect("memory");
    // SAFETY: pinned, and no structure leads to it.
    unsafe { first.retire_record(Kind::Record, record) };
    first.unpin();
    let number = first.slot_number();
    drop(first);
    let mut second = LocalHeap::new(&heap).expect("a slot");
    assert_eq!(second.slot_number(), number);
    let before = heap.usage();
    for _ in 0..4 {
        second.reclaim_now();
    }
    let reused: HashSet<_> =
        (0..64).map(|_| second.alloc_record(Kind::Record, 40).expect("memory").address()).collect();
    assert!(reused.contains(&record.address()));
    assert_eq!(heap.usage(), before);
}

#[test]
#[cfg_attr(miri, ignore = "the plain machine is what Miri runs")]
fn worker_slots_are_found_again_and_reused() {
    let slots = Slots::<Native>::new();
    let taken: Vec<_> = (0..200).map(|_| slots.acquire().expect("room")).collect();
    assert_eq!(taken.iter().collect::<HashSet<_>>().len(), 200);
    for &slot in &taken {
        slots.get(slot).window.store(u64::from(slot) + 1, Ordering::Relaxed);
    }
    let seen: Vec<_> = slots.iter().collect();
    assert_eq!(seen.len(), 200);
    for (slot, words) in seen {
        assert_eq!(words.window.load(Ordering::Relaxed), u64::from(slot) + 1);
    }
    slots.release(taken[17]);
    assert_eq!(slots.acquire(), Some(taken[17]));
}

/// One cell that writers replace and readers follow.
struct Place {
    link: <Native as Machine>::Link<chiliad_storage::Record<Native>>,
}

#[test]
#[cfg_attr(miri, ignore = "the plain machine is what Miri runs")]
fn threads_never_see_a_record_change_under_a_pin() {
    let heap = Heap::<Native>::new(64 << 20);
    let place = Shared::<Native, _>::new(Place { link: Link::new(Tagged::null()) });
    let ended = AtomicBool::new(false);
    let replacements = 60_000_u64;
    thread::scope(|scope| {
        let (heap, place, ended) = (&heap, &place, &ended);
        let writer = scope.spawn(move || {
            let mut local = LocalHeap::new(heap).expect("a slot");
            for number in 0..replacements {
                let record = local.alloc_record(Kind::Record, 64).expect("reclaimed in time");
                record.write(&[number as u8; 64]);
                record.word().store(number, Ordering::Relaxed);
                local.pin();
                // Release pairs with the acquire of the readers.
                let old = place.link.swap(Tagged::new(record.as_ptr(), 0), Ordering::AcqRel);
                if let Some(old) = NonNull::new(old.pointer()) {
                    // SAFETY: the link was the only way to it, and the only writer unlinked it.
                    unsafe { local.retire_record(Kind::Record, RecordRef::from_raw(old)) };
                }
                local.unpin();
                local.reclaim();
            }
            ended.store(true, Ordering::SeqCst);
            local.limbo_bytes()
        });
        for _ in 0..3 {
            scope.spawn(move || {
                let local = LocalHeap::new(heap).expect("a slot");
                while !ended.load(Ordering::SeqCst) {
                    local.pin();
                    let found = place.link.load(Ordering::Acquire);
                    if let Some(found) = NonNull::new(found.pointer()) {
                        // SAFETY: a record of a living heap.
                        let record = unsafe { RecordRef::from_raw(found) };
                        let (word, mut bytes) = (record.word().load(Ordering::Relaxed), [0; 64]);
                        for _ in 0..4 {
                            record.read(&mut bytes);
                            assert!(bytes.iter().all(|&byte| byte == bytes[0]));
                            let now = record.word().load(Ordering::Relaxed);
                            assert_eq!(now, word, "reused under a pin");
                        }
                    }
                    local.unpin();
                }
            });
        }
        assert!(writer.join().expect("no panic") < 16 << 20, "limbo stays bounded");
    });
    assert!(heap.usage().reserved_bytes < 32 << 20);
}

#[test]
#[cfg_attr(miri, ignore = "the plain machine is what Miri runs")]
fn the_heap_counts_what_it_reserved() {
    let heap = Heap::<Native>::new(10 << 20);
    heap.reserve(4 << 20).expect("within the limit");
    assert_eq!(heap.usage().reserved_bytes, 4 << 20);
    heap.unreserve(4 << 20);
    assert_eq!(heap.usage().reserved_bytes, 0);
    let word = Shared::<Native, _>::new(<Native as Machine>::Word::new(3));
    assert_eq!(word.fetch_add(1, Ordering::Relaxed), 3);
}
