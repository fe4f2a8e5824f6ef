//! Changes of tables. What may wait, for the disk or for transactions that are open, is done by a thread of its own: the
//! sessions of this thread go on meanwhile.

use super::dialog::{Dialog, Step};
use super::run::Ran;
use super::transaction::{Changed, State};
use super::waiting::{After, Waiting};
use crate::change::{Built, Work, build, change_online, commit, works};
use crate::jobs::{JobResult, NoJob};
use crate::plans::Plan;
use crate::wire::{Severity, Writer};
use chiliad_sql::{Rewrite, SchemaChange, SqlError, schema_changes};
use std::sync::{Arc, Mutex, PoisonError};

impl Dialog {
    /// Makes the changes of a statement, or has them made.
    pub fn change_catalog(&mut self, plan: &Plan) -> Result<Ran, SqlError> {
        let tag = plan.prepared.command();
        if self.tx.read_only {
            let message = format!("cannot execute {tag} in a read-only transaction");
            return Err(SqlError::new("25006", message));
        }
        let mut changes = self.changes_of(plan)?;
        self.not_again();
        changes.retain(|change| match change {
            SchemaChange::Notice { sqlstate, message } => {
                self.output.report(Severity::Notice, &SqlError::new(sqlstate, message.clone()));
                false
            }
            _ => true,
        });
        if changes.is_empty() {
            self.output.complete(tag);
            return Ok(Ran::Done);
        }
        if self.is_alone() && changes.iter().any(goes_online) {
            return self.change_online(tag, changes);
        }
        self.begin_implicit();
        // The transaction goes by this version of the catalog.
        self.enter_tables(None, &[])?;
        self.leave_tables();
        let works = works(changes, &self.tables().view())?;
        let builds: Vec<_> = works.iter().filter_map(Work::build).collect();
        if builds.is_empty() {
            self.make_changes(works, Vec::new())?;
            self.output.complete(tag);
            return Ok(Ran::Done);
        }
        let built = Arc::<Mutex<Vec<Built>>>::default();
        let (server, into) = (Arc::clone(&self.server), Arc::clone(&built));
        let is_open = self.tx.is_open();
        self.start(is_open, move || {
            *into.lock().unwrap_or_else(PoisonError::into_inner) = build(&server, builds)?;
            Ok(())
        })?;
        self.waiting = Some(Waiting::Build { tag, works, built });
        Ok(Ran::Waits)
    }

    /// Has changes made that are a transaction by themselves, and wait for those that are open.
    fn change_online(
        &mut self,
        tag: &'static str,
        changes: Vec<SchemaChange>,
    ) -> Result<Ran, SqlError> {
        let server = Arc::clone(&self.server);
        let started = self.server.jobs.start_waiting(move || {
            let done = change_online(&server.catalog, changes);
            server.jobs.has_waited();
            done
        });
        self.job = started.map_err(no_job)?;
        self.waiting = Some(Waiting::Online { tag });
        Ok(Ran::Waits)
    }

    /// What a statement asks for, of tables as the session sees them.
    fn changes_of(&self, plan: &Plan) -> Result<Vec<SchemaChange>, SqlError> {
        match schema_changes(&plan.prepared, &self.tables().view()) {
            // A table that the application has made since, perhaps.
            Err(error) if error.sqlstate == "42P01" => {
                self.tables().renew()?;
                schema_changes(&plan.prepared, &self.tables().view())
            }
            changes => changes,
        }
    }

    /// Whether a statement is a transaction by itself, as far as can be told.
    fn is_alone(&self) -> bool {
        let begins = match self.tx.state() {
            State::None => true,
            State::Implicit => !self.tx.is_open() && self.tx.changes().is_none(),
            State::Block | State::Failed => false,
        };
        begins && self.query.as_ref().is_none_or(super::query::Query::is_single)
    }

    /// Has a job done; its result goes to [`Dialog::job_done`].
    fn start(
        &mut self,
        of_open: bool,
        job: impl FnOnce() -> JobResult + Send + 'static,
    ) -> Result<(), SqlError> {
        self.job = self.server.jobs.start(of_open, job).map_err(no_job)?;
        Ok(())
    }

