//! Pictures of made-up numbers have what they should have in them.

use super::super::describe::all;
use super::super::measured::{Line, Point};
use super::*;
use crate::result::{Costs, Reading};
use crate::spec::Price;
use serde_json::json;

/// Lines for all series of a figure's panels, at two places.
fn lines(figure: &Figure) -> Lines {
    let run = |rate: f64| {
        let costs = Costs {
            build_ns: 4.0 * rate,
            premeld_ns: 2.0 * rate,
            last_ns: rate,
            all_ns: 8.0 * rate,
            visited: 40.0,
            made: 10.0,
            zone_left: 51.0,
        };
        let measured = Reading::of(&json!({
            "throughput_tps": rate, "threads": 2, "abort_rate": 0.1, "options": {"ops": 16},
            "versions": [9, 1], "latency_us": {"p50": rate / 1e6, "p99": rate / 1e5},
            "memory_bytes": 100.0 * rate,
            "breakdown": {"useful": 0.5, "abort": 0.1, "timestamp": 0.1, "index": 0.1, "wait": 0.1,
                "manager": 0.1},
            "core_time": {"committed": 0.6, "aborted": 0.2, "stalled": 0.1, "idle": 0.1},
        }));
        Reading {
            bytes: Some(1e3 * rate),
            instructions: Some(rate / 10.0),
            costs: Some(costs),
            ..measured
        }
    };
    let point =
        |x: f64| Point { x, label: format!("{x}"), runs: vec![run(1e6 * x), run(1.1e6 * x)] };
    let points = || vec![point(1.0), point(2.0)];
    let line = |panel: &Panel, name: &str| {
        let priced = match panel.machine {
            Some(_) => vec![(Price::Half, points()), (Price::Double, points())],
            None => Vec::new(),
        };
        Line { points: points(), priced, ..Line::new(name) }
    };
    let panel = |panel: &Panel| panel.series.iter().map(|it| line(panel, &it.name)).collect();
    figure.panels.iter().map(panel).collect()
}

#[test]
fn every_figure_has_a_picture() {
    let figures = [true, false].map(|native| all(native).expect("every description parses"));
    for figure in figures.into_iter().flatten() {
        let lines = lines(&figure);
        let drawn = svg(&figure, &lines).expect("drawn");
        let svg = drawn.unwrap_or_else(|| panic!("{}: nothing to draw", figure.id));
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{}", figure.id);
        for panel in &figure.panels {
            assert!(svg.contains(&format!("({}) {}", panel.id, panel.title)), "{}", figure.id);
            for series in &panel.series {
                let name = series.name.replace('\'', "&apos;");
                assert!(svg.contains(&name), "{}: {name}", figure.id);
            }
        }
        let lines = |panel: &Panel| panel.machine.is_some() && panel.kind == Kind::Lines;
        let priced = figure.panels.iter().any(lines);
        assert_eq!(svg.contains("at half price"), priced, "{}", figure.id);
        let height: u32 = svg
            .split("height=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next())
            .and_then(|height| height.parse().ok())
            .expect("a height");
        assert!(height > 100, "{}", figure.id);
    }
}

#[test]
fn nothing_measured_is_no_picture() {
    let figures = all(true).expect("every description parses");
    let figure = figures.iter().find(|it| it.id == "silo-6-2").expect("it is there");
    assert!(svg(figure, &vec![Vec::new()]).expect("drawn").is_none());
}

#[test]
fn amounts_have_their_unit() {
    assert_eq!(amount(Metric::Throughput, "ycsb", 3e6), ("Million transactions / s".into(), 1e6));
    assert_eq!(amount(Metric::Throughput, "ycsb", 3e3), ("Thousand transactions / s".into(), 1e3));
    assert_eq!(amount(Metric::Throughput, "ycsb", 30.0), ("Transactions / s".into(), 1.0));
    assert_eq!(amount(Metric::AbortRate, "ycsb", 0.3).1, 0.01);
    assert_eq!(amount(Metric::LatencyP50, "", 30.0), ("Latency (us)".into(), 1.0));
    assert_eq!(amount(Metric::LatencyP99, "", 3e4), ("Latency (ms)".into(), 1e3));
    assert_eq!(amount(Metric::Memory, "", 3e8), ("Memory (MiB)".into(), 1_048_576.0));
    assert_eq!(tidy(2.50), "2.5");
    assert_eq!(tidy(10.0), "10");
}
