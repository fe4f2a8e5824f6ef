//! Whether a claim holds for what was measured.
//!
//! A claim does not apply where the machine has too few cores, where no series that it needs was
//! measured, or where the axis lacks a place that it names.

use super::claims::{
    Above, Apart, AsInPanel, Below, BendsNoLater, Best, Check, Claim, CrossesBetween, Groups,
    Grows, GrowsLess, LargestShare, Linear, MeanRatioWithin, OfPeak, Order, OverPanel,
    PeaksBetween, PeaksRise, Ranks, RatioWithin, ShareAbove, ShareWithin,
};
use super::measured::{Curve, Dot, Shares};
use super::numbers::short;
use crate::result::PARTS;

/// The verdict on a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It holds.
    Holds,
    /// It does not.
    Fails,
    /// It cannot be looked at here.
    NotApplicable,
}

/// A verdict and what it rests on.
#[derive(Debug)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// The measurement, or why the claim does not apply.
    pub measured: String,
}

/// The measurements that claims are judged by.
pub struct Board<'a> {
    /// The panel's curves.
    pub curves: &'a [Curve],
    /// The panel's breakdown.
    pub shares: &'a [Shares],
    /// The curves of the figure's panels, by their names.
    pub panels: &'a [(&'a str, Vec<Curve>)],
    /// Cores of this machine, or the most of the simulated one in this grid.
    pub cores: usize,
}

/// Whether it holds, and in words; or why it does not apply.
type Answer = Result<(bool, String), String>;

/// Judges a claim.
pub fn judge(claim: &Claim, board: &Board<'_>) -> Judged {
    let answer = if board.cores < claim.needs_cores {
        Err(format!("needs {} cores", claim.needs_cores))
    } else {
        board.answer(&claim.check).map(|(held, words)| (held, words + &board.without(&claim.check)))
    };
    match answer {
        Ok((true, measured)) => Judged { verdict: Verdict::Holds, measured },
        Ok((false, measured)) => Judged { verdict: Verdict::Fails, measured },
        Err(measured) => Judged { verdict: Verdict::NotApplicable, measured },
    }
}

/// Places of the axis: those of a list, or those of a range.
#[derive(Clone, Copy, Default)]
struct Where<'a> {
    at: &'a [f64],
    from: Option<f64>,
    to: Option<f64>,
}

/// A shorthand for the three fields that choose places.
macro_rules! places {
    ($it:expr) => {
        Where { at: &$it.at, from: $it.from, to: $it.to }
    };
}

/// Two places are the same if they differ by less than a percent.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 0.01 * a.abs().max(b.abs())
}

/// One number of each of several curves at a place.
type Row<'a> = (&'a Dot, Vec<f64>);

