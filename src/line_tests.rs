//! What a rig runs, against the lines that repeat it: both mean the same.

use super::lines;
use crate::{jobs, settings};
use chiliad_driver::{faults, schemes};
use chiliad_lab::run::Job;
use chiliad_lab::{machines, spec};
use chiliad_machine::Rig;
use chiliad_rig::campaign::{Case, Trial, WORKLOADS as CAMPAIGN};
use chiliad_rig::soak::{Cell, Load, On, Run, WORKLOADS};
use std::time::Duration;

/// A case is run without its line. What the line resolves to must be what was run.
fn check(case: &Case) {
    let line = lines::trial(&Trial::Interleaving(case.clone()));
    let words: Vec<String> = line.split(' ').skip(1).map(str::to_owned).collect();
    let job = jobs::parse(&words).unwrap_or_else(|stop| panic!("{line}: {stop:?}"));
    let Job::Workload(typed) = job else { panic!("{line}: no workload") };
    let plan = typed.simulated().expect("a simulated run");
    let setup = case.setup().expect("a case that can be run");
    assert_eq!(setup.scheme.name, typed.scheme.name, "{line}");
    assert_eq!(format!("{:?}", setup.workload), format!("{:?}", typed.workload), "{line}");
    assert_eq!(format!("{:?}", setup.engine), format!("{:?}", typed.engine), "{line}");
    assert_eq!(format!("{:?}", setup.plan), format!("{plan:?}"), "{line}");
}

#[test]
fn the_line_of_a_case_repeats_it() {
    let fault = faults()[0];
    for seed in 0..70 {
        for workload in CAMPAIGN {
            for info in schemes() {
                let case = Case::new(workload, info.name, seed, None);
                check(&case);
                if seed < 3 {
                    check(&case.clone().on(Rig::SimCrews, None));
                    check(&case.clone().on(Rig::SimTso, Some(5)).plant(fault));
                    check(&Case::new(workload, info.name, seed, Some(2)));
                }
            }
        }
    }
}

/// A run like a cell's, but for its length.
fn words(cell: Cell, seed: u64, load: &Load<'_>) -> Vec<String> {
    let Cell { on, scheme, workload, interleave } = cell;
    let command = if on == On::Native { "bench" } else { "simulate" };
    let mut line = format!(
        "{command} {workload} --scheme {scheme} --interleave {interleave} --seed {seed} \
         --warmup 0s --backoff exponential"
    );
    match on {
        On::Native => {
            let clients = load.cores * (1 + seed as usize % 2);
            line.push_str(&format!(" --threads {} --clients {clients}", load.cores));
        }
        On::Timed => line.push_str(" --cores 4 --epoch 100us"),
        On::Explored => line.push_str(" --cores 4 --schedule random"),
    }
    if workload == "ycsb" {
        line.push_str(" --records 100 --record-bytes 16 --ops 8 --theta 0.95 --rmw");
        line.push_str(" --scan-ratio 0 --index ");
        line.push_str(if (seed / 2).is_multiple_of(2) { "ordered" } else { "hash" });
        if settings::scheme(scheme).is_ok_and(|info| info.needs_partitions) {
            line.push_str(" --partitions 4 --multi-partition 20");
        }
    }
    line.split(' ').map(str::to_owned).collect()
}

/// What a cell's setup and its words resolve to, as texts that must be equal.
fn both(cell: Cell, seed: u64, load: &Load<'_>) -> (String, String) {
    let setup = cell.setup(seed, load, None).expect("a cell");
    let own = format!("{:?} {:?} ", setup.workload, setup.engine);
    let job = jobs::parse(&words(cell, seed, load)).expect("words");
    let Job::Workload(mut typed) = job else { panic!("{cell:?}: not a run like it") };
    match setup.run {
        Run::Native(plan) => {
            typed.plan.watched(load.length, load.idle_max);
            let words = format!("{:?} {:?} {:?}", typed.workload, typed.engine, typed.plan);
            (format!("{own}{plan:?}"), words)
        }
        Run::Simulated(plan) => {
            let mut simulated = typed.simulated().expect("a simulated run");
            // The cell says how long it runs, and that nothing else ends it.
            (simulated.plan.length, simulated.plan.idle_max) =
                (plan.plan.length, plan.plan.idle_max);
            simulated.plan.rehearsals = 0;
            simulated.config.events_max = u64::MAX;
            let words = format!("{:?} {:?} {simulated:?}", typed.workload, typed.engine);
            (format!("{own}{plan:?}"), words)
        }
    }
}

#[test]
fn a_cell_is_what_its_words_say() {
    let machine = machines::timed().expect("a machine");
    let (length, idle_max) = (Duration::from_secs(1), Duration::from_secs(10));
    let load = Load { cores: 2, length, idle_max, machine: &machine };
    for on in [On::Native, On::Timed, On::Explored] {
        for workload in WORKLOADS {
            for info in schemes().iter().filter(|info| spec::promises_transactions(info)) {
                for (seed, interleave) in [(0, 1), (1, 2), (2, 8)] {
                    let cell = Cell { on, scheme: info.name, workload, interleave };
                    let (own, words) = both(cell, seed, &load);
                    assert_eq!(own, words, "{cell:?} seed {seed}");
                }
            }
        }
    }
}
