//! The result of one run as JSON: the fields of the documented contract, in its order.

use super::deferred::DeferredResult;
use super::task_counts::TaskResult;
use crate::built::{BUILD, Build};
use crate::spec::Shown;
use chiliad_checker::Verdict;
use chiliad_driver::{
    Breakdown, Counted, FollowingCost, KindTally, NativeReport, SimulatedReport, Tally,
};
use chiliad_engine::Reason;
use chiliad_host::computer;
use chiliad_simulator::Timings;
use chiliad_workload::Condition;
use hdrhistogram::{Counter, Histogram};
use serde::Serialize;
use serde_json::{Map, Value};

/// One run.
#[derive(Serialize)]
pub struct RunResult {
    /// The workload's name.
    pub workload: String,
    /// The scheme's name.
    pub scheme: String,
    /// `native` or `simulated`.
    pub machine: &'static str,
    /// Cores that the clients could run on.
    pub threads: usize,
    /// Concurrent clients.
    pub clients: usize,
    /// The seed.
    pub seed: u64,
    /// The length of the measured window, simulated in simulation.
    pub seconds: f64,
    /// A signal ended the window before its time.
    #[serde(skip_serializing_if = "is_not")]
    pub interrupted: bool,
    /// The counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// The history's verdict.
    pub verified: Option<Verified>,
    /// The workload's conditions.
    pub consistency: Option<Consistency>,
    /// Requests that waited for the owner of their partition; absent where none may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred: Option<DeferredResult>,
    /// The differences between the servers of one log, or from the same requests one after another, where conditions
    /// were checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
    /// The work of a run with a log on its disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskUse>,
    /// At index `n` how many records have `n` older versions; where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versions: Option<Vec<u64>>,
    /// The part that only a simulated run has.
    #[serde(flatten)]
    pub simulation: Option<Simulation>,
    /// Every resolved option that changes a run.
    pub options: Map<String, Value>,
    /// The build.
    pub build: Build,
    /// Resident memory of the process at the end of the window.
    pub host_memory_bytes: u64,
    /// The processor.
    pub host_cpu: String,
}

/// Whether a field that says yes or no has nothing to say.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's way to ask")]
fn is_not(is: &bool) -> bool {
    !is
}

/// Counts and rates.
#[derive(Serialize)]
pub struct Counts {
    committed: u64,
    aborted: u64,
    rolled_back: u64,
    throughput_tps: Option<f64>,
    abort_rate: f64,
    abort_reasons: Map<String, Value>,
    latency_us: Option<Latency>,
    durable_latency_us: Option<Latency>,
    breakdown: Option<Shares>,
    #[serde(skip_serializing_if = "Option::is_none")]
    breakdown_cost: Option<Cost>,
    transactions: Map<String, Value>,
}

/// The cost of following transactions, as shares of throughput.
#[derive(Serialize)]
struct Cost {
    share: f64,
    error: f64,
}

/// Percentiles in microseconds.
#[derive(Serialize)]
pub struct Latency {
    p50: f64,
    p95: f64,
    p99: f64,
    p999: f64,
    max: f64,
}

/// The work of a run with a log on its disk, in the measured window.
#[derive(Serialize)]
pub struct DiskUse {
    /// Bytes of log written.
    log_bytes: u64,
    /// The bytes for each committed transaction.
    log_bytes_per_transaction: f64,
    /// Syncs of files.
    syncs: u64,
    /// How long they took.
    sync_us: Option<Latency>,
    /// Checkpoints published.
    checkpoints: u64,
}

impl DiskUse {
    /// From what the driver counted, and how long syncs took.
    pub fn new(report: &NativeReport, sync_ns: &Histogram<u64>) -> Self {
        let committed = report.tally.committed().max(1);
        Self {
            log_bytes: report.log_bytes,
            log_bytes_per_transaction: report.log_bytes as f64 / committed as f64,
            syncs: sync_ns.len(),
            sync_us: Latency::new(sync_ns),
            checkpoints: report.checkpoints,
        }
    }
}

/// Where the time went.
#[derive(Serialize)]
pub struct Shares {
    useful: f64,
    abort: f64,
    timestamp: f64,
    index: f64,
    wait: f64,
    manager: f64,
}

