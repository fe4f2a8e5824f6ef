//! A figure that was run, and what has become of the claims about it.

use super::claims::Claim;
use super::describe::Figure;
use super::grid::Grid;
use super::judge::{Board, Judged, Verdict, judge};
use super::measured::{Curve, Lines, curves, curves_at, shares};
use crate::spec::Price;

/// A figure that was run.
pub struct Done<'a> {
    /// The figure.
    pub figure: &'a Figure,
    /// The measurements.
    pub lines: Lines,
    /// The picture; `None` where nothing was measured.
    pub svg: Option<String>,
    /// The claims about it, judged.
    pub claims: Vec<(&'a Claim, Judged)>,
}

/// Holds a claim against what was measured. A verdict that other prices of computation change says so.
pub fn look(figure: &Figure, lines: &Lines, claim: &Claim, grid: Grid) -> Judged {
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
pub fn count<'a, 'c: 'a>(claims: impl Iterator<Item = &'a (&'c Claim, Judged)>) -> [usize; 3] {
    let mut counts = [0; 3];
    for (_, judged) in claims {
        counts[judged.verdict as usize] += 1;
    }
    counts
}
