//! loom models of the version and mapping protocols: every execution that the memory model allows,
//! for a bucket of one entry, or two, and a few threads.

use super::protocol::{self, LATCHED, STEP};
use chiliad_loom::{Loom, LoomWord};
use chiliad_machine::{Machine, Ordering, Word};
use loom::sync::Arc;
use loom::thread;

/// A bucket with one entry of two words that belong together.
struct Bucket {
    version: LoomWord,
    entry: [LoomWord; 2],
}

impl Bucket {
    fn new(version: u64, value: u64) -> Self {
        Self { version: LoomWord::new(version), entry: [value, value].map(LoomWord::new) }
    }

    fn set(&self, value: u64) {
        for word in &self.entry {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// The entry, if it did not change since `seen`.
    fn read(&self, seen: u64) -> Option<u64> {
        let [first, second] = [0, 1].map(|at: usize| self.entry[at].load(Ordering::Relaxed));
        protocol::unchanged::<Loom>(&self.version, seen).then(|| {
            assert_eq!(first, second, "torn");
            first
        })
    }

    /// Fills the entry if it is empty; whether it was.
    fn insert(&self, value: u64) -> bool {
        loop {
            if let Some(seen) = protocol::stable::<Loom>(&self.version)
                && let Some(found) = self.read(seen)
            {
                if found != 0 {
                    return false;
                }
                if protocol::latch_at::<Loom>(&self.version, seen) {
                    self.set(value);
                    protocol::unlatch::<Loom>(&self.version, seen + STEP);
                    return true;
                }
            }
            Loom::pause();
        }
    }
}

#[test]
fn a_reader_sees_whole_entries_and_never_an_older_one() {
    loom::model(|| {
        let bucket = Arc::new(Bucket::new(0, 0));
        let writer = {
            let bucket = Arc::clone(&bucket);
            thread::spawn(move || assert!(bucket.insert(7)))
        };
        let mut newest = 0;
        for _ in 0..2 {
            let seen = protocol::stable::<Loom>(&bucket.version);
            if let Some((seen, value)) = seen.and_then(|seen| Some((seen, bucket.read(seen)?))) {
                assert_eq!(value, if seen == 0 { 0 } else { 7 });
                assert!(seen >= newest);
                newest = seen;
            }
        }
        writer.join().expect("no panic");
        assert_eq!(bucket.read(STEP), Some(7));
    });
}

#[test]
fn of_two_insertions_one_succeeds() {
    loom::model(|| {
        let bucket = Arc::new(Bucket::new(0, 0));
        let peer = {
            let bucket = Arc::clone(&bucket);
            thread::spawn(move || bucket.insert(1))
        };
        let mine = bucket.insert(2);
        let theirs = peer.join().expect("no panic");
        assert!(mine != theirs);
        assert_eq!(bucket.read(STEP), Some(if mine { 2 } else { 1 }));
    });
}

/// A table of one bucket that grows to two. Its only key hashes to 1 and is there all the time.
struct Table {
    buckets: LoomWord,
    places: [Bucket; 2],
}

const KEY: u64 = 9;
const HASH: u64 = 1;

impl Table {
    fn new() -> Self {
        let places = [Bucket::new(0, KEY), Bucket::new(LATCHED, 0)];
        Self { buckets: LoomWord::new(1), places }
    }

    fn grow(&self) {
        let [old, new] = &self.places;
        assert!(protocol::latch_at::<Loom>(&old.version, 0));
        new.set(KEY);
        old.set(0);
        // Release pairs with the acquire in `buckets`.
        self.buckets.store(2, Ordering::Release);
        protocol::unlatch::<Loom>(&new.version, STEP);
        protocol::unlatch::<Loom>(&old.version, STEP);
    }

    fn buckets(&self) -> u64 {
        self.buckets.load(Ordering::Acquire)
    }

    /// Looks a key up; `careful` as the protocol demands.
    fn find(&self, careful: bool) -> u64 {
        loop {
            let buckets = self.buckets();
            let bucket = &self.places[protocol::place(HASH, buckets) as usize];
            let seen = if careful {
                protocol::settled::<Loom>(&bucket.version, &self.buckets, buckets, HASH)
            } else {
                protocol::stable::<Loom>(&bucket.version)
            };
            if let Some(found) = seen.and_then(|seen| bucket.read(seen)) {
                return found;
            }
            Loom::pause();
        }
    }
}

fn look_up_during_growth(careful: bool) {
    loom::model(move || {
        let table = Arc::new(Table::new());
        let grower = {
            let table = Arc::clone(&table);
            thread::spawn(move || table.grow())
        };
        assert_eq!(table.find(careful), KEY);
        grower.join().expect("no panic");
        assert_eq!(table.find(careful), KEY);
    });
}

#[test]
fn a_key_is_found_while_its_bucket_is_divided() {
    look_up_during_growth(true);
}

#[test]
#[should_panic(expected = "left == right")]
fn a_reader_that_skips_the_mapping_is_caught() {
    look_up_during_growth(false);
}
