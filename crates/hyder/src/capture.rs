//! How a checkpoint gets a state and what the roller knows of it, without stopping either.
//!
//! The checkpointer asks; the roller answers after its next step, with the state that it has just published, which it
//! pins for the checkpointer.

use crate::checkpoint_file::Summary;
use crate::state::StateRef;
use chiliad_machine::{Latch, Machine};

/// A state, and what a checkpoint of it says besides rows.
pub type Captured<M> = (Summary, StateRef<M>);

enum Capture<M: Machine> {
    Idle,
    /// Wanted by the owner of this slot.
    Wanted(u32),
    Given(Captured<M>),
}

/// The place where one asks and the other answers.
pub struct Captures<M: Machine>(Latch<M, Capture<M>>);

impl<M: Machine> Captures<M> {
    pub fn new() -> Self {
        Self(Latch::new(Capture::Idle))
    }

    /// Asks for a state, to be pinned by this slot. One asks at a time.
    pub fn ask(&self, slot: u32) {
        *self.0.lock() = Capture::Wanted(slot);
    }

    /// Whether somebody asks.
    pub fn is_wanted(&self) -> bool {
        matches!(*self.0.lock(), Capture::Wanted(_))
    }

    /// Answers, if somebody asks.
    pub fn answer(&self, capture: impl FnOnce(u32) -> Captured<M>) {
        let mut place = self.0.lock();
        if let Capture::Wanted(slot) = *place {
            *place = Capture::Given(capture(slot));
        }
    }

    /// Takes the answer, once it is there.
    pub fn take(&self) -> Option<Captured<M>> {
        let mut place = self.0.lock();
        match core::mem::replace(&mut *place, Capture::Idle) {
            Capture::Given(captured) => Some(captured),
            asked => {
                *place = asked;
                None
            }
        }
    }

    /// Nobody waits for an answer any more; takes one that has come meanwhile.
    pub fn give_up(&self) -> Option<Captured<M>> {
        match core::mem::replace(&mut *self.0.lock(), Capture::Idle) {
            Capture::Given(captured) => Some(captured),
            _ => None,
        }
    }
}
