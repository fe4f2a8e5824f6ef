//! Ends of transactions that are held back until they are durable.

use crate::rules::{Rules, unless_it_only_read};
use crate::until::Until;
use crate::{Error, Result};

/// How a transaction ended, not to be told before an epoch is durable.
pub(crate) struct Held<T, E> {
    pub result: core::result::Result<T, E>,
    /// Of a commit the one with which all that it has read and written is durable.
    pub epoch: u64,
    /// Whether the transaction has changed anything.
    pub wrote: bool,
    /// How long it may be waited for.
    pub limit: Until,
}

impl<T, E: From<Error>> Held<T, E> {
    /// An error that tells nothing of the database.
    pub fn harmless(error: Error) -> Self {
        Self { result: Err(error.into()), epoch: 0, wrote: false, limit: Until::default() }
    }

    /// The result, as soon as it may be told.
    #[inline]
    pub fn wait(self, rules: &Rules) -> core::result::Result<T, E> {
        #[cfg(feature = "metrics")]
        let latency = crate::watch::LatencyOf::begin();
        let durable = rules.hold_back(self.epoch, &self.limit);
        #[cfg(feature = "metrics")]
        if rules.holding().is_some() {
            latency.durable(&rules.publisher);
        }
        self.tell(durable)
    }

    /// The result, now that it is known whether its epoch is durable. Where nothing becomes durable any
    /// more, an error is still the answer, and so is what was only read.
    pub fn tell(self, durable: Result<()>) -> core::result::Result<T, E> {
        let value = self.result?;
        unless_it_only_read(self.wrote, durable)?;
        Ok(value)
    }
}
