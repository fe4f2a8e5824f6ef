//! BEGIN, COMMIT, ROLLBACK and savepoints.

use super::dialog::{Committed, Dialog};
use super::run::Ran;
use super::transaction::{Limits, State};
use super::waiting::After;
use crate::plans::Plan;
use crate::wire::{Severity, Writer};
use chiliad_sql::{Modes, SqlError, TransactionControl};

impl Dialog {
    /// Begins or ends a transaction or a part of one, and tells the client.
    pub fn control(&mut self, control: &TransactionControl, plan: &Plan) -> Result<Ran, SqlError> {
        let tag = plan.prepared.command();
        match control {
            TransactionControl::Begin(modes) => self.begin(modes)?,
            TransactionControl::SetModes(modes) => self.set_modes(modes)?,
            TransactionControl::Commit { chain } => return self.end(true, *chain, tag),
            TransactionControl::Rollback { chain } => return self.end(false, *chain, tag),
            TransactionControl::Savepoint(name) => {
                self.need_block("SAVEPOINT")?;
                let limits = Limits::new(&self.settings, &self.server, &self.cancel);
                self.tx.set_savepoint(name, self.server.catalog.database(), &limits)?;
            }
            TransactionControl::Release(name) => {
                self.need_block("RELEASE SAVEPOINT")?;
                self.tx.release(name)?;
            }
            TransactionControl::RollbackTo(name) => {
                self.need_block("ROLLBACK TO SAVEPOINT")?;
                self.tx.roll_back_to(name)?;
                self.portals.roll_back_to(self.tx.savepoints_alive());
            }
        }
        self.output.complete(tag);
        Ok(Ran::Done)
    }

    fn begin(&mut self, modes: &Modes) -> Result<(), SqlError> {
        if self.tx.state() == State::Block {
            self.warn("25001", "there is already a transaction in progress");
        } else {
            self.tx.begin_block(self.statement_time, self.settings.begins_read_only);
            let isolation = self.settings.get("default_transaction_isolation");
            let isolation = modes.isolation.or(isolation).unwrap_or("serializable").to_owned();
            self.set_of_block("transaction_isolation", &isolation)?;
        }
        self.set_modes_of_block(modes)
    }

    fn set_modes(&mut self, modes: &Modes) -> Result<(), SqlError> {
        if self.tx.state() != State::Block {
            self.warn("25P01", "SET TRANSACTION can only be used in transaction blocks");
            return Ok(());
        }
        self.set_modes_of_block(modes)
    }

    fn set_modes_of_block(&mut self, modes: &Modes) -> Result<(), SqlError> {
        if let Some(isolation) = modes.isolation {
            self.set_of_block("transaction_isolation", isolation)?;
        }
        if let Some(read_only) = modes.read_only {
            self.set_of_block("transaction_read_only", if read_only { "on" } else { "off" })?;
        }
        self.tx.set_modes(modes)
    }

    /// Sets a parameter until the block ends. Most blocks say nothing new, and have nothing to take back then.
    fn set_of_block(&mut self, name: &str, value: &str) -> Result<(), SqlError> {
        if self.settings.get(name) != Some(value) {
            self.settings.set(name, Some(value), true)?;
        }
        Ok(())
    }

    /// COMMIT and ROLLBACK.
    fn end(&mut self, commits: bool, chain: bool, tag: &'static str) -> Result<Ran, SqlError> {
        let state = self.tx.state();
        let in_block = matches!(state, State::Block | State::Failed);
        if !in_block {
            if chain {
                let what = if commits { "COMMIT" } else { "ROLLBACK" };
                let message = format!("{what} AND CHAIN can only be used in transaction blocks");
                return Err(SqlError::new("25P01", message));
            }
            self.warn("25P01", "there is no transaction in progress");
        }
        let tag = match (commits, state) {
            (true, State::Failed) => {
                self.rollback();
                "ROLLBACK"
            }
            (true, _) => {
                let after = After::Statement { tag, chain };
                if self.commit(after)? == Committed::Later {
                    return Ok(Ran::Waits);
                }
                tag
            }
            (false, _) => {
                self.rollback();
                tag
            }
        };
        self.output.complete(tag);
        if chain {
            self.begin(&Modes::default())?;
        }
        Ok(Ran::Done)
    }

    /// COMMIT is done that had to wait.
    pub fn committed(&mut self, tag: &str, chain: bool) -> Result<(), SqlError> {
        self.output.complete(tag);
        if chain {
            self.begin(&Modes::default())?;
        }
        Ok(())
    }

    fn need_block(&self, what: &str) -> Result<(), SqlError> {
        match self.tx.state() {
            State::Block | State::Failed => Ok(()),
            State::None | State::Implicit => {
                let message = format!("{what} can only be used in transaction blocks");
                Err(SqlError::new("25P01", message))
            }
        }
    }

    /// Tells the client something that is no error.
    pub fn warn(&mut self, sqlstate: &'static str, message: &str) {
        self.output.report(Severity::Warning, &SqlError::new(sqlstate, message));
    }
}
