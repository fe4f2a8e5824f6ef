//! `chiliad figure list`: what can be reproduced.

use super::progress::estimate;
use crate::host;
use chiliad_host::Stop;
use chiliad_host::output::print;
use chiliad_lab::figure::describe::{self, Figure};
use chiliad_lab::figure::grid::Grid;
use std::time::Duration;

/// Prints the table of figures.
pub fn run() -> Result<(), Stop> {
    print(&table(&describe::all(false)?, host::cores()))
}

fn table(figures: &[Figure], cores: usize) -> String {
    let row = |out: &mut String, cells: [&str; 7]| {
        let [id, figure, section, machine, minutes, quick, title] = cells;
        let line = format!(
            "{id:<17}{figure:<13}{section:<10}{machine:<11}{minutes:>8}{quick:>8}  {title}"
        );
        out.push_str(line.trim_end());
        out.push('\n');
    };
    let mut out = String::new();
    row(&mut out, ["id", "figure", "section", "machine", "minutes", "quick", "title"]);
    let minutes = |time: Duration| format!("{:.1}", time.as_secs_f64() / 60.0);
    let mut totals = [Duration::ZERO; 2];
    for figure in figures {
        let times = [false, true].map(|quick| estimate(figure, Grid { quick, cores }));
        totals = [totals[0] + times[0], totals[1] + times[1]];
        let (id, name, section) = (&figure.id, &figure.figure, &figure.section);
        let [full, quick] = times.map(minutes);
        let machine = if figure.is_simulated() { "simulated" } else { "native" };
        row(&mut out, [id, name, section, machine, &full, &quick, &figure.title]);
    }
    let [full, quick] = totals.map(minutes);
    row(&mut out, ["all", "", "", "", &full, &quick, ""]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_a_line() {
        let figures = describe::all(false).expect("every description parses");
        let table = table(&figures, 2);
        assert_eq!(table.lines().count(), figures.len() + 2);
        assert!(
            table.lines().any(|line| line.starts_with("cores-5-10       Figure 5-10")),
            "{table}"
        );
    }
}
