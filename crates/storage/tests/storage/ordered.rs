//! The ordered index against a plain ordered map, one operation at a time.

use chiliad_machine::{Machine, Native, Plain};
use chiliad_storage::{
    Change, Changes, Cursor, Direction, Finger, Found, Heap, Index, IndexMemory, Inserted, Kind,
    LeafRun, LocalHeap, NoHooks, OrderedIndex, RecordRef, Seen,
};
use std::collections::BTreeMap;
use std::ops::Bound;

/// A generator whose every run is the same.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }
}

/// An index and the map that says what it should hold.
struct Pair<M: Machine> {
    heap: LocalHeap<M>,
    index: OrderedIndex<M>,
    model: BTreeMap<Vec<u8>, RecordRef<M>>,
    changes: Changes<M>,
    /// Of all insertions, as if they were of one transaction.
    finger: Finger<M>,
    scans: usize,
}

impl<M: Machine> Pair<M> {
    fn new() -> Self {
        let shared = Heap::<M>::new(u64::MAX);
        let mut heap = LocalHeap::new(&shared).unwrap();
        let index = OrderedIndex::new(&mut heap).unwrap();
        let (changes, finger) = (Vec::new(), Finger::default());
        Self { heap, index, model: BTreeMap::new(), changes, finger, scans: 0 }
    }

    fn pinned<R>(&mut self, act: impl FnOnce(&mut Self) -> R) -> R {
        self.heap.pin();
        let result = act(self);
        self.heap.unpin();
        self.heap.reclaim();
        result
    }

    fn get(&mut self, key: &[u8]) -> Option<RecordRef<M>> {
        self.pinned(|pair| match pair.index.get(&pair.heap, key) {
            Found::Record(record) => Some(record),
            Found::Absent(seen) => {
                assert!(seen.holds());
                None
            }
        })
    }

    fn insert(&mut self, key: &[u8]) {
        let expected = self.model.get(key).copied();
        self.pinned(|pair| {
            let before = match pair.index.get(&pair.heap, key) {
                Found::Absent(seen) => Some(seen),
                Found::Record(_) => None,
            };
            let record = pair.heap.alloc_record(Kind::Record, 8).unwrap();
            pair.changes.clear();
            let Self { index, heap, changes, finger, .. } = pair;
            let inserted =
                index.insert_near(heap, key, record, (&mut NoHooks, changes), finger).unwrap();
            match inserted {
                Inserted::Yes => {
                    assert!(expected.is_none());
                    pair.model.insert(key.to_vec(), record);
                    pair.check_changes(before.unwrap());
                }
                Inserted::Exists(found) => {
                    assert!(expected == Some(found));
                    assert!(pair.changes.is_empty());
                    // SAFETY: nobody else has seen it.
                    unsafe { pair.heap.free_record(Kind::Record, record) };
                }
            }
        });
    }

    /// Inserts keys that ascend, in runs where the index has one for them. Returns the longest run.
    fn insert_in_runs(&mut self, keys: &[Vec<u8>]) -> usize {
        let (mut rest, mut longest) = (keys, 0);
        while let Some(first) = rest.first() {
            let taken = self.pinned(|pair| {
                let Self { index, heap, changes, finger, .. } = pair;
                let keys = || rest.iter().map(Vec::as_slice);
                let run = index.plan_run(heap, keys(), finger)?;
                let new = &rest[..run.length()];
                let seen: Vec<_> = new
                    .iter()
                    .map(|key| match index.get(heap, key) {
                        Found::Absent(seen) => seen,
                        Found::Record(_) => panic!("planned over a key that is there"),
                    })
                    .collect();
                let records: Vec<_> =
                    new.iter().map(|_| heap.alloc_record(Kind::Record, 8).unwrap()).collect();
                changes.clear();
                assert!(index.insert_run(&run, keys(), &records, changes, finger), "alone");
                pair.model.extend(new.iter().cloned().zip(records));
                let taken = run.length();
                seen.into_iter().for_each(|seen| pair.check_changes(seen));
                Some(taken)
            });
            if taken.is_none() {
                self.insert(first);
            }
            rest = &rest[taken.unwrap_or(1)..];
            longest = longest.max(taken.unwrap_or(0));
        }
        longest
    }

