//! What a worker does to a shared ordered index, and what must hold for it meanwhile: the same on
//! real threads and on simulated cores.

use chiliad_machine::Machine;
use chiliad_storage::{
    Cursor, Direction, Finger, Found, Inserted, Kind, LeafRun, LocalHeap, NoHooks, OrderedIndex,
    RecordRef, Seen,
};
use std::ops::Bound;

/// Keys that nobody touches, one in so many.
const STABLE: usize = 4;

/// The keys of a run: key `n` belongs to worker `n % workers`, unless it is stable.
pub struct Keys {
    pub count: usize,
    pub workers: usize,
    /// Shapes the keys: many short layers, long ones, or none.
    pub style: usize,
    /// Whether the stable keys are in.
    pub populated: bool,
}

impl Keys {
    pub fn key(&self, n: usize) -> Vec<u8> {
        match self.style {
            0 => (n as u64).to_be_bytes().to_vec(),
            1 => [&b"a shared beginning "[..], &(n as u32).to_be_bytes()].concat(),
            // Keys of all lengths that are prefixes of each other, eleven to a family.
            _ => {
                let mut key = vec![(n / 11) as u8; 2 + n % 11 * 3];
                key[1] = 0;
                key
            }
        }
    }

    pub fn is_stable(n: usize) -> bool {
        n.is_multiple_of(STABLE)
    }

    /// Whether a key is always in.
    pub fn is_in(&self, n: usize) -> bool {
        self.populated && Self::is_stable(n)
    }
}

/// A worker's part: its heap, its dice, and the records of its keys that are in.
pub struct Worker<'a, M: Machine> {
    pub index: &'a OrderedIndex<M>,
    pub heap: LocalHeap<M>,
    pub keys: &'a Keys,
    pub number: usize,
    dice: u64,
    finger: Finger<M>,
    mine: Vec<Option<RecordRef<M>>>,
}

/// A record whose payload says which key it is for.
pub fn record_for<M: Machine>(heap: &mut LocalHeap<M>, n: usize) -> RecordRef<M> {
    let record = heap.alloc_record(Kind::Record, 8).expect("room");
    record.write(&(n as u64).to_le_bytes());
    record
}

pub fn number_of<M: Machine>(record: RecordRef<M>) -> usize {
    let mut bytes = [0; 8];
    record.read(&mut bytes);
    u64::from_le_bytes(bytes) as usize
}

pub fn insert<M: Machine>(
    index: &OrderedIndex<M>,
    heap: &mut LocalHeap<M>,
    key: &[u8],
    record: RecordRef<M>,
) {
    let inserted = index.insert(heap, key, record, &mut NoHooks, &mut Vec::new()).expect("room");
    assert!(matches!(inserted, Inserted::Yes));
}

/// What a scan saw.
struct Scanned<M: Machine> {
    numbers: Vec<usize>,
    seen: Vec<Seen<M>>,
}

impl<'a, M: Machine> Worker<'a, M> {
    pub fn new(
        index: &'a OrderedIndex<M>,
        heap: LocalHeap<M>,
        keys: &'a Keys,
        number: usize,
        seed: u64,
    ) -> Self {
        let dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (number as u64 + 1) << 32 | 1;
        let finger = Finger::default();
        Self { index, heap, keys, number, dice, finger, mine: vec![None; keys.count] }
    }

