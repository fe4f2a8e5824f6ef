//! Runs figures: from their descriptions to the page.

use super::claims::Claim;
use super::describe::{self, Figure};
use super::done::{Done, count, look};
use super::grid::{Grid, Parse};
use super::place::Place;
use super::progress::Bar;
use super::run::figure;
use super::runner::Runner;
use super::{chart, claims, csv, numbers, page};
use chiliad_host::output::print;
use chiliad_host::text::counted;
use chiliad_host::{Listening, Stop, computer};
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

/// The order of the command.
pub struct Order {
    /// Figures by their id; `all` is all of them.
    pub ids: Vec<String>,
    /// Where CSV, SVG and the page go.
    pub out: PathBuf,
    /// The smaller grid.
    pub quick: bool,
    /// On this computer what is otherwise simulated.
    pub native: bool,
    /// Simulated runs at a time.
    pub jobs: usize,
    /// No progress bar and no summary.
    pub quiet: bool,
}

/// Runs figures.
///
/// # Errors
/// Bad input, or the first run that failed.
pub fn run(order: &Order, parse: Parse<'_>) -> Result<(), Stop> {
    let (figures, claims) = (describe::all(order.native)?, claims::all()?);
    let chosen = choose(&order.ids, &figures)?;
    let known = describe::all(false)?;
    let place = Place::obtain(&order.out, &known)?;
    let grid = Grid { quick: order.quick, cores: computer::cores() };
    let started = (SystemTime::now(), Instant::now());
    let bar = Bar::new(&chosen, grid, order.quiet);
    let mut all = Vec::new();
    let listening = Listening::begin();
    let runner = Runner { grid, jobs: order.jobs, parse, bar: &bar, listening: &listening };
    for chosen in chosen {
        let lines = match figure(chosen, runner) {
            // What was run before is shown.
            Err(Stop::Interrupted) if !all.is_empty() => break,
            lines => lines?,
        };
        let svg = chart::svg(chosen, &lines)?;
        place.put(&format!("{}.csv", chosen.id), &csv::text(chosen, &lines))?;
        if let Some(svg) = &svg {
            place.put(&format!("{}.svg", chosen.id), svg)?;
        }
        let own = |it: &&Claim| it.is_of(chosen);
        let judged = claims.iter().filter(own).map(|it| (it, look(chosen, &lines, it, grid)));
        all.push(Done { figure: chosen, svg, claims: judged.collect(), lines });
    }
    drop(bar);
    let head = page::Head {
        grid,
        native: order.native,
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
    if order.quiet {
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
