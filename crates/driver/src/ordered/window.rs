//! The part of a run of tasks that is measured, and what is known of every moment of a run: which transactions had
//! committed, which had begun, and the counts of tasks.

use super::RANGE;
use crate::simulated::ticks;
use crate::{Length, SimulatedPlan};
use chiliad_simulator::{Outcome, TaskCounts};
use std::ops::Range;

/// The measured part of a run.
pub(super) struct Window {
    /// In cycles.
    pub(super) begin: u64,
    pub(super) end: u64,
    /// The requests that committed in it.
    pub(super) requests: Range<usize>,
}

impl Window {
    /// The window of a run whose transactions committed at these times; `None` where it outlasts them.
    pub(super) fn of(plan: &SimulatedPlan, committed_at: &[u64]) -> Option<Self> {
        let begin = ticks(plan.plan.warmup, &plan.config);
        let from = committed_at.partition_point(|&time| time < begin);
        match plan.plan.length {
            Length::Time(time) => {
                let end = begin + ticks(time, &plan.config);
                let to = committed_at.partition_point(|&time| time < end);
                (to < committed_at.len()).then_some(Self { begin, end, requests: from..to })
            }
            Length::Transactions(count) => {
                let to = from + count as usize;
                let end = *committed_at.get(to.checked_sub(1)?)?;
                Some(Self { begin, end, requests: from..to })
            }
        }
    }

    /// A whole run of so many cycles, in which nothing is known to have committed.
    pub(super) fn all(cycles: u64) -> Self {
        Self { begin: 0, end: cycles, requests: 0..0 }
    }

    /// The counts of the window: those since the last update of the global virtual time before it, until the last one in it.
    pub(super) fn counts(&self, outcome: &Outcome) -> Option<TaskCounts> {
        let all = outcome.tasks?;
        if outcome.timings.is_none_or(|it| self.end >= it.cycles) && self.begin == 0 {
            return Some(all);
        }
        let at = |time: u64| {
            let updates = outcome.passed.partition_point(|it| it.cycle <= time);
            updates.checked_sub(1).map_or(TaskCounts::default(), |last| outcome.passed[last].counts)
        };
        Some(at(self.end).since(&at(self.begin)))
    }
}

/// When each of so many transactions committed, in cycles: those that the global virtual time did not pass before
/// the end did at the end.
pub(super) fn commits(outcome: &Outcome, count: usize) -> Vec<u64> {
    let last = outcome.timings.map_or(0, |it| it.cycles);
    let mut passed = outcome.passed.iter().peekable();
    let time = |request: usize| {
        let end = (request as u64 + 1) * RANGE;
        while passed.next_if(|it| it.timestamp < end).is_some() {}
        passed.peek().map_or(last, |it| it.cycle)
    };
    (0..count).map(time).collect()
}

/// When the first execution of each of so many roots began, in cycles; those that began in no run, at its end.
pub(super) fn begins(outcome: &Outcome, count: usize) -> Vec<u64> {
    let last = outcome.timings.map_or(0, |it| it.cycles);
    let mut first = vec![last; count];
    for begun in &outcome.begun {
        if let Some(first) = first.get_mut((begun.timestamp / RANGE) as usize) {
            *first = begun.cycle.min(*first);
        }
    }
    first
}
