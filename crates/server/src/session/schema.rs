//! Changes of the catalog. They are made by a thread of their own: some wait for transactions that are open, and the
//! sessions of this thread must go on meanwhile.

use super::dialog::{Dialog, Step};
use super::run::Ran;
use super::transaction::State;
use crate::apply::apply;
use crate::jobs::{JobResult, Notice};
use crate::plans::Plan;
use crate::wire::{Severity, Writer};
use chiliad_sql::{SchemaChange, SqlError, schema_changes};

impl Dialog {
    /// Has the changes of a statement made.
    pub fn change_catalog(&mut self, plan: &Plan) -> Result<Ran, SqlError> {
        let view = self.server.catalog.view();
        let changes = schema_changes(&plan.prepared, &view)?;
        self.not_again();
        let block = matches!(self.tx.state(), State::Block | State::Failed);
        if self.tx.is_open() {
            if let Some(what) = changes.iter().find_map(waits) {
                // It would wait for the session's own transaction.
                let message =
                    format!("{what} cannot run in a transaction that has begun to read or write");
                return Err(SqlError::active_transaction(message).with_hint(
                    "Run it before other statements of the transaction, or on its own.",
                ));
            }
            // What it has read may go with the tables.
            self.tx.prove()?;
        }
        if block && !changes.is_empty() {
            let message = "changes of tables take effect at once: a rollback does not undo them";
            self.warn("01000", message);
        }
        self.waits_for_job = true;
        let tag = plan.prepared.tag(0);
        self.server.jobs.start(self.job_of(tag, changes));
        Ok(Ran::Waits)
    }

    fn job_of(
        &self,
        tag: String,
        changes: Vec<SchemaChange>,
    ) -> impl FnOnce() -> (u32, JobResult) + Send + 'static {
        let (server, id) = (std::sync::Arc::clone(&self.server), self.place.id);
        move || {
            let made = apply(&server.catalog, changes);
            let renewed = server.catalog.renew();
            let made =
                made.and_then(|notices| renewed.map(|()| (tag, notices)).map_err(SqlError::from));
            (id, made)
        }
    }

    /// The changes are made, or refused: the session goes on.
    pub fn job_done(&mut self, result: JobResult) -> Step {
        self.waits_for_job = false;
        match result {
            Ok((tag, notices)) => {
                for Notice { sqlstate, message } in notices {
                    let error = SqlError::new(sqlstate, message);
                    self.output.report(Severity::Notice, &error);
                }
                self.output.complete(&tag);
            }
            Err(error) if self.query.is_some() => {
                self.again_or_over(error);
                return self.go_on();
            }
            Err(error) => return self.fail_extended(error),
        }
        match self.query.is_some() {
            true => {
                self.after_part();
                self.go_on()
            }
            false => {
                if self.tx.state() == State::None {
                    self.new_attempt();
                }
                Step::Next
            }
        }
    }
}

/// What waits for all transactions that have begun before.
fn waits(change: &SchemaChange) -> Option<&'static str> {
    match change {
        SchemaChange::AddIndex { .. } => Some("CREATE INDEX"),
        SchemaChange::Rewrite { .. } => Some("ALTER TABLE"),
        _ => None,
    }
}
