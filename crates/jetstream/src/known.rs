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
        self.judge_at(info, Instant::now())
    }

    fn judge_at(&self, info: &Info, now: Instant) -> Result<Range<Position>, SharedLogError> {
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
                if now.duration_since(it.since) >= SETTLE {
                    return Err(SharedLogError::Damaged(format!(
                        "records up to {} were acknowledged, the stream's leader ({term}) has them up to {}",
                        known - 1,
                        bounds.end - 1
                    )));
                }
            }
            _ => *behind = Some(Behind { term, since: now }),
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What a leader says of a stream; nobody leads where `leader` is empty.
    fn info(leader: &str, since: &str, first: u64, last: u64) -> Info {
        serde_json::from_value(json!({
            "config": {
                "name": "log", "retention": "limits", "storage": "file", "discard": "new", "num_replicas": 3
            },
            "created": "2026-01-01T00:00:00Z",
            "state": {
                "messages": 0, "bytes": 0, "first_seq": first, "last_seq": last,
                "first_ts": "2026-01-01T00:00:00Z", "last_ts": "2026-01-01T00:00:00Z", "consumer_count": 0
            },
            "cluster": { "leader": leader, "leader_since": since },
        }))
        .expect("a stream")
    }

    const FIRST: &str = "2026-01-01T00:00:00Z";
    const SECOND: &str = "2026-01-01T00:01:00Z";

    #[test]
    fn a_leader_may_show_less_for_a_while() {
        let known = Known::new();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(known.judge_at(&info("n1", FIRST, 3, 9), at(0)).unwrap(), 3..10);
        known.reaches(20);
        assert_eq!((known.first(), known.end()), (3, 20));
        let less = |leader, since, seconds| {
            known.judge_at(&info(leader, since, 3, 9), at(seconds)).map(|bounds| bounds.end).ok()
        };
        assert_eq!(less("n1", FIRST, 10), Some(10));
        assert_eq!(less("n1", FIRST, 14), Some(10));
        // Another leader, or the same one elected again: its time begins anew.
        assert_eq!(less("n2", SECOND, 16), Some(10));
        assert_eq!(less("n2", SECOND, 20), Some(10));
        assert_eq!(less("n2", FIRST, 22), Some(10));
        // Without a leader it is never damage.
        assert_eq!(less("", FIRST, 30), Some(10));
        assert_eq!(less("", FIRST, 60), Some(10));
        assert_eq!(less("n2", SECOND, 61), Some(10));
        // All is there again.
        assert!(known.judge_at(&info("n2", SECOND, 3, 19), at(62)).is_ok());
        assert_eq!(less("n2", SECOND, 70), Some(10));
        assert_eq!(less("n2", SECOND, 75), None);
    }

    #[test]
    fn positions_of_an_empty_stream_begin_at_one_or_where_it_was_trimmed() {
        let known = Known::new();
        assert_eq!(known.judge(&info("n1", FIRST, 0, 0)).unwrap(), 1..1);
        assert_eq!(known.judge(&info("n1", FIRST, 8, 7)).unwrap(), 8..8);
    }
}