    /// Whoever had seen the key absent must be told, and whoever fixes up what it saw is right.
    fn check_changes(&self, before: Seen<M>) {
        assert!(!before.holds(), "an insertion that nobody notices");
        let mut counted = 0;
        for change in &self.changes {
            match change {
                Change::Counted { after, before: count } => {
                    assert!(after.guard_ptr() == before.guard_ptr());
                    assert!(*count == before.members);
                    assert!(after.holds());
                    counted += 1;
                }
                Change::Handed { from, to } => {
                    assert!(*from == before.guard_ptr());
                    assert!(to.holds());
                }
            }
        }
        assert!(counted == 1);
    }

    fn unlink(&mut self, key: &[u8]) {
        let Some(record) = self.model.remove(key) else {
            return;
        };
        self.pinned(|pair| {
            let Pair { heap, index, .. } = pair;
            assert!(!index.unlink(heap, key, record, &mut NoHooks, &mut |_| false));
            assert!(index.unlink(heap, key, record, &mut NoHooks, &mut |_| true));
            assert!(!index.unlink(heap, key, record, &mut NoHooks, &mut |_| true));
            // SAFETY: unlinked during this pin.
            unsafe { heap.retire_record(Kind::Record, record) };
        });
    }

    fn scan(&mut self, low: Bound<&[u8]>, high: Bound<&[u8]>, direction: Direction) {
        let mut found = Vec::new();
        let mut cursor = Cursor::new(low, high, direction);
        let mut run = LeafRun::default();
        let mut seen = Vec::new();
        self.scans += 1;
        let at_most = [usize::MAX, 1, 5][self.scans % 3];
        loop {
            let more = self.pinned(|pair| {
                let more = pair.index.next_leaf(&pair.heap, &mut cursor, &mut run, at_most);
                assert!(run.records.len() <= at_most);
                found.extend(run.iter().map(|(key, record)| (key.to_vec(), record)));
                assert!(more == run.seen.is_some());
                more
            });
            if !more {
                break;
            }
            seen.extend(run.seen);
        }
        let range_is_empty = match (low, high) {
            (Bound::Unbounded, Bound::Excluded(high)) => high.is_empty(),
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (Bound::Included(low), Bound::Included(high)) => low > high,
            (
                Bound::Included(low) | Bound::Excluded(low),
                Bound::Included(high) | Bound::Excluded(high),
            ) => low >= high,
        };
        let mut expected: Vec<_> = Vec::new();
        if !range_is_empty {
            assert!(!seen.is_empty() && seen.iter().all(Seen::holds));
            let range = self.model.range::<[u8], _>((low, high));
            expected.extend(range.map(|(key, &record)| (key.clone(), record)));
        }
        if direction == Direction::Reverse {
            expected.reverse();
        }
        assert!(found == expected, "{low:?} {high:?} {direction:?}: {found:?} {expected:?}");
    }

    /// Measured a leaf at a time, the tree has the nodes and cells that a walk over the whole of it finds.
    fn measure(&mut self, shape: chiliad_storage::index::Shape) {
        let mut cursor = Cursor::new(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        let (mut run, mut memory) = (LeafRun::default(), IndexMemory::default());
        let mut records = Vec::new();
        while self
            .pinned(|pair| pair.index.measure_piece(&pair.heap, &mut cursor, &mut run, &mut memory))
        {
            records.extend(run.records.iter().map(|&(_, record)| record));
        }
        assert!(records.iter().eq(self.model.values()), "each record once, in order");
        assert_eq!(memory.node_bytes, 256 * (shape.leaves + shape.inners) as u64, "{shape:?}");
        assert!(memory.key_bytes >= 24 * shape.cells as u64, "{memory:?} {shape:?}");
        assert_eq!(memory.key_bytes == 0, shape.cells == 0, "{memory:?} {shape:?}");
    }

    fn check(&mut self) -> chiliad_storage::index::Shape {
        let shape = self.pinned(|pair| pair.index.check(&pair.heap));
        assert_eq!(shape.keys, self.model.len());
        self.measure(shape);
        shape
    }
}

/// Keys that share slices, end at slice borders, are empty, are long, and go to the extremes.
fn key(dice: &mut Dice, spread: usize) -> Vec<u8> {
    let alphabet: &[u8] = &[0, 1, b'a', b'b', 0xff];
    let length = match dice.below(40) {
        0 => 0,
        1 => 8,
        2 => 16,
        // The longest share layer under layer, one for each eight bytes, and each scan goes through all of them.
        3 if dice.below(8) == 0 => 4096,
        3 => 40 + dice.below(200),
        4 => 24 + dice.below(16),
        _ => dice.below(20),
    };
    // One letter for long stretches, so that long prefixes are shared.
    let mut letter = alphabet[dice.below(alphabet.len())];
    (0..length)
        .map(|_| {
            if dice.below(40) < spread {
                letter = alphabet[dice.below(alphabet.len())];
            }
            letter
        })
        .collect()
}

fn bound<'k>(dice: &mut Dice, key: &'k [u8]) -> Bound<&'k [u8]> {
    match dice.below(5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Included(key),
        _ => Bound::Excluded(key),
    }
}

