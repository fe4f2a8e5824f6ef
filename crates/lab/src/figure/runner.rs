//! State that the runs of a figure share, and the rule by which some are left out.

use super::describe::Series;
use super::grid::{Grid, Parse};
use super::measured::Line;
use super::measurement::Measurement;
use super::progress::Bar;
use chiliad_host::{Listening, Stop};

/// State shared by the runs of a figure.
#[derive(Clone, Copy)]
pub struct Runner<'a> {
    /// How much is run.
    pub grid: Grid,
    /// Simulated runs at a time.
    pub jobs: usize,
    /// Parses the words of a description.
    pub parse: Parse<'a>,
    /// How far it is.
    pub bar: &'a Bar,
    /// Whether it is to end early.
    pub listening: &'a Listening,
}

/// A series that this build or machine refuses is left out, and why is said; a run that fails is not.
pub fn leave_out(line: &mut Line, stop: Stop) -> Result<(), Stop> {
    match stop {
        Stop::BadInput(reason) => {
            line.refused = Some(reason);
            Ok(())
        }
        other => Err(other),
    }
}

/// The measurement of a series' line, if this grid has it.
pub fn asked(
    words: &[String],
    series: &Series,
    grid: Grid,
    parse: Parse<'_>,
) -> Result<Measurement, Stop> {
    if series.full_only && grid.quick {
        return Err(Stop::BadInput("only in a full run".into()));
    }
    parse(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_run_leaves_out_what_is_for_full_ones() {
        let words: Vec<String> = ["bench", "ycsb"].map(str::to_owned).into();
        let full_only = |full_only| Series {
            name: String::new(),
            flags: String::new(),
            run: None,
            full_only,
            simulated_only: false,
            native_only: false,
            on: None,
            simulated: String::new(),
            simulated_quick: String::new(),
            memory: None,
        };
        let job = |_: &[String]| Err(Stop::Failed("asked for".into()));
        let taken = |series, quick| {
            let asked = asked(&words, &series, Grid { quick, cores: 2 }, &job);
            matches!(asked, Err(Stop::Failed(_)))
        };
        assert!(taken(full_only(true), false) && taken(full_only(false), true));
        assert!(!taken(full_only(true), true));
    }
}
