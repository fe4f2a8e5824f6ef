//! What the flags of a run mean together: every default filled in, every combination checked.

use crate::args::{
    BackoffFlag, Bench, CoherenceFlag, CostScaleFlag, DurabilityFlag, InterleaveFlag, MachineFlags,
    MemoryModelFlag, NativeFlags, RetryFlag, RunFlags, ScheduleFlag, Simulate, SnapshotsFlag,
};
use crate::workloads::WorkloadFlags;
use crate::{allocator, host, limit};
use chiliad_checker::Isolation;
use chiliad_driver::{
    Backoff, Durability, Length, Plan, Recording, Retry, SimulatedPlan, explored, schemes, timed,
};
use chiliad_engine::{DurableOptions, Info, LogOptions, Options, Snapshots, WORKERS_MAX};
use chiliad_host::Stop;
use chiliad_host::values;
use chiliad_machine::{MEMBERS_MAX, stacks_max};
use chiliad_simulator::description::Coherence;
use chiliad_simulator::{Config, MemoryModel, Schedule};
use chiliad_workload::WorkloadOptions;
use clap::Args;
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::time::Duration;

/// Natively measured time where none is asked for.
const DURATION: Duration = Duration::from_secs(10);

/// Native warm-up where none is asked for.
const WARMUP: Duration = Duration::from_secs(2);

/// Memory made ready before a native run of full scale.
const MEMORY_READY: u64 = 512 << 20;

/// Transactions in flight for each native client.
const IN_FLIGHT: usize = 8;

/// Native commit epoch.
const EPOCH: Duration = Duration::from_millis(40);

/// Commit epochs per snapshot epoch, natively.
const SNAPSHOT_EVERY: u64 = 25;

/// The length of a timed window, and what comes before it.
const DURATION_TIMED: Duration = Duration::from_millis(1);
const WARMUP_TIMED: Duration = Duration::from_micros(200);

/// One transaction in this many is followed through its parts natively, on average: it reads the clock
/// at every step.
const FOLLOWED_ONE_IN: u32 = 64;

/// Transactions that each client of a timed run rehearses.
const REHEARSALS: u32 = 64;

/// The options shown in results, in order.
pub type Shown = Map<String, Value>;

/// A run of a workload, native or simulated.
pub struct Settings {
    /// The workload with its options.
    pub workload: WorkloadOptions,
    /// The scheme.
    pub scheme: &'static Info,
    /// How the database is opened.
    pub engine: Options,
    /// What the clients do.
    pub plan: Plan,
    /// Trials before the run choose `plan.interleave`.
    pub choose_interleave: bool,
    /// How a native run uses its disk; `None`: not at all.
    pub storage: Option<Storage>,
    /// Check the history and the conditions.
    pub verify: bool,
    /// Every resolved option that changes a run.
    pub shown: Shown,
}

impl Settings {
    /// Takes the number of transactions in flight that trials have chosen, for this run and those that
    /// repeat it.
    pub fn interleave(&mut self, chosen: usize) {
        self.plan.interleave = chosen;
        self.choose_interleave = false;
        self.shown.insert("interleave".into(), chosen.into());
    }
}

/// A native run with a log.
pub struct Storage {
    /// The directory; `None`: a temporary one.
    pub data: Option<PathBuf>,
    /// How it is used.
    pub options: DurableOptions,
}

/// What a workload's defaults depend on.
pub struct Scope {
    /// Concurrent clients.
    pub clients: usize,
    /// The scheme.
    pub scheme: &'static Info,
    /// What it runs on.
    pub on: On,
}

/// What a run takes place on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum On {
    /// The host's cores.
    Host,
    /// Simulated cores in an order that a seed draws.
    Explored,
    /// Simulated cores whose time passes.
    Timed,
}

impl Scope {
    /// On the simulated machine.
    pub fn simulated(&self) -> bool {
        self.on != On::Host
    }

    /// To see many interleavings of few transactions.
    pub fn explored(&self) -> bool {
        self.on == On::Explored
    }
}

/// The scheme of this name.
pub fn scheme(name: &str) -> Result<&'static Info, Stop> {
    schemes().iter().find(|info| info.name == name).ok_or_else(|| {
        let names: Vec<&str> = schemes().iter().map(|info| info.name).collect();
        Stop::bad("--scheme", format!("`{name}` is unknown; accepted: {}", names.join(", ")))
    })
}