fn random_operations<M: Machine>(seed: u64, rounds: usize, spread: usize) {
    let mut dice = Dice(seed);
    let mut pair = Pair::<M>::new();
    let mut growing = true;
    for round in 0..rounds {
        let key_now = key(&mut dice, spread);
        match dice.below(10) {
            0..=3 if growing => pair.insert(&key_now),
            0..=3 => {
                let nearest = pair.model.range(key_now..).next().map(|(key, _)| key.clone());
                if let Some(key) = nearest.or_else(|| pair.model.keys().next().cloned()) {
                    pair.unlink(&key);
                }
            }
            4 => pair.unlink(&key_now),
            5 if dice.below(4) > 0 => pair.insert(&key_now),
            5 => {
                // Keys in order, as many transactions insert them.
                let (mut key, mut keys) = (key_now, Vec::new());
                for _ in 0..dice.below(18) {
                    keys.push(key.clone());
                    if let Some(last) = key.last_mut() {
                        *last = last.saturating_add(1 + dice.below(2) as u8);
                    }
                }
                if dice.below(2) == 0 {
                    keys.iter().for_each(|key| pair.insert(key));
                } else {
                    pair.insert_in_runs(&keys);
                }
            }
            6 => {
                let other = key(&mut dice, spread);
                let (low, high) = (bound(&mut dice, &key_now), bound(&mut dice, &other));
                let direction =
                    if dice.below(2) == 0 { Direction::Forward } else { Direction::Reverse };
                pair.scan(low, high, direction);
            }
            _ => {
                let expected = pair.model.get(&key_now).copied();
                assert!(pair.get(&key_now) == expected);
            }
        }
        if round % 300 == 299 {
            growing = !growing;
            pair.check();
            pair.scan(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
            pair.scan(Bound::Unbounded, Bound::Unbounded, Direction::Reverse);
        }
    }
    let keys: Vec<_> = pair.model.keys().cloned().collect();
    for key in keys {
        pair.unlink(&key);
    }
    let shape = pair.check();
    assert_eq!((shape.leaves, shape.inners, shape.layers), (1, 0, 0), "{shape:?}");
}

#[test]
fn random_operations_on_the_plain_machine() {
    let rounds = if cfg!(miri) { 300 } else { 6000 };
    for seed in 1..=if cfg!(miri) { 1 } else { 10 } {
        random_operations::<Plain>(seed, rounds, 1 + seed as usize % 12);
    }
}

#[test]
#[cfg_attr(miri, ignore = "the plain machine is what Miri runs")]
fn random_operations_on_the_native_machine() {
    for seed in 1..=10 {
        random_operations::<Native>(seed, 6000, 1 + seed as usize % 12);
    }
}

/// Lines of orders in several districts: most go into their leaf together, and the leaves get as full as one by one.
#[test]
fn keys_in_order_are_inserted_in_runs() {
    let mut pair = Pair::<Plain>::new();
    let mut longest = 0;
    for order in 0..if cfg!(miri) { 4 } else { 200_u32 } {
        for district in 0..10_u8 {
            let key = |line: u8| {
                let mut key = vec![0, 1, district];
                key.extend(order.to_be_bytes());
                key.push(line);
                key
            };
            let keys: Vec<_> = (1..=10).map(key).collect();
            longest = longest.max(pair.insert_in_runs(&keys));
        }
    }
    let shape = pair.check();
    assert!(longest >= 9, "{longest}");
    assert!(cfg!(miri) || shape.leaf_fill_percent() >= 90, "{shape:?}");
    // None where a key is there already, or does not fit its slice.
    pair.insert(b"b");
    for keys in [[&b"b"[..], b"c"], [b"cdefghijk", b"d"]] {
        let Pair { index, heap, finger, .. } = &mut pair;
        heap.pin();
        assert!(index.plan_run(heap, keys.into_iter(), finger).is_none(), "{keys:?}");
        heap.unpin();
    }
    // One, where the second does not ascend, is there already, or is too long.
    for keys in [[&b"c"[..], b"c"], [b"c", b"a"], [b"a", b"b"], [b"c", b"cdefghijk"]] {
        let Pair { index, heap, finger, .. } = &mut pair;
        heap.pin();
        let run = index.plan_run(heap, keys.into_iter(), finger);
        assert!(run.is_none_or(|run| run.length() == 1), "{keys:?}");
        heap.unpin();
    }
}

/// A way down leads to the leaf, and the next run begins where this one was.
#[test]
fn a_run_needs_no_insertion_before_it() {
    let mut pair = Pair::<Plain>::new();
    for keys in [[&b"a"[..], b"b", b"c"], [b"d", b"e", b"f"], [b"0", b"1", b"2"]] {
        assert_eq!(pair.insert_in_runs(&keys.map(<[u8]>::to_vec)), 3, "{keys:?}");
    }
    pair.finger.forget();
    assert_eq!(pair.insert_in_runs(&[b"3".to_vec(), b"4".to_vec()]), 2);
    assert_eq!(pair.check().leaves, 1);
    pair.scan(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
}

#[test]
fn eight_byte_keys_in_any_order() {
    let count: u64 = if cfg!(miri) { 300 } else { 20_000 };
    for multiplier in [1_u64, 0x9e37_79b9_7f4a_7c15, u64::MAX] {
        let mut pair = Pair::<Plain>::new();
        let keys = || (0..count).map(move |n| n.wrapping_mul(multiplier).to_be_bytes());
        keys().for_each(|key| pair.insert(&key));
        let shape = pair.check();
        if multiplier != 0x9e37_79b9_7f4a_7c15 && !cfg!(miri) {
            assert!(shape.leaf_fill_percent() >= 98, "{shape:?}");
            assert!(shape.inners * 12 < shape.leaves, "{shape:?}");
        }
        keys().for_each(|key| assert!(pair.get(&key).is_some()));
        pair.scan(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        pair.scan(Bound::Unbounded, Bound::Unbounded, Direction::Reverse);
        keys().for_each(|key| pair.unlink(&key));
        assert_eq!(pair.check().leaves, 1);
    }
}

/// Ranges that are appended to at the same time fill their nodes as the right end of the tree does,
/// and so do ranges that grow downwards: what lies beyond does not ride along from leaf to leaf.
#[test]
fn ranges_in_order_fill_their_leaves() {
    let per_range = if cfg!(miri) { 20 } else { 1000 };
    for descending in [false, true] {
        let mut pair = Pair::<Plain>::new();
        for n in 0..per_range {
            for range in 0..10_u32 {
                let n = if descending { u32::MAX - n } else { n };
                let mut key = range.to_be_bytes().to_vec();
                key.extend(n.to_be_bytes());
                pair.insert(&key);
            }
        }
        let shape = pair.check();
        assert!(cfg!(miri) || shape.leaf_fill_percent() >= 97, "{shape:?}");
    }
}

/// A queue: what is inserted at the right and deleted at the left forever stays small.
#[test]
fn a_queue_stays_small() {
    let rounds = if cfg!(miri) { 100 } else { 1_000_000_u64 };
    let mut pair = Pair::<Plain>::new();
    let mut reserved = 0;
    for round in 0..rounds {
        let key = |n: u64| [&b"queue no 1"[..], &n.to_be_bytes()].concat();
        pair.insert(&key(round));
        if round >= 50 {
            pair.unlink(&key(round - 50));
        }
        if round % (rounds / 10) == rounds / 20 {
            let shape = pair.check();
            assert!(shape.leaves <= 12 && shape.height <= 6, "{shape:?}");
            let mut cursor = Cursor::new(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
            let mut run = LeafRun::default();
            let mut pieces = 0;
            pair.pinned(|pair| {
                while run.records.is_empty() {
                    pair.index.next_leaf(&pair.heap, &mut cursor, &mut run, usize::MAX);
                    pieces += 1;
                }
            });
            assert!(pieces <= 3, "{pieces} pieces to the first key");
            let now = pair.heap.shared().usage().reserved_bytes;
            assert!(reserved == 0 || now == reserved, "grown from {reserved} to {now}");
            reserved = if round > rounds / 5 { now } else { 0 };
        }
    }
}

#[test]
fn a_full_heap_refuses_and_leaves_the_index_whole() {
    let shared = Heap::<Plain>::new(if cfg!(miri) { 1 << 17 } else { 1 << 20 });
    let mut heap = LocalHeap::new(&shared).unwrap();
    let index = OrderedIndex::new(&mut heap).unwrap();
    let mut changes = Vec::new();
    let mut dice = Dice(7);
    heap.pin();
    let record = heap.alloc_record(Kind::Record, 8).unwrap();
    let mut kept = Vec::new();
    let mut refused = 0;
    while refused < if cfg!(miri) { 5 } else { 100 } {
        let key = key(&mut dice, 20);
        match index.insert(&mut heap, &key, record, &mut NoHooks, &mut changes) {
            Ok(Inserted::Yes) => kept.push(key),
            Ok(Inserted::Exists(_)) => {}
            Err(_) => {
                refused += 1;
                assert!(matches!(index.get(&heap, &key), Found::Absent(_)));
            }
        }
    }
    assert_eq!(index.check(&heap).keys, kept.len());
    for key in kept {
        assert!(index.unlink(&mut heap, &key, record, &mut NoHooks, &mut |_| true));
    }
    assert_eq!(index.check(&heap).leaves, 1);
    heap.unpin();
}

#[test]
fn probes_find_what_get_finds() {
    let mut dice = Dice(3);
    let mut pair = Pair::<Plain>::new();
    for _ in 0..if cfg!(miri) { 50 } else { 3000 } {
        let key = key(&mut dice, 8);
        pair.insert(&key);
    }
    let keys: Vec<_> = (0..16).map(|_| key(&mut dice, 8)).collect();
    let keys: Vec<_> = pair.model.keys().take(16).cloned().chain(keys).collect();
    let expected: Vec<_> = keys.iter().map(|key| pair.model.get(key).copied()).collect();
    pair.pinned(|pair| {
        let mut probes: Vec<_> = keys.iter().map(|key| pair.index.probe(key)).collect();
        let mut open: Vec<_> = (0..keys.len()).collect();
        while !open.is_empty() {
            open.retain(|&at| match pair.index.step(&pair.heap, &mut probes[at], &keys[at]) {
                None => true,
                Some(Found::Record(record)) => {
                    assert!(expected[at] == Some(record));
                    false
                }
                Some(Found::Absent(seen)) => {
                    assert!(expected[at].is_none() && seen.holds());
                    false
                }
            });
        }
    });
}

#[test]
fn dismantling_hands_out_every_record_once() {
    let mut dice = Dice(11);
    let mut pair = Pair::<Plain>::new();
    for _ in 0..if cfg!(miri) { 50 } else { 3000 } {
        let key = key(&mut dice, 8);
        pair.insert(&key);
    }
    let Pair { mut heap, index, model, .. } = pair;
    let mut records = Vec::new();
    Index::Ordered(index).dismantle(&mut heap, &mut |_, record| records.push(record.address()));
    let mut expected: Vec<_> = model.values().map(|record| record.address()).collect();
    records.sort_unstable();
    expected.sort_unstable();
    assert_eq!(records, expected);
}
