//! Two rows that a unique index cannot have: which, and in which table.

use crate::duplicate::DuplicateKey;
use crate::layout::Column;
use core::fmt;

/// A unique index was to be added to a table, two rows of which have the same key in it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NotUnique {
    /// The index.
    pub index: String,
    /// The primary keys of the two rows.
    pub keys: [DuplicateKey; 2],
}

impl NotUnique {
    /// The rows of these primary keys.
    #[must_use]
    pub fn new(index: &str, table: &str, keys: [&[u8]; 2]) -> Self {
        Self { index: index.into(), keys: keys.map(|key| DuplicateKey::new(table, key)) }
    }

    /// The same, with primary keys to be shown as these columns.
    #[must_use]
    pub fn of_columns(self, columns: fn() -> Vec<Column>) -> Self {
        Self { keys: self.keys.map(|key| key.of_columns(columns)), ..self }
    }
}

impl fmt::Display for NotUnique {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, keys: [one, other] } = self;
        let (table, one, other) = (&one.table, one.shown(), other.shown());
        write!(
            f,
            "the rows {one} and {other} of the table {table} have one key in the unique index {index}"
        )
    }
}
