//! A server's knowledge of its log: which one it is, and the last record that was read of it.
//!
//! A log that does not know these any more was emptied, made anew or rolled back, or is another one. A server looks when it
//! begins, and now and then while it runs: it would wait for ever for records that are gone, or go on with those of
//! another history.

use crate::faults::{IDENTITY_NOT_COMPARED, RECORD_NOT_COMPARED, SHORTER_LOG_AWAITED};
use chiliad_api::Error;
use chiliad_machine::shared_log::{Position, SharedLog, SharedLogError};
use chiliad_machine::{Machine, Ticks};
use core::ops::Range;
use core::time::Duration;

/// Time between two looks at the log of a running server: each may cost a reader of its own. In runs that explore,
/// shorter.
const LOOK: Duration = Duration::from_secs(10);
const LOOK_EXPLORING: Duration = Duration::from_millis(20);

/// How long a log may show less than was read in runs that explore, whose servers are given no patience.
const PATIENCE_EXPLORING: Duration = Duration::from_millis(1);

/// Looks in a row, within that time, that must find less: what a log says of its bounds may be old.
const DOUBTS: u32 = 10;

/// An objection to the log.
pub enum Objection {
    Stays(Error),
    /// The log may show more in a moment.
    MayPass(Error),
    /// The log says nothing.
    Unreachable(Error),
}

/// A record of a log that its reader knows, and the log's identity.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Whatever knows it: a checkpoint, or the server.
    pub by: &'a str,
    pub identity: u128,
    /// The position after the last record that was read.
    pub next: Position,
    /// The checksum of that record.
    pub checksum: u32,
}

impl Known<'_> {
    /// Whether a log with this identity is the one.
    pub fn is_of<M: Machine>(&self, log: &dyn SharedLog, identity: u128) -> Result<(), Objection> {
        if identity == self.identity || M::fault(&IDENTITY_NOT_COMPARED) {
            return Ok(());
        }
        let by = self.by;
        let what = format!(
            "it is not the log of {by}: it was made anew, or the checkpoints are of another database"
        );
        Err(Objection::Stays(refused(log, what)))
    }

    /// Whether the log, which has these bounds, is as long as what was read of it.
    pub fn ends_in(&self, log: &dyn SharedLog, bounds: &Range<Position>) -> Result<(), Objection> {
        let Self { by, next, .. } = *self;
        if bounds.end >= next {
            return Ok(());
        }
        let (last, known) = (bounds.end.saturating_sub(1), next - 1);
        let what = format!(
            "its last record is number {last}, and {by} has number {known}: it was emptied or rolled back"
        );
        Err(Objection::MayPass(refused(log, what)))
    }

    /// Whether the log, which has these bounds, still has the last record that was read, or was trimmed beyond it.
    pub fn is_in<M: Machine>(
        &self,
        log: &dyn SharedLog,
        bounds: &Range<Position>,
    ) -> Result<(), Objection> {
        let Self { by, next, .. } = *self;
        let is_there = next > bounds.start.max(1);
        if is_there && checksum(log, next - 1)? != self.checksum && !M::fault(&RECORD_NOT_COMPARED)
        {
            let known = next - 1;
            let what = format!(
                "its record number {known} is not the one that {by} has: it was rolled back, or is another log"
            );
            return Err(Objection::Stays(refused(log, what)));
        }
        Ok(())
    }
}

fn refused(log: &dyn SharedLog, what: String) -> Error {
    Error::LogRefused { log: log.place(), what }
}

/// The objection to a log that does not answer, or answers with an error.
pub fn failed(log: &dyn SharedLog, error: &SharedLogError) -> Objection {
    let failed = refused(log, error.to_string());
    if error.may_pass() { Objection::Unreachable(failed) } else { Objection::Stays(failed) }
}

/// The checksum of a record.
fn checksum(log: &dyn SharedLog, position: Position) -> Result<u32, Objection> {
    let mut checksum = None;
    let mut take = |at: Position, record: &[u8]| {
        if at == position {
            checksum = Some(crc32fast::hash(record));
        }
    };
    match log.read(position, 1, Duration::ZERO, &mut take) {
        Ok(_) => {}
        // Since its bounds were looked at: the next look knows.
        Err(error @ SharedLogError::Trimmed { .. }) => {
            return Err(Objection::MayPass(refused(log, error.to_string())));
        }
        Err(error) => return Err(failed(log, &error)),
    }
    // The bounds say that it is there.
    checksum.ok_or_else(|| {
        Objection::MayPass(refused(log, format!("its record number {position} cannot be read")))
    })
}

/// A running server's looks at its log.
#[derive(Debug)]
pub struct Watch {
    identity: u128,
    /// When it looked last, where the log went on then, and the checksum of the record before.
    looked: Ticks,
    knew: (Position, u32),
    /// Looks in a row at which the log has shown less than was read.
    doubts: u32,
}

impl Watch {
    /// Of the log of this identity, which was looked at just now.
    pub fn new<M: Machine>(identity: u128) -> Self {
        Self { identity, looked: M::now(), knew: (1, 0), doubts: 0 }
    }

    /// Looks again, if it is time to: whether the log is still the one, has all that was read, up to `next`, and has the
    /// record that was the last one at the look before. One that shows less is waited for, for `patience`: it may just
    /// have lost its leader. `checksum` is that of the record before `next`.
    ///
    /// # Errors
    /// [`Error::LogRefused`].
    pub fn look<M: Machine>(
        &mut self,
        log: &dyn SharedLog,
        (next, checksum): (Position, u32),
        patience: Duration,
    ) -> Result<(), Error> {
        let (between, patience) = match M::explores() {
            true => (LOOK_EXPLORING, PATIENCE_EXPLORING),
            false => (LOOK, patience),
        };
        let between = if self.doubts > 0 { patience / DOUBTS } else { between };
        let now = M::now();
        if now.saturating_sub(self.looked) < M::ticks(between) {
            return Ok(());
        }
        self.looked = now;
        match self.compare::<M>(log, next) {
            Ok(()) => {
                self.doubts = 0;
                self.knew = (next, checksum);
            }
            Err(Objection::Stays(error)) => return Err(error),
            // Reads say so, as long as it lasts.
            Err(Objection::Unreachable(_)) => {}
            Err(Objection::MayPass(error)) => {
                self.doubts += 1;
                if self.doubts > DOUBTS && !M::fault(&SHORTER_LOG_AWAITED) {
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn compare<M: Machine>(&self, log: &dyn SharedLog, next: Position) -> Result<(), Objection> {
        let (known, checksum) = self.knew;
        let then = Known { by: "this server", identity: self.identity, next: known, checksum };
        let identity = log.identity().map_err(|error| failed(log, &error))?;
        then.is_of::<M>(log, identity)?;
        let bounds = log.bounds().map_err(|error| failed(log, &error))?;
        Known { next, ..then }.ends_in(log, &bounds)?;
        then.is_in::<M>(log, &bounds)
    }
}
