//! What following changes costs: the changes that one reader takes in a second, and what the writers lose to it.
//!
//! ```text
//! cargo bench -p chiliad --bench changes -- [changes] [writers] [turns] [transactions per writer and second; 0: all it can]
//! ```
//!
//! First a reader takes all `changes` from the start of the log, three times, with nobody beside it. Then the writers run
//! alone and with a reader that follows them, in turns; each turn begins with the other half. Where there are more cores
//! than one, the reader and the threads of the database have the last one, in both halves, and the writers have the others:
//! what writers lose is then not a core. With several writers on one core their rate together counts. Beside rates stands the
//! processor's time for each change, which other programs on the computer hardly move.

use chiliad::changes::Position;
use chiliad::{Database, Durability, Error, Options, Table};
use chiliad_machine::{allowed_cores, restrict_to_cores};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Seconds of each half of a turn.
const SECONDS: f64 = 3.0;
/// Rows that a transaction writes.
const BATCH: u64 = 4;
const KEYS: u64 = 100_000;
/// The goals of a turn: the reader takes at least so many changes in a second, and the writers lose at most this share of their
/// rate.
const READ_LEAST: f64 = 500_000.0;
const LOSS_MOST: f64 = 0.05;

type Rows = Table<u64, [u64; 6]>;

/// The argument at `place`, or `usual`.
fn argument(place: usize, usual: u64) -> u64 {
    let words = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    words.skip(place).find_map(|word| word.parse().ok()).unwrap_or(usual)
}

/// The cores of the writers, and those of the reader and the database; all of them where there is but one.
fn cores() -> (Vec<usize>, Vec<usize>) {
    let all = allowed_cores();
    match all.split_last() {
        Some((&last, others)) if !others.is_empty() => (others.to_vec(), vec![last]),
        _ => (all.clone(), all),
    }
}

/// Keeps this thread to some cores; to any where the system does not tell which there are.
fn keep_to(cores: &[usize]) {
    if !cores.is_empty() {
        restrict_to_cores(cores).expect("cores that are allowed");
    }
}

/// Writers, and how they write.
struct Load<'d> {
    db: &'d Database,
    table: Rows,
    writers: u64,
    /// Transactions of each writer in a second; 0: as many as it can.
    rate: u64,
    cores: Vec<usize>,
}

/// The measurements of the writers.
struct Written {
    /// Changes in a second.
    rate: f64,
    /// Nanoseconds of processor for each, where the system tells.
    ns: f64,
}

impl Load<'_> {
    /// Commits for a while.
    fn run(&self) -> Written {
        let begun = Instant::now();
        let (written, on_cores_ns) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for writer in 0..self.writers {
                let (written, on_cores_ns) = (&written, &on_cores_ns);
                scope.spawn(move || {
                    keep_to(&self.cores);
                    let own = self.write(writer * 7_919, begun);
                    written.fetch_add(own * BATCH, Ordering::Relaxed);
                    on_cores_ns.fetch_add(on_core_ns(), Ordering::Relaxed);
                });
            }
        });
        let written = written.into_inner() as f64;
        let rate = written / begun.elapsed().as_secs_f64();
        Written { rate, ns: on_cores_ns.into_inner() as f64 / written }
    }

    /// One writer; the transactions that it has committed.
    fn write(&self, first: u64, begun: Instant) -> u64 {
        let mut own = 0;
        while begun.elapsed().as_secs_f64() < SECONDS {
            let number = first + own;
            self.db
                .run(|tx| {
                    (0..BATCH).try_for_each(|at| {
                        let key = (number + at * 31).wrapping_mul(0x9e37_79b9) % KEYS;
                        tx.put(&self.table, &key, &[number; 6]).map(|_| ())
                    })
                })
                .expect("it commits");
            own += 1;
            let ahead = own as f64 / self.rate as f64 - begun.elapsed().as_secs_f64();
            if self.rate > 0 && ahead > 0.001 {
                std::thread::sleep(Duration::from_secs_f64(ahead));
            }
        }
        own
    }

    /// The same with a reader beside it.
    fn run_followed(&self) -> Result<(Written, Followed), Error> {
        let mut changes = self.db.changes(self.db.newest_position()?)?;
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let over = &over;
            let reader = scope.spawn(move || {
                let begun = Instant::now();
                let (mut met, mut while_written) = (0_u64, None);
                loop {
                    let change = changes.next_within(Duration::from_millis(50))?;
                    met += u64::from(change.is_some());
                    if while_written.is_none() && over.load(Ordering::Relaxed) {
                        while_written = Some((met, begun.elapsed()));
                    }
                    if let (None, Some((met_then, then))) = (change, while_written) {
                        let rate = met_then as f64 / then.as_secs_f64();
                        let ns = on_core_ns() as f64 / met as f64;
                        let behind = (met - met_then) as f64 / rate;
                        return Ok::<_, Error>(Followed { rate, behind, ns });
                    }
                }
            });
            let beside = self.run();
            over.store(true, Ordering::Relaxed);
            Ok((beside, reader.join().expect("no panic")?))
        })
    }
}

