//! Databases crash and recover: the short version of `chiliad campaign --disk`.

mod common;

use common::{chiliad, result, stderr};

/// Every rare branch must be taken, too: with so many seeds a campaign asks for that.
#[test]
fn what_a_crash_leaves_behind_is_what_was_promised() {
    let campaign = result("campaign --disk --seeds 0..200 --scheme silo --workload bank");
    assert_eq!(campaign["runs"], 200);
    assert!(campaign["failed"].is_null(), "{campaign}");
    assert!(campaign["transactions"].as_u64() > Some(5000), "{campaign}");
}

#[test]
fn all_schemes_and_workloads_recover() {
    let output = chiliad("campaign --disk --seeds 0..8 --scheme all --workload all --quiet");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_crash_that_fails_says_how_to_repeat_it() {
    let line = "campaign --plant replayed-as-found --seeds 0..1";
    let caught = result(line);
    let replay = caught["plants"][0]["replay"].as_str().expect("caught").to_owned();
    let again = result(replay.strip_prefix("chiliad ").expect("a line of the command"));
    assert_eq!(again["plants"][0]["text"], caught["plants"][0]["text"]);
}
