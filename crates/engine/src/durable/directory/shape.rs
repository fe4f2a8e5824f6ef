//! The possible rows of each table, whatever a file says: a matching checksum shows that a file is as it was written,
//! and not that we have written it.

use crate::durable::recover::restore;
use chiliad_api::catalog::Blob;
use chiliad_api::stamp::STAMP_BYTES;
use chiliad_api::{Secondary, Source, TableId, reach};
use chiliad_log::entry::Write;
use chiliad_storage::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use std::collections::{BTreeMap, BTreeSet};

/// The tables that there are.
pub struct Shapes {
    /// By number.
    tables: BTreeMap<u32, Shape>,
    /// The numbers of the tables of indexes.
    indexes: BTreeSet<u32>,
}

struct Shape {
    key_bytes_min: usize,
    value_bytes_min: usize,
    /// Of a table whose indexes are of columns: their keys are made from the rows.
    indexes: Vec<Secondary>,
}

impl Shape {
    /// Whether the keys of all indexes can be made of a row: of its value, or without what a verified run puts after it.
    fn has_keys(&self, key: &[u8], value: &[u8]) -> bool {
        let fits = |value| self.indexes.iter().all(|index| index.check(key, value).is_ok());
        let unstamped = value.len().checked_sub(STAMP_BYTES).map(|length| &value[..length]);
        fits(value) || unstamped.is_some_and(fits)
    }
}

impl Shapes {
    pub fn new(blob: &Blob) -> Self {
        let shape = |(number, spec): &(u32, crate::TableSpec)| {
            let most = |source| spec.secondary.iter().map(|index| reach(index, source)).max();
            let index = |index: &chiliad_api::SecondarySpec| {
                let of_columns = !index.parts.columns().is_empty();
                // The table is nothing to a check.
                of_columns.then(|| Secondary::new(index.clone(), TableId(*number), &spec.layout))
            };
            let shape = Shape {
                key_bytes_min: most(Source::Key).unwrap_or(0),
                value_bytes_min: most(Source::Value).unwrap_or(0),
                indexes: spec.secondary.iter().filter_map(index).collect(),
            };
            (*number, shape)
        };
        let numbers = |(number, spec): &(u32, _)| blob.numbers_of_indexes(*number, spec);
        let indexes = blob.tables.iter().flat_map(numbers).map(|table| table.0).collect();
        Self { tables: blob.tables.iter().map(shape).collect(), indexes }
    }

    /// Whether a version can have been written by a transaction. Of tables that were dropped anything
    /// can: it is not kept.
    #[inline]
    pub fn admit(&self, order: u64, write: &Write<'_>) -> bool {
        let Some(shape) = self.tables.get(&write.table) else {
            // No index, whose rows are made from those of its table.
            return restore::is_order(order) && !self.indexes.contains(&write.table);
        };
        let (key, value) = (write.key.len(), write.value.len());
        let fits = key <= KEY_BYTES_MAX && value <= VALUE_BYTES_MAX + STAMP_BYTES;
        let reaches = || {
            key >= shape.key_bytes_min
                && value >= shape.value_bytes_min
                && shape.has_keys(write.key, write.value)
        };
        restore::is_order(order) && fits && (write.removed || reaches())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chiliad_api::{KeyPart, PartType, SecondarySpec, TableSpec};

    #[test]
    fn only_what_a_transaction_can_have_written_is_admitted() {
        let part = |source, offset| KeyPart {
            source,
            offset,
            length: 2,
            part_type: PartType::Bytes,
            descending: false,
        };
        let parts = vec![part(Source::Key, 1), part(Source::Value, 4)];
        let index = SecondarySpec { name: "i".into(), parts: parts.into(), unique: false };
        let tables = vec![(2, TableSpec::ordered("t").with_index(index))];
        let shapes = Shapes::new(&Blob { next: 9, tables, ..Blob::default() });
        let write = |table, key: usize, value: usize| {
            let (key, value) = (vec![0; key], vec![0; value]);
            shapes.admit(8, &Write { table, removed: false, key: &key, value: &value })
        };
        assert!(write(2, 3, 6) && write(2, KEY_BYTES_MAX, VALUE_BYTES_MAX));
        assert!(!write(2, 2, 6) && !write(2, 3, 5), "too short for the index");
        assert!(!write(2, KEY_BYTES_MAX + 1, 6));
        assert!(!write(2, 3, VALUE_BYTES_MAX + STAMP_BYTES + 1));
        assert!(!write(3, 3, 6), "a row of the index itself");
        assert!(write(1, 0, 0) && write(4, 0, 0), "of tables that were dropped");
        let removal = Write { table: 2, removed: true, key: &[1], value: &[] };
        assert!(shapes.admit(8, &removal));
        assert!(!shapes.admit(9, &removal), "no order has flags");
    }
}
