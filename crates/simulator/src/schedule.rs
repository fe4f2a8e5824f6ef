//! Who runs next.
//!
//! - The choice depends on the seed, on event numbers and on who can run, on nothing else.
//! - A core that pauses or yields hands over to another whenever one can run, so that a spin never
//!   keeps the core that it waits for from running.
//! - Under few preemptions a core that ran very long without either is put behind the others too.

use crate::config::Schedule;
use crate::random::{Generator, Stream};

/// Events that a core may run on end under few preemptions.
const STRETCH_MAX: u64 = 20_000;

/// Marks a core that cannot run.
const NOWHERE: usize = usize::MAX;

enum Policy {
    Random {
        mean: u64,
    },
    FewPreemptions {
        /// One per core, all different; the highest runs.
        priorities: Vec<i64>,
        /// Below every priority given so far.
        lowest: i64,
        /// Events of the preemptions to come, the next one last.
        preemptions: Vec<u64>,
    },
}

/// The cores that can run and the policy that chooses among them.
pub(crate) struct Scheduler {
    random: Generator,
    policy: Policy,
    /// The cores that can run, in no order that matters but the same in every run.
    runnable: Vec<u32>,
    /// Where each core is in `runnable`.
    position: Vec<usize>,
    /// The event at which to choose again.
    switch_at: u64,
    /// The event at which the running core took over.
    since: u64,
}

impl Scheduler {
    pub(crate) fn new(seed: u64, schedule: Schedule) -> Self {
        let mut random = Generator::new(seed, Stream::Schedule);
        let policy = match schedule {
            Schedule::Random => Policy::Random { mean: random.one_of(&[1, 2, 4, 16, 64, 256]) },
            Schedule::FewPreemptions { preemptions, horizon } => {
                let mut preemptions: Vec<u64> =
                    (0..preemptions).map(|_| 1 + random.below(horizon.max(1))).collect();
                preemptions.sort_unstable_by(|a, b| b.cmp(a));
                Policy::FewPreemptions { priorities: Vec::new(), lowest: 0, preemptions }
            }
        };
        Self { random, policy, runnable: Vec::new(), position: Vec::new(), switch_at: 0, since: 0 }
    }

    /// Adds the next core, which cannot run yet.
    pub(crate) fn add_core(&mut self) {
        self.position.push(NOWHERE);
        if let Policy::FewPreemptions { priorities, .. } = &mut self.policy {
            // Distinct, positive, in random order: the low bits break ties.
            let core = i64::try_from(priorities.len()).unwrap_or(i64::MAX);
            let high = i64::try_from(self.random.below(1 << 30)).unwrap_or(0);
            priorities.push((high << 20) + core + 1);
        }
    }

    /// The event at which [`Scheduler::preempt`] is due.
    pub(crate) fn switch_at(&self) -> u64 {
        self.switch_at
    }

    /// `core` can run.
    pub(crate) fn admit(&mut self, core: u32, running: u32) {
        if self.position[core as usize] != NOWHERE {
            return;
        }
        self.position[core as usize] = self.runnable.len();
        self.runnable.push(core);
        if let Policy::FewPreemptions { priorities, .. } = &self.policy
            && priorities[core as usize] > priorities[running as usize]
        {
            self.switch_at = 0;
        }
    }

    /// `core` cannot run any more.
    pub(crate) fn remove(&mut self, core: u32) {
        let position = std::mem::replace(&mut self.position[core as usize], NOWHERE);
        if position == NOWHERE {
            return;
        }
        self.runnable.swap_remove(position);
        if let Some(&moved) = self.runnable.get(position) {
            self.position[moved as usize] = position;
        }
    }

    /// Chooses again, if that is due: the running core may stay.
    pub(crate) fn preempt(&mut self, event: u64, running: u32) -> u32 {
        if event < self.switch_at {
            return running;
        }
        if let Policy::FewPreemptions { priorities, lowest, preemptions } = &mut self.policy {
            let mut behind = event >= self.since + STRETCH_MAX;
            while preemptions.last().is_some_and(|&at| at <= event) {
                preemptions.pop();
                behind = true;
            }
            if behind {
                *lowest -= 1;
                priorities[running as usize] = *lowest;
            }
            let since = self.since;
            let chosen = self.choose(event, None).unwrap_or(running);
            if chosen == running && !behind {
                self.since = since;
                self.switch_at = self.switch_at.min(since + STRETCH_MAX);
            }
            return chosen;
        }
        self.choose(event, Some(running)).unwrap_or(running)
    }

    /// The running core has nothing to do at the moment: whoever runs instead, or itself.
    pub(crate) fn hand_over(&mut self, event: u64, running: u32) -> u32 {
        if let Policy::FewPreemptions { priorities, lowest, .. } = &mut self.policy {
            *lowest -= 1;
            priorities[running as usize] = *lowest;
        }
        self.choose(event, Some(running)).unwrap_or(running)
    }

    /// A core that can run, other than `but`, and when to choose the next time.
    pub(crate) fn choose(&mut self, event: u64, but: Option<u32>) -> Option<u32> {
        let chosen = match &self.policy {
            Policy::Random { .. } => {
                let without = but.map_or(NOWHERE, |core| self.position[core as usize]);
                let excluded = usize::from(without != NOWHERE);
                let choices = self.runnable.len() - excluded;
                if choices == 0 {
                    None
                } else {
                    let mut drawn = usize::try_from(self.random.below(choices as u64)).unwrap_or(0);
                    if drawn >= without {
                        drawn += 1;
                    }
                    Some(self.runnable[drawn])
                }
            }
            Policy::FewPreemptions { priorities, .. } => {
                self.runnable.iter().copied().max_by_key(|&core| priorities[core as usize])
            }
        };
        self.since = event;
        self.switch_at = match &self.policy {
            Policy::Random { mean } => event + self.random.gap(*mean),
            Policy::FewPreemptions { preemptions, .. } => {
                let stretch = event + STRETCH_MAX;
                preemptions.last().map_or(stretch, |&at| stretch.min(at.max(event + 1)))
            }
        };
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three(schedule: Schedule) -> Scheduler {
        let mut scheduler = Scheduler::new(5, schedule);
        for core in 0..3 {
            scheduler.add_core();
            scheduler.admit(core, 0);
        }
        scheduler
    }

    #[test]
    fn a_pause_hands_over_under_both_schedules() {
        for schedule in [Schedule::Random, Schedule::few_preemptions()] {
            let mut scheduler = three(schedule);
            let mut running = 0;
            let mut ran = [0; 3];
            for event in 0..300 {
                let next = scheduler.hand_over(event, running);
                assert_ne!(next, running);
                running = next;
                ran[running as usize] += 1;
            }
            assert!(ran.iter().all(|&turns| turns > 50), "{ran:?}");
        }
    }

    #[test]
    fn only_cores_that_can_run_are_chosen() {
        let mut scheduler = three(Schedule::Random);
        scheduler.remove(1);
        scheduler.remove(0);
        assert_eq!(scheduler.choose(1, None), Some(2));
        assert_eq!(scheduler.choose(1, Some(2)), None);
        scheduler.remove(2);
        assert_eq!(scheduler.choose(1, None), None);
    }
}
