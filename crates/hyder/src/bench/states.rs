//! The trees after the last intentions, which later intentions have read.

use crate::node::Tree;
use chiliad_machine::Machine;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The tree after an intention.
pub struct State<M: Machine> {
    pub label: u64,
    pub tree: Tree<M>,
}

/// The trees that are kept.
struct Kept<M: Machine> {
    /// The newest last; at least one.
    trees: VecDeque<Tree<M>>,
    /// The label of the first of them.
    first: u64,
    /// There will be no more.
    is_over: bool,
}

/// The trees after the last intentions, by label.
pub struct States<M: Machine> {
    kept: Mutex<Kept<M>>,
    /// Tells that there is a newer one, or will be none.
    newer: Condvar,
}

impl<M: Machine> States<M> {
    /// Those that begin with the rows before all intentions.
    pub fn new(tree: Tree<M>) -> Self {
        let kept = Kept { trees: VecDeque::from([tree]), first: 0, is_over: false };
        Self { kept: Mutex::new(kept), newer: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Kept<M>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The states after the next intentions.
    pub fn publish(&self, trees: impl IntoIterator<Item = Tree<M>>) {
        self.lock().trees.extend(trees);
        self.newer.notify_all();
    }

    /// There will be no more.
    pub fn close(&self) {
        self.lock().is_over = true;
        self.newer.notify_all();
    }

    /// Waits for the state `label`, and returns the states `labels`: the newest for one that is not there yet. `None`
    /// where the state will not be there.
    pub fn get(&self, label: u64, labels: impl Iterator<Item = u64>) -> Option<Vec<State<M>>> {
        let mut kept = self.lock();
        while kept.newest() < label {
            if kept.is_over {
                return None;
            }
            kept = self.newer.wait(kept).unwrap_or_else(PoisonError::into_inner);
        }
        let state = |label: u64| {
            let label = label.min(kept.newest());
            State { label, tree: kept.trees[(label - kept.first) as usize] }
        };
        Some(labels.map(state).collect())
    }

    /// Forgets those before `label`; returns the label of the first that is kept.
    pub fn forget(&self, label: u64) -> u64 {
        let mut kept = self.lock();
        let forgotten = label.saturating_sub(kept.first);
        kept.trees.drain(..forgotten as usize);
        kept.first += forgotten;
        kept.first
    }
}

impl<M: Machine> Kept<M> {
    fn newest(&self) -> u64 {
        self.first + self.trees.len() as u64 - 1
    }
}
