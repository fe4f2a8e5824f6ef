//! The command lines that repeat a rig's runs.

use chiliad::Scheme;
use chiliad_driver::ClusterOptions;
use chiliad_engine::Timestamps;
use chiliad_lab::spec::{certifier_name, group_name, level_name, premeld_name};
use chiliad_rig::campaign::{Case, Crash, Ordered, Trial, World};
use chiliad_rig::damage::Kind;
use chiliad_rig::soak::{Cell, On};

/// The line that repeats a case of a campaign.
pub fn trial(trial: &Trial) -> String {
    let campaign = |plant: &str, seed: u64| {
        format!("chiliad campaign --plant {plant} --seeds {seed}..{}", seed + 1)
    };
    match trial {
        Trial::Interleaving(case) => interleaving(case),
        Trial::Crash(case) => crash(case),
        Trial::World(case) => world(case),
        Trial::Ordered(case) => ordered(case),
        Trial::Locks(locks) => campaign(locks.fault.map_or("all", |it| it.name), locks.seed),
        Trial::Soak { cell: soaked, seed, plant: None } => cell(*soaked, *seed),
        Trial::Soak { seed, plant: Some(plant), .. } => campaign(plant.name, *seed),
    }
}

/// The line that runs a cell again with this seed.
pub fn cell(cell: Cell, seed: u64) -> String {
    let Cell { on, scheme, workload, interleave } = cell;
    let machine = if on == On::Native { "native" } else { "simulated" };
    format!(
        "chiliad soak --{machine} --scheme {scheme} --workload {workload} --interleave \
         {interleave} --seed {seed}"
    )
}

/// The line that damages the directory of this seed again.
pub fn damage(seed: u64, kind: Kind, scheme: Scheme) -> String {
    let (kind, scheme) = (kind.name(), scheme.name());
    format!("chiliad damage --cycles 1 --seed {seed} --kind {kind} --scheme {scheme}")
}

/// The line that repeats an interleaving.
fn interleaving(case: &Case) -> String {
    let schedule = if case.few_preemptions { "few-preemptions" } else { "random" };
    let memory_model = if case.tso { "tso" } else { "sc" };
    let mut line = format!(
        "chiliad simulate {} --scheme {} --cores {} --seed {} --schedule {schedule} --memory-model \
         {memory_model} --timestamps {} --verify",
        case.workload,
        case.scheme,
        case.cores,
        case.seed,
        case.timestamps.name()
    );
    let (keys, transactions) = case.insert_delete();
    line += &where_true([
        (case.timestamps == Timestamps::Latched, format!(" --latch {}", case.latch.name())),
        (
            matches!(case.workload, "scan" | "hash"),
            format!(" --keys {keys} --transactions {transactions}"),
        ),
        (
            case.workload == "ycsb" && case.in_order,
            " --lock-order key --wait-timeout none --deadlock-check none".into(),
        ),
        (
            matches!(case.workload, "tpcc" | "tpcc-sql") && case.no_read_only,
            " --read-only-tables no".into(),
        ),
        (matches!(case.workload, "tpcc" | "tpcc-sql") && case.inline, " --deferred inline".into()),
        (case.interleave > 1, format!(" --interleave {}", case.interleave)),
        (case.short_epochs, " --epoch 50us".into()),
        (case.no_snapshots, " --snapshots off".into()),
    ]);
    line += &cluster(case);
    if let Some(plant) = case.plant {
        line.push_str(&format!(" --plant {}", plant.name));
    }
    line
}

/// The flags of a case's servers, where they differ from the default.
fn cluster(case: &Case) -> String {
    let ClusterOptions { servers, roll: rolled, log_fails_one_in, .. } = &case.cluster;
    let base = ClusterOptions::default();
    let usual = &base.roll;
    where_true([
        (*servers != base.servers, format!(" --servers {servers}")),
        (
            rolled.certifier != usual.certifier,
            format!(" --certifier {}", certifier_name(rolled.certifier)),
        ),
        (rolled.premeld != usual.premeld, format!(" --premeld {}", premeld_name(rolled.premeld))),
        (rolled.group != usual.group, format!(" --group {}", group_name(rolled.group))),
        (rolled.level != usual.level, format!(" --isolation {}", level_name(rolled.level))),
        (rolled.pipeline != usual.pipeline, format!(" --pipeline {}", rolled.pipeline)),
        (*log_fails_one_in != base.log_fails_one_in, format!(" --log-faults {log_fails_one_in}")),
    ])
}

/// The flags whose condition holds.
fn where_true<const N: usize>(flags: [(bool, String); N]) -> String {
    flags.into_iter().filter(|(holds, _)| *holds).map(|(_, flag)| flag).collect()
}

/// The line that repeats a crash.
fn crash(crash: &Crash) -> String {
    let Crash { workload, scheme, seed, .. } = crash;
    let end = seed + 1;
    let rest = match crash.plant {
        Some(plant) => format!("--plant {}", plant.name),
        None => format!("--workload {workload}"),
    };
    format!("chiliad campaign --disk --seeds {seed}..{end} --scheme {scheme} {rest}")
}

/// The line that repeats a run of ordered tasks.
fn ordered(case: &Ordered) -> String {
    let Ordered { workload, seed, cores, plant } = case;
    let end = seed + 1;
    let mut line = match plant {
        Some(plant) => format!("chiliad campaign --plant {} --seeds {seed}..{end}", plant.name),
        None => {
            format!("chiliad campaign --scheme swarm --seeds {seed}..{end} --workload {workload}")
        }
    };
    if let Some(cores) = cores {
        line.push_str(&format!(" --cores {cores}"));
    }
    line
}

/// The line that repeats a world.
fn world(world: &World) -> String {
    let World { workload, servers, seed, plant } = world;
    let end = seed + 1;
    if let Some(plant) = plant {
        return format!("chiliad campaign --plant {} --seeds {seed}..{end}", plant.name);
    }
    let mut line = format!(
        "chiliad campaign --world --seeds {seed}..{end} --scheme hyder --workload {workload}"
    );
    if *servers != World::new(workload, *seed).servers {
        line.push_str(&format!(" --servers {}..{}", servers.start, servers.end));
    }
    line
}
