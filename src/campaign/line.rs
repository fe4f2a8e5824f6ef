//! What to type to repeat a case.

use chiliad_engine::Timestamps;
use chiliad_rig::campaign::{Case, Crash};

/// The line that repeats an interleaving.
pub fn interleaving(case: &Case) -> String {
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
    if let Some(plant) = case.plant {
        line.push_str(&format!(" --plant {}", plant.name));
    }
    line
}

/// The line that repeats a crash.
pub fn crash(crash: &Crash) -> String {
    let Crash { workload, scheme, seed, .. } = crash;
    let end = seed + 1;
    let rest = match crash.plant {
        Some(plant) => format!("--plant {}", plant.name),
        None => format!("--workload {workload}"),
    };
    format!("chiliad campaign --disk --seeds {seed}..{end} --scheme {scheme} {rest}")
}

#[cfg(test)]
mod tests {
    use super::interleaving;
    use crate::jobs;
    use chiliad_driver::schemes;
    use chiliad_lab::run::Job;
    use chiliad_machine::Rig;
    use chiliad_rig::campaign::Case;

    /// A case is run without its line. What the line resolves to must be what was run.
    fn check(case: &Case) {
        let line = interleaving(case);
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
        let fault = crate::plants::all()[0];
        for seed in 0..70 {
            for workload in super::super::WORKLOADS {
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
}
