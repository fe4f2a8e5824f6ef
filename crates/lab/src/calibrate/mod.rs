//! Calibration: the prices of computation by counting instructions, and this computer's latencies by measuring
//! them; the result is a machine file.

mod cases;
mod count;
mod fit;
mod host;
mod rooms;

pub use count::{Runner, run_case};

use crate::built::BUILD;
use crate::machines::embedded;
use crate::machines::file::{self, Machine};
use crate::machines::found::{self, Found};
use cases::Case;
use chiliad_host::Stop;
use chiliad_host::computer::{cpu, memory_available};
use chiliad_host::output::{OutputFile, complain, print};
use chiliad_machine::Cost;
use chiliad_simulator::description::{Description, Memory, Network};
use fit::Row;
use std::fmt::Write;
use std::path::Path;

/// Transactions of a run that is timed: few milliseconds, which the system seldom takes from a program.
const TIMED: u64 = 2_000;
/// How many such runs there are; the quickest was disturbed least.
const TIMED_RUNS: u32 = 40;
/// Memory that is certainly in no cache, in multiples of the greatest cache.
const BEYOND_CACHES: u64 = 4;

/// The work whose prices are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Priced {
    /// The engine's transactions, on this computer: a machine as it is.
    Transactions,
    /// SwarmDB's tasks, on the machine with task units.
    Tasks,
}

/// Counts, measures and writes the file `out`, or to standard output.
///
/// # Errors
/// This build or this computer cannot count, or a run fails.
pub fn run(priced: Priced, out: Option<&Path>, runner: Runner<'_>) -> Result<(), Stop> {
    crate::counting::check("machines calibrate")?;
    let output = OutputFile::create_if("--out", out)?;
    let text = match priced {
        Priced::Transactions => transactions(runner)?,
        Priced::Tasks => tasks(runner)?,
    };
    match output {
        None => print(&text),
        Some(output) => output.finish(|file| file.write_all(text.as_bytes())),
    }
}

/// This computer with the prices of transactions, as a file.
fn transactions(runner: Runner<'_>) -> Result<String, Stop> {
    let base = embedded("host", &found::this_computer())?;
    let rows = count_all(runner, &cases::all(), 0)?;
    let prices = fit::solve(&rows, &rooms::ALL);
    let measured = measure(&base.description, &found::this_computer(), runner)?;
    let rounded = file::rounded(&prices);
    let description = Description { prices: rounded, task_prices: rounded, ..measured };
    let machine = Machine { description, prices_from: provenance(today()) };
    Ok(file::write(&machine) + &residuals(&rows, &prices))
}

/// The machine with task units and the prices of tasks, as a file. Sites of no room, and those that no case visits, cost
/// what they cost elsewhere.
fn tasks(runner: Runner<'_>) -> Result<String, Stop> {
    let mut machine = embedded(cases::TASKS_MACHINE, &found::this_computer())?;
    let rows = count_all(runner, &cases::tasks(), cases::first_of_tasks())?;
    let mut prices = fit::solve(&rows, &rooms::TASKS);
    let rounded = file::rounded(&prices);
    machine.description.task_prices = machine.description.prices;
    for site in Cost::ALL {
        let at = site.index();
        let is_found = rooms::TASKS.iter().any(|room| room.sites.contains(&site));
        match is_found && rows.iter().any(|row| row.units[at] > 0.0) {
            true => machine.description.task_prices[at] = rounded[at],
            false => prices[at] = 0.0,
        }
    }
    let whence = format!("\n# Prices of tasks from {}\n", provenance(today()));
    Ok(file::write(&machine) + &whence + &residuals(&rows, &prices))
}

/// Counts these cases, of which the first has a number.
fn count_all(runner: Runner<'_>, cases: &[Case], first: usize) -> Result<Vec<Row>, Stop> {
    let count = |(at, case): (usize, &Case)| {
        complain(&format!("counting {} of {}: {}\n", at + 1, cases.len(), case.line()));
        runner.count(first + at)
    };
    cases.iter().enumerate().map(count).collect()
}

/// Where prices come from.
fn provenance(date: String) -> String {
    format!(
        "chiliad machines calibrate, {} {}, {}, {date}",
        BUILD.version, BUILD.commit, BUILD.compiler
    )
}

/// The day, as `YYYY-MM-DD` (Howard Hinnant, chrono-compatible low-level date algorithms).
fn today() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let days = since.map_or(0, |since| since.as_secs() / 86_400);
    date(days)
}

fn date(days: u64) -> String {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

/// The cost of each case at these prices, as comments.
fn residuals(rows: &[Row], prices: &[f64; Cost::COUNT]) -> String {
    let mut out = String::from(
        "\n# How well these prices explain the instructions of a transaction: counted, of that shared\n\
         # accesses, and the error of the sum of accesses and prices.\n",
    );
    for row in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "# {:>7.0} {:>7.0} {:>+6.1}%  {}",
            row.spent.all,
            row.accesses,
            100.0 * row.residual(prices),
            row.case
        );
    }
    let squares: f64 = rows.iter().map(|row| row.residual(prices).powi(2)).sum();
    let root = 100.0 * (squares / rows.len().max(1) as f64).sqrt();
    let _ = writeln!(out, "# root of the mean square: {root:.1}%");
    out
}