impl<'a> Board<'a> {
    fn answer(&self, check: &Check) -> Answer {
        match check {
            Check::Above(it) => self.above(it),
            Check::Below(it) => self.below(it),
            Check::RatioWithin(it) => self.ratio(it),
            Check::MeanRatioWithin(it) => self.mean_ratio(it),
            Check::Apart(it) => self.apart(it),
            Check::Groups(it) => self.groups(it),
            Check::Best(it) => self.best(it),
            Check::Order(it) => self.order(it),
            Check::Grows(it) => self.grows(it),
            Check::GrowsLess(it) => self.grows_less(it),
            Check::Linear(it) => self.linear(it),
            Check::BendsNoLater(it) => self.bends_no_later(it),
            Check::Ranks(it) => self.ranks(it),
            Check::AsInPanel(it) => self.as_in_panel(it),
            Check::Rises(it) => self.each(&it.series, places!(it), |values| {
                (trend(values, 1.0, it.tolerance), from_to(values))
            }),
            Check::Falls(it) => self.each(&it.series, places!(it), |values| {
                (trend(values, -1.0, it.tolerance), from_to(values))
            }),
            Check::OverPanel(it) => self.over_panel(it),
            Check::OfPeak(it) => self.of_peak(it),
            Check::PeaksRise(it) => self.peaks_rise(it),
            Check::Flat(it) => self.each(&it.series, places!(it), |values| {
                let (low, high) = range(values);
                (high - low <= it.within * high, format!("{} to {}", short(low), short(high)))
            }),
            Check::Steady(it) => self.each(&it.series, places!(it), |values| {
                let (low, high) = range(values);
                (high - low <= it.spread, format!("{} to {}", short(low), short(high)))
            }),
            Check::PeaksBetween(it) => self.peak(it),
            Check::CrossesBetween(it) => self.crossing(it),
            Check::ValueWithin(it) => {
                let at = Where { at: &it.at, ..Where::default() };
                self.each(&it.series, at, |values| {
                    let inside = values.iter().all(|dot| within(dot.mid, it.low, it.high));
                    (inside, listed(values))
                })
            }
            Check::MostWithin(it) => self.each(&it.series, Where::default(), |values| {
                let most = range(values).1;
                (within(most, Some(it.low), Some(it.high)), short(most))
            }),
            Check::LargestShare(it) => self.largest_share(it),
            Check::ShareAbove(it) => self.share_above(it),
            Check::ShareWithin(it) => self.share_within(it),
        }
    }

    /// Which of the series that a check names were not measured.
    fn without(&self, check: &Check) -> String {
        let measured = |name: &&str| {
            let curve = self.curves.iter().any(|curve| curve.name == *name);
            curve || self.shares.iter().any(|shares| shares.name == *name)
        };
        let missing: Vec<&str> = check.series().into_iter().filter(|it| !measured(it)).collect();
        if missing.is_empty() {
            String::new()
        } else {
            format!(" (without {})", missing.join(", "))
        }
    }

