//! Rows past their time: absent to readers at once, and removed in the background.

mod clock;
mod sweeper;

pub use clock::Clock;
pub(crate) use sweeper::Sweeper;

use crate::form::{Form, Schemas};
use crate::raw::TableId;
use crate::{Result, Row};
use std::time::SystemTime;

/// A column that can say until when its row is there: what `#[row(expires = "column")]` asks of it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say when a row expires",
    note = "the column is a `SystemTime` or an `Option<SystemTime>`"
)]
pub trait Expires {
    /// The instant from which on the row is absent; `None`: it stays.
    fn instant(&self) -> Option<SystemTime>;
}

impl Expires for SystemTime {
    fn instant(&self) -> Option<SystemTime> {
        Some(*self)
    }
}

impl Expires for Option<SystemTime> {
    fn instant(&self) -> Option<SystemTime> {
        *self
    }
}

/// The column of a row type that says when rows expire: its place, and how it is read from the body of a row. For the
/// derive macro.
#[derive(Clone, Copy, Debug)]
pub struct Expiry {
    place: usize,
    read: fn(&[u8]) -> Result<Option<SystemTime>>,
}

impl Expiry {
    /// The column at `place`, which `read` reads.
    #[must_use]
    pub const fn of(place: usize, read: fn(&[u8]) -> Result<Option<SystemTime>>) -> Self {
        Self { place, read }
    }

    /// The place of the column.
    #[must_use]
    pub const fn place(self) -> usize {
        self.place
    }
}

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
        Ok((self.expiry.read)(&body)?.is_some_and(|instant| instant <= now))
    }
}
