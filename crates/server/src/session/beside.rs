//! Rows that are put into a table beside the session's transaction, which has made the table: in transactions of their own,
//! one after the other, so that no number of rows is too large for one.

use super::transaction::Limits;
use chiliad::{Database, OpenTransaction, RunOptions};
use chiliad_sql::SqlError;

/// Bytes of rows that one transaction takes.
pub(super) const PIECE_BYTES: usize = 512 << 10;
/// Bytes that a transaction keeps of a row beside its own, about.
pub(super) const ROW_BYTES: usize = 128;

/// The transaction of the rows in hand.
#[derive(Default)]
pub(super) struct Beside {
    open: Option<OpenTransaction>,
    bytes: usize,
}

impl Beside {
    pub fn part(
        &mut self,
        database: &Database,
        limits: &Limits<'_>,
    ) -> Result<&mut OpenTransaction, SqlError> {
        let options = limits.options();
        match &mut self.open {
            Some(open) => open.limit(&options),
            none => *none = Some(database.open_transaction(&options)?),
        }
        self.open.as_mut().ok_or_else(|| SqlError::internal("no transaction"))
    }

    /// So many rows more were put, of so many bytes: commits those that are enough for one transaction.
    ///
    /// # Errors
    /// Those of a commit.
    pub fn add(&mut self, rows: usize, bytes: usize) -> Result<(), SqlError> {
        self.bytes += bytes + rows * ROW_BYTES;
        if self.bytes < PIECE_BYTES { Ok(()) } else { self.commit() }
    }

    /// Commits the rest. The commit of the session's transaction is not durable before it.
    ///
    /// # Errors
    /// Those of a commit.
    pub fn commit(&mut self) -> Result<(), SqlError> {
        self.bytes = 0;
        if let Some(mut open) = self.open.take() {
            open.limit(&RunOptions::default());
            // The commit of the session's transaction, which comes later, is what its client waits for.
            _ = open.submit()?;
        }
        Ok(())
    }
}
