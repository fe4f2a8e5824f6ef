//! How fast the ordered index is when it does not fit in the caches: insertions, single look-ups,
//! groups of look-ups whose misses overlap, each with its record read, scans, and the bytes that a
//! record takes. Rates are per second on a core.
//!
//! `cargo bench -p chiliad-storage --bench ordered_speed -- [--keys N] [--random]
//! [--rounds N] [--record-bytes N] [--only get|group|scan|chained] [--seconds N] [--path]`
//!
//! `--random` inserts random keys in no order, `--path` puts a prefix of eight bytes before each key, so
//! that there is a layer on the way.

use chiliad_machine::Native;
use chiliad_storage::{
    Cursor, Direction, Found, Heap, Inserted, Kind, LeafRun, LocalHeap, NoHooks, OrderedIndex,
    RecordRef,
};
use std::hint::black_box;
use std::ops::Bound;
use std::time::Instant;

const GROUP: usize = 16;

struct Options {
    keys: u64,
    random: bool,
    path: bool,
    rounds: u32,
    record_bytes: usize,
    only: Option<String>,
    seconds: f64,
}

fn options() -> Options {
    let mut options = Options {
        keys: 10_000_000,
        random: false,
        path: false,
        rounds: 3,
        record_bytes: 100,
        only: None,
        seconds: 2.0,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().expect("a value");
        match word.as_str() {
            "--keys" => options.keys = value().parse().expect("a number"),
            "--rounds" => options.rounds = value().parse().expect("a number"),
            "--record-bytes" => options.record_bytes = value().parse().expect("a number"),
            "--seconds" => options.seconds = value().parse().expect("a number"),
            "--only" => options.only = Some(value()),
            "--random" => options.random = true,
            "--path" => options.path = true,
            // Cargo says it to every bench.
            "--bench" => {}
            other => panic!("what is {other}?"),
        }
    }
    options
}

/// The numbers of keys of the table, drawn evenly.
struct Draws {
    state: u64,
    count: u64,
    random: bool,
}

impl Draws {
    #[inline]
    fn next(&mut self) -> u64 {
        self.state =
            self.state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let number = ((u128::from(self.state) * u128::from(self.count)) >> 64) as u64;
        if self.random { mix(number) } else { number }
    }
}

/// The key of a number: eight bytes, or sixteen with a shared prefix.
trait Shape {
    type Key: AsRef<[u8]> + Copy;
    fn key(number: u64) -> Self::Key;
}

struct Short;
struct Pathed;

impl Shape for Short {
    type Key = [u8; 8];
    #[inline]
    fn key(number: u64) -> [u8; 8] {
        number.to_be_bytes()
    }
}

impl Shape for Pathed {
    type Key = [u8; 16];
    #[inline]
    fn key(number: u64) -> [u8; 16] {
        let mut key = *b"a prefix........";
        key[8..].copy_from_slice(&number.to_be_bytes());
        key
    }
}

/// With `--random`, numbers in no order; each is that of one number below the count of keys.
fn table_number(options: &Options, number: u64) -> u64 {
    if options.random { mix(number) } else { number }
}

