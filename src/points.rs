//! Many simulated runs at once: points that differ in nothing that a database is loaded with share one, and
//! each runs in a child process of its own.
//!
//! A child for each database loads it and has a child of its own for each point, whose memory is a copy of the
//! loaded one's. So a point's result is that of the same command line run alone, but for what the host has a
//! part in.

use crate::runs::Files;
use crate::settings::{Settings, Shown};
use crate::{simulate, timestamps};
use chiliad_driver::{Length, Loaded, SimulatedPlan};
use chiliad_host::Stop;
use chiliad_simulator::fork::{Heard, Lost, Sender, in_children};
use chiliad_workload::WorkloadOptions;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::time::Duration;

/// Options of a timed run that nothing loaded depends on.
const OF_THE_RUN: [&str; 24] = [
    "cores",
    "clients",
    "interleave",
    "duration",
    "transactions",
    "warmup",
    "seed",
    "repeat",
    "verify_memory",
    "backoff",
    "retry",
    "cost_scale",
    "ops",
    "read_ratio",
    "rmw",
    "theta",
    "multi_partition",
    "parts_per_txn",
    "mix",
    "remote_item",
    "rows_read",
    "updates",
    "hotspot",
    "stalled_at",
];

/// A run, ready to go.
pub enum Point {
    /// Of a workload: what is run, how, and on what.
    Workload(Box<Settings>, Box<SimulatedPlan>),
    /// Of timestamps alone.
    Timestamps(Box<timestamps::Simulated>),
}

/// What has become of a point.
pub struct Answer {
    /// Its result, as JSON has it.
    pub result: Value,
    /// What is wrong with the run, in words.
    pub problem: Option<String>,
}

impl Point {
    /// What its database is loaded with; `None`: with what only this run has, or there is none.
    pub fn database(&self) -> Option<String> {
        let Self::Workload(settings, plan) = self else { return None };
        // Where the order of events is drawn, what is loaded is a function of the seed too.
        plan.config.machine.as_ref()?;
        let mut key: Shown = settings.shown.clone();
        // The rows of YCSB do not know of partitions, which most schemes do not have.
        let ycsb = matches!(settings.workload, WorkloadOptions::Ycsb(_));
        let asked = ycsb && !settings.scheme.needs_partitions;
        let of_the_run = |name: &str| OF_THE_RUN.contains(&name) || asked && name == "partitions";
        key.retain(|name, _| !of_the_run(name));
        Some(Value::Object(key).to_string())
    }

    /// Simulated seconds times cores; where transactions are counted, as if each took a microsecond.
    pub fn work(&self) -> f64 {
        let (cores, time) = match self {
            Self::Timestamps(run) => run.extent(),
            Self::Workload(settings, _) => match settings.plan.length {
                Length::Time(time) => (settings.plan.cores, time + settings.plan.warmup),
                Length::Transactions(count) => (1, Duration::from_micros(count)),
            },
        };
        cores as f64 * time.as_secs_f64()
    }

    fn load(&self) -> Result<Option<Loaded>, Stop> {
        match self {
            Self::Timestamps(_) => Ok(None),
            Self::Workload(settings, plan) => simulate::load(settings, plan).map(Some),
        }
    }

    fn run(&self, loaded: Option<Loaded>) -> Result<Answer, Stop> {
        let result = match (self, loaded) {
            (Self::Timestamps(run), _) => run.go()?,
            (Self::Workload(settings, plan), Some(loaded)) => {
                simulate::again(settings, plan, loaded, &mut Files::default())?
            }
            _ => return Err(Stop::Failed("nothing was loaded".into())),
        };
        Ok(Answer { problem: result.problem(), result: result.to_value() })
    }
}