    /// Makes the changes in the session's transaction, with what was built for them.
    fn make_changes(&mut self, works: Vec<Work>, built: Vec<Built>) -> Result<(), SqlError> {
        let server = Arc::clone(&self.server);
        let catalog = &server.catalog;
        // From here on the transaction remembers what it reads and writes.
        self.changes();
        let mut built = built.into_iter();
        let mut next = || built.next().ok_or_else(|| SqlError::internal("nothing was built"));
        let made = self.tx.savepoints_set();
        for work in works {
            match work {
                Work::Sequence(name) => {
                    let sequence = next()?;
                    self.changes().put_sequence(catalog, name, sequence)?;
                }
                Work::Table { spec, details } => {
                    let table = next()?;
                    self.changes().put(catalog, table, (spec, details), made);
                }
                Work::Copy { from, spec, details, rewrites } => {
                    let table = next()?;
                    let rewrite = rewrites.then(|| {
                        Rewrite::new(&from, spec.clone(), details.clone().unwrap_or_default())
                    });
                    self.copy_rows([from.id, table.table.id], rewrite.as_ref())?;
                    self.changes().put(catalog, table, (spec, details), made);
                }
                Work::DropTable(name) => self.changes().drop_table(catalog, &name),
                Work::DropSequence(name) => self.changes().drop_sequence(catalog, &name)?,
                Work::DropIndex { table, index } => {
                    self.changes().drop_index(catalog, &table, index)?;
                }
            }
        }
        Ok(())
    }

    fn changes(&mut self) -> &mut crate::change::Changes {
        let catalog = &self.server.catalog;
        self.tx.change(|| catalog.view())
    }

    /// Has a transaction committed that has changed tables.
    ///
    /// # Errors
    /// 55P03 where a change of tables waits for this very transaction.
    pub fn commit_changes(&mut self, changed: Changed, after: After) -> Result<(), SqlError> {
        let server = Arc::clone(&self.server);
        self.start(changed.open.is_some(), move || {
            let Changed { open, changes } = changed;
            commit(&server, open, &changes)
        })?;
        self.waiting = Some(Waiting::Commit(after));
        Ok(())
    }

    /// The job has ended: the session goes on.
    pub fn job_done(&mut self, result: JobResult) -> Step {
        let done = match self.waiting.take() {
            None => return Step::Next,
            Some(Waiting::Online { tag }) => result.map(|()| tag),
            Some(Waiting::Build { tag, works, built }) => result.and_then(|()| {
                let built =
                    std::mem::take(&mut *built.lock().unwrap_or_else(PoisonError::into_inner));
                self.make_changes(works, built).map(|()| tag)
            }),
            Some(Waiting::Commit(after)) => return self.commit_done(result, after),
        };
        let done = done.map(|tag| self.output.complete(tag));
        self.statement_done(done)
    }

    fn commit_done(&mut self, done: Result<(), SqlError>, after: After) -> Step {
        self.end_settings(done.is_ok());
        match after {
            After::Statement { tag, chain } => {
                let done = done.and_then(|()| self.committed(tag, chain));
                self.statement_done(done)
            }
            After::Query => {
                self.query = None;
                if let Err(error) = done {
                    self.fail(&error);
                }
                self.finish_query()
            }
            After::Sync => {
                if let Err(error) = done {
                    self.fail(&error);
                }
                self.end_sync()
            }
        }
    }

    /// A statement that has waited is over.
    fn statement_done(&mut self, done: Result<(), SqlError>) -> Step {
        match done {
            Err(error) if self.query.is_some() => {
                self.again_or_over(error);
                self.go_on()
            }
            Err(error) => self.fail_extended(error),
            Ok(()) if self.query.is_some() => {
                self.after_part();
                self.go_on()
            }
            Ok(()) => {
                if self.tx.state() == State::None {
                    self.new_attempt();
                }
                Step::Next
            }
        }
    }
}

/// Why a change of tables is not made.
fn no_job(why: NoJob) -> SqlError {
    match why {
        NoJob::Closed => SqlError::new("57P01", "the server is going down"),
        NoJob::Deadlock => {
            let message = "another change of tables waits for this transaction to end";
            SqlError::new("55P03", message)
                .with_hint("Commit or roll back, and change tables in another transaction.")
        }
    }
}

/// Whether a change is made while transactions go on, if a statement asks for nothing else.
fn goes_online(change: &SchemaChange) -> bool {
    matches!(change, SchemaChange::AddIndex { .. } | SchemaChange::Rewrite { .. })
}
