//! The flags of a run: scheme, length, retries, verification; the native and the simulated machine;
//! where results go.

use super::cluster::ClusterFlags;
use chiliad_driver::{Backoff, Durability, Retry};
use chiliad_engine::{Options, Snapshots, Supply, Timestamps};
use chiliad_host::{Sink, Stop, values};
use chiliad_lab::spec::{InFlight, Price};
use chiliad_machine::{Allocator, MEMBERS_MAX, MutexKind};
use chiliad_simulator::MemoryModel;
use chiliad_simulator::description::Coherence;
use chiliad_words::value::{Words, choice, count, real, whole};
use clap::Args;
use mimalloc::MiMalloc;
use std::alloc::System;
use std::path::PathBuf;
use std::time::Duration;
use tikv_jemallocator::Jemalloc;

/// What every run has.
#[derive(Args)]
pub struct RunFlags {
    /// The concurrency-control scheme; see `chiliad schemes`.
    #[arg(long, value_name = "NAME", default_value = "silo")]
    pub scheme: String,
    /// The length of the measured window [default: 10s natively; simulated runs count
    /// transactions].
    #[arg(long, value_name = "TIME", value_parser = values::time_above_zero,
          conflicts_with = "transactions")]
    pub duration: Option<Duration>,
    /// Measure this many transactions instead of a time: 1 or more, divided among the clients
    /// [default in simulation: 12 for each that is in flight].
    #[arg(long, value_name = "N", value_parser = whole(1, u64::MAX))]
    pub transactions: Option<u64>,
    /// Transactions that each client has in flight, 1 to 256: while one waits for memory or for
    /// another transaction, the next runs; natively also `auto`, which tries 1, 2, 4, 8 and 16 on
    /// the loaded database before the run, and `adaptive`: 1 to 8, as many as the clients find that
    /// pay while they run [default: adaptive natively, 1 in simulation].
    #[arg(long, value_name = "N|auto|adaptive", value_parser = in_flight)]
    pub interleave: Option<InFlight>,
    /// Time before the measured window [default: 2s natively, none for --transactions and in
    /// simulation].
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub warmup: Option<Duration>,
    /// The seed of rows and requests; in simulation of the whole run.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Run this many times, 1 to 1000, and report medians.
    #[arg(long, value_name = "N", default_value = "1", value_parser = count(1, 1000))]
    pub repeat: usize,
    /// Run once for each value of another flag, such as theta=0:0.9:0.1 or threads=1,2,4.
    #[arg(long, value_name = "FLAG=A:B:STEP|FLAG=a,b,c")]
    pub sweep: Option<String>,
    /// Record the history and check it, and the workload's consistency conditions.
    #[arg(long)]
    pub verify: bool,
    /// Memory for the history; a run that reaches it ends early.
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = values::size)]
    pub verify_memory: u64,
    /// Write the recorded history to this file, in the binary form.
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// How long a refused transaction waits before it runs again [default: exponential natively,
    /// none in simulation].
    #[arg(long, value_name = "POLICY", value_parser = choice(BACKOFFS))]
    pub backoff: Option<Backoff>,
    /// Whether a refused transaction runs the same request again or makes up a new one.
    #[arg(long, value_name = "REQUEST", default_value = "same", value_parser = choice(RETRIES))]
    pub retry: Retry,
    /// When versions are kept for snapshot transactions [default: on-demand; always where the
    /// workload reads snapshots].
    #[arg(long, value_name = "WHEN", value_parser = choice(SNAPSHOTS))]
    pub snapshots: Option<Snapshots>,
    /// Where timestamps come from, under schemes that use them: a counter under a mutex, a shared
    /// counter, the same in batches, the machine's clock, or a counter on the chip, which only
    /// simulated machines have.
    #[arg(long, value_name = "KIND", default_value = "atomic", value_parser = choice(TIMESTAMPS))]
    pub timestamps: Timestamps,
    /// How timestamps are drawn.
    #[command(flatten)]
    pub drawn: DrawnFlags,
    /// Where memory for records, index nodes and versions comes from, and each transaction's private
    /// memory: pools of each thread, which grow and shrink with the load, the same pools at a fixed size,
    /// or an allocator that is called for each piece. Simulated runs have pools only, and pools that cost as little as
    /// memory does in a task.
    #[arg(long, value_name = "NAME", default_value = "pool", value_parser = choice(ALLOCATORS))]
    pub allocator: Memory,
    /// The length of a commit epoch, 1us to 1h [default: 40ms natively, 500us in simulation].
    #[arg(long, value_name = "TIME", value_parser = values::time_above_zero)]
    pub epoch: Option<Duration>,
    /// How long a transaction waits for a lock, 0 to 168h, under dl-detect and with a lock table; with 0 it
    /// gives up at once, with `none` it waits until it gets it [default: 100us under dl-detect, none with a lock
    /// table].
    #[arg(long, value_name = "TIME|none", value_parser = values::time_or_endless)]
    pub wait_timeout: Option<Duration>,
    /// Locks in memory at most, 1024 to 4294967296, with a lock table: who needs one more is refused.
    #[arg(long, value_name = "N", default_value = "16777216", value_parser = count(1024, 1 << 32))]
    pub locks_max: usize,
    /// How long it waits before it looks for a deadlock, and between two looks, above 0 to 168h, under
    /// dl-detect; with `none` it never looks.
    #[arg(long, value_name = "TIME|none", default_value = "10us",
        value_parser = values::time_or_never)]
    pub deadlock_check: Duration,
    /// The servers, under a scheme by which they share a log.
    #[command(flatten)]
    pub cluster: ClusterFlags,
}

