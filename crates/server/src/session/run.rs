//! Running a prepared statement, by its kind.

use super::beside::Beside;
use super::dialog::Dialog;
use super::environment::{Environment, now};
pub(super) use super::formats::Formats;
use super::formats::check_result;
use super::output::Output;
use super::portals::OwnPlan;
use super::transaction::{Limits, State};
use crate::catalog::Tables;
use crate::plans::Plan;
use crate::turns::give_way;
use crate::wire::Writer;
use chiliad::Transaction;
use chiliad::raw::TableId;
use chiliad_sql::{
    Datum, Kind, OutputColumn, OwnedDatum, ResultRow, RowChanges, RowSink, SqlError,
    TransactionControl, execute,
};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// What became of a statement.
pub(super) enum Ran {
    /// It is over, and the client is told.
    Done,
    /// It goes on with other messages: COPY.
    Suspended,
    /// It goes on when a job is done: a change of the catalog.
    Waits,
}

/// Writes rows to a session's output, up to a limit.
pub(super) struct Rows<'a> {
    pub output: &'a mut Output,
    pub columns: &'a [OutputColumn],
    pub formats: &'a Formats,
    pub bytes_max: usize,
}

impl RowSink for Rows<'_> {
    fn row(&mut self, row: ResultRow<'_>) -> Result<(), SqlError> {
        let values = row.iter().zip(self.columns).enumerate();
        self.output.data_row(
            values
                .map(|(at, (datum, column))| (datum, column.sql_type, self.formats.is_binary(at))),
        );
        check_result(self.output.unsent(), self.bytes_max)
    }
}

/// Whether a block goes on to have a whole transcript after such a statement: that is part of it, or changes nothing.
fn is_kept(kind: &Kind) -> bool {
    match kind {
        Kind::Query { .. } | Kind::Write | Kind::Explain => true,
        Kind::Transaction(control) => !matches!(
            control,
            TransactionControl::Savepoint(_)
                | TransactionControl::Release(_)
                | TransactionControl::RollbackTo(_)
        ),
        _ => false,
    }
}

impl Dialog {
    /// A statement begins: from here on it can be cancelled.
    pub fn begin_statement(&mut self) {
        let is_new = self.cancel.is_canceled();
        if is_new {
            self.cancel = chiliad::Cancel::new();
        }
        self.place.running.begin(&self.cancel, is_new);
        self.statement_time = now();
    }

    /// Refuses what a failed transaction does not obey.
    pub fn refuse_if_failed(&self, obeys: impl FnOnce() -> bool) -> Result<(), SqlError> {
        if self.tx.state() != State::Failed || obeys() {
            return Ok(());
        }
        let message =
            "current transaction is aborted, commands ignored until end of transaction block";
        Err(SqlError::new("25P02", message))
    }

    /// Runs a statement and tells the client; in the simple protocol its columns, too. It may take the values away.
    pub fn run(
        &mut self,
        plan: &OwnPlan,
        values: &mut Vec<OwnedDatum>,
        formats: &Formats,
    ) -> Result<Ran, SqlError> {
        self.refuse_if_failed(|| plan.ends_transaction())?;
        let kind = plan.prepared.kind();
        if !is_kept(kind) {
            self.catch_up()?;
            self.tx.transcript.leave_gap();
        }
        match kind {
            Kind::Query { .. } | Kind::Write | Kind::Explain => {
                if self.query.is_some() && plan.prepared.returns_rows() {
                    self.describe_rows(plan, formats);
                }
                let rows = match (self.tx.state(), kind) {
                    (State::Block, Kind::Query { .. } | Kind::Write) => {
                        self.run_rows_of_block(plan, values, formats)?
                    }
                    _ => self.run_rows(plan, values, formats)?,
                };
                self.output.complete_with(|out| plan.prepared.write_tag(rows, out));
                Ok(Ran::Done)
            }
            Kind::Transaction(control) => self.control(control, plan),
            Kind::Declare(cursor) => self.declare(cursor, plan, values).map(|()| Ran::Done),
            Kind::Fetch(fetch) => self.fetch(fetch, plan, formats).map(|()| Ran::Done),
            Kind::Close(name) => self.close_cursor(name.as_deref(), plan).map(|()| Ran::Done),
            Kind::Schema => self.change_catalog(plan),
            Kind::Copy(copy) => self.begin_copy(plan, copy),
            Kind::Call(name) => self.call(name, plan, values).map(|()| Ran::Done),
            Kind::CreateProcedure { procedure, replaces } => {
                self.create_procedure(procedure, *replaces, plan).map(|()| Ran::Done)
            }
            Kind::DropProcedure { name, if_exists } => {
                self.drop_procedure(name, *if_exists, plan).map(|()| Ran::Done)
            }
            _ => self.run_utility(plan, formats).map(|()| Ran::Done),
        }
    }

