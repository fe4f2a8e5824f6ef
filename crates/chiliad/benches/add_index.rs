//! Rate of two writers in each second while an index is added to a large table, beside the seconds before and after.
//! With `moves` each update changes the column of the index, too.
//!
//! ```text
//! cargo bench -p chiliad --bench add_index -- [rows] [moves]
//! ```

use chiliad::{Database, Error, Row, Table};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[derive(Row)]
struct Before {
    city: u32,
    visits: u64,
}

#[derive(Row)]
#[index(by_city(city))]
struct After {
    city: u32,
    visits: u64,
}

/// Seconds that are counted before.
const BEFORE: usize = 4;

fn main() -> Result<(), Error> {
    let rows = std::env::args().filter(|word| word != "--bench").nth(1);
    let rows: u64 = rows.map_or(1_000_000, |given| given.parse().expect("a number of rows"));
    let moves = std::env::args().any(|word| word == "moves");
    let db = Database::in_memory()?;
    let table: Table<u64, Before> = db.create_table("guests")?;
    let row = |key: u64| Before { city: (key % 1_000) as u32, visits: 0 };
    db.bulk_load(&table, (0..rows).map(|key| (key, row(key))))?;
    let (over, written, failed) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for writer in 1..=2_u64 {
            let (db, over, written, failed) = (&db, &over, &written, &failed);
            scope.spawn(move || {
                let mut at = writer;
                while !over.load(Ordering::Relaxed) {
                    at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(writer);
                    let key = (at >> 20) % rows;
                    let changed = db.run(|tx| {
                        tx.update(&table, &key, |row| {
                            row.visits += 1;
                            if moves {
                                row.city = (row.city + 1) % 1_000;
                            }
                        })
                    });
                    let count = if changed.is_ok() { written } else { failed };
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let seconds = AtomicU64::new(0);
        let (counting, over_now, written_now) = (AtomicBool::new(true), &over, &written);
        let added = std::thread::scope(|inner| {
            let watch = inner.spawn(|| {
                let mut rates = Vec::new();
                while counting.load(Ordering::Relaxed) {
                    let before = written_now.load(Ordering::Relaxed);
                    std::thread::sleep(Duration::from_secs(1));
                    rates.push(written_now.load(Ordering::Relaxed) - before);
                    seconds.fetch_add(1, Ordering::Relaxed);
                }
                rates
            });
            while seconds.load(Ordering::Relaxed) < BEFORE as u64 {
                std::thread::sleep(Duration::from_millis(5));
            }
            let start = Instant::now();
            let added = db.change_indexes::<u64, After>("guests");
            let took = start.elapsed();
            counting.store(false, Ordering::Relaxed);
            let rates = watch.join().expect("it counts");
            let usual = rates[1..BEFORE].iter().sum::<u64>() as f64 / (BEFORE - 1) as f64;
            println!(
                "{rows} rows, an index added in {took:.2?}; updates per second before: {usual:.0}"
            );
            for (second, rate) in rates.iter().enumerate().skip(BEFORE) {
                println!("second {second}: {rate} ({:.2})", *rate as f64 / usual);
            }
            added
        });
        // With the index in place.
        let before = written.load(Ordering::Relaxed);
        std::thread::sleep(Duration::from_secs(2));
        let after = (written.load(Ordering::Relaxed) - before) / 2;
        println!("updates per second after: {after}");
        over_now.store(true, Ordering::Relaxed);
        added
    })?;
    println!("failed: {}", failed.into_inner());
    let table: Table<u64, After> = db.table("guests")?;
    let found = db.run(|tx| tx.find_range(&table, After::BY_CITY, ..).count())?;
    assert_eq!(found as u64, rows, "every row has an entry");
    Ok(())
}
