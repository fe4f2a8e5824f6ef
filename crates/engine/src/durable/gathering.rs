//! Waiting for those who will commit again: so that one sync serves all of them.
//!
//! Two clients that wait for the disk easily take turns: each commits while the other one's epoch is being written, and each
//! sync serves one of them. So a writer that has made an epoch durable expects those that it has just answered to come back,
//! and does not end the next epoch for who waits already before they have, or half the time of a sync has passed. Where they
//! have not come so soon it expects them less often: clients of long transactions have nothing to meet for.

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
    /// Those for whom it waits are the last so many of the awaited; whether it has waited for them.
    expected: u64,
    waited: bool,
    /// How often it has waited in vain since it last did not, up to [`VAIN_MAX`], and epochs for which it does not wait now.
    vain: u32,
    passed_over: u32,
}

/// So often in vain, it waits once in `2^VAIN_MAX` epochs.
const VAIN_MAX: u32 = 6;

impl Gathering {
    /// Whether to wait for more before an epoch is ended, of which `calls` have hurried so far.
    pub fn goes_on(&mut self, calls: u64, now: u64) -> bool {
        let waits = calls < self.awaited && now < self.until;
        self.waited |= waits;
        waits
    }

    /// An epoch is ended for those that have hurried. Called again where a commit window is still open.
    pub fn ends(&mut self, calls: u64, now: u64) {
        debug_assert!(calls >= self.answered, "a count of calls never falls");
        if self.batch == 0 {
            self.ended = now;
        }
        self.learn(calls);
        self.batch += calls - self.answered;
        self.answered = calls;
    }

    /// An epoch is durable: its waiters will be woken. If it was ended for them, they are expected again.
    pub fn claims(&mut self, calls: u64, now: u64) {
        debug_assert!(now >= self.ended, "an epoch is durable after it has ended");
        let batch = core::mem::take(&mut self.batch);
        self.awaited = calls + batch;
        (self.expected, self.until) = (batch, 0);
        if batch > 0 && self.passed_over > 0 {
            self.passed_over -= 1;
        } else if batch > 0 {
            self.until = now + (now - self.ended) / 2;
        }
    }

    /// An epoch is ended: where it has waited, whether most of those that were expected have come.
    fn learn(&mut self, calls: u64) {
        if !core::mem::take(&mut self.waited) {
            return;
        }
        let missing = self.awaited.saturating_sub(calls);
        debug_assert!(missing <= self.expected, "no more than were expected");
        if missing * 2 < self.expected {
            self.vain = 0;
        } else {
            self.vain = VAIN_MAX.min(self.vain + 1);
            self.passed_over = (1 << self.vain) - 1;
        }
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

    /// Rounds of an epoch for four calls, after each of which `soon` calls come at once and the others while the next epoch is
    /// being written. In how many of them it waits for half a sync of 100.
    fn waits_in_vain(it: &mut Gathering, rounds: core::ops::Range<u64>, soon: u64) -> usize {
        let in_vain = |round: &u64| {
            let (calls, now) = (round * 4, round * 1000);
            it.ends(calls + soon, now);
            it.claims(calls + 4, now + 100);
            it.goes_on(calls + 4 + soon, now + 149)
        };
        rounds.filter(in_vain).count()
    }

    #[test]
    fn who_does_not_come_back_is_expected_less_often() {
        let mut it = Gathering::default();
        let waited = waits_in_vain(&mut it, 1..1000, 1);
        assert!((15..25).contains(&waited), "once in 64 epochs at last: {waited}");
        // They all come at once now. It waits when it has passed enough epochs over, and goes on to.
        let met = (1001..1200).filter(|round| {
            let (calls, now) = (round * 4, round * 1000);
            it.ends(calls, now);
            it.claims(calls, now + 100);
            it.goes_on(calls + 1, now + 101) && !it.goes_on(calls + 4, now + 105)
        });
        assert!(met.count() > 130, "it has learnt that they do");
    }

    #[test]
    fn most_of_them_are_enough() {
        let mut it = Gathering::default();
        let waited = waits_in_vain(&mut it, 1..50, 3);
        assert!(waited >= 48, "it waits for the last one, too, but for the start: {waited}");
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
