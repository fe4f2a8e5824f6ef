//! Records of which only a part exists: what is read of them, where they lie, and who may touch them.

use chiliad_machine::{LINE_BYTES, Machine, Ordering, Plain, Shared, Word};
use chiliad_simulator::{Config, Run, Sim, Verdict};
use chiliad_storage::{Heap, Kept, Kind, LocalHeap, OutOfMemory, RecordRef, Supply};
use std::mem::ManuallyDrop;
use std::sync::Arc;

const KEPT: Kept = Kept { first_bytes: 24, last_bytes: 16, spared: false };
const SCHEME_WORDS: usize = 2;

fn heap<M: Machine>(limit_bytes: u64) -> (Arc<Shared<M, Heap<M>>>, LocalHeap<M>) {
    let heap = Heap::<M>::for_scheme(limit_bytes, SCHEME_WORDS, Supply::Pools, Some(KEPT));
    let local = LocalHeap::new(&heap).expect("a slot");
    (heap, local)
}

fn is_sparse<M: Machine>(record: RecordRef<M>) -> bool {
    M::sparse_shape(record.as_ptr().cast()).is_some()
}

/// A record and what was written into it.
struct Known<M: Machine> {
    record: RecordRef<M>,
    value: Vec<u8>,
    further: u64,
}

impl<M: Machine> Known<M> {
    /// The value, with zeroes for what does not exist.
    fn expected(&self) -> Vec<u8> {
        let mut bytes = self.value.clone();
        let end = bytes.len().saturating_sub(KEPT.last_bytes);
        if is_sparse(self.record) && end > KEPT.first_bytes {
            bytes[KEPT.first_bytes..end].fill(0);
        }
        bytes
    }

    fn check(&self) {
        assert_eq!(self.record.length(), self.value.len());
        let mut bytes = vec![1; self.value.len()];
        self.record.read(&mut bytes);
        assert_eq!(bytes, self.expected());
        for index in 0..SCHEME_WORDS {
            let word = self.record.further(index).load(Ordering::Relaxed);
            assert_eq!(word, self.further + index as u64);
        }
    }
}

/// Random numbers that are the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((self.0 >> 33) as usize) % limit
    }

    fn value(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| 1 + self.below(255) as u8).collect()
    }
}

/// Makes, writes, copies and frees records of all sizes and compares with what was written. Returns
/// how many were sparse, and their addresses, folded.
fn against_a_model<M: Machine>(steps: usize) -> (usize, u64) {
    let (_heap, mut local) = heap::<M>(u64::MAX);
    let mut random = Random(7);
    let mut records: Vec<Known<M>> = Vec::new();
    let (mut sparse, mut addresses) = (0, 0_u64);
    for step in 0..steps {
        let length = match random.below(4) {
            0 => random.below(80),
            1 => random.below(5000),
            _ => 80 + random.below(1000),
        };
        match random.below(6) {
            0..=2 if records.len() < 200 => {
                let kind = if step % 3 == 0 { Kind::Version } else { Kind::Record };
                let record = local.alloc_record(kind, length).expect("memory");
                assert_eq!(record.length(), 0);
                assert!(local.room(record) >= length);
                sparse += usize::from(is_sparse(record));
                addresses = addresses.wrapping_mul(31).wrapping_add(record.address());
                let further = step as u64;
                for index in 0..SCHEME_WORDS {
                    assert_eq!(record.further(index).load(Ordering::Relaxed), 0, "a new life");
                    record.further(index).store(further + index as u64, Ordering::Relaxed);
                }
                let value = random.value(length);
                record.write(&value);
                records.push(Known { record, value, further });
            }
            3 if !records.is_empty() => {
                let at = random.below(records.len());
                let length = length.min(local.room(records[at].record));
                records[at].value = random.value(length);
                records[at].record.write_before(&records[at].value, None);
            }
            4 if !records.is_empty() => {
                let (from, to) = (random.below(records.len()), random.below(records.len()));
                if from != to && records[from].value.len() <= local.room(records[to].record) {
                    records[to].record.copy_from(records[from].record);
                    // What does not exist of the one is zero in the other.
                    records[to].value = records[from].expected();
                }
            }
            5 if !records.is_empty() => {
                let at = random.below(records.len());
                let known = records.swap_remove(at);
                known.check();
                // SAFETY: nobody else has seen it. The kind matters to its pool only, and each pool's
                // slots serve both.
                unsafe { local.free_record(Kind::Record, known.record) };
            }
            _ => {}
        }
        for known in &records {
            known.check();
        }
    }
    (sparse, addresses)
}

