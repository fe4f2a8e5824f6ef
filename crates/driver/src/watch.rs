//! Whether anybody gets on: the longest time in which no client has committed.
//!
//! A run with a [`Plan::idle_max`](super::Plan::idle_max) ends early when nobody has committed for so long. Natively a thread
//! of its own looks. It wakes often, and so sees for how long the machine let it stand: that time counts against nobody.
//! In simulation clients say when they have committed, and the core that turns the epochs looks.

use super::Idle;
use super::signals::{Phase, Signals};
use chiliad_machine::{Machine, Native, Ticks};
use std::thread;
use std::time::Duration;

/// From one look to the next.
const BEAT: Duration = Duration::from_millis(2);

/// Looks that are further apart than this show that the machine stood still, or ran something else.
const LATE: Duration = Duration::from_millis(20);

/// One time without a commit after the other, and the machine's part in them.
struct Watch {
    limit: Ticks,
    /// Transactions committed before the one under way.
    committed: u64,
    since: Ticks,
    /// When it last looked.
    looked: Ticks,
    /// The time for which the machine stood still in the current interval.
    still: Ticks,
    idle: Idle,
}

impl Watch {
    fn new(limit: Duration, now: Ticks) -> Self {
        let limit = Native::ticks(limit);
        Self { limit, committed: 0, since: now, looked: now, still: 0, idle: Idle::default() }
    }

    /// So many have committed at `now`; whether anybody did not long ago.
    fn look(&mut self, now: Ticks, committed: u64) -> bool {
        let beat = now.saturating_sub(std::mem::replace(&mut self.looked, now));
        if beat > Native::ticks(LATE) {
            self.still += beat - Native::ticks(BEAT);
            self.idle.stood_still += beat - Native::ticks(BEAT);
        }
        let idle = now.saturating_sub(self.since).saturating_sub(self.still);
        self.idle.longest = self.idle.longest.max(idle);
        if committed != self.committed {
            (self.committed, self.since, self.still) = (committed, now, 0);
        } else if idle > self.limit {
            self.idle.exceeded = true;
        }
        !self.idle.exceeded
    }
}

/// Watches a native run until it ends, or ends it.
pub(super) fn watch(signals: &Signals, limit: Duration) -> Idle {
    while signals.phase() == Phase::Assemble {
        thread::sleep(BEAT);
    }
    let mut watch = Watch::new(limit, Native::now());
    while !signals.is_over() {
        thread::sleep(BEAT);
        if !watch.look(Native::now(), signals.committed()) {
            signals.set(Phase::Stop);
        }
    }
    watch.idle
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Ticks = 1_000_000_000;

    #[test]
    fn a_run_with_commits_now_and_then_goes_on() {
        let mut watch = Watch::new(Duration::from_secs(1), 0);
        for beat in 1..5_000 {
            assert!(watch.look(beat * SECOND / 1000, beat / 900));
        }
        assert_eq!(watch.idle.longest, 900 * SECOND / 1000);
        assert_eq!(watch.idle.stood_still, 0);
    }

    #[test]
    fn a_run_without_is_ended_and_not_for_a_machine_that_stood_still() {
        let mut watch = Watch::new(Duration::from_secs(1), 0);
        let mut now = 0;
        for _ in 0..4 {
            now += SECOND / 2;
            assert!(watch.look(now, 0), "nobody could run");
        }
        let begun = now;
        while watch.look(now, 0) {
            now += SECOND / 1000;
            assert!(now < begun + 2 * SECOND);
        }
        assert!(watch.idle.exceeded && watch.idle.longest > SECOND);
        assert!(watch.idle.stood_still > SECOND);
    }
}