/// Runs all points, `jobs` at a time, and tells the answer of each as it comes. `go_on` is asked a few times
/// per second. With an error that is told, or that it says, all are given up.
pub fn run(
    points: &[&Point],
    jobs: usize,
    go_on: impl FnMut() -> Result<(), Stop>,
    mut tell: impl FnMut(usize, Result<Answer, Stop>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let groups = groups(points);
    let at_once = jobs.min(groups.len()).max(1);
    let within = (jobs / at_once).max(1);
    let mut open: Vec<bool> = vec![true; points.len()];
    in_children(
        (groups.len(), at_once),
        go_on,
        |group, sender| run_group(points, &groups[group], within, sender),
        |group, heard| match heard {
            Heard::Message(message) => {
                let Some((number, answer)) = unpack(&message) else {
                    return Err(Stop::Failed("a point's process: no answer".into()));
                };
                open[number] = false;
                tell(number, answer)
            }
            Heard::End(ended) => {
                let lost = |lost: &Lost| Stop::Failed(format!("a database's loading: {lost}"));
                for &number in groups[group].iter().filter(|&&number| open[number]) {
                    let why = ended.as_ref().err().map(lost);
                    tell(number, Err(why.unwrap_or_else(|| Stop::Failed("no answer".into()))))?;
                }
                Ok(())
            }
        },
    )
}

/// Loads a database and runs its points, in a process that is theirs.
fn run_group(points: &[&Point], numbers: &[usize], at_once: usize, sender: &mut Sender) {
    let mut loaded = match points[numbers[0]].load() {
        Ok(loaded) => loaded,
        Err(stop) => {
            let answer = packed(&Err(stop));
            return numbers.iter().for_each(|&number| sender.send(&addressed(number, &answer)));
        }
    };
    let Ok(()) = in_children::<Infallible>(
        (numbers.len(), at_once),
        || Ok(()),
        |at, sender| {
            // The parent keeps its own.
            sender.send(&packed(&points[numbers[at]].run(loaded.take())));
        },
        |at, heard| {
            let answer = match heard {
                Heard::Message(answer) => answer,
                Heard::End(Ok(())) => return Ok(()),
                Heard::End(Err(lost)) => packed(&Err(Stop::Failed(format!("a point: {lost}")))),
            };
            sender.send(&addressed(numbers[at], &answer));
            Ok(())
        },
    );
}

/// The points by what they load, those with much to do first.
fn groups(points: &[&Point]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(Option<String>, Vec<usize>)> = Vec::new();
    for (number, point) in points.iter().enumerate() {
        let key = point.database();
        match groups.iter_mut().find(|(known, _)| key.is_some() && *known == key) {
            Some((_, numbers)) => numbers.push(number),
            None => groups.push((key, vec![number])),
        }
    }
    let mut groups: Vec<Vec<usize>> = groups.into_iter().map(|(_, numbers)| numbers).collect();
    let work = |number: &usize| points[*number].work();
    for numbers in &mut groups {
        numbers.sort_by(|a, b| work(b).total_cmp(&work(a)));
    }
    let all = |numbers: &[usize]| numbers.iter().map(work).sum::<f64>();
    groups.sort_by(|a, b| all(b).total_cmp(&all(a)));
    groups
}

/// An answer as it goes through a pipe.
fn packed(answer: &Result<Answer, Stop>) -> Vec<u8> {
    let value = match answer {
        Ok(Answer { result, problem }) => json!({"result": result, "problem": problem}),
        Err(Stop::BadInput(line)) => json!({"bad_input": line}),
        Err(Stop::Failed(line)) => json!({"failed": line}),
        Err(Stop::FailedAndSaid | Stop::Interrupted | Stop::Done(_)) => {
            json!({"failed": "no result"})
        }
    };
    value.to_string().into_bytes()
}

/// The same with the point's number in front.
fn addressed(number: usize, answer: &[u8]) -> Vec<u8> {
    [&(number as u64).to_le_bytes(), answer].concat()
}

fn unpack(message: &[u8]) -> Option<(usize, Result<Answer, Stop>)> {
    let (number, answer) = message.split_first_chunk()?;
    let number = usize::try_from(u64::from_le_bytes(*number)).ok()?;
    let mut answer: Value = serde_json::from_slice(answer).ok()?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let answer = if let Some(line) = text(&answer["bad_input"]) {
        Err(Stop::BadInput(line))
    } else if let Some(line) = text(&answer["failed"]) {
        Err(Stop::Failed(line))
    } else {
        Ok(Answer { problem: text(&answer["problem"]), result: answer["result"].take() })
    };
    Some((number, answer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{self, Command, SimulateCommand, SimulateWorkload, each_workload};
    use crate::settings;

    fn point(line: &str) -> Point {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let command = args::parse(&words).map(|it| it.command);
        let Ok(Command::Simulate(SimulateCommand::Workload(simulate))) = command else {
            panic!("{line}")
        };
        let (settings, plan) =
            each_workload!(simulate, SimulateWorkload, flags => settings::simulated(&flags))
                .expect(line);
        Point::Workload(Box::new(settings), Box::new(plan))
    }

    #[test]
    fn points_of_one_database_are_one_group_the_longest_first() {
        let lines = [
            "simulate ycsb --cores 2",
            "simulate ycsb --cores 2 --scheme occ",
            "simulate ycsb --cores 8 --theta 0.5 --seed 3 --cost-scale 2",
            "simulate ycsb --cores 4 --read-ratio 10 --duration 100us",
            "simulate ycsb --cores 2 --records 1000",
            "simulate ycsb --cores 2 --schedule random",
            "simulate ycsb --cores 2 --schedule random",
            "simulate ycsb --cores 2 --scheme h-store --partitions 2",
            "simulate ycsb --cores 2 --scheme h-store --partitions 4",
            "simulate ycsb --cores 1 --partitions 4",
        ];
        let points: Vec<Point> = lines.map(point).into();
        let groups = groups(&points.iter().collect::<Vec<_>>());
        assert_eq!(groups.len(), 7);
        assert_eq!(groups[0], [2, 0, 3, 9], "{groups:?}");
    }

    #[test]
    fn answers_go_through_a_pipe() {
        let result = json!({"committed": 1, "throughput_tps": 0.1 + 0.2});
        let answer = Ok(Answer { result: result.clone(), problem: Some("x".into()) });
        let Some((7, Ok(back))) = unpack(&addressed(7, &packed(&answer))) else { panic!() };
        assert_eq!((back.result, back.problem.as_deref()), (result, Some("x")));
        let refused = packed(&Err(Stop::BadInput("--x: no".into())));
        let Some((0, Err(Stop::BadInput(line)))) = unpack(&addressed(0, &refused)) else {
            panic!()
        };
        assert_eq!(line, "--x: no");
        assert!(unpack(b"short").is_none());
    }
}
