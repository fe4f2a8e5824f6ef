//! `chiliad bench log`: how fast a shared log takes records.

use crate::args::{Alone, LogFlags};
use crate::settings;
use chiliad::shared_log::{SharedLog, SharedLogError};
use chiliad_host::text::thousands;
use chiliad_host::values::show_time;
use chiliad_host::{Sink, Stop, interrupt};
use chiliad_lab::BUILD;
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often the driver looks whether it was interrupted.
const LOOK: Duration = Duration::from_millis(20);

/// What the threads share.
#[derive(Default)]
struct Counts {
    over: AtomicBool,
    records: AtomicU64,
}

/// Appends for the time that was asked for, and says how many records that were.
pub fn run(bench: &Alone<LogFlags>) -> Result<(), Stop> {
    let flags = &bench.flags;
    let mut sink = Sink::new(bench.output.json.as_deref(), bench.output.quiet)?;
    let log = settings::open_log(&flags.shared_log)?;
    let most = log.record_bytes_max();
    if flags.record_bytes > most {
        let problem = format!("{} bytes; this log accepts 1 to {most}", flags.record_bytes);
        return Err(Stop::bad("--record-bytes", problem));
    }
    let counts = Counts::default();
    let begun = Instant::now();
    let latencies = thread::scope(|scope| {
        let append = || appends(&*log, flags, &counts);
        let threads: Vec<_> = (0..flags.threads).map(|_| scope.spawn(append)).collect();
        while begun.elapsed() < flags.duration && !interrupt::asked() {
            thread::sleep(LOOK.min(flags.duration));
        }
        counts.over.store(true, Ordering::Relaxed);
        let joined = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(SharedLogError::Damaged("a thread panicked".into())))
        });
        joined.collect::<Result<Vec<_>, _>>()
    });
    let seconds = begun.elapsed().as_secs_f64();
    let latencies = latencies.map_err(|error| Stop::Failed(error.to_string()))?;
    if interrupt::asked() {
        return Err(Stop::Interrupted);
    }
    let mut latencies = latencies.concat();
    latencies.sort_unstable();
    let at = |share: f64| {
        let place = (latencies.len() as f64 * share) as usize;
        latencies.get(place.min(latencies.len().saturating_sub(1))).copied().unwrap_or_default()
    };
    let (p50, p99) = (at(0.5), at(0.99));
    let rate = counts.records.load(Ordering::Relaxed) as f64 / seconds;
    let megabytes = rate * flags.record_bytes as f64 / 1e6;
    sink.say(&format!(
        "{}\n  records      {} per second of {} bytes: {megabytes:.1} MB/s\n  calls        of {} records, {} \
         threads: p50 {}, p99 {}\n",
        log.place(),
        thousands(rate as u64),
        flags.record_bytes,
        flags.in_flight,
        flags.threads,
        show_time(p50),
        show_time(p99),
    ))?;
    sink.json(&json!({
        "workload": "log",
        "shared_log": log.place(),
        "record_bytes": flags.record_bytes,
        "threads": flags.threads,
        "in_flight": flags.in_flight,
        "seconds": seconds,
        "records_per_second": rate,
        "megabytes_per_second": megabytes,
        "p50_us": p50.as_secs_f64() * 1e6,
        "p99_us": p99.as_secs_f64() * 1e6,
        "build": BUILD,
    }))?;
    sink.finish()
}

/// Appends until the time is over; returns how long each call has taken.
fn appends(
    log: &dyn SharedLog,
    flags: &LogFlags,
    counts: &Counts,
) -> Result<Vec<Duration>, SharedLogError> {
    let record = vec![0x5a; flags.record_bytes];
    let records = vec![record.as_slice(); flags.in_flight];
    let mut latencies = Vec::new();
    while !counts.over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        log.append(&records)?;
        latencies.push(begun.elapsed());
        counts.records.fetch_add(flags.in_flight as u64, Ordering::Relaxed);
    }
    Ok(latencies)
}
