//! What was measured, as charts, tables and claims want it: numbers with their range.

use super::describe::{Edge, Figure, Kind, Metric, Panel};
use serde_json::Value;

/// The parts of a transaction's time, as results name them.
pub const PARTS: [&str; 6] = ["useful", "abort", "timestamp", "index", "wait", "manager"];

/// The runs of one series at one place of the axis.
pub struct Point {
    /// The place.
    pub x: f64,
    /// The value as it is shown.
    pub label: String,
    /// The results, as JSON has them.
    pub runs: Vec<Value>,
}

/// The runs of one series.
pub struct Line {
    /// The series.
    pub name: String,
    /// Along the axis; empty where this build or machine cannot run it.
    pub points: Vec<Point>,
    /// Why there are none.
    pub refused: Option<String>,
}

/// A figure's runs: for each panel of its own, its lines.
pub type Lines = Vec<Vec<Line>>;

/// A median and its range.
#[derive(Clone, PartialEq, Debug)]
pub struct Dot {
    /// The place on the axis.
    pub x: f64,
    /// The value there as it is shown.
    pub label: String,
    /// The least of the runs.
    pub low: f64,
    /// The median of the runs.
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
    let own = lines(figure, panel, all).iter().map(|line| Curve {
        name: line.name.clone(),
        dots: if panel.kind == Kind::Cumulative {
            line.points.first().map_or(Vec::new(), |point| cumulative(panel, point))
        } else {
            line.points.iter().filter_map(|point| dot(panel.metric, point)).collect()
        },
        reference: false,
    });
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
    own.chain(theirs).filter(|curve| !curve.dots.is_empty()).collect()
}

/// Where the time went in a breakdown's series.
pub fn shares(figure: &Figure, panel: &Panel, all: &Lines) -> Vec<Shares> {
    let share = |line: &Line| {
        let point = match panel.at {
            Edge::First => line.points.first(),
            Edge::Last => line.points.last(),
        }?;
        let mut parts = [0.0; PARTS.len()];
        for (part, name) in parts.iter_mut().zip(PARTS) {
            *part =
                middle(point.runs.iter().filter_map(|run| run["breakdown"][name].as_f64()))?.mid;
        }
        let sum: f64 = parts.iter().sum();
        // Medians of shares need not sum to one.
        (sum > 0.0).then(|| Shares { name: line.name.clone(), parts: parts.map(|it| it / sum) })
    };
    lines(figure, panel, all).iter().filter_map(share).collect()
}

/// The number of a run by a measure.
pub fn number(metric: Metric, run: &Value) -> Option<f64> {
    let rate = run["throughput_tps"].as_f64();
    match metric {
        Metric::Throughput => rate,
        Metric::ThroughputPerCore => Some(rate? / run["threads"].as_f64()?),
        Metric::Accesses => Some(rate? * run["options"]["ops"].as_f64()?),
        Metric::AbortRate => run["abort_rate"].as_f64(),
        Metric::Versions => None,
        Metric::LatencyP50 => run["latency_us"]["p50"].as_f64(),
        Metric::LatencyP99 => run["latency_us"]["p99"].as_f64(),
    }
}

fn dot(metric: Metric, point: &Point) -> Option<Dot> {
    let found = middle(point.runs.iter().filter_map(|run| number(metric, run)))?;
    Some(Dot { x: point.x, label: point.label.clone(), ..found })
}

/// The shares of records with at most so many older versions.
fn cumulative(panel: &Panel, point: &Point) -> Vec<Dot> {
    let share = |run: &Value, most: f64| {
        let counts = run["versions"].as_array()?.iter().filter_map(Value::as_u64);
        let counts: Vec<u64> = counts.collect();
        let few: u64 = counts.iter().take(most as usize + 1).sum();
        Some(few as f64 / counts.iter().sum::<u64>().max(1) as f64)
    };
    let places = panel.x.iter().flat_map(|axis| &axis.values);
    let dots = places.filter_map(|&x| {
        let found = middle(point.runs.iter().filter_map(|run| share(run, x)))?;
        Some(Dot { x, label: format!("{x}"), ..found })
    });
    dots.collect()
}

/// The median and the range of some numbers.
pub fn middle(numbers: impl Iterator<Item = f64>) -> Option<Dot> {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_unstable_by(f64::total_cmp);
    let (&low, &high) = (numbers.first()?, numbers.last()?);
    let mid = (numbers[(numbers.len() - 1) / 2] + numbers[numbers.len() / 2]) / 2.0;
    Some(Dot { x: 0.0, label: String::new(), low, mid, high })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn medians_have_their_range() {
        let found = middle([3.0, 1.0, 2.0].into_iter()).expect("numbers");
        assert_eq!((found.low, found.mid, found.high), (1.0, 2.0, 3.0));
        assert_eq!(middle([1.0, 2.0].into_iter()).map(|dot| dot.mid), Some(1.5));
        assert!(middle(std::iter::empty()).is_none());
    }

    #[test]
    fn a_result_gives_its_numbers() {
        let run = json!({
            "throughput_tps": 100.0, "threads": 4, "abort_rate": 0.25, "options": {"ops": 16},
            "latency_us": {"p50": 1.5, "p99": 20.0},
        });
        assert_eq!(number(Metric::Throughput, &run), Some(100.0));
        assert_eq!(number(Metric::ThroughputPerCore, &run), Some(25.0));
        assert_eq!(number(Metric::Accesses, &run), Some(1600.0));
        assert_eq!(number(Metric::AbortRate, &run), Some(0.25));
        assert_eq!(number(Metric::LatencyP50, &run), Some(1.5));
        assert_eq!(number(Metric::LatencyP99, &run), Some(20.0));
        assert_eq!(number(Metric::LatencyP99, &json!({"latency_us": null})), None);
        assert_eq!(number(Metric::Throughput, &json!({"throughput_tps": null})), None);
    }

    #[test]
    fn versions_add_up() {
        let figures = super::super::describe::all().expect("every description parses");
        let figure = figures.iter().find(|it| it.id == "silo-6-6").expect("it is there");
        let runs = vec![json!({"versions": [50, 30, 0, 20]})];
        let point = Point { x: 0.0, label: String::new(), runs };
        let lines = vec![vec![Line { name: "YCSB".into(), points: vec![point], refused: None }]];
        let curves = curves(figure, &figure.panels[0], &lines);
        let found: Vec<f64> = curves[0].dots.iter().map(|dot| dot.mid).collect();
        assert_eq!(found, [0.5, 0.8, 0.8, 1.0, 1.0]);
        assert_eq!(curves.iter().filter(|curve| curve.reference).count(), 2);
    }
}
