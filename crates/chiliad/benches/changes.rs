//! What following changes costs: changes read in a second, and the rate of writers with a follower beside them and without
//! one, in turns, with the ratio of each turn.
//!
//! ```text
//! cargo bench -p chiliad --bench changes -- [changes] [writers] [turns] [transactions per writer and second; 0: all it can]
//! ```

use chiliad::changes::Position;
use chiliad::{Database, Durability, Error, Options, Table};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Seconds of each half of a turn.
const SECONDS: f64 = 3.0;
/// Rows that a transaction writes.
const BATCH: u64 = 4;
const KEYS: u64 = 100_000;

/// The argument at `place`, or `usual`.
fn argument(place: usize, usual: u64) -> u64 {
    let words = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    words.skip(place).find_map(|word| word.parse().ok()).unwrap_or(usual)
}

/// Commits for a while; changes in a second.
fn write(db: &Database, table: Table<u64, [u64; 6]>, writers: u64, rate: u64) -> f64 {
    let begun = Instant::now();
    let written = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for writer in 0..writers {
            let written = &written;
            scope.spawn(move || {
                let mut number = writer * 7_919;
                let mut own = 0;
                while begun.elapsed().as_secs_f64() < SECONDS {
                    db.run(|tx| {
                        (0..BATCH).try_for_each(|at| {
                            let key = (number + at * 31).wrapping_mul(0x9e37_79b9) % KEYS;
                            tx.put(&table, &key, &[number; 6]).map(|_| ())
                        })
                    })
                    .expect("it commits");
                    number += 1;
                    own += 1;
                    let ahead = own as f64 / rate as f64 - begun.elapsed().as_secs_f64();
                    if rate > 0 && ahead > 0.001 {
                        std::thread::sleep(Duration::from_secs_f64(ahead));
                    }
                }
                written.fetch_add(own * BATCH, Ordering::Relaxed);
            });
        }
    });
    written.into_inner() as f64 / begun.elapsed().as_secs_f64()
}

fn main() -> Result<(), Error> {
    let (count, writers, turns) = (argument(0, 4_000_000), argument(1, 1), argument(2, 5));
    let rate = argument(3, 0);
    let path = std::env::temp_dir().join(format!("chiliad-bench-changes-{}", std::process::id()));
    let options = Options::default().durability(Durability::Epoch).checkpoint_log_bytes(u64::MAX);
    let db = Database::open_with(&path, options)?;
    let table: Table<u64, [u64; 6]> = db.create_table("rows")?;
    for first in (0..count).step_by(64) {
        db.run(|tx| {
            (first..first + 64)
                .try_for_each(|at| tx.put(&table, &(at % KEYS), &[at; 6]).map(|_| ()))
        })?;
    }
    db.sync()?;
    for _ in 0..3 {
        let begun = Instant::now();
        let mut read = 0;
        for change in db.changes(Position::START)? {
            read += u64::from(change?.of(&table)?.is_some());
        }
        let seconds = begun.elapsed().as_secs_f64();
        println!("{read} changes read in {seconds:.2} s: {:.0} a second", read as f64 / seconds);
    }
    let mut ratios = Vec::new();
    for _ in 0..turns {
        let alone = write(&db, table, writers, rate);
        let over = AtomicBool::new(false);
        let mut followed = 0;
        let beside = std::thread::scope(|scope| -> Result<f64, Error> {
            let mut changes = db.changes(db.newest_position()?)?;
            let (over, followed) = (&over, &mut followed);
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let change = changes.next_within(Duration::from_millis(50));
                    *followed += u64::from(change.expect("it follows").is_some());
                }
            });
            let beside = write(&db, table, writers, rate);
            over.store(true, Ordering::Relaxed);
            Ok(beside)
        })?;
        println!(
            "alone {alone:.0}, followed {beside:.0} a second ({followed} met): {:.3}",
            beside / alone
        );
        ratios.push(beside / alone);
    }
    ratios.sort_by(f64::total_cmp);
    println!("median ratio {:.3}", ratios[ratios.len() / 2]);
    drop(db);
    let _ = std::fs::remove_dir_all(&path);
    Ok(())
}