/// A kind of transaction.
#[derive(Serialize)]
struct KindCounts {
    committed: u64,
    unsuccessful: u64,
    aborted: u64,
    rolled_back: u64,
    latency_us: Option<Latency>,
}

/// The history's verdict.
#[derive(Serialize)]
pub struct Verified {
    /// Nothing contradicts serializability.
    pub serializable: bool,
    /// The level that the run was judged against.
    pub isolation: &'static str,
    /// The run has what its scheme promises.
    pub passed: bool,
    /// The run was not cut short by the cap on the history's memory.
    pub complete: bool,
    /// Transactions checked, refused attempts included.
    pub transactions: u64,
    /// Operations checked.
    pub operations: u64,
    /// Absences whose version stayed open and that no serial order found explains.
    pub unexplained_reads: u64,
    /// The anomalies found.
    pub anomalies: Vec<FoundAnomaly>,
}

/// An anomaly.
#[derive(Serialize)]
pub struct FoundAnomaly {
    /// Its class, in Adya's terms.
    pub class: &'static str,
    /// Whether the isolation level forbids it.
    pub violation: bool,
    /// The transactions of its cycle.
    pub transactions: Vec<String>,
    /// The cycle with its operations.
    pub text: String,
}

/// The workload's conditions.
#[derive(Serialize)]
pub struct Consistency {
    /// How many were looked at.
    pub checked: usize,
    /// Those that do not hold, and why.
    pub failed: Vec<String>,
}

/// The part that only a simulated run has.
#[derive(Serialize)]
pub struct Simulation {
    /// Simulated cores.
    pub cores: usize,
    /// Simulated cycles; null without a timing model.
    pub cycles: Option<u64>,
    /// Cache-line look-ups; null without a timing model.
    pub accesses: Option<u64>,
    /// Cache misses; null without a timing model.
    pub misses: Option<u64>,
    /// Further counts of caches and memory; absent without a timing model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryCounts>,
    /// Where the cores' time went; absent without a timing model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core_time: Option<CoreShares>,
    /// The counts of ordered tasks; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<TaskResult>,
    /// How the machine ended: `completed`, `failed` or what stopped it.
    pub verdict: &'static str,
    /// The failures, in words.
    pub failures: Vec<String>,
    /// Accesses to shared memory, fences and looks at the clock.
    pub events: u64,
    /// Switches from one core to another.
    pub switches: u64,
    /// Times that a transaction was about to wait for memory.
    pub lines_awaited: u64,
    /// Times that a core went over from one of its transactions to another.
    pub hand_overs: u64,
    /// Times that a thread took a core over from another; absent where none shares a core.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_switches: Option<u64>,
    /// Of these, times that the other's slice was over; absent in the same way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemptions: Option<u64>,
    /// A digest of all events.
    pub trace_hash: String,
    /// Simulated memory handed out.
    pub memory_bytes: u64,
    /// Rare branches taken.
    pub marks: Vec<&'static str>,
    /// Seconds spent simulating.
    pub host_seconds: f64,
    /// Seconds spent loading.
    pub host_load_seconds: f64,
    /// Of the seconds spent simulating those in which nothing took time yet: the rates are without them.
    pub host_rehearsal_seconds: f64,
    /// Null without a timing model.
    pub host_accesses_per_second: Option<f64>,
    /// Null without a timing model.
    pub host_misses_per_second: Option<f64>,
    /// Events per second of the host.
    pub host_events_per_second: f64,
}

