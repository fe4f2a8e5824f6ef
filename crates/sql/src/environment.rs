//! What a statement asks of the program that runs it.

use crate::error::{Result, SqlError};
use chiliad_api::TableId;

/// What a statement cannot know by itself: the time, sequences, the session.
pub trait Environment {
    /// The time at which the transaction began, in microseconds from 1970-01-01 00:00 UTC.
    fn transaction_time(&self) -> i64;

    /// The time at which the statement began.
    fn statement_time(&self) -> i64 {
        self.transaction_time()
    }

    /// The time now.
    fn clock_time(&self) -> i64 {
        self.transaction_time()
    }

    /// A number that this sequence has never given out. Rows without a primary key have one of a sequence, too.
    ///
    /// # Errors
    /// When there is no such sequence, or its block of numbers could not be taken.
    fn next_value(&mut self, sequence: &str) -> Result<i64> {
        Err(SqlError::undefined_table(format!("relation \"{sequence}\" does not exist")))
    }

    /// As [`Environment::next_value`], for a row that the transaction inserts: the number need not be durable before that.
    ///
    /// # Errors
    /// As for [`Environment::next_value`].
    fn next_row_number(&mut self, sequence: &str) -> Result<i64> {
        self.next_value(sequence)
    }

    /// The value of a run-time parameter, for `current_setting`.
    fn setting(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }

    /// The name of the user.
    fn user(&self) -> &str {
        "chiliad"
    }

    /// The name of the database.
    fn database(&self) -> &str {
        "chiliad"
    }

    /// The product and its version, for `version()`.
    fn version(&self) -> String {
        concat!("Chiliad ", env!("CARGO_PKG_VERSION")).into()
    }

    /// The number of the session, for `pg_backend_pid()`.
    fn process(&self) -> i32 {
        0
    }

    /// A random number in `0.0..1.0`, for `random()`.
    fn random(&mut self) -> f64 {
        0.5
    }

    /// Asked now and then by statements that take long.
    ///
    /// # Errors
    /// When the statement is to end: 57014.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// The statement is about to read the row of this key, if there is one, or a range of rows that begins with it, in order
    /// to change them: the time to wait for others that mean the same. No result depends on it.
    fn claim(&mut self, table: TableId, key: &[u8]) {
        let _ = (table, key);
    }

    /// Whether others have waited to change the row of this key, and may do so again, and this session has no claim on it. No
    /// result depends on it.
    fn is_wanted(&self, table: TableId, key: &[u8]) -> bool {
        let _ = (table, key);
        false
    }

    /// The most bytes of memory that sorting, grouping and joining may take in one statement.
    fn memory_bytes_max(&self) -> usize {
        256 << 20
    }
}

/// An environment of one moment and no sequences.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment(
    /// Microseconds from 1970-01-01 00:00 UTC.
    pub i64,
);

impl Environment for Moment {
    fn transaction_time(&self) -> i64 {
        self.0
    }
}