/// The settings of a native run.
pub fn native<W: WorkloadFlags + Args>(flags: &Bench<W>) -> Result<Settings, Stop> {
    let cores = flags.native.threads.unwrap_or_else(host::cores);
    let clients = flags.native.clients.unwrap_or(cores);
    let scope = Scope { clients, scheme: scheme(&flags.run.scheme)?, on: On::Host };
    let mut settings = resolve(&flags.workload, &flags.run, &scope)?;
    settings.plan.cores = cores;
    settings.plan.rate = flags.native.rate;
    settings.plan.series = flags.native.series.is_some();
    settings.plan.versions = flags.native.versions;
    settings.plan.following_cost = flags.native.breakdown_cost;
    let spec = settings.shown.get("scale").is_some_and(|scale| scale == "spec");
    settings.engine.memory_bytes_ready =
        flags.native.memory_ready.unwrap_or(if spec { MEMORY_READY } else { 0 });
    settings.plan.durability = match flags.native.durability {
        DurabilityFlag::None => Durability::None,
        DurabilityFlag::Epoch => Durability::Epoch,
        DurabilityFlag::Sync => Durability::Sync,
    };
    settings.storage = storage(&flags.native)?;
    check_native(&settings.workload, &settings.engine, &settings.plan)?;
    settings.choose_interleave = flags.run.interleave == Some(InterleaveFlag::Auto);
    if settings.choose_interleave {
        check_trials(&flags.run, &settings)?;
    }
    show_native(&mut settings, &flags.native);
    Ok(settings)
}

/// Refuses what does not fit this computer.
pub fn check_native(workload: &WorkloadOptions, engine: &Options, plan: &Plan) -> Result<(), Stop> {
    limit::check_memory("--memory-ready", engine.memory_bytes_ready)?;
    let rows = workload.memory(None);
    limit::check_memory(rows.flag, rows.bytes)?;
    let in_flight = plan.interleave;
    let stacks = if in_flight > 1 { in_flight } else { 0 };
    limit::check_threads("--clients", plan.clients, stacks)
}

/// Refuses trials to runs that they would spoil: nobody records what they write, and the log's writers
/// would end with the first.
fn check_trials(run: &RunFlags, settings: &Settings) -> Result<(), Stop> {
    let why = if run.verify {
        "--verify: trials before the run write rows that its history does not have"
    } else if run.history.is_some() {
        "--history: trials before the run write rows that its history does not have"
    } else if settings.storage.is_some() {
        "--durability: trials before the run have no log"
    } else {
        return Ok(());
    };
    Err(Stop::bad("--interleave", format!("auto with {why}; accepted: 1 to {MEMBERS_MAX}")))
}

/// How the run uses its disk, if it is to.
fn storage(flags: &NativeFlags) -> Result<Option<Storage>, Stop> {
    if flags.durability == DurabilityFlag::None {
        return match &flags.data {
            None => Ok(None),
            Some(_) => Err(Stop::bad(
                "--data",
                "a directory without a log; accepted: with --durability epoch or sync",
            )),
        };
    }
    let log = LogOptions {
        writers: flags.log_writers as u32,
        compress: flags.log_compress,
        ..LogOptions::default()
    };
    let every = flags.checkpoint_every;
    let options = DurableOptions {
        log,
        checkpoint_log_bytes: if every == 0 { u64::MAX } else { every },
        ..DurableOptions::default()
    };
    Ok(Some(Storage { data: flags.data.clone(), options }))
}

fn show_native(settings: &mut Settings, flags: &NativeFlags) {
    settings.shown.insert("interleave_auto".into(), settings.choose_interleave.into());
    settings.shown.insert("interleave_adaptive".into(), settings.plan.adaptive.into());
    settings.shown.insert("threads".into(), settings.plan.cores.into());
    settings.shown.insert("clients".into(), settings.plan.clients.into());
    settings.shown.insert("rate".into(), flags.rate.into());
    settings.shown.insert("versions".into(), flags.versions.into());
    settings.shown.insert("breakdown_cost".into(), flags.breakdown_cost.into());
    settings.shown.insert("durability".into(), crate::args::typed(&flags.durability).into());
    if settings.storage.is_some() {
        settings.shown.insert("log_writers".into(), flags.log_writers.into());
        settings.shown.insert("log_compress".into(), flags.log_compress.into());
        settings.shown.insert("checkpoint_every".into(), flags.checkpoint_every.into());
    }
    settings.shown.insert("memory_ready".into(), settings.engine.memory_bytes_ready.into());
}

