//! Changes of a block that are made when it commits: those of rows that many want to change, as a counter of all that happens.
//!
//! A block that has changed such a row has it for itself until it ends, and the others wait. Where a change says nothing but
//! that it has changed one row, the client cannot tell whether that was done at once or at the end. So it is put off, and made
//! before the block looks at what it changes, or commits.

use super::dialog::Dialog;
use super::formats::Formats;
use super::portals::OwnPlan;
use super::transaction::State;
use super::transcript::{Part, PutOff, Trials};
use chiliad_sql::{OwnedDatum, SqlError, put_off};
use std::sync::Arc;

impl Dialog {
    /// Puts a statement of a block off, if that makes sense and no difference. The transcript takes the values then.
    ///
    /// # Errors
    /// Those of the look at its row.
    pub fn put_off(
        &mut self,
        plan: &OwnPlan,
        values: &mut Vec<OwnedDatum>,
        formats: &Formats,
    ) -> Result<bool, SqlError> {
        let waits = self.server.waits || self.tx.read_only || self.tx.changes().is_some();
        if waits || self.tx.transcript.has_gap || !plan.prepared.may_be_late() {
            return Ok(false);
        }
        let late = self.part(plan, |tx, environment, _| {
            put_off(&plan.prepared, values, tx.raw(), environment)
        })?;
        let Some(late) = late else { return Ok(false) };
        let time = self.statement_time;
        let plan = Arc::clone(plan);
        self.tx.late.push(PutOff { plan: Arc::clone(&plan), values: values.clone(), time, late });
        let bytes_max = self.server.limits.repeat_bytes_max;
        let part = Part { plan, formats: formats.clone(), time, rows: 1 };
        self.tx.transcript.add(part, values, &[], bytes_max);
        Ok(true)
    }

    /// Makes what was put off, before a statement that may look at it or write the same table.
    ///
    /// # Errors
    /// Those of what was put off.
    pub fn catch_up_for(&mut self, plan: &OwnPlan) -> Result<(), SqlError> {
        let may_meet = |PutOff { late, .. }: &PutOff| match plan.prepared.told() {
            Some(told) => {
                told.iter().any(|(table, it)| *table == late.table && late.columns.meets(*it))
            }
            None => plan.prepared.tables().contains(&late.table),
        };
        if self.tx.late.iter().any(may_meet) { self.catch_up() } else { Ok(()) }
    }

    /// Makes what was put off: before the block commits, or does what cannot be done again.
    ///
    /// # Errors
    /// Those of what was put off.
    pub fn catch_up(&mut self) -> Result<(), SqlError> {
        let (mut trials, time) = (Trials::default(), self.statement_time);
        while !self.tx.late.is_empty() {
            debug_assert!(self.tx.state() == State::Block, "only a block puts off");
            let late = std::mem::take(&mut self.tx.late);
            let made = self.make(&late);
            self.statement_time = time;
            if let Err(error) = made {
                let error = self.judge(error);
                // It is in the transcript: a block that resumes has made it.
                if !self.resumes(&error, &mut trials) {
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn make(&mut self, all: &[PutOff]) -> Result<(), SqlError> {
        for PutOff { late, .. } in all {
            self.claimed.claim(late.table.0, &late.key);
        }
        // That the rows are there is taken of their newest versions, of which the changes are made.
        self.tx.validate()?;
        for PutOff { plan, values, time, .. } in all {
            self.statement_time = *time;
            if self.run_rows(plan, values, &Formats::Text)? != 1 {
                let message = "could not serialize access: a row to be changed has gone";
                return Err(SqlError::serialization_failure(message));
            }
        }
        Ok(())
    }
}
