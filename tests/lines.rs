//! Command lines that nobody types here: those of the documents, of the figures, and those that repeat what a rig has
//! run. Each is parsed and resolved as if it had been typed; nothing runs.

#[path = "common/fences.rs"]
mod fences;

use chiliad_cli::jobs::{measurement, parse, points};
use chiliad_cli::lines;
use chiliad_driver::{faults, schemes};
use chiliad_host::Stop;
use chiliad_lab::figure::describe::{self, Figure};
use chiliad_lab::figure::grid::Grid;
use chiliad_lab::figure::{estimate, table};
use chiliad_lab::machines;
use chiliad_lab::run::Job;
use chiliad_lab::spec::{Database, Price};
use chiliad_machine::Rig;
use chiliad_rig::campaign::{Case, Trial, WORKLOADS as CAMPAIGN};
use chiliad_rig::soak::{Cell, Load, On, Run, WORKLOADS};
use std::path::Path;
use std::time::Duration;

/// In running text a command may stand without what it needs, and a word for any workload.
fn is_cut_short(stop: &Stop) -> bool {
    matches!(stop, Stop::BadInput(line) if line.contains("missing"))
}

/// This computer is too small for it, which says nothing of the document.
fn needs_a_larger_computer(stop: &Stop) -> bool {
    matches!(stop, Stop::BadInput(line) if line.contains("needs about") && line.contains("of memory"))
}

/// Lines that show what is refused.
const REFUSED: [&str; 1] = ["bench tpcc --warehouses 0"];

#[test]
fn command_lines_in_documents_are_accepted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut tried, mut refused) = (0, 0);
    for document in fences::documents(root) {
        for command in document.commands() {
            let Some(words) = command.of_chiliad() else { continue };
            let any = |word: &String| if word == "WORKLOAD" { "ycsb".into() } else { word.clone() };
            let words: Vec<String> = words.iter().map(any).collect();
            tried += 1;
            match points(&words) {
                Ok(_) | Err(Stop::Done(_)) => {}
                Err(stop) if command.inline && is_cut_short(&stop) => {}
                Err(stop) if needs_a_larger_computer(&stop) => {}
                Err(Stop::BadInput(_)) if REFUSED.contains(&words.join(" ").as_str()) => {
                    refused += 1
                }
                Err(stop) => panic!("{}: {words:?}: {stop:?}", command.place),
            }
        }
    }
    assert!(tried > 60 && refused == REFUSED.len(), "{tried} tried, {refused} refused");
}

/// Every line of every figure is what the command takes, but where a machine has too few partitions
/// for a line, or fewer cores than it, which the page says.
#[test]
fn every_line_is_taken_by_the_command() {
    let mut refused = Vec::new();
    for (native, quick, cores) in
        [(true, true, 2), (true, false, 64), (false, true, 2), (false, false, 2)]
    {
        let grid = Grid { quick, cores };
        for figure in describe::all(native).expect("every description parses") {
            for panel in &figure.panels {
                for line in grid.columns(panel).iter().flat_map(|column| &column.lines) {
                    if let Err(stop) = measurement(line) {
                        refused.push((line.join(" "), format!("{stop:?}")));
                    }
                }
            }
        }
    }
    for (line, problem) in &refused {
        let simulated = line.starts_with("simulate ");
        let known =
            problem.contains("--parts-per-txn") || simulated && line.contains(NOT_SIMULATED);
        assert!(known, "{line}: {problem}");
    }
}

/// The machine that has no more cores than this one, whatever the grid says.
const NOT_SIMULATED: &str = "--machine host";

fn job(line: &str) -> Job {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    parse(&words).expect(line)
}

fn database(line: &str) -> Option<Database> {
    job(line).database()
}

#[test]
fn a_database_is_used_again_where_only_the_run_differs() {
    let one = database("bench ycsb --records 1000 --threads 1 --duration 1s");
    let same = |line: &str| assert_eq!(one, database(line), "{line}");
    same("bench ycsb --records 1000 --threads 2 --duration 2s --backoff none");
    same("bench ycsb --records 1000 --threads 1 --interleave 4");
    same("bench ycsb --records 1000 --threads 1 --interleave auto");
    let other = |line: &str| assert_ne!(one, database(line), "{line}");
    other("bench ycsb --records 1000 --threads 1 --scheme occ");
    other("bench ycsb --records 1000 --threads 1 --theta 0.5");
    other("bench ycsb --records 2000 --threads 1");
    assert_eq!(database("bench timestamps --threads 1"), None);
}

