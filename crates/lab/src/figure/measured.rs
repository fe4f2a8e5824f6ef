//! Measurements as charts, tables and claims want them: numbers with their range.

use super::describe::{Edge, Figure, Kind, Metric, Panel};
use crate::result::{PARTS, Reading};
use crate::spec::Price;

/// The runs of one series at one place of the axis.
pub struct Point {
    /// The place.
    pub x: f64,
    /// The value as it is shown.
    pub label: String,
    /// Their numbers.
    pub runs: Vec<Reading>,
}

/// The runs of one series.
pub struct Line {
    /// The series.
    pub name: String,
    /// Along the axis; empty where this build or machine cannot run it.
    pub points: Vec<Point>,
    /// The points on a simulated machine at other prices of computation.
    pub priced: Vec<(Price, Vec<Point>)>,
    /// Why there are none.
    pub refused: Option<String>,
    /// The problems of runs that failed.
    pub failed: Vec<String>,
    /// Places without a run, and why.
    pub left_out: Vec<String>,
}

impl Line {
    /// A series that has not been run.
    pub fn new(name: &str) -> Self {
        let (points, priced) = Default::default();
        let (refused, failed, left_out) = Default::default();
        Self { name: name.to_owned(), points, priced, refused, failed, left_out }
    }

    fn points_at(&self, price: Price) -> &[Point] {
        if price == Price::One {
            return &self.points;
        }
        let found = self.priced.iter().find(|(known, _)| *known == price);
        found.map_or(&[], |(_, points)| points)
    }
}

/// How one number is made of those of several runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Average {
    /// Runs of a real machine, some of which are disturbed.
    Median,
    /// Runs of a simulated one, which differ in what their seeds drew.
    Mean,
}

impl Average {
    /// That of a panel's runs.
    pub fn of(figure: &Figure, panel: &Panel) -> Self {
        if source(figure, panel).machine.is_some() { Self::Mean } else { Self::Median }
    }
}

/// A figure's runs: for each panel of its own, its lines.
pub type Lines = Vec<Vec<Line>>;

/// A median or a mean, and its range.
#[derive(Clone, PartialEq, Debug)]
pub struct Dot {
    /// The place on the axis.
    pub x: f64,
    /// The value there as it is shown.
    pub label: String,
    /// The least of the runs.
    pub low: f64,
    /// The median or the mean of the runs.
    pub mid: f64,
    /// The most of the runs.
    pub high: f64,
}

/// A series as it is plotted.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name.
    pub name: String,
    /// Its points, by their place.
    pub dots: Vec<Dot>,
    /// It is the paper's.
    pub reference: bool,
}

/// The parts of a series' time, as in [`PARTS`].
#[derive(Clone, Debug)]
pub struct Shares {
    /// The series.
    pub name: String,
    /// They sum to one.
    pub parts: [f64; PARTS.len()],
}

/// The panel whose runs a panel shows.
pub fn source<'a>(figure: &'a Figure, panel: &'a Panel) -> &'a Panel {
    let other = panel.of.as_ref().and_then(|of| figure.panels.iter().find(|it| &it.id == of));
    other.unwrap_or(panel)
}

/// The lines that a panel shows.
pub fn lines<'a>(figure: &Figure, panel: &Panel, lines: &'a Lines) -> &'a [Line] {
    let shown = source(figure, panel);
    let at = figure.panels.iter().position(|it| it.id == shown.id);
    at.and_then(|at| lines.get(at)).map_or(&[], Vec::as_slice)
}

/// The curves of a panel, those without a point left out.
pub fn curves(figure: &Figure, panel: &Panel, all: &Lines) -> Vec<Curve> {
    let theirs = panel.reference.iter().map(|reference| {
        let places = panel.x.iter().flat_map(|axis| &axis.values).copied();
        let values = reference.values.iter().copied().zip(places);
        let bar = reference.value.map(|value| (value, 0.0));
        let dot =
            |(value, x)| Dot { x, label: format!("{x}"), low: value, mid: value, high: value };
        Curve {
            name: reference.name.clone(),
            dots: values.chain(bar).map(dot).collect(),
            reference: true,
        }
    });
    let own = curves_at(figure, panel, all, Price::One).into_iter();
    own.chain(theirs.filter(|curve| !curve.dots.is_empty())).collect()
}

