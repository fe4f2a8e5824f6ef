//! One client's statements in a transaction, and their errors as the engine's.

use super::plans::Plans;
use crate::InsertRow;
use chiliad_api::{Error, Reason, Result, TableId, Transaction};
use chiliad_sql::{Datum, Moment, OwnedDatum, SqlError, execute};
use std::sync::Arc;

/// A client's way to run its statements.
pub(crate) struct Connection {
    plans: Arc<Plans>,
    /// The time of statements, in seconds from 1970: no clock is read.
    pub seconds: u64,
}

impl Connection {
    /// A connection that runs these plans.
    pub fn new(plans: Arc<Plans>) -> Self {
        Self { plans, seconds: 0 }
    }

    /// Runs the statement of this place, calls `each` for the rows that it returns, and returns how many it has returned or
    /// written. The rows may be those of a state that never was: a transaction that is to abort goes on.
    ///
    /// # Errors
    /// Those of the transaction; [`Error::InvalidOption`] for a statement that fails by itself.
    pub fn each(
        &self,
        tx: &mut dyn Transaction,
        statement: impl Into<usize>,
        parameters: &[Datum<'_>],
        each: &mut dyn FnMut(&[Datum<'_>]),
    ) -> Result<u64> {
        let mut moment = Moment(self.seconds.cast_signed().saturating_mul(1_000_000));
        let mut sink = |row: &[Datum<'_>]| {
            each(row);
            Ok(())
        };
        execute(self.plans.prepared(statement.into()), parameters, tx, &mut moment, &mut sink)
            .map(|done| done.rows)
            .map_err(failed)
    }

    /// As [`Self::each`], of a statement whose rows nobody looks at.
    ///
    /// # Errors
    /// As for that.
    pub fn run(
        &self,
        tx: &mut dyn Transaction,
        statement: impl Into<usize>,
        parameters: &[Datum<'_>],
    ) -> Result<u64> {
        self.each(tx, statement, parameters, &mut |_| ())
    }

    /// The values of the last row that the statement of this place returns; `None`: it returns none.
    ///
    /// # Errors
    /// As for [`Self::each`].
    pub fn row(
        &self,
        tx: &mut dyn Transaction,
        statement: impl Into<usize>,
        parameters: &[Datum<'_>],
    ) -> Result<Option<Vec<OwnedDatum>>> {
        let mut found = None;
        self.each(tx, statement, parameters, &mut |row| {
            found = Some(row.iter().map(|it| it.borrowed().into_owned()).collect());
        })?;
        Ok(found)
    }

    /// As [`Self::row`], of whole numbers: nulls count as zero.
    ///
    /// # Errors
    /// As for [`Self::each`].
    pub fn numbers<const N: usize>(
        &self,
        tx: &mut dyn Transaction,
        statement: impl Into<usize>,
        parameters: &[Datum<'_>],
    ) -> Result<Option<[i64; N]>> {
        let mut found = None;
        self.each(tx, statement, parameters, &mut |row| found = Some(numbers(row)))?;
        Ok(found)
    }
}

/// Whole numbers of the first columns of a row; what is none counts as zero.
pub(crate) fn numbers<const N: usize>(row: &[Datum<'_>]) -> [i64; N] {
    core::array::from_fn(|at| row.get(at).map_or(0, number))
}

/// A whole number; what is none counts as zero.
pub(crate) fn number(datum: &Datum<'_>) -> i64 {
    match datum {
        Datum::Int(number) => *number,
        Datum::Numeric(number) => number.to_int().unwrap_or(0),
        _ => 0,
    }
}

/// Loads a row of these values, in the order of the table's columns.
///
/// # Errors
/// Those of `insert`; [`Error::InvalidOption`] for values that are none of the table.
pub(crate) fn load(
    plans: &Plans,
    (name, id): (&str, TableId),
    row: &[Datum<'_>],
    insert: &mut InsertRow<'_>,
) -> Result<()> {
    let table = plans.table(name);
    let table = table.ok_or_else(|| Error::InvalidOption(format!("no table {name}")))?;
    let (key, bytes) = table.stored(row).map_err(failed)?;
    insert(id, &key, &bytes)
}

/// The engine's error for one of a statement. A row that is there although what was read says that it is not tells of a
/// conflict, as for procedures.
fn failed(mut error: SqlError) -> Error {
    match error.cause.take() {
        Some(cause) => *cause,
        None if error.sqlstate == "23505" => Error::Conflict(Reason::ReadChanged),
        None => Error::InvalidOption(format!("a statement fails: {error}")),
    }
}

/// A whole number as a value.
pub(crate) fn int(number: impl Into<i64>) -> Datum<'static> {
    Datum::Int(number.into())
}