/// The settings of a simulated run, and its machine.
pub fn simulated<W: WorkloadFlags + Args>(
    flags: &Simulate<W>,
) -> Result<(Settings, SimulatedPlan), Stop> {
    let timed = flags.machine.schedule == ScheduleFlag::Timed;
    let on = if timed { On::Timed } else { On::Explored };
    let cores = flags.machine.cores;
    let clients = flags.clients.unwrap_or(cores);
    check_sharing(flags, clients)?;
    let scope = Scope { clients, scheme: scheme(&flags.run.scheme)?, on };
    let word = match flags.run.interleave {
        Some(InterleaveFlag::Auto) => Some("auto"),
        Some(InterleaveFlag::Adaptive) => Some("adaptive"),
        None | Some(InterleaveFlag::Number(_)) => None,
    };
    if let Some(word) = word {
        let problem =
            format!("{word} in simulation, which has no trials; accepted: 1 to {MEMBERS_MAX}");
        return Err(Stop::bad("--interleave", problem));
    }
    let mut settings = resolve(&flags.workload, &flags.run, &scope)?;
    settings.plan.cores = cores;
    if clients != cores {
        settings.shown.insert("clients".into(), clients.into());
    }
    let mut config = machine(&flags.machine, flags.run.seed, &mut settings.shown)?;
    if !timed {
        config.events_max = explored::events_max(&settings.plan);
    }
    let rows = settings.workload.memory(settings.engine.kept_payload);
    // What says who may touch which word takes half as much again.
    let bytes = if timed { rows.bytes } else { rows.bytes.saturating_add(rows.bytes / 2) };
    limit::check_memory(rows.flag, bytes)?;
    let plan = SimulatedPlan { plan: settings.plan.clone(), config };
    Ok((settings, plan))
}

/// Refuses clients that would share cores where nothing could take turns, or too much would.
fn check_sharing<W: WorkloadFlags + Args>(flags: &Simulate<W>, clients: usize) -> Result<(), Stop> {
    let cores = flags.machine.cores;
    if clients <= cores {
        return Ok(());
    }
    let one = matches!(flags.run.interleave, None | Some(InterleaveFlag::Number(1)));
    let problem = if flags.machine.schedule != ScheduleFlag::Timed {
        format!(
            "{clients} on {cores} cores without time; accepted: 1 to {cores}, or --schedule timed"
        )
    } else if !one {
        format!(
            "{clients} on {cores} cores with --interleave; accepted: 1 to {cores}, or --interleave 1"
        )
    } else {
        return Ok(());
    };
    Err(Stop::bad("--clients", problem))
}

/// The simulated machine that the flags describe, timed runs without an end to their events.
pub fn machine(flags: &MachineFlags, seed: u64, shown: &mut Shown) -> Result<Config, Stop> {
    let MachineFlags {
        machine,
        cores,
        schedule,
        memory_model,
        coherence,
        cost_scale,
        plant,
        jobs: _,
    } = flags;
    let timed = *schedule == ScheduleFlag::Timed;
    let mut config = Config::new(seed);
    config.schedule = match schedule {
        ScheduleFlag::Random | ScheduleFlag::Timed => Schedule::Random,
        ScheduleFlag::FewPreemptions => Schedule::few_preemptions(),
    };
    config.memory_model = match memory_model {
        MemoryModelFlag::Sc => MemoryModel::Sc,
        MemoryModelFlag::Tso => MemoryModel::Tso,
    };
    config.fault = plant.as_deref().map(crate::plants::find).transpose()?;
    config.region_bytes = explored::REGION_BYTES;
    if timed {
        if config.memory_model == MemoryModel::Tso {
            let problem =
                "tso with timed cores, whose stores take effect in their order; accepted: sc";
            return Err(Stop::bad("--memory-model", problem));
        }
        let mut described = chiliad_lab::machines::find(machine)?;
        let most = described.cores_max;
        if *cores > most as usize {
            let problem = format!("{cores} on {}; accepted: 1 to {most}", described.name);
            return Err(Stop::bad("--cores", problem));
        }
        if let Some(coherence) = coherence {
            described.coherence = match coherence {
                CoherenceFlag::Msi => Coherence::Msi,
                CoherenceFlag::Mesi => Coherence::Mesi,
            };
        }
        let scale = match cost_scale {
            CostScaleFlag::Half => 0.5,
            CostScaleFlag::One => 1.0,
            CostScaleFlag::Two => 2.0,
        };
        chiliad_lab::machines::scale_prices(&mut described, scale);
        shown.insert("machine".into(), described.name.clone().into());
        let mesi = described.coherence == Coherence::Mesi;
        shown.insert("coherence".into(), if mesi { "mesi" } else { "msi" }.into());
        shown.insert("cost_scale".into(), crate::args::typed(cost_scale).into());
        config = Config { fault: config.fault, ..timed::config(described, seed) };
    }
    shown.insert("cores".into(), (*cores).into());
    shown.insert("schedule".into(), crate::args::typed(schedule).into());
    shown.insert("memory_model".into(), crate::args::typed(memory_model).into());
    shown.insert("plant".into(), plant.clone().into());
    Ok(config)
}

