//! A writer that rests: who wakes it meanwhile, and who does not.

use chiliad_log::{Log, LogOptions, LogWriter};
use chiliad_machine::{Machine, Native, Woken};
use chiliad_simulator::{DiskFaults, FaultyDisk};
use std::sync::Arc;

/// A log whose writer this thread runs.
fn log() -> (Log<Native>, LogWriter<Native>) {
    let disk = Arc::new(FaultyDisk::new(1, DiskFaults::default()));
    let begun = Log::begin(disk, 7, 1, LogOptions::default(), []);
    let (log, mut writers) = begun.expect("the disk is sound");
    let mut writer = writers.pop().expect("a log has a writer");
    writer.step(&log);
    (log, writer)
}

/// Somebody has woken this thread, which would wait for that long.
fn is_woken() -> bool {
    Native::park_until(Native::now() + 60 * Native::ticks_per_second()) == Woken::ByPeer
}

/// Nobody has woken this thread.
fn is_left() -> bool {
    Native::park_until(Native::now() + Native::ticks_per_second() / 1_000) == Woken::ByTime
}

#[test]
fn a_writer_that_rests_is_not_woken_by_who_hurries() {
    let (log, _writer) = log();
    log.hurry(1);
    assert!(is_woken(), "it does not rest yet");
    (0..3).for_each(|_| log.transaction_opened());
    log.rest_while_open(2);
    log.hurry(2);
    assert!(is_left() && log.is_urgent(), "it looks when its time has come");
    log.rest_while_open(0);
    log.hurry(3);
    assert!(is_woken(), "it has ended its rest");
    log.hurry(3);
    assert!(is_left(), "the epoch was asked for before");
}

#[test]
fn whoever_leaves_few_transactions_open_wakes_it() {
    let (log, _writer) = log();
    (0..3).for_each(|_| log.transaction_opened());
    log.transaction_closed();
    assert!(is_left(), "it does not rest");
    log.transaction_opened();
    log.rest_while_open(2);
    log.transaction_closed();
    assert!(is_left(), "two are at work");
    log.transaction_closed();
    assert!(is_woken(), "one is at work");
}
