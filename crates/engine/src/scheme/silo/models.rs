//! loom models of the TID word and of the commit: the scheme's own hooks on two records and two
//! workers, in every execution that the memory model allows.

use super::{Global, Silo, faults};
use crate::Options;
use crate::access::{Kind, Write, WriteSet};
use crate::arena::{Arena, Piece};
use crate::breakdown::Clockwork;
use crate::contract::{Context, Scheme, Step};
use crate::epoch::Epochs;
use crate::gaps::Gaps;
use crate::garbage::GarbageQueue;
use crate::key_pool::KeyPool;
use crate::options::Snapshots;
use crate::recent::Recent;
use crate::record_word;
use crate::scheme::parts::min_insert_tid::MinInsertTids;
use crate::scheme::parts::versioned_read;
use crate::wait::Limits;
use chiliad_api::{Intent, TableId};
use chiliad_loom::{Loom, LoomWord, Model, thread};
use chiliad_machine::{Machine, Ordering, Shared, Word};
use chiliad_storage::{Heap, Kind as SlotKind, LocalHeap, RecordRef};
use std::rc::Rc;
use std::sync::Arc;

/// State shared by the workers of a model: two records, each of two words that belong together.
struct World {
    records: [RecordRef<Loom>; 2],
    epochs: Epochs<Loom>,
    shared: Global<Loom>,
    recent: Recent<Loom>,
    heap: Arc<Shared<Loom, Heap<Loom>>>,
}

/// One worker's part.
struct Worker {
    world: Rc<World>,
    heap: LocalHeap<Loom>,
    gaps: Gaps<Loom>,
    scheme: Silo<Loom>,
    arena: Arena,
    writes: WriteSet<Loom>,
    garbage: GarbageQueue<Loom>,
}

const FIRST: u64 = 0;

fn workers() -> [Worker; 2] {
    workers_with(Snapshots::Off, 1)
}

fn workers_with(mode: Snapshots, snapshot_every: u64) -> [Worker; 2] {
    let heap = Heap::<Loom>::new(u64::MAX);
    let mut locals = [0, 1].map(|_| LocalHeap::new(&heap).expect("a slot"));
    let records = [0, 1].map(|_| {
        let record = locals[0].alloc_record(SlotKind::Record, 16).expect("memory");
        record.write(&both(FIRST));
        record.word().store(snapshot_every << record_word::EPOCH_SHIFT, Ordering::Relaxed);
        record
    });
    let world = Rc::new(World {
        records,
        epochs: Epochs::new(mode, snapshot_every),
        shared: Silo::<Loom>::shared(&Options::default()),
        recent: Recent::new(false),
        heap,
    });
    locals.map(|heap| Worker {
        world: Rc::clone(&world),
        heap,
        scheme: Silo::new(),
        arena: Arena::new(None, 1 << 20),
        writes: WriteSet::new(),
        gaps: Gaps::new(),
        garbage: GarbageQueue::new(),
    })
}

/// A record's value: a number, twice.
fn both(value: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&value.to_le_bytes());
    bytes[8..].copy_from_slice(&value.to_le_bytes());
    bytes
}

impl Worker {
    fn with<T>(
        &mut self,
        act: impl FnOnce(
            &mut Silo<Loom>,
            &mut Context<'_, Loom, Silo<Loom>>,
            &mut Arena,
            &mut WriteSet<Loom>,
        ) -> T,
    ) -> T {
        let mut cx = Context {
            table: TableId(0),
            shared: &self.world.shared,
            epochs: &self.world.epochs,
            arena_used: self.arena.used(),
            recent: &self.world.recent,
            heap: &mut self.heap,
            gaps: &mut self.gaps,
            garbage: &mut self.garbage,
            keys: &mut KeyPool::default(),
            leaf_hooks: &mut MinInsertTids,
            clockwork: &mut Clockwork::new(),
            limits: &Limits::new(),
            stamped: false,
            opacity: false,
            snapshots: true,
        };
        act(&mut self.scheme, &mut cx, &mut self.arena, &mut self.writes)
    }

    fn begin(&mut self) {
        self.begin_as(&Intent::update());
    }