/// The curves at other prices of computation, without the paper's numbers.
pub fn curves_at(figure: &Figure, panel: &Panel, all: &Lines, price: Price) -> Vec<Curve> {
    let average = Average::of(figure, panel);
    let curve = |line: &Line| {
        let points = line.points_at(price);
        Curve {
            name: line.name.clone(),
            dots: if panel.kind == Kind::Cumulative {
                points.first().map_or(Vec::new(), |point| cumulative(panel, point))
            } else {
                points.iter().filter_map(|point| dot(panel.metric, point, average)).collect()
            },
            reference: false,
        }
    };
    let own = lines(figure, panel, all).iter().map(curve);
    let mut curves: Vec<Curve> = own.filter(|curve| !curve.dots.is_empty()).collect();
    if let Some(over) = &panel.over {
        make_multiples(&mut curves, over);
    }
    curves
}

/// Makes amounts multiples of the first one of the series `over`; none where that was not measured.
fn make_multiples(curves: &mut Vec<Curve>, over: &str) {
    let one = curves.iter().find(|curve| curve.name == over).map(|curve| curve.dots[0].mid);
    let Some(one) = one.filter(|one| *one > 0.0) else { return curves.clear() };
    for dot in curves.iter_mut().flat_map(|curve| &mut curve.dots) {
        (dot.low, dot.mid, dot.high) = (dot.low / one, dot.mid / one, dot.high / one);
    }
}

/// Where the time went in a breakdown's series.
pub fn shares(figure: &Figure, panel: &Panel, all: &Lines, price: Price) -> Vec<Shares> {
    let average = Average::of(figure, panel);
    let share = |line: &Line| {
        let points = line.points_at(price);
        let there = points.iter().find(|point| panel.place == Some(point.x));
        let point = there.or(match panel.at {
            Edge::First => points.first(),
            Edge::Last => points.last(),
        })?;
        let mut parts = [0.0; PARTS.len()];
        for (at, part) in parts.iter_mut().enumerate() {
            let shares = point.runs.iter().filter_map(|run| run.parts[at]);
            *part = middle(shares, average)?.mid;
        }
        let sum: f64 = parts.iter().sum();
        // Medians of shares need not sum to one.
        (sum > 0.0).then(|| Shares { name: line.name.clone(), parts: parts.map(|it| it / sum) })
    };
    lines(figure, panel, all).iter().filter_map(share).collect()
}

/// The number of a run by a measure.
pub fn number(metric: Metric, run: &Reading) -> Option<f64> {
    match metric {
        Metric::Throughput => run.throughput,
        Metric::ThroughputPerCore => Some(run.throughput? / run.cores?),
        Metric::Accesses => Some(run.throughput? * run.ops?),
        Metric::AbortRate => run.abort_rate,
        Metric::Versions => None,
        Metric::LatencyP50 => run.latency_us[0],
        Metric::LatencyP99 => run.latency_us[1],
        Metric::Memory => run.memory_bytes,
        Metric::Bytes => run.bytes,
        Metric::Instructions => run.instructions,
        Metric::CommittedTime => run.core_time[0],
        Metric::AbortedTime => run.core_time[1],
        Metric::StalledTime => run.core_time[2],
        Metric::IdleTime => run.core_time[3],
        Metric::BuildNs => Some(run.costs?.build_ns),
        Metric::PremeldNs => Some(run.costs?.premeld_ns),
        Metric::LastNs => Some(run.costs?.last_ns),
        Metric::AllRate => Some(1e9 / run.costs?.all_ns),
        Metric::AllNs => Some(run.costs?.all_ns),
        Metric::Visited => Some(run.costs?.visited),
        Metric::Made => Some(run.costs?.made),
        Metric::ZoneLeft => Some(run.costs?.zone_left),
    }
}

fn dot(metric: Metric, point: &Point, average: Average) -> Option<Dot> {
    let found = middle(point.runs.iter().filter_map(|run| number(metric, run)), average)?;
    Some(Dot { x: point.x, label: point.label.clone(), ..found })
}

/// The shares of records with at most so many older versions.
fn cumulative(panel: &Panel, point: &Point) -> Vec<Dot> {
    let share = |run: &Reading, most: f64| {
        let counts = run.versions.as_ref()?;
        let few: u64 = counts.iter().take(most as usize + 1).sum();
        Some(few as f64 / counts.iter().sum::<u64>().max(1) as f64)
    };
    let places = panel.x.iter().flat_map(|axis| &axis.values);
    let dots = places.filter_map(|&x| {
        let found = middle(point.runs.iter().filter_map(|run| share(run, x)), Average::Median)?;
        Some(Dot { x, label: format!("{x}"), ..found })
    });
    dots.collect()
}

