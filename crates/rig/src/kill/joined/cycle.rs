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
    /// The one that leads the log is taken off the network.
    CutLog(Cut),
    /// It is put back.
    ReconnectLog,
}

/// The networks that one of those that keep the log is taken off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// All of them.
    Off,
    /// That of the others: clients still reach it, and it cannot know that it leads nobody.
    Isolated,
}

/// The harm that a script can do to the servers that keep the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogFaults {
    /// Nothing.
    None,
    /// They are killed, stopped and started.
    Kills,
    /// They are taken off the network, too.
    Cuts,
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
/// The same where one of them is taken off the network: the others notice only that it is silent.
const WORK_CUT_MS: u32 = 16_000;

impl Cycle {
    /// Cycle number `number` of so many processes, with a log to whose servers such things can be done.
    #[must_use]
    pub fn draw(seed: u64, number: u64, processes: usize, faults: LogFaults) -> Self {
        let mut random = Random::new(seed, number);
        let log = faults != LogFaults::None && random.chance(Chance::percent(60.0));
        let cuts = log && faults == LogFaults::Cuts && random.chance(Chance::percent(25.0));
        let most = match (cuts, log) {
            (true, _) => WORK_CUT_MS,
            (false, true) => WORK_LONG_MS,
            (false, false) => WORK_MS,
        };
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
            events.extend(match cuts {
                true => {
                    let cut = if random.below(2) == 0 { Cut::Off } else { Cut::Isolated };
                    [(start, Event::CutLog(cut)), (end, Event::ReconnectLog)]
                }
                false => kill_or_pause(&mut random, number, (start, end)),
            });
        }
        events.sort_by_key(|(at, _)| *at);
        let work = Duration::from_millis(work.into());
        // A server that is stopped meanwhile would find the log trimmed beyond what it has read.
        Self { early, events, work, checkpoints: !pauses && random.chance(Chance::percent(50.0)) }
    }
}

/// One or all of those that keep the log are killed or stopped, and go on.
fn kill_or_pause(
    random: &mut Random,
    number: u64,
    (start, end): (Duration, Duration),
) -> [(Duration, Event); 2] {
    let kill = |whom| [(start, Event::KillLog(whom)), (end, Event::StartLog)];
    match random.below(6) {
        0..=1 => kill(Whom::Leader),
        2 => kill(Whom::Number(1 + number as usize % LOG_SERVERS)),
        3 => kill(Whom::All),
        _ => [(start, Event::PauseLog), (end, Event::ContinueLog)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_stopped_goes_on() {
        let mut seen = [false; 6];
        for number in 0..500 {
            let cycle = Cycle::draw(7, number, 3, LogFaults::Cuts);
            assert_eq!(cycle, Cycle::draw(7, number, 3, LogFaults::Cuts));
            let mut stopped = 0;
            for (_, event) in &cycle.events {
                stopped += match event {
                    Event::Pause(_) | Event::PauseLog | Event::KillLog(_) | Event::CutLog(_) => 1,
                    Event::Continue(_)
                    | Event::ContinueLog
                    | Event::StartLog
                    | Event::ReconnectLog => -1,
                    Event::Kill(_) => 0,
                };
                seen[0] |= matches!(event, Event::KillLog(Whom::Leader));
                seen[1] |= matches!(event, Event::PauseLog);
                seen[2] |= matches!(event, Event::Pause(_));
                seen[3] |= *event == Event::Kill(2);
                seen[4] |= *event == Event::CutLog(Cut::Off);
                seen[5] |= *event == Event::CutLog(Cut::Isolated);
            }
            assert_eq!(stopped, 0, "{cycle:?}");
            let uncut = Cycle::draw(7, number, 3, LogFaults::Kills).events;
            assert!(uncut.iter().all(|(_, event)| !matches!(event, Event::CutLog(_))), "{uncut:?}");
            let alone = Cycle::draw(7, number, 1, LogFaults::None);
            assert!(alone.events.iter().all(|(_, event)| *event == Event::Kill(0)), "{alone:?}");
        }
        assert_eq!(seen, [true; 6]);
    }
}
