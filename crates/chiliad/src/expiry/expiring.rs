//! Which rows of a table are past their time.

use crate::form::{Form, Schemas};
use crate::raw::TableId;
use crate::row::Expiry;
use crate::{Result, Row};
use std::time::SystemTime;

/// How rows of a table expire, and in which form they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expiring {
    expiry: Expiry,
    form: Form,
}

impl Expiring {
    /// How rows `V` expire; `None`: they do not.
    pub fn of<V: Row>(form: Form) -> Option<Self> {
        V::expiry().map(|expiry| Self { expiry, form })
    }

    /// Whether a row of `table` is past its time at `now`.
    pub fn is_over(
        self,
        table: TableId,
        schemas: &Schemas,
        row: &[u8],
        now: SystemTime,
    ) -> Result<bool> {
        let body = self.form.body(table, schemas, row)?;
        Ok(self.expiry.of_body(&body)?.is_some_and(|instant| instant <= now))
    }
}