#[test]
fn values_are_as_written_where_they_exist_and_zero_elsewhere() {
    let steps = 1500;
    assert_eq!(against_a_model::<Plain>(steps).0, 0, "there is nothing sparse natively");
    let of_run = |checked, seed| {
        let run = Run::new(Config { checked, ..Config::new(seed) });
        run.outside(|| against_a_model::<Sim>(steps))
    };
    let first = of_run(true, 1);
    assert!(first.0 > steps / 8, "{} were sparse", first.0);
    assert_eq!(first, of_run(true, 1), "addresses repeat");
    assert_eq!(first.0, of_run(false, 1).0);
}

#[test]
fn slots_have_all_their_addresses_and_a_part_of_their_memory() {
    let run = Run::new(Config::new(3));
    run.outside(|| {
        let (heap, mut local) = heap::<Sim>(u64::MAX);
        let before = heap.usage().reserved_bytes;
        let records: Vec<_> =
            (0..1000).map(|_| local.alloc_record(Kind::Record, 1000).expect("memory")).collect();
        let mut addresses: Vec<_> = records.iter().map(|record| record.address()).collect();
        addresses.sort_unstable();
        assert!(addresses.windows(2).all(|pair| pair[1] - pair[0] >= 1000 + 32));
        let shape = Sim::sparse_shape(records[0].as_ptr().cast()).expect("sparse");
        assert_eq!(shape.held_bytes(), 2 * LINE_BYTES);
        let room = addresses[999] - addresses[0];
        assert!(room < 1100 * u64::from(shape.whole_bytes), "side by side");
        assert!(heap.usage().reserved_bytes - before >= 1000 * u64::from(shape.whole_bytes));
        let end = Sim::address(core::ptr::from_ref(records[0].further(0)).cast());
        assert_eq!(end, records[0].address() + u64::from(shape.whole_bytes) - 8);
        let small = local.alloc_record(Kind::Record, 64).expect("memory");
        assert!(!is_sparse(small), "it would save nothing");
    });
}

#[test]
fn the_memory_limit_counts_what_does_not_exist() {
    let run = Run::new(Config::new(3));
    run.outside(|| {
        let (_heap, mut local) = heap::<Sim>(1 << 20);
        let count = (0..).take_while(|_| local.alloc_record(Kind::Record, 1000).is_ok()).count();
        assert!((700..=1024).contains(&count), "{count} in a MiB");
        assert_eq!(local.alloc_record(Kind::Record, 1000), Err(OutOfMemory));
    });
}

#[test]
fn accesses_to_what_does_not_exist_are_charged_by_lines() {
    let mut run = Run::new(Config::new(3));
    run.spawn("core", || {
        let (_heap, mut local) = heap::<Sim>(u64::MAX);
        let record = local.alloc_record(Kind::Record, 1000).expect("memory");
        record.write(&[1; 1000]);
        record.read(&mut [0; 1000]);
        record.read(&mut [0; 24]);
        let short = local.alloc_record(Kind::Record, 1000).expect("memory");
        short.write(&[1; 40]);
        short.copy_from(record);
    });
    let outcome = run.go();
    assert!(matches!(outcome.verdict, Verdict::Completed), "{}", outcome.verdict);
    // The hole of such a value is from byte 40 of its slot to 1000: sixteen lines. It was written and
    // read once, and once more each for the copy.
    assert_eq!(outcome.counters.hole_lines, 4 * 16);
}

#[test]
fn a_freed_sparse_record_is_not_to_be_touched() {
    let mut run = Run::new(Config::new(3));
    run.spawn("core", || {
        let (heap, local) = heap::<Sim>(u64::MAX);
        let (_heap, mut local) = (ManuallyDrop::new(heap), ManuallyDrop::new(local));
        let record = local.alloc_record(Kind::Record, 1000).expect("memory");
        let neighbour = local.alloc_record(Kind::Record, 1000).expect("memory");
        // SAFETY: not sound, which is to be found out.
        unsafe { local.free_record(Kind::Record, record) };
        assert_eq!(record.word().load(Ordering::Relaxed), 0, "the head stays");
        neighbour.write(&[1; 1000]);
        record.read(&mut [0; 1000]);
    });
    let verdict = run.go().verdict;
    assert!(matches!(verdict, Verdict::UseOfFreedMemory(_)), "{verdict}");
}
