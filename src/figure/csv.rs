//! What was measured as CSV: one row for each number, with a header.

use super::describe::{Figure, Kind, Metric};
use super::measured::{Curve, Dot, Line, Lines, PARTS, curves, middle, number};
use serde_json::Value;
use std::fmt::Write;

/// The header.
const HEADER: &str = "figure,panel,series,source,x,metric,unit,median,low,high,runs\n";

/// The figure's numbers. Panels that show another panel's runs add none: their numbers stand there.
pub fn text(figure: &Figure, lines: &Lines) -> String {
    let mut out = HEADER.to_owned();
    for (panel, own) in figure.panels.iter().zip(lines) {
        let place = format!("{},{}", figure.id, panel.id);
        for line in own {
            of_line(&mut out, &place, line);
        }
        let derived = panel.kind == Kind::Cumulative;
        for curve in curves(figure, panel, lines).iter().filter(|it| derived || it.reference) {
            let measured = lines.iter().flatten().find(|line| line.name == curve.name);
            let runs = measured.and_then(|line| line.points.first()).map_or(0, |it| it.runs.len());
            of_curve(&mut out, &place, curve, panel.metric, runs);
        }
    }
    out
}

fn of_line(out: &mut String, place: &str, line: &Line) {
    type Number = Box<dyn Fn(&Value) -> Option<f64>>;
    let by = |metric| -> Number { Box::new(move |run| number(metric, run)) };
    let mut metrics: Vec<(String, &str, Number)> = vec![
        ("throughput".into(), "per second", by(Metric::Throughput)),
        ("throughput_per_core".into(), "per second", by(Metric::ThroughputPerCore)),
        ("accesses".into(), "per second", by(Metric::Accesses)),
        ("abort_rate".into(), "share", by(Metric::AbortRate)),
    ];
    for at in ["p50", "p99"] {
        let latency: Number = Box::new(move |run| run["latency_us"][at].as_f64());
        metrics.push((format!("latency_{at}"), "us", latency));
    }
    for part in PARTS {
        let share: Number = Box::new(move |run| run["breakdown"][part].as_f64());
        metrics.push((format!("time_{part}"), "share", share));
    }
    for point in &line.points {
        for (metric, unit, number) in &metrics {
            let Some(found) = middle(point.runs.iter().filter_map(number)) else { continue };
            let dot = Dot { x: point.x, ..found };
            row(out, place, (&line.name, "measured"), (metric, unit), &dot, point.runs.len());
        }
    }
}

fn of_curve(out: &mut String, place: &str, curve: &Curve, metric: Metric, runs: usize) {
    let metric = match metric {
        Metric::Versions => ("records_with_at_most", "share"),
        Metric::ThroughputPerCore => ("throughput_per_core", "per second"),
        _ => ("throughput", "per second"),
    };
    let source = if curve.reference { "paper" } else { "measured" };
    for dot in &curve.dots {
        row(out, place, (&curve.name, source), metric, dot, runs);
    }
}

fn row(
    out: &mut String,
    place: &str,
    (series, source): (&str, &str),
    (metric, unit): (&str, &str),
    dot: &Dot,
    runs: usize,
) {
    let Dot { x, low, mid, high, .. } = dot;
    let series = quoted(series);
    // Writing to a string cannot fail.
    let _ =
        writeln!(out, "{place},{series},{source},{x},{metric},{unit},{mid},{low},{high},{runs}");
}

/// A field that may have a comma in it.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::describe::all;
    use super::super::measured::Point;
    use super::*;
    use serde_json::json;

    #[test]
    fn each_number_has_a_row() {
        let figures = all().expect("every description parses");
        let figure = figures.iter().find(|it| it.id == "silo-6-2").expect("it is there");
        let run = |rate: f64| json!({"throughput_tps": rate, "threads": 2, "abort_rate": 0.5});
        let runs = vec![run(10.0), run(30.0), run(20.0)];
        let point = Point { x: 2.0, label: "2".into(), runs };
        let line = Line { name: "a, b".into(), points: vec![point], refused: None };
        let text = text(figure, &vec![vec![line]]);
        assert_eq!(text.lines().count(), 4);
        let row = "silo-6-2,a,\"a, b\",measured,2,throughput,per second,20,10,30,3";
        assert_eq!(text.lines().nth(1), Some(row));
    }

    #[test]
    fn the_papers_numbers_are_marked() {
        let figures = all().expect("every description parses");
        let figure = figures.iter().find(|it| it.id == "silo-6-1").expect("it is there");
        let text = text(figure, &vec![Vec::new()]);
        let row = "silo-6-1,a,H-Store,paper,0,throughput_per_core,per second,2000,2000,2000,0";
        assert!(text.lines().any(|line| line == row), "{text}");
    }
}
