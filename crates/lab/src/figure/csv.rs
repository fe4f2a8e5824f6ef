//! Measurements as CSV: one row for each number, with a header.

use super::describe::{Figure, Kind, Metric};
use super::measured::{Average, Curve, Dot, Lines, Point, curves, middle, number};
use crate::result::{PARTS, Reading};
use crate::spec::Price;
use std::fmt::Write;

/// The header.
const HEADER: &str = "figure,panel,series,source,x,metric,unit,value,low,high,runs\n";

/// The figure's numbers. Panels that show another panel's runs add none: their numbers stand there.
pub fn text(figure: &Figure, lines: &Lines) -> String {
    let mut out = HEADER.to_owned();
    for (panel, own) in figure.panels.iter().zip(lines) {
        let place = format!("{},{}", figure.id, panel.id);
        let average = Average::of(figure, panel);
        for line in own {
            let measured = if panel.machine.is_some() { "simulated" } else { "measured" };
            of_points(&mut out, &place, (&line.name, measured), &line.points, average);
            for (price, points) in &line.priced {
                let source = match price {
                    Price::One => continue,
                    Price::Half => "simulated at half price",
                    Price::Double => "simulated at double price",
                };
                of_points(&mut out, &place, (&line.name, source), points, average);
            }
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

fn of_points(
    out: &mut String,
    place: &str,
    series: (&str, &str),
    points: &[Point],
    average: Average,
) {
    type Number = Box<dyn Fn(&Reading) -> Option<f64>>;
    let by = |metric| -> Number { Box::new(move |run| number(metric, run)) };
    let of_run = [
        Metric::Throughput,
        Metric::ThroughputPerCore,
        Metric::Accesses,
        Metric::AbortRate,
        Metric::LatencyP50,
        Metric::LatencyP99,
        Metric::Memory,
        Metric::Bytes,
        Metric::Instructions,
        Metric::CommittedTime,
        Metric::AbortedTime,
        Metric::StalledTime,
        Metric::IdleTime,
        Metric::BuildNs,
        Metric::PremeldNs,
        Metric::LastNs,
        Metric::AllNs,
        Metric::AllRate,
        Metric::Visited,
        Metric::Made,
        Metric::ZoneLeft,
    ];
    let metric = |metric| {
        let (name, unit) = named(metric);
        (name.to_owned(), unit, by(metric))
    };
    let mut metrics: Vec<(String, &str, Number)> = of_run.map(metric).into();
    for (at, part) in PARTS.into_iter().enumerate() {
        let share: Number = Box::new(move |run| run.parts[at]);
        metrics.push((format!("time_{part}"), "share", share));
    }
    for point in points {
        for (metric, unit, number) in &metrics {
            let Some(found) = middle(point.runs.iter().filter_map(number), average) else {
                continue;
            };
            let dot = Dot { x: point.x, ..found };
            row(out, place, series, (metric, unit), &dot, point.runs.len());
        }
    }
}

/// A measure's name and unit.
fn named(metric: Metric) -> (&'static str, &'static str) {
    match metric {
        Metric::Throughput => ("throughput", "per second"),
        Metric::ThroughputPerCore => ("throughput_per_core", "per second"),
        Metric::Accesses => ("accesses", "per second"),
        Metric::AbortRate => ("abort_rate", "share"),
        Metric::Versions => ("records_with_at_most", "share"),
        Metric::LatencyP50 => ("latency_p50", "us"),
        Metric::LatencyP99 => ("latency_p99", "us"),
        Metric::Memory => ("memory", "bytes"),
        Metric::Bytes => ("appended", "bytes per second"),
        Metric::Instructions => ("instructions", "per transaction"),
        Metric::CommittedTime => ("core_time_committed", "share"),
        Metric::AbortedTime => ("core_time_aborted", "share"),
        Metric::StalledTime => ("core_time_stalled", "share"),
        Metric::IdleTime => ("core_time_idle", "share"),
        Metric::BuildNs => ("build", "ns"),
        Metric::PremeldNs => ("premeld", "ns"),
        Metric::LastNs => ("last_stage", "ns"),
        Metric::AllRate => ("all_stages_rate", "per second"),
        Metric::AllNs => ("all_stages", "ns"),
        Metric::Visited => ("visited", "nodes"),
        Metric::Made => ("made", "nodes"),
        Metric::ZoneLeft => ("zone_left", "intentions"),
    }
}

fn of_curve(out: &mut String, place: &str, curve: &Curve, metric: Metric, runs: usize) {
    let metric = named(metric);
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
    use super::super::measured::{Line, Point};
    use super::*;
    use serde_json::json;

    #[test]
    fn each_number_has_a_row() {
        let figures = all(true).expect("every description parses");
        let figure = figures.iter().find(|it| it.id == "silo-6-2").expect("it is there");
        let run = |rate: f64| {
            let latency = json!({"p50": rate / 10.0, "p99": rate});
            Reading::of(&json!({
                "throughput_tps": rate, "threads": 2, "abort_rate": 0.5, "latency_us": latency,
            }))
        };
        let runs = vec![run(10.0), run(30.0), run(20.0)];
        let point = Point { x: 2.0, label: "2".into(), runs };
        let line = Line { points: vec![point], ..Line::new("a, b") };
        let text = text(figure, &vec![vec![line]]);
        assert_eq!(text.lines().count(), 6);
        let row = "silo-6-2,a,\"a, b\",measured,2,throughput,per second,20,10,30,3";
        assert_eq!(text.lines().nth(1), Some(row));
        let row = "silo-6-2,a,\"a, b\",measured,2,latency_p50,us,2,1,3,3";
        assert_eq!(text.lines().nth(4), Some(row));
    }

    #[test]
    fn the_papers_numbers_are_marked() {
        let figures = all(true).expect("every description parses");
        let figure = figures.iter().find(|it| it.id == "silo-6-1").expect("it is there");
        let text = text(figure, &vec![Vec::new()]);
        let row = "silo-6-1,a,H-Store,paper,0,throughput_per_core,per second,2000,2000,2000,0";
        assert!(text.lines().any(|line| line == row), "{text}");
    }
}
