//! `chiliad figure`: the papers' figures, and whether what the papers say of them holds, on this machine or
//! on a simulated one of a thousand cores.
//!
//! Figures and claims are data, in `figures/`. From a description to the page: [`grid`] makes command lines
//! of it, [`run`] and [`simulated`] run them, [`measured`] makes numbers of the results, [`judge`] holds the claims against
//! them, and [`csv`], [`chart`] and [`page`] say it.

mod list;
mod progress;
mod run;
mod simulated;

use crate::args::{FigureCommand, FigureRunFlags};
use crate::host;
use chiliad_host::Listening;
use chiliad_host::Stop;
use chiliad_host::output::print;
use chiliad_host::text::counted;
use chiliad_lab::figure::claims::Claim;
use chiliad_lab::figure::describe::{self, Figure};
use chiliad_lab::figure::done::{Done, count, look};
use chiliad_lab::figure::grid::Grid;
use chiliad_lab::figure::place::Place;
use chiliad_lab::figure::{chart, claims, csv, numbers, page};
use std::time::{Instant, SystemTime};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;

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

    /// Every line of every figure is what the command takes, but where a machine has too few partitions
    /// for a line, or fewer cores than it, which the page says.
    #[test]
    fn every_line_is_taken_by_the_command() {
        let mut refused = Vec::new();
        for (native, quick, cores) in
            [(true, true, 2), (true, false, 64), (false, true, 2), (false, false, 2)]
        {
            let grid = Grid { quick, cores };
            for figure in describe::all(native).expect("every description parses") {
                for panel in &figure.panels {
                    for line in grid.columns(panel).iter().flat_map(|column| &column.lines) {
                        if let Err(stop) = args::parse(line).and_then(run::prepare) {
                            refused.push((line.join(" "), format!("{stop:?}")));
                        }
                    }
                }
            }
        }
        for (line, problem) in &refused {
            let simulated = line.starts_with("simulate ");
            let known =
                problem.contains("--parts-per-txn") || simulated && line.contains(NOT_SIMULATED);
            assert!(known, "{line}: {problem}");
        }
    }

    /// The machine that has no more cores than this one, whatever the grid says.
    const NOT_SIMULATED: &str = "--machine host";
}
