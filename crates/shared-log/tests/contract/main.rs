//! The contract of shared logs, held against every implementation. What to add for another one: a module below.

mod planted;
mod suite;

use chiliad_machine::Native;
use chiliad_machine::shared_log::{SharedLog, SharedLogError};
use chiliad_shared_log::{DelayedLog, FileLog, FileLogOptions, MemoryLog};
use chiliad_simulator::{DiskFaults, FaultyDisk, FaultyLog, LogFaults};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use suite::Subject;

/// One test for each promise, on the logs that an expression makes.
macro_rules! contract {
    ($name:ident, $make:expr) => {
        contract!($name, $make;
            records_come_back_in_order,
            nothing_and_empty_records_are_told_apart,
            a_reader_takes_as_much_as_it_asked_for,
            what_is_too_large_is_refused_whole,
            what_is_trimmed_is_gone_and_positions_go_on,
            a_reader_that_waits_is_woken,
            everybody_sees_one_sequence,
            what_bounds_say_is_there,
            a_reader_is_told_when_it_was_overtaken_by_a_trim,
            each_log_has_an_identity_of_its_own
        );
    };
    ($name:ident, $make:expr; $($promise:ident),+) => {
        mod $name {
            use super::*;
            $(
                #[test]
                fn $promise() {
                    suite::$promise(&$make);
                }
            )+
        }
    };
}

contract!(memory, || {
    let log = MemoryLog::limited(usize::MAX, 10_000);
    Subject::new(Arc::new(log.clone()), Arc::new(log))
});

/// A number that no test has had.
fn fresh_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Relaxed: only that they differ.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

contract!(simulated, || {
    let log = FaultyLog::new(fresh_number(), LogFaults::default());
    Subject::new(log.server(1), log.server(2))
});

/// Small segments, so that records lie in many.
const SMALL: FileLogOptions =
    FileLogOptions::new().segment_bytes(24 << 10).record_bytes_max(10_000);

contract!(files, || {
    let directory = Scratch::new();
    let log = FileLog::<Native>::open_directory(&directory.0, SMALL).unwrap();
    Subject::new(Arc::new(log.clone()), Arc::new(log)).keeping(directory)
});

fn on_a_disk(options: FileLogOptions) -> Subject {
    let disk = FaultyDisk::new(fresh_number(), DiskFaults::default());
    let log = FileLog::<Native>::open(Arc::new(disk), options).unwrap();
    Subject::new(Arc::new(log.clone()), Arc::new(log))
}

contract!(files_read_from_memory, || on_a_disk(SMALL));
contract!(files_read_from_disk, || on_a_disk(SMALL.memory_bytes(0)));
contract!(files_read_from_both, || on_a_disk(SMALL.memory_bytes(2000)));

contract!(delayed, || {
    let inner = Arc::new(MemoryLog::limited(usize::MAX, 10_000));
    let delayed = |delay| DelayedLog::<Native>::new(inner.clone(), Duration::from_micros(delay));
    Subject::new(Arc::new(delayed(200)), Arc::new(delayed(0)))
});

#[test]
fn no_record_is_seen_before_its_delay_is_over() {
    let delay = Duration::from_millis(20);
    let inner = Arc::new(MemoryLog::new());
    let log = DelayedLog::<Native>::new(inner.clone(), delay);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| log.append(&[b"record"]).unwrap());
        }
        while inner.bounds().unwrap().end == 1 {
            std::thread::yield_now();
        }
        assert!(begun.elapsed() >= delay, "nobody sees a record before");
    });
    assert_eq!(log.bounds().unwrap(), 1..51);
}

/// A directory that no test has had, and that goes with the value.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let name = format!("chiliad-shared-log-{}-{}", std::process::id(), fresh_number());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_full_memory_takes_records_again_after_a_trim() {
    let log = MemoryLog::limited(100, 60);
    log.append(&[&[1; 60]]).unwrap();
    assert!(matches!(log.append(&[&[2; 60]]), Err(SharedLogError::Full(_))));
    assert_eq!((log.bounds().unwrap(), log.stored_bytes()), (1..2, Some(60)));
    log.append(&[&[2; 40]]).unwrap();
    log.trim(2).unwrap();
    log.append(&[&[3; 60]]).unwrap();
    assert_eq!((log.bounds().unwrap(), log.stored_bytes()), (2..4, Some(100)));
}