    fn begin_as(&mut self, intent: &Intent<'_>) {
        self.arena.clear();
        let begun = self.with(|scheme, cx, _, _| scheme.begin(cx, intent));
        assert!(matches!(begun, Step::Done(())));
    }

    /// The value of record `at`; `None` if the scheme refuses.
    fn read(&mut self, at: usize) -> Option<u64> {
        let record = self.world.records[at];
        let step = self.with(|scheme, cx, arena, writes| scheme.read(cx, record, arena, writes));
        let Step::Done(version) = step else {
            return None;
        };
        assert!(!version.is_absent(), "the version is gone");
        let bytes = self.arena.get(version.bytes());
        let [first, second] = [0, 8].map(|at| bytes[at..at + 8].to_vec());
        assert_eq!(first, second, "torn");
        Some(u64::from_le_bytes(first.try_into().expect("eight bytes")))
    }

    fn write(&mut self, at: usize, value: u64) {
        let record = self.world.records[at];
        let value = self.arena.push(&both(value));
        let table = (TableId(0), Piece::default());
        self.writes.push(Write::new(record, table, (Kind::Put, value), true));
    }

    /// The order of the transaction, if it commits.
    fn commit(&mut self) -> Option<u64> {
        self.heap.pin();
        let order = self.with(|scheme, cx, arena, writes| match scheme.prepare(cx, writes) {
            Ok(point) => {
                for at in 0..writes.entries.len() {
                    let value = arena.get(writes.entries[at].value);
                    scheme.install(cx, point, writes, at, value);
                }
                scheme.release(cx);
                Some(point.order)
            }
            Err(_) => {
                writes.free_spare_blocks(cx.heap);
                scheme.abort(cx, writes);
                None
            }
        });
        self.writes.clear();
        self.heap.unpin();
        order
    }
}

/// Runs `first` and `second` side by side on a worker each, then `after` on what they yielded.
fn side_by_side<T: 'static>(
    model: Model,
    first: impl Fn(&mut Worker) -> T + Copy + Send + Sync + 'static,
    second: impl Fn(&mut Worker) -> T + Copy + Send + Sync + 'static,
    after: impl Fn(&mut Worker, T, T) + Send + Sync + 'static,
) {
    model.check(workers, move |[mut one, mut two]| {
        let peer = thread::spawn(move || {
            let yielded = second(&mut two);
            (two, yielded)
        });
        let yielded = first(&mut one);
        let (two, theirs) = peer.join().expect("no panic");
        drop(two);
        after(&mut one, yielded, theirs);
    });
}

/// Nobody runs the heavy side of the asymmetric fences in these models, so that nothing in the
/// place of the light side is exact; with it, it would hide the fence that is being checked.
fn exact() -> Model {
    Model::new().without_light_fences()
}

fn overwrite(worker: &mut Worker) -> Option<u64> {
    worker.begin();
    worker.write(0, 5);
    worker.commit()
}

fn look(worker: &mut Worker) -> Option<u64> {
    worker.begin();
    worker.read(0)
}

fn reader_and_writer(model: Model) {
    side_by_side(model, overwrite, look, |worker, written, seen| {
        assert!(written.is_some(), "nobody was in the way");
        assert!(seen.is_none_or(|seen| seen == FIRST || seen == 5));
        worker.begin();
        assert_eq!(worker.read(0), Some(5));
    });
}

#[test]
fn a_reader_never_gets_half_a_write() {
    reader_and_writer(exact());
}

#[test]
#[should_panic(expected = "torn")]
fn a_copy_that_is_not_checked_is_caught() {
    reader_and_writer(exact().plant(&versioned_read::TORN_READ));
}

#[test]
#[should_panic(expected = "torn")]
fn a_writer_without_its_fence_is_caught() {
    reader_and_writer(exact().plant(&faults::NO_FENCE));
}

fn count_up(worker: &mut Worker) -> Option<u64> {
    worker.begin();
    let value = worker.read(0)?;
    worker.write(0, value + 1);
    worker.commit()
}

