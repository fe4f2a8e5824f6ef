//! `chiliad crash`: nothing that was acknowledged is lost, and what is lost is found out.

mod common;

use common::{Folder, chiliad, result, stderr, stdout};
use serde_json::Value;

/// Runs so many cycles, which must pass.
#[track_caller]
fn passes(line: &str, cycles: u64) -> Value {
    let report = result(&format!("crash --cycles {cycles} --threads 2 {line}"));
    assert_eq!(report["lost"], 0, "{report}");
    assert_eq!(report["cycles"], cycles, "{report}");
    assert!(report["acknowledged"].as_u64() > Some(0), "{report}");
    let ended = report["ended"].as_object().expect("how the processes ended");
    assert_eq!(ended.values().filter_map(Value::as_u64).sum::<u64>(), cycles);
    report
}

#[test]
fn no_transfer_is_lost() {
    let report = passes("--workload bank --durability sync", 15);
    for how in ["opening", "working", "checkpoint", "closed"] {
        assert!(report["ended"].get(how).is_some(), "{report}");
    }
    passes("--workload bank --durability epoch --seed 2", 10);
}

#[test]
fn no_order_is_lost() {
    passes("--workload tpcc --durability sync", 5);
    passes("--workload tpcc --durability epoch --scheme partitioned", 5);
}

#[test]
fn a_directory_is_gone_on_with() {
    let folder = Folder::new("crash-again");
    let data = folder.file("data");
    for workload in ["bank", "tpcc"] {
        let data = format!("{data}-{workload}");
        for seed in 1..=2 {
            passes(&format!("--workload {workload} --data {data} --seed {seed}"), 4);
        }
        assert_eq!(chiliad(&format!("recover {data} --quiet")).status.code(), Some(0));
    }
}

#[test]
fn what_is_acknowledged_too_early_is_missed() {
    let folder = Folder::new("crash-planted");
    for workload in ["bank", "tpcc"] {
        let data = folder.file(workload);
        let line = format!(
            "crash --cycles 40 --workload {workload} --durability epoch --data {data} \
             --plant early-acknowledgement --json -"
        );
        let output = chiliad(&line);
        assert_eq!(output.status.code(), Some(1), "{}{}", stdout(&output), stderr(&output));
        let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        assert!(report["lost"].as_u64() > Some(0), "{report}");
        assert!(stderr(&output).contains("acknowledged"), "{}", stderr(&output));
        assert!(stderr(&output).contains(&format!("kept: {data}")), "{}", stderr(&output));
    }
}

#[test]
fn bad_flags_are_refused() {
    for (line, parts) in [
        ("crash --cycles 0", ["--cycles", "1 to 1000000"]),
        ("crash --workload chess", ["--workload", "bank, tpcc"]),
        ("crash --threads 65", ["--threads", "1 to 64"]),
        ("crash --durability none", ["--durability", "epoch, sync"]),
        ("crash --scheme foo", ["--scheme", "silo"]),
        ("crash --scheme key-value", ["--scheme", "has no transactions"]),
        ("recover", ["DIR", "missing"]),
        ("backup x", ["TO", "missing"]),
    ] {
        let output = chiliad(line);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert_eq!(said.lines().count(), 1, "{line}: {said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{line}: {said}");
    }
    let said = stderr(&chiliad("dance"));
    assert!(
        said.contains("recover, inspect, backup, restore, crash") && !said.contains("child"),
        "{said}"
    );
}

#[test]
fn servers_that_share_a_log_lose_nothing() {
    let folder = Folder::new("crash-servers");
    let log = folder.file("log");
    let line = format!("crash --scheme hyder --servers 3 --cycles 12 --shared-log {log}");
    let report = result(&line);
    assert_eq!((&report["lost"], &report["cycles"]), (&0.into(), &12.into()), "{report}");
    assert_eq!((&report["servers"], &report["processes"]), (&3.into(), &1.into()), "{report}");
    for count in ["acknowledged", "killed", "checkpoints"] {
        assert!(report[count].as_u64() > Some(0), "{report}");
    }
    let again = chiliad(&line);
    assert_eq!(again.status.code(), Some(2), "it has a database: {}", stderr(&again));
}

#[test]
fn what_a_server_acknowledges_too_early_is_missed() {
    let line = "crash --scheme hyder --cycles 40 --plant early-acknowledgement --quiet --json -";
    let output = chiliad(line);
    assert_eq!(output.status.code(), Some(1), "{}{}", stdout(&output), stderr(&output));
    let kept = stderr(&output);
    let log = kept.lines().find_map(|line| line.strip_prefix("the log is kept: ")).expect("kept");
    let place = std::path::Path::new(log).parent().expect("a directory of its own");
    std::fs::remove_dir_all(place).expect("removed");
}
