//! Descriptions of figures, as data: the files in `figures/`, each one figure of a paper, or of our own.
//!
//! A panel either has a grid of its own (a command line, series of flags, an axis of values) or shows
//! another panel's runs by another measure (`of`). Its runs are on this machine, or on a simulated one.

use chiliad_host::Stop;
use serde::Deserialize;

/// All descriptions, in the order of the papers; then our own.
const FILES: [&str; 62] = [
    include_str!("../../figures/silo-6-1.toml"),
    include_str!("../../figures/silo-6-2.toml"),
    include_str!("../../figures/silo-6-3.toml"),
    include_str!("../../figures/silo-6-4.toml"),
    include_str!("../../figures/silo-6-5.toml"),
    include_str!("../../figures/silo-6-6.toml"),
    include_str!("../../figures/cores-3-3.toml"),
    include_str!("../../figures/cores-4-1.toml"),
    include_str!("../../figures/cores-4-2.toml"),
    include_str!("../../figures/cores-4-3.toml"),
    include_str!("../../figures/cores-4-4.toml"),
    include_str!("../../figures/cores-4-5.toml"),
    include_str!("../../figures/cores-5-1.toml"),
    include_str!("../../figures/cores-5-2.toml"),
    include_str!("../../figures/cores-5-3.toml"),
    include_str!("../../figures/cores-5-4.toml"),
    include_str!("../../figures/cores-5-5.toml"),
    include_str!("../../figures/cores-5-6.toml"),
    include_str!("../../figures/cores-5-7.toml"),
    include_str!("../../figures/cores-5-8.toml"),
    include_str!("../../figures/cores-5-9.toml"),
    include_str!("../../figures/cores-5-10.toml"),
    include_str!("../../figures/cores-table-6-1.toml"),
    include_str!("../../figures/lm-1.toml"),
    include_str!("../../figures/lm-12.toml"),
    include_str!("../../figures/lm-13.toml"),
    include_str!("../../figures/lm-14.toml"),
    include_str!("../../figures/lm-15.toml"),
    include_str!("../../figures/lm-16.toml"),
    include_str!("../../figures/lm-17.toml"),
    include_str!("../../figures/lm-18.toml"),
    include_str!("../../figures/hyder-e1.toml"),
    include_str!("../../figures/hyder-e2.toml"),
    include_str!("../../figures/hyder-e3.toml"),
    include_str!("../../figures/hyder-e4.toml"),
    include_str!("../../figures/hyder-e5.toml"),
    include_str!("../../figures/hyder-e6.toml"),
    include_str!("../../figures/hyder-e7.toml"),
    include_str!("../../figures/hyder-e8.toml"),
    include_str!("../../figures/hyder-e9.toml"),
    include_str!("../../figures/hyder-e10.toml"),
    include_str!("../../figures/hyder-e11.toml"),
    include_str!("../../figures/hyder-e12.toml"),
    include_str!("../../figures/hyder-e13.toml"),
    include_str!("../../figures/hyder-e14.toml"),
    include_str!("../../figures/hyder-limits.toml"),
    include_str!("../../figures/swarm-5-1.toml"),
    include_str!("../../figures/swarm-5-2.toml"),
    include_str!("../../figures/swarm-5-3.toml"),
    include_str!("../../figures/swarm-5-4.toml"),
    include_str!("../../figures/swarm-5-5.toml"),
    include_str!("../../figures/swarm-5-6.toml"),
    include_str!("../../figures/swarm-5-7.toml"),
    include_str!("../../figures/swarm-5-8.toml"),
    include_str!("../../figures/swarm-5-9.toml"),
    include_str!("../../figures/tpcc.toml"),
    include_str!("../../figures/validation.toml"),
    include_str!("../../figures/simulated-host.toml"),
    include_str!("../../figures/interleave.toml"),
    include_str!("../../figures/hyder-certifiers.toml"),
    include_str!("../../figures/swarm-schemes.toml"),
    include_str!("../../figures/swarm-sensitivity.toml"),
];

