//! What the flags of a run mean together: from flags to a [`RunSpec`], every combination checked.

use crate::args::{
    ClusterFlags, MachineFlags, Memory, NativeFlags, RunFlags, Schedule, Scope, SimulatedFlags,
    TaskFlags, WorkloadFlags, check_shares_log,
};
use chiliad_driver::{Durability, Length, SWARM, lies_in_directories, schemes, shares_log};
use chiliad_engine::{DurableOptions, Info, LogOptions, Options, Supply};
use chiliad_host::{Stop, computer};
use chiliad_lab::spec::{
    Asked, HostSpec, InFlight, MachineSpec, On, Order, Place, RunSpec, SharedLogSpec, Storage,
    Timed,
};
use chiliad_machine::shared_log::SharedLog;
use chiliad_machine::{Fault, MEMBERS_MAX};
use chiliad_simulator::MemoryModel;
use chiliad_workload::WorkloadOptions;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

/// The scheme of this name.
pub fn scheme(name: &str) -> Result<&'static Info, Stop> {
    chiliad_driver::scheme(name).map_err(|_| {
        if name == SWARM.name {
            let problem = format!(
                "`{name}` needs task units; accepted: with simulate --machine swarm-64 or swarm-256"
            );
            return Stop::bad("--scheme", problem);
        }
        let names: Vec<&str> = schemes().iter().map(|info| info.name).collect();
        Stop::bad("--scheme", format!("`{name}` is unknown; accepted: {}", names.join(", ")))
    })
}

/// The planted bug of this name.
pub fn plant(name: &str) -> Result<&'static Fault, Stop> {
    let all = chiliad_driver::faults();
    all.iter().find(|fault| fault.name == name).copied().ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|fault| fault.name).collect();
        Stop::bad("--plant", format!("`{name}` is unknown; accepted: {}", names.join(", ")))
    })
}

/// A native run.
pub fn native(
    workload: &dyn WorkloadFlags,
    run: &RunFlags,
    flags: &NativeFlags,
) -> Result<RunSpec, Stop> {
    let cores = flags.threads.unwrap_or_else(computer::cores);
    let clients = flags.clients.unwrap_or(cores);
    let place = Place::Host(HostSpec::default());
    let mut spec = resolve(workload, run, place, (cores, clients), None)?;
    spec.plan.rate = flags.rate;
    spec.plan.series = flags.series.is_some();
    spec.plan.versions = flags.versions;
    let transactions = flags.epoch_transactions.map(|transactions| transactions as u64);
    spec.plan.epoch_transactions = transactions.and_then(NonZeroU64::new);
    spec.plan.following_cost = flags.breakdown_cost;
    if let Some(bytes) = flags.memory_ready {
        spec.engine.memory_bytes_ready = bytes;
    }
    if let Some(epochs) = flags.snapshot_every {
        spec.engine.snapshot_every = epochs as u64;
    }
    // As an application has them, unless the flag says otherwise.
    if shares_log(spec.scheme) && run.cluster.pipeline.is_none() {
        spec.cluster.roll.pipeline = 1;
    }
    spec.plan.durability = flags.durability;
    let (storage, shared_log) = (storage(flags)?, shared_log(flags, spec.scheme)?);
    if let Place::Host(host) = &mut spec.on {
        (host.storage, host.shared_log) = (storage, shared_log);
    }
    spec.check()?;
    Ok(spec)
}

/// The log that servers share, where it is one that stays.
fn shared_log(flags: &NativeFlags, scheme: &Info) -> Result<Option<SharedLogSpec>, Stop> {
    let Some(name) = &flags.shared_log else { return Ok(None) };
    check_shares_log("--shared-log", scheme)?;
    let (server, apart) = (flags.server.unwrap_or(0), spans_processes(name));
    let spec = |name: &String| SharedLogSpec {
        name: name.clone(),
        open: open_log,
        apart,
        server,
        words: Vec::new(),
    };
    Ok((name != "memory").then(|| spec(name)))
}

/// Opens a shared log.
pub fn open_log(name: &str) -> Result<Arc<dyn SharedLog>, Stop> {
    chiliad::shared_log::open(name).map_err(|error| Stop::bad("--shared-log", error))
}

/// Whether servers in processes of their own can share the log of this name.
pub fn spans_processes(name: &str) -> bool {
    name.starts_with("nats://")
}

/// Whether the shared log of this name is a directory.
pub fn is_directory(name: &str) -> bool {
    !spans_processes(name) && !name.starts_with("memory")
}

