//! TxBench from the command line: verified under simulated and native schemes, with a hot spot, with a
//! transaction that stalls.

mod common;

use common::{Folder, result};
use serde_json::Value;

/// Of every family one or more.
const SCHEMES: [&str; 7] =
    ["silo", "no-wait", "wait-die", "dl-detect", "mvcc", "occ", "h-store --partitions 1"];

#[track_caller]
fn assert_sound(line: &str, result: &Value) {
    assert_eq!(result["verified"]["passed"], true, "{line}: {}", result["verified"]);
    assert_eq!(result["consistency"]["checked"], 2, "{line}");
    let failed = result["consistency"]["failed"].as_array().map(Vec::len);
    assert_eq!(failed, Some(0), "{line}: {}", result["consistency"]);
}

fn committed(result: &Value) -> u64 {
    result["committed"].as_u64().expect("a count")
}

#[test]
fn random_schedules_are_serializable() {
    for scheme in SCHEMES {
        for (seed, flags) in [
            (1, "--updates 100 --rows 12"),
            (2, "--hotspot 30 --rows-read 5 --memory-model tso"),
            (3, "--interleave 3 --rows-read 20 --kept-bytes 16"),
        ] {
            let line = format!(
                "simulate txbench --schedule random --verify --seed {seed} --scheme {scheme} {flags}"
            );
            let result = result(&line);
            assert_eq!(result["verdict"], "completed", "{line}");
            assert_sound(&line, &result);
        }
    }
}

#[test]
fn who_waits_for_a_stalled_transaction_waits_until_the_run_is_over() {
    // It reads all rows of a table, which every client sooner or later wants to update.
    let all = "--rows 6 --rows-read 6 --updates 100 --snapshot-reads no --verify";
    // Under other seeds `wait-die` starves by itself when everybody who was refused comes back at once.
    for (schedule, window, stalled_at) in
        [("--schedule random --seed 4", "300ms", "20ms"), ("--scale micro --seed 5", "3ms", "40us")]
    {
        for scheme in SCHEMES {
            let line =
                format!("simulate txbench {schedule} --scheme {scheme} {all} --duration {window}");
            let free = result(&line);
            let line = format!("{line} --stalled-at {stalled_at}");
            let stalled = result(&line);
            for result in [&free, &stalled] {
                assert_eq!(result["verdict"], "completed", "{line}");
                assert_sound(&line, result);
            }
            assert_eq!(stalled["options"]["stalled_at"], stalled_at);
            let (free, stalled) = (committed(&free), committed(&stalled));
            assert!(stalled > 0, "{line}");
            let is_held_up = stalled * 2 < free;
            let has_locks = !["silo", "mvcc", "occ"].contains(&scheme);
            assert_eq!(is_held_up, has_locks, "{line}: {stalled} of {free}");
        }
    }
}

#[test]
fn a_stalled_transaction_does_not_hold_up_those_that_only_read() {
    for scheme in ["silo", "wait-die", "mvcc"] {
        let line = format!(
            "simulate txbench --cores 8 --rows 1000 --scheme {scheme} --duration 200us --warmup 20us"
        );
        let free = result(&line);
        let stalled = result(&format!("{line} --stalled-at 0us"));
        // It counts nowhere itself.
        for result in [&free, &stalled] {
            assert_eq!(result["rolled_back"], 0, "{line}");
            assert_eq!(result["aborted"], 0, "{line}");
        }
        let share = committed(&stalled) as f64 / committed(&free) as f64;
        assert!((0.95..1.05).contains(&share), "{line}: {share}");
    }
}

#[test]
fn a_stalled_transaction_shows_in_the_series_of_a_native_run() {
    let folder = Folder::new("stalled");
    let series = folder.file("series.csv");
    let line = format!(
        "bench txbench --scheme no-wait --scale micro --rows 6 --updates 100 --threads 2 --warmup 0s \
         --duration 1500ms --stalled-at 300ms --verify --series {series}"
    );
    let result = result(&line);
    assert_sound(&line, &result);
    assert_eq!(result["rolled_back"], 0);
    let samples = std::fs::read_to_string(&series).expect("a series");
    let rates: Vec<f64> = samples
        .lines()
        .skip(1)
        .map(|sample| sample.split(',').nth(1).and_then(|it| it.parse().ok()).expect("a rate"))
        .collect();
    assert!(rates[0] > 0.0, "{rates:?}");
    // What it has read everybody wants to update, and nobody can.
    assert_eq!(rates.last(), Some(&0.0), "{rates:?}");
}

#[test]
fn the_hot_spot_is_where_updates_meet() {
    let line = "simulate txbench --cores 16 --rows 4000 --updates 50 --scheme no-wait --duration \
                200us --warmup 20us";
    let aborted = |flags: &str| result(&format!("{line} {flags}"))["abort_rate"].as_f64();
    assert!(aborted("--hotspot 1").expect("a share") > 4.0 * aborted("").expect("a share"));
}