/// A panel's name for this machine, whatever its figure's is.
const NATIVE: &str = "native";

/// The series that compare schemes.
const SCHEMES: &str = include_str!("../../figures/schemes.toml");

/// A figure or table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// By which it is asked for.
    pub id: String,
    /// The paper.
    pub source: Source,
    /// Its name in the paper.
    pub figure: String,
    /// The section that speaks of it.
    pub section: String,
    /// The subject, in few words.
    pub title: String,
    /// The finding that the paper shows.
    pub shows: String,
    /// How this reproduction differs from it.
    pub scaled: String,
    /// The simulated machine that its panels run on; none: this machine.
    pub machine: Option<String>,
    /// How the simulated reproduction differs from the paper.
    #[serde(default)]
    pub simulated: String,
    /// It makes no sense on this machine.
    #[serde(default)]
    pub simulated_only: bool,
    /// Its charts.
    #[serde(rename = "panel")]
    pub panels: Vec<Panel>,
}

/// A paper.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Tu's thesis.
    Silo,
    /// Yu's thesis.
    Cores,
    /// The article of Jung and others on a lock manager.
    Lm,
    /// The article of Bernstein and others on Hyder II.
    Hyder,
    /// Yan's thesis.
    Swarm,
    /// None: a question of our own.
    Own,
}

impl Source {
    /// How the paper is cited.
    pub fn citation(self) -> &'static str {
        match self {
            Self::Silo => {
                "S. L. Tu, Fast Transactions for Multicore In-Memory Databases, MIT, 2013"
            }
            Self::Cores => {
                "X. Yu, An Evaluation of Concurrency Control with One Thousand Cores, MIT, 2015"
            }
            Self::Lm => {
                "H. Jung, H. Han, A. Fekete, G. Heiser, H. Y. Yeom, A Scalable Lock Manager for Multicores, \
                 ACM TODS 39 (4), 2014"
            }
            Self::Hyder => {
                "P. A. Bernstein, S. Das, B. Ding, M. Pilman, Optimizing Optimistic Concurrency Control for \
                 Tree-Structured, Log-Structured Databases, ACM SIGMOD, 2015"
            }
            Self::Swarm => {
                "C. Yan, Exploiting Fine-Grain Parallelism in Transactional Database Systems, MIT, 2015"
            }
            Self::Own => "No paper: a question of our own",
        }
    }
}

/// One chart.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// `a`, `b`, ...
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its form.
    #[serde(default)]
    pub kind: Kind,
    /// The plotted metric.
    #[serde(default)]
    pub metric: Metric,
    /// The panel whose runs it shows; its own where there is none.
    pub of: Option<String>,
    /// Of a breakdown: the end of the other panel's axis that it looks at.
    #[serde(default)]
    pub at: Edge,
    /// That end as a place of the axis, where that was run.
    pub place: Option<f64>,
    /// The simulated machine that its runs are on; none: this machine. In a description only where that is not
    /// its figure's, and `native` for this machine.
    pub machine: Option<String>,
    /// Simulated cores, where these are not what is varied; a series can have a number of its own.
    pub on: Option<usize>,
    /// Flags of a full simulated run only, in the place of `full`.
    #[serde(default)]
    pub simulated: String,
    /// Flags of a quick simulated run only.
    #[serde(default)]
    pub simulated_quick: String,
    /// The memory that must be available for each database of a full simulated run, with a unit.
    pub simulated_memory: Option<String>,
    /// The workload and the flags of all runs.
    pub run: Option<String>,
    /// Flags of a full run only.
    #[serde(default)]
    pub full: String,
    /// Flags of a quick run only.
    #[serde(default)]
    pub quick: String,
    /// The variable of the horizontal axis.
    pub x: Option<Axis>,
    /// The series whose value at the first place of the axis is one: amounts are multiples of it.
    pub over: Option<String>,
    /// The scale of what is plotted.
    #[serde(default)]
    pub y: Scale,
    /// The series include those that compare schemes.
    #[serde(default)]
    pub schemes: bool,
    /// The series.
    #[serde(default)]
    pub series: Vec<Series>,
    /// The paper's numbers, to be shown beside.
    #[serde(default)]
    pub reference: Vec<Reference>,
}

