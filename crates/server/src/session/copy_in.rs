//! COPY from the client: rows come in messages of their own, until it says that there are no more.

use super::beside::Beside;
use super::dialog::{Dialog, Step};
use super::run::Ran;
use crate::copy::{Decoder, Fields};
use crate::plans::Plan;
use crate::turns::give_way;
use crate::wire::{Message, Writer};
use chiliad_sql::{
    Copy, CopyFields, CopyFormat, Datum, OutputColumn, RowChanges, SqlError, codec, execute,
};
use std::sync::Arc;

/// The longest row.
const ROW_BYTES_MAX: usize = 16 << 20;
/// Rows of one message that are put before those so far are counted.
const ROWS_AT_ONCE: usize = 1024;

/// A COPY in progress.
pub(super) struct CopyIn {
    plan: Arc<Plan>,
    decoder: Decoder,
    table: String,
    binary: bool,
    rows: u64,
    /// Rows go into a table that the transaction has made and that nobody sees: beside it.
    beside: Option<Beside>,
}

impl CopyIn {
    /// Tells in which row an error has come up.
    fn place(&self, error: SqlError) -> SqlError {
        let place = format!("COPY {}, line {}", self.table, self.decoder.line);
        match error.detail {
            Some(_) => error,
            None => error.with_detail(place),
        }
    }
}

impl Dialog {
    pub(super) fn begin_copy_in(&mut self, plan: &Arc<Plan>, copy: &Copy) -> Result<Ran, SqlError> {
        self.begin_implicit();
        let binary = copy.format == CopyFormat::Binary;
        let columns = plan.prepared.columns().len();
        let loads = |table| self.tx.may_load(&self.server.catalog, table);
        let beside = match plan.prepared.tables() {
            [table] if loads(*table) => Some(Beside::default()),
            _ => None,
        };
        self.output.copy_response(b'G', binary, columns);
        self.output.release();
        self.not_again();
        self.copy = Some(CopyIn {
            plan: Arc::clone(plan),
            decoder: Decoder::new(copy.format.clone()),
            table: copy.table.clone(),
            binary,
            rows: 0,
            beside,
        });
        Ok(Ran::Suspended)
    }

    /// A message while rows are expected.
    pub(super) fn copy_step(&mut self, message: Message<'_>) -> Step {
        let done = match message {
            Message::CopyData(bytes) => self.copy_data(bytes, false),
            Message::CopyDone => {
                let done = self.copy_data(&[], true);
                return match done.and_then(|()| self.end_copy()) {
                    Ok(step) => step,
                    Err(error) => self.fail_copy(error),
                };
            }
            Message::CopyFail(why) => {
                let message = format!("COPY from stdin failed: {why}");
                Err(SqlError::query_canceled(message))
            }
            // As PostgreSQL does, for clients that send them.
            Message::Flush | Message::Sync => return Step::Next,
            Message::Terminate => return Step::End,
            _ => {
                let message = "unexpected message during COPY from stdin";
                Err(SqlError::protocol_violation(message))
            }
        };
        match done {
            Ok(()) => Step::Next,
            Err(error) => self.fail_copy(error),
        }
    }

    /// Keeps the data of a message for the next one, which has come. Whether there is a COPY that they are for.
    pub fn keep_copy_data(&mut self, bytes: &[u8]) -> bool {
        let copy = self.copy.as_mut();
        copy.map(|copy| copy.decoder.push(bytes)).is_some()
    }

    /// Inserts the rows that are complete. `last`: no more bytes come.
    fn copy_data(&mut self, bytes: &[u8], last: bool) -> Result<(), SqlError> {
        let Some(mut copy) = self.copy.take() else { return Ok(()) };
        copy.decoder.push(bytes);
        let done = loop {
            match self.copy_piece(&mut copy, last) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let copy = self.copy.insert(copy);
        give_way();
        done.map_err(|error| copy.place(error))?;
        if copy.decoder.waiting() > ROW_BYTES_MAX {
            let message = format!("a row of more than {ROW_BYTES_MAX} bytes");
            return Err(copy.place(SqlError::program_limit(message)));
        }
        Ok(())
    }

    /// Inserts some of the rows that are complete; returns whether there may be more.
    fn copy_piece(&mut self, copy: &mut CopyIn, last: bool) -> Result<bool, SqlError> {
        let CopyIn { plan, decoder, binary, rows, beside, .. } = copy;
        let columns = plan.prepared.columns();
        let (prepared_for, tables) = (plan.shared_version(), plan.prepared.tables());
        let (mut put, mut put_bytes) = (0, 0);
        let (any, aside) = (RowChanges::Anything, beside.as_mut());
        let more = self.part_on(prepared_for, tables, any, aside, |tx, environment, _| {
            let mut loader = plan.prepared.loader();
            while let Some(fields) = decoder.next(last)? {
                put_bytes += fields.bytes();
                check_count(fields, columns)?;
                match &mut loader {
                    Some(loader) => {
                        let fields = RowFields { fields, binary: *binary };
                        loader.insert(&fields, tx.raw(), environment)?;
                    }
                    None => {
                        let values = values(fields, columns, *binary)?;
                        let mut nothing = |_: &[Datum<'_>]| Ok(());
                        execute(&plan.prepared, &values, tx.raw(), environment, &mut nothing)?;
                    }
                }
                put += 1;
                if put == ROWS_AT_ONCE {
                    return Ok(true);
                }
            }
            Ok(false)
        })?;
        *rows += put as u64;
        match beside {
            Some(beside) if last && !more => beside.commit()?,
            Some(beside) => beside.add(put, put_bytes)?,
            None => {}
        }
        Ok(more)
    }

    /// All rows have come.
    fn end_copy(&mut self) -> Result<Step, SqlError> {
        let Some(copy) = self.copy.take() else { return Ok(Step::Next) };
        self.output.complete(&copy.plan.prepared.tag(copy.rows));
        if self.query.is_some() {
            return Ok(self.go_on());
        }
        Ok(Step::Next)
    }

    /// The COPY has failed, and what its message was part of.
    pub(super) fn fail_copy(&mut self, error: SqlError) -> Step {
        self.copy = None;
        if self.query.is_none() {
            return self.fail_extended(error);
        }
        self.again_or_over(error);
        self.go_on()
    }
}

/// A row for what loads it.
struct RowFields<'f> {
    fields: &'f Fields,
    binary: bool,
}

impl CopyFields for RowFields<'_> {
    fn field(&self, at: usize) -> Option<&[u8]> {
        self.fields.get(at)
    }

    fn are_binary(&self) -> bool {
        self.binary
    }
}

/// Refuses a row that does not have a field for each column.
fn check_count(fields: &Fields, columns: &[OutputColumn]) -> Result<(), SqlError> {
    match columns.get(fields.len()) {
        Some(OutputColumn { name, .. }) => {
            Err(SqlError::bad_copy(format!("missing data for column \"{name}\"")))
        }
        None if fields.len() > columns.len() => {
            Err(SqlError::bad_copy("extra data after last expected column"))
        }
        None => Ok(()),
    }
}

/// The values of a row.
fn values<'f>(
    fields: &'f Fields,
    columns: &[OutputColumn],
    binary: bool,
) -> Result<Vec<Datum<'f>>, SqlError> {
    let one = |(field, column): (Option<&'f [u8]>, &OutputColumn)| match (field, binary) {
        (None, _) => Ok(Datum::Null),
        (Some(bytes), true) => codec::from_binary(column.sql_type, bytes),
        (Some(bytes), false) => codec::from_text_bytes(column.sql_type, bytes),
    };
    fields.iter().zip(columns).map(one).collect()
}
