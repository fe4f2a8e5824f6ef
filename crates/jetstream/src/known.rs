//! What a process has seen of the log: positions that are there for sure.

use async_nats::jetstream::stream::Info;
use chiliad_machine::shared_log::{Position, SharedLogError};
use core::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a leader may show less than was acknowledged before that is damage: just after its election it may not
/// have applied all that it stores.
const SETTLE: Duration = Duration::from_secs(5);

/// The farthest that was seen of both ends of the log. The words order nothing: whoever reads one needs no more of
/// memory than the number.
#[derive(Debug)]
pub struct Known {
    /// No position below is left.
    first: AtomicU64,
    /// All positions below were acknowledged or read.
    end: AtomicU64,
    /// A leader that shows less, since when.
    behind: Mutex<Option<Behind>>,
}

#[derive(Debug)]
struct Behind {
    /// Who leads, since when by its clock.
    term: String,
    /// By our clock.
    since: Instant,
}

impl Known {
    pub fn new() -> Self {
        Self { first: AtomicU64::new(1), end: AtomicU64::new(1), behind: Mutex::new(None) }
    }

    pub fn first(&self) -> Position {
        self.first.load(Ordering::Relaxed)
    }

    pub fn end(&self) -> Position {
        self.end.load(Ordering::Relaxed)
    }

    /// All positions below `first` were trimmed.
    pub fn trimmed(&self, first: Position) {
        self.first.fetch_max(first, Ordering::Relaxed);
    }

    /// There are records up to `end`.
    pub fn reaches(&self, end: Position) {
        self.end.fetch_max(end, Ordering::Relaxed);
    }

    /// Takes over what an answer says.
    ///
    /// # Errors
    /// [`SharedLogError::Damaged`] if one and the same leader has shown less than is known for [`SETTLE`].
    pub fn judge(&self, info: &Info) -> Result<Range<Position>, SharedLogError> {
        let bounds = bounds(info);
        self.trimmed(bounds.start);
        let known = self.end();
        let mut behind = self.behind.lock().unwrap_or_else(PoisonError::into_inner);
        if bounds.end >= known {
            self.reaches(bounds.end);
            *behind = None;
            return Ok(bounds);
        }
        let term = term(info);
        match &*behind {
            Some(it) if it.term == term && !term.is_empty() => {
                if it.since.elapsed() >= SETTLE {
                    return Err(SharedLogError::Damaged(format!(
                        "records up to {} were acknowledged, the stream's leader ({term}) has them up to {}",
                        known - 1,
                        bounds.end - 1
                    )));
                }
            }
            _ => *behind = Some(Behind { term, since: Instant::now() }),
        }
        Ok(bounds)
    }
}

/// The first position of a stream, and the one after its last.
pub fn bounds(info: &Info) -> Range<Position> {
    info.state.first_sequence.max(1)..info.state.last_sequence + 1
}

/// Who leads, and since when; empty without a leader.
fn term(info: &Info) -> String {
    let Some(cluster) = &info.cluster else { return "the only server".into() };
    let leader = cluster.leader.clone().unwrap_or_default();
    match cluster.leader_since {
        Some(since) if !leader.is_empty() => format!("{leader} since {since}"),
        _ => leader,
    }
}
