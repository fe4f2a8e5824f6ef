//! Look-ups in an index alone: what a get costs without any transaction around it, and what it
//! costs when a group of them has its cache misses in flight together.
//!
//! Keys are eight bytes, big-endian, dense and drawn evenly; each look-up reads its record's value.

use super::sampling::Generator;
use super::signals::{Phase, Signals};
use super::window::{Counted, Window};
use super::{Failure, Progress};
use chiliad_engine::{Error, IndexKind};
use chiliad_machine::Native;
use chiliad_storage::{
    Changes, Found, HashIndex, Heap, Index, Kind, LocalHeap, LookupBatch, NoHooks, OrderedIndex,
    OutOfMemory, RecordRef,
};
use chiliad_workload::memory::{Estimate, Tables};
use std::time::Duration;

/// Look-ups between two looks at what the driver wants.
const BATCH: usize = 1024;

/// Rows between two reports of progress.
const REPORT_ROWS: usize = 100_000;

/// The measurement to make.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// Rows in the index.
    pub records: usize,
    /// Bytes of a row's value.
    pub record_bytes: usize,
    /// Look-ups in flight together; one for single gets.
    pub group: usize,
    /// Which index.
    pub index: IndexKind,
    /// Threads, each on a core of its own where there are enough.
    pub threads: usize,
    /// The measured window.
    pub duration: Duration,
    /// Time before it.
    pub warmup: Duration,
    /// The seed of the keys looked up.
    pub seed: u64,
}

impl Lookup {
    /// About what the rows take.
    #[must_use]
    pub fn memory(&self) -> Estimate {
        let (records, bytes) = (self.records as u64, self.record_bytes as u64);
        Tables::new(None).rows(records, bytes).estimate("--records")
    }
}

/// Loads an index and looks up keys in it.
///
/// # Errors
/// When there is no memory or a thread fails.
pub fn run_lookup(lookup: &Lookup, progress: &dyn Progress) -> Result<Counted, Failure> {
    let table = Table::load(lookup, progress).map_err(out_of_memory)?;
    let Lookup { threads, duration, warmup, .. } = *lookup;
    let window = Window { threads, warmup, duration };
    window.run(progress, |thread, signals| table.look_up(lookup, thread, signals))
}

fn out_of_memory(_: OutOfMemory) -> Failure {
    Failure::Engine { doing: "loading", error: Error::OutOfMemory { limit_bytes: u64::MAX } }
}

/// The index and the memory that it lives in.
struct Table {
    index: Index<Native>,
    heap: std::sync::Arc<chiliad_machine::Shared<Native, Heap<Native>>>,
}

fn key(number: usize) -> [u8; 8] {
    (number as u64).to_be_bytes()
}

impl Table {
    fn load(lookup: &Lookup, progress: &dyn Progress) -> Result<Self, OutOfMemory> {
        let heap = Heap::new(u64::MAX);
        let mut local = LocalHeap::new(&heap).ok_or(OutOfMemory)?;
        let index = match lookup.index {
            IndexKind::Ordered => Index::Ordered(OrderedIndex::new(&mut local)?),
            IndexKind::Hash => Index::Hash(HashIndex::new(&heap, lookup.records)?),
        };
        let mut value = vec![0; lookup.record_bytes];
        let mut changes = Changes::new();
        for number in 0..lookup.records {
            if number % REPORT_ROWS == 0 {
                progress.loading(number, lookup.records);
            }
            value[..8].copy_from_slice(&key(number));
            local.pin();
            let record = local.alloc_record(Kind::Record, value.len())?;
            record.write(&value);
            index.insert(&mut local, &key(number), record, &mut NoHooks, &mut changes)?;
            local.unpin();
            changes.clear();
        }
        Ok(Self { index, heap })
    }

    fn look_up(&self, lookup: &Lookup, thread: usize, signals: &Signals) -> Result<(), Failure> {
        let heap = LocalHeap::new(&self.heap)
            .ok_or(Failure::Engine { doing: "starting", error: Error::NO_SLOT })?;
        let mut random = Generator::new(lookup.seed, thread);
        let mut reader = Reader::new(&self.index, &heap, lookup);
        let mut done = 0;
        while signals.phase() != Phase::Stop {
            for _ in 0..BATCH.div_ceil(lookup.group) {
                done += reader.group(&mut random) as u64;
            }
            signals.client(thread).set(done);
        }
        std::hint::black_box(reader.sum);
        Ok(())
    }
}

/// One thread's look-ups, with room for a group.
struct Reader<'a> {
    index: &'a Index<Native>,
    heap: &'a LocalHeap<Native>,
    records: u64,
    group: usize,
    keys: Vec<[u8; 8]>,
    lookups: LookupBatch<Native>,
    value: Vec<u8>,
    sum: u64,
}

impl<'a> Reader<'a> {
    fn new(index: &'a Index<Native>, heap: &'a LocalHeap<Native>, lookup: &Lookup) -> Self {
        Self {
            index,
            heap,
            records: lookup.records as u64,
            group: lookup.group,
            keys: vec![[0; 8]; lookup.group],
            lookups: LookupBatch::default(),
            value: vec![0; lookup.record_bytes],
            sum: 0,
        }
    }

    /// Looks up one group and says how many keys that were.
    fn group(&mut self, random: &mut Generator) -> usize {
        for slot in &mut self.keys {
            *slot = random.below(self.records).to_be_bytes();
        }
        self.heap.pin();
        if self.group == 1 {
            if let Found::Record(record) = self.index.get(self.heap, &self.keys[0]) {
                self.read(record);
            }
        } else {
            let (index, keys) = (self.index, &self.keys);
            self.lookups.clear();
            for key in keys {
                self.lookups.begin(index, key);
            }
            self.lookups.finish(self.heap, |at| (index, &keys[at]), |_, _| {});
            for at in 0..self.group {
                if let Found::Record(record) = self.lookups.found(at) {
                    self.read(record);
                }
            }
        }
        self.heap.unpin();
        self.group
    }

    fn read(&mut self, record: RecordRef<Native>) {
        record.read(&mut self.value);
        let mut word = [0; 8];
        word.copy_from_slice(&self.value[..8]);
        self.sum = self.sum.wrapping_add(u64::from_be_bytes(word));
    }
}