    fn curve(&self, name: &str) -> Result<&'a Curve, String> {
        let found = self.curves.iter().find(|curve| curve.name == name);
        found.ok_or_else(|| format!("{name} was not measured"))
    }

    /// Those of `names` that were measured: at least one.
    fn some(&self, names: &[String]) -> Result<Vec<&'a Curve>, String> {
        let found: Vec<&Curve> = names.iter().filter_map(|name| self.curve(name).ok()).collect();
        if found.is_empty() {
            Err(format!("{} was not measured", names.join(", ")))
        } else {
            Ok(found)
        }
    }

    /// The wanted places of a curve; all of a list must be there.
    fn dots(curve: &'a Curve, wanted: Where<'_>) -> Result<Vec<&'a Dot>, String> {
        let place = |&x: &f64| {
            let found = curve.dots.iter().find(|dot| same(dot.x, x));
            found.ok_or_else(|| format!("{} was not measured at {x}", curve.name))
        };
        if !wanted.at.is_empty() {
            return wanted.at.iter().map(place).collect();
        }
        let inside = |dot: &&Dot| within(dot.x, wanted.from, wanted.to);
        let found: Vec<&Dot> = curve.dots.iter().filter(inside).collect();
        let none = || format!("{} was not measured in that range", curve.name);
        if found.is_empty() { Err(none()) } else { Ok(found) }
    }

    /// The wanted places that all of `curves` have, with their values. Bars have one place each.
    fn rows(curves: &[&'a Curve], wanted: Where<'_>) -> Result<Vec<Row<'a>>, String> {
        let first = Self::dots(curves[0], wanted)?;
        let row = |dot: &'a Dot| {
            let value = |curve: &&Curve| {
                curve.dots.iter().find(|other| same(other.x, dot.x)).map(|other| other.mid)
            };
            Some((dot, curves.iter().map(value).collect::<Option<Vec<f64>>>()?))
        };
        let rows: Vec<Row<'_>> = first.into_iter().filter_map(row).collect();
        let none = || "no place was measured for all series".to_owned();
        if rows.is_empty() { Err(none()) } else { Ok(rows) }
    }

    /// Judges each series by its values, and all must hold.
    fn each(
        &self,
        names: &[String],
        wanted: Where<'_>,
        holds: impl Fn(&[&Dot]) -> (bool, String),
    ) -> Answer {
        let mut all = true;
        let mut words = Vec::new();
        let mut reason = String::new();
        for curve in self.some(names)? {
            match Self::dots(curve, wanted) {
                Ok(dots) => {
                    let (held, text) = holds(&dots);
                    all &= held;
                    words.push(format!("{}: {text}", curve.name));
                }
                Err(problem) => reason = problem,
            }
        }
        if words.is_empty() { Err(reason) } else { Ok((all, words.join("; "))) }
    }

    fn above(&self, it: &Above) -> Answer {
        let curves = [vec![self.curve(&it.series)?], self.some(&it.over)?].concat();
        let rows = Self::rows(&curves, places!(it))?;
        let quotient = |row: &Row<'_>| divided(row.1[0], range_of(&row.1[1..]).1);
        Ok(by_place(&rows, &format!("{} / best of the others", it.series), quotient, |quotient| {
            quotient >= it.factor
        }))
    }

    fn below(&self, it: &Below) -> Answer {
        let curves = [vec![self.curve(&it.series)?], self.some(&it.under)?].concat();
        let rows = Self::rows(&curves, places!(it))?;
        let quotient = |row: &Row<'_>| divided(row.1[0], range_of(&row.1[1..]).0);
        Ok(by_place(&rows, &format!("{} / least of the others", it.series), quotient, |quotient| {
            quotient <= it.factor
        }))
    }

    fn ratio(&self, it: &RatioWithin) -> Answer {
        let rows = Self::rows(&[self.curve(&it.series)?, self.curve(&it.over)?], places!(it))?;
        let words = format!("{} / {}", it.series, it.over);
        let quotient = |row: &Row<'_>| divided(row.1[0], row.1[1]);
        Ok(by_place(&rows, &words, quotient, |quotient| within(quotient, it.low, it.high)))
    }

    fn mean_ratio(&self, it: &MeanRatioWithin) -> Answer {
        let wanted = Where { at: &[], from: it.from, to: it.to };
        let rows = Self::rows(&[self.curve(&it.series)?, self.curve(&it.over)?], wanted)?;
        let logs = rows.iter().map(|row| divided(row.1[0], row.1[1]).ln());
        let mean = (logs.sum::<f64>() / rows.len() as f64).exp();
        let words = format!("mean of {} / {}: {}", it.series, it.over, short(mean));
        Ok((within(mean, Some(it.low), Some(it.high)), words))
    }

    fn apart(&self, it: &Apart) -> Answer {
        let rows = Self::rows(&[self.curve(&it.series)?, self.curve(&it.other)?], places!(it))?;
        let words = format!("{} and {} differ by", it.series, it.other);
        let distance = |row: &Row<'_>| (row.1[0] - row.1[1]).abs();
        Ok(by_place(&rows, &words, distance, |distance| distance <= it.by))
    }

    fn groups(&self, it: &Groups) -> Answer {
        let (lower, higher) = (self.some(&it.lower)?, self.some(&it.higher)?);
        let cut = lower.len();
        let rows = Self::rows(&[lower, higher].concat(), places!(it))?;
        let quotient =
            |row: &Row<'_>| divided(range_of(&row.1[..cut]).1, range_of(&row.1[cut..]).0);
        let words = format!("best of {} / least of {}", it.lower.join(", "), it.higher.join(", "));
        Ok(by_place(&rows, &words, quotient, |quotient| quotient <= it.factor))
    }

    fn best(&self, it: &Best) -> Answer {
        let own = self.curve(&it.series)?;
        let others = self.curves.iter().filter(|curve| curve.name != it.series);
        let curves: Vec<&Curve> = [own].into_iter().chain(others).collect();
        if curves.len() < 2 {
            return Err("no other series was measured".into());
        }
        let rows = Self::rows(&curves, places!(it))?;
        let quotient = |row: &Row<'_>| divided(row.1[0], range_of(&row.1[1..]).1);
        Ok(by_place(&rows, &format!("{} / best of the others", it.series), quotient, |quotient| {
            quotient >= 1.0 - it.tolerance
        }))
    }

    fn order(&self, it: &Order) -> Answer {
        let curves = self.some(&it.series)?;
        if curves.len() < 2 {
            return Err("only one of the series was measured".into());
        }
        let rows = Self::rows(&curves, places!(it))?;
        let least = |row: &Row<'_>| {
            row.1.windows(2).map(|pair| divided(pair[0], pair[1])).fold(f64::INFINITY, f64::min)
        };
        let words = "least of one / the next";
        Ok(by_place(&rows, words, least, |quotient| quotient >= 1.0 - it.tolerance))
    }

    /// The value at one place divided by that at another.
    fn quotient(curve: &Curve, from: f64, to: Option<f64>) -> Result<f64, String> {
        let at = |x: f64| Board::dots(curve, Where { at: &[x], ..Where::default() });
        let first = at(from)?[0].mid;
        let last = match to {
            Some(to) => at(to)?[0].mid,
            None => curve.dots.last().map_or(first, |dot| dot.mid),
        };
        Ok(last / first)
    }

    fn grows(&self, it: &Grows) -> Answer {
        let curves = self.some(&it.series)?;
        let mut held = 0;
        let mut words = Vec::new();
        let mut reason = String::new();
        for curve in curves {
            match Self::quotient(curve, it.from, Some(it.to)) {
                Ok(quotient) => {
                    held += usize::from(within(quotient, it.at_least, it.at_most));
                    words.push(format!("{}: x {quotient:.2}", curve.name));
                }
                Err(problem) => reason = problem,
            }
        }
        let wanted = it.enough.unwrap_or(words.len());
        if words.len() < wanted.max(1) {
            return Err(if reason.is_empty() {
                "too few series were measured".into()
            } else {
                reason
            });
        }
        Ok((held >= wanted, format!("from {} to {}: {}", it.from, it.to, words.join("; "))))
    }

    fn grows_less(&self, it: &GrowsLess) -> Answer {
        let [series, than] = [&it.series, &it.than]
            .map(|name| self.curve(name).and_then(|curve| Self::quotient(curve, it.from, it.to)));
        let (series, than) = (series?, than?);
        let words = format!("{}: x {series:.2}; {}: x {than:.2}", it.series, it.than);
        Ok((series < than, words))
    }

    fn linear(&self, it: &Linear) -> Answer {
        let wanted = Where { at: &[], from: it.from, to: it.to };
        let mut single = true;
        for curve in self.some(&it.series)? {
            single &= Self::dots(curve, wanted).map_or(0, |dots| dots.len()) < 2;
        }
        if single {
            return Err("measured at one place only".into());
        }
        self.each(&it.series, wanted, |dots| {
            let (first, last) = (dots[0], dots[dots.len() - 1]);
            let efficiency = (last.mid / first.mid) / (last.x / first.x);
            let words = format!("{:.0} % of linear at {}", efficiency * 100.0, last.label);
            (efficiency >= it.efficiency, words)
        })
    }

    /// The place after which a curve grows by less than `share` of the axis' growth, if there is one.
    fn bend(curve: &'a Curve, share: f64) -> Option<&'a Dot> {
        let bends = |pair: &&[Dot]| pair[1].mid / pair[0].mid < share * pair[1].x / pair[0].x;
        curve.dots.windows(2).find(bends).map(|pair| &pair[0])
    }

    fn bends_no_later(&self, it: &BendsNoLater) -> Answer {
        let bend = |name| self.curve(name).map(|curve| Self::bend(curve, it.share));
        let (series, than) = (bend(&it.series)?, bend(&it.than)?);
        let Some(last) = than else {
            return Err(format!("{} does not bend in this range", it.than));
        };
        let words = |dot: Option<&Dot>| dot.map_or("nowhere".into(), |dot| dot.label.clone());
        let held = series.is_some_and(|first| first.x <= last.x);
        Ok((
            held,
            format!("{} bends at {}, {} at {}", it.series, words(series), it.than, last.label),
        ))
    }

    /// The curves of another panel.
    fn panel(&self, id: &str) -> &'a [Curve] {
        self.panels.iter().find(|(name, _)| *name == id).map_or(&[], |(_, curves)| curves)
    }

    fn ranks(&self, it: &Ranks) -> Answer {
        let others = self.panel(&it.panel);
        let both = |curve: &&'a Curve| {
            let other = others.iter().find(|other| other.name == curve.name)?;
            let dots = curve.dots.iter().rev();
            let mut pairs = dots.filter_map(|dot| {
                let theirs = other.dots.iter().find(|other| same(other.x, dot.x))?;
                Some((dot, theirs.mid))
            });
            pairs.next()
        };
        let pairs: Vec<(&Dot, f64)> = self.some(&it.series)?.iter().filter_map(both).collect();
        let last = pairs.iter().map(|(dot, _)| dot.x).fold(0.0, f64::max);
        let pairs: Vec<_> = pairs.into_iter().filter(|(dot, _)| same(dot.x, last)).collect();
        let Some((place, _)) = pairs.first().filter(|_| pairs.len() >= 3) else {
            return Err("fewer than three series have a place in both panels".into());
        };
        let values: Vec<(f64, f64)> = pairs.iter().map(|(dot, other)| (dot.mid, *other)).collect();
        let found = spearman(&values);
        let words = format!("rank correlation {found:.2} of {} at {}", pairs.len(), place.label);
        Ok((found >= it.at_least, words))
    }

    fn as_in_panel(&self, it: &AsInPanel) -> Answer {
        let others = self.panel(&it.panel);
        let mut worst: Option<(f64, &str, &str)> = None;
        for curve in self.some(&it.series)? {
            let Some(other) = others.iter().find(|other| other.name == curve.name) else {
                continue;
            };
            for dot in &curve.dots {
                let Some(there) = other.dots.iter().find(|it| same(it.x, dot.x)) else { continue };
                let apart = dot.mid / there.mid - 1.0;
                if worst.is_none_or(|(most, ..)| apart.abs() > most.abs()) {
                    worst = Some((apart, &curve.name, &dot.label));
                }
            }
        }
        let (apart, name, place) = worst.ok_or("no place was measured in both panels")?;
        let words = format!("most apart: {name} by {:+.0} % at {place}", apart * 100.0);
        Ok((apart.abs() <= it.within, words))
    }

    fn over_panel(&self, it: &OverPanel) -> Answer {
        let others = self.panel(&it.panel);
        let (mut all, mut words) = (true, Vec::new());
        for curve in self.some(&it.series)? {
            let Some(other) = others.iter().find(|other| other.name == curve.name) else {
                continue;
            };
            let rows = Self::rows(&[curve, other], places!(it))?;
            let quotient = |row: &Row<'_>| divided(row.1[0], row.1[1]);
            let (held, text) = by_place(&rows, &curve.name, quotient, |quotient| {
                within(quotient, it.low, it.high)
            });
            all &= held;
            words.push(text);
        }
        if words.is_empty() {
            return Err("no series was measured in both panels".into());
        }
        Ok((all, format!("of panel {}: {}", it.panel, words.join("; "))))
    }

    /// The most of a curve, and where.
    fn most(curve: &Curve) -> Result<&Dot, String> {
        curve.dots.iter().max_by(|a, b| a.mid.total_cmp(&b.mid)).ok_or_else(|| "no point".into())
    }

    fn of_peak(&self, it: &OfPeak) -> Answer {
        let (mut all, mut words) = (true, Vec::new());
        for curve in self.some(&it.series)? {
            let at = Self::dots(curve, Where { at: &[it.at], ..Where::default() })?[0];
            let peak = Self::most(curve)?;
            let share = divided(at.mid, peak.mid);
            all &= within(share, it.low, it.high);
            let (name, percent) = (&curve.name, share * 100.0);
            words.push(format!("{name}: {percent:.1} % of the most, which is at {}", peak.label));
        }
        Ok((all, words.join("; ")))
    }

    fn peaks_rise(&self, it: &PeaksRise) -> Answer {
        let curves = self.some(&it.series)?;
        if curves.len() < 2 {
            return Err("only one of the series was measured".into());
        }
        let peaks = curves.iter().map(|curve| Self::most(curve)).collect::<Result<Vec<_>, _>>()?;
        let held = peaks.windows(2).all(|pair| pair[1].mid > it.factor * pair[0].mid);
        let words = curves
            .iter()
            .zip(&peaks)
            .map(|(curve, peak)| format!("{} {} at {}", curve.name, short(peak.mid), peak.label));
        Ok((held, format!("most: {}", words.collect::<Vec<_>>().join(", "))))
    }

    fn peak(&self, it: &PeaksBetween) -> Answer {
        let dots = &self.curve(&it.series)?.dots;
        let peak = dots.iter().max_by(|a, b| a.mid.total_cmp(&b.mid));
        let (Some(peak), Some(last)) = (peak, dots.last()) else { return Err("no point".into()) };
        if last.x < it.high {
            return Err(format!("measured only to {}", last.label));
        }
        let held =
            within(peak.x, Some(it.low), Some(it.high)) && last.mid <= it.then_below * peak.mid;
        let (most, end) = (short(peak.mid), short(last.mid));
        Ok((held, format!("most is {most} at {}, {end} at {}", peak.label, last.label)))
    }

    fn crossing(&self, it: &CrossesBetween) -> Answer {
        let rows =
            Self::rows(&[self.curve(&it.series)?, self.curve(&it.other)?], Where::default())?;
        let ahead: Vec<bool> = rows.iter().map(|row| row.1[0] > row.1[1]).collect();
        let behind_from = ahead.iter().position(|&ahead| !ahead);
        let last = rows[rows.len() - 1].0;
        match behind_from {
            None => Ok((false, format!("{} is ahead up to {}", it.series, last.label))),
            Some(0) => Ok((false, format!("{} is never ahead at first", it.series))),
            Some(at) => {
                let (before, after) = (rows[at - 1].0, rows[at].0);
                let stays = ahead[at..].iter().all(|&ahead| !ahead);
                let held = stays && before.x <= it.high && after.x >= it.low;
                Ok((held, format!("between {} and {}", before.label, after.label)))
            }
        }
    }

    fn share(&self, name: &str, part: &str) -> Result<f64, String> {
        let found = self.shares.iter().find(|shares| shares.name == name);
        let parts = found.ok_or_else(|| format!("{name} was not measured"))?.parts;
        let share = PARTS.iter().zip(parts).find(|(name, _)| **name == part);
        share.map(|(_, share)| share).ok_or_else(|| format!("no part {part}"))
    }

    /// The share of `part` in those of `names` that were measured: at least one.
    fn each_share<'n>(
        &self,
        names: &'n [String],
        part: &str,
    ) -> Result<Vec<(&'n str, f64)>, String> {
        let share = |name: &'n String| Some((name.as_str(), self.share(name, part).ok()?));
        let found: Vec<_> = names.iter().filter_map(share).collect();
        if found.is_empty() {
            Err(format!("{} was not measured", names.join(", ")))
        } else {
            Ok(found)
        }
    }

    fn largest_share(&self, it: &LargestShare) -> Answer {
        let shares = self.each_share(&it.series, &it.part)?;
        let other = |part: &&&str| **part != it.part && !it.besides.iter().any(|it| it == **part);
        let mut held = true;
        for &(name, share) in &shares {
            for part in PARTS.iter().filter(other) {
                held &= share >= self.share(name, part)?;
            }
        }
        Ok((held, format!("share of {}: {}", it.part, percents(&shares))))
    }

    fn share_above(&self, it: &ShareAbove) -> Answer {
        let own = self.share(&it.series, &it.part)?;
        let others = self.each_share(&it.over, &it.part)?;
        let held = others.iter().all(|&(_, share)| own > share);
        let all = [vec![(it.series.as_str(), own)], others].concat();
        Ok((held, format!("share of {}: {}", it.part, percents(&all))))
    }

    fn share_within(&self, it: &ShareWithin) -> Answer {
        let shares = self.each_share(&it.series, &it.part)?;
        let held = shares.iter().all(|&(_, share)| within(share, it.low, it.high));
        Ok((held, format!("share of {}: {}", it.part, percents(&shares))))
    }
}

