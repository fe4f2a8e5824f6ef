//! Charts as SVG: one picture for a figure, its panels one below the other.
//!
//! Colours are those of Okabe and Ito, which people with any colour vision tell apart; each series has a
//! marker of its own besides.

use super::axis::Axis;
use super::canvas::{Area, Drawn, INK, Look, WIDTH};
use super::describe::{Figure, Kind, Metric, Panel, Scale};
use super::legend;
use super::measured::{Curve, Dot, Lines, Shares, curves, curves_at, shares};
use super::quantity;
use crate::result::PARTS;
use crate::spec::Price;
use chiliad_host::Stop;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Heights of a chart, of its head, and of a bar.
const PLOT_HEIGHT: u32 = 300;
const HEAD_HEIGHT: u32 = 30;
const BAR_HEIGHT: u32 = 30;

/// The room for names on the left of bars.
const NAMES_WIDTH: i32 = 172;

/// Grid, and what is the papers'.
const GRID: RGBColor = RGBColor(0xe4, 0xe4, 0xe0);
const PAPERS: RGBColor = RGBColor(0x9a, 0x9a, 0x94);

/// Okabe and Ito's colours, dark ones first.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x2b, 0x2b, 0x2b),
    RGBColor(0xb8, 0xa9, 0x00),
];

/// Of the parts of time, in their order.
const PART_COLOURS: [RGBColor; PARTS.len()] = [
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0xb5, 0xb5, 0xae),
];

/// A panel with what is drawn of it.
struct Content<'a> {
    panel: &'a Panel,
    axis: Option<&'a super::describe::Axis>,
    curves: Vec<Curve>,
    looks: Vec<Look>,
    /// The series at other prices of computation, each with its colour.
    priced: Vec<(Curve, RGBColor, Price)>,
    shares: Vec<Shares>,
}

impl Content<'_> {
    fn legend(&self) -> Vec<Look> {
        match self.panel.kind {
            Kind::Lines | Kind::Cumulative => {
                let used = |price: &Price| self.priced.iter().any(|(.., known)| known == price);
                let look = |price: Price| Look {
                    name: price.words().into(),
                    colour: PAPERS,
                    marker: None,
                    dash: dash(price),
                };
                let prices = Price::OTHERS.into_iter().filter(used).map(look);
                self.looks.iter().cloned().chain(prices).collect()
            }
            Kind::Bars => Vec::new(),
            Kind::Breakdown => {
                let parts = PARTS.iter().zip(PART_COLOURS);
                let look = |(name, colour): (&&str, RGBColor)| Look {
                    name: (*name).to_owned(),
                    colour,
                    marker: Some(1),
                    dash: 0,
                };
                parts.map(look).collect()
            }
        }
    }

    fn height(&self) -> u32 {
        let body = match self.panel.kind {
            Kind::Lines | Kind::Cumulative => PLOT_HEIGHT,
            Kind::Bars => BAR_HEIGHT * self.curves.len() as u32 + 12,
            Kind::Breakdown => BAR_HEIGHT * self.shares.len() as u32 + 34,
        };
        HEAD_HEIGHT + legend::height(&self.legend()) + body
    }
}

/// The picture of a figure; `None` where nothing was measured.
pub fn svg(figure: &Figure, lines: &Lines) -> Result<Option<String>, Stop> {
    let contents: Vec<Content<'_>> = figure
        .panels
        .iter()
        .map(|panel| content(figure, panel, lines))
        .filter(|content| !(content.curves.is_empty() && content.shares.is_empty()))
        .collect();
    if contents.is_empty() {
        return Ok(None);
    }
    let height = contents.iter().map(Content::height).sum();
    let mut out = String::new();
    draw(&mut out, height, &contents)
        .map_err(|error| Stop::Failed(format!("{}: the chart: {error}", figure.id)))?;
    Ok(Some(out))
}

fn content<'a>(figure: &'a Figure, panel: &'a Panel, lines: &Lines) -> Content<'a> {
    let source = super::measured::source(figure, panel);
    let breakdown = panel.kind == Kind::Breakdown;
    let curves = if breakdown { Vec::new() } else { curves(figure, panel, lines) };
    let look = |curve: &Curve| {
        let at = source.series.iter().position(|series| series.name == curve.name);
        let colour = at.map_or(PAPERS, |at| COLOURS[at % COLOURS.len()]);
        let paper = panel.reference.iter().position(|it| it.name == curve.name).unwrap_or(0);
        let dash = [7, 2][paper % 2];
        Look { name: curve.name.clone(), colour, marker: at, dash }
    };
    let looks: Vec<Look> = curves.iter().map(look).collect();
    let shares = if breakdown { shares(figure, panel, lines, Price::One) } else { Vec::new() };
    let at = |price: Price| {
        let curves = if panel.kind == Kind::Lines {
            curves_at(figure, panel, lines, price)
        } else {
            Vec::new()
        };
        curves.into_iter().map(move |curve| (curve, price))
    };
    let colour = |curve: &Curve| {
        looks.iter().find(|look| look.name == curve.name).map_or(PAPERS, |look| look.colour)
    };
    let priced = Price::OTHERS.into_iter().flat_map(at);
    let priced = priced.map(|(curve, price)| (colour(&curve), curve, price));
    let priced = priced.map(|(colour, curve, price)| (curve, colour, price)).collect();
    Content { panel, axis: source.x.as_ref(), curves, looks, priced, shares }
}