/// The measurements of a reader that followed writers.
struct Followed {
    /// Changes in a second, while there were writers.
    rate: f64,
    /// How far behind it was when they ended, in seconds of their work.
    behind: f64,
    /// Nanoseconds of processor for each change, where the system tells.
    ns: f64,
}

/// The time that the calling thread, which has done nothing else, was on a core; 0 where the system does not tell.
fn on_core_ns() -> u64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    told.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn main() -> Result<(), Error> {
    let path = std::env::temp_dir().join(format!("chiliad-bench-changes-{}", std::process::id()));
    let measured = measure(&path);
    let _ = std::fs::remove_dir_all(&path);
    measured
}

fn measure(path: &Path) -> Result<(), Error> {
    let (count, writers, turns) = (argument(0, 4_000_000), argument(1, 1), argument(2, 5).max(1));
    let (of_writers, others) = cores();
    println!("writers on {of_writers:?}, the reader and the database's threads on {others:?}");
    // Threads of the database run where the one that opens it does.
    keep_to(&others);
    let options = Options::default().durability(Durability::Epoch).checkpoint_log_bytes(u64::MAX);
    let db = Database::open_with(path, options)?;
    let table: Rows = db.create_table("rows")?;
    for first in (0..count).step_by(64) {
        db.run(|tx| {
            (first..first + 64)
                .try_for_each(|at| tx.put(&table, &(at % KEYS), &[at; 6]).map(|_| ()))
        })?;
    }
    db.sync()?;
    for _ in 0..3 {
        read_all(&db, table)?;
    }
    let load = Load { db: &db, table, writers, rate: argument(3, 0), cores: of_writers };
    let (mut losses, mut costs, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..turns {
        let first = (turn % 2 == 0).then(|| load.run());
        let (beside, reader) = load.run_followed()?;
        let alone = first.unwrap_or_else(|| load.run());
        let (loss, cost) = (1.0 - beside.rate / alone.rate, beside.ns / alone.ns - 1.0);
        println!(
            "alone {:.0}, followed {:.0} changes a second, loss {:.1} %; {:.0} and {:.0} ns of processor each, {:+.1} %",
            alone.rate,
            beside.rate,
            loss * 100.0,
            alone.ns,
            beside.ns,
            cost * 100.0
        );
        println!(
            "  the reader took {:.0} a second, {:.0} ns of processor each, and was {:.2} s behind in the end",
            reader.rate, reader.ns, reader.behind
        );
        losses.push(loss);
        costs.push(cost);
        rates.push(reader.rate);
    }
    let (loss, cost, rate) = (median(losses), median(costs), median(rates));
    let reached = if loss < LOSS_MOST && rate >= READ_LEAST { "reached" } else { "missed" };
    println!(
        "medians: loss {:.1} %, processor of a write {:+.1} %, {rate:.0} read a second; \
         under {:.0} % at {READ_LEAST:.0} or more: {reached}",
        loss * 100.0,
        cost * 100.0,
        LOSS_MOST * 100.0
    );
    Ok(())
}

/// Reads everything from the start.
fn read_all(db: &Database, table: Rows) -> Result<(), Error> {
    let begun = Instant::now();
    let mut read = 0;
    for change in db.changes(Position::START)? {
        read += u64::from(change?.of(&table)?.is_some());
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("{read} changes read in {seconds:.2} s: {:.0} a second", read as f64 / seconds);
    Ok(())
}

/// The middle one; of an even number the higher of two.
fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
