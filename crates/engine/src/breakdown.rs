//! Where a sampled transaction spends its time (Yu, 2015, 3.2): six parts.
//!
//! One transaction in a while is followed with a stopwatch, chosen before it begins and followed
//! through its retries; all others pay one branch per switch.

use chiliad_api::Part;
use chiliad_machine::Machine;
use core::marker::PhantomData;

/// The clock of one sampled transaction.
pub struct Clockwork<M: Machine> {
    on: bool,
    part: Part,
    since: u64,
    /// This attempt.
    attempt: [u64; Part::ALL.len()],
    /// The transaction so far, refused attempts folded into [`Part::Abort`].
    total: [u64; Part::ALL.len()],
    machine: PhantomData<M>,
}

impl<M: Machine> Clockwork<M> {
    pub fn new() -> Self {
        let zero = [0; Part::ALL.len()];
        let (attempt, total) = (zero, zero);
        Self { on: false, part: Part::Useful, since: 0, attempt, total, machine: PhantomData }
    }

    /// Follows the next transaction.
    pub fn arm(&mut self) {
        *self = Self::new();
        self.on = true;
    }

    /// An attempt begins; the time since the last one was spent waiting.
    #[inline]
    pub fn begin(&mut self) {
        if self.on {
            self.begin_attempt();
        }
    }

    #[cold]
    fn begin_attempt(&mut self) {
        debug_assert!(self.on, "only a sampled transaction is booked");
        let now = M::stopwatch();
        if self.since != 0 {
            self.total[Part::Wait as usize] += now.saturating_sub(self.since);
        }
        self.since = now;
        self.part = Part::Useful;
        self.attempt = [0; Part::ALL.len()];
    }

    /// Whether a transaction is followed.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// From here on the time belongs to `part`. Returns the previous part, which means nothing where no transaction
    /// is followed.
    #[inline]
    pub fn switch(&mut self, part: Part) -> Part {
        if self.on { self.book(part) } else { Part::Useful }
    }

    /// Books the time since the last switch.
    #[cold]
    fn book(&mut self, part: Part) -> Part {
        debug_assert!(self.on, "only a sampled transaction is booked");
        let now = M::stopwatch();
        self.attempt[self.part as usize] += now.saturating_sub(self.since);
        self.since = now;
        core::mem::replace(&mut self.part, part)
    }

    /// The attempt was refused: all its time was for nothing.
    #[inline]
    pub fn abort(&mut self) {
        if self.on {
            self.book(Part::Wait);
            self.total[Part::Abort as usize] += self.attempt.iter().sum::<u64>();
            self.attempt = [0; Part::ALL.len()];
        }
    }

    /// Ends the sample.
    pub fn take(&mut self) -> [u64; Part::ALL.len()] {
        self.switch(Part::Useful);
        let mut sum = self.total;
        for (total, part) in sum.iter_mut().zip(self.attempt) {
            *total += part;
        }
        *self = Self::new();
        sum
    }
}
