//! The hash index against a plain map, and its own promises.

use crate::hash_common::{Random, present, value};
use chiliad_machine::{Machine, Native, Plain, Shared};
use chiliad_storage::{
    Change, Found, HashIndex, Heap, Hooks, Index, IndexMemory, Inserted, Kind, LeafRun, LocalHeap,
    NoHooks, OutOfMemory, RecordRef, Seen,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

struct Rig<M: Machine> {
    index: HashIndex<M>,
    local: LocalHeap<M>,
    heap: Arc<Shared<M, Heap<M>>>,
    changes: Vec<Change<M>>,
}

impl<M: Machine> Rig<M> {
    fn new(limit_bytes: u64, expected_keys: usize) -> Self {
        let heap = Heap::new(limit_bytes);
        let index = HashIndex::new(&heap, expected_keys).expect("memory");
        let local = LocalHeap::new(&heap).expect("a slot");
        Self { index, local, heap, changes: Vec::new() }
    }

    fn record(&mut self, value: u64) -> RecordRef<M> {
        let record = self.local.alloc_record(Kind::Record, 8).expect("memory");
        record.write(&value.to_le_bytes());
        record
    }

    fn insert(&mut self, key: &[u8], record: RecordRef<M>) -> Result<Inserted<M>, OutOfMemory> {
        self.changes.clear();
        self.local.pin();
        let done = self.index.insert(&mut self.local, key, record, &mut NoHooks, &mut self.changes);
        self.local.unpin();
        done
    }

    fn get(&self, key: &[u8]) -> Found<M> {
        self.local.pin();
        let found = self.index.get(&self.local, key);
        let mut probe = self.index.probe(key);
        let mut steps = 0;
        let stepped = loop {
            steps += 1;
            if let Some(found) = self.index.step(&self.local, &mut probe, key) {
                break found;
            }
        };
        self.local.unpin();
        assert!(steps < 20);
        match (found, stepped) {
            (Found::Record(a), Found::Record(b)) => assert_eq!(a, b),
            (Found::Absent(a), Found::Absent(b)) => assert_eq!(a.members, b.members),
            _ => panic!("a look-up and its stepped form differ"),
        }
        found
    }

    fn unlink(&mut self, key: &[u8], record: RecordRef<M>, agree: bool) -> bool {
        self.local.pin();
        let mut confirm = |_: &chiliad_storage::Guard<M>| agree;
        let done = self.index.unlink(&mut self.local, key, record, &mut NoHooks, &mut confirm);
        self.local.unpin();
        self.local.reclaim();
        done
    }

    /// Measured a few buckets at a time, the index has each record once, and the cells of its long keys.
    fn measure(&self, model: &HashMap<Vec<u8>, RecordRef<M>>) {
        let (mut next, mut run) = (0, LeafRun::default());
        let (mut memory, mut records) = (IndexMemory::default(), Vec::new());
        self.local.pin();
        while self.index.measure_piece(&self.local, &mut next, &mut run, &mut memory) {
            records.extend(run.records.iter().map(|&(_, record)| record.address()));
        }
        self.local.unpin();
        let mut expected: Vec<_> = model.values().map(|record| record.address()).collect();
        records.sort_unstable();
        expected.sort_unstable();
        assert_eq!(records, expected);
        assert_eq!(memory.key_bytes, model.keys().map(|key| cell_bytes(key)).sum::<u64>());
        assert!(memory.node_bytes >= 128 * self.index.buckets(), "{memory:?}");
        assert!(memory.node_bytes <= 2 * 128 * self.index.buckets() + 4096, "{memory:?}");
    }

    fn content(&self) -> HashMap<Vec<u8>, u64> {
        let mut content = HashMap::new();
        self.local.pin();
        self.index.walk(&self.local, |key, record| {
            assert!(content.insert(key.to_vec(), value(record)).is_none(), "walked twice");
        });
        self.local.unpin();
        content
    }
}

/// The bytes of a key's cell: its head and whole words, in a slot of the classes of `classes.rs`.
fn cell_bytes(key: &[u8]) -> u64 {
    let bytes = 16 + key.len().next_multiple_of(8) as u64;
    match bytes {
        _ if key.len() <= 8 => 0,
        ..=64 => bytes,
        65..=512 => bytes.next_multiple_of(16),
        _ => bytes.next_multiple_of((bytes - 1).next_power_of_two() / 8),
    }
}

fn absent<M: Machine>(found: Found<M>) -> Seen<M> {
    match found {
        Found::Absent(seen) => seen,
        Found::Record(_) => panic!("present"),
    }
}

/// A key of a random length, from few enough that they meet again.
fn random_key(random: &mut Random) -> Vec<u8> {
    let length = match random.below(10) {
        0..4 => random.below(10),
        4..8 => random.below(41),
        8 => random.below(400),
        _ => random.below(4097),
    };
    let (byte, last) = (random.below(3) as u8, random.below(8) as u8);
    let mut key = vec![byte * 0x7f; length as usize];
    if let Some(end) = key.last_mut() {
        *end = last;
    }
    key
}

fn against_a_map<M: Machine>(operations: u32, seed: u64) {
    let mut rig = Rig::<M>::new(u64::MAX, 0);
    let mut random = Random(seed);
    let mut model: HashMap<Vec<u8>, RecordRef<M>> = HashMap::new();
    for number in 0..u64::from(operations) {
        let key = random_key(&mut random);
        match random.below(8) {
            0..3 => {
                let record = rig.record(number);
                match (rig.insert(&key, record).expect("memory"), model.get(&key)) {
                    (Inserted::Yes, None) => {
                        assert!(matches!(rig.changes[0], Change::Counted { .. }));
                        model.insert(key, record);
                    }
                    (Inserted::Exists(found), Some(&known)) => {
                        assert!(found == known && rig.changes.is_empty());
                    }
                    _ => panic!("insertion and model differ"),
                }
            }
            3..5 => {
                let agree = random.below(4) > 0;
                if let Some(&record) = model.get(&key) {
                    let other = rig.record(0);
                    assert!(!rig.unlink(&key, other, true), "another record");
                    assert_eq!(rig.unlink(&key, record, agree), agree);
                    if agree {
                        model.remove(&key);
                    }
                }
            }
            _ => match (rig.get(&key), model.get(&key)) {
                (Found::Record(found), Some(&known)) => assert_eq!(found, known),
                (Found::Absent(seen), None) => assert!(seen.holds()),
                _ => panic!("look-up and model differ"),
            },
        }
    }
    let expected: HashMap<_, _> = model.iter().map(|(key, &it)| (key.clone(), value(it))).collect();
    assert_eq!(rig.content(), expected);
    let buckets = rig.index.buckets();
    assert!(buckets > 4, "it grew");
    rig.measure(&model);
    let Rig { index, mut local, .. } = rig;
    let mut dismantled = Vec::new();
    Index::Hash(index).dismantle(&mut local, &mut |_, record| dismantled.push(value(record)));
    let mut expected: Vec<_> = expected.into_values().collect();
    dismantled.sort_unstable();
    expected.sort_unstable();
    assert_eq!(dismantled, expected);
}

#[test]
fn random_operations_agree_with_a_map() {
    let operations = if cfg!(miri) { 300 } else { 60_000 };
    for seed in 1..4 {
        against_a_map::<Plain>(operations, seed);
        if !cfg!(miri) {
            against_a_map::<Native>(operations, seed + 10);
        }
    }
}

#[test]
fn neighbouring_lengths_are_different_keys() {
    let mut rig = Rig::<Plain>::new(u64::MAX, 0);
    let keys: Vec<Vec<u8>> =
        (0..40).flat_map(|length| [vec![0; length], vec![length as u8; length]]).collect();
    let keys: HashSet<_> = keys.into_iter().collect();
    for (number, key) in keys.iter().enumerate() {
        let record = rig.record(number as u64);
        assert!(matches!(rig.insert(key, record), Ok(Inserted::Yes)));
    }
    for (number, key) in keys.iter().enumerate() {
        assert_eq!(value(present(rig.get(key))), number as u64);
    }
}

#[test]
fn an_absent_look_up_changes_when_its_key_comes() {
    let mut rig = Rig::<Plain>::new(u64::MAX, 0);
    let keys: Vec<_> = (0..3000_u32).map(|it| it.to_be_bytes()).collect();
    let seen: Vec<_> = keys.iter().map(|key| absent(rig.get(key))).collect();
    let divisions_expected = rig.index.buckets();
    for (number, (key, early)) in keys.iter().zip(&seen).enumerate() {
        let late = absent(rig.get(key));
        assert!(late.holds());
        let record = rig.record(number as u64);
        rig.insert(key, record).expect("memory");
        assert!(!early.holds() && !late.holds(), "key {number}");
    }
    assert!(rig.index.buckets() > 100 * divisions_expected);
}

#[test]
fn reported_changes_repair_the_callers_own_node_set() {
    // A transaction that looks up and inserts alone must find its whole node set unchanged after
    // it has applied what its own insertions reported.
    let mut rig = Rig::<Plain>::new(u64::MAX, 0);
    let keys: Vec<_> = (0..2000_u32).map(|it| (it * 7).to_be_bytes()).collect();
    let probes: Vec<_> = (0..2000_u32).map(|it| (it * 7 + 3).to_be_bytes()).collect();
    let mut nodes = HashMap::new();
    for probe in &probes {
        let seen = absent(rig.get(probe));
        nodes.insert(seen.guard_ptr(), seen);
    }
    for key in keys {
        let record = rig.record(1);
        rig.insert(&key, record).expect("memory");
        for change in rig.changes.drain(..) {
            match change {
                Change::Counted { after, before } => {
                    if let Some(seen) = nodes.get_mut(&after.guard_ptr()) {
                        assert_eq!(seen.members, before);
                        *seen = after;
                    }
                }
                Change::Handed { from, to } => {
                    if nodes.contains_key(&from) {
                        nodes.insert(to.guard_ptr(), to);
                    }
                }
            }
        }
    }
    assert!(nodes.values().all(Seen::holds));
    for probe in &probes {
        let seen = absent(rig.get(probe));
        assert_eq!(nodes[&seen.guard_ptr()].members, seen.members);
    }
}

#[test]
fn a_division_hands_the_schemes_words_on() {
    struct Count(u32);
    impl Hooks<Plain> for Count {
        fn hand_on(
            &mut self,
            old: &chiliad_storage::Guard<Plain>,
            new: &chiliad_storage::Guard<Plain>,
        ) {
            assert!(!core::ptr::eq(old, new));
            self.0 += 1;
        }
    }
    let mut rig = Rig::<Plain>::new(u64::MAX, 0);
    let mut count = Count(0);
    let before = rig.index.buckets();
    for number in 0..500_u64 {
        let record = rig.record(number);
        rig.local.pin();
        let key = number.to_be_bytes();
        let done = rig.index.insert(&mut rig.local, &key, record, &mut count, &mut Vec::new());
        assert!(matches!(done, Ok(Inserted::Yes)));
        rig.local.unpin();
    }
    assert_eq!(u64::from(count.0), rig.index.buckets() - before);
}

#[test]
#[cfg_attr(miri, ignore = "the plain machine is what Miri runs")]
fn everything_unlinked_leaves_room_to_reuse() {
    let mut rig = Rig::<Native>::new(u64::MAX, 0);
    let keys: Vec<Vec<u8>> =
        (0..20_000_u64)
            .map(|it| {
                if it % 2 == 0 {
                    it.to_be_bytes().to_vec()
                } else {
                    it.to_string().repeat(3).into()
                }
            })
            .collect();
    let mut reserved = 0;
    for round in 0..12 {
        let mut records = Vec::new();
        for key in &keys {
            let record = rig.record(round);
            assert!(matches!(rig.insert(key, record), Ok(Inserted::Yes)));
            records.push(record);
        }
        assert_eq!(rig.content().len(), keys.len());
        for (key, &record) in keys.iter().zip(&records) {
            assert!(rig.unlink(key, record, true));
            absent(rig.get(key));
            // SAFETY: the index was the only way to it.
            unsafe { rig.local.free_record(Kind::Record, record) };
        }
        assert_eq!(rig.content().len(), 0);
        assert_eq!(rig.index.keys_estimated(), 0);
        for _ in 0..4 {
            rig.local.reclaim_now();
        }
        if round == 3 {
            reserved = rig.heap.usage().reserved_bytes;
        }
    }
    assert_eq!(rig.heap.usage().reserved_bytes, reserved, "steady state needs nothing new");
}

#[test]
fn memory_that_runs_out_is_an_error_and_nothing_is_lost() {
    let limit = 40 * Plain::CHUNK_BYTES as u64;
    let mut rig = Rig::<Plain>::new(limit, 0);
    let mut inserted = Vec::new();
    // Keys in cells, so that insertion itself needs memory.
    let shared_record = rig.record(5);
    let mut refused = 0;
    for number in 0..100_000_u64 {
        let key = format!("key number {number:>60}");
        match rig.insert(key.as_bytes(), shared_record) {
            Ok(Inserted::Yes) => inserted.push(key),
            Ok(Inserted::Exists(_)) => panic!("new"),
            Err(OutOfMemory) => {
                assert!(rig.changes.is_empty());
                absent(rig.get(key.as_bytes()));
                refused += 1;
                if refused == 100 {
                    break;
                }
            }
        }
    }
    assert_eq!(refused, 100);
    assert!(inserted.len() > 1000);
    assert!(rig.heap.usage().reserved_bytes <= limit);
    for key in &inserted {
        assert_eq!(present(rig.get(key.as_bytes())), shared_record);
    }
    for key in &inserted[..500] {
        assert!(rig.unlink(key.as_bytes(), shared_record, true));
    }
    for _ in 0..4 {
        rig.local.reclaim_now();
    }
    for key in &inserted[..400] {
        assert!(matches!(rig.insert(key.as_bytes(), shared_record), Ok(Inserted::Yes)));
    }
    assert!(matches!(HashIndex::new(&rig.heap, 1 << 40), Err(OutOfMemory)));
    let before = rig.heap.usage().reserved_bytes;
    drop(rig.index);
    assert!(rig.heap.usage().reserved_bytes < before, "the buckets are given back");
}

#[test]
#[cfg_attr(miri, ignore = "the plain machine is what Miri runs")]
fn expected_keys_fit_without_growth() {
    let mut rig = Rig::<Native>::new(u64::MAX, 10_000);
    let buckets = rig.index.buckets();
    for number in 0..9_500_u64 {
        let record = rig.record(number);
        rig.insert(&number.to_be_bytes(), record).expect("memory");
    }
    assert_eq!(rig.index.buckets(), buckets);
}