/// How timestamps of some kinds are drawn.
#[derive(Args)]
pub struct DrawnFlags {
    /// How those wait who want the mutex of --timestamps mutex: reading its word, reading which number
    /// is served, in a queue, or asleep.
    #[arg(long, value_name = "KIND", default_value = "sleep", value_parser = choice(LATCHES))]
    pub latch: MutexKind,
    /// Timestamps that a worker takes at a time with --timestamps batched, 1 to 65536.
    #[arg(long, value_name = "N", default_value = "16", value_parser = count(1, 65_536))]
    pub timestamp_batch: usize,
}

impl DrawnFlags {
    /// The engine's options that say so.
    pub fn options(&self) -> Options {
        Options {
            timestamp_batch: self.timestamp_batch as u32,
            mutex: self.latch,
            ..Options::default()
        }
    }
}

/// What a native run has besides.
#[derive(Args)]
pub struct NativeFlags {
    /// Memory obtained and touched before the run, so that no transaction waits for the system's
    /// page faults [default: 512MiB at scale spec, else none].
    #[arg(long, value_name = "SIZE", value_parser = values::size_or_none)]
    pub memory_ready: Option<u64>,

    /// Cores that the clients may run on, 1 to 65536 [default: all].
    #[arg(long, value_name = "N", value_parser = count(1, 65_536))]
    pub threads: Option<usize>,
    /// Concurrent clients, each a thread of the operating system, 1 to 65536 [default: as many as
    /// --threads].
    #[arg(long, value_name = "N", value_parser = count(1, 65_536))]
    pub clients: Option<usize>,
    /// Open loop: this many arrivals per second, 0.001 to 1e9, at random distances; latencies
    /// count from the arrival [default: a closed loop].
    #[arg(long, value_name = "PER-SECOND", value_parser = real(0.001, 1e9))]
    pub rate: Option<f64>,
    /// Count, at the end, how many records have how many older versions.
    #[arg(long)]
    pub versions: bool,
    /// When a transaction counts as committed: in memory and without a log; when its epoch is on
    /// disk, its client going on meanwhile; or the same with the client waiting.
    #[arg(long, value_name = "WHEN", default_value = "none", value_parser = choice(DURABILITIES))]
    pub durability: Durability,
    /// The directory of log and checkpoints: empty, missing, or left by a run of the same workload,
    /// which is removed [default: a new one among the system's temporary files, removed afterwards].
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The log that servers share under hyder: `memory`; a directory that is empty or missing; or
    /// `nats://HOST:PORT,.../NAME` where it is built in, and then each server is a process of its own. What is
    /// appended stays [default: memory, or with --durability a directory as --data has it].
    #[arg(long, value_name = "memory|DIR|nats://..", conflicts_with = "data")]
    pub shared_log: Option<String>,
    /// Which server this process is: the first one starts the others.
    #[arg(long, value_name = "N", hide = true)]
    pub server: Option<usize>,
    /// Log writers, each with a file of its own, 1 to 64.
    #[arg(long, value_name = "N", default_value = "1", value_parser = count(1, 64))]
    pub log_writers: usize,
    /// Compress log and checkpoints.
    #[arg(long)]
    pub log_compress: bool,
    /// Bytes of log after which a checkpoint is made; 0 for never.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = values::size_or_none)]
    pub checkpoint_every: u64,
    /// Say what following one transaction in 64 through the parts of its time costs: slices of 100 ms
    /// of the window with it and without it take turns, at least 8 of them.
    #[arg(long)]
    pub breakdown_cost: bool,
    /// Write throughput and resident memory, each 100 ms, to this file (CSV).
    #[arg(long, value_name = "FILE")]
    pub series: Option<PathBuf>,
}

