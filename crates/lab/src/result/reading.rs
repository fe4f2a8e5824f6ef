//! The numbers of a result that charts and claims are made of.

use serde_json::Value;

/// The parts of a transaction's time, as results name them.
pub const PARTS: [&str; 6] = ["useful", "abort", "timestamp", "index", "wait", "manager"];

/// The parts of the cores' time, as results name them.
pub const CORE_TIME: [&str; 4] = ["committed", "aborted", "stalled", "idle"];

/// The numbers of a run; what it does not have is missing.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Reading {
    /// Transactions, or whatever the workload counts, per second.
    pub throughput: Option<f64>,
    /// Cores that the clients could run on.
    pub cores: Option<f64>,
    /// Rows that a transaction accesses.
    pub ops: Option<f64>,
    /// The share of attempts that were refused.
    pub abort_rate: Option<f64>,
    /// The median latency, and the one that one transaction in a hundred exceeds, in microseconds.
    pub latency_us: [Option<f64>; 2],
    /// The simulated memory handed out.
    pub memory_bytes: Option<f64>,
    /// Bytes of records appended per second.
    pub bytes: Option<f64>,
    /// Of meld alone, the cost of its stages.
    pub costs: Option<Costs>,
    /// Instructions of a transaction.
    pub instructions: Option<f64>,
    /// Shares of time, as in [`PARTS`].
    pub parts: [Option<f64>; PARTS.len()],
    /// Shares of the cores' time, as in [`CORE_TIME`].
    pub core_time: [Option<f64>; CORE_TIME.len()],
    /// At index `n` how many records have `n` older versions.
    pub versions: Option<Vec<u64>>,
}

/// The cost of the stages that decide intentions, for each intention.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Costs {
    /// Nanoseconds of building on the state that was read.
    pub build_ns: f64,
    /// Of premeld.
    pub premeld_ns: f64,
    /// Of the last stage.
    pub last_ns: f64,
    /// Of all stages.
    pub all_ns: f64,
    /// Nodes that the last stage looks at.
    pub visited: f64,
    /// Nodes that it makes.
    pub made: f64,
    /// Intentions between the state that an overlay was last built on and the intention.
    pub zone_left: f64,
}

impl Reading {
    /// Reads a result as JSON has it.
    #[must_use]
    pub fn of(result: &Value) -> Self {
        let versions = result["versions"].as_array();
        Self {
            throughput: result["throughput_tps"].as_f64(),
            cores: result["threads"].as_f64(),
            ops: result["options"]["ops"].as_f64(),
            abort_rate: result["abort_rate"].as_f64(),
            latency_us: ["p50", "p99"].map(|at| result["latency_us"][at].as_f64()),
            memory_bytes: result["memory_bytes"].as_f64(),
            bytes: None,
            costs: None,
            instructions: None,
            parts: PARTS.map(|part| result["breakdown"][part].as_f64()),
            core_time: CORE_TIME.map(|part| result["core_time"][part].as_f64()),
            versions: versions.map(|counts| counts.iter().filter_map(Value::as_u64).collect()),
        }
    }
}