/// Judges a number at each place, and all must hold.
fn by_place(
    rows: &[Row<'_>],
    what: &str,
    number: impl Fn(&Row<'_>) -> f64,
    holds: impl Fn(f64) -> bool,
) -> (bool, String) {
    let words = |row: &Row<'_>| match row.0.label.as_str() {
        "" => format!("{:.2}", number(row)),
        label => format!("{:.2} at {label}", number(row)),
    };
    let held = rows.iter().all(|row| holds(number(row)));
    (held, format!("{what}: {}", rows.iter().map(words).collect::<Vec<_>>().join(", ")))
}

/// A quotient; one of two that are equal, zeros too.
fn divided(one: f64, other: f64) -> f64 {
    if one == other { 1.0 } else { one / other }
}

fn within(value: f64, low: Option<f64>, high: Option<f64>) -> bool {
    low.is_none_or(|low| value >= low) && high.is_none_or(|high| value <= high)
}

/// Whether values go the way of `sign`, but for `tolerance`.
fn trend(dots: &[&Dot], sign: f64, tolerance: f64) -> bool {
    let most = range(dots).1.abs();
    let mut best = f64::NEG_INFINITY;
    dots.iter().all(|dot| {
        best = best.max(sign * dot.mid);
        sign * dot.mid >= best - tolerance * most
    })
}

fn range(dots: &[&Dot]) -> (f64, f64) {
    range_of(&dots.iter().map(|dot| dot.mid).collect::<Vec<f64>>())
}

fn range_of(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    (low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

fn from_to(dots: &[&Dot]) -> String {
    dots.iter().map(|dot| short(dot.mid)).collect::<Vec<_>>().join(", ")
}

fn listed(dots: &[&Dot]) -> String {
    let each = dots.iter().map(|dot| match dot.label.as_str() {
        "" => short(dot.mid),
        label => format!("{} at {label}", short(dot.mid)),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// The correlation of the ranks of pairs; equal values share their ranks' mean.
fn spearman(pairs: &[(f64, f64)]) -> f64 {
    let rank = |values: Vec<f64>| -> Vec<f64> {
        let count = |hit: &dyn Fn(f64) -> bool| values.iter().filter(|&&it| hit(it)).count() as f64;
        let of = |&value: &f64| {
            count(&|other| other < value) + (count(&|other| other == value) - 1.0) / 2.0
        };
        values.iter().map(of).collect()
    };
    let (left, right): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (left, right) = (rank(left), rank(right));
    let mean = (pairs.len() as f64 - 1.0) / 2.0;
    let sum = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    sum(&left, &right) / (sum(&left, &left) * sum(&right, &right)).sqrt().max(f64::MIN_POSITIVE)
}

fn percents(shares: &[(&str, f64)]) -> String {
    let each = shares.iter().map(|(name, share)| format!("{name} {:.1} %", share * 100.0));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
