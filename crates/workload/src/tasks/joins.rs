//! Counters of parents: a task that needs what several have done begins when all of them have (Yan, 2015, 4.2.1).
//!
//! Each parent counts itself in a word of the transaction, and the last goes on with what needs all. Parents have one
//! timestamp: hardware then orders them as they come, and none is late. A parent that is taken back takes its count
//! with it, and those that counted after it, since they have read the word.

use super::Scratch;
use chiliad_machine::{Fault, Machine, Rig};
use core::cell::Cell;

/// Planted bugs of graphs, which campaigns of ordered tasks catch.
pub static FAULTS: &[&Fault] = &[&KEPT];

static KEPT: Fault = Fault {
    name: "swarm-join",
    step: "a count of parents is undone with the parent that counted",
    rig: Rig::Tasks,
    schemes: &["swarm"],
    workload: "tpcc",
    expected: &["other memory", "tasks lost", "consistency"],
    seeds: 200,
};

/// Counters, so many for each transaction, each in a line of its own.
pub(crate) struct Joins<M: Machine> {
    counters: Scratch<M>,
    /// Of the planted bug: on the host, where nothing is undone.
    kept: Vec<Cell<u64>>,
    of_each: usize,
}

impl<M: Machine> Joins<M> {
    pub(crate) fn new(transactions: usize, of_each: usize) -> Self {
        let kept = if M::fault(&KEPT) { transactions * of_each } else { 0 };
        let kept = vec![Cell::new(0); kept];
        Self { counters: Scratch::new(transactions, of_each), kept, of_each }
    }

    /// A parent has done its part: says whether it is the last of `parents`.
    pub(crate) fn is_last(&self, request: u64, counter: usize, parents: u64) -> bool {
        if M::fault(&KEPT) {
            let kept = &self.kept[request as usize * self.of_each + counter];
            kept.set(kept.get() + 1);
            return kept.get() == parents;
        }
        let arrived = self.counters.get(request, counter, 0) + 1;
        self.counters.set(request, counter, 0, arrived);
        arrived == parents
    }
}
