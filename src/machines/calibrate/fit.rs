//! From counts to prices: least squares with no price below a floor.
//!
//! Each case says that its instructions are its shared accesses, one instruction each, and for each site
//! so many units of its price. There are more cases than sites. Errors count relative to the case, so that
//! long transactions weigh no more than short ones. Where two sites come in the same proportion in all
//! cases, a small weight on each price shares between them what no case can tell apart.

use chiliad_machine::Cost;

/// A case: all numbers are per transaction.
#[derive(Clone, Debug)]
pub struct Row {
    /// The workload and its flags.
    pub case: String,
    /// Counted natively.
    pub instructions: f64,
    /// Shared accesses in simulation.
    pub accesses: f64,
    /// Units of work in simulation, by site.
    pub units: [f64; Cost::COUNT],
}

/// The least that a unit of work costs: it is something.
const LEAST: f64 = 0.5;
/// The weight on prices, against that on errors.
const RIDGE: f64 = 1e-5;
/// Rounds: each visits every site once. The sum of squares is convex, and a round takes microseconds.
const ROUNDS: usize = 20_000;

/// Sites that one client alone never visits, and whose price they are given.
const STAND_INS: [(Cost, Cost); 1] = [(Cost::Queue, Cost::Validate)];

impl Row {
    /// What `prices` make of the case.
    pub fn fitted(&self, prices: &[f64; Cost::COUNT]) -> f64 {
        let work = self.units.iter().zip(prices).map(|(units, price)| units * price);
        self.accesses + work.sum::<f64>()
    }

    /// How far that is from what was counted, in relation to it.
    pub fn residual(&self, prices: &[f64; Cost::COUNT]) -> f64 {
        self.fitted(prices) / self.instructions - 1.0
    }
}

/// The prices, in instructions, that suit `rows` best.
pub fn solve(rows: &[Row]) -> [f64; Cost::COUNT] {
    let share = |row: &Row, site: usize| row.units[site] / row.instructions;
    // A site's price times its scale is its typical share of a case.
    let scales: [f64; Cost::COUNT] = core::array::from_fn(|site| {
        let squares: f64 = rows.iter().map(|row| share(row, site).powi(2)).sum();
        (squares / rows.len().max(1) as f64).sqrt()
    });
    let mut prices = [LEAST; Cost::COUNT];
    let mut errors: Vec<f64> = rows.iter().map(|row| row.residual(&prices)).collect();
    let weight = RIDGE * rows.len() as f64;
    for _ in 0..ROUNDS {
        for (site, scale) in scales.iter().enumerate().filter(|it| *it.1 > 0.0) {
            let slope: f64 =
                rows.iter().zip(&errors).map(|(row, error)| error * share(row, site)).sum();
            let pull = weight * scale * scale;
            let curve = scale * scale * rows.len() as f64 + pull;
            let price = (prices[site] - (slope + pull * prices[site]) / curve).max(LEAST);
            let step = price - prices[site];
            prices[site] = price;
            for (row, error) in rows.iter().zip(&mut errors) {
                *error += step * share(row, site);
            }
        }
    }
    for (site, like) in STAND_INS {
        if scales[site.index()] == 0.0 {
            prices[site.index()] = prices[like.index()];
        }
    }
    prices
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases made up of known prices, each leaning on other sites.
    fn made_up(prices: &[f64; Cost::COUNT], count: usize) -> Vec<Row> {
        let mut state = 1u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f64 / f64::from(1 << 24)
        };
        let row = |case| {
            let units = core::array::from_fn(|_| 20.0 * draw() * draw());
            let row =
                Row { case: format!("{case}"), instructions: 1.0, accesses: 500.0 * draw(), units };
            Row { instructions: row.fitted(prices), ..row }
        };
        (0..count).map(row).collect()
    }

    #[test]
    fn prices_come_back_from_cases_made_of_them() {
        let prices = core::array::from_fn(|site| 5.0 + 7.0 * site as f64);
        let found = solve(&made_up(&prices, 60));
        for (site, (found, price)) in found.iter().zip(&prices).enumerate() {
            let error = (found - price).abs() / price;
            assert!(error < 0.05, "{}: {found} is not {price}", Cost::ALL[site].name());
        }
    }

    #[test]
    fn no_price_is_below_the_floor_and_who_is_never_met_stands_like_another() {
        let mut prices = [30.0; Cost::COUNT];
        prices[Cost::Copy.index()] = 0.0;
        let mut rows = made_up(&prices, 60);
        for row in &mut rows {
            row.units[Cost::Queue.index()] = 0.0;
            row.instructions = row.fitted(&prices);
        }
        let found = solve(&rows);
        assert_eq!(found[Cost::Copy.index()], LEAST);
        assert_eq!(found[Cost::Queue.index()], found[Cost::Validate.index()]);
        assert!(rows.iter().all(|row| row.residual(&found).abs() < 0.02));
    }
}
