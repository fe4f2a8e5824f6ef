//! What whoever opens a log may choose.

use std::time::Duration;

/// How a log is made if it is not there, what it must be if it is, and how long its calls keep trying.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Servers that store each record: 3, or 5; 1 only where nothing depends on the records. A stream that is there
    /// must have at least as many. Default 3.
    pub replicas: usize,
    /// The most bytes that the stream may take on each server before appends fail with
    /// [`Full`](chiliad_machine::shared_log::SharedLogError::Full), if this call makes it; without a limit, the
    /// servers' own holds. Default none.
    pub bytes_max: Option<u64>,
    /// How long a call keeps trying before it says
    /// [`Unavailable`](chiliad_machine::shared_log::SharedLogError::Unavailable): more than an election, which takes
    /// 4 to 9 seconds, and at most 60 seconds. Default 30 seconds.
    pub deadline: Duration,
    /// `host:port` of the servers' monitoring pages. There, and nowhere else, a server says whether it syncs each
    /// append before it acknowledges it: with these given, [`JetStream::open`](crate::JetStream::open) refuses one
    /// that does not. Default none: unchecked.
    pub monitors: Vec<String>,
}

/// The longest [`Options::deadline`]: whoever waits for a log shall hear of it that it cannot be reached.
pub(crate) const DEADLINE_MAX: Duration = Duration::from_secs(60);

impl Default for Options {
    fn default() -> Self {
        Self {
            replicas: 3,
            bytes_max: None,
            deadline: Duration::from_secs(30),
            monitors: Vec::new(),
        }
    }
}

impl Options {
    /// Sets [`Options::replicas`].
    #[must_use]
    pub fn replicas(self, replicas: usize) -> Self {
        Self { replicas, ..self }
    }

    /// Sets [`Options::bytes_max`].
    #[must_use]
    pub fn bytes_max(self, bytes_max: u64) -> Self {
        Self { bytes_max: Some(bytes_max), ..self }
    }

    /// Sets [`Options::deadline`].
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// Sets [`Options::monitors`].
    #[must_use]
    pub fn monitors(self, monitors: Vec<String>) -> Self {
        Self { monitors, ..self }
    }
}