/// A permutation of all numbers (the end of MurmurHash3).
#[inline]
fn mix(mut number: u64) -> u64 {
    number = (number ^ (number >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    number = (number ^ (number >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    number ^ (number >> 33)
}

struct Table {
    index: OrderedIndex<Native>,
    heap: LocalHeap<Native>,
    buffer: Vec<u8>,
}

impl Table {
    #[inline]
    fn read(&mut self, found: Found<Native>) -> u64 {
        let Found::Record(record) = found else {
            panic!("every key is there");
        };
        record.read(&mut self.buffer);
        u64::from(self.buffer[0]) + u64::from(self.buffer[self.buffer.len() - 1])
    }

    fn single<S: Shape>(&mut self, draws: &mut Draws, n: u64) -> u64 {
        let mut sum = 0;
        for _ in 0..n {
            self.heap.pin();
            let found = self.index.get(&self.heap, S::key(draws.next()).as_ref());
            sum += self.read(found);
            self.heap.unpin();
        }
        sum
    }

    /// As [`Table::single`], but each key depends on the record before, so that the core cannot
    /// look ahead from one look-up to the next.
    fn chained<S: Shape>(&mut self, draws: &mut Draws, n: u64) -> u64 {
        let mut sum = 0;
        for _ in 0..n {
            draws.state ^= sum & 1;
            self.heap.pin();
            let found = self.index.get(&self.heap, S::key(draws.next()).as_ref());
            sum += self.read(found);
            self.heap.unpin();
        }
        sum
    }

    fn group<S: Shape>(&mut self, draws: &mut Draws, n: u64) -> u64 {
        let mut sum = 0;
        for _ in 0..n / GROUP as u64 {
            self.heap.pin();
            let keys: [S::Key; GROUP] = core::array::from_fn(|_| S::key(draws.next()));
            let mut probes = keys.map(|key| self.index.probe(key.as_ref()));
            let mut found = [None; GROUP];
            let mut open = GROUP;
            while open > 0 {
                for at in 0..GROUP {
                    if found[at].is_none() {
                        let key = keys[at].as_ref();
                        found[at] = self.index.step(&self.heap, &mut probes[at], key);
                        open -= usize::from(found[at].is_some());
                    }
                }
            }
            for found in found.into_iter().flatten() {
                sum += self.read(found);
            }
            self.heap.unpin();
        }
        sum
    }

    fn scan<S: Shape>(&mut self, draws: &mut Draws, n: u64) -> u64 {
        let mut cursor = Cursor::default();
        let mut run = LeafRun::default();
        let (mut sum, mut done) = (0, 0);
        while done < n {
            let from = S::key(draws.next());
            cursor.reset(Bound::Included(from.as_ref()), Bound::Unbounded, Direction::Forward);
            let mut left = 100;
            while left > 0 {
                self.heap.pin();
                let more = self.index.next_leaf(&self.heap, &mut cursor, &mut run, usize::MAX);
                for (key, record) in run.iter() {
                    sum += u64::from(key[7]) + record.length() as u64;
                    left -= 1;
                    done += 1;
                }
                self.heap.unpin();
                if !more || left <= 0 {
                    break;
                }
            }
        }
        sum
    }
}

/// Seconds that this thread has been on a core, which is what counts on a machine that others use
/// too; by the clock where the system does not say.
fn on_core(start: Instant) -> f64 {
    let nanoseconds = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = nanoseconds.and_then(|it| it.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or(start.elapsed().as_secs_f64(), |it| it / 1e9)
}

fn load<S: Shape>(options: &Options) -> Table {
    let shared = Heap::<Native>::new(u64::MAX);
    let mut heap = LocalHeap::new(&shared).expect("a slot");
    let index = OrderedIndex::new(&mut heap).expect("room");
    let mut changes = Vec::new();
    let payload = vec![7; options.record_bytes];
    let start = Instant::now();
    let before = on_core(start);
    for number in 0..options.keys {
        heap.pin();
        let number = table_number(options, number);
        let record: RecordRef<Native> =
            heap.alloc_record(Kind::Record, options.record_bytes).expect("room");
        record.write(&payload);
        changes.clear();
        let key = S::key(number);
        let inserted = index.insert(&mut heap, key.as_ref(), record, &mut NoHooks, &mut changes);
        assert!(matches!(inserted, Ok(Inserted::Yes)), "keys differ");
        heap.unpin();
    }
    let rate = options.keys as f64 / (on_core(start) - before) / 1e6;
    heap.pin();
    let shape = index.check(&heap);
    heap.unpin();
    let bytes = shared.usage().reserved_bytes as f64 / options.keys as f64;
    println!("insert  {rate:6.2} M/s; {bytes:.1} bytes a record; {shape:?}");
    println!("leaves {}% full", shape.leaf_fill_percent());
    Table { index, heap, buffer: payload }
}

fn measure<S: Shape>(options: &Options) {
    let mut table = load::<S>(options);
    type Way = fn(&mut Table, &mut Draws, u64) -> u64;
    let ways: [(&str, Way); 4] = [
        ("get", Table::single::<S>),
        ("chained", Table::chained::<S>),
        ("group", Table::group::<S>),
        ("scan", Table::scan::<S>),
    ];
    for round in 0..options.rounds {
        for (name, way) in &ways {
            if options.only.as_deref().is_some_and(|only| only != *name) {
                continue;
            }
            let mut draws =
                Draws { state: u64::from(round) + 1, count: options.keys, random: options.random };
            let start = Instant::now();
            let before = on_core(start);
            let mut done = 0_u64;
            while start.elapsed().as_secs_f64() < options.seconds {
                black_box(way(&mut table, &mut draws, 100_000));
                done += 100_000;
            }
            println!("{name:8}{:6.2} M/s", done as f64 / (on_core(start) - before) / 1e6);
        }
    }
}

fn main() {
    let options = options();
    if options.path { measure::<Pathed>(&options) } else { measure::<Short>(&options) }
}