/// How the run uses its disk, if it is to.
fn storage(flags: &NativeFlags) -> Result<Option<Storage>, Stop> {
    if flags.durability == Durability::None {
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

/// A simulated run.
pub fn simulated(
    workload: &dyn WorkloadFlags,
    run: &RunFlags,
    flags: &SimulatedFlags,
) -> Result<RunSpec, Stop> {
    let cores = flags.machine.cores;
    let clients = flags.clients.unwrap_or(cores);
    let word = match run.interleave {
        Some(InFlight::Auto) => Some("auto"),
        Some(InFlight::Adaptive) => Some("adaptive"),
        None | Some(InFlight::Number(_)) => None,
    };
    if let Some(word) = word {
        let problem =
            format!("{word} in simulation, which has no trials; accepted: 1 to {MEMBERS_MAX}");
        return Err(Stop::bad("--interleave", problem));
    }
    let ideal_memory = matches!(run.allocator, Memory::Ideal);
    let mut machine = MachineSpec { ideal_memory, ..machine(&flags.machine)? };
    if let Order::Timed(timed) = &mut machine.order {
        timed.set_units(flags.tasks.units())?;
    }
    let place = Place::Simulated(machine);
    let mut spec = resolve(workload, run, place, (cores, clients), flags.log_faults)?;
    spec.ordered = TaskFlags::options(&flags.tasks, spec.scheme)?;
    spec.check()?;
    Ok(spec)
}

/// The simulated machine that the flags describe.
pub fn machine(flags: &MachineFlags) -> Result<MachineSpec, Stop> {
    if let (Schedule::Timed, MemoryModel::Tso) = (flags.schedule, flags.memory_model) {
        let problem = "tso with timed cores, whose stores take effect in their order; accepted: sc";
        return Err(Stop::bad("--memory-model", problem));
    }
    let fault = flags.plant.as_deref().map(plant).transpose()?;
    let order = match flags.schedule {
        Schedule::Timed => {
            let MachineFlags { machine, cores, coherence, cost_scale, .. } = flags;
            Order::Timed(Box::new(Timed::new(machine, *cores, *coherence, *cost_scale)?))
        }
        Schedule::Random => Order::Random,
        Schedule::FewPreemptions => Order::FewPreemptions,
    };
    Ok(MachineSpec { order, memory_model: flags.memory_model, fault, ideal_memory: false })
}

fn resolve(
    workload: &dyn WorkloadFlags,
    run: &RunFlags,
    on: Place,
    (cores, clients): (usize, usize),
    log_faults: Option<u64>,
) -> Result<RunSpec, Stop> {
    let ordered = run.scheme == SWARM.name && matches!(on, Place::Simulated(_));
    let scheme = if ordered { &SWARM } else { scheme(&run.scheme)? };
    if ordered && run.history.is_some() {
        let problem =
            format!("with --scheme {}, which records none; accepted: without it", SWARM.name);
        return Err(Stop::bad("--history", problem));
    }
    let cluster = ClusterFlags::options(&run.cluster, scheme, log_faults)?;
    let load = workload.load(&Scope { clients, scheme, on: on.kind() })?;
    check_waits(run, scheme, &load.options)?;
    let transactions = run.transactions.map(Length::Transactions);
    let supply = match run.allocator {
        Memory::From(supply) => supply,
        Memory::Ideal if on.kind() == On::Timed => Supply::Pools,
        Memory::Ideal => {
            let problem = "ideal where no simulated time passes; accepted: pool";
            return Err(Stop::bad("--allocator", problem));
        }
    };
    let asked = Asked {
        scheme,
        load,
        on,
        clients,
        cores,
        seed: run.seed,
        length: transactions.or(run.duration.map(Length::Time)),
        warmup: run.warmup,
        in_flight: run.interleave,
        backoff: run.backoff,
        retry: run.retry,
        snapshots: run.snapshots,
        epoch: run.epoch,
        wait_timeout: run.wait_timeout,
        engine: Options {
            locks_max: run.locks_max as u64,
            deadlock_check: run.deadlock_check,
            supply,
            timestamps: run.timestamps,
            ..run.drawn.options()
        },
        cluster,
        verify: run.verify,
        recorded: run.history.is_some(),
        verify_memory: run.verify_memory,
        repeat: run.repeat,
    };
    Ok(asked.resolve())
}

/// Refuses waits that a deadlock would make endless.
fn check_waits(run: &RunFlags, scheme: &Info, workload: &WorkloadOptions) -> Result<(), Stop> {
    let endless = run.wait_timeout == Some(Duration::MAX) && run.deadlock_check == Duration::MAX;
    let in_order = matches!(workload, WorkloadOptions::Ycsb(options) if options.key_order);
    if scheme.name != "dl-detect" || !endless || in_order {
        return Ok(());
    }
    Err(Stop::bad(
        "--deadlock-check",
        "none with --wait-timeout none: a deadlock would never end; accepted: with ycsb --lock-order \
         key, in which there is none",
    ))
}

/// The scheme of this name, whose databases must lie in directories of the engine's.
pub fn in_directory(name: &str) -> Result<&'static Info, Stop> {
    let info = scheme(name)?;
    if !lies_in_directories(info) {
        let problem = format!("`{name}` has its own kind of directory; accepted: another scheme");
        return Err(Stop::bad("--scheme", problem));
    }
    Ok(info)
}

/// The scheme of this name, which must have transactions and lie in a directory, as the library has it.
pub fn with_transactions(name: &str) -> Result<chiliad::Scheme, Stop> {
    let info = in_directory(name)?;
    if !info.has_transactions() {
        let problem = format!("`{}` has no transactions; accepted: a scheme that has", info.name);
        return Err(Stop::bad("--scheme", problem));
    }
    name.parse().map_err(|error| Stop::bad("--scheme", error))
}