/// The form of a chart.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A line for each series.
    #[default]
    Lines,
    /// A line of cumulative shares of records by number of versions, for each series.
    Cumulative,
    /// A bar for each series, with no axis.
    Bars,
    /// A bar for each series, cut into the parts of its time.
    Breakdown,
}

/// The plotted metric.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Transactions, or whatever the workload counts, per second.
    #[default]
    Throughput,
    /// Throughput for each core.
    ThroughputPerCore,
    /// Rows accessed per second: transactions times `--ops`.
    Accesses,
    /// The share of attempts that were refused.
    AbortRate,
    /// The share of records with at most so many older versions.
    Versions,
    /// The median latency of a transaction, in microseconds.
    #[serde(rename = "latency_p50")]
    LatencyP50,
    /// The latency that one transaction in a hundred exceeds, in microseconds.
    #[serde(rename = "latency_p99")]
    LatencyP99,
    /// The simulated memory handed out by the end of a run, in bytes. A run on this machine shares its process
    /// with others, and has no such number.
    Memory,
    /// Bytes of records appended to a log per second.
    Bytes,
    /// Instructions of a transaction, which a tool counts on this machine.
    Instructions,
    /// The share of the cores' time spent on what commits.
    CommittedTime,
    /// On what does not.
    AbortedTime,
    /// Waiting with something in hand.
    StalledTime,
    /// Waiting for something.
    IdleTime,
    /// Of meld alone, nanoseconds of building on the state that was read, for each intention.
    BuildNs,
    /// Of premeld.
    PremeldNs,
    /// Of the last stage.
    LastNs,
    /// Of all stages.
    AllNs,
    /// Intentions that one core takes through all stages per second.
    AllRate,
    /// Nodes that the last stage looks at, for each intention.
    Visited,
    /// Nodes that it makes.
    Made,
    /// Intentions between the state that an overlay was last built on and the intention: what is left of the conflict
    /// zone.
    ZoneLeft,
}

/// An end of an axis.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Edge {
    /// Its first point.
    First,
    /// Its last point.
    #[default]
    Last,
}

/// How values are placed along an axis.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// In proportion.
    #[default]
    Linear,
    /// By their logarithm.
    Log,
    /// By their logarithm, with powers of two marked.
    Log2,
    /// At equal distances, whatever they are.
    Steps,
}

/// The variable of an axis.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The flag; none where runs have the whole axis in them.
    pub flag: Option<String>,
    /// Flags that get the same value.
    #[serde(default)]
    pub also: Vec<String>,
    /// Follows the value on the command line.
    #[serde(default)]
    pub unit: String,
    /// The label of the axis.
    pub label: String,
    /// How values are placed.
    #[serde(default)]
    pub scale: Scale,
    /// Values are numbers of cores: no more than there are, and as many as there are.
    #[serde(default)]
    pub cores: bool,
    /// Simulated cores for each: values are servers, each of so many cores.
    pub cores_each: Option<usize>,
    /// The places of the axis take turns as the series do: for what is compared along the axis. The
    /// databases of all places are open at once then.
    #[serde(default)]
    pub turns: bool,
    /// The values.
    pub values: Vec<f64>,
    /// The values of a quick run; the same where there are none.
    #[serde(default)]
    pub quick: Vec<f64>,
    /// How a value is shown.
    #[serde(default)]
    pub shown: Shown,
}

/// How a flag's value becomes a place on the axis.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// As it is.
    #[default]
    Same,
    /// From the percentage of items to that of orders of 5 to 15 items that have one such.
    #[serde(rename = "any_of_5_to_15")]
    AnyOf5To15,
}

impl Shown {
    /// The place of `value`.
    pub fn place(self, value: f64) -> f64 {
        match self {
            Self::Same => value,
            Self::AnyOf5To15 => {
                let none = |items: i32| (1.0 - value / 100.0).powi(items);
                let none_on_average = (5..=15).map(none).sum::<f64>() / 11.0;
                100.0 * (1.0 - none_on_average)
            }
        }
    }
}

