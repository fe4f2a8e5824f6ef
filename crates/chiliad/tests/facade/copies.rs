//! Copies of a directory that is in use, file by file in any order, as `cp -r` makes them.

use crate::common::{Scratch, killed};
use chiliad::{Database, Durability, Error, Options, Table};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

const THREADS: u64 = 3;
const COPIES: u32 = 15;

/// The directory's listing, and its manifest: while these stay, a copy is taken, but for one that read a file where a
/// frame had yet to be written, and read on after the frame that followed.
fn outline(path: &Path) -> (BTreeSet<OsString>, Vec<u8>) {
    let names = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name());
    (names.collect(), std::fs::read(path.join("MANIFEST")).unwrap())
}

/// Each thread inserts 0, 1, 2 and so on under its own number, and says how many were acknowledged. Each copy has these, and
/// of each thread no gap.
fn copies_are_moments(options: Options) {
    let path = Scratch::new();
    let db = Database::open_with(&path, options).unwrap();
    let rows: Table<(u64, u64), Vec<u8>> = db.create_table("rows").unwrap();
    let over = AtomicBool::new(false);
    let acknowledged: Vec<AtomicU64> = (0..THREADS).map(|_| AtomicU64::new(0)).collect();
    let durable = |thread: u64, count: u64| {
        acknowledged[thread as usize].store(count, Ordering::Relaxed);
    };
    let (mut taken, mut overtaken) = (0, 0);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (db, over, durable) = (&db, &over, &durable);
            scope.spawn(move || {
                for count in 0.. {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    let row = vec![thread as u8; 700];
                    db.submit(|tx| tx.insert(&rows, &(thread, count), &row))
                        .and_then(chiliad::Pending::wait)
                        .unwrap();
                    durable(thread, count + 1);
                }
            });
        }
        let look = || {
            while taken < COPIES {
                let least: Vec<u64> =
                    acknowledged.iter().map(|count| count.load(Ordering::Relaxed)).collect();
                let before = outline(&path);
                let copy = killed(&path);
                let stayed = before == outline(&path);
                let opened = match Database::open(&copy) {
                    Ok(opened) => opened,
                    Err(Error::Data(_)) if !stayed => continue,
                    Err(Error::Data(error)) if overtaken < COPIES => {
                        assert!(error.to_string().contains("what was durable here"), "{error}");
                        overtaken += 1;
                        continue;
                    }
                    Err(error) => panic!("{error}"),
                };
                let there: Table<(u64, u64), Vec<u8>> = opened.table("rows").unwrap();
                let keys = opened.run(|tx| tx.scan(&there, ..).keys()).unwrap();
                for thread in 0..THREADS {
                    let own = keys.iter().filter(|key| key.0 == thread).map(|key| key.1);
                    let own: Vec<u64> = own.collect();
                    assert_eq!(own, (0..own.len() as u64).collect::<Vec<_>>());
                    assert!(own.len() as u64 >= least[thread as usize], "{least:?}");
                }
                taken += 1;
            }
        };
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(look));
        over.store(true, Ordering::Relaxed);
        looked.unwrap();
    });
}

#[test]
fn a_copy_of_a_directory_in_use_is_a_moment_of_it() {
    copies_are_moments(Options::default().log_writers(2));
}

#[test]
fn so_it_is_where_segments_are_short_and_epochs_pass_by_themselves() {
    let options = Options::default().durability(Durability::Epoch).log_segment_bytes(1 << 20);
    copies_are_moments(options.epoch(std::time::Duration::from_millis(2)));
}