fn resolve(workload: &impl WorkloadFlags, run: &RunFlags, scope: &Scope) -> Result<Settings, Stop> {
    let mut shown = Shown::new();
    shown.insert("scheme".into(), scope.scheme.name.into());
    let resolved = workload.resolve(scope, &mut shown)?;
    check_waits(run, scope, &resolved.workload)?;
    let plan = Plan { stalled_at: resolved.stalled_at, ..plan(run, scope) };
    check_stalled(&plan)?;
    let snapshots = match run.snapshots {
        Some(SnapshotsFlag::Always) => Snapshots::Always,
        Some(SnapshotsFlag::OnDemand) => Snapshots::OnDemand,
        Some(SnapshotsFlag::Off) => Snapshots::Off,
        None if resolved.reads_snapshots => Snapshots::Always,
        None => Snapshots::OnDemand,
    };
    let engine = Options {
        snapshots,
        epoch: plan.epoch,
        snapshot_every: if scope.explored() { explored::SNAPSHOT_EVERY } else { SNAPSHOT_EVERY },
        opacity: false,
        partitions: resolved.partitions,
        wait_timeout: Some(run.wait_timeout.unwrap_or(scope.scheme.wait_timeout)),
        locks_max: run.locks_max as u64,
        deadlock_check: run.deadlock_check,
        supply: allocator::named(run.allocator),
        timestamps: run.timestamps.kind(),
        kept_payload: resolved.kept_payload,
        field_access: resolved.field_access,
        timestamp_batch: run.drawn.timestamp_batch as u32,
        mutex: run.drawn.latch.kind(),
        verify: plan.recording.is_some(),
        ..Options::default()
    };
    show_run(&mut shown, run, &plan, &engine);
    let workload = resolved.workload;
    let (scheme, verify) = (scope.scheme, run.verify);
    let choose_interleave = false;
    Ok(Settings { workload, scheme, engine, plan, choose_interleave, storage: None, verify, shown })
}

/// The most transactions that each client has in flight where that is left to the clients: fewer where there
/// are not enough workers, or no room for so many stacks.
fn in_flight(scope: &Scope) -> usize {
    let most = IN_FLIGHT.min(MEMBERS_MAX);
    most.min(WORKERS_MAX / scope.clients).min(stacks_max() / scope.clients).max(1)
}

/// Whether clients find out for themselves how many transactions in flight pay.
fn adaptive(run: &RunFlags, scope: &Scope) -> bool {
    !scope.simulated() && matches!(run.interleave, None | Some(InterleaveFlag::Adaptive))
}

fn plan(run: &RunFlags, scope: &Scope) -> Plan {
    let interleave = match run.interleave {
        Some(InterleaveFlag::Number(number)) => number,
        // The trials say.
        Some(InterleaveFlag::Auto) => 1,
        Some(InterleaveFlag::Adaptive) => in_flight(scope),
        None if scope.simulated() => 1,
        None => in_flight(scope),
    };
    let length = match (run.transactions, run.duration) {
        (Some(transactions), _) => Length::Transactions(transactions),
        (None, Some(time)) => Length::Time(time),
        (None, None) if scope.explored() => Length::Transactions(
            explored::TRANSACTIONS_PER_WORKER * (scope.clients * interleave) as u64,
        ),
        (None, None) if scope.on == On::Timed => Length::Time(DURATION_TIMED),
        (None, None) => Length::Time(DURATION),
    };
    let counted = matches!(length, Length::Transactions(_));
    let warmup = match scope.on {
        On::Timed => WARMUP_TIMED,
        On::Host if !counted => WARMUP,
        _ => Duration::ZERO,
    };
    let recorded = run.verify || run.history.is_some();
    Plan {
        clients: scope.clients,
        interleave,
        adaptive: adaptive(run, scope),
        cores: scope.clients,
        seed: run.seed,
        warmup: run.warmup.unwrap_or(warmup),
        length,
        rate: None,
        backoff: match run.backoff {
            Some(BackoffFlag::None) => Backoff::None,
            Some(BackoffFlag::Random) => Backoff::Random,
            Some(BackoffFlag::Exponential) => Backoff::Exponential,
            None if scope.on == On::Timed => Backoff::None,
            None => Backoff::Exponential,
        },
        retry: match run.retry {
            RetryFlag::Same => Retry::Same,
            RetryFlag::New => Retry::New,
        },
        epoch: run.epoch.unwrap_or(if scope.explored() { explored::EPOCH } else { EPOCH }),
        load: true,
        versions: false,
        durability: Durability::None,
        recording: recorded.then_some(Recording { memory_bytes_max: run.verify_memory }),
        // Without transactions there is no state between them that conditions could speak of.
        conditions: run.verify && promises_transactions(scope.scheme),
        series: false,
        following_cost: false,
        rehearsals: if scope.on == On::Timed { REHEARSALS } else { 0 },
        stalled_at: None,
        idle_max: None,
        follow: match scope.on {
            On::Host => Some(FOLLOWED_ONE_IN),
            On::Explored => None,
            On::Timed => Some(1),
        },
    }
}