/// The computer, with its latencies measured. `base` says what is not measured.
fn measure(base: &Description, found: &Found, runner: Runner<'_>) -> Result<Description, Stop> {
    complain("measuring clock and caches\n");
    let hertz = host::hertz();
    let cycles = |ns: f64| (ns * hertz / 1e9).round().max(1.0) as u32;
    // What is not measured and counts cycles, of a clock that was measured.
    let faster = hertz / base.hertz as f64;
    let in_cache = |bytes: u64| host::latency_ns(bytes / 2);
    let shared_bytes = found.shared.map_or(base.shared.bytes, |cache| cache.bytes);
    let second_bytes = base.second.map_or(base.first.bytes, |cache| cache.bytes);
    let first = in_cache(base.first.bytes);
    let second = base.second.map(|_| in_cache(base.first.bytes * 8).max(first));
    // Well beyond what is private, and well within what is shared, which others use too.
    let shared = host::latency_ns((second_bytes * 8).min(shared_bytes / 4)).max(first);
    let beyond = (shared_bytes * BEYOND_CACHES).min(memory_available().unwrap_or(u64::MAX) / 4);
    let memory = host::latency_ns(beyond.min(4 << 30)).max(shared);
    // A shared line: there, the slice, and back. A line in another's cache: there, the slice's tags, on to
    // the owner, its cache, and back.
    let third = host::hand_over_ns().map(|ns| (ns - shared).max(0.0));
    let within = third.unwrap_or(shared / 4.0).clamp(shared / 8.0, shared / 3.0);
    let slice = shared - 2.0 * within;
    let between = match base.network {
        Network::Mesh { hop_cycles, .. } => hop_cycles,
        Network::Sockets { within_cycles, between_cycles, .. } => {
            (f64::from(between_cycles) / f64::from(within_cycles) * f64::from(cycles(within)))
                as u32
        }
    };
    let (per_socket, bytes_per_cycle) = match base.network {
        Network::Mesh { .. } => (base.cores_max, 1),
        Network::Sockets { cores_per_socket, bytes_per_cycle, .. } => {
            let bytes = (f64::from(bytes_per_cycle) / faster).round().max(1.0);
            (cores_per_socket, bytes as u32)
        }
    };
    complain("measuring instructions per cycle\n");
    let warm = cases::all().len();
    let row = runner.count(warm)?;
    let mut per_second = 0.0f64;
    for _ in 0..TIMED_RUNS {
        per_second = per_second.max(runner.throughput(warm, TIMED)? * row.spent.all);
    }
    let mut measured = base.clone();
    measured.source = format!("{}, {}, measured {}", cpu(), BUILD.compiler, today());
    // To the megahertz: a clock is not known better.
    measured.hertz = (hertz / 1e6).round() as u64 * 1_000_000;
    measured.first.cycles = cycles(first);
    measured.modify_cycles = cycles(host::modify_ns()).saturating_sub(measured.first.cycles);
    if let (Some(cache), Some(ns)) = (&mut measured.second, second) {
        cache.cycles = cycles(ns);
    }
    measured.shared.cycles = cycles(slice);
    measured.shared_tag_cycles = cycles(slice).div_ceil(2);
    measured.network = Network::Sockets {
        cores_per_socket: per_socket,
        within_cycles: cycles(within),
        between_cycles: between.max(1),
        bytes_per_cycle,
    };
    measured.memory = Memory {
        cycles: cycles(memory - shared),
        line_centicycles: (f64::from(base.memory.line_centicycles) * faster).round() as u32,
        ..base.memory
    };
    measured.instructions_per_100_cycles =
        (per_second / hertz * 100.0).round().clamp(1.0, 1600.0) as u32;
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rooms::Spent;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(19_782), "2024-02-29");
        assert_eq!(date(20_453), "2025-12-31");
    }

    #[test]
    fn the_calibrated_file_is_read_back_to_the_same() {
        let found = Found::default();
        let base = embedded("thousand-cores", &found).expect("a machine");
        let prices = core::array::from_fn(|site| 0.7 + 3.1 * site as f64);
        let units = [1.0; Cost::COUNT];
        let spent = Spent { all: 1e4, ..Spent::default() };
        let row = Row { case: "ycsb".into(), spent, accesses: 1e3, units };
        let rounded = file::rounded(&prices);
        let description = Description { prices: rounded, task_prices: rounded, ..base.description };
        let machine = Machine { description, prices_from: provenance(date(19_782)) };
        let text = file::write(&machine) + &residuals(&[row], &prices);
        assert_eq!(file::read("it", &text, &found).expect("its own file"), machine);
    }
}