fn two_writers(model: Model) {
    side_by_side(model, count_up, count_up, |worker, one, two| {
        let committed = u64::from(one.is_some()) + u64::from(two.is_some());
        assert!(committed > 0, "both gave way");
        assert!(one.is_none() || one != two, "two versions of one order");
        worker.begin();
        assert_eq!(worker.read(0), Some(FIRST + committed), "an update was lost");
        let word = worker.world.records[0].word().load(Ordering::Relaxed);
        assert_eq!(word, one.max(two).expect("committed"), "the later version is not the last");
    });
}

#[test]
fn of_two_writers_none_is_lost() {
    two_writers(exact().preemptions(2));
}

#[test]
#[should_panic(expected = "an update was lost")]
fn reads_that_are_not_validated_are_caught() {
    two_writers(exact().plant(&faults::NO_READ_VALIDATION));
}

/// Reads one record and writes the other: 0 and 1, or 1 and 0.
fn skewed(worker: &mut Worker, from: usize) -> bool {
    worker.begin();
    let Some(value) = worker.read(from) else {
        return false;
    };
    worker.write(1 - from, 1);
    worker.commit().is_some() && value == FIRST
}

/// Of two transactions that each read what the other writes, at least one sees the other: its read
/// or its validation is after the other's latch.
fn write_skew(model: Model) {
    side_by_side(
        model,
        |it| skewed(it, 0),
        |it| skewed(it, 1),
        |_, one, two| {
            assert!(!(one && two), "write skew");
        },
    );
}

#[test]
fn write_skew_is_refused() {
    write_skew(exact().preemptions(2));
}

#[test]
#[should_panic(expected = "write skew")]
fn a_commit_without_its_fence_is_caught() {
    write_skew(exact().plant(&faults::NO_FENCE));
}

#[test]
#[should_panic(expected = "write skew")]
fn a_foreign_latch_that_is_ignored_is_caught() {
    write_skew(exact().plant(&faults::FOREIGN_LATCH_IGNORED));
}

/// The epoch may move on while a writer sets out to commit, past a boundary even: the version that
/// it overwrites is then one that a snapshot reads.
#[test]
fn a_writer_that_is_late_keeps_what_a_snapshot_reads() {
    let setup = || workers_with(Snapshots::Always, 2);
    Model::new().preemptions(2).check(setup, |[mut writer, mut reader]| {
        let ticker = Rc::clone(&writer.world);
        let tick = |world: &World| world.epochs.tick(&world.heap.slots);
        let ticker = thread::spawn(move || [tick(&ticker), tick(&ticker)]);
        let order = overwrite(&mut writer).expect("nobody is in the way");
        ticker.join().expect("no panic");
        writer.world.epochs.tick(&writer.world.heap.slots);
        let (_, boundary, _) = writer.world.epochs.overview();
        reader.begin_as(&Intent::snapshot());
        reader.heap.pin();
        let expected = if record_word::epoch(order) < boundary { 5 } else { FIRST };
        assert_eq!(reader.read(0), Some(expected));
        reader.heap.unpin();
    });
}

/// The word's own functions, without the scheme around them: latch, fence, write, publish.
#[test]
fn latched_words_pass_on_what_was_written() {
    struct Cell {
        word: LoomWord,
        value: LoomWord,
    }
    fn add(cell: &Cell) -> bool {
        let Ok(found) = record_word::try_latch(&cell.word) else {
            return false;
        };
        // As writers do. It pairs with the acquire fence of `versioned_read::present`; nobody reads here.
        Loom::fence(Ordering::Release);
        let value = cell.value.load(Ordering::Relaxed);
        assert_eq!(
            value,
            found / (record_word::FLAGS + 1),
            "the last holder's value is not visible"
        );
        cell.value.store(value + 1, Ordering::Relaxed);
        record_word::publish(&cell.word, found + record_word::FLAGS + 1);
        true
    }
    let setup = || Rc::new(Cell { word: LoomWord::new(0), value: LoomWord::new(0) });
    Model::new().check(setup, |cell| {
        let peers = [Rc::clone(&cell), Rc::clone(&cell)];
        let peers = peers.map(|cell| thread::spawn(move || add(&cell)));
        let added = peers.map(|peer| u64::from(peer.join().expect("no panic")));
        let added: u64 = added.iter().sum();
        assert!(added > 0);
        assert_eq!(cell.value.load(Ordering::Relaxed), added);
    });
}