/// Runs that differ along the axis only.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Its name, the paper's where it has one.
    pub name: String,
    /// Its flags.
    #[serde(default)]
    pub flags: String,
    /// Its own workload and flags, in the place of the panel's.
    pub run: Option<String>,
    /// Only in a full run.
    #[serde(default)]
    pub full_only: bool,
    /// Only on a simulated machine.
    #[serde(default)]
    pub simulated_only: bool,
    /// Only on this machine.
    #[serde(default)]
    pub native_only: bool,
    /// Simulated cores, in the place of the panel's.
    pub on: Option<usize>,
    /// Flags of a full simulated run only.
    #[serde(default)]
    pub simulated: String,
    /// Flags of a quick simulated run only.
    #[serde(default)]
    pub simulated_quick: String,
    /// The memory that must be available before its database is opened, with a unit.
    pub memory: Option<String>,
}

/// Numbers that the paper states.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// The name of the series or quantity.
    pub name: String,
    /// Of a bar: its length.
    pub value: Option<f64>,
    /// Of a line: one for each value of the axis.
    #[serde(default)]
    pub values: Vec<f64>,
    /// Remarks for the reader.
    #[serde(default)]
    pub note: String,
}

impl Figure {
    /// Whether it has panels on a simulated machine.
    pub fn is_simulated(&self) -> bool {
        self.panels.iter().any(|panel| panel.machine.is_some())
    }

    /// How its reproduction differs from the paper.
    pub fn differs(&self) -> &str {
        if self.is_simulated() { &self.simulated } else { &self.scaled }
    }
}

/// All figures; with `native` all on this machine, but for those that make no sense there.
pub fn all(native: bool) -> Result<Vec<Figure>, Stop> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Schemes {
        series: Vec<Series>,
    }
    let schemes: Schemes = read(SCHEMES)?;
    let mut figures = FILES.into_iter().map(read).collect::<Result<Vec<Figure>, Stop>>()?;
    for panel in figures.iter_mut().flat_map(|figure| &mut figure.panels) {
        if panel.schemes {
            panel.series.splice(0..0, schemes.series.iter().cloned());
        }
    }
    if native {
        figures.retain(|figure| !figure.simulated_only);
    }
    for figure in &mut figures {
        if native {
            // Panels with a machine of their own stand beside those of this one.
            figure.panels.retain(|panel| panel.machine.is_none());
        }
        for panel in &mut figure.panels {
            let machine = panel.machine.take().or_else(|| figure.machine.clone());
            panel.machine = machine.filter(|machine| !native && machine != NATIVE);
            let simulated = panel.machine.is_some();
            let elsewhere =
                |it: &Series| if simulated { it.native_only } else { it.simulated_only };
            panel.series.retain(|series| !elsewhere(series));
        }
    }
    Ok(figures)
}

