//! Requests that may wait: a client makes one up, and whoever runs those of its partition runs it later, once.
//!
//! TPC-C defers its deliveries (clause 2.7): the terminal's request is queued, and a record of the result is
//! written when it has been carried out.

/// A request that may wait, as the words that another client needs to run it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deferred {
    /// Requests of one partition conflict with each other: they had better run one after another.
    pub partition: u32,
    /// What the request asks for, for [`Workload::resume`](crate::Workload::resume).
    pub words: [u64; WORDS],
}

/// Words of a request that may wait.
pub const WORDS: usize = 2;

/// The parts of a deferred request that its result tells apart, at most.
const PARTS_MAX: usize = 10;

/// The result of a deferred request: for each part of it the number of what it acted on, or nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    acted_on: [u32; PARTS_MAX],
    parts: u8,
}

impl Outcome {
    /// Adds the next part: the number of what it acted on, above zero; `None` where there was nothing.
    ///
    /// # Panics
    /// When there are more than ten parts.
    pub fn push(&mut self, acted_on: Option<u32>) {
        self.acted_on[usize::from(self.parts)] = acted_on.unwrap_or(0);
        self.parts += 1;
    }

    /// The parts in order: the number of what each acted on, or nothing.
    pub fn parts(&self) -> impl Iterator<Item = Option<u32>> + '_ {
        let parts = &self.acted_on[..usize::from(self.parts)];
        parts.iter().map(|&number| (number > 0).then_some(number))
    }

    /// How many parts acted on something, and how many found nothing.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        let done = self.parts().flatten().count() as u64;
        (done, u64::from(self.parts) - done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back_in_order() {
        let mut outcome = Outcome::default();
        assert_eq!(outcome.counts(), (0, 0));
        for part in [Some(7), None, Some(u32::MAX)] {
            outcome.push(part);
        }
        assert_eq!(outcome.parts().collect::<Vec<_>>(), [Some(7), None, Some(u32::MAX)]);
        assert_eq!(outcome.counts(), (2, 1));
    }
}
