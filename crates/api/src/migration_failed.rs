//! A row at which a migration has failed.

use crate::duplicate::DuplicateKey;
use crate::layout::Column;
use core::fmt;

/// A migration could not write a row anew.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MigrationFailed {
    /// The primary key of the row, and its table.
    pub row: DuplicateKey,
    /// The reason.
    pub reason: String,
    /// The new key that another row has already, where that is the reason.
    pub taken: Option<Vec<u8>>,
}

impl MigrationFailed {
    /// The row of this key could not be written anew.
    #[must_use]
    pub fn new(table: &str, key: &[u8], reason: String) -> Self {
        Self { row: DuplicateKey::new(table, key), reason, taken: None }
    }

    /// The same, because another row has this new key already.
    #[must_use]
    pub fn because_taken(self, key: Vec<u8>) -> Self {
        Self { taken: Some(key), ..self }
    }

    /// The same, with a key to be shown as these columns.
    #[must_use]
    pub fn of_columns(self, columns: fn() -> Vec<Column>) -> Self {
        Self { row: self.row.of_columns(columns), ..self }
    }
}

impl fmt::Display for MigrationFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, reason, taken: _ } = self;
        write!(
            f,
            "the row {} of the table {} cannot be written anew: {reason}",
            row.shown(),
            row.table
        )
    }
}