/// Parses a file of `figures/`.
pub fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Stop> {
    toml::from_str(text).map_err(|error| Stop::Failed(format!("a file of figures/: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chiliad_host::values;
    use std::collections::HashSet;

    #[test]
    fn every_description_is_whole() {
        for native in [true, false] {
            let figures = all(native).expect("every description parses");
            let ids: HashSet<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
            assert_eq!(ids.len(), figures.len());
            figures.iter().for_each(whole);
        }
    }

    fn whole(figure: &Figure) {
        for panel in &figure.panels {
            let place = format!("{} {}", figure.id, panel.id);
            let other = |id: &String| figure.panels.iter().any(|panel| &panel.id == id);
            match &panel.of {
                Some(id) => assert!(other(id) && panel.series.is_empty(), "{place}"),
                None => assert!(!panel.series.is_empty(), "{place}"),
            }
            let run = |series: &Series| series.run.is_some() || panel.run.is_some();
            assert!(panel.series.iter().all(run), "{place}");
            let names: HashSet<&str> = panel.series.iter().map(|it| it.name.as_str()).collect();
            assert_eq!(names.len(), panel.series.len(), "{place}");
            assert_eq!(panel.kind == Kind::Cumulative, panel.metric == Metric::Versions);
            if let Some(over) = &panel.over {
                assert!(panel.metric == Metric::Throughput, "{place}");
                let shown = super::super::measured::source(figure, panel);
                assert!(shown.series.iter().any(|it| it.name == *over), "{place}: {over}");
            }
            let own_lines = panel.of.is_none() && panel.kind != Kind::Bars;
            assert_eq!(panel.x.is_some(), own_lines, "{place}");
            assert!(panel.kind != Kind::Breakdown || panel.of.is_some(), "{place}");
            let memory = panel.series.iter().filter_map(|series| series.memory.as_deref());
            let memory = memory.chain(panel.simulated_memory.as_deref());
            assert!(memory.map(values::size).all(|bytes| bytes.is_ok()), "{place}");
            let simulated = panel.machine.is_some() && panel.of.is_none();
            let cores =
                panel.x.as_ref().is_some_and(|axis| axis.cores || axis.cores_each.is_some());
            assert!(!simulated || cores != panel.on.is_some(), "{place}: how many cores?");
        }
        assert!(!figure.is_simulated() || !figure.simulated.is_empty(), "{}", figure.id);
    }

    #[test]
    fn every_figure_runs_here_or_simulated() {
        let simulated = |native| -> Vec<String> {
            let figures = all(native).expect("every description parses").into_iter();
            figures.filter(Figure::is_simulated).map(|figure| figure.id).collect()
        };
        assert!(simulated(true).is_empty());
        let cores = |id: &&String| id.starts_with("cores-");
        assert_eq!(simulated(false).iter().filter(cores).count(), 17);
        let locks = |id: &&String| id.starts_with("lm-");
        assert_eq!(simulated(false).iter().filter(locks).count(), 8);
        let servers = |id: &&String| id.starts_with("hyder-");
        assert_eq!(simulated(false).iter().filter(servers).count(), 5);
        let tasks = |id: &&String| id.starts_with("swarm-");
        assert_eq!(simulated(false).iter().filter(tasks).count(), 11);
        assert_eq!(simulated(false).len(), 42, "and the simulator against this computer");
    }

    #[test]
    fn no_file_of_a_figure_is_forgotten() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("figures");
        let files = std::fs::read_dir(folder).expect("readable").filter(|entry| {
            let name = entry.as_ref().expect("readable").file_name().into_string().expect("UTF-8");
            !name.starts_with("claims-") && name != "schemes.toml"
        });
        assert_eq!(files.count(), FILES.len());
    }

    /// The guide's panel is one, and its claim is one of those that are judged.
    #[test]
    fn the_guide_shows_what_is_understood() {
        let guide = include_str!("../../../../docs/figures.md");
        let fences = guide.split("```toml\n").skip(1);
        let shown: Vec<&str> = fences.filter_map(|rest| rest.split("```").next()).collect();
        let [panel, claim] = shown[..] else { panic!("a panel and a claim") };
        let head = "id = 'x'\nsource = 'silo'\nfigure = ''\nsection = ''\ntitle = ''\nshows = ''\n\
                    scaled = ''\n";
        whole(&read(&format!("{head}{panel}")).expect("a figure"));
        assert!(include_str!("../../figures/claims-2026-11-20.toml").contains(claim), "{claim}");
    }

    #[test]
    fn an_unknown_word_is_refused() {
        let bad = "id = 'x'\nsource = 'silo'\nfigure = ''\nsection = ''\ntitle = ''\nshows = ''\n\
                   scaled = ''\npanle = []";
        assert!(read::<Figure>(bad).is_err());
    }

    #[test]
    fn items_become_orders() {
        assert_eq!(Shown::AnyOf5To15.place(0.0), 0.0);
        assert!((Shown::AnyOf5To15.place(10.0) - 63.2).abs() < 0.05);
        assert!((Shown::AnyOf5To15.place(100.0) - 100.0).abs() < 1e-9);
    }
}
