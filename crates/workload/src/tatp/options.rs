//! TATP's options.

use crate::memory::{Estimate, Tables};
use crate::ranges::within;

/// Which transactions; how often each of them, compared with the others, stays the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mix {
    /// The description's seven.
    #[default]
    Standard,
    /// The three that only read (Jung et al., 2014, 5.3.4).
    ReadOnly,
    /// Those, and the two that update: all but insertions and deletions (the same).
    ReadUpdate,
}

/// TATP as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TatpOptions {
    /// `--subscribers`.
    pub subscribers: u32,
    /// `--mix`.
    pub mix: Mix,
    /// `--partitions`: the subscribers are divided into so many ranges.
    pub partitions: u32,
    /// `--snapshot-reads`: the three transactions that only read do so in a snapshot of the past.
    pub snapshot_reads: bool,
    /// `--scale micro`: transactions that write are as frequent as those that read.
    pub writes_often: bool,
}

/// The most subscribers.
pub const SUBSCRIBERS_MAX: u32 = 1_000_000_000;

impl Default for TatpOptions {
    fn default() -> Self {
        Self {
            subscribers: 100_000,
            mix: Mix::Standard,
            partitions: 1,
            snapshot_reads: false,
            writes_often: false,
        }
    }
}

impl TatpOptions {
    /// About what the rows take; of each value only `kept` bytes exist, where that is said.
    #[must_use]
    pub fn memory(&self, kept: Option<usize>) -> Estimate {
        let subscribers = u64::from(self.subscribers);
        // On average two and a half rows of access and of facilities each, and almost four of forwarding.
        let others = subscribers.saturating_mul(35) / 4;
        Tables::new(kept)
            .rows(subscribers, 48)
            .rows(others, 16)
            .secondary(subscribers)
            .estimate("--subscribers")
    }

    /// A dozen subscribers, whose rows share few leaves, and call forwardings that come and go.
    #[must_use]
    pub fn micro() -> Self {
        Self { subscribers: 12, snapshot_reads: true, writes_often: true, ..Self::default() }
    }

    /// Whether the values are in range.
    ///
    /// # Errors
    /// One line that names the flag, the value and what is accepted.
    pub fn validate(&self) -> Result<(), String> {
        let subscribers = u64::from(self.subscribers);
        within("--subscribers", subscribers, 1, u64::from(SUBSCRIBERS_MAX))?;
        within("--partitions", u64::from(self.partitions), 1, subscribers.min(65_536))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_values_are_named_with_what_is_accepted() {
        assert_eq!(TatpOptions::default().validate(), Ok(()));
        assert_eq!(TatpOptions::micro().validate(), Ok(()));
        let none = TatpOptions { subscribers: 0, ..TatpOptions::default() };
        assert_eq!(none.validate(), Err("--subscribers 0: accepted is 1 to 1000000000".to_owned()));
        let split = TatpOptions { partitions: 13, ..TatpOptions::micro() };
        assert_eq!(split.validate(), Err("--partitions 13: accepted is 1 to 12".to_owned()));
    }
}
