//! Which core runs next.
//!
//! - The choice depends on the seed, on event numbers and on which cores can run, on nothing else.
//! - A core that pauses or yields hands over to another whenever one can run, so that a spin never
//!   keeps the core that it waits for from running.
//! - Under few preemptions a core that ran very long without either comes after the others too.
//! - Under the random schedule a core that is switched away from may stall: it stays away for up to
//!   thousands of events, as one that the host's system pre-empted would, and the others get far ahead
//!   of it. How often and how long is drawn once per run. Nobody stalls when nobody else can run, nor in a run
//!   that has lasted long: a core that waits in a queue for one after the other, each of which stalls as often as
//!   it waits, gets nowhere, and whether it would is what the limit of events is there to tell.

use crate::config::Schedule;
use crate::random::{Generator, Stream};
use std::collections::BTreeSet;

/// Events that a core may run on end under few preemptions.
const STRETCH_MAX: u64 = 20_000;

/// The event from which on nobody stalls. Runs of the usual length are over by then.
const STALLS_END: u64 = 2_000_000;

/// Marks a core that cannot run.
const NOWHERE: usize = usize::MAX;

enum Policy {
    Random {
        /// Events between two switches, on average.
        mean: u64,
        /// One in so many cores that are switched away from stalls; zero: none does.
        stall_one_in: u64,
        /// Events for which it stalls, on average.
        stall_mean: u64,
        /// Which cores stall, and until when.
        stalled: BTreeSet<(u64, u32)>,
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
            Schedule::Random => Policy::Random {
                mean: random.one_of(&[1, 2, 4, 16, 64, 256]),
                stall_one_in: random.one_of(&[0, 0, 16, 64, 256]),
                stall_mean: random.one_of(&[64, 512, 4096]),
                stalled: BTreeSet::new(),
            },
            Schedule::FewPreemptions { preemptions, events } => {
                // Nobody knows a run's length before: short ones get their share of preemptions too.
                let events = (events >> random.below(6)).max(1);
                let mut preemptions: Vec<u64> =
                    (0..preemptions).map(|_| 1 + random.below(events)).collect();
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
        self.enlist(core);
        if let Policy::FewPreemptions { priorities, .. } = &self.policy
            && priorities[core as usize] > priorities[running as usize]
        {
            self.switch_at = 0;
        }
    }

    fn enlist(&mut self, core: u32) {
        if self.position[core as usize] == NOWHERE {
            self.position[core as usize] = self.runnable.len();
            self.runnable.push(core);
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

    /// `core`, which does not run, cannot from now on, whether it stalls or not.
    pub(crate) fn withdraw(&mut self, core: u32) {
        self.remove(core);
        if let Policy::Random { stalled, .. } = &mut self.policy {
            stalled.retain(|&(_, it)| it != core);
        }
    }

    /// The running core, which has been removed, goes to sleep. Under few preemptions it comes after
    /// the others now and then, lest those that wake each other are all that runs.
    pub(crate) fn sleep(&mut self, core: u32) {
        if let Policy::FewPreemptions { priorities, lowest, .. } = &mut self.policy
            && self.random.below(2) == 0
        {
            *lowest -= 1;
            priorities[core as usize] = *lowest;
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
        self.stall(event, running);
        self.choose(event, Some(running)).unwrap_or(running)
    }

    /// The running core has nothing to do at the moment: the core that runs instead, or itself.
    pub(crate) fn hand_on(&mut self, event: u64, running: u32) -> u32 {
        if let Policy::FewPreemptions { priorities, lowest, .. } = &mut self.policy {
            *lowest -= 1;
            priorities[running as usize] = *lowest;
        }
        self.choose(event, Some(running)).unwrap_or(running)
    }

    /// Lets the running core stall, if there is another to run and the dice say so.
    fn stall(&mut self, event: u64, running: u32) {
        let Policy::Random { stall_one_in, stall_mean, stalled, .. } = &mut self.policy else {
            return;
        };
        if *stall_one_in == 0 || event >= STALLS_END || self.runnable.len() < 2 {
            return;
        }
        if self.random.below(*stall_one_in) != 0 {
            return;
        }
        stalled.insert((event + self.random.gap(*stall_mean), running));
        self.remove(running);
    }

    /// Ends the stalls that are over, and the first in any case if nobody but `but` can run.
    fn end_stalls(&mut self, event: u64, but: Option<u32>) {
        while let Policy::Random { stalled, .. } = &mut self.policy
            && let Some(&(until, core)) = stalled.first()
        {
            let alone = self.runnable.iter().all(|&other| Some(other) == but);
            if until > event && !alone {
                return;
            }
            stalled.remove(&(until, core));
            self.enlist(core);
        }
    }

    /// A core that can run, other than `but`, and when to choose the next time.
    pub(crate) fn choose(&mut self, event: u64, but: Option<u32>) -> Option<u32> {
        self.end_stalls(event, but);
        let chosen = match &self.policy {
            Policy::Random { .. } => {
                let without = but.map_or(NOWHERE, |core| self.position[core as usize]);
                let choices = self.runnable.len() - usize::from(without != NOWHERE);
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
            Policy::Random { mean, .. } => event + self.random.gap(*mean),
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
                let next = scheduler.hand_on(event, running);
                assert_ne!(next, running);
                running = next;
                ran[running as usize] += 1;
            }
            assert!(ran.iter().all(|&turns| turns > 50), "{ran:?}");
        }
    }

    #[test]
    fn a_stalled_core_stays_away_and_comes_back() {
        let mut longest = 0;
        for seed in 0..50 {
            let mut scheduler = Scheduler::new(seed, Schedule::Random);
            for core in 0..3 {
                scheduler.add_core();
                scheduler.admit(core, 0);
            }
            let (mut running, mut last) = (0, [0; 3]);
            for event in 0..100_000 {
                running = scheduler.preempt(event, running);
                assert!(scheduler.position[running as usize] != NOWHERE);
                longest = longest.max(event - last[running as usize]);
                last[running as usize] = event;
            }
            assert!(last.iter().all(|&event| event > 30_000), "{last:?}");
        }
        assert!(longest > 10_000, "{longest}");
    }

    #[test]
    fn nobody_stalls_for_ever() {
        for seed in 0..50 {
            let mut scheduler = Scheduler::new(seed, Schedule::Random);
            for core in 0..3 {
                scheduler.add_core();
                scheduler.admit(core, 0);
            }
            let (mut running, mut last) = (0, [STALLS_END; 3]);
            for event in STALLS_END..STALLS_END + 50_000 {
                running = scheduler.preempt(event, running);
                assert!(event - last[running as usize] < 10_000, "seed {seed}, event {event}");
                last[running as usize] = event;
            }
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
