//! The cursors of SQL that a session has declared, with the rows that are left of each.

use crate::plans::Plan;
use chiliad_sql::{OwnedDatum, SqlError};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The cursors of a session, by their names.
#[derive(Default)]
pub(super) struct Cursors(pub HashMap<String, Rows>);

/// A cursor's rows that are left.
pub(super) struct Rows {
    pub plan: Arc<Plan>,
    pub rows: VecDeque<Vec<OwnedDatum>>,
    pub bytes: usize,
    pub binary: bool,
    /// It outlives the transaction.
    pub holds: bool,
    /// The transaction that has declared it is not over.
    pub is_new: bool,
    /// How many savepoints had been set when it was declared.
    pub made: u64,
}

impl Cursors {
    /// The plan of a cursor's query.
    ///
    /// # Errors
    /// 34000.
    pub fn plan(&self, name: &str) -> Result<Arc<Plan>, SqlError> {
        self.0.get(name).map(|it| Arc::clone(&it.plan)).ok_or_else(|| no_cursor(name))
    }

    /// Those that are to be held stay after a commit.
    pub fn end_transaction(&mut self, committed: bool) {
        self.0.retain(|_, it| it.holds && (committed || !it.is_new));
        self.0.values_mut().for_each(|it| it.is_new = false);
    }

    /// Those declared since a savepoint go.
    pub fn roll_back_to(&mut self, savepoint: u64) {
        self.0.retain(|_, it| !it.is_new || it.made < savepoint);
    }

    /// Bytes of all rows.
    pub fn bytes(&self) -> usize {
        self.0.values().map(|it| it.bytes).sum()
    }
}

pub(super) fn no_cursor(name: &str) -> SqlError {
    SqlError::new("34000", format!("cursor \"{name}\" does not exist"))
}
