//! Running a prepared statement in a transaction.

use crate::datum::Datum;
use crate::environment::Environment;
use crate::error::{Result, SqlError};
use crate::expr::Context;
use crate::plan::Plan;
use crate::prepared::Prepared;
use crate::result_row::ResultRow;
use crate::run::{Flow, change, insert, run_query};
use crate::stack::with_room;
use chiliad_api::{Columns, Transaction};

/// Takes the rows of a result.
pub trait RowSink {
    /// Takes a row: a value for each of [`Prepared::columns`].
    ///
    /// # Errors
    /// Whatever is to end the statement.
    fn row(&mut self, row: ResultRow<'_>) -> Result<()>;
}

/// Takes rows whose values lie in one slice: of others they are brought there.
impl<F: FnMut(&[Datum<'_>]) -> Result<()>> RowSink for F {
    fn row(&mut self, row: ResultRow<'_>) -> Result<()> {
        match row.as_slice() {
            Some(values) => self(values),
            None => self(&row.iter().map(Datum::borrowed).collect::<Vec<_>>()),
        }
    }
}

/// The end of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Done {
    /// Rows returned by a query, or inserted, updated or deleted: for [`Prepared::tag`].
    pub rows: u64,
}

/// Runs a statement of [`crate::Kind::Query`], `Write` or `Explain`, in `transaction`. For `COPY .. FROM` it inserts one row, whose
/// values are the parameters; for `COPY .. TO` it returns the rows to be copied.
///
/// After an error the transaction can only be rolled back, to a savepoint at least: a part of the statement may have been
/// done.
///
/// # Errors
/// Those of the statement, of the transaction and of `sink`.
pub fn execute(
    prepared: &Prepared,
    parameters: &[Datum<'_>],
    transaction: &mut dyn Transaction,
    environment: &mut dyn Environment,
    sink: &mut dyn RowSink,
) -> Result<Done> {
    let run = || execute_here(prepared, parameters, transaction, environment, sink);
    with_room(prepared.is_deep, run)
}

fn execute_here(
    prepared: &Prepared,
    parameters: &[Datum<'_>],
    transaction: &mut dyn Transaction,
    environment: &mut dyn Environment,
    sink: &mut dyn RowSink,
) -> Result<Done> {
    let cx = Context::new(parameters, transaction, environment);
    cx.transaction.borrow_mut().look_at(prepared.looks_at());
    let done = execute_plan(prepared, &cx, sink);
    cx.transaction.borrow_mut().look_at(Columns::ALL);
    done
}

fn execute_plan(prepared: &Prepared, cx: &Context<'_>, sink: &mut dyn RowSink) -> Result<Done> {
    let rows = match &prepared.plan {
        Plan::Query(query) => {
            let mut rows = 0;
            run_query(query, &[], cx, &mut |row| {
                rows += 1;
                sink.row(row).map(|()| Flow::More)
            })?;
            rows
        }
        Plan::Insert(plan) => insert(plan, cx, sink)?,
        Plan::Change(plan) => change(plan, cx, sink)?,
        Plan::Explain(lines) => {
            lines
                .iter()
                .try_for_each(|line| sink.row(ResultRow::all(&[Datum::text(line.as_str())])))?;
            lines.len() as u64
        }
        Plan::None | Plan::Call(_) | Plan::Schema(_) => {
            return Err(SqlError::internal("a statement that no transaction runs"));
        }
    };
    Ok(Done { rows })
}
