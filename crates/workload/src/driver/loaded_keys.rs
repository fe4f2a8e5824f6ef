//! What a verified history begins with: the keys that were loaded.
//!
//! Known to the driver, not asked of the engine: the scheme is not its own referee.

use chiliad_engine::TableId;
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Mutex;

/// The keys that were loaded before the history began, by their hashes.
#[derive(Default)]
pub(crate) struct LoadedKeys {
    /// The tables that were loaded from here. The others are the engine's own, for secondary
    /// indexes: what is written there and not removed was not there before.
    tables: Vec<TableId>,
    hashes: Mutex<HashSet<u64, BuildHasherDefault<AsItIs>>>,
}

impl LoadedKeys {
    /// For these tables.
    pub(crate) fn new(tables: &[TableId]) -> Self {
        Self { tables: tables.to_vec(), hashes: Mutex::default() }
    }

    /// A row was loaded.
    pub(crate) fn add(&self, table: TableId, key: &[u8]) {
        if let Ok(mut hashes) = self.hashes.lock() {
            hashes.insert(hash(table, key));
        }
    }

    /// The key was not loaded.
    pub(crate) fn lack(&self, table: TableId, key: &[u8]) -> bool {
        !self.tables.contains(&table)
            || self.hashes.lock().is_ok_and(|hashes| !hashes.contains(&hash(table, key)))
    }
}

/// The same in every run, as everything in simulation must be.
fn hash(table: TableId, key: &[u8]) -> u64 {
    let step = |hash: u64, byte: u64| (hash ^ byte).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    let start = step(0xcbf2_9ce4_8422_2325, u64::from(table.0));
    let hash = key.iter().fold(start, |hash, &byte| step(hash, u64::from(byte)));
    (hash ^ hash >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// What is hashed already.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0 << 8 | u64::from(byte));
    }
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

