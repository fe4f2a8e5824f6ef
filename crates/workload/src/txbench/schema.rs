//! TxBench's tables, keys and columns.
//!
//! | table | index | key | row |
//! | --- | --- | --- | --- |
//! | `txbench_1`, `txbench_2`, `txbench_3` | ordered | b_int_key, 4 bytes, from 1 on | b_int_value, then b_value_1 to b_value_10 |
//!
//! Keys are big-endian. A column of characters takes what is in it and a byte in front that says how
//! much that is; so rows are of different lengths.

use chiliad_api::{TableId, TableSpec};

/// How many tables there are.
pub const TABLES: usize = 3;

/// Columns of characters in a row.
pub const TEXTS: usize = 10;

/// The names of the tables.
pub const NAMES: [&str; TABLES] = ["txbench_1", "txbench_2", "txbench_3"];

/// The tables, once a database has numbered them.
pub type Tables = [TableId; TABLES];

/// Takes the tables that were created in the order of [`specs`].
///
/// # Panics
/// When there are not as many.
#[must_use]
pub fn tables(created: &[TableId]) -> Tables {
    let &[first, second, third] = created else {
        panic!("TxBench has {TABLES} tables, not {}", created.len())
    };
    [first, second, third]
}

/// The declarations, in the order of [`NAMES`].
#[must_use]
pub fn specs() -> Vec<TableSpec> {
    NAMES.into_iter().map(TableSpec::ordered).collect()
}

/// The primary key.
#[inline]
#[must_use]
pub fn key(b_int_key: u32) -> [u8; 4] {
    b_int_key.to_be_bytes()
}

/// A row of any of the tables.
pub mod item {
    use super::TEXTS;
    use crate::row::Tail;

    crate::row::columns! {
        B_INT_VALUE: i64,
    }

    /// The columns of characters, all of them.
    pub const B_VALUES: Tail = Tail(BYTES);

    /// How long a row is whose columns of characters have `letters` in all.
    #[must_use]
    pub const fn length(letters: usize) -> usize {
        BYTES + TEXTS + letters
    }
}
