//! Loads on few rows, watched for commits: the short version of an hour of `chiliad soak`.

mod common;

use common::{chiliad, result, stderr, stdout};

/// The cells of a result, each with how it is named.
fn cells(line: &str) -> Vec<(String, serde_json::Value)> {
    let result = result(line);
    assert_eq!(result["failed"], serde_json::json!([]), "{line}");
    let cells = result["cells"].as_array().expect("cells").clone();
    let name = |cell: &serde_json::Value| {
        let [machine, scheme, workload] =
            ["machine", "scheme", "workload"].map(|name| cell[name].as_str().expect("a name"));
        format!("{machine} {scheme} {workload} {}", cell["interleave"])
    };
    cells.into_iter().map(|cell| (name(&cell), cell)).collect()
}

/// Each commits, refuses, and says how long nobody got on.
fn look(cells: &[(String, serde_json::Value)], count: usize) {
    assert_eq!(cells.len(), count);
    for (name, cell) in cells {
        assert!(cell["committed"].as_u64() > Some(0), "{name}: {cell}");
        assert!(cell["longest_idle"].as_f64() > Some(0.0), "{name}: {cell}");
        assert!(cell["throughput"].as_f64() > Some(0.0), "{name}: {cell}");
    }
}

#[test]
fn everybody_gets_on_in_simulation() {
    for scheme in ["lock-table", "lock-table-global"] {
        let line = format!("soak --simulated --scheme {scheme} --workload scan --interleave 8");
        look(&cells(&line), 2);
    }
    // Seen to go on for ever where waits between two attempts stay shorter than the transactions.
    let line = "soak --simulated --scheme dl-detect --workload scan --interleave 1 --seed 100";
    let (first, second) = (cells(line), cells(line));
    look(&first, 2);
    assert_eq!(first, second, "functions of the seed");
}

#[test]
fn everybody_gets_on_natively() {
    let line = "soak --native --workload scan --scheme lock-table --interleave 2,8 --cell 50ms \
                --idle-max 300s --rounds 2 --seed 5";
    let cells = cells(line);
    look(&cells, 2);
    assert!(cells.iter().all(|(_, cell)| cell["runs"] == 2));
}

#[test]
fn people_are_told() {
    let output =
        chiliad("soak --simulated --scheme silo --workload bank --interleave 1,1 --seed 9");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("longest without a commit"), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("silo")).count(), 2, "{text}");
    assert!(text.contains("somebody always got on"), "{text}");
}

#[test]
fn what_is_no_soak_is_refused() {
    for (words, flag) in [
        ("soak --workload tpcc", "--workload"),
        ("soak --scheme none", "--scheme"),
        ("soak --interleave 0", "--interleave"),
        ("soak --native --simulated", "--native"),
        ("soak --rounds 2 --duration 1s", "--duration"),
        ("soak --idle-max 0s", "--idle-max"),
    ] {
        let output = chiliad(words);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{words}: {text}");
        assert!(text.contains(flag) && text.lines().count() == 1, "{words}: {text}");
    }
}
