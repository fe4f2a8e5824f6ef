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
use chiliad_words::value::Words;
use chiliad_words::{Typed, flags};
use mimalloc::MiMalloc;
use std::alloc::System;
use tikv_jemallocator::Jemalloc;

flags! {
    /// What every run has.
    RunFlags {
        /// The concurrency-control scheme; see `chiliad schemes`.
        scheme: text() = "silo",
        /// The length of the measured window [default: 10s natively; simulated runs count
        /// transactions].
        duration: time_above_zero() [conflicts_with = "transactions"],
        /// Measure this many transactions instead of a time: 1 or more, divided among the clients
        /// [default in simulation: 12 for each that is in flight].
        transactions: whole(1, u64::MAX),
        /// Transactions that each client has in flight, 1 to 256: while one waits for memory or for
        /// another transaction, the next runs; natively also `auto`, which tries 1, 2, 4, 8 and 16 on
        /// the loaded database before the run, and `adaptive`: 1 to 8, as many as the clients find that
        /// pay while they run [default: adaptive natively, 1 in simulation].
        #[arg(long, value_name = "N|auto|adaptive", value_parser = in_flight)]
        pub interleave: Option<InFlight>,
        /// Time before the measured window [default: 2s natively, none for --transactions and in
        /// simulation].
        warmup: time(),
        /// The seed of rows and requests; in simulation of the whole run.
        seed: whole(0, u64::MAX) = "1",
        /// Run this many times, 1 to 1000, and report medians.
        repeat: count(1, 1000) = "1",
        /// Run once for each value of another flag, such as theta=0:0.9:0.1 or threads=1,2,4.
        sweep: sweep(),
        /// Record the history and check it, and the workload's consistency conditions.
        verify: switch,
        /// Memory for the history; a run that reaches it ends early.
        verify_memory: size() = "4GiB",
        /// Write the recorded history to this file, in the binary form.
        history: file(),
        /// How long a refused transaction waits before it runs again [default: exponential natively,
        /// none in simulation].
        backoff: one_of(BACKOFFS, Backoff),
        /// Whether a refused transaction runs the same request again or makes up a new one.
        retry: one_of(RETRIES, Retry) = "same",
        /// When versions are kept for snapshot transactions [default: on-demand; always where the
        /// workload reads snapshots].
        snapshots: one_of(SNAPSHOTS, Snapshots),
        /// Where timestamps come from, under schemes that use them: a counter under a mutex, a shared
        /// counter, the same in batches, the machine's clock, or a counter on the chip, which only
        /// simulated machines have.
        timestamps: one_of(TIMESTAMPS, Timestamps) = "atomic",
        /// How timestamps are drawn.
        ..drawn: DrawnFlags,
        /// Where memory for records, index nodes and versions comes from, and each transaction's private
        /// memory: pools of each thread, which grow and shrink with the load, the same pools at a fixed size,
        /// or an allocator that is called for each piece. Simulated runs have pools only, and pools that cost as little as
        /// memory does in a task.
        allocator: one_of(ALLOCATORS, Memory) = "pool",
        /// The length of a commit epoch, 1us to 1h [default: 40ms natively, 500us in simulation].
        epoch: time_above_zero(),
        /// How long a transaction waits for a lock, 0 to 168h, under dl-detect and with a lock table; with 0 it
        /// gives up at once, with `none` it waits until it gets it [default: 100us under dl-detect, none with a lock
        /// table].
        wait_timeout: time_or_endless(),
        /// Locks in memory at most, 1024 to 4294967296, with a lock table: who needs one more is refused.
        locks_max: count(1024, 1 << 32) = "16777216",
        /// How long it waits before it looks for a deadlock, and between two looks, above 0 to 168h, under
        /// dl-detect; with `none` it never looks.
        deadlock_check: time_or_never() = "10us",
        /// The servers, under a scheme by which they share a log.
        ..cluster: Typed<ClusterFlags>,
    }
}

flags! {
    /// How timestamps of some kinds are drawn.
    DrawnFlags {
        /// How those wait who want the mutex of --timestamps mutex: reading its word, reading which number
        /// is served, in a queue, or asleep.
        latch: one_of(LATCHES, MutexKind) = "sleep",
        /// Timestamps that a worker takes at a time with --timestamps batched, 1 to 65536.
        timestamp_batch: small(1, 65_536) = "16",
    }
}

