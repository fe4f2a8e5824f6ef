//! `chiliad figure`: the papers' figures, and whether what the papers say of them holds, on this machine or
//! on a simulated one of a thousand cores.
//!
//! Figures and claims are data, in `figures/`. From a description to the page: [`grid`] makes command lines
//! of it, [`run`] and [`simulated`] run them, [`measured`] makes numbers of the results, [`judge`] holds the claims against
//! them, and [`csv`], [`chart`] and [`page`] say it.

mod axis;
mod chart;
mod claims;
mod csv;
mod describe;
mod grid;
mod judge;
mod legend;
mod list;
mod measured;
mod numbers;
mod page;
mod place;
mod progress;
mod run;
mod simulated;

use crate::args::{FigureCommand, FigureRunFlags};
use crate::failure::Stop;
use crate::host;
use crate::interrupt::Listening;
use crate::output::print;
use crate::summary::counted;
use claims::Claim;
use describe::Figure;
use grid::Grid;
use judge::{Board, Judged, Verdict, judge};
use measured::{Curve, Lines, Price, curves, curves_at, shares};
use place::Place;
use std::time::{Instant, SystemTime};

/// A figure that was run.
struct Done<'a> {
    figure: &'a Figure,
    lines: Lines,
    svg: Option<String>,
    claims: Vec<(&'a Claim, Judged)>,
}

/// Lists or runs figures.
pub fn run(command: &FigureCommand) -> Result<(), Stop> {
    match command {
        FigureCommand::List => list::run(),
        FigureCommand::Run(flags) => run_figures(flags),
    }
}

fn run_figures(flags: &FigureRunFlags) -> Result<(), Stop> {
    let (figures, claims) = (describe::all(flags.native)?, claims::all()?);
    let chosen = choose(&flags.ids, &figures)?;
    let known = describe::all(false)?;
    let place = Place::obtain(&flags.out, &known)?;
    let jobs = flags.jobs.unwrap_or_else(host::cores);
    let grid = Grid { quick: flags.quick, cores: host::cores() };
    let started = (SystemTime::now(), Instant::now());
    let bar = progress::Bar::new(&chosen, grid, flags.quiet);
    let mut all = Vec::new();
    let listening = Listening::begin();
    for figure in chosen {
        let lines = match run::figure(figure, grid, jobs, &bar, &listening) {
            // What was run before is shown.
            Err(Stop::Interrupted) if !all.is_empty() => break,
            lines => lines?,
        };
        let svg = chart::svg(figure, &lines)?;
        place.put(&format!("{}.csv", figure.id), &csv::text(figure, &lines))?;
        if let Some(svg) = &svg {
            place.put(&format!("{}.svg", figure.id), svg)?;
        }
        let own = |it: &&Claim| it.is_of(figure);
        let judged = claims.iter().filter(own).map(|it| (it, look(figure, &lines, it, grid)));
        all.push(Done { figure, svg, claims: judged.collect(), lines });
    }
    drop(bar);
    let head = page::Head {
        grid,
        native: flags.native,
        date: numbers::date(started.0),
        took: started.1.elapsed(),
    };
    let mut page = page::Page::new(&all, &head);
    page.take_over(place.earlier(), &known);
    let page = place.finish(&page.html(&all, &head))?;
    listening.check()?;
    let failed = all.iter().flat_map(|done| done.lines.iter().flatten());
    let failed: Vec<&String> = failed.flat_map(|line| &line.failed).collect();
    if let Some(first) = failed.first() {
        let problem =
            format!("{} runs failed, see {}; the first: {first}", failed.len(), page.display());
        return Err(Stop::Failed(problem));
    }
    if flags.quiet {
        return Ok(());
    }
    let [holds, fails, not] = count(all.iter().flat_map(|done| &done.claims));
    print(&format!(
        "{}: {holds} claims hold, {fails} fail, {not} do not apply here; see {}\n",
        counted(all.len() as u64, "figure"),
        page.display()
    ))
}

/// The figures that were asked for, in the order of the papers.
fn choose<'a>(ids: &[String], figures: &'a [Figure]) -> Result<Vec<&'a Figure>, Stop> {
    let known = |id: &str| id == "all" || figures.iter().any(|figure| figure.id == id);
    if let Some(id) = ids.iter().find(|id| !known(id)) {
        let names: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
        let problem = format!("`{id}`: no such figure; accepted: all, {}", names.join(", "));
        return Err(Stop::BadInput(problem));
    }
    let asked = |figure: &&Figure| ids.iter().any(|id| id == "all" || *id == figure.id);
    Ok(figures.iter().filter(asked).collect())
}

/// Holds a claim against what was measured. A verdict that other prices of computation change says so.
fn look(figure: &Figure, lines: &Lines, claim: &Claim, grid: Grid) -> Judged {
    let Some(panel) = figure.panels.iter().find(|panel| panel.id == claim.panel) else {
        let measured = format!("no panel {}", claim.panel);
        return Judged { verdict: Verdict::NotApplicable, measured };
    };
    let cores = grid.cores_of(figure, panel);
    let look_at = |price: Price| {
        let of = |panel| -> Vec<Curve> {
            match price {
                Price::One => curves(figure, panel, lines),
                other => curves_at(figure, panel, lines, other),
            }
        };
        let panels: Vec<(&str, Vec<Curve>)> =
            figure.panels.iter().map(|panel| (panel.id.as_str(), of(panel))).collect();
        let shares = shares(figure, panel, lines, price);
        judge(claim, &Board { curves: &of(panel), shares: &shares, panels: &panels, cores })
    };
    let mut judged = look_at(Price::One);
    for price in Price::OTHERS {
        let other = look_at(price);
        if judged.verdict != Verdict::NotApplicable
            && other.verdict != Verdict::NotApplicable
            && other.verdict != judged.verdict
        {
            let words = if other.verdict == Verdict::Holds { "holds" } else { "fails" };
            let Judged { measured, .. } = other;
            judged.measured += &format!(" ({words} {}: {measured})", price.words());
        }
    }
    judged
}

/// How many claims hold, fail, and do not apply.
fn count<'a, 'c: 'a>(claims: impl Iterator<Item = &'a (&'c Claim, Judged)>) -> [usize; 3] {
    let mut counts = [0; 3];
    for (_, judged) in claims {
        counts[judged.verdict as usize] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_come_in_the_order_of_the_papers() {
        let figures = describe::all(false).expect("every description parses");
        let ids = |ids: &[&str]| -> Vec<String> { ids.iter().map(|&id| id.to_owned()).collect() };
        let chosen = choose(&ids(&["cores-5-1", "silo-6-2"]), &figures).expect("known");
        let chosen: Vec<&str> = chosen.iter().map(|figure| figure.id.as_str()).collect();
        assert_eq!(chosen, ["silo-6-2", "cores-5-1"]);
        assert_eq!(choose(&ids(&["all"]), &figures).expect("known").len(), figures.len());
        assert!(choose(&ids(&["silo-6-2", "silo-9-9"]), &figures).is_err());
    }
}
