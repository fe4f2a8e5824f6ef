//! How fast the hash index is when it does not fit in the caches: insertions, single look-ups and
//! groups of look-ups whose misses overlap, each with its record read.
//!
//! `cargo bench -p chiliad-storage --bench hash_speed -- [keys] [expected keys]`

use chiliad_machine::Native;
use chiliad_storage::{
    Found, HashIndex, Heap, Inserted, Kind, LocalHeap, NoHooks, OutOfMemory, RecordRef,
};
use std::hint::black_box;
use std::time::Instant;

const RECORD_BYTES: usize = 100;
const GROUP: usize = 16;
const ROUNDS: usize = 3;

/// A permutation of the numbers, so that look-ups come in no order.
fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

/// The keys to look up, one after the other.
struct Draws(u64, u64);

impl Draws {
    fn next(&mut self) -> [u8; 8] {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        key(((u128::from(self.0) * u128::from(self.1)) >> 64) as u64)
    }
}

fn read(record: RecordRef<Native>, buffer: &mut [u8; RECORD_BYTES]) -> u64 {
    record.read(buffer);
    u64::from(buffer[0]) + u64::from(buffer[RECORD_BYTES - 1])
}

fn singles(index: &HashIndex<Native>, local: &LocalHeap<Native>, draws: &mut Draws, n: u64) -> u64 {
    let (mut sum, mut buffer) = (0, [0; RECORD_BYTES]);
    for _ in 0..n {
        local.pin();
        match index.get(local, &draws.next()) {
            Found::Record(record) => sum += read(record, &mut buffer),
            Found::Absent(_) => panic!("every key is there"),
        }
        local.unpin();
    }
    sum
}

/// As [`singles`], but each key depends on the record before: nothing overlaps, as in transactions
/// that do more between two look-ups than the core can look ahead.
fn chained(index: &HashIndex<Native>, local: &LocalHeap<Native>, draws: &mut Draws, n: u64) -> u64 {
    let (mut sum, mut buffer) = (0, [0; RECORD_BYTES]);
    for _ in 0..n {
        local.pin();
        draws.0 ^= sum & 1;
        match index.get(local, &draws.next()) {
            Found::Record(record) => sum += read(record, &mut buffer),
            Found::Absent(_) => panic!("every key is there"),
        }
        local.unpin();
    }
    sum
}

/// A group of keys at a time, as a multi-get descends them.
fn groups(index: &HashIndex<Native>, local: &LocalHeap<Native>, draws: &mut Draws, n: u64) -> u64 {
    let (mut sum, mut buffer) = (0, [0; RECORD_BYTES]);
    for _ in 0..n / GROUP as u64 {
        local.pin();
        let keys: [[u8; 8]; GROUP] = std::array::from_fn(|_| draws.next());
        let mut probes = keys.map(|key| index.probe(&key));
        let mut found = [None; GROUP];
        let mut waiting = GROUP;
        while waiting > 0 {
            for at in 0..GROUP {
                if found[at].is_none() {
                    found[at] = index.step(local, &mut probes[at], &keys[at]);
                    waiting -= usize::from(found[at].is_some());
                }
            }
        }
        for found in found.into_iter().flatten() {
            match found {
                Found::Record(record) => sum += read(record, &mut buffer),
                Found::Absent(_) => panic!("every key is there"),
            }
        }
        local.unpin();
    }
    sum
}

/// Look-ups in flight, each of which makes room for the next key when it is done.
fn rounds(index: &HashIndex<Native>, local: &LocalHeap<Native>, draws: &mut Draws, n: u64) -> u64 {
    let (mut sum, mut buffer) = (0, [0; RECORD_BYTES]);
    local.pin();
    let mut keys: [[u8; 8]; GROUP] = std::array::from_fn(|_| draws.next());
    let mut probes = keys.map(|key| index.probe(&key));
    let mut found = [None; GROUP];
    let mut done = 0;
    while done < n {
        for at in 0..GROUP {
            match found[at] {
                None => found[at] = index.step(local, &mut probes[at], &keys[at]),
                Some(Found::Record(record)) => {
                    sum += read(record, &mut buffer);
                    done += 1;
                    keys[at] = draws.next();
                    probes[at] = index.probe(&keys[at]);
                    found[at] = None;
                }
                Some(Found::Absent(_)) => panic!("every key is there"),
            }
        }
    }
    local.unpin();
    sum
}

fn rate(what: &str, n: u64, run: impl FnOnce() -> u64) -> f64 {
    let start = Instant::now();
    black_box(run());
    let seconds = start.elapsed().as_secs_f64();
    let rate = n as f64 / seconds / 1e6;
    println!("{what:<24} {rate:8.2} M/s {:8.1} ns", 1000.0 / rate);
    rate
}

fn main() -> Result<(), OutOfMemory> {
    let mut arguments = std::env::args().skip(1).filter_map(|it| it.parse().ok());
    let keys: u64 = arguments.next().unwrap_or(10_000_000);
    let expected = arguments.next().unwrap_or(keys) as usize;
    let heap = Heap::<Native>::new(u64::MAX);
    let index = HashIndex::new(&heap, expected)?;
    let buckets_reserved = heap.usage().reserved_bytes;
    let Some(mut local) = LocalHeap::new(&heap) else { return Err(OutOfMemory) };

    let mut records = Vec::new();
    for number in 0..keys {
        let record = local.alloc_record(Kind::Record, RECORD_BYTES)?;
        record.write(&[number as u8; RECORD_BYTES]);
        records.push(record);
    }
    let before = heap.usage().reserved_bytes - buckets_reserved;
    let (mut changes, mut refused) = (Vec::new(), 0);
    rate("insert", keys, || {
        for (number, record) in records.iter().enumerate() {
            local.pin();
            let done =
                index.insert(&mut local, &key(number as u64), *record, &mut NoHooks, &mut changes);
            refused += u64::from(!matches!(done, Ok(Inserted::Yes)));
            changes.clear();
            local.unpin();
        }
        refused
    });
    assert!(refused == 0, "{refused} insertions refused");
    drop(records);
    let index_bytes = heap.usage().reserved_bytes - before;
    println!(
        "{} buckets, {:.2} keys each; {:.1} bytes of index per key, {:.1} with the record",
        index.buckets(),
        keys as f64 / index.buckets() as f64,
        index_bytes as f64 / keys as f64,
        heap.usage().reserved_bytes as f64 / keys as f64,
    );

    let n = keys.min(4_000_000);
    let mut draws = Draws(1, keys);
    let mut best = [0.0_f64; 4];
    for _ in 0..ROUNDS {
        let rates = [
            rate("get, chained", n, || chained(&index, &local, &mut draws, n)),
            rate("get", n, || singles(&index, &local, &mut draws, n)),
            rate("get, groups of 16", n, || groups(&index, &local, &mut draws, n)),
            rate("get, 16 in flight", n, || rounds(&index, &local, &mut draws, n)),
        ];
        for (best, rate) in best.iter_mut().zip(rates) {
            *best = best.max(rate);
        }
    }
    let [chained, single, group, flight] = best;
    println!("over chained gets: groups {:.2}, in flight {:.2}", group / chained, flight / chained);
    println!("over gets:         groups {:.2}, in flight {:.2}", group / single, flight / single);
    Ok(())
}