/// What a simulated run has besides.
#[derive(Args)]
pub struct MachineFlags {
    /// The machine whose time passes, or a file that describes one; `chiliad machines` lists them.
    #[arg(long, value_name = "NAME|FILE", default_value = "thousand-cores")]
    pub machine: String,
    /// Simulated cores, 1 to 1024.
    #[arg(long, value_name = "N", default_value = "4", value_parser = count(1, 1024))]
    pub cores: usize,
    /// Which core performs the next access: the one whose time it is, or one that the seed draws, to
    /// see many interleavings (no time passes then).
    #[arg(long, value_name = "NAME", default_value = "timed", value_parser = choice(SCHEDULES))]
    pub schedule: Schedule,
    /// When a core's stores become visible to the others: at once, or through a store buffer.
    #[arg(long, value_name = "MODEL", default_value = "sc", value_parser = choice(MEMORY_MODELS))]
    pub memory_model: MemoryModel,
    /// How the cores' caches agree [default: as the machine's description says].
    #[arg(long, value_name = "PROTOCOL", value_parser = choice(COHERENCES))]
    pub coherence: Option<Coherence>,
    /// Multiply the prices of computation: 0.5, 1 or 2.
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = choice(PRICES))]
    pub cost_scale: Price,
    /// Switch a planted bug on; `chiliad campaign --plant list` names them.
    #[arg(long, value_name = "BUG")]
    pub plant: Option<String>,
    /// Points of a --sweep that run at once, 1 to 1024, those that can on one loaded database [default: one
    /// per core of the host].
    #[arg(long, value_name = "N", value_parser = count(1, 1024))]
    pub jobs: Option<usize>,
}

/// Where results go.
#[derive(Args)]
pub struct OutputFlags {
    /// Write the result as JSON, one line per run; `-` is standard output, which then holds
    /// nothing else.
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// No progress bar and no summary.
    #[arg(long)]
    pub quiet: bool,
}

/// Where the results of rigs go.
#[derive(Args)]
pub struct ReportFlags {
    /// Write the result as JSON; `-` is standard output, which then holds nothing else.
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Print nothing but results that failed.
    #[arg(long)]
    pub quiet: bool,
}

impl OutputFlags {
    /// The sink for them.
    pub fn sink(&self) -> Result<Sink, Stop> {
        Sink::new(self.json.as_deref(), self.quiet)
    }
}

impl ReportFlags {
    /// The sink for them.
    pub fn sink(&self) -> Result<Sink, Stop> {
        Sink::new(self.json.as_deref(), self.quiet)
    }
}

/// Reads `--interleave`.
fn in_flight(text: &str) -> Result<InFlight, String> {
    match text {
        "auto" => Ok(InFlight::Auto),
        "adaptive" => Ok(InFlight::Adaptive),
        _ => {
            let number = values::count(text, 1, MEMBERS_MAX);
            number.map(InFlight::Number).map_err(|refusal| refusal + ", or auto, or adaptive")
        }
    }
}

/// `--backoff`.
const BACKOFFS: &Words<Backoff> = &[
    ("none", Backoff::None, "At once"),
    ("random", Backoff::Random, "A random wait"),
    (
        "exponential",
        Backoff::Exponential,
        "A random wait that doubles with each refusal, up to a limit",
    ),
];

