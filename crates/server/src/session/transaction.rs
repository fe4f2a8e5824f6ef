//! The transaction of a session: none, an implicit one around a string or a pipeline, a block from BEGIN on, or a block
//! that has failed.

use super::settings::Settings;
use super::transcript::{PutOff, Transcript};
use crate::catalog::{Catalog, Tables};
use crate::change::Changes;
use crate::shared::Shared;
use chiliad::raw::{Columns, TableId};
use chiliad::{Cancel, Database, Error, OpenTransaction, Pending, RunOptions};
use chiliad_sql::{CatalogView, Modes, RowChanges, SqlError};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// A transaction of a session. It takes a worker of the database with its first statement, not before.
#[derive(Default)]
pub(super) struct Tx {
    state: State,
    open: Option<OpenTransaction>,
    savepoints: Vec<Savepoint>,
    /// When it began, in microseconds from 1970.
    pub began: i64,
    pub read_only: bool,
    /// Statements have read since what was read was last validated.
    unproved: bool,
    /// These columns are told of rows that they have read, if anything is: more than how many rows they have written.
    tells: Option<Columns>,
    /// What its statements may have written.
    row_changes: Vec<RowChanges>,
    /// It has met a conflict: nothing but its end is left.
    lost: bool,
    /// The version of the catalog by which it has begun.
    version: Option<u64>,
    /// What it has changed of tables. After `open`: what it has made goes after it.
    changes: Option<Arc<Changes>>,
    /// Tables that it has read or written, since it has changed some.
    touched: BTreeSet<TableId>,
    /// Savepoints that were ever set.
    savepoints_set: u64,
    /// What it has done, if it is a block.
    pub transcript: Transcript,
    /// What it has still to do before it commits.
    pub late: Vec<PutOff>,
}

/// A transaction that is to be committed with the tables that it has made.
pub(super) struct Changed {
    pub open: Option<OpenTransaction>,
    pub changes: Arc<Changes>,
}

/// How far a transaction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum State {
    #[default]
    None,
    /// Of one string or pipeline: it ends with that.
    Implicit,
    /// From BEGIN on.
    Block,
    /// A block after an error: only its end, or a savepoint, is left.
    Failed,
}

struct Savepoint {
    name: String,
    mark: chiliad::Mark,
    /// Its number among those that were ever set, from 1.
    number: u64,
    changes: Option<Arc<Changes>>,
}

/// The limits of a statement.
pub(super) struct Limits<'a> {
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// How long each of its waits for a lock may last.
    wait_limit: Option<Duration>,
    cancel: &'a Cancel,
}

impl<'a> Limits<'a> {
    /// The limits of a statement of a session with these settings, which this handle cancels.
    pub fn new(settings: &Settings, server: &Shared, cancel: &'a Cancel) -> Self {
        // Where nobody waits for a lock there is nothing to prepare for it.
        let wait_limit = settings.lock_timeout.filter(|_| server.waits);
        Self { timeout: settings.statement_timeout, wait_limit, cancel }
    }

    pub fn options(&self) -> RunOptions {
        let mut options = RunOptions::default().cancel(self.cancel);
        options.deadline = self.timeout;
        options.wait_limit = self.wait_limit;
        options
    }
}

impl Tx {
    pub fn state(&self) -> State {
        self.state
    }

    /// The letter that tells a client.
    pub fn status(&self) -> u8 {
        match self.state {
            State::None | State::Implicit => b'I',
            State::Block => b'T',
            State::Failed => b'E',
        }
    }

    /// The tables as it sees them.
    pub fn tables<'a>(&'a self, catalog: &'a Catalog) -> Tables<'a> {
        Tables::new(catalog, self.changes.as_ref().map(|it| it.view()))
    }

    /// What it has changed of tables.
    pub fn changes(&self) -> Option<&Arc<Changes>> {
        self.changes.as_ref()
    }

    /// What it has changed of tables, to change more; it begins with those of `view`.
    pub fn change(&mut self, view: impl FnOnce() -> Arc<CatalogView>) -> &mut Changes {
        let changes = self.changes.get_or_insert_with(|| Arc::new(Changes::new(view())));
        Arc::make_mut(changes)
    }

    /// The number of the last savepoint that is still set, 0 for none.
    pub fn savepoints_alive(&self) -> u64 {
        self.savepoints.last().map_or(0, |it| it.number)
    }

    /// How many savepoints were ever set.
    pub fn savepoints_set(&self) -> u64 {
        self.savepoints_set
    }

    /// A statement of it runs, on these tables. It was prepared for this version of the catalog, if not for the
    /// transaction's own.
    ///
    /// # Errors
    /// 40001 where names mean other tables by now.
    pub fn enter(
        &mut self,
        catalog: &Catalog,
        prepared_for: Option<u64>,
        tables: &[TableId],
    ) -> Result<(), SqlError> {
        let version = *self.version.get_or_insert_with(|| catalog.version());
        let oldest = prepared_for.map_or(version, |it| it.min(version));
        if !catalog.is_good(oldest) {
            self.lost |= self.state == State::Block;
            let message = "could not serialize access: tables were changed meanwhile";
            return Err(SqlError::serialization_failure(message));
        }
        if self.changes.is_some() {
            self.touched.extend(tables);
        }
        Ok(())
    }

