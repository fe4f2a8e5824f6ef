//! The events of a cycle, drawn from the seed.

use chiliad_workload::random::{Chance, Random};
use std::time::Duration;

/// Something that is done to a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The process of servers of this number is killed.
    Kill(usize),
    /// It is stopped.
    Pause(usize),
    /// It goes on.
    Continue(usize),
    /// Those that keep the log are killed.
    KillLog(Whom),
    /// Those that were killed are started.
    StartLog,
    /// The one that leads the log is stopped.
    PauseLog,
    /// It goes on.
    ContinueLog,
}

/// Which of those that keep the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whom {
    /// The one that leads it.
    Leader,
    /// The one of this number, from 1.
    Number(usize),
    /// All.
    All,
}

/// Servers that keep a log.
pub const LOG_SERVERS: usize = 3;

/// One cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cycle {
    /// The process of servers that is killed so long after all were started, while it joins, if it takes so long.
    pub early: Option<(usize, Duration)>,
    /// Events in order, each with its time after the clients have started.
    pub events: Vec<(Duration, Event)>,
    /// How long the clients work.
    pub work: Duration,
    /// Checkpoints are made, and the log is trimmed.
    pub checkpoints: bool,
}

/// The longest after its start that a process is killed which may be joining, in milliseconds.
const EARLY_MS: u32 = 250;
/// The longest that clients work where the log is left alone, in milliseconds.
const WORK_MS: u32 = 400;
/// The same where something is done to those that keep it: an election takes seconds.
const WORK_LONG_MS: u32 = 4_000;

impl Cycle {
    /// Cycle number `number` of so many processes, with a log whose servers can be killed or not.
    #[must_use]
    pub fn draw(seed: u64, number: u64, processes: usize, can_kill_log: bool) -> Self {
        let mut random = Random::new(seed, number);
        let log = can_kill_log && random.chance(Chance::percent(60.0));
        let most = if log { WORK_LONG_MS } else { WORK_MS };
        let work = random.range(most / 4, most);
        let at = |random: &mut Random, share: u32| {
            Duration::from_millis(u64::from(random.range(1, (work * share / 100).max(1))))
        };
        let turn = number as usize % processes;
        let after = Duration::from_millis(u64::from(random.range(1, EARLY_MS)));
        let early = random.chance(Chance::percent(20.0)).then_some((turn, after));
        let mut events = Vec::new();
        match random.below(8) {
            // All are asked to end.
            0 => {}
            1 => events.extend((0..processes).map(|it| (at(&mut random, 100), Event::Kill(it)))),
            _ => events.push((at(&mut random, 100), Event::Kill(turn))),
        }
        let paused = (turn + 1) % processes;
        let pauses = paused != turn && random.chance(Chance::percent(30.0));
        if pauses {
            events.push((at(&mut random, 40), Event::Pause(paused)));
            events.push((Duration::from_millis(u64::from(work * 9 / 10)), Event::Continue(paused)));
        }
        if log {
            let start = at(&mut random, 30);
            // Elections take longer than some of these.
            let end = start + at(&mut random, 100);
            let kill = |whom| [(start, Event::KillLog(whom)), (end, Event::StartLog)];
            events.extend(match random.below(6) {
                0..=1 => kill(Whom::Leader),
                2 => kill(Whom::Number(1 + number as usize % LOG_SERVERS)),
                3 => kill(Whom::All),
                _ => [(start, Event::PauseLog), (end, Event::ContinueLog)],
            });
        }
        events.sort_by_key(|(at, _)| *at);
        let work = Duration::from_millis(work.into());
        // A server that is stopped meanwhile would find the log trimmed beyond what it has read.
        Self { early, events, work, checkpoints: !pauses && random.chance(Chance::percent(50.0)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_stopped_goes_on() {
        let mut seen = [false; 4];
        for number in 0..500 {
            let cycle = Cycle::draw(7, number, 3, true);
            assert_eq!(cycle, Cycle::draw(7, number, 3, true));
            let mut stopped = 0;
            for (_, event) in &cycle.events {
                stopped += match event {
                    Event::Pause(_) | Event::PauseLog | Event::KillLog(_) => 1,
                    Event::Continue(_) | Event::ContinueLog | Event::StartLog => -1,
                    Event::Kill(_) => 0,
                };
                seen[0] |= matches!(event, Event::KillLog(Whom::Leader));
                seen[1] |= matches!(event, Event::PauseLog);
                seen[2] |= matches!(event, Event::Pause(_));
                seen[3] |= *event == Event::Kill(2);
            }
            assert_eq!(stopped, 0, "{cycle:?}");
            let alone = Cycle::draw(7, number, 1, false);
            assert!(alone.events.iter().all(|(_, event)| *event == Event::Kill(0)), "{alone:?}");
        }
        assert_eq!(seen, [true; 4]);
    }
}
