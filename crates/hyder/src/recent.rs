//! The last states, for intentions that are built on what they have read or on something newer.

use crate::node::Tree;
use crate::options::Certifier;
use chiliad_machine::{Latch, Machine};
use std::collections::VecDeque;
use std::sync::Arc;

/// Published states that are kept.
const STATES: usize = 64;

/// The trees of a state.
pub struct Kept<M: Machine> {
    pub label: u64,
    /// By table number; nothing where a table was dropped.
    roots: Vec<Option<Tree<M>>>,
}

impl<M: Machine> Kept<M> {
    /// The rows of a table; none, if it is not there.
    pub fn tree(&self, table: u32) -> Tree<M> {
        self.roots.get(table as usize).copied().flatten().unwrap_or(Tree::EMPTY)
    }
}

/// The last states, the newest last.
pub type States<M> = VecDeque<Arc<Kept<M>>>;

/// The last states that were published. What they lead to is not freed.
pub struct Recent<M: Machine>(Latch<M, States<M>>);

impl<M: Machine> Recent<M> {
    pub fn new() -> Self {
        Self(Latch::new(States::new()))
    }

    /// Takes note of a state that is published, if intentions are built on states at all.
    pub fn push(&self, certifier: Certifier, label: u64, roots: &[Option<Tree<M>>]) {
        if certifier == Certifier::Meld {
            let mut states = self.0.lock();
            states.push_back(Arc::new(Kept { label, roots: roots.to_vec() }));
            if states.len() > STATES {
                states.pop_front();
            }
        }
    }

    /// All of them.
    pub fn all(&self) -> States<M> {
        self.0.lock().clone()
    }

    /// The label of the oldest; `u64::MAX` where there is none.
    pub fn oldest(&self) -> u64 {
        self.0.lock().front().map_or(u64::MAX, |state| state.label)
    }
}
