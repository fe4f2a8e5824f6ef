//! Who spins sleeps.
//!
//! Between two pauses a spin does the same again and again: it reads lines that its core holds. Once it has
//! gone round like that, nothing changes until one of these lines is taken away. The core then sleeps, and
//! resumes where the real spin would first have looked after that: at a whole number of rounds from the last
//! one. What was read in a round that did anything else (asked a home, wrote, looked at the clock) says
//! nothing about the next one, and the core really spins.

/// Lines that a round may read.
const LINES: usize = 4;

/// A core's present round.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spin {
    /// The round began with a pause, and has only read lines that are here.
    pure: bool,
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
            self.pure = false;
            return;
        }
        self.lines[self.count as usize] = line;
        self.count += 1;
    }

    /// The core has done something that may come out differently the next time.
    #[inline]
    pub(super) fn act(&mut self) {
        self.pure = false;
    }

    /// The core pauses at `time`, and does so for ever while nothing changes (`steady`), or not:
    /// whether it sleeps.
    pub(super) fn pause(&mut self, time: u64, steady: bool) -> bool {
        let sleeps = steady && self.pure && self.count > 0;
        if sleeps {
            self.round = (time - self.since).max(1);
            self.asleep = true;
        } else {
            self.count = 0;
        }
        self.pure = true;
        self.since = time;
        sleeps
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
