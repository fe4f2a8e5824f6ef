//! From a panel to the command lines of its runs: on this machine, or on a simulated one of any size.

use super::describe::{Figure, Metric, Panel, Series};
use super::measured::source;
use super::measurement::Measurement;
use crate::spec::Price;
use chiliad_host::Stop;
use std::time::Duration;

/// Turns the words of a description, a workload with its flags and what it runs on, into what is measured.
pub type Parse<'a> = &'a dyn Fn(&[String]) -> Result<Measurement, Stop>;

/// The most simulated cores of a quick run.
const QUICK_CORES: usize = 64;

/// The simulated machine that is this one.
const HOST: &str = "host";

/// The first words of a run whose instructions are counted: no epoch ends within it, so that nothing depends on how fast it
/// is.
const COUNTED: &str = "--warmup 0ms --epoch 1h --backoff none --interleave 1";

/// How much of a figure is run.
#[derive(Clone, Copy)]
pub struct Grid {
    /// The smaller grid, with shorter runs.
    pub quick: bool,
    /// Cores of this machine.
    pub cores: usize,
}

/// All runs at one place of the axis.
pub struct Column {
    /// The place on the axis.
    pub x: f64,
    /// The value as it is shown.
    pub label: String,
    /// For each series of the panel, the words after `chiliad`.
    pub lines: Vec<Vec<String>>,
}

impl Grid {
    /// Repetitions of each run, with different seeds. On a simulated machine a seed also places all lines
    /// anew.
    pub fn rounds(self, panel: &Panel) -> u64 {
        match (panel.metric, &panel.machine) {
            // Instructions do not depend on how fast the machine is.
            (Metric::Instructions, _) => 1,
            (_, Some(_)) if self.quick => 2,
            _ => 3,
        }
    }

    /// Runs of a line, at all prices.
    pub fn runs(self, panel: &Panel) -> u64 {
        let priced = if panel.machine.is_some() { Price::OTHERS.len() as u64 } else { 0 };
        self.rounds(panel) + priced
    }

    /// Warm-up and measured window on this machine, where a description does not say otherwise.
    pub fn times(self) -> (Duration, Duration) {
        if self.quick {
            (Duration::from_millis(100), Duration::from_millis(300))
        } else {
            (Duration::from_secs(1), Duration::from_secs(3))
        }
    }

    /// Cores that claims about a panel can speak of: this machine's, or the most of the simulated one.
    pub fn cores_of(self, figure: &Figure, panel: &Panel) -> usize {
        let panel = source(figure, panel);
        match (&panel.machine, &panel.x) {
            (None, _) => self.cores,
            (Some(_), Some(axis)) if axis.cores || axis.cores_each.is_some() => {
                let most = self.values(panel, axis).iter().copied().fold(1.0, f64::max);
                most as usize * axis.cores_each.unwrap_or(1)
            }
            (Some(_), _) => self.on(panel, panel.on),
        }
    }

    /// The cores of a panel in which they are not varied, or of one of its series.
    fn on(self, panel: &Panel, wanted: Option<usize>) -> usize {
        match (&panel.machine, wanted) {
            (Some(_), Some(on)) if self.quick => on.min(QUICK_CORES),
            (Some(_), Some(on)) => on,
            _ => self.cores,
        }
    }

    /// The columns of a panel: none where it shows another panel's runs.
    pub fn columns(self, panel: &Panel) -> Vec<Column> {
        if panel.of.is_some() {
            return Vec::new();
        }
        let Some(axis) = panel.x.as_ref().filter(|axis| axis.flag.is_some()) else {
            let lines = panel.series.iter().map(|series| self.line(panel, series, &[])).collect();
            return vec![Column { x: 0.0, label: String::new(), lines }];
        };
        let column = |&value: &f64| {
            let text = format!("{value}{}", axis.unit);
            let cores = axis.cores && panel.machine.is_some();
            let first = axis.flag.as_ref().filter(|_| !cores);
            let simulated = cores.then(|| "--cores".to_owned());
            let flags = first.into_iter().chain(&simulated).chain(&axis.also);
            let each = axis.cores_each.filter(|_| panel.machine.is_some());
            let on = each.map(|each| ["--cores".into(), format!("{}", value as usize * each)]);
            let flags = flags.map(|flag| [flag.clone(), text.clone()]).chain(on);
            let swept: Vec<String> = flags.flatten().collect();
            let line = |series| self.line(panel, series, &swept);
            let x = axis.shown.place(value);
            let label = if x == value { format!("{value}") } else { format!("{x:.0}") };
            Column { x, label, lines: panel.series.iter().map(line).collect() }
        };
        self.values(panel, axis).iter().map(column).collect()
    }

