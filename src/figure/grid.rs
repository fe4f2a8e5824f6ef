//! From a panel to the command lines of its runs on this machine.

use super::describe::{Panel, Series};
use std::time::Duration;

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
    /// Repetitions of each run, with different seeds.
    pub fn rounds(self) -> u64 {
        3
    }

    /// Warm-up and measured window, where a description does not say otherwise.
    pub fn times(self) -> (Duration, Duration) {
        if self.quick {
            (Duration::from_millis(100), Duration::from_millis(300))
        } else {
            (Duration::from_secs(1), Duration::from_secs(3))
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
            let flags = axis.flag.iter().chain(&axis.also);
            let swept: Vec<String> = flags.flat_map(|flag| [flag.clone(), text.clone()]).collect();
            let line = |series| self.line(panel, series, &swept);
            let x = axis.shown.place(value);
            let label = if x == value { format!("{value}") } else { format!("{x:.0}") };
            Column { x, label, lines: panel.series.iter().map(line).collect() }
        };
        self.values(axis).iter().map(column).collect()
    }

    /// The values of an axis on this machine.
    fn values(self, axis: &super::describe::Axis) -> Vec<f64> {
        let short = self.quick && !axis.quick.is_empty();
        let values = if short { &axis.quick } else { &axis.values };
        if !axis.cores {
            return values.clone();
        }
        let most = axis.values.iter().copied().fold(0.0, f64::max);
        let cores = (self.cores as f64).min(most);
        let fewer = values.iter().copied().filter(|&value| value < cores);
        fewer.chain([cores]).collect()
    }

    fn line(self, panel: &Panel, series: &Series, swept: &[String]) -> Vec<String> {
        let (warmup, duration) = self.times();
        let times = [
            "--warmup".to_owned(),
            format!("{}ms", warmup.as_millis()),
            "--duration".to_owned(),
            format!("{}ms", duration.as_millis()),
        ];
        let run = series.run.as_ref().or(panel.run.as_ref()).map_or("", String::as_str);
        let mut run = self.words(run).into_iter();
        let workload = run.next().unwrap_or_default();
        let own = if self.quick { &panel.quick } else { &panel.full };
        // In the papers a thread has one transaction in hand; timestamps alone are drawn without any.
        let one = if workload == "timestamps" { "" } else { "--interleave 1" };
        let flags = times
            .into_iter()
            .chain(self.words(one))
            .chain(run)
            .chain(self.words(own))
            .chain(self.words(&series.flags))
            .chain(swept.iter().cloned());
        let words = ["bench".to_owned(), workload].into_iter().chain(last_of_each(flags));
        words.collect()
    }

    /// The words of a description, with what depends on the machine put in.
    fn words(self, text: &str) -> Vec<String> {
        let half = (self.cores / 2).max(2);
        let put = |word: &str| {
            word.replace("{cores}", &self.cores.to_string()).replace("{half}", &half.to_string())
        };
        text.split_whitespace().map(put).collect()
    }
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
    use crate::args;

    /// Every line of every figure is what the command takes, but where a machine has too few partitions
    /// for a line, which the page says.
    #[test]
    fn every_line_is_taken_by_the_command() {
        let mut refused = Vec::new();
        for grid in [Grid { quick: true, cores: 2 }, Grid { quick: false, cores: 64 }] {
            for figure in all().expect("every description parses") {
                for panel in &figure.panels {
                    for line in grid.columns(panel).iter().flat_map(|column| &column.lines) {
                        if let Err(stop) = args::parse(line).and_then(super::super::run::prepare) {
                            refused.push((line.join(" "), format!("{stop:?}")));
                        }
                    }
                }
            }
        }
        for (line, problem) in &refused {
            assert!(problem.contains("--parts-per-txn"), "{line}: {problem}");
        }
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
