//! Changes of a block that are made when it commits: those of rows that many want to change, as a counter of all that happens.
//!
//! A block that has changed such a row has it for itself until it ends, and the others wait. Where a change says nothing but
//! that it has changed one row, the client cannot tell whether that was done at once or at the end. So it is put off, and made
//! before the block looks at what it changes, or commits.

use super::dialog::Dialog;
use super::formats::Formats;
use super::portals::OwnPlan;
use super::transaction::State;
use super::transcript::{PutOff, Trials};
use crate::plans::Plan;
use chiliad_sql::{Datum, Late, OwnedDatum, SqlError, execute, put_off};

/// What became of a statement of a block.
pub(super) enum Outcome {
    /// It has written so many rows, or returned them.
    Rows(u64),
    /// It is put off, and will change one row.
    Late(Late),
}

impl Dialog {
    /// As [`Dialog::run_rows`], of a statement of a block; or puts it off, if that makes sense and no difference.
    pub fn run_rows_or_put_off(
        &mut self,
        plan: &Plan,
        values: &[OwnedDatum],
        formats: &Formats,
    ) -> Result<Outcome, SqlError> {
        if !self.may_put_off(plan) {
            return self.run_rows(plan, values, formats).map(Outcome::Rows);
        }
        self.part(plan, |tx, environment, _| {
            let prepared = &plan.prepared;
            if let Some(late) = put_off(prepared, values, tx.raw(), environment)? {
                return Ok(Outcome::Late(late));
            }
            // It returns no rows.
            let mut nobody = |_: &[Datum<'_>]| Ok(());
            let done = execute(prepared, values, tx.raw(), environment, &mut nobody)?;
            Ok(Outcome::Rows(done.rows))
        })
    }

    /// Whether the block may put such a statement off: schemes that lock have others wait anyhow, and what cannot be done
    /// again is done at once.
    fn may_put_off(&self, plan: &Plan) -> bool {
        plan.prepared.may_be_late()
            && !self.server.waits
            && !self.tx.read_only
            && self.tx.may_resume()
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
        if self.tx.late.is_empty() {
            return Ok(());
        }
        debug_assert!(self.tx.state() == State::Block, "only a block puts off");
        let (late, time) = (std::mem::take(&mut self.tx.late), self.statement_time);
        let made = self.make(&late);
        self.statement_time = time;
        let Err(error) = made else { return Ok(()) };
        let error = self.judge(error);
        // It is in the transcript: a block that resumes has made it.
        if self.resumes(&error, &mut Trials::default()) { Ok(()) } else { Err(error) }
    }

    fn make(&mut self, all: &[PutOff]) -> Result<(), SqlError> {
        // Where one is waited for in vain, the rest goes on without: a commit does not wait for each of many rows.
        let mut rows = all.iter().map(|it| &it.late);
        _ = rows.all(|late| self.claimed.claim(late.table.0, &late.key));
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
