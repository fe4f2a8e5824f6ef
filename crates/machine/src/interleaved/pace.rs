//! Whether it pays that members take turns within their transactions.
//!
//! It does where memory is waited for. Where what is looked at lies in the cache it costs a little, and
//! where siblings are in each other's way, a lot: each then finds changed what it has read. A crew
//! cannot know beforehand, so it tries: it measures the time per transaction both ways, goes the
//! better one, and tries the other again, ever more seldom while that keeps losing.
//!
//! Going *one by one*, a member keeps its turn for a number of transactions, and hands on between two.

use crate::{Machine, Native, Ticks};

/// Transactions of a trial.
const TRIAL: u32 = 512;
/// The least and the most trials' lengths between two trials of the way that lost.
const REST_MIN: u32 = 8;
const REST_MAX: u32 = 256;
/// Transactions of one member in a row, going one by one.
const ROW: u32 = 64;
/// What a new measurement weighs against what is known.
const WEIGHT: f64 = 0.25;
/// How much better the other way must be to be gone.
const MARGIN: f64 = 0.98;

/// A way to go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// Turns within transactions.
    Interleaved = 0,
    /// Turns between transactions.
    OneByOne = 1,
}

/// What a crew knows of both ways.
pub(super) struct Pace {
    way: Way,
    /// Time per transaction, by way; infinite until it was measured.
    cost: [f64; 2],
    /// Transactions until the next decision, of how many since `begun`.
    left: u32,
    of: u32,
    begun: Ticks,
    rest: u32,
    /// Transactions until the turn ends, going one by one.
    row: u32,
    /// Turns that end with the transaction in hand: others are in the middle of one.
    short: usize,
}

/// What a member does after a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Then {
    /// The crew goes another way from here on.
    pub(super) changed: bool,
    /// Its turn ends.
    pub(super) hands_on: bool,
}

impl Pace {
    /// Nothing is known.
    pub(super) fn new() -> Self {
        Self {
            way: Way::Interleaved,
            cost: [f64::INFINITY; 2],
            left: TRIAL,
            of: TRIAL,
            begun: Native::now(),
            rest: REST_MIN,
            row: 0,
            short: 0,
        }
    }

    /// The way that the crew goes.
    pub(super) fn way(&self) -> Way {
        self.way
    }

    /// A member of `members` has finished a transaction.
    #[inline]
    pub(super) fn finished(&mut self, members: usize) -> Then {
        self.left -= 1;
        let changed = self.left == 0 && self.decide(Native::now(), members);
        let hands_on = self.way == Way::OneByOne && self.turn_ends();
        Then { changed, hands_on }
    }

    fn turn_ends(&mut self) -> bool {
        if self.short > 0 {
            self.short -= 1;
            return true;
        }
        self.row = self.row.checked_sub(1).unwrap_or(ROW);
        self.row == 0
    }

    /// A stretch has ended at `now`: which way to go next, and for how long. Whether it is another one.
    #[cold]
    fn decide(&mut self, now: Ticks, members: usize) -> bool {
        let measured = now.saturating_sub(self.begun) as f64 / f64::from(self.of);
        let (way, other) = match self.way {
            Way::Interleaved => (Way::Interleaved, Way::OneByOne),
            Way::OneByOne => (Way::OneByOne, Way::Interleaved),
        };
        let known = &mut self.cost[way as usize];
        *known = if known.is_finite() { *known + WEIGHT * (measured - *known) } else { measured };
        let (own, others) = (self.cost[way as usize], self.cost[other as usize]);
        let was_trial = self.of == TRIAL;
        let better = others < own * MARGIN || others.is_infinite();
        // After a stretch of the way that is better so far comes a trial of the other.
        let next = if was_trial && !better { way } else { other };
        if was_trial {
            // A trial of the way that lost again makes the next one later.
            self.rest = if next == way { REST_MIN } else { (self.rest * 2).min(REST_MAX) };
        }
        let trial = !was_trial || others.is_infinite();
        self.of = if trial { TRIAL } else { TRIAL * self.rest };
        (self.left, self.begun) = (self.of, now);
        if next == way {
            return false;
        }
        self.way = next;
        // Whoever is in the middle of a transaction ends it first.
        (self.row, self.short) = (ROW, if next == Way::OneByOne { members } else { 0 });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of transactions that go each way when one takes so long.
    fn share_one_by_one(interleaved: u64, one_by_one: u64) -> f64 {
        let mut pace = Pace::new();
        let (mut now, mut of) = (pace.begun, [0_u64; 2]);
        for _ in 0..1_000_000 {
            now += if pace.way == Way::Interleaved { interleaved } else { one_by_one };
            of[pace.way as usize] += 1;
            pace.left -= 1;
            if pace.left == 0 {
                pace.decide(now, 8);
            }
        }
        of[1] as f64 / 1e6
    }

    #[test]
    fn the_better_way_is_gone_but_for_a_few_trials() {
        assert!(share_one_by_one(100, 250) < 0.02, "{}", share_one_by_one(100, 250));
        assert!(share_one_by_one(250, 100) > 0.98, "{}", share_one_by_one(250, 100));
        assert!(share_one_by_one(110, 100) > 0.98, "{}", share_one_by_one(110, 100));
    }

    #[test]
    fn a_change_of_the_load_is_noticed() {
        let mut pace = Pace::new();
        let mut now = pace.begun;
        for (interleaved, one_by_one, expected) in
            [(100, 200, Way::Interleaved), (200, 100, Way::OneByOne), (100, 200, Way::Interleaved)]
        {
            let mut last = [0_u32; 2];
            for turn in 0..2_000_000 {
                now += if pace.way == Way::Interleaved { interleaved } else { one_by_one };
                last[pace.way as usize] += u32::from(turn >= 1_000_000);
                pace.left -= 1;
                if pace.left == 0 {
                    pace.decide(now, 8);
                }
            }
            assert!(last[expected as usize] > 950_000, "{expected:?}: {last:?}");
        }
    }

    #[test]
    fn turns_are_short_until_nobody_is_in_the_middle() {
        let mut pace = Pace::new();
        while pace.way == Way::Interleaved {
            pace.finished(3);
        }
        // The one that turned the page has ended its own already.
        let hands: Vec<bool> = (0..4).map(|_| pace.finished(3).hands_on).collect();
        assert_eq!(hands, [true, true, false, false]);
    }
}
