//! Backward validation (Kung and Robinson, 1981) on a plain map from keys to versions: what servers must come to, for
//! tests and for rigs. It shares nothing with servers that decides.

use crate::intention::{Intention, KeyRange, at, bound_at};
use crate::options::Level;
use core::ops::RangeBounds;
use std::collections::BTreeMap;

/// A version of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Version {
    /// The number of the intention that wrote it.
    pub label: u64,
    /// The row was removed.
    pub tombstone: bool,
    /// Its bytes with the stamp, if there is one; of a tombstone, the stamp.
    pub value: Vec<u8>,
}

/// A write of an intention that commits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrittenRow {
    /// The number of the table.
    pub table: u32,
    /// The key.
    pub key: Vec<u8>,
    /// The version before, if there was one.
    pub over: Option<Version>,
    /// The version that it wrote.
    pub now: Version,
}

/// The rows of all tables by table number and key, tombstones among them.
pub type Rows = BTreeMap<(u32, Vec<u8>), Version>;

/// The newest versions of all keys.
#[derive(Clone, Default)]
pub struct Validator {
    pub rows: Rows,
}

impl Validator {
    /// Decides the intention of this number: its writes, if it commits. It does not if anything that it depends on was
    /// written after the state that it has read.
    pub fn decide(
        &mut self,
        label: u64,
        intention: &Intention,
        bytes: &[u8],
        level: Level,
    ) -> Option<Vec<WrittenRow>> {
        let reads_count = level == Level::Serializable;
        let mut depended = intention.entries.iter().filter(|entry| entry.depends);
        let keys_hold = depended.all(|entry| {
            let counts = reads_count || entry.write.is_some();
            let found = self.rows.get(&(entry.table, at(bytes, &entry.key).to_vec()));
            !counts || found.is_none_or(|version| version.label <= intention.snapshot)
        });
        let holds = |range| self.holds(range, bytes, intention.snapshot);
        if !keys_hold || reads_count && !intention.ranges.iter().all(holds) {
            return None;
        }
        let written =
            intention.entries.iter().filter_map(|entry| Some((entry, entry.write.as_ref()?)));
        let writes = written.map(|(entry, write)| {
            let (table, key) = (entry.table, at(bytes, &entry.key).to_vec());
            let value = at(bytes, &write.value).to_vec();
            let now = Version { label, tombstone: write.tombstone, value };
            let over = self.rows.insert((table, key.clone()), now.clone());
            WrittenRow { table, key, over, now }
        });
        Some(writes.collect())
    }

    /// Whether nothing in a range was written after the state `snapshot`.
    fn holds(&self, range: &KeyRange, bytes: &[u8], snapshot: u64) -> bool {
        let bounds = (bound_at(bytes, &range.low), bound_at(bytes, &range.high));
        let rows = self.rows.range((range.table, Vec::new())..);
        let mut newer =
            rows.take_while(|row| row.0.0 == range.table).filter(|row| row.1.label > snapshot);
        !newer.any(|((_, key), _)| bounds.contains(key.as_slice()))
    }
}