    /// Runs a statement that may return rows, writes them, and returns the number for the tag of its success.
    pub fn run_rows(
        &mut self,
        plan: &Plan,
        values: &[Datum<'_>],
        formats: &Formats,
    ) -> Result<u64, SqlError> {
        let prepared = &plan.prepared;
        if !matches!(prepared.kind(), Kind::Query { .. } | Kind::Write | Kind::Explain) {
            return self.run_utility_rows(plan, formats);
        }
        let bytes_max = self.server.limits.result_bytes_max;
        let columns = prepared.columns();
        let done = self.part(plan, |tx, environment, output| {
            let mut rows = Rows { output, columns, formats, bytes_max };
            execute(prepared, values, tx.raw(), environment, &mut rows)
        })?;
        Ok(done.rows)
    }

    /// Runs a statement in the session's transaction, or in an implicit one that begins with it, in the environment and
    /// within the limits of the statement.
    pub fn part<T>(
        &mut self,
        plan: &Plan,
        run: impl FnOnce(&mut Transaction<'_>, &mut Environment<'_>, &mut Output) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let prepared_for = plan.shared_version();
        self.begin_implicit();
        let prepared = &plan.prepared;
        if !matches!(prepared.kind(), Kind::Write) || prepared.returns_rows() {
            self.tx.tells(prepared.told());
        }
        self.part_on(prepared_for, prepared.tables(), prepared.row_changes(), None, run)
    }

    /// As [`Dialog::part`], of a statement that was prepared for this version of the catalog, on these tables, and may write
    /// what `changes` says; or beside the transaction.
    pub fn part_on<T>(
        &mut self,
        prepared_for: Option<u64>,
        tables: &[TableId],
        changes: RowChanges,
        beside: Option<&mut Beside>,
        run: impl FnOnce(&mut Transaction<'_>, &mut Environment<'_>, &mut Output) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        self.begin_implicit();
        self.tx.changes_rows(changes);
        let tables = if beside.is_some() { &[] } else { tables };
        self.enter_tables(prepared_for, tables)?;
        let Self { tx, output, settings, server, cancel, user, database, claimed, .. } = self;
        let limits = Limits::new(settings, server, cancel);
        let claims = tx.state() == State::Block && !server.waits;
        let mut environment = Environment {
            catalog: &server.catalog,
            changes: tx.changes().cloned(),
            settings,
            cancel,
            // The clock is looked at only where there is a limit.
            deadline: limits.timeout.and_then(|it| Instant::now().checked_add(it)),
            claimed: claims.then_some(claimed),
            row_numbers: None,
            user,
            database,
            transaction_time: tx.began,
            statement_time: self.statement_time,
        };
        let database = server.catalog.database();
        let open = match beside {
            Some(beside) => beside.part(database, &limits),
            None => tx.part(database, &limits),
        };
        let done = open.and_then(|open| open.with(|tx| run(tx, &mut environment, output)));
        self.leave_tables();
        done
    }

    /// From here on names mean the tables that they mean now, until [`Dialog::leave_tables`].
    ///
    /// # Errors
    /// 40001 where some mean others than when the transaction began.
    pub fn enter_tables(
        &mut self,
        prepared_for: Option<u64>,
        tables: &[TableId],
    ) -> Result<(), SqlError> {
        loop {
            // SeqCst: see `Shared::close_tables`.
            self.place.uses_tables.store(true, Ordering::SeqCst);
            if !self.server.are_tables_closed() {
                break;
            }
            self.leave_tables();
            give_way();
            std::thread::yield_now();
        }
        let entered = self.tx.enter(&self.server.catalog, prepared_for, tables);
        if entered.is_err() {
            self.leave_tables();
        }
        entered
    }

    /// The statement has ended.
    pub fn leave_tables(&self) {
        // Release: pairs with the look of `Sessions::use_tables`. What the statement did comes before.
        self.place.uses_tables.store(false, Ordering::Release);
    }

    /// The tables as the session sees them.
    pub fn tables(&self) -> Tables<'_> {
        self.tx.tables(&self.server.catalog)
    }

    /// The transaction of statements that are in none.
    pub fn begin_implicit(&mut self) {
        self.tx.begin_implicit(self.statement_time, self.settings.begins_read_only);
    }
}
