//! Snapshots see a consistent past.

use crate::common::{Dice, counters, open_with_snapshots};
use chiliad::{Database, Options, Scheme, Snapshots};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Tells threads to stop when it is dropped, also by a failed assertion.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits until a snapshot sees `expected` rows in all.
fn settle(db: &Database, rows: chiliad::Table<u64, u64>, expected: usize) {
    let start = Instant::now();
    while db.snapshot(|snapshot| snapshot.scan(&rows, ..).count()).unwrap() != expected {
        assert!(start.elapsed() < Duration::from_secs(20), "snapshots do not advance");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_snapshot_sees_all_or_nothing_of_a_transaction() {
    for scheme in [Scheme::Silo, Scheme::GlobalTid, Scheme::Partitioned] {
        let db = open_with_snapshots(scheme);
        let rows = counters(&db, 100);
        settle(&db, rows, 100);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _stop = Stop(&stop);
            for seed in 1..=2 {
                let (db, stop) = (&db, &stop);
                scope.spawn(move || {
                    let mut dice = Dice::new(seed);
                    while !stop.load(Ordering::Relaxed) {
                        let (from, to) = (dice.below(100), dice.below(100));
                        db.run(|tx| {
                            tx.update(&rows, &from, |count| *count = count.wrapping_sub(3))?;
                            tx.update(&rows, &to, |count| *count = count.wrapping_add(3))?;
                            // Rows come and go two at a time.
                            let pair = 1_000 + 2 * dice.below(20);
                            if !tx.remove(&rows, &pair)? {
                                tx.insert(&rows, &pair, &1)?;
                                tx.put(&rows, &(pair + 1), &u64::MAX)
                            } else {
                                tx.remove(&rows, &(pair + 1)).map(drop)
                            }
                        })
                        .unwrap();
                    }
                });
            }
            let start = Instant::now();
            let mut seen = 0;
            while start.elapsed() < Duration::from_millis(400) {
                let values = db.snapshot(|snapshot| snapshot.scan(&rows, ..).values()).unwrap();
                let total = values.iter().fold(0, |sum: u64, value| sum.wrapping_add(*value));
                assert_eq!((total, values.len() % 2), (0, 0), "{scheme}");
                seen += 1;
            }
            assert!(seen > 0);
        });
    }
}

#[test]
fn a_snapshot_does_not_move_while_it_is_read() {
    let db = open_with_snapshots(Scheme::Silo);
    let rows = counters(&db, 10);
    settle(&db, rows, 10);
    let (before, after) = db
        .snapshot(|snapshot| {
            let before = snapshot.scan(&rows, ..).rows()?;
            for key in 0..10 {
                db.run(|tx| tx.put(&rows, &key, &99))?;
            }
            db.run(|tx| tx.insert(&rows, &77, &1))?;
            std::thread::sleep(Duration::from_millis(20));
            Ok((before, snapshot.scan(&rows, ..).rows()?))
        })
        .unwrap();
    assert_eq!(before, after);
    settle(&db, rows, 11);
}

#[test]
fn a_snapshot_is_never_refused() {
    let db = open_with_snapshots(Scheme::Silo);
    let rows = counters(&db, 50);
    settle(&db, rows, 50);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(|| {
            let mut key = 0;
            while !stop.load(Ordering::Relaxed) {
                key = (key + 1) % 50;
                db.run(|tx| tx.update(&rows, &key, |count| *count += 1)).unwrap();
            }
        });
        for _ in 0..50 {
            let mut runs = 0;
            db.snapshot(|snapshot| {
                runs += 1;
                let first = snapshot.scan(&rows, ..).rows()?;
                std::thread::yield_now();
                assert_eq!(first, snapshot.scan(&rows, ..).rows()?);
                Ok(())
            })
            .unwrap();
            assert_eq!(runs, 1);
        }
    });
}

#[test]
fn without_snapshots_it_is_the_present() {
    for scheme in Scheme::ALL {
        let db =
            Database::in_memory_with(Options::default().scheme(scheme).snapshots(Snapshots::Off))
                .unwrap();
        let rows = counters(&db, 1);
        db.run(|tx| tx.put(&rows, &0, &5)).unwrap();
        assert_eq!(db.snapshot(|snapshot| snapshot.get(&rows, &0)), Ok(Some(5)), "{scheme}");
    }
}

#[test]
fn on_demand_the_first_one_waits_for_a_boundary() {
    let options = Options::default()
        .snapshots(Snapshots::OnDemand)
        .epoch(Duration::from_millis(2))
        .snapshot_every(10);
    let db = Database::in_memory_with(options).unwrap();
    let rows = counters(&db, 5);
    db.run(|tx| tx.put(&rows, &0, &5)).unwrap();
    // Armed by the first snapshot, which therefore sees all that came before it was asked for.
    assert_eq!(db.snapshot(|snapshot| snapshot.get(&rows, &0)), Ok(Some(5)));
}
