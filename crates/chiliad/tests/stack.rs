//! A closure that uses up its stack ends the process with a line that says so.

use chiliad::{Database, RunOptions, Table};
use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

const CHILD: &str = "CHILIAD_TEST_STACK_DEPTH";
const SIGABRT: i32 = 6;

/// Uses at least a kilobyte of stack for each level.
#[inline(never)]
fn recurse(levels: u64) -> u64 {
    let frame = black_box([levels; 128]);
    if levels == 0 { frame[0] } else { recurse(levels - 1) + black_box(&frame)[127] }
}

/// Runs this file's child test in a process of its own.
fn child(levels: u64) -> Output {
    let this = std::env::current_exe().unwrap();
    let mut command = Command::new(this);
    command.args(["--exact", "child_that_recurses", "--nocapture"]);
    command.env(CHILD, levels.to_string()).output().unwrap()
}

/// By itself it is the harmless one of two children.
#[test]
fn child_that_recurses() {
    let levels = std::env::var(CHILD).map_or(100, |levels| levels.parse().unwrap());
    let db = Database::in_memory().unwrap();
    let rows: Table<u64, u64> = db.create_table("rows").unwrap();
    let options = RunOptions::default().in_flight(3);
    let results = db.run_each_with(&options, 0..6, |tx, key| {
        tx.put(&rows, key, &1)?;
        let sum = if *key == 4 { recurse(levels) } else { 0 };
        tx.get(&rows, key).map(|value| (value, sum))
    });
    let sum = levels * (levels + 1) / 2;
    let expected = (0..6).map(|key| Ok((Some(1), if key == 4 { sum } else { 0 })));
    assert_eq!(results, Ok(expected.collect()));
}

#[test]
fn a_stack_that_is_used_up_ends_the_process_with_a_line() {
    let sound = child(100);
    assert!(sound.status.success(), "{sound:?}");
    let over = child(100_000);
    assert_eq!(over.status.signal(), Some(SIGABRT), "{over:?}");
    let said = String::from_utf8_lossy(&over.stderr);
    assert!(said.contains("chiliad: a closure has used up its stack of 512 KiB"), "{said}");
}
