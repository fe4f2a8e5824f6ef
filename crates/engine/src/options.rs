//! How a database is opened.

use std::time::Duration;

/// When old versions are kept for snapshot transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Snapshots {
    /// From the start: a snapshot begins at once.
    Always,
    /// From the first snapshot on, which waits for the next snapshot boundary (one snapshot epoch,
    /// a second by default); no version is kept before.
    #[default]
    OnDemand,
    /// Never: snapshot transactions are tracked read-only ones.
    Off,
}

/// Run-time options of a database.
#[derive(Clone, Debug)]
pub struct Options {
    /// Memory that tables may reserve, in bytes; `u64::MAX` for no limit.
    pub memory_bytes_max: u64,
    /// When old versions are kept.
    pub snapshots: Snapshots,
    /// The length of a commit epoch. A snapshot epoch is 25 of them.
    pub epoch: Duration,
    /// Revalidate the read set while it grows, so that no transaction acts on a state that never
    /// was for long.
    pub opacity: bool,
    /// The number of partitions, for schemes that need them.
    pub partitions: u32,
    /// Give every version a stamp and report every access to the workers' recorders.
    pub verify: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory_bytes_max: u64::MAX,
            snapshots: Snapshots::OnDemand,
            epoch: Duration::from_millis(40),
            opacity: true,
            partitions: 1,
            verify: false,
        }
    }
}