/// `--durability`.
const DURABILITIES: &Words<Durability> = &[
    ("none", Durability::None, "In memory only"),
    ("epoch", Durability::Epoch, "Durable by epochs; clients go on meanwhile"),
    ("sync", Durability::Sync, "Durable by epochs; clients wait"),
];

/// `--retry`.
const RETRIES: &Words<Retry> = &[
    ("same", Retry::Same, "The same request until it goes through"),
    ("new", Retry::New, "The next request"),
];

/// `--snapshots`.
const SNAPSHOTS: &Words<Snapshots> = &[
    ("always", Snapshots::Always, "From the start"),
    ("on-demand", Snapshots::OnDemand, "From the first snapshot on"),
    ("off", Snapshots::Off, "Never: snapshot transactions are tracked ones of the present"),
];

/// `--timestamps`.
pub const TIMESTAMPS: &Words<Timestamps> = &[
    ("mutex", Timestamps::Latched, "A counter under a mutex"),
    ("atomic", Timestamps::Atomic, "A shared counter"),
    ("batched", Timestamps::Batched, "A shared counter, 16 at a time"),
    ("clock", Timestamps::Clock, "The machine's clock, with the worker's number behind"),
    ("hardware", Timestamps::Hardware, "A counter on the chip"),
];

/// `--latch`.
pub const LATCHES: &Words<MutexKind> = &[
    ("spin", MutexKind::Spin, "By reading its word"),
    ("mcs", MutexKind::Mcs, "In a queue, each reading a word of its own"),
    ("ticket", MutexKind::Ticket, "By reading which number is served"),
    ("sleep", MutexKind::Sleep, "Asleep"),
];

/// `--allocator` (Yu, 2015, 4.1.1). Only the engine's slots and its transactions' private memory come from there; all
/// else is the process's own.
const ALLOCATORS: &Words<Memory> = &[
    ("pool", Memory::From(Supply::Pools), "The engine's own pools"),
    ("fixed", Memory::From(Supply::FixedPools), "The same at a fixed size"),
    ("system", Memory::From(Supply::Single(&SYSTEM)), "The system's allocator"),
    ("mimalloc", Memory::From(Supply::Single(&MIMALLOC)), "mimalloc"),
    ("jemalloc", Memory::From(Supply::Single(&JEMALLOC)), "jemalloc"),
    ("ideal", Memory::Ideal, "Pools in 30 cycles, in simulated time (Yan, 2015, 5.2)"),
];

/// Where memory comes from.
#[derive(Clone, Copy)]
pub enum Memory {
    /// This supply, at its price.
    From(Supply),
    /// Pools, at the price of memory in tasks.
    Ideal,
}

static SYSTEM: Allocator = Allocator::new("system", &System);
static MIMALLOC: Allocator = Allocator::new("mimalloc", &MiMalloc);
static JEMALLOC: Allocator = Allocator::new("jemalloc", &Jemalloc);

/// Which core of a simulated machine performs the next access.
#[derive(Clone, Copy)]
pub enum Schedule {
    /// The one whose time it is.
    Timed,
    /// Any.
    Random,
    /// The same until one of a few preemptions.
    FewPreemptions,
}

/// `--schedule`.
const SCHEDULES: &Words<Schedule> = &[
    ("timed", Schedule::Timed, "The one whose time it is, on the machine of `--machine`"),
    ("random", Schedule::Random, "Any, with a probability that the seed draws"),
    ("few-preemptions", Schedule::FewPreemptions, "The same until one of a few preemptions"),
];

/// `--coherence`.
const COHERENCES: &Words<Coherence> = &[
    ("msi", Coherence::Msi, "A first write to a line that was read asks its home"),
    ("mesi", Coherence::Mesi, "Unless nobody else has read it"),
];

/// `--cost-scale`.
const PRICES: &Words<Price> = &[
    ("0.5", Price::Half, "Half the price"),
    ("1", Price::One, "As measured"),
    ("2", Price::Double, "Twice the price"),
];

/// `--memory-model`.
const MEMORY_MODELS: &Words<MemoryModel> = &[
    ("sc", MemoryModel::Sc, "Sequential consistency"),
    ("tso", MemoryModel::Tso, "Total store order"),
];