impl DrawnFlags {
    /// The engine's options that say so.
    pub fn options(&self) -> Options {
        let Self { timestamp_batch, latch: mutex } = *self;
        Options { timestamp_batch, mutex, ..Options::default() }
    }
}

flags! {
    /// What a native run has besides.
    NativeFlags {
        /// Memory obtained and touched before the run, so that no transaction waits for the system's
        /// page faults [default: 512MiB at scale spec, else none].
        memory_ready: size_or_none(),
        /// Cores that the clients may run on, 1 to 65536 [default: all].
        threads: count(1, 65_536),
        /// Concurrent clients, each a thread of the operating system, 1 to 65536 [default: as many as
        /// --threads].
        clients: count(1, 65_536),
        /// Open loop: this many arrivals per second, 0.001 to 1e9, at random distances; latencies
        /// count from the arrival [default: a closed loop].
        rate: real(0.001, 1e9) [value_name = "PER-SECOND"],
        /// Count, at the end, how many records have how many older versions.
        versions: switch,
        /// While clients run, an epoch ends when one of them has run this many transactions since it last ended one, and not
        /// with time, so that what is done does not hang on the speed of the host.
        epoch_transactions: count(1, 1 << 40),
        /// Commit epochs per snapshot epoch, 1 to 1000000: how far apart the states lie that snapshots see [default: 5].
        snapshot_every: count(1, 1_000_000),
        /// When a transaction counts as committed: in memory and without a log; when its epoch is on
        /// disk, its client going on meanwhile; or the same with the client waiting.
        durability: one_of(DURABILITIES, Durability) = "none",
        /// The directory of log and checkpoints: empty, missing, or left by a run of the same workload,
        /// which is removed [default: a new one among the system's temporary files, removed afterwards].
        data: directory(),
        /// The log that servers share under hyder: `memory`; a directory that is empty or missing; or
        /// `nats://HOST:PORT,.../NAME` where it is built in, and then each server is a process of its own. What is
        /// appended stays [default: memory, or with --durability a directory as --data has it].
        shared_log: text() [value_name = "memory|DIR|nats://..", conflicts_with = "data"],
        /// Which server this process is: the first one starts the others.
        #[arg(long, value_name = "N", hide = true)]
        pub server: Option<usize>,
        /// Log writers, each with a file of its own, 1 to 64.
        log_writers: count(1, 64) = "1",
        /// Compress log and checkpoints.
        log_compress: switch,
        /// Bytes of log after which a checkpoint is made; 0 for never.
        checkpoint_every: size_or_none() = "1GiB",
        /// Say what following one transaction in 64 through the parts of its time costs: slices of 100 ms
        /// of the window with it and without it take turns, at least 8 of them.
        breakdown_cost: switch,
        /// Write throughput and resident memory, each 100 ms, to this file (CSV).
        series: file(),
    }
}

flags! {
    /// What a simulated run has besides.
    MachineFlags {
        /// The machine whose time passes, or a file that describes one; `chiliad machines` lists them.
        machine: text() [value_name = "NAME|FILE"] = "thousand-cores",
        /// Simulated cores, 1 to 1024.
        cores: count(1, 1024) = "4",
        /// Which core performs the next access: the one whose time it is, or one that the seed draws, to
        /// see many interleavings (no time passes then).
        schedule: one_of(SCHEDULES, Schedule) = "timed",
        /// When a core's stores become visible to the others: at once, or through a store buffer.
        memory_model: one_of(MEMORY_MODELS, MemoryModel) = "sc",
        /// How the cores' caches agree [default: as the machine's description says].
        coherence: one_of(COHERENCES, Coherence),
        /// Multiply the prices of computation: 0.5, 1 or 2.
        cost_scale: one_of(PRICES, Price) = "1",
        /// Switch a planted bug on; `chiliad campaign --plant list` names them.
        plant: text() [value_name = "BUG"],
        /// Points of a --sweep that run at once, 1 to 1024, those that can on one loaded database [default: one
        /// per core of the host].
        jobs: count(1, 1024),
    }
}

flags! {
    /// Where results go.
    OutputFlags {
        /// Write results as JSON, one line for each; `-` is standard output, which then holds nothing else.
        json: results(),
        /// No progress bar, and no text but of what failed.
        quiet: switch,
    }
}

impl OutputFlags {
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