impl Simulation {
    /// The part of a result for a run of so many clients on so many simulated cores.
    pub fn new(cores: usize, clients: usize, report: &SimulatedReport) -> Self {
        let outcome = &report.outcome;
        let shared = clients > cores;
        let completed = outcome.verdict.is_completed();
        let mut failures: Vec<String> = report.failures.iter().map(ToString::to_string).collect();
        failures.extend((!completed).then(|| outcome.verdict.to_string()));
        let timings = outcome.timings.as_ref();
        let rate = |count: fn(&Timings) -> u64| {
            let seconds = report.seconds - outcome.untimed_seconds;
            timings.map(|timings| count(timings) as f64 / seconds.max(1e-9))
        };
        Self {
            cores,
            cycles: timings.map(|it| it.cycles),
            accesses: timings.map(|it| it.accesses),
            misses: timings.map(|it| it.misses),
            memory: timings.map(MemoryCounts::new),
            core_time: CoreShares::new(cores, clients, report),
            tasks: outcome.tasks.as_ref().map(|counts| TaskResult::new(counts, cores)),
            verdict: if completed && !failures.is_empty() {
                "failed"
            } else {
                outcome.verdict.name()
            },
            failures,
            events: outcome.events,
            switches: outcome.switches,
            lines_awaited: outcome.counters.lines_awaited,
            hand_overs: outcome.counters.hand_overs,
            context_switches: shared.then_some(outcome.counters.context_switches),
            preemptions: shared.then_some(outcome.counters.preemptions),
            trace_hash: format!("{:016x}", outcome.trace_hash),
            memory_bytes: outcome.memory_bytes,
            marks: outcome.marks.iter().copied().collect(),
            host_seconds: report.seconds,
            host_load_seconds: report.load_seconds,
            host_rehearsal_seconds: outcome.untimed_seconds,
            host_accesses_per_second: rate(|it| it.accesses),
            host_misses_per_second: rate(|it| {
                it.misses + it.modifications - it.modifications_missed
            }),
            host_events_per_second: outcome.events as f64 / report.seconds.max(1e-9),
        }
    }
}

/// Where the time of the cores went in the measured window, as shares that sum to one. Where cores have several
/// clients, of the clients' time.
#[derive(Serialize)]
pub struct CoreShares {
    committed: f64,
    aborted: f64,
    stalled: f64,
    idle: f64,
}

impl CoreShares {
    /// Of a run of so many clients on so many cores, of which those without a client are idle; `None` without a timing
    /// model.
    pub fn new(cores: usize, clients: usize, report: &SimulatedReport) -> Option<Self> {
        let without = cores.saturating_sub(clients) as u64 * report.ticks;
        let shares = report.outcome.core_time?.shares(without)?;
        let [committed, aborted, stalled, idle] = shares;
        Some(Self { committed, aborted, stalled, idle })
    }
}

/// The counts of caches and memory of a simulated machine, warm-up included.
#[derive(Serialize)]
pub struct MemoryCounts {
    modifications: u64,
    modifications_missed: u64,
    memory_reads: u64,
    transfers: u64,
    invalidations: u64,
    naps: u64,
}

impl MemoryCounts {
    /// From what the machine counted.
    pub fn new(timings: &Timings) -> Self {
        Self {
            modifications: timings.modifications,
            modifications_missed: timings.modifications_missed,
            memory_reads: timings.memory_reads,
            transfers: timings.transfers,
            invalidations: timings.invalidations,
            naps: timings.naps,
        }
    }
}

impl Counts {
    /// From a tally over `seconds`; `None`: there is no time.
    pub fn new(
        tally: &Tally,
        kinds: &[&str],
        seconds: Option<f64>,
        breakdown: Option<Breakdown>,
    ) -> Self {
        let (committed, aborted) = (tally.committed(), tally.aborted());
        let rolled_back = tally.rolled_back();
        let attempts = committed + aborted + rolled_back;
        let reasons = Reason::ALL.into_iter().map(|r| (r.name(), tally.reasons[r.index()]));
        let kinds = kinds.iter().zip(&tally.kinds);
        Self {
            committed,
            aborted,
            rolled_back,
            throughput_tps: seconds.map(|seconds| committed as f64 / seconds.max(1e-9)),
            abort_rate: aborted as f64 / (attempts.max(1)) as f64,
            abort_reasons: reasons
                .filter(|&(_, count)| count > 0)
                .map(|(name, count)| (name.to_owned(), count.into()))
                .collect(),
            latency_us: Latency::new(&tally.latency_ns()),
            durable_latency_us: Latency::new(&tally.durable_ns),
            breakdown: breakdown.map(Shares::new),
            breakdown_cost: None,
            transactions: kinds
                .map(|(name, kind)| ((*name).to_owned(), kind_value(kind)))
                .collect(),
        }
    }
}

impl Counts {
    /// Adds what following transactions cost, where it was measured.
    pub fn set_breakdown_cost(&mut self, cost: Option<FollowingCost>) {
        self.breakdown_cost = cost.map(|FollowingCost { share, error }| Cost { share, error });
    }
}

