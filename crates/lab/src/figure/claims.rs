//! The papers' statements, and the small vocabulary in which a program can judge them.
//!
//! They stand in dated files and are frozen: none is changed after a run has been looked at.

use super::describe::{Figure, Panel, read};
use super::measured::source;
use chiliad_host::Stop;
use serde::Deserialize;

/// Those that are judged by runs on this machine.
const NATIVE: &str = include_str!("../../figures/claims-2026-11-20.toml");

/// Those that are judged by runs on a simulated machine.
const SIMULATED: &str = include_str!("../../figures/claims-2026-11-21.toml");

/// Those that hold the simulator against this machine.
const HOST: &str = include_str!("../../figures/claims-host-2026-11-21.toml");

/// Those about the lock manager, by where they are judged.
const LOCKS_NATIVE: &str = include_str!("../../figures/claims-lm-native-2026-11-22.toml");
const LOCKS_SIMULATED: &str = include_str!("../../figures/claims-lm-2026-11-22.toml");

/// Those about servers that share a log, each of which says where it is judged.
const SERVERS: &str = include_str!("../../figures/claims-hyder-2026-11-25.toml");

/// Those about transactions as ordered tasks, of which each says that it is simulated.
const TASKS: &str = include_str!("../../figures/claims-swarm-2026-11-25.toml");
const GRAPHS: &str = include_str!("../../figures/claims-swarm-graphs-2026-11-25.toml");

/// Something that a paper says of a figure.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its name, in tests and notes.
    pub id: String,
    /// The figure.
    pub figure: String,
    /// The panel.
    pub panel: String,
    /// Where the paper says it.
    pub section: String,
    /// The paper's statement.
    pub paper: String,
    /// The fewest cores on which it can be looked at.
    pub needs_cores: usize,
    /// The condition that has to hold.
    pub check: Check,
    /// It is judged by runs on a simulated machine. Files whose claims are all judged alike do not say it.
    #[serde(default)]
    pub simulated: bool,
}

impl Claim {
    /// Whether it is about a panel of this figure, on the machine that this was run on.
    pub fn is_of(&self, figure: &Figure) -> bool {
        let its = |panel: &&Panel| panel.id == self.panel;
        let simulated = |panel| source(figure, panel).machine.is_some();
        let panel = figure.panels.iter().find(its).map(simulated);
        self.figure == figure.id && panel == Some(self.simulated)
    }
}

/// A statement about a panel. Values are medians; `at`, `from` and `to` choose places of the axis, all where none is
/// given; a statement about several series is one about each that was measured.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// `series` is at least `factor` times each of `over`.
    Above(Above),
    /// `series` is at most `factor` times each of `under`.
    Below(Below),
    /// `series` divided by `over` lies between `low` and `high`.
    RatioWithin(RatioWithin),
    /// The geometric mean of `series` divided by `over` lies between `low` and `high`.
    MeanRatioWithin(MeanRatioWithin),
    /// `series` and `other` differ by no more than `by`.
    Apart(Apart),
    /// The most of `lower` is at most `factor` times the least of `higher`.
    Groups(Groups),
    /// No series is more than `tolerance` above `series`.
    Best(Best),
    /// Each of the series is above the next, less `tolerance`.
    Order(Order),
    /// The value at `to` divided by that at `from` lies between `at_least` and `at_most`.
    Grows(Grows),
    /// The quotient of `Grows` is smaller for `series` than for `than`.
    GrowsLess(GrowsLess),
    /// From `from` to `to` the value grows with the axis, by `efficiency` of it at least.
    Linear(Linear),
    /// No value is more than `tolerance` below one before it.
    Rises(Trend),
    /// No value is more than `tolerance` above one before it.
    Falls(Trend),
    /// `series` grows along the axis by less than the share `share` of the axis' own growth no later than
    /// `than` does, at the earliest place where that is so.
    BendsNoLater(BendsNoLater),
    /// The ranks of the series, at the last place that both panels have, agree with those in panel `panel`:
    /// Spearman's coefficient is at least `at_least`.
    Ranks(Ranks),
    /// At each place the value differs from that of the same series in panel `panel` by no more than the
    /// share `within` of the latter.
    AsInPanel(AsInPanel),
    /// The value divided by that of the same series in panel `panel` lies between `low` and `high`.
    OverPanel(OverPanel),
    /// The value at `at` divided by the most lies between `low` and `high`.
    OfPeak(OfPeak),
    /// The most of each series is more than `factor` times that of the one before it.
    PeaksRise(PeaksRise),
    /// Least and most differ by no more than the share `within` of the most.
    Flat(Flat),
    /// Least and most differ by no more than `spread`.
    Steady(Steady),
    /// The most stands between `low` and `high` of the axis, the last at most `then_below` times it.
    PeaksBetween(PeaksBetween),
    /// `series` is ahead of `other` first and behind later, and that changes between `low` and `high`.
    CrossesBetween(CrossesBetween),
    /// The values at `at` lie between `low` and `high`.
    ValueWithin(ValueWithin),
    /// The most along the axis lies between `low` and `high`.
    MostWithin(MostWithin),
    /// Of the time, no part is larger than `part`, but for those of `besides`.
    LargestShare(LargestShare),
    /// The share of `part` is larger in `series` than in each of `over`.
    ShareAbove(ShareAbove),
    /// The share of `part` is at least `low` and at most `high`.
    ShareWithin(ShareWithin),
}