    /// Whether rows may be put into a table beside the transaction: nobody else sees it, the transaction has neither read
    /// nor written it, it goes with every savepoint that the transaction may go back to, and the transaction will see
    /// the rows.
    pub fn may_load(&self, catalog: &Catalog, table: TableId) -> bool {
        let Some(made) = self.changes.as_ref().and_then(|it| it.made(table)) else { return false };
        let outlives = self.savepoints.last().is_some_and(|it| it.number > made);
        let sees = !self.is_open() || catalog.sees_newest();
        !outlives && sees && !self.touched.contains(&table)
    }

    /// The transaction, if it is one that has changed tables: to be committed by other means.
    pub fn take_changed(&mut self) -> Option<Changed> {
        let changes = self.changes.take()?;
        let Self { open, .. } = std::mem::take(self);
        Some(Changed { open, changes })
    }

    /// Whether a worker of the database has begun it.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Begins one around what follows, if there is none.
    pub fn begin_implicit(&mut self, now: i64, read_only: bool) {
        if self.state == State::None {
            *self = Self { state: State::Implicit, began: now, read_only, ..Self::default() };
        }
    }

    /// BEGIN: what was implicit becomes a block.
    pub fn begin_block(&mut self, now: i64, read_only: bool) {
        if self.state == State::None {
            *self = Self { began: now, read_only, ..Self::default() };
        }
        // What came before it in its pipeline is not kept.
        if self.is_open() {
            self.transcript.leave_gap();
        }
        self.state = State::Block;
    }

    /// SET TRANSACTION.
    pub fn set_modes(&mut self, modes: &Modes) -> Result<(), SqlError> {
        if let Some(read_only) = modes.read_only {
            if self.is_open() && self.read_only && !read_only {
                let message = "transaction read-write mode must be set before any query";
                return Err(SqlError::active_transaction(message));
            }
            self.read_only = read_only;
        }
        Ok(())
    }

    /// The open transaction, for a statement with these limits.
    pub fn part(
        &mut self,
        database: &Database,
        limits: &Limits<'_>,
    ) -> Result<&mut OpenTransaction, SqlError> {
        debug_assert!(self.state != State::None, "statements run in a transaction");
        self.unproved = true;
        let options = limits.options();
        match &mut self.open {
            Some(open) => open.limit(&options),
            none => {
                let options = if self.read_only { options.read_only() } else { options };
                *none = Some(database.open_transaction(&options)?);
            }
        }
        self.open.as_mut().ok_or_else(|| SqlError::internal("no transaction"))
    }

    /// The error that a client is told in place of one of the statement: where what the statement had read is no state of
    /// the database, its own is none that ever was. It may be told when the handle says that what was read is durable.
    /// Where a wait of the statement has ended before it got its lock, nothing of the transaction can go on either.
    pub fn judge(&mut self, error: SqlError) -> (SqlError, Option<Pending<()>>) {
        let has_read = std::mem::take(&mut self.unproved);
        self.tells = None;
        if error.is_retryable() {
            self.lost = true;
            return (error, None);
        }
        let seen = self.open.as_mut().filter(|_| has_read).map(|open| {
            // What has ended the statement says nothing of what it had read.
            open.limit(&RunOptions::default());
            open.seen()
        });
        match seen {
            Some(Ok(seen)) => (error, Some(seen)),
            Some(Err(ended)) => {
                self.lost = true;
                let is_conflict = matches!(ended, Error::Conflict(_));
                (if is_conflict { ended.into() } else { error }, None)
            }
            None => (error, None),
        }
    }

    /// Whether what was read is one state of the database, before any of it is told. It may be told when the handle says
    /// that it is durable.
    ///
    /// # Errors
    /// 40001 and its kin.
    pub fn prove(&mut self) -> Result<Option<Pending<()>>, SqlError> {
        if !std::mem::take(&mut self.unproved) {
            return Ok(None);
        }
        let tells = std::mem::take(&mut self.tells);
        let Some(open) = &mut self.open else { return Ok(None) };
        let proved = match tells {
            Some(columns) => open.seen_columns(columns).map(Some),
            None => open.validate().map(|()| None),
        };
        match proved {
            Err(conflict @ Error::Conflict(_)) => {
                self.lost = true;
                Err(conflict.into())
            }
            proved => Ok(proved.unwrap_or(None)),
        }
    }

    /// Whether what was read is still one state of the database, before more is read. Nothing of it is told yet.
    ///
    /// # Errors
    /// 40001 and its kin.
    pub fn validate(&mut self) -> Result<(), SqlError> {
        let Some(open) = &mut self.open else { return Ok(()) };
        open.validate().map_err(|error| {
            self.lost |= matches!(error, Error::Conflict(_));
            error.into()
        })
    }