    fn roll(&mut self, n: usize) -> usize {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        (self.dice.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }

    /// One operation, with its checks.
    pub fn act(&mut self, scans: bool) {
        let n = self.roll(self.keys.count);
        match self.roll(if scans { 10 } else { 8 }) {
            5 => {
                let n = n - n % self.keys.workers + self.number;
                if n < self.keys.count && !Keys::is_stable(n) && self.mine[n].is_none() {
                    self.toggle(n);
                    let some = 1 + self.roll(6);
                    self.insert_together(n, some);
                }
            }
            0..=4 => {
                let n = n - n % self.keys.workers + self.number;
                // Several in order: an insertion goes on where the last one was.
                let some = 1 + self.roll(3);
                for n in (n..self.keys.count).step_by(self.keys.workers).take(some) {
                    if !Keys::is_stable(n) {
                        self.toggle(n);
                    }
                }
            }
            6 | 7 => self.look_up(n),
            8 => self.scan_twice(n, Direction::Forward),
            _ => self.scan_twice(n, Direction::Reverse),
        }
        self.heap.reclaim();
    }

    /// Inserts one of our own keys or unlinks it, and checks before and after that it is as only
    /// we can have left it.
    fn toggle(&mut self, n: usize) {
        let key = self.keys.key(n);
        self.heap.pin();
        match self.mine[n].take() {
            None => {
                let Found::Absent(before) = self.index.get(&self.heap, &key) else {
                    panic!("a key that we have unlinked is there");
                };
                let record = record_for(&mut self.heap, n);
                let Self { index, heap, finger, .. } = self;
                let inserted = index
                    .insert_near(heap, &key, record, (&mut NoHooks, &mut Vec::new()), finger)
                    .expect("room");
                assert!(matches!(inserted, Inserted::Yes));
                assert!(!before.holds(), "an insertion that nobody notices");
                assert!(self.find(&key) == Some(record), "lost what it had inserted");
                self.mine[n] = Some(record);
            }
            Some(record) => {
                assert!(self.find(&key) == Some(record), "a key that we have inserted is gone");
                let heap = &mut self.heap;
                assert!(self.index.unlink(heap, &key, record, &mut NoHooks, &mut |_| true));
                // SAFETY: unlinked during this pin.
                unsafe { heap.retire_record(Kind::Record, record) };
                assert!(self.find(&key).is_none());
            }
        }
        self.heap.unpin();
    }

    /// Inserts some of our own keys that are out, in order from `n` on, as many together as the index takes. They are others'
    /// to judge only then.
    fn insert_together(&mut self, n: usize, some: usize) {
        let ours = (n..self.keys.count).step_by(self.keys.workers).take(some);
        let out: Vec<_> = ours.filter(|&n| !Keys::is_stable(n) && self.mine[n].is_none()).collect();
        let keys: Vec<_> = out.iter().map(|&n| self.keys.key(n)).collect();
        self.heap.pin();
        let run = self.index.plan_run(&self.heap, keys.iter().map(Vec::as_slice), &self.finger);
        if let Some(run) = run {
            let out = &out[..run.length()];
            let records: Vec<_> = out.iter().map(|&n| record_for(&mut self.heap, n)).collect();
            let (keys_in, changes) = (keys.iter().map(Vec::as_slice), &mut Vec::new());
            if self.index.insert_run(&run, keys_in, &records, changes, &mut self.finger) {
                for ((&n, key), &record) in out.iter().zip(&keys).zip(&records) {
                    assert!(self.find(key) == Some(record), "lost what it had inserted");
                    self.mine[n] = Some(record);
                }
            } else {
                for record in records {
                    // SAFETY: the index has not taken it.
                    unsafe { self.heap.free_record(Kind::Record, record) };
                }
            }
        }
        self.heap.unpin();
    }

    fn find(&self, key: &[u8]) -> Option<RecordRef<M>> {
        match self.index.get(&self.heap, key) {
            Found::Record(record) => Some(record),
            Found::Absent(_) => None,
        }
    }

    /// Any key: what is found is its own, and a stable one is found.
    fn look_up(&mut self, n: usize) {
        self.heap.pin();
        match self.find(&self.keys.key(n)) {
            Some(record) => assert_eq!(number_of(record), n, "another key's record"),
            None => assert!(!self.keys.is_in(n), "a stable key is not found"),
        }
        self.heap.unpin();
    }

    /// Scans a range from key `n` on twice: if all that the first scan saw still holds after the
    /// second, then both have found the same.
    fn scan_twice(&mut self, n: usize, direction: Direction) {
        let other = self.roll(self.keys.count);
        let (low, high) = (self.keys.key(n.min(other)), self.keys.key(n.max(other)));
        let bounds = match self.roll(3) {
            0 => (Bound::Unbounded, Bound::Unbounded),
            1 => (Bound::Included(&low[..]), Bound::Excluded(&high[..])),
            _ => (Bound::Excluded(&low[..]), Bound::Included(&high[..])),
        };
        let first = self.scan(bounds, direction);
        let second = self.scan(bounds, direction);
        if first.seen.iter().all(Seen::holds) {
            assert_eq!(first.numbers, second.numbers, "a phantom");
        }
    }

    fn scan(&mut self, (low, high): (Bound<&[u8]>, Bound<&[u8]>), way: Direction) -> Scanned<M> {
        let mut scanned = Scanned { numbers: Vec::new(), seen: Vec::new() };
        let mut cursor = Cursor::new(low, high, way);
        let mut run = LeafRun::default();
        let mut last: Option<Vec<u8>> = None;
        let at_most = [usize::MAX, 1, 3][self.roll(3)];
        loop {
            self.heap.pin();
            let more = self.index.next_leaf(&self.heap, &mut cursor, &mut run, at_most);
            assert!(run.records.len() <= at_most, "more than were asked for");
            for (key, record) in run.iter() {
                let n = number_of(record);
                assert_eq!(key, self.keys.key(n), "another key's record");
                let in_order = last.as_deref().is_none_or(|last| match way {
                    Direction::Forward => last < key,
                    Direction::Reverse => last > key,
                });
                assert!(in_order, "a scan out of order");
                last = Some(key.to_vec());
                scanned.numbers.push(n);
            }
            self.heap.unpin();
            scanned.seen.extend(run.seen);
            if !more {
                break;
            }
        }
        let range = (low, high);
        for n in (0..self.keys.count).filter(|&n| self.keys.is_in(n)) {
            let key = self.keys.key(n);
            let expected = std::ops::RangeBounds::<[u8]>::contains(&range, &key[..]);
            assert_eq!(scanned.numbers.contains(&n), expected, "a stable key");
        }
        scanned
    }

    /// How many of our keys are in.
    pub fn count(&self) -> usize {
        self.mine.iter().flatten().count()
    }

    /// Takes all of our keys out.
    pub fn finish(&mut self) {
        for n in 0..self.keys.count {
            if self.mine[n].is_some() {
                self.toggle(n);
            }
        }
    }
}

/// Inserts the stable keys.
pub fn populate<M: Machine>(index: &OrderedIndex<M>, heap: &mut LocalHeap<M>, keys: &Keys) {
    heap.pin();
    for n in (0..keys.count).filter(|&n| keys.is_in(n)) {
        let record = record_for(heap, n);
        insert(index, heap, &keys.key(n), record);
    }
    heap.unpin();
}