#[test]
fn simulated_runs_of_the_same_rows_share_a_database() {
    let one = database("simulate ycsb --cores 2");
    let same = |line: &str| assert_eq!(one, database(line), "{line}");
    same("simulate ycsb --cores 8 --theta 0.5 --seed 3 --cost-scale 2");
    same("simulate ycsb --cores 4 --read-ratio 10 --duration 100us");
    same("simulate ycsb --cores 1 --partitions 4");
    let other = |line: &str| assert_ne!(one, database(line), "{line}");
    other("simulate ycsb --cores 2 --scheme occ");
    other("simulate ycsb --cores 2 --records 1000");
    other("simulate ycsb --cores 2 --verify");
    other("simulate ycsb --cores 2 --machine xeon-32");
    let tasks = "simulate tpcc --machine swarm-64 --scheme swarm --warehouses 2";
    for flags in
        ["--cores 8 --tasks one --sets precise", "--gvt-period 400 --task-queue 16", "--mix np"]
    {
        assert_eq!(database(tasks), database(&format!("{tasks} {flags}")), "{flags}");
    }
    assert!(database(tasks).is_some() && database(tasks) != database(&tasks.replace("s 2", "s 3")));
    let partitioned = |count: u32| {
        database(&format!("simulate ycsb --cores 2 --scheme h-store --partitions {count}"))
    };
    assert_ne!(partitioned(2), partitioned(4));
    assert_eq!(database("simulate ycsb --cores 2 --schedule random"), None);
}

#[test]
fn another_seed_or_price_is_as_if_it_had_been_typed() {
    for line in ["simulate ycsb --cores 2 --theta 0.5", "simulate timestamps --cores 4"] {
        let again = job(line).again(3, Price::Half);
        let typed = job(&format!("{line} --seed 3 --cost-scale 0.5"));
        assert_eq!(format!("{again:?}"), format!("{typed:?}"));
    }
}

#[test]
fn all_quick_figures_together_are_quick() {
    let grid = Grid { quick: true, cores: 2 };
    let full = Grid { quick: false, ..grid };
    for (native, minutes) in [(true, 25), (false, 60)] {
        let figures = describe::all(native).expect("every description parses");
        let total: Duration =
            figures.iter().map(|figure| estimate(figure, grid, &measurement)).sum();
        assert!(total < Duration::from_secs(minutes * 60), "{total:?}");
        let more = |it: &Figure| {
            let [quick, full] = [grid, full].map(|grid| estimate(it, grid, &measurement));
            // Where nothing can be run yet there is nothing to estimate.
            full > quick || full.is_zero()
        };
        assert!(figures.iter().all(more));
    }
}

#[test]
fn every_figure_has_a_line() {
    let figures = describe::all(false).expect("every description parses");
    let table = table(&figures, 2, &measurement);
    assert_eq!(table.lines().count(), figures.len() + 2);
    assert!(table.lines().any(|line| line.starts_with("cores-5-10       Figure 5-10")), "{table}");
}

/// A case is run without its line. What the line resolves to must be what was run.
fn check(case: &Case) {
    let line = lines::trial(&Trial::Interleaving(case.clone()));
    let words: Vec<String> = line.split(' ').skip(1).map(str::to_owned).collect();
    let job = parse(&words).unwrap_or_else(|stop| panic!("{line}: {stop:?}"));
    let Job::Workload(typed) = job else { panic!("{line}: no workload") };
    let plan = typed.simulated().expect("a simulated run");
    let setup = case.setup().expect("a case that can be run");
    assert_eq!(setup.scheme.name, typed.scheme.name, "{line}");
    assert_eq!(format!("{:?}", setup.workload), format!("{:?}", typed.workload), "{line}");
    assert_eq!(format!("{:?}", setup.opening), format!("{:?}", typed.opening()), "{line}");
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
        if schemes().iter().any(|info| info.name == scheme && info.needs_partitions) {
            line.push_str(" --partitions 4 --multi-partition 20");
        }
    }
    line.split(' ').map(str::to_owned).collect()
}

/// What a cell's setup and its words resolve to, as texts that must be equal.
fn both(cell: Cell, seed: u64, load: &Load<'_>) -> (String, String) {
    let setup = cell.setup(seed, load, None).expect("a cell");
    let own = format!("{:?} {:?} ", setup.workload, setup.engine);
    let job = parse(&words(cell, seed, load)).expect("words");
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
            for info in schemes().iter().filter(|info| info.has_transactions()) {
                for (seed, interleave) in [(0, 1), (1, 2), (2, 8)] {
                    let cell = Cell { on, scheme: info.name, workload, interleave };
                    let (own, words) = both(cell, seed, &load);
                    assert_eq!(own, words, "{cell:?} seed {seed}");
                }
            }
        }
    }
}
