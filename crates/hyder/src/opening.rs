//! How a server begins: with the newest checkpoint that is sound, if the log goes on from there.
//!
//! Nothing is appended before the log has been looked at: one that was emptied, made anew, rolled back or trimmed too
//! far is refused, and stays as it is.

use crate::checkpoint_file::Summary;
use crate::checkpoints::{Checkpoints, name};
use crate::known::{Known, Objection, failed};
use crate::maker::Maker;
use crate::restore::{Failed, Restored, load};
use chiliad_api::Error;
use chiliad_log::LogError;
use chiliad_machine::Machine;
use chiliad_machine::shared_log::{Position, SharedLog, SharedLogError};
use core::time::Duration;

/// After which the log is looked at again.
const NAP: Duration = Duration::from_millis(50);

/// The state to begin with.
pub struct Beginning<M: Machine> {
    /// The newest checkpoint that is sound.
    pub restored: Option<Restored<M>>,
    /// The identity of the log.
    pub log: u128,
}

/// Finds a state from which the log goes on. A log that shows less than that is waited for, up to `patience`.
///
/// # Errors
/// [`Error::LogRefused`], [`Error::Data`], [`Error::OutOfMemory`]; [`Error::LogFailed`].
pub fn begin<M: Machine>(
    maker: &mut Maker<M>,
    log: &dyn SharedLog,
    checkpoints: Option<&Checkpoints>,
    patience: Duration,
) -> Result<Beginning<M>, Error> {
    let (restored, unsound) = match checkpoints {
        Some(checkpoints) => newest(maker, checkpoints)?,
        None => (None, None),
    };
    let mut deadline = None;
    let summary = restored.as_ref().map(|restored| &restored.summary);
    let opening = Opening { log, summary, unsound };
    loop {
        match opening.check::<M>() {
            Ok(log) => return Ok(Beginning { restored, log }),
            Err(Objection::Stays(error)) => return Err(error),
            Err(Objection::MayPass(error)) if M::explores() => return Err(error),
            Err(Objection::MayPass(error) | Objection::Unreachable(error)) => {
                let now = M::now();
                // In runs that explore, somebody ends what makes it unreachable.
                let deadline = *deadline.get_or_insert_with(|| match M::explores() {
                    true => u64::MAX,
                    false => now.saturating_add(M::ticks(patience)),
                });
                if now >= deadline {
                    return Err(error);
                }
                M::park_until(now + M::ticks(NAP));
            }
        }
    }
}

/// The newest sound checkpoint, and what is wrong with the newest, if that is another one.
fn newest<M: Machine>(
    maker: &mut Maker<M>,
    checkpoints: &Checkpoints,
) -> Result<(Option<Restored<M>>, Option<LogError>), Error> {
    let mut labels = checkpoints.labels()?;
    loop {
        let mut unsound = None;
        for &label in &labels {
            match load(maker, checkpoints, label) {
                Ok(restored) => return Ok((Some(restored), unsound)),
                Err(Failed::Unsound(error @ LogError::NewerFormat { .. })) => {
                    return Err(error.into());
                }
                Err(Failed::Unsound(error)) => _ = unsound.get_or_insert(error),
                Err(Failed::OutOfMemory) => {
                    let limit_bytes = maker.heap.shared().usage().limit_bytes;
                    return Err(Error::OutOfMemory { limit_bytes });
                }
            }
        }
        // Another server that keeps its checkpoints here may have removed them meanwhile, after newer ones.
        let now = checkpoints.labels()?;
        if now == labels {
            return Ok((None, unsound));
        }
        labels = now;
    }
}

struct Opening<'a> {
    log: &'a dyn SharedLog,
    /// Of the checkpoint to begin with.
    summary: Option<&'a Summary>,
    /// The flaw of a newer one.
    unsound: Option<LogError>,
}

impl Opening<'_> {
    fn refused(&self, what: String) -> Error {
        Error::LogRefused { log: self.log.place(), what }
    }

    /// Whether the log is the one of the checkpoint and goes on from there. Returns its identity.
    fn check<M: Machine>(&self) -> Result<u128, Objection> {
        let failed = |error: SharedLogError| failed(self.log, &error);
        let identity = self.log.identity().map_err(failed)?;
        let file = self.summary.map(|summary| name(summary.label)).unwrap_or_default();
        let known = self.summary.map(|summary| Known {
            by: &file,
            identity: summary.log,
            next: summary.position,
            checksum: summary.checksum,
        });
        known.map_or(Ok(()), |known| known.is_of::<M>(self.log, identity))?;
        let bounds = self.log.bounds().map_err(failed)?;
        if bounds.start > known.map_or(1, |known| known.next) {
            return Err(Objection::Stays(self.trimmed(bounds.start)));
        }
        if let Some(known) = known {
            known.ends_in(self.log, &bounds)?;
            known.is_in::<M>(self.log, &bounds)?;
        }
        Ok(identity)
    }

    /// Nothing leads to the log's first record.
    fn trimmed(&self, first: Position) -> Error {
        if let Some(error) = &self.unsound {
            return Error::Data(error.clone());
        }
        let has = match self.summary {
            Some(summary) => {
                let next = summary.position;
                format!("the newest checkpoint, {}, goes on at {next}", name(summary.label))
            }
            None => "there is no checkpoint to begin with".to_owned(),
        };
        self.refused(format!("its first record is number {first}, and {has}"))
    }
}
