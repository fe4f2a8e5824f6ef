//! Crate edges point downwards only, and the rooms that run under a scheme stand on nothing foreign.

use super::Complaints;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Who may depend on whom, from the bottom up: every edge of the workspace is listed here.
const ROOMS: &[(&str, &[&str])] = &[
    ("chiliad-machine", &[]),
    ("chiliad-host", &["chiliad-machine"]),
    ("chiliad-words", &["chiliad-host"]),
    ("chiliad-checker", &[]),
    ("chiliad-derive", &[]),
    ("chiliad-loom", &["chiliad-machine"]),
    ("chiliad-simulator", &["chiliad-machine"]),
    ("chiliad-row", &[]),
    ("chiliad-storage", &["chiliad-machine"]),
    ("chiliad-log", &["chiliad-machine"]),
    ("chiliad-shared-log", &["chiliad-machine", "chiliad-log"]),
    ("chiliad-lock", &["chiliad-machine"]),
    ("chiliad-api", &["chiliad-machine", "chiliad-row", "chiliad-storage", "chiliad-log"]),
    (
        "chiliad-engine",
        &["chiliad-machine", "chiliad-storage", "chiliad-lock", "chiliad-log", "chiliad-api"],
    ),
    ("chiliad-simulated", &["chiliad-simulator", "chiliad-engine"]),
    ("chiliad-hyder", &["chiliad-machine", "chiliad-storage", "chiliad-log", "chiliad-api"]),
    ("chiliad-swarm", &["chiliad-machine", "chiliad-api"]),
    (
        "chiliad",
        &[
            "chiliad-machine",
            "chiliad-api",
            "chiliad-engine",
            "chiliad-hyder",
            "chiliad-shared-log",
            "chiliad-derive",
            "chiliad-jetstream",
        ],
    ),
    ("chiliad-sql", &["chiliad-api", "chiliad-row"]),
    ("chiliad-server", &["chiliad-machine", "chiliad-sql", "chiliad"]),
    ("chiliad-workload", &["chiliad-machine", "chiliad-api", "chiliad-swarm", "chiliad-sql"]),
    (
        "chiliad-driver",
        &[
            "chiliad-machine",
            "chiliad-host",
            "chiliad-simulator",
            "chiliad-storage",
            "chiliad-lock",
            "chiliad-api",
            "chiliad-engine",
            "chiliad-simulated",
            "chiliad-hyder",
            "chiliad-shared-log",
            "chiliad-swarm",
            "chiliad-workload",
            "chiliad-checker",
        ],
    ),
    (
        "chiliad-rig",
        &[
            "chiliad-machine",
            "chiliad-host",
            "chiliad-simulator",
            "chiliad-log",
            "chiliad-api",
            "chiliad-engine",
            "chiliad-hyder",
            "chiliad-swarm",
            "chiliad-workload",
            "chiliad-driver",
            "chiliad-checker",
            "chiliad",
        ],
    ),
    (
        "chiliad-lab",
        &[
            "chiliad-machine",
            "chiliad-host",
            "chiliad-simulator",
            "chiliad-engine",
            "chiliad-workload",
            "chiliad-driver",
            "chiliad-checker",
        ],
    ),
    (
        "chiliad-cli",
        &[
            "chiliad-host",
            "chiliad-lab",
            "chiliad-words",
            "chiliad-machine",
            "chiliad-simulator",
            "chiliad-engine",
            "chiliad-workload",
            "chiliad-driver",
            "chiliad-rig",
            "chiliad-checker",
            "chiliad",
            "chiliad-server",
        ],
    ),
    ("xtask", &[]),
];

/// What tests of any room may use besides.
const RIGS: &[&str] = &["chiliad-api", "chiliad-loom", "chiliad-simulator", "chiliad-checker"];

/// What the tests of one room use besides: it is below these.
const TESTED_WITH: &[(&str, &[&str])] = &[
    ("chiliad-sql", &["chiliad-engine"]),
    // Else its tests would compile every scheme for the simulator once more.
    ("chiliad-engine", &["chiliad-simulated"]),
];

/// The foreign crates of the rooms where each needs a reason: no ready-made locks, epochs, pools.
const FOREIGN: &[(&str, &[&str])] = &[
    ("chiliad-machine", &["corosensei", "libc"]),
    // By features, for their types as columns.
    ("chiliad-row", &["chrono", "jiff", "rust_decimal", "uuid"]),
    ("chiliad-storage", &[]),
    ("chiliad-lock", &[]),
    ("chiliad-log", &["crc32fast", "lz4_flex"]),
    ("chiliad-shared-log", &[]),
    ("chiliad-api", &[]),
    ("chiliad-engine", &[]),
    ("chiliad-checker", &["crc32fast"]),
];

/// One dependency of one package.
#[derive(Debug)]
pub struct Edge {
    from: String,
    to: String,
    ours: bool,
    for_tests: bool,
}

/// The edges of the workspace, from `cargo metadata`.
pub fn read(root: &Path) -> Result<Vec<Edge>, String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("metadata: {error}"))?;
    let mut edges = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            edges.push(Edge {
                from: package["name"].as_str().unwrap_or_default().into(),
                to: dependency["name"].as_str().unwrap_or_default().into(),
                ours: dependency["path"].is_string(),
                for_tests: dependency["kind"] == "dev",
            });
        }
    }
    Ok(edges)
}

/// All edges against the lists above.
pub fn check(edges: &[Edge]) -> Complaints {
    edges.iter().filter_map(complaint).collect()
}

fn complaint(edge: &Edge) -> Option<String> {
    let Edge { from, to, ours, for_tests } = edge;
    let listed = |list: &[(&str, &[&str])]| {
        list.iter().find(|room| room.0 == from).map(|room| room.1.contains(&to.as_str()))
    };
    let allowed = match (ours, for_tests) {
        (true, false) => listed(ROOMS).unwrap_or(false),
        // A crate that depends on itself tests its own features.
        (true, true) => {
            let listed = listed(ROOMS) == Some(true) || listed(TESTED_WITH) == Some(true);
            from == to || listed || RIGS.contains(&to.as_str())
        }
        (false, false) => listed(FOREIGN).unwrap_or(true),
        (false, true) => true,
    };
    (!allowed).then(|| format!("{from}: may not depend on {to} (xtask/src/tidy/edges.rs)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: &str, to: &str, ours: bool, for_tests: bool) -> Edge {
        Edge { from: from.into(), to: to.into(), ours, for_tests }
    }

    #[test]
    fn edges_that_point_upwards_or_outside_are_refused() {
        let good = [
            edge("chiliad-engine", "chiliad-storage", true, false),
            edge("chiliad-storage", "chiliad-simulator", true, true),
            edge("chiliad-storage", "loom", false, true),
            edge("chiliad-driver", "hdrhistogram", false, false),
            edge("chiliad", "chiliad", true, true),
        ];
        assert!(check(&good).is_empty());
        let bad = [
            edge("chiliad-storage", "chiliad-engine", true, false),
            edge("chiliad-workload", "chiliad-driver", true, true),
            edge("chiliad-storage", "chiliad-simulator", true, false),
            edge("chiliad-checker", "chiliad-machine", true, false),
            edge("chiliad-engine", "crossbeam-epoch", false, false),
            edge("unlisted", "chiliad-machine", true, false),
        ];
        assert_eq!(check(&bad).len(), bad.len());
    }
}
