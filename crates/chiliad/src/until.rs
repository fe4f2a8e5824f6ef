//! The deadline and the cancel handle that end a transaction's waits.

use crate::clock::ticks_at;
use crate::{Cancel, Error, Result, RunOptions};
use chiliad_api::WaitLimit;
use chiliad_machine::Interleaved;
use std::time::Instant;

/// The limits of the waits of a transaction, besides what they wait for.
#[derive(Clone, Default)]
pub(crate) struct Until {
    pub deadline: Option<Instant>,
    pub cancel: Option<Cancel>,
}

impl Until {
    /// A wait that begins now.
    pub fn now(options: &RunOptions) -> Self {
        Self { deadline: options.deadline_from_now(), cancel: options.cancel.clone() }
    }

    /// These limits for a wait between two attempts.
    pub fn wait_limit(&self) -> WaitLimit<'_, Interleaved> {
        let cancel = self.cancel.as_ref().map(Cancel::engine);
        WaitLimit { deadline: self.deadline.map(ticks_at), cancel }
    }

    /// Whether nothing ends the waits.
    #[inline]
    pub fn is_never(&self) -> bool {
        self.deadline.is_none() && self.cancel.is_none()
    }

    /// Whether it may go on.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.cancel.as_ref().is_some_and(Cancel::is_canceled) {
            return Err(Error::Canceled);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Error::DeadlineExceeded),
            _ => Ok(()),
        }
    }
}
