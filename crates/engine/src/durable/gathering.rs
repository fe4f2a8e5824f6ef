//! Waiting for those who will commit again: so that one sync serves all of them.
//!
//! Two clients that wait for the disk easily take turns: each commits while the other one's epoch is being written, and each
//! sync serves one of them. So a writer that has made an epoch durable expects those that it has just answered to come back,
//! and does not end the next epoch for who waits already before they have, or half the time of a sync has passed.

/// Counts the calls of `Log::hurry` for one writer, and decides when it waits for more of them. Times are the machine's ticks.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    /// Calls that had hurried when it last ended an epoch, and when that was.
    answered: u64,
    ended: u64,
    /// Calls that are served by the epoch that it last ended, until they are.
    batch: u64,
    /// It waits for so many calls,
    awaited: u64,
    /// but not beyond this time.
    until: u64,
}

impl Gathering {
    /// Whether to wait for more before an epoch is ended, of which `calls` have hurried so far.
    pub fn goes_on(&self, calls: u64, now: u64) -> bool {
        calls < self.awaited && now < self.until
    }

    /// An epoch is ended for those that have hurried. Called again where a commit window is still open.
    pub fn ends(&mut self, calls: u64, now: u64) {
        debug_assert!(calls >= self.answered, "a count of calls never falls");
        if self.batch == 0 {
            self.ended = now;
        }
        self.batch += calls - self.answered;
        self.answered = calls;
    }

    /// An epoch is durable: its waiters will be woken. If it was ended for them, they are expected again.
    pub fn claims(&mut self, calls: u64, now: u64) {
        debug_assert!(now >= self.ended, "an epoch is durable after it has ended");
        let batch = core::mem::take(&mut self.batch);
        self.awaited = calls + batch;
        self.until = if batch == 0 { 0 } else { now + (now - self.ended) / 2 };
    }
}

#[cfg(test)]
mod tests {
    use super::Gathering;

    #[test]
    fn clients_that_took_turns_meet() {
        let mut it = Gathering::default();
        assert!(!it.goes_on(1, 5), "the first client does not wait");
        it.ends(1, 10);
        // The second one hurries meanwhile.
        it.claims(2, 110);
        assert!(it.goes_on(2, 111), "the first one may come back");
        assert!(!it.goes_on(3, 120), "it has");
        it.ends(3, 120);
        it.claims(3, 220);
        assert!(it.goes_on(4, 230), "both are expected");
        assert!(!it.goes_on(5, 240));
        assert!(!it.goes_on(4, 270), "for half a sync");
    }

    #[test]
    fn who_is_alone_does_not_wait() {
        let mut it = Gathering::default();
        for call in 1..5 {
            assert!(!it.goes_on(call, call * 100));
            it.ends(call, call * 100);
            it.claims(call, call * 100 + 50);
        }
    }

    #[test]
    fn an_open_window_changes_nothing() {
        let mut it = Gathering::default();
        it.ends(2, 10);
        it.ends(2, 20);
        it.ends(3, 30);
        it.claims(3, 110);
        assert!(it.goes_on(5, 159), "three are expected, for half of 100");
        assert!(!it.goes_on(6, 159) && !it.goes_on(5, 160));
    }

    #[test]
    fn an_epoch_that_ended_in_its_time_promises_nobody() {
        let mut it = Gathering::default();
        it.ends(3, 10);
        it.claims(3, 20);
        it.claims(4, 1_000);
        assert!(!it.goes_on(4, 1_001));
    }
}
