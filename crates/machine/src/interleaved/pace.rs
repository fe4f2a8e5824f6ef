//! Whether it pays that members take turns within their transactions.
//!
//! It does where memory is waited for. Where what is looked at lies in the cache it costs a little, and
//! where siblings are in each other's way, a lot: each then finds changed what it has read. A crew
//! cannot know beforehand, so it tries: after each *stretch* of the way that it goes it measures the
//! time per transaction both ways, one short trial each, and goes the better one; stretches grow while
//! that stays the same one.
//!
//! Going *one by one*, a member keeps its turn for a number of transactions, and hands on between two:
//! after the answer to one request and before the next is taken up, so that nobody waits meanwhile.
//!
//! A trial that the system has interrupted says nothing, so of the last few the shortest counts.

use crate::{Machine, Native, Ticks};

/// Transactions of a trial.
const TRIAL: u32 = 512;
/// The shortest and the longest stretch, in trials.
const STRETCH_MIN: u32 = 8;
const STRETCH_MAX: u32 = 512;
/// Trials of a way that are remembered.
const REMEMBERED: usize = 3;
/// Transactions of one member in a row, going one by one.
const ROW: u32 = 64;
/// How much better the other way must be to be gone.
const MARGIN: f64 = 0.95;

/// A way to go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// Turns within transactions.
    Interleaved = 0,
    /// Turns between transactions.
    OneByOne = 1,
}

impl Way {
    fn other(self) -> Self {
        match self {
            Self::Interleaved => Self::OneByOne,
            Self::OneByOne => Self::Interleaved,
        }
    }
}

/// What is under way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Stretch,
    /// Of the way of the stretch.
    FirstTrial,
    /// Of the other.
    SecondTrial,
}

/// What a crew knows of both ways.
pub(super) struct Pace {
    way: Way,
    stage: Stage,
    /// Transactions until it ends.
    left: u32,
    begun: Ticks,
    /// Time per trial, by way, newest first; without end where there is none yet.
    trials: [[Ticks; REMEMBERED]; 2],
    /// The length of the next stretch, in trials.
    stretch: u32,
    /// Transactions until the turn ends, going one by one.
    row: u32,
    /// Turns that end with the transaction in hand: others are in the middle of one.
    short: usize,
}

impl Pace {
    /// Nothing is known.
    pub(super) fn new() -> Self {
        Self {
            way: Way::Interleaved,
            stage: Stage::Stretch,
            left: TRIAL,
            begun: 0,
            trials: [[Ticks::MAX; REMEMBERED]; 2],
            stretch: STRETCH_MIN,
            row: ROW,
            short: 0,
        }
    }

    /// The way that the crew goes.
    pub(super) fn way(&self) -> Way {
        self.way
    }

    /// One of `members` members has finished a transaction; whether the crew goes another way from here
    /// on.
    #[inline]
    pub(super) fn finished(&mut self, members: usize) -> bool {
        self.left -= 1;
        let before = self.way;
        if self.left == 0 {
            self.go_on(Native::now(), members);
        }
        self.way != before
    }

    /// Whether the turn of the member that runs ends, now that it has nothing in hand.
    #[inline]
    pub(super) fn turn_ends(&mut self) -> bool {
        if self.way == Way::Interleaved {
            return false;
        }
        if self.short > 0 {
            self.short -= 1;
            return true;
        }
        self.row = self.row.checked_sub(1).unwrap_or(ROW);
        self.row == 0
    }

    /// What was under way has ended at `now`.
    #[cold]
    fn go_on(&mut self, now: Ticks, members: usize) {
        let took = now.saturating_sub(self.begun);
        (self.left, self.begun) = (TRIAL, now);
        match self.stage {
            Stage::Stretch => self.stage = Stage::FirstTrial,
            Stage::FirstTrial => {
                self.remember(took);
                self.stage = Stage::SecondTrial;
                self.turn_to(self.way.other(), members);
            }
            Stage::SecondTrial => {
                self.remember(took);
                let incumbent = self.way.other();
                if self.shortest(self.way) < MARGIN * self.shortest(incumbent) {
                    self.stretch = STRETCH_MIN;
                } else {
                    self.stretch = (self.stretch * 2).min(STRETCH_MAX);
                    self.turn_to(incumbent, members);
                }
                self.stage = Stage::Stretch;
                self.left = TRIAL * self.stretch;
            }
        }
    }

    fn remember(&mut self, took: Ticks) {
        let trials = &mut self.trials[self.way as usize];
        trials.rotate_right(1);
        trials[0] = took;
    }

    fn shortest(&self, way: Way) -> f64 {
        self.trials[way as usize].iter().copied().min().unwrap_or(Ticks::MAX) as f64
    }

    fn turn_to(&mut self, way: Way, members: usize) {
        self.way = way;
        // Whoever is in the middle of a transaction ends it first.
        (self.row, self.short) = (ROW, if way == Way::OneByOne { members } else { 0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crew of eight on a clock of its own.
    struct Run {
        pace: Pace,
        now: Ticks,
        /// Transactions of each way so far.
        of: [u64; 2],
    }

    impl Run {
        fn new() -> Self {
            Self { pace: Pace::new(), now: 0, of: [0; 2] }
        }

        /// Goes on for some transactions, which take so long each, by way.
        fn go(&mut self, transactions: u64, ticks: impl Fn(u64, Way) -> Ticks) {
            self.of = [0; 2];
            for turn in 0..transactions {
                self.now += ticks(turn, self.pace.way);
                self.of[self.pace.way as usize] += 1;
                self.pace.left -= 1;
                if self.pace.left == 0 {
                    self.pace.go_on(self.now, 8);
                }
            }
        }

        fn share(&self, way: Way) -> f64 {
            self.of[way as usize] as f64 / self.of.iter().sum::<u64>() as f64
        }
    }

    #[test]
    fn the_better_way_is_gone_but_for_a_few_trials() {
        for (ticks, better) in [
            ([100, 250], Way::Interleaved),
            ([250, 100], Way::OneByOne),
            ([110, 100], Way::OneByOne),
        ] {
            let mut run = Run::new();
            run.go(1_000_000, |_, way| ticks[way as usize]);
            assert!(run.share(better) > 0.97, "{ticks:?}: {:?}", run.of);
        }
    }

    #[test]
    fn a_change_of_the_load_is_noticed() {
        let mut run = Run::new();
        for (ticks, better) in [
            ([100, 200], Way::Interleaved),
            ([200, 100], Way::OneByOne),
            ([100, 200], Way::Interleaved),
        ] {
            run.go(2_000_000, |_, way| ticks[way as usize]);
            run.go(1_000_000, |_, way| ticks[way as usize]);
            assert!(run.share(better) > 0.95, "{ticks:?}: {:?}", run.of);
        }
    }

    #[test]
    fn interruptions_mislead_nobody() {
        let mut run = Run::new();
        // Every third trial or so loses a time slice.
        run.go(3_000_000, |turn, way| {
            let interrupted = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 < (1 << 32) / 1500;
            [100, 130][way as usize] + if interrupted { 400_000 } else { 0 }
        });
        assert!(run.share(Way::Interleaved) > 0.8, "{:?}", run.of);
    }

    #[test]
    fn turns_are_short_until_nobody_is_in_the_middle() {
        let mut pace = Pace::new();
        while !pace.finished(3) {
            assert!(!pace.turn_ends());
        }
        let ends: Vec<bool> = (0..5).map(|_| pace.turn_ends()).collect();
        assert_eq!(ends, [true, true, true, false, false]);
    }
}