fn kind_value(kind: &KindTally) -> Value {
    let counts = KindCounts {
        committed: kind.committed,
        unsuccessful: kind.unsuccessful,
        aborted: kind.aborted,
        rolled_back: kind.rolled_back,
        latency_us: Latency::new(&kind.latency_ns),
    };
    serde_json::to_value(counts).unwrap_or(Value::Null)
}

impl Latency {
    /// From a histogram of nanoseconds; `None` where nothing was timed.
    fn new<C: Counter>(ns: &Histogram<C>) -> Option<Self> {
        let at = |quantile| ns.value_at_quantile(quantile) as f64 / 1_000.0;
        (!ns.is_empty()).then(|| Self {
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: ns.max() as f64 / 1_000.0,
        })
    }
}

impl Shares {
    fn new(shares: Breakdown) -> Self {
        let Breakdown { useful, abort, timestamp, index, wait, manager } = shares;
        Self { useful, abort, timestamp, index, wait, manager }
    }
}

impl Verified {
    /// From the checker's verdict.
    pub fn new(verdict: &Verdict) -> Self {
        let anomalies = verdict.anomalies.iter().map(|anomaly| FoundAnomaly {
            class: anomaly.class.name(),
            violation: anomaly.violation,
            transactions: anomaly.transactions.iter().map(ToString::to_string).collect(),
            text: anomaly.text.clone(),
        });
        Self {
            serializable: verdict.serializable,
            isolation: verdict.isolation.name(),
            passed: verdict.passed(),
            complete: verdict.complete,
            transactions: verdict.transactions,
            operations: verdict.operations,
            unexplained_reads: verdict.unexplained_reads,
            anomalies: anomalies.collect(),
        }
    }
}

impl Consistency {
    /// From the conditions looked at; `None` where the workload states none.
    pub fn new(conditions: &[Condition]) -> Option<Self> {
        let failed = conditions.iter().filter_map(|condition| {
            let failure = condition.failure.as_ref()?;
            Some(format!("{}: {failure}", condition.name))
        });
        (!conditions.is_empty())
            .then(|| Self { checked: conditions.len(), failed: failed.collect() })
    }
}

impl RunResult {
    /// That of a micro-benchmark, by its name and that of what it counts.
    pub fn counted(
        (workload, kind): (&str, &'static str),
        threads: usize,
        seed: u64,
        counted: &Counted,
        options: Shown,
    ) -> Self {
        let mut tally = Tally::new(1);
        tally.kinds[0].committed = counted.count;
        let (build, host_cpu) = Self::host();
        Self {
            workload: workload.into(),
            scheme: String::new(),
            machine: "native",
            threads,
            clients: threads,
            seed,
            seconds: counted.seconds,
            interrupted: counted.interrupted,
            counts: Counts::new(&tally, &[kind], Some(counted.seconds), None),
            verified: None,
            consistency: None,
            deferred: None,
            differences: Vec::new(),
            disk: None,
            versions: None,
            simulation: None,
            options,
            build,
            host_memory_bytes: counted.memory_bytes,
            host_cpu,
        }
    }

    /// The problem of the run, in words; `None` if it passed.
    pub fn problem(&self) -> Option<String> {
        let mut problems = Vec::new();
        if let Some(verified) = self.verified.as_ref().filter(|verified| !verified.passed) {
            problems.push(format!("the history violates {}", verified.isolation));
        }
        if let Some(failed) = self.consistency.as_ref().filter(|c| !c.failed.is_empty()) {
            problems.push(format!("{} conditions do not hold", failed.failed.len()));
        }
        if let Some(problem) = self.deferred.as_ref().and_then(|it| it.problem.as_ref()) {
            problems.push(problem.clone());
        }
        if !self.differences.is_empty() {
            let ordered = self.simulation.as_ref().is_some_and(|it| it.tasks.is_some());
            let whose = if ordered { "the tasks" } else { "the servers" };
            problems.push(format!("{whose} have {} differences", self.differences.len()));
        }
        if let Some(simulation) = self.simulation.as_ref().filter(|s| s.verdict != "completed") {
            problems.push(format!("the machine stopped: {}", simulation.verdict));
        }
        (!problems.is_empty()).then(|| problems.join("; "))
    }

    /// As JSON.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or(Value::Null)
    }

    /// The part of a result that every run has alike.
    pub fn host() -> (Build, String) {
        (BUILD, computer::cpu())
    }
}
