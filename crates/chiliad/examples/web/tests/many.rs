//! Ten thousand requests at once on two threads of a runtime.

use chiliad::{Database, Durability, Options, Table};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const REQUESTS: u64 = 10_000;

#[test]
fn ten_thousand_at_once_leave_the_runtime_free() {
    let directory = std::env::temp_dir().join(format!("chiliad-many-{}", std::process::id()));
    _ = std::fs::remove_dir_all(&directory);
    let options = Options::default().durability(Durability::Sync).async_threads(2);
    let db = Database::open_with(&directory, options).unwrap();
    let counters: Table<u64, u64> = db.create_table("counters").unwrap();
    db.bulk_load(&counters, (0..1_000).map(|key| (key, 0))).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let (over, beats) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    runtime.block_on(async {
        let heart = {
            let (over, beats) = (Arc::clone(&over), Arc::clone(&beats));
            tokio::spawn(async move {
                let mut longest = Duration::ZERO;
                while !over.load(Ordering::Relaxed) {
                    let asked = Instant::now();
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    longest = longest.max(asked.elapsed());
                    beats.fetch_add(1, Ordering::Relaxed);
                }
                longest
            })
        };
        let begun = Instant::now();
        let requests: Vec<_> = (0..REQUESTS)
            .map(|at| {
                let db = db.clone();
                tokio::spawn(async move {
                    let key = at % 1_000;
                    db.run_async(move |tx| tx.update(&counters, &key, |count| *count += 1)).await
                })
            })
            .collect();
        for request in requests {
            assert_eq!(request.await.unwrap(), Ok(Some(())));
        }
        let took = begun.elapsed();
        over.store(true, Ordering::Relaxed);
        let longest = heart.await.unwrap();
        println!(
            "{REQUESTS} durable transactions at once: {took:?}, {:.0} a second; a sleep of 1 ms took {longest:?} at most",
            REQUESTS as f64 / took.as_secs_f64()
        );
    });
    let counts = db.run(|tx| tx.scan(&counters, ..).values()).unwrap();
    assert_eq!(counts, [REQUESTS / 1_000; 1_000]);
    assert!(beats.load(Ordering::Relaxed) > 0);
    drop(runtime);
    db.close().unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
}
