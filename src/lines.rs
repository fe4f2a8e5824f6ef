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
    if case.timestamps == Timestamps::Latched {
        line.push_str(&format!(" --latch {}", case.latch.name()));
    }
    if matches!(case.workload, "scan" | "hash") {
        let (keys, transactions) = case.insert_delete();
        line.push_str(&format!(" --keys {keys} --transactions {transactions}"));
    }
    if case.workload == "ycsb" && case.in_order {
        line.push_str(" --lock-order key --wait-timeout none --deadlock-check none");
    }
    if case.workload == "tpcc" && case.no_read_only {
        line.push_str(" --read-only-tables no");
    }
    if case.interleave > 1 {
        line.push_str(&format!(" --interleave {}", case.interleave));
    }
    if case.short_epochs {
        line.push_str(" --epoch 50us");
    }
    if case.no_snapshots {
        line.push_str(" --snapshots off");
    }
    line.push_str(&cluster(case));
    if let Some(plant) = case.plant {
        line.push_str(&format!(" --plant {}", plant.name));
    }
    line
}

/// The flags of a case's servers, where they differ from the default.
fn cluster(case: &Case) -> String {
    let (ClusterOptions { servers, roll, log_fails_one_in, .. }, base) =
        (&case.cluster, ClusterOptions::default());
    let mut flags = String::new();
    if *servers != base.servers {
        flags.push_str(&format!(" --servers {servers}"));
    }
    if roll.certifier != base.roll.certifier {
        flags.push_str(&format!(" --certifier {}", certifier_name(roll.certifier)));
    }
    if roll.premeld != base.roll.premeld {
        flags.push_str(&format!(" --premeld {}", premeld_name(roll.premeld)));
    }
    if roll.group != base.roll.group {
        flags.push_str(&format!(" --group {}", group_name(roll.group)));
    }
    if roll.level != base.roll.level {
        flags.push_str(&format!(" --isolation {}", level_name(roll.level)));
    }
    if roll.pipeline != base.roll.pipeline {
        flags.push_str(&format!(" --pipeline {}", roll.pipeline));
    }
    if *log_fails_one_in != base.log_fails_one_in {
        flags.push_str(&format!(" --log-faults {log_fails_one_in}"));
    }
    flags
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