    /// The values of an axis: of this machine no more cores than there are.
    fn values(self, panel: &Panel, axis: &super::describe::Axis) -> Vec<f64> {
        let short = self.quick && !axis.quick.is_empty();
        let values = if short { &axis.quick } else { &axis.values };
        if !axis.cores {
            return values.clone();
        }
        if panel.machine.is_some() {
            let most = match panel.machine.as_deref() {
                Some(HOST) => self.cores,
                _ if self.quick => QUICK_CORES,
                _ => usize::MAX,
            };
            return values.iter().copied().filter(|&value| value <= most as f64).collect();
        }
        let most = axis.values.iter().copied().fold(0.0, f64::max);
        let cores = (self.cores as f64).min(most);
        let fewer = values.iter().copied().filter(|&value| value < cores);
        fewer.chain([cores]).collect()
    }

    fn line(self, panel: &Panel, series: &Series, swept: &[String]) -> Vec<String> {
        let run = series.run.as_ref().or(panel.run.as_ref()).map_or("", String::as_str);
        let cores = self.on(panel, series.on.or(panel.on));
        let words = |text: &str| words(text, cores);
        let mut run = words(run).into_iter();
        let workload = run.next().unwrap_or_default();
        let (command, first) = match &panel.machine {
            None if panel.metric == Metric::Instructions => ("bench", COUNTED.to_owned()),
            None => ("bench", self.first_native(&workload)),
            Some(machine) => ("simulate", format!("--machine {machine} --cores {cores}")),
        };
        let (own, besides) = match (&panel.machine, self.quick) {
            (None, true) => (&panel.quick, ""),
            (None, false) => (&panel.full, ""),
            (Some(_), true) => (&panel.simulated_quick, series.simulated_quick.as_str()),
            (Some(_), false) => (&panel.simulated, series.simulated.as_str()),
        };
        // A series of timestamps alone among others has none of their tables.
        let alone = series.run.is_some() && workload == "timestamps";
        let own = if alone { "" } else { own };
        let flags = words(&first).into_iter().chain(run).chain(words(own));
        let flags = flags.chain(words(&series.flags)).chain(words(besides));
        let flags = flags.chain(swept.iter().cloned());
        let words = [command.to_owned(), workload].into_iter().chain(last_of_each(flags));
        words.collect()
    }

    /// The first words of runs on this machine.
    fn first_native(self, workload: &str) -> String {
        let (warmup, duration) = self.times();
        let (warmup, duration) = (warmup.as_millis(), duration.as_millis());
        match workload {
            // It counts intentions.
            "meld" => String::new(),
            "log" => format!("--duration {duration}ms"),
            "timestamps" => format!("--warmup {warmup}ms --duration {duration}ms"),
            // In the papers a thread has one transaction in hand.
            _ => format!("--warmup {warmup}ms --duration {duration}ms --interleave 1"),
        }
    }
}

/// The words of a description, with what depends on the number of cores put in.
fn words(text: &str, cores: usize) -> Vec<String> {
    let half = (cores / 2).max(2);
    let put = |word: &str| {
        word.replace("{cores}", &cores.to_string()).replace("{half}", &half.to_string())
    };
    text.split_whitespace().map(put).collect()
}

/// Of flags that are given more than once, the last.
fn last_of_each(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut flags: Vec<Vec<String>> = Vec::new();
    for word in words {
        if word.starts_with("--") {
            flags.retain(|flag| flag[0] != word);
            flags.push(vec![word]);
        } else if let Some(flag) = flags.last_mut() {
            flag.push(word);
        }
    }
    flags.concat()
}

#[cfg(test)]
mod tests {
    use super::super::describe::{Figure, all, read};
    use super::*;

