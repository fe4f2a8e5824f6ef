//! What statements ask of the session that runs them.

use super::settings::{SERVER_VERSION, Settings};
use crate::catalog::{Catalog, next_of, next_row_number_of};
use crate::change::Changes;
use crate::claims::Claimed;
use crate::turns::give_way;
use chiliad::raw::TableId;
use chiliad::{Cancel, Error, Sequence};
use chiliad_sql::Result;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The environment of one statement.
pub(super) struct Environment<'a> {
    pub catalog: &'a Catalog,
    /// What the transaction has changed of tables.
    pub changes: Option<Arc<Changes>>,
    pub settings: &'a Settings,
    pub cancel: &'a Cancel,
    /// When the statement is to end.
    pub deadline: Option<Instant>,
    /// Of a block, under a scheme without locks.
    pub claimed: Option<&'a mut Claimed>,
    /// The sequence whose row numbers were asked for last, by its name.
    pub row_numbers: Option<(String, Arc<Sequence>)>,
    pub user: &'a str,
    pub database: &'a str,
    pub transaction_time: i64,
    pub statement_time: i64,
}

impl chiliad_sql::Environment for Environment<'_> {
    fn transaction_time(&self) -> i64 {
        self.transaction_time
    }

    fn statement_time(&self) -> i64 {
        self.statement_time
    }

    fn clock_time(&self) -> i64 {
        now()
    }

    fn next_value(&mut self, sequence: &str) -> Result<i64> {
        match self.changes.as_ref().and_then(|it| it.sequence(sequence)) {
            Some(own) => next_of(own),
            None => self.catalog.next_value(sequence),
        }
    }

    fn next_row_number(&mut self, sequence: &str) -> Result<i64> {
        if let Some((name, numbers)) = &self.row_numbers
            && name == sequence
        {
            return next_row_number_of(numbers);
        }
        let numbers = match self.changes.as_ref().and_then(|it| it.sequence(sequence)) {
            Some(own) => Arc::new(own.clone()),
            None => self.catalog.sequence(sequence)?,
        };
        let number = next_row_number_of(&numbers);
        self.row_numbers = Some((sequence.into(), numbers));
        number
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.settings.get(&name.to_lowercase()).map(String::from)
    }

    fn user(&self) -> &str {
        self.user
    }

    fn database(&self) -> &str {
        self.database
    }

    fn version(&self) -> String {
        let release = env!("CARGO_PKG_VERSION");
        format!("PostgreSQL {SERVER_VERSION} (Chiliad {release})")
    }

    fn random(&mut self) -> f64 {
        let bits = u64::from_be_bytes(crate::auth::random());
        // 53 bits, as many as the type holds.
        (bits >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn claim(&mut self, table: TableId, key: &[u8]) {
        if let Some(claimed) = &mut self.claimed {
            _ = claimed.claim(table.0, key);
        }
    }

    fn is_wanted(&self, table: TableId, key: &[u8]) -> bool {
        self.claimed.as_ref().is_some_and(|claimed| claimed.is_wanted(table.0, key))
    }

    fn check(&self) -> Result<()> {
        if self.cancel.is_canceled() {
            return Err(Error::Canceled.into());
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Error::DeadlineExceeded.into());
        }
        give_way();
        Ok(())
    }
}

/// The time, in microseconds from 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
