//! Round after round.

use super::fleet::Fleet;
use super::member::Member;
use super::order::JoinedOrder;
use super::report::{JoinedReport, Tally};
use super::round::Kind;
use super::sampler::{Samples, sample};
use super::work::{Before, Client};
use chiliad_host::bar::bar;
use chiliad_host::threads::{refused, start};
use chiliad_host::{Listening, Stop, interrupt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The length of a round, if the whole is not too short.
const ROUND: Duration = Duration::from_secs(10);

/// The length of one in which clients work as fast as they can: its history is as long as another's.
const FULL: Duration = Duration::from_secs(3);

/// Rounds of the whole, at least.
const ROUNDS_MIN: u32 = 8;

/// Of so many rounds one has a server that restarts, and one has clients that work as fast as they can.
const TURN: u64 = 6;

/// One more server joins when so much of the time is over, in percent: before the second half, which is looked at.
const JOINS_AT: u32 = 40;

/// Runs the soak. A signal ends it early; what came of it until then is reported, and the failure, if there was one.
///
/// # Errors
/// Before anything was appended: the log cannot be used, or is not empty.
pub fn run(order: &JoinedOrder<'_>) -> Result<(JoinedReport, Option<Stop>), Stop> {
    let log = (order.log)()?;
    let bounds = log.bounds().map_err(|error| Stop::bad("--shared-log", error))?;
    if bounds.end > 1 {
        let problem =
            format!("{} holds a database; accepted: a log that is empty or missing", order.name);
        return Err(Stop::bad("--shared-log", problem));
    }
    let _listening = Listening::begin();
    let clients = (order.servers + 1) * order.threads;
    let mut fleet = Fleet {
        order,
        appended: Arc::default(),
        members: (0..=order.servers).map(|number| Member::new(number, order)).collect(),
        looker: Client::new(clients as u32, clients as u32, order.records, order.seed),
        before: Before::new(),
        begun: Instant::now(),
    };
    let over = AtomicBool::new(false);
    let mut tally = Tally::default();
    let appended = Arc::clone(&fleet.appended);
    let (ran, samples) = thread::scope(|scope| {
        let look = || sample(&log, &appended, &over);
        let sampler = start(scope, look);
        let ran = rounds(&mut fleet, &mut tally);
        // Relaxed: nothing is handed over by it.
        over.store(true, Ordering::Relaxed);
        let sampled = sampler.map_err(refused)?;
        let samples = sampled.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok::<(Result<(), Stop>, Samples), Stop>((ran, samples))
    })?;
    let trimmed = log.bounds().map_or(1, |bounds| bounds.start) - 1;
    let labels = fleet.members.iter().filter_map(Member::database).map(|db| db.stats().epoch);
    let intentions = labels.max().unwrap_or(0);
    let seconds = fleet.begun.elapsed().as_secs_f64();
    let report = JoinedReport { tally, samples, trimmed, intentions, seconds };
    let failure = ran.err().or_else(|| report.problem().map(Stop::Failed));
    let interrupted = interrupt::asked().then_some(Stop::Interrupted);
    Ok((report, failure.or(interrupted)))
}

fn rounds(fleet: &mut Fleet<'_>, tally: &mut Tally) -> Result<(), Stop> {
    let order = fleet.order;
    let template = "{pos} of {len} s [{bar:30}] {msg}";
    let bar = bar(order.duration.as_secs(), template, order.quiet);
    for number in 0..order.servers {
        let is_first = number == 0;
        fleet.members[number].join(order, &fleet.appended, is_first)?;
    }
    (fleet.before, _) = fleet.look()?;
    let length = ROUND.min(order.duration / ROUNDS_MIN);
    for number in 0.. {
        let passed = fleet.begun.elapsed();
        if passed >= order.duration || interrupt::asked() {
            break;
        }
        bar.set_position(passed.as_secs());
        bar.set_message(format!("{} transactions", tally.transactions));
        let turn = (number / TURN) as usize % order.servers;
        let joins = passed * 100 >= order.duration * JOINS_AT;
        let is_missing = fleet.members[order.servers].database().is_none();
        let (kind, length) = match number % TURN {
            1 => (Kind::Comes(turn), length),
            4 => (Kind::Full((turn + 1) % order.servers), length.min(FULL)),
            _ if joins && is_missing => (Kind::Comes(order.servers), length),
            _ => (Kind::Calm, length),
        };
        fleet.round(kind, length, tally)?;
        tally.rounds += 1;
    }
    bar.finish_and_clear();
    Ok(())
}
