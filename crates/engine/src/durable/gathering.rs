//! Waiting for those who will commit again: so that one sync serves all of them.
//!
//! Two clients that wait for the disk easily take turns: each commits while the other one's epoch is being written, and each
//! sync serves one of them. So a writer that has made an epoch durable expects those that it has just answered to come back,
//! and does not end the next epoch for who waits already before they have, or half the time of a sync has passed.
//!
//! A sync costs the processors some 0.1 ms: fences, interrupts, wake-ups. While transactions are open (PostgreSQL asks the
//! same by `commit_siblings`), the processors have other work, and a writer that rests between two syncs saves some of them.

/// Open transactions from which on a writer rests between two syncs, and goes on resting.
pub(super) const OPEN_MIN: u64 = 4;
/// Of a second: how long it rests after a sync.
const RESTS_PER_SECOND: u64 = 1_500;
/// After so many syncs in a row that served at most one call each it does not rest any more: the open transactions may be
/// idle.
const LONE_MAX: u32 = 16;
/// After so many it rests again.
const LONE_END: u32 = 1_000;

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
    /// Until then it may rest.
    rest: u64,
    /// Syncs since one served several calls.
    lone: u32,
}

impl Gathering {
    /// Whether to wait for more before an epoch is ended, of which `calls` have hurried so far.
    pub fn goes_on(&self, calls: u64, now: u64) -> bool {
        calls < self.awaited && now < self.until
    }

    /// Until when the writer rests before it ends an epoch, while so many transactions are open; `None`: it does not rest.
    pub fn rests(&self, open: u64, now: u64) -> Option<u64> {
        (open >= OPEN_MIN && now < self.rest).then_some(self.rest)
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
    /// `second` has so many ticks.
    pub fn claims(&mut self, calls: u64, now: u64, second: u64) {
        debug_assert!(now >= self.ended, "an epoch is durable after it has ended");
        let batch = core::mem::take(&mut self.batch);
        self.awaited = calls + batch;
        self.until = if batch == 0 { 0 } else { now + (now - self.ended) / 2 };
        self.lone = if batch > 1 { 0 } else { (self.lone + 1) % LONE_END };
        let rests = batch > 0 && self.lone < LONE_MAX;
        self.rest = if rests { now + second / RESTS_PER_SECOND } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::{Gathering, OPEN_MIN, RESTS_PER_SECOND};

    const SECOND: u64 = 10 * RESTS_PER_SECOND;

    #[test]
    fn clients_that_took_turns_meet() {
        let mut it = Gathering::default();
        assert!(!it.goes_on(1, 5), "the first client does not wait");
        it.ends(1, 10);
        // The second one hurries meanwhile.
        it.claims(2, 110, SECOND);
        assert!(it.goes_on(2, 111), "the first one may come back");
        assert!(!it.goes_on(3, 120), "it has");
        it.ends(3, 120);
        it.claims(3, 220, SECOND);
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
            it.claims(call, call * 100 + 50, SECOND);
        }
    }

    #[test]
    fn an_open_window_changes_nothing() {
        let mut it = Gathering::default();
        it.ends(2, 10);
        it.ends(2, 20);
        it.ends(3, 30);
        it.claims(3, 110, SECOND);
        assert!(it.goes_on(5, 159), "three are expected, for half of 100");
        assert!(!it.goes_on(6, 159) && !it.goes_on(5, 160));
    }

    #[test]
    fn an_epoch_that_ended_in_its_time_promises_nobody() {
        let mut it = Gathering::default();
        it.ends(3, 10);
        it.claims(3, 20, SECOND);
        it.claims(4, 1_000, SECOND);
        assert!(!it.goes_on(4, 1_001));
    }

    #[test]
    fn between_syncs_it_rests_while_many_are_at_work() {
        let mut it = Gathering::default();
        it.ends(1, 10);
        it.claims(1, 110, SECOND);
        assert_eq!(it.rests(OPEN_MIN, 119), Some(120));
        assert_eq!(
            (it.rests(OPEN_MIN - 1, 119), it.rests(OPEN_MIN, 120)),
            (None, None),
            "few, or long enough"
        );
        it.claims(1, 1_110, SECOND);
        assert_eq!(it.rests(8, 1_111), None, "the epoch ended in its time");
    }

    #[test]
    fn for_transactions_that_lie_idle_it_does_not_rest_long() {
        let (mut it, mut rests) = (Gathering::default(), 0);
        for call in 1..=1_000 {
            it.ends(call, call * 100);
            it.claims(call, call * 100 + 50, SECOND);
            rests += usize::from(it.rests(9, call * 100 + 51).is_some());
        }
        assert_eq!(rests, 16, "fifteen at first, and the thousandth again");
        it.ends(1_002, 100_200);
        it.claims(1_002, 100_250, SECOND);
        assert!(it.rests(9, 100_251).is_some(), "several have come at once");
    }
}
