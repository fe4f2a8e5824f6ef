//! The workers of one core that can run, and the order of their turns.

use crate::random::{Generator, Stream};

/// The workers of a core that can run, in the order of their turns.
#[derive(Default)]
pub(crate) struct Round {
    workers: Vec<u32>,
    /// Where among them the turn is.
    turn: usize,
}

impl Round {
    /// The worker whose turn it is; `None` if all sleep.
    pub(crate) fn current(&self) -> Option<u32> {
        self.workers.get(self.turn).copied()
    }

    /// No worker can run.
    pub(crate) fn is_empty(&self) -> bool {
        self.workers.is_empty()
    }

    /// At most one worker can run.
    pub(crate) fn is_alone(&self) -> bool {
        self.workers.len() < 2
    }

    pub(crate) fn pass(&mut self) {
        self.turn = (self.turn + 1) % self.workers.len();
    }

    /// `worker` can run; its turn comes last. Whether it is the first that can.
    pub(crate) fn join(&mut self, worker: u32) -> bool {
        self.workers.push(worker);
        self.is_alone()
    }

    /// Nobody can run any more.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// `worker` cannot run any more; if it was its turn, it is the next one's.
    pub(crate) fn leave(&mut self, worker: u32) {
        let Some(at) = self.workers.iter().position(|&it| it == worker) else { return };
        self.workers.remove(at);
        self.turn -= usize::from(at < self.turn);
        if self.turn == self.workers.len() {
            self.turn = 0;
        }
    }
}

/// How often a worker finds its memory there and keeps its turn.
pub(crate) struct Luck {
    random: Generator,
    /// Times in eight.
    in_eight: u64,
}

impl Luck {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Generator::new(seed, Stream::Fibers);
        let in_eight = random.one_of(&[0, 0, 1, 4, 7]);
        Self { random, in_eight }
    }

    pub(crate) fn is_there(&mut self) -> bool {
        self.in_eight > 0 && self.random.below(8) < self.in_eight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_go_round_whoever_leaves() {
        let mut round = Round::default();
        assert!(round.join(1));
        assert!((2..=4).all(|worker| !round.join(worker)));
        round.pass();
        assert_eq!(round.current(), Some(2));
        round.leave(2);
        assert_eq!(round.current(), Some(3));
        round.leave(1);
        assert_eq!(round.current(), Some(3));
        assert!(!round.join(2));
        round.pass();
        round.pass();
        assert_eq!(round.current(), Some(2));
        round.leave(2);
        assert_eq!(round.current(), Some(3));
        round.leave(4);
        assert!(round.is_alone());
        round.leave(3);
        assert_eq!(round.current(), None);
    }
}
