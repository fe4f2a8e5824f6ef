//! loom models of the latch and of reclamation: every execution that the memory model allows.

use chiliad_loom::{Loom, LoomLink, LoomWord, Model, thread};
use chiliad_machine::{Latch, Link, Ordering, Shared, Tagged, Word};
use chiliad_storage::{FAULTS, Heap, Kind, LocalHeap, Record, RecordRef};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

/// Two words behind a latch, which everyone counts up together.
type Pair = Latch<Loom, [LoomWord; 2]>;

fn count_up(pair: &Pair) {
    let words = pair.lock();
    let [first, second] = [0, 1].map(|at: usize| words[at].load(Ordering::Relaxed));
    assert_eq!(first, second, "somebody else is inside");
    for word in words.iter() {
        word.store(first + 1, Ordering::Relaxed);
    }
}

#[test]
fn a_latch_excludes_and_hands_on_what_was_written() {
    let setup = || Rc::new(Pair::new([LoomWord::new(0), LoomWord::new(0)]));
    Model::new().check(setup, |pair| {
        let peers = [Rc::clone(&pair), Rc::clone(&pair)];
        let peers = peers.map(|pair| thread::spawn(move || count_up(&pair)));
        for peer in peers {
            peer.join().expect("no panic");
        }
        assert_eq!(pair.lock()[1].load(Ordering::Relaxed), 2);
    });
}

#[test]
fn a_latch_that_is_held_is_not_taken() {
    let setup = || Rc::new(Pair::new([LoomWord::new(0), LoomWord::new(0)]));
    Model::new().check(setup, |pair| {
        let peer = Rc::clone(&pair);
        let peer = thread::spawn(move || count_up(&peer));
        let taken = pair.try_lock().map(|words| words[1].load(Ordering::Relaxed));
        peer.join().expect("no panic");
        assert_eq!(pair.lock()[0].load(Ordering::Relaxed), 1);
        assert!(taken.is_none_or(|value| value <= 1));
    });
}

/// What a record holds while it can be reached, and what a later life of its slot holds.
const ALIVE: u64 = 7;
const REUSED: u64 = 9;

type Place = LoomLink<Record<Loom>>;
type SharedHeap = Arc<Shared<Loom, Heap<Loom>>>;

/// A heap, two workers' parts of it, and a place from which one record can be reached.
struct World {
    place: Place,
    writer: LocalHeap<Loom>,
    reader: LocalHeap<Loom>,
    heap: SharedHeap,
}

fn world() -> World {
    let heap = Heap::<Loom>::new(u64::MAX);
    let [mut writer, reader] = [0, 1].map(|_| LocalHeap::new(&heap).expect("a slot"));
    let record = writer.alloc_record(Kind::Version, 8).expect("memory");
    record.word().store(ALIVE, Ordering::Relaxed);
    World { place: LoomLink::new(Tagged::new(record.as_ptr(), 0)), writer, reader, heap }
}

/// Unlinks the record, retires it, advances the epoch as often as it goes, and fills whatever slot
/// has become free.
fn unlink_and_reuse(place: &Place, heap: &mut LocalHeap<Loom>, pinned: bool) {
    unlink(place, heap, pinned);
    reuse(heap);
}

/// Unlinks the record and retires it.
fn unlink(place: &Place, heap: &mut LocalHeap<Loom>, pinned: bool) {
    heap.pin();
    let unlinked = place.swap(Tagged::null(), Ordering::AcqRel);
    // SAFETY: it was linked in `world`.
    let record = unsafe { RecordRef::from_raw(NonNull::new(unlinked.pointer()).expect("linked")) };
    // SAFETY: unlinked just now, by us alone; in the broken variant that is what is to be shown.
    unsafe {
        match pinned {
            true => heap.retire_record(Kind::Version, record),
            false => heap.free_record(Kind::Version, record),
        }
    }
    heap.unpin();
}

/// Fills a slot that has become free, if one has.
fn reuse(heap: &mut LocalHeap<Loom>) {
    for _ in 0..3 {
        heap.reclaim_now();
    }
    let reused = heap.alloc_record(Kind::Version, 8).expect("memory");
    reused.word().store(REUSED, Ordering::Relaxed);
}

/// Follows the link, twice in one pin.
fn look(place: &Place, heap: &LocalHeap<Loom>) {
    heap.pin();
    if let Some(record) = NonNull::new(place.load(Ordering::Acquire).pointer()) {
        // SAFETY: we are pinned.
        let record = unsafe { RecordRef::<Loom>::from_raw(record) };
        for _ in 0..2 {
            assert_eq!(record.word().load(Ordering::Relaxed), ALIVE, "freed too early");
        }
    }
    heap.unpin();
}

