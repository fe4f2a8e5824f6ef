//! The table of figures that can be reproduced.

use super::describe::{self, Figure};
use super::grid::{Grid, Parse};
use super::progress::estimate;
use chiliad_host::{Stop, computer};
use std::time::Duration;

/// The table of figures.
///
/// # Errors
/// A description cannot be read.
pub fn list(parse: Parse<'_>) -> Result<String, Stop> {
    Ok(table(&describe::all(false)?, computer::cores(), parse))
}

/// The table of these figures on a computer of so many cores.
pub fn table(figures: &[Figure], cores: usize, parse: Parse<'_>) -> String {
    let longest = figures.iter().map(|figure| figure.section.len()).max().unwrap_or(0);
    let wide = longest.max("section".len()) + 2;
    let row = |out: &mut String, cells: [&str; 7]| {
        let [id, figure, section, machine, minutes, quick, title] = cells;
        let line = format!(
            "{id:<17}{figure:<13}{section:<wide$}{machine:<11}{minutes:>8}{quick:>8}  {title}"
        );
        out.push_str(line.trim_end());
        out.push('\n');
    };
    let mut out = String::new();
    row(&mut out, ["id", "figure", "section", "machine", "minutes", "quick", "title"]);
    let minutes = |time: Duration| format!("{:.1}", time.as_secs_f64() / 60.0);
    let mut totals = [Duration::ZERO; 2];
    for figure in figures {
        let times = [false, true].map(|quick| estimate(figure, Grid { quick, cores }, parse));
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