    #[test]
    fn a_series_can_have_cores_and_flags_of_its_own() {
        let text = "id = 'x'\nsource = 'lm'\nfigure = ''\nsection = ''\ntitle = ''\nshows = ''\n\
                    scaled = ''\n[[panel]]\nid = 'a'\ntitle = ''\nrun = 'txbench --rows {cores}'\n\
                    machine = 'xeon-32'\non = 32\nsimulated = '--duration 1ms --warmup 1ms'\n\
                    x = { flag = '--clients', label = '', values = [500] }\n\
                    series = [{ name = 's', on = 8, simulated = '--duration 2ms' }, { name = 't' }]";
        let figure: Figure = read(text).expect("a description");
        let grid = Grid { quick: false, cores: 2 };
        let lines = &grid.columns(&figure.panels[0])[0].lines;
        let expected = "simulate txbench --machine xeon-32 --cores 8 --rows 8 --warmup 1ms --duration 2ms \
                        --clients 500";
        assert_eq!(lines[0].join(" "), expected);
        assert!(lines[1].join(" ").contains("--cores 32 --rows 32 --duration 1ms"));
        assert_eq!(grid.cores_of(&figure, &figure.panels[0]), 32);
    }

    #[test]
    fn servers_have_cores_each() {
        let figures = all(false).expect("every description parses");
        let figure = figures.iter().find(|figure| figure.id == "hyder-e4").expect("it is there");
        let grid = |quick| Grid { quick, cores: 2 };
        let columns = grid(false).columns(&figure.panels[0]);
        let line = columns.last().expect("a column").lines[0].join(" ");
        assert!(line.ends_with("--servers 20 --cores 80"), "{line}");
        assert_eq!(grid(false).cores_of(figure, &figure.panels[1]), 80);
        assert_eq!(grid(true).cores_of(figure, &figure.panels[1]), 20);
    }

    #[test]
    fn simulated_machines_have_any_number_of_cores() {
        let figures = all(false).expect("every description parses");
        let figure = |id: &str| figures.iter().find(|figure| figure.id == id).expect(id);
        let (wide, narrow) = (figure("cores-5-2"), figure("cores-5-5"));
        let grid = |quick| Grid { quick, cores: 2 };
        assert_eq!(grid(false).cores_of(wide, &wide.panels[1]), 1024);
        assert_eq!(grid(true).cores_of(wide, &wide.panels[1]), 64);
        assert_eq!(grid(false).cores_of(narrow, &narrow.panels[0]), 512);
        let columns = grid(true).columns(&wide.panels[0]);
        assert_eq!(
            columns.iter().map(|it| it.x).collect::<Vec<_>>(),
            [1., 2., 4., 8., 16., 32., 64.]
        );
        let line = columns[6].lines[1].join(" ");
        assert!(line.starts_with("simulate ycsb --machine thousand-cores "), "{line}");
        assert!(line.contains("--scheme no-wait") && line.contains("--cores 64"), "{line}");
        assert!(!line.contains("--threads") && !line.contains("--interleave"), "{line}");
    }

    #[test]
    fn cores_are_those_that_there_are() {
        let text = "id = 'x'\nsource = 'silo'\nfigure = ''\nsection = ''\ntitle = ''\nshows = ''\n\
                    scaled = ''\n[[panel]]\nid = 'a'\ntitle = ''\nrun = 'tpcc --warehouses {half}'\n\
                    quick = '--duration 1s'\nseries = [{ name = 's', flags = '--duration 2s' }]\n\
                    x = { flag = '--threads', also = ['--clients'], label = '', cores = true, \
                    values = [1, 2, 4, 8, 16] }";
        let figure: Figure = read(text).expect("a description");
        let columns = |quick, cores| Grid { quick, cores }.columns(&figure.panels[0]);
        let places = |cores| columns(false, cores).iter().map(|it| it.x).collect::<Vec<f64>>();
        assert_eq!(places(1), [1.0]);
        assert_eq!(places(2), [1.0, 2.0]);
        assert_eq!(places(6), [1.0, 2.0, 4.0, 6.0]);
        assert_eq!(places(64), [1.0, 2.0, 4.0, 8.0, 16.0]);
        let line = columns(true, 6)[1].lines[0].join(" ");
        let expected = "bench tpcc --warmup 100ms --interleave 1 --warehouses 3 --duration 2s --threads 2 --clients 2";
        assert_eq!(line, expected);
    }
}