fn draw(out: &mut String, height: u32, contents: &[Content<'_>]) -> Drawn {
    let root = SVGBackend::with_string(out, (WIDTH, height)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut rest = root;
    for content in contents {
        let (area, below) = rest.split_vertically(content.height());
        let (head, body) = area.split_vertically(HEAD_HEIGHT);
        let title = format!("({}) {}", content.panel.id, content.panel.title);
        let bold = ("sans-serif", 16).into_font().style(FontStyle::Bold);
        head.draw(&Text::new(title, (10, 9), bold.color(&INK)))?;
        let (strip, body) = body.split_vertically(legend::height(&content.legend()));
        legend::draw(&strip, &content.legend())?;
        match content.panel.kind {
            Kind::Lines | Kind::Cumulative => plot(&body, content)?,
            Kind::Bars => bars(&body, content)?,
            Kind::Breakdown => breakdown(&body, &content.shares)?,
        }
        rest = below;
    }
    rest.present()?;
    Ok(())
}

/// The length of the dashes of curves at a price, in pixels.
fn dash(price: Price) -> i32 {
    match price {
        Price::One | Price::Double => 7,
        Price::Half => 2,
    }
}

/// The label of the vertical axis, and the divisor of its values.
fn amount(metric: Metric, workload: &str, most: f64) -> (String, f64) {
    let what = match metric {
        Metric::AbortRate => return ("Attempts refused (%)".into(), 0.01),
        Metric::CommittedTime | Metric::AbortedTime | Metric::StalledTime | Metric::IdleTime => {
            return ("Core time (%)".into(), 0.01);
        }
        Metric::Versions => return ("Records (%)".into(), 0.01),
        Metric::LatencyP50 | Metric::LatencyP99 if most >= 2e3 => {
            return ("Latency (ms)".into(), 1e3);
        }
        Metric::LatencyP50 | Metric::LatencyP99 => return ("Latency (us)".into(), 1.0),
        Metric::Memory => return ("Memory (MiB)".into(), f64::from(1 << 20)),
        Metric::Bytes => return ("Megabytes / s".into(), 1e6),
        Metric::Instructions => return ("Thousand instructions / transaction".into(), 1e3),
        Metric::BuildNs | Metric::PremeldNs | Metric::LastNs | Metric::AllNs => {
            return ("Microseconds for each intention".into(), 1e3);
        }
        Metric::Visited | Metric::Made => return ("Nodes for each intention".into(), 1.0),
        Metric::ZoneLeft => return ("Intentions".into(), 1.0),
        Metric::Accesses => "rows",
        Metric::AllRate => "intentions",
        Metric::Throughput if workload == "log" => "records",
        Metric::Throughput if workload == "meld" => "intentions",
        Metric::Throughput | Metric::ThroughputPerCore if workload == "timestamps" => "timestamps",
        Metric::Throughput => "transactions",
        Metric::ThroughputPerCore => "transactions per core",
    };
    match most {
        most if most >= 2e6 => (format!("Million {what} / s"), 1e6),
        most if most >= 2e3 => (format!("Thousand {what} / s"), 1e3),
        _ => (format!("{} / s", what.replacen(&what[..1], &what[..1].to_uppercase(), 1)), 1.0),
    }
}

fn plot(area: &Area<'_>, content: &Content<'_>) -> Drawn {
    let (panel, curves) = (content.panel, &content.curves);
    let priced = || content.priced.iter().map(|(curve, ..)| curve);
    let dots = || curves.iter().chain(priced()).flat_map(|curve| &curve.dots);
    let most = dots().map(|dot| dot.high).fold(0.0, f64::max);
    let least = dots().map(|dot| dot.low).filter(|&low| low > 0.0).fold(most, f64::min);
    let workload = panel.run.as_deref().and_then(|run| run.split_whitespace().next());
    let (words, unit) = match &panel.over {
        Some(over) => (format!("Times {over} at the first place"), 1.0),
        None => amount(panel.metric, workload.unwrap_or_default(), most),
    };
    let places: Vec<(f64, String)> = dots().map(|dot| (dot.x, dot.label.clone())).collect();
    let scale = content.axis.map_or(Scale::Linear, |axis| axis.scale);
    let across = Axis::of_values(scale, &places);
    let up = Axis::of_amounts(panel.y, least / unit, most / unit, tidy);
    let mut chart = ChartBuilder::on(area)
        .margin_top(8)
        .margin_right(18)
        .margin_left(6)
        .margin_bottom(8)
        .x_label_area_size(44)
        .y_label_area_size(66)
        .build_cartesian_2d(across, up)?;
    chart
        .configure_mesh()
        .x_desc(content.axis.map_or("", |axis| axis.label.as_str()))
        .y_desc(words)
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(PAPERS)
        .label_style(("sans-serif", 14).into_font().color(&INK))
        .axis_desc_style(("sans-serif", 14).into_font().color(&INK))
        .draw()?;
    for (curve, colour, price) in &content.priced {
        let line: Vec<(f64, f64)> = curve.dots.iter().map(|dot| (dot.x, dot.mid / unit)).collect();
        let thin = colour.mix(0.6).stroke_width(1);
        chart.draw_series(DashedLineSeries::new(line, dash(*price), 3, thin))?;
    }
    for (curve, look) in curves.iter().zip(&content.looks) {
        let line: Vec<(f64, f64)> = curve.dots.iter().map(|dot| (dot.x, dot.mid / unit)).collect();
        let Some(marker) = look.marker else {
            chart.draw_series(DashedLineSeries::new(
                line,
                look.dash,
                3,
                look.colour.stroke_width(2),
            ))?;
            continue;
        };
        chart.draw_series(LineSeries::new(line, look.colour.stroke_width(2)))?;
        for dot in &curve.dots {
            let Dot { x, low, mid, high, .. } = dot;
            let style = look.colour.stroke_width(1);
            let ends = vec![(*x, low / unit), (*x, high / unit)];
            chart.draw_series([PathElement::new(ends, style)])?;
            for end in [low, high] {
                let cap = PathElement::new(vec![(-4, 0), (4, 0)], style);
                chart.draw_series([EmptyElement::at((*x, end / unit)) + cap])?;
            }
            let shape = legend::marker(marker, look.colour);
            chart.draw_series([EmptyElement::at((*x, mid / unit)) + shape])?;
        }
    }
    Ok(())
}

/// A number at an axis.
fn tidy(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A name on the left, before a bar at `top`.
fn name(area: &Area<'_>, text: &str, top: i32) -> Drawn {
    let right = Pos::new(HPos::Right, VPos::Center);
    let style = ("sans-serif", 14).into_font().color(&INK).pos(right);
    area.draw(&Text::new(text.to_owned(), (NAMES_WIDTH - 8, top + 12), style))?;
    Ok(())
}

fn bars(area: &Area<'_>, content: &Content<'_>) -> Drawn {
    let values: Vec<&Dot> = content.curves.iter().filter_map(|curve| curve.dots.first()).collect();
    let most = values.iter().map(|dot| dot.high).fold(0.0, f64::max).max(1e-9);
    let room = f64::from(WIDTH as i32 - NAMES_WIDTH - 90);
    let place = |value: f64| NAMES_WIDTH + (value / most * room).round() as i32;
    for ((at, dot), look) in (0..).zip(values).zip(&content.looks) {
        let top = at * BAR_HEIGHT as i32 + 4;
        name(area, &look.name, top)?;
        let corners = [(NAMES_WIDTH, top), (place(dot.mid), top + 22)];
        area.draw(&Rectangle::new(corners, look.colour.filled()))?;
        if look.marker.is_some() {
            let style = INK.stroke_width(1);
            let range = [(place(dot.low), top + 11), (place(dot.high), top + 11)];
            area.draw(&PathElement::new(range, style))?;
        }
        let style = ("sans-serif", 14).into_font().color(&INK);
        let style = style.pos(Pos::new(HPos::Left, VPos::Center));
        let value = quantity::text(content.panel.metric, dot.mid);
        area.draw(&Text::new(value, (place(dot.high) + 8, top + 12), style))?;
    }
    Ok(())
}

fn breakdown(area: &Area<'_>, shares: &[Shares]) -> Drawn {
    let room = f64::from(WIDTH as i32 - NAMES_WIDTH - 24);
    let place = |share: f64| NAMES_WIDTH + (share * room).round() as i32;
    for (at, shares) in (0..).zip(shares) {
        let top = at * BAR_HEIGHT as i32 + 4;
        name(area, &shares.name, top)?;
        let mut from = 0.0;
        for (share, colour) in shares.parts.iter().zip(PART_COLOURS) {
            let corners = [(place(from), top), (place(from + share), top + 22)];
            area.draw(&Rectangle::new(corners, colour.filled()))?;
            from += share;
        }
    }
    let below = shares.len() as i32 * BAR_HEIGHT as i32 + 6;
    for percent in [0, 25, 50, 75, 100] {
        let middle = Pos::new(HPos::Center, VPos::Top);
        let style = ("sans-serif", 13).into_font().color(&INK).pos(middle);
        let at = (place(f64::from(percent) / 100.0), below);
        area.draw(&Text::new(format!("{percent} %"), at, style))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
