//! Many simulated runs at once: points that differ in nothing that a database is loaded with share one, and
//! each runs in a child process of its own.
//!
//! A child for each database loads it and has a child of its own for each point, whose memory is a copy of the
//! loaded one's. So a point's result is that of the same command line run alone, but for what the host has a
//! part in.

use super::files::Files;
use super::job::Job;
use super::{ordered, simulated, timestamps};
use crate::result::RunResult;
use crate::spec::Database;
use chiliad_driver::{Loaded, LoadedTasks, is_ordered};
use chiliad_host::Stop;
use chiliad_simulator::fork::{Heard, Lost, Sender, in_children};
use serde_json::{Value, json};
use std::convert::Infallible;

/// The outcome of a point.
pub struct Answer {
    /// Its result, as JSON has it.
    pub result: Value,
    /// The problem of the run, in words.
    pub problem: Option<String>,
}

/// A loaded database.
pub enum Base {
    /// For clients.
    Clients(Loaded),
    /// For ordered tasks.
    Tasks(LoadedTasks),
    /// There is none.
    None,
}

/// Loads the database of a simulated job, if it has one.
pub fn load(job: &Job) -> Result<Base, Stop> {
    match job {
        Job::Workload(spec) if is_ordered(spec.scheme) => ordered::load(spec).map(Base::Tasks),
        Job::Workload(spec) => simulated::load(spec).map(Base::Clients),
        Job::Timestamps(_) | Job::Lookups(_) | Job::Locks(_) => Ok(Base::None),
    }
}

/// Runs a simulated job on the database that [`load`] has loaded for it, in this process.
pub fn run(job: &Job, base: Base, files: &mut Files) -> Result<RunResult, Stop> {
    let native = || Stop::Failed("a native run among simulated ones".into());
    match (job, base) {
        (Job::Workload(spec), Base::Clients(loaded)) => simulated::run(spec, loaded, files),
        (Job::Workload(spec), Base::Tasks(loaded)) => ordered::run(spec, loaded),
        (Job::Workload(_), Base::None) => Err(Stop::Failed("nothing was loaded".into())),
        (Job::Timestamps(spec), _) => {
            timestamps::simulate_draw(spec, spec.machine.as_ref().ok_or_else(native)?)
        }
        (Job::Lookups(_) | Job::Locks(_), _) => Err(native()),
    }
}

fn answer(job: &Job, loaded: Base) -> Result<Answer, Stop> {
    let result = run(job, loaded, &mut Files::default())?;
    Ok(Answer { problem: result.problem(), result: result.to_value() })
}

/// Runs all points, `jobs` at a time, and tells the answer of each as it comes. `go_on` is asked a few times
/// per second. With an error that is told, or that it says, all are given up.
pub fn run_points(
    points: &[&Job],
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
fn run_group(points: &[&Job], numbers: &[usize], at_once: usize, sender: &mut Sender) {
    let mut loaded = match load(points[numbers[0]]) {
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
            sender.send(&packed(&answer(
                points[numbers[at]],
                std::mem::replace(&mut loaded, Base::None),
            )));
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
fn groups(points: &[&Job]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(Option<Database>, Vec<usize>)> = Vec::new();
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

/// An answer with the point's number in front.
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