/// Refuses waits that a deadlock would make endless.
fn check_waits(run: &RunFlags, scope: &Scope, workload: &WorkloadOptions) -> Result<(), Stop> {
    let endless = run.wait_timeout == Some(Duration::MAX) && run.deadlock_check == Duration::MAX;
    let in_order = matches!(workload, WorkloadOptions::Ycsb(options) if options.key_order);
    if scope.scheme.name != "dl-detect" || !endless || in_order {
        return Ok(());
    }
    Err(Stop::bad(
        "--deadlock-check",
        "none with --wait-timeout none: a deadlock would never end; accepted: with ycsb --lock-order \
         key, in which there is none",
    ))
}

/// Refuses a transaction that stalls where nothing ends the run before it, or nothing comes after its begin.
fn check_stalled(plan: &Plan) -> Result<(), Stop> {
    let Some(stalled_at) = plan.stalled_at else { return Ok(()) };
    let shown = values::show_time(stalled_at);
    let problem = match plan.length {
        Length::Time(time) if stalled_at < time => return Ok(()),
        Length::Time(time) => {
            let time = values::show_time(time);
            format!("{shown} of a window of {time}; accepted: less than --duration")
        }
        Length::Transactions(_) => {
            format!(
                "{shown} with a number of transactions, of which some may wait for it; accepted: with --duration"
            )
        }
    };
    Err(Stop::bad("--stalled-at", problem))
}

/// Whether the scheme has transactions at all.
pub fn promises_transactions(scheme: &Info) -> bool {
    scheme.isolation != chiliad_engine::Isolation::None
}

/// What the checker is to hold its transactions to.
pub fn promised_isolation(scheme: &Info) -> Result<Isolation, Stop> {
    chiliad_driver::promised_isolation(scheme).ok_or_else(|| {
        Stop::Failed(format!("the checker knows no isolation `{}`", scheme.isolation.name()))
    })
}

/// Whether what its transactions leave is what some serial order of them leaves.
pub fn promises_serializability(scheme: &Info) -> bool {
    scheme.isolation == chiliad_engine::Isolation::Serializable
}

fn show_run(shown: &mut Shown, run: &RunFlags, plan: &Plan, engine: &Options) {
    let (duration, transactions) = match plan.length {
        Length::Time(time) => (Some(values::show_time(time)), None),
        Length::Transactions(number) => (None, Some(number)),
    };
    let snapshots = match engine.snapshots {
        Snapshots::Always => "always",
        Snapshots::OnDemand => "on-demand",
        Snapshots::Off => "off",
    };
    let fields: [(&str, Value); 21] = [
        ("interleave", plan.interleave.into()),
        ("duration", duration.into()),
        ("transactions", transactions.into()),
        ("warmup", values::show_time(plan.warmup).into()),
        ("seed", plan.seed.into()),
        ("repeat", run.repeat.into()),
        ("verify", run.verify.into()),
        ("verify_memory", run.verify_memory.into()),
        ("backoff", plan.backoff.name().into()),
        ("retry", crate::args::typed(&run.retry).into()),
        ("snapshots", snapshots.into()),
        ("timestamps", engine.timestamps.name().into()),
        ("timestamp_batch", engine.timestamp_batch.into()),
        ("latch", engine.mutex.name().into()),
        ("allocator", crate::args::typed(&run.allocator).into()),
        ("epoch", values::show_time(plan.epoch).into()),
        ("wait_timeout", engine.wait_timeout.map(values::show_time).into()),
        ("locks_max", engine.locks_max.into()),
        ("deadlock_check", values::show_time(engine.deadlock_check).into()),
        ("snapshot_every", engine.snapshot_every.into()),
        ("opacity", engine.opacity.into()),
    ];
    for (name, value) in fields {
        shown.insert(name.into(), value);
    }
}