    /// The client is told of these columns of rows, by table (`None`: of anything), and not only how many a statement has
    /// written. Columns that the transaction has itself written may tell of anything that it has read.
    pub fn tells(&mut self, told: Option<&[(TableId, Columns)]>) {
        let told = told.filter(|told| !self.may_have_written(told));
        let columns = told.map_or(Columns::ALL, |told| told.iter().map(|(_, it)| *it).collect());
        self.tells = Some(self.tells.unwrap_or(Columns::NONE).with(columns));
    }

    /// Whether some of these columns may have values that the transaction has itself written.
    fn may_have_written(&self, told: &[(TableId, Columns)]) -> bool {
        self.row_changes.iter().any(|it| match *it {
            RowChanges::Nothing => false,
            RowChanges::Columns(of, written) => told.iter().any(|&(table, columns)| {
                of == table && (written == Columns::ALL || written.meets(columns))
            }),
            RowChanges::Anything => true,
        })
    }

    /// Notes what a statement may write.
    pub fn changes_rows(&mut self, changes: RowChanges) {
        if changes != RowChanges::Nothing && !self.row_changes.contains(&changes) {
            self.row_changes.push(changes);
        }
    }

    /// A statement has failed: an implicit transaction is over, a block can only be ended.
    pub fn fail(&mut self) {
        match self.state {
            State::None => {}
            State::Implicit => self.rollback(),
            State::Block | State::Failed => {
                self.state = State::Failed;
                self.late.clear();
                if self.lost || self.savepoints.is_empty() {
                    // Nobody waits for it any longer.
                    self.open = None;
                    self.changes = None;
                }
            }
        }
    }

    /// Ends it without effect.
    pub fn rollback(&mut self) {
        *self = Self::default();
    }

    /// Ends it with effect. The result may be told when the handle says that it is durable; `None` where nothing was
    /// done.
    ///
    /// # Errors
    /// Conflicts and others of a commit. Nothing of what it has done is left then but its transcript.
    pub fn commit(&mut self) -> Result<Option<Pending<()>>, SqlError> {
        if let Some(open) = &mut self.open {
            // What ended a statement's waits must not end the commit.
            open.limit(&RunOptions::default());
        }
        let pending = self.open.take().map(OpenTransaction::submit).transpose()?;
        *self = Self::default();
        Ok(pending)
    }

    /// Whether it is a block of which the transcript has all that it has done.
    pub fn may_resume(&self) -> bool {
        self.state == State::Block && !self.transcript.has_gap && self.changes.is_none()
    }

    /// Begins a block again that its scheme has refused, without what it has done.
    pub fn reopen(&mut self) {
        debug_assert!(self.savepoints.is_empty(), "a savepoint leaves a gap");
        self.open = None;
        self.late.clear();
        (self.unproved, self.tells, self.lost) = (false, None, false);
        self.row_changes.clear();
    }

    /// Nothing but its end is left.
    pub fn lose(&mut self) {
        self.late.clear();
        self.open = None;
        self.lost = true;
    }

    pub fn set_savepoint(
        &mut self,
        name: &str,
        database: &Database,
        limits: &Limits<'_>,
    ) -> Result<(), SqlError> {
        let mark = self.part(database, limits)?.set_savepoint()?;
        self.savepoints_set += 1;
        let (number, changes) = (self.savepoints_set, self.changes.clone());
        self.savepoints.push(Savepoint { name: name.into(), mark, number, changes });
        Ok(())
    }

    /// RELEASE: ends the savepoint and those after it.
    pub fn release(&mut self, name: &str) -> Result<(), SqlError> {
        let at = self.find(name)?;
        let mark = self.savepoints[at].mark;
        self.savepoints.truncate(at);
        match &mut self.open {
            Some(open) => Ok(open.release(mark)?),
            None => Ok(()),
        }
    }

    /// ROLLBACK TO: takes back what was done since, and a failed block goes on.
    pub fn roll_back_to(&mut self, name: &str) -> Result<(), SqlError> {
        let at = self.find(name)?;
        if self.lost {
            return Err(lost());
        }
        self.savepoints.truncate(at + 1);
        let mark = self.savepoints[at].mark;
        let Some(open) = &mut self.open else { return Err(lost()) };
        // What ended the failed statement is not to end this.
        open.limit(&RunOptions::default());
        if let Err(error) = open.roll_back_to(mark) {
            self.lost = true;
            self.fail();
            return Err(error.into());
        }
        self.changes.clone_from(&self.savepoints[at].changes);
        self.state = State::Block;
        Ok(())
    }

    fn find(&self, name: &str) -> Result<usize, SqlError> {
        let found = self.savepoints.iter().rposition(|it| it.name == name);
        found.ok_or_else(|| SqlError::new("3B001", format!("savepoint \"{name}\" does not exist")))
    }
}

/// No savepoint brings a transaction back that has met a conflict.
fn lost() -> SqlError {
    let message = "could not serialize access due to concurrent transactions";
    SqlError::serialization_failure(message)
        .with_detail(
            "The conflict concerns the whole transaction, not only what followed the savepoint.",
        )
        .with_hint("Roll back and run the whole transaction again.")
}
