//! A block that its scheme has refused goes on in a new transaction, where its client cannot tell: all that it has done so
//! far is done again, and has to say again what its client was told. Then it is the same as if the client's statements had
//! all come just now. Where one says something else, the client is told of the conflict.

use super::dialog::Dialog;
use super::formats::Formats;
use super::late::Outcome;
use super::output::{Mark, Output};
use super::portals::OwnPlan;
use super::run::Rows;
use super::transcript::{Part, PutOff, Transcript, Trials};
use chiliad::Error;
use chiliad_sql::{OwnedDatum, SqlError, execute};
use std::sync::Arc;
use std::time::Instant;

/// Whether a scheme has refused the transaction, which may be run again: tables that have changed meanwhile stay so.
fn is_refusal(error: &SqlError) -> bool {
    error.is_retryable() && matches!(error.cause.as_deref(), Some(Error::Conflict(_)))
}

impl Dialog {
    /// As [`Dialog::run_rows`], of a statement of a block: again while it is refused and the block resumes. The transcript
    /// takes the values.
    pub fn run_rows_of_block(
        &mut self,
        plan: &OwnPlan,
        values: &mut Vec<OwnedDatum>,
        formats: &Formats,
    ) -> Result<u64, SqlError> {
        self.catch_up_for(plan)?;
        let (mark, mut trials) = (self.output.mark(), Trials::default());
        let rows = loop {
            match self.run_rows_or_put_off(plan, values, formats) {
                Ok(Outcome::Rows(rows)) => break rows,
                Ok(Outcome::Late(late)) => {
                    let (plan, values, time) =
                        (Arc::clone(plan), values.clone(), self.statement_time);
                    self.tx.late.push(PutOff { plan, values, time, late });
                    break 1;
                }
                Err(error) => {
                    let error = self.judge(error);
                    if !self.resumes(&error, &mut trials) {
                        return Err(error);
                    }
                    self.output.take_back(mark);
                }
            }
        };
        if self.tx.transcript.has_gap {
            return Ok(rows);
        }
        let part = Part {
            plan: Arc::clone(plan),
            formats: formats.clone(),
            time: self.statement_time,
            rows,
        };
        let (said, bytes_max) = (self.output.said_since(mark), self.server.limits.repeat_bytes_max);
        self.tx.transcript.add(part, values, said, bytes_max);
        Ok(rows)
    }

    /// Whether the block goes on after this error, in a new transaction that has done again all that it had done.
    /// `trials` are those of what the error has ended.
    pub fn resumes(&mut self, error: &SqlError, trials: &mut Trials) -> bool {
        if !self.tx.may_resume() || !is_refusal(error) {
            return false;
        }
        let limit = self.server.limits.retry_for;
        let deadline = *trials.deadline.get_or_insert_with(|| Instant::now() + limit);
        while Instant::now() < deadline && !self.server.is_draining() && !self.cancel.is_canceled()
        {
            // What it holds it lets go of before it waits.
            self.tx.reopen();
            if trials.refusals > 0 {
                self.server.catalog.database().back_off(trials.refusals);
            }
            trials.refusals += 1;
            match self.says_the_same() {
                Ok(true) => return true,
                Err(error) if is_refusal(&error) => {}
                Ok(false) | Err(_) => break,
            }
        }
        self.tx.lose();
        false
    }

    /// Does again what the block has done. Whether it says the same.
    fn says_the_same(&mut self) -> Result<bool, SqlError> {
        let transcript = std::mem::take(&mut self.tx.transcript);
        let time = self.statement_time;
        let same = self.all_say_the_same(&transcript);
        self.statement_time = time;
        self.tx.transcript = transcript;
        same
    }

    fn all_say_the_same(&mut self, transcript: &Transcript) -> Result<bool, SqlError> {
        let bytes_max = self.server.limits.result_bytes_max;
        let mut said = Output::default();
        for (part, values, said_then) in transcript.parts() {
            let Part { plan, formats, .. } = part;
            let columns = plan.prepared.columns();
            self.statement_time = part.time;
            let done = self.part(plan, |tx, environment, _| {
                let mut rows = Rows { output: &mut said, columns, formats, bytes_max };
                execute(&plan.prepared, values, tx.raw(), environment, &mut rows)
            })?;
            if done.rows != part.rows || said.said_since(Mark::default()) != said_then {
                return Ok(false);
            }
            said.take_back(Mark::default());
        }
        Ok(true)
    }
}