/// The average and the range of some numbers.
pub fn middle(numbers: impl Iterator<Item = f64>, average: Average) -> Option<Dot> {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_unstable_by(f64::total_cmp);
    let (&low, &high) = (numbers.first()?, numbers.last()?);
    let mid = match average {
        Average::Median => (numbers[(numbers.len() - 1) / 2] + numbers[numbers.len() / 2]) / 2.0,
        Average::Mean => numbers.iter().sum::<f64>() / numbers.len() as f64,
    };
    Some(Dot { x: 0.0, label: String::new(), low, mid, high })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn medians_have_their_range() {
        let median = |numbers: &[f64]| middle(numbers.iter().copied(), Average::Median);
        let found = median(&[3.0, 1.0, 2.0]).expect("numbers");
        assert_eq!((found.low, found.mid, found.high), (1.0, 2.0, 3.0));
        assert_eq!(median(&[1.0, 2.0]).map(|dot| dot.mid), Some(1.5));
        assert!(median(&[]).is_none());
        let mean = middle([1.0, 1.0, 4.0].into_iter(), Average::Mean).expect("numbers");
        assert_eq!((mean.low, mean.mid, mean.high), (1.0, 2.0, 4.0));
    }

    #[test]
    fn a_result_gives_its_numbers() {
        let run = Reading::of(&json!({
            "throughput_tps": 100.0, "threads": 4, "abort_rate": 0.25, "options": {"ops": 16},
            "latency_us": {"p50": 1.5, "p99": 20.0}, "memory_bytes": 4096,
            "core_time": {"committed": 0.5, "aborted": 0.3, "stalled": 0.15, "idle": 0.05},
        }));
        assert_eq!(number(Metric::Throughput, &run), Some(100.0));
        assert_eq!(number(Metric::ThroughputPerCore, &run), Some(25.0));
        assert_eq!(number(Metric::Accesses, &run), Some(1600.0));
        assert_eq!(number(Metric::AbortRate, &run), Some(0.25));
        assert_eq!(number(Metric::LatencyP50, &run), Some(1.5));
        assert_eq!(number(Metric::LatencyP99, &run), Some(20.0));
        assert_eq!(number(Metric::Memory, &run), Some(4096.0));
        assert_eq!(number(Metric::CommittedTime, &run), Some(0.5));
        assert_eq!(number(Metric::AbortedTime, &run), Some(0.3));
        assert_eq!(number(Metric::StalledTime, &run), Some(0.15));
        assert_eq!(number(Metric::IdleTime, &run), Some(0.05));
        assert_eq!(number(Metric::Memory, &Reading::of(&json!({"host_memory_bytes": 1}))), None);
        assert_eq!(number(Metric::LatencyP99, &Reading::of(&json!({"latency_us": null}))), None);
        assert_eq!(
            number(Metric::Throughput, &Reading::of(&json!({"throughput_tps": null}))),
            None
        );
    }

    #[test]
    fn amounts_become_multiples() {
        let dot = |x, mid| Dot { x, label: String::new(), low: mid, mid, high: 2.0 * mid };
        let curve = |name: &str, values: [f64; 2]| Curve {
            name: name.into(),
            dots: values.into_iter().zip([1.0, 2.0]).map(|(value, x)| dot(x, value)).collect(),
            reference: false,
        };
        let both = || vec![curve("one", [30.0, 60.0]), curve("other", [20.0, 40.0])];
        let mut curves = both();
        make_multiples(&mut curves, "other");
        assert_eq!(curves[0].dots, [dot(1.0, 1.5), dot(2.0, 3.0)]);
        assert_eq!(curves[1].dots, [dot(1.0, 1.0), dot(2.0, 2.0)]);
        let mut curves = both();
        make_multiples(&mut curves, "third");
        assert!(curves.is_empty());
    }

    #[test]
    fn versions_add_up() {
        let figures = super::super::describe::all(true).expect("every description parses");
        let figure = figures.iter().find(|it| it.id == "silo-6-6").expect("it is there");
        let runs = vec![Reading::of(&json!({"versions": [50, 30, 0, 20]}))];
        let point = Point { x: 0.0, label: String::new(), runs };
        let lines = vec![vec![Line { points: vec![point], ..Line::new("YCSB") }]];
        let curves = curves(figure, &figure.panels[0], &lines);
        let found: Vec<f64> = curves[0].dots.iter().map(|dot| dot.mid).collect();
        assert_eq!(found, [0.5, 0.8, 0.8, 1.0, 1.0]);
        assert_eq!(curves.iter().filter(|curve| curve.reference).count(), 2);
    }
}
