//! The stores, each with its settings in a file of its own.

mod chiliad;
mod fjall;
mod heed;
mod redb;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod sled;
mod sqlite;
mod surrealmx;

#[cfg(test)]
mod model;

use crate::store::{Candidate, Durability};

/// All columns.
const ALL: &[Durability] = &[Durability::None, Durability::Epoch, Durability::Sync];

/// More than any data of a comparison: no cache is ever full.
const CACHE_BYTES: usize = 4 << 30;

/// Every store of this build, Chiliad first.
pub static CANDIDATES: &[Candidate] = &[
    chiliad::CANDIDATE,
    surrealmx::CANDIDATE,
    fjall::CANDIDATE,
    #[cfg(feature = "rocksdb")]
    rocksdb::CANDIDATE,
    redb::CANDIDATE,
    heed::CANDIDATE,
    sled::CANDIDATE,
    sqlite::CANDIDATE,
];

/// The version of a crate in the lock file that this was built from.
pub fn version(package: &str) -> &'static str {
    let lines = include_str!("../../Cargo.lock").lines();
    let name = format!("name = \"{package}\"");
    let after = lines.skip_while(move |line| **line != *name).nth(1);
    after.and_then(|line| line.split('"').nth(1)).unwrap_or("unknown")
}

/// Makes one space of keys out of many tables: the table's number, then the key. For stores that
/// have one key space, or that are quickest with one.
#[derive(Default)]
struct Prefixed {
    low: Vec<u8>,
    high: Vec<u8>,
}

impl Prefixed {
    fn key(&mut self, table: usize, key: &[u8]) -> &[u8] {
        Self::fill(&mut self.low, table, key);
        &self.low
    }

    fn range(&mut self, table: usize, low: &[u8], high: &[u8]) -> (&[u8], &[u8]) {
        Self::fill(&mut self.low, table, low);
        Self::fill(&mut self.high, table, high);
        (&self.low, &self.high)
    }

    fn fill(buffer: &mut Vec<u8>, table: usize, key: &[u8]) {
        buffer.clear();
        buffer.push(u8::try_from(table).expect("fewer than 256 tables"));
        buffer.extend_from_slice(key);
    }
}
