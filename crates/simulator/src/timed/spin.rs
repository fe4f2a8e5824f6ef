//! A core that spins sleeps.
//!
//! Between two pauses a spin does the same again and again: it reads lines that its core holds. Once it has
//! gone round like that, nothing changes until one of these lines is taken away: the core *idles*. It then
//! sleeps, and resumes where the real spin would first have looked after that: at a whole number of rounds
//! from the last one. What was read in a round that did anything else (asked a home, wrote, looked at the
//! clock) says nothing about the next one, and the core really spins.
//!
//! With [`crate::Config::naps`] off an idle core really spins too, in the same cycles (to within a round
//! where a round reads several lines). To that end whatever an idle core does comes last among what happens
//! at its time, whether it slept until then or not: else it would depend on the order of events that only
//! one of the two has. A core whose time background work takes really spins: when its round is over is not known
//! beforehand.

/// Lines that a round may read.
const LINES: usize = 4;

/// A core's present round.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spin {
    /// The round began with a pause, and has only read lines that are here.
    pure: bool,
    /// It goes on like this until it loses a line.
    idle: bool,
    asleep: bool,
    count: u8,
    lines: [u64; LINES],
    /// When the round began.
    since: u64,
    /// Cycles of a round.
    round: u64,
}

impl Spin {
    /// The core has read a line that it holds.
    #[inline]
    pub(super) fn read(&mut self, line: u64) {
        if !self.pure || self.lines[..self.count as usize].contains(&line) {
            return;
        }
        if self.count as usize == LINES {
            self.act();
            return;
        }
        self.lines[self.count as usize] = line;
        self.count += 1;
    }

    /// The core has done something that may come out differently the next time.
    #[inline]
    pub(super) fn act(&mut self) {
        self.pure = false;
        self.idle = false;
    }

    /// Whether what the core does comes last at its time.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.idle
    }

    /// The core pauses at `time`, and does so for ever while nothing changes (`steady`), or not:
    /// whether it sleeps, where spins are slept through (`naps`).
    pub(super) fn pause(&mut self, time: u64, steady: bool, naps: bool) -> bool {
        self.idle = steady && self.pure && self.count > 0;
        self.asleep = self.idle && naps;
        if self.idle {
            self.round = (time - self.since).max(1);
        } else {
            self.count = 0;
        }
        self.pure = true;
        self.since = time;
        self.asleep
    }

    /// Whether the core sleeps until it loses this line.
    #[inline]
    pub(super) fn watches(&self, line: u64) -> bool {
        self.asleep && self.lines[..self.count as usize].contains(&line)
    }

    /// The core, which sleeps, lost a line at `time`: when it looks again. `None` if it wakes already.
    pub(super) fn rouse(&mut self, time: u64) -> Option<u64> {
        if !self.asleep {
            return None;
        }
        self.asleep = false;
        self.pure = false;
        self.count = 0;
        let rounds = time.saturating_sub(self.since).div_ceil(self.round);
        Some(self.since + rounds * self.round)
    }
}