/// Declares the terms of one kind of check.
macro_rules! terms {
    ($($(#[$words:meta])* $name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$words])*
        #[derive(Deserialize, Debug)]
        #[serde(deny_unknown_fields)]
        #[allow(missing_docs, reason = "the variants of `Check` explain the fields")]
        pub struct $name { $($(#[$attribute])* pub $field: $type),* }
    )*};
}

terms! {
    /// See [`Check::Above`].
    Above { series: String, over: Vec<String>, factor: f64, #[serde(default)] at: Vec<f64>, from: Option<f64>, to: Option<f64> }
    /// See [`Check::Below`].
    Below { series: String, under: Vec<String>, factor: f64, #[serde(default)] at: Vec<f64>, from: Option<f64>, to: Option<f64> }
    /// See [`Check::RatioWithin`].
    RatioWithin { series: String, over: String, low: Option<f64>, high: Option<f64>, #[serde(default)] at: Vec<f64>, from: Option<f64>, to: Option<f64> }
    /// See [`Check::MeanRatioWithin`].
    MeanRatioWithin { series: String, over: String, low: f64, high: f64, from: Option<f64>, to: Option<f64> }
    /// See [`Check::Apart`].
    Apart { series: String, other: String, by: f64, #[serde(default)] at: Vec<f64>, from: Option<f64>, to: Option<f64> }
    /// See [`Check::Groups`].
    Groups { lower: Vec<String>, higher: Vec<String>, factor: f64, #[serde(default)] at: Vec<f64>, from: Option<f64>, to: Option<f64> }
    /// See [`Check::Best`].
    Best { series: String, tolerance: f64, #[serde(default)] at: Vec<f64>, from: Option<f64>, to: Option<f64> }
    /// See [`Check::Order`].
    Order { series: Vec<String>, tolerance: f64, #[serde(default)] at: Vec<f64>, from: Option<f64>, to: Option<f64> }
    /// See [`Check::Grows`].
    Grows { series: Vec<String>, from: f64, to: f64, at_least: Option<f64>, at_most: Option<f64>, enough: Option<usize> }
    /// See [`Check::GrowsLess`].
    GrowsLess { series: String, than: String, from: f64, to: Option<f64> }
    /// See [`Check::Linear`].
    Linear { series: Vec<String>, efficiency: f64, from: Option<f64>, to: Option<f64> }
    /// See [`Check::Rises`] and [`Check::Falls`].
    Trend { series: Vec<String>, tolerance: f64, #[serde(default)] at: Vec<f64>, from: Option<f64>, to: Option<f64> }
    /// See [`Check::BendsNoLater`].
    BendsNoLater { series: String, than: String, share: f64 }
    /// See [`Check::Ranks`].
    Ranks { series: Vec<String>, panel: String, at_least: f64 }
    /// See [`Check::AsInPanel`].
    AsInPanel { series: Vec<String>, panel: String, within: f64 }
    /// See [`Check::OverPanel`].
    OverPanel { series: Vec<String>, panel: String, low: Option<f64>, high: Option<f64>, #[serde(default)] at: Vec<f64>, from: Option<f64>, to: Option<f64> }
    /// See [`Check::OfPeak`].
    OfPeak { series: Vec<String>, at: f64, low: Option<f64>, high: Option<f64> }
    /// See [`Check::PeaksRise`].
    PeaksRise { series: Vec<String>, factor: f64 }
    /// See [`Check::Flat`].
    Flat { series: Vec<String>, within: f64, #[serde(default)] at: Vec<f64>, from: Option<f64>, to: Option<f64> }
    /// See [`Check::Steady`].
    Steady { series: Vec<String>, spread: f64, #[serde(default)] at: Vec<f64>, from: Option<f64>, to: Option<f64> }
    /// See [`Check::PeaksBetween`].
    PeaksBetween { series: String, low: f64, high: f64, then_below: f64 }
    /// See [`Check::CrossesBetween`].
    CrossesBetween { series: String, other: String, low: f64, high: f64 }
    /// See [`Check::ValueWithin`].
    ValueWithin { series: Vec<String>, at: Vec<f64>, low: Option<f64>, high: Option<f64> }
    /// See [`Check::MostWithin`].
    MostWithin { series: Vec<String>, low: f64, high: f64 }
    /// See [`Check::LargestShare`].
    LargestShare { series: Vec<String>, part: String, besides: Vec<String> }
    /// See [`Check::ShareAbove`].
    ShareAbove { part: String, series: String, over: Vec<String> }
    /// See [`Check::ShareWithin`].
    ShareWithin { series: Vec<String>, part: String, low: Option<f64>, high: Option<f64> }
}

impl Check {
    /// The series that it names.
    pub fn series(&self) -> Vec<&str> {
        fn both<'a>(one: &[&'a String], many: &[&'a [String]]) -> Vec<&'a str> {
            let many = many.iter().flat_map(|names| names.iter());
            one.iter().copied().chain(many).map(String::as_str).collect()
        }
        match self {
            Self::Above(it) => both(&[&it.series], &[&it.over]),
            Self::Below(it) => both(&[&it.series], &[&it.under]),
            Self::RatioWithin(it) => both(&[&it.series, &it.over], &[]),
            Self::MeanRatioWithin(it) => both(&[&it.series, &it.over], &[]),
            Self::Apart(it) => both(&[&it.series, &it.other], &[]),
            Self::Groups(it) => both(&[], &[&it.lower, &it.higher]),
            Self::Best(it) => both(&[&it.series], &[]),
            Self::Order(it) => both(&[], &[&it.series]),
            Self::Grows(it) => both(&[], &[&it.series]),
            Self::GrowsLess(it) => both(&[&it.series, &it.than], &[]),
            Self::Linear(it) => both(&[], &[&it.series]),
            Self::BendsNoLater(it) => both(&[&it.series, &it.than], &[]),
            Self::Ranks(it) => both(&[], &[&it.series]),
            Self::AsInPanel(it) => both(&[], &[&it.series]),
            Self::OverPanel(it) => both(&[], &[&it.series]),
            Self::OfPeak(it) => both(&[], &[&it.series]),
            Self::PeaksRise(it) => both(&[], &[&it.series]),
            Self::Rises(it) | Self::Falls(it) => both(&[], &[&it.series]),
            Self::Flat(it) => both(&[], &[&it.series]),
            Self::Steady(it) => both(&[], &[&it.series]),
            Self::PeaksBetween(it) => both(&[&it.series], &[]),
            Self::CrossesBetween(it) => both(&[&it.series, &it.other], &[]),
            Self::ValueWithin(it) => both(&[], &[&it.series]),
            Self::MostWithin(it) => both(&[], &[&it.series]),
            Self::LargestShare(it) => both(&[], &[&it.series]),
            Self::ShareAbove(it) => both(&[&it.series], &[&it.over]),
            Self::ShareWithin(it) => both(&[], &[&it.series]),
        }
    }
}

/// All claims.
pub fn all() -> Result<Vec<Claim>, Stop> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Claims {
        claim: Vec<Claim>,
    }
    let mut all = Vec::new();
    for (text, simulated) in [
        (NATIVE, false),
        (LOCKS_NATIVE, false),
        (SIMULATED, true),
        (HOST, true),
        (LOCKS_SIMULATED, true),
    ] {
        let claims = read::<Claims>(text)?.claim.into_iter();
        all.extend(claims.map(|claim| Claim { simulated, ..claim }));
    }
    for text in [SERVERS, TASKS, GRAPHS] {
        all.extend(read::<Claims>(text)?.claim);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::super::describe::{self, Kind, Source};
    use super::*;
    use crate::result::PARTS;
    use std::collections::HashSet;

    /// The parts of time that a check names.
    fn parts(check: &Check) -> Vec<&str> {
        match check {
            Check::LargestShare(it) => {
                [&it.part].into_iter().chain(&it.besides).map(String::as_str).collect()
            }
            Check::ShareAbove(ShareAbove { part, .. })
            | Check::ShareWithin(ShareWithin { part, .. }) => vec![part],
            _ => Vec::new(),
        }
    }

    #[test]
    fn every_claim_is_about_something_that_exists() {
        let claims = all().expect("the claims parse");
        let mut looked_at = HashSet::new();
        for native in [true, false] {
            for figure in describe::all(native).expect("every description parses") {
                let own: Vec<&Claim> = claims.iter().filter(|it| it.is_of(&figure)).collect();
                let any = !own.is_empty();
                assert!(any || figure.source == Source::Own, "claims of {}", figure.id);
                own.iter().for_each(|claim| exists(claim, &figure));
                looked_at.extend(own.iter().map(|claim| (claim.id.as_str(), claim.simulated)));
            }
        }
        let ids: HashSet<(&str, bool)> =
            claims.iter().map(|claim| (claim.id.as_str(), claim.simulated)).collect();
        assert_eq!(ids.len(), claims.len());
        assert_eq!(ids.difference(&looked_at).next(), None, "about no panel");
    }

    /// Looks at the names in a claim.
    fn exists(claim: &Claim, figure: &Figure) {
        let id = &claim.id;
        let panel = figure.panels.iter().find(|it| it.id == claim.panel).expect(id);
        let runs = source(figure, panel);
        let series = runs.series.iter().map(|it| &it.name);
        let known: HashSet<&str> =
            series.chain(panel.reference.iter().map(|it| &it.name)).map(String::as_str).collect();
        let (names, parts) = (claim.check.series(), parts(&claim.check));
        assert!(!names.is_empty() && names.iter().all(|it| known.contains(it)), "{id}: {names:?}");
        assert!(parts.iter().all(|it| PARTS.contains(it)), "{id}: {parts:?}");
        assert_eq!(!parts.is_empty(), panel.kind == Kind::Breakdown, "{id}");
        assert!(claim.needs_cores > 0, "{id}");
        if let Check::Ranks(Ranks { panel, .. })
        | Check::AsInPanel(AsInPanel { panel, .. })
        | Check::OverPanel(OverPanel { panel, .. }) = &claim.check
        {
            assert!(figure.panels.iter().any(|it| it.id == *panel), "{id}: {panel}");
        }
    }
}