/// Runs the writer's part beside a reader that follows the link. The heaps that it returns are dropped after both.
fn beside_a_reader(
    model: Model,
    writes: impl Fn(&Place, LocalHeap<Loom>, &SharedHeap) -> Vec<LocalHeap<Loom>>
    + Send
    + Sync
    + 'static,
) {
    model.check(world, move |world| {
        let World { place, writer, reader, heap } = world;
        let place = Rc::new(place);
        let peer = {
            let place = Rc::clone(&place);
            thread::spawn(move || {
                look(&place, &reader);
                reader
            })
        };
        let written = writes(&place, writer, &heap);
        let reader = peer.join().expect("no panic");
        drop((reader, written, heap));
    });
}

fn reclaim(model: Model, pinned: bool) {
    beside_a_reader(model, move |place, mut writer, _| {
        unlink_and_reuse(place, &mut writer, pinned);
        vec![writer]
    });
}

/// The same, where the writer goes idle and gives back its memory, and the next worker fills the slot.
fn give_back(model: Model) {
    beside_a_reader(model, |place, mut writer, heap| {
        unlink(place, &mut writer, true);
        writer.give_back();
        let mut other = LocalHeap::new(heap).expect("a slot");
        reuse(&mut other);
        vec![writer, other]
    });
}

#[test]
fn what_an_idle_worker_gives_back_is_held_back_by_a_pinned_reader() {
    give_back(Model::new().preemptions(2));
}

#[test]
#[should_panic(expected = "freed too early")]
fn limbo_given_back_as_free_is_caught() {
    let fault = FAULTS.iter().find(|fault| fault.name == "limbo-given-back-as-free");
    give_back(Model::new().preemptions(2).plant(fault.expect("listed")));
}

#[test]
fn a_pinned_reader_holds_back_reuse() {
    reclaim(Model::new().preemptions(2), true);
}

#[test]
#[should_panic(expected = "freed too early")]
fn a_slot_freed_at_once_is_caught() {
    reclaim(Model::new().preemptions(2), false);
}

#[test]
#[should_panic(expected = "freed too early")]
fn an_epoch_advanced_without_its_fence_is_caught() {
    let fault = FAULTS.iter().find(|fault| fault.name == "advance-without-fence");
    reclaim(Model::new().preemptions(2).plant(fault.expect("listed")), true);
}

#[test]
#[should_panic(expected = "freed too early")]
fn a_pin_without_its_fence_is_caught() {
    reclaim(Model::new().preemptions(2).without_light_fences(), true);
}

/// Two writers unlink one record after the other while a reader is pinned: the tags must not be too
/// old although the epoch moves between pin and retirement.
#[test]
fn a_pin_that_lags_tags_what_it_retires_late_enough() {
    let setup = || {
        let world = world();
        let ticker = LocalHeap::new(&world.heap).expect("a slot");
        (world, ticker)
    };
    // With three threads a second preemption takes a minute: `cargo xtask deep` has more.
    Model::new().preemptions(1).check(setup, |(world, mut ticker)| {
        let World { place, mut writer, reader, heap } = world;
        let place = Rc::new(place);
        let peer = {
            let place = Rc::clone(&place);
            thread::spawn(move || {
                look(&place, &reader);
                reader
            })
        };
        let advancer = thread::spawn(move || {
            ticker.reclaim_now();
            ticker
        });
        unlink_and_reuse(&place, &mut writer, true);
        let rest = (peer.join().expect("no panic"), advancer.join().expect("no panic"));
        drop((rest, writer, heap));
    });
}

/// A value outgrows its record and shrinks again while a reader of the past is on its way to the
/// older versions: none of them may be taken for the value and left out.
#[test]
fn older_versions_stay_in_reach_while_a_value_overflows() {
    let setup = || {
        let heap = Heap::<Loom>::new(u64::MAX);
        let mut local = LocalHeap::new(&heap).expect("a slot");
        let record = local.alloc_record(Kind::Record, 8).expect("memory");
        let [version, block, second] =
            [0; 3].map(|_| local.alloc_record(Kind::Version, 8).expect("memory"));
        version.word().store(ALIVE, Ordering::Relaxed);
        record.set_next(Some(version), Ordering::Relaxed);
        (record, version, [block, second], local, heap)
    };
    Model::new().check(setup, |(record, version, [block, second], local, heap)| {
        let reader = thread::spawn(move || {
            let mut next = record.value().next(Ordering::Acquire);
            while let Some(at) = next {
                if at == version {
                    return version.word().load(Ordering::Relaxed);
                }
                next = at.next(Ordering::Acquire);
            }
            0
        });
        block.set_next(Some(version), Ordering::Relaxed);
        record.set_overflow(block);
        second.set_next(Some(version), Ordering::Relaxed);
        record.write_before(&[1; 8], Some(second));
        assert_eq!(reader.join().expect("no panic"), ALIVE, "a version was left out");
        drop((local, heap));
    });
}
