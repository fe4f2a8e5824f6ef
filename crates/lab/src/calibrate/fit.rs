//! From counts to prices: least squares without negative prices, room by room.
//!
//! For each room each case says: so many instructions are, for each of the room's sites, so many units of
//! its share of the price. There are more cases than sites. Errors count relative to the case, so that
//! long transactions weigh no more than short ones. Where two sites come in much the same proportion in
//! all cases, a small weight on each price shares between them what no case can tell apart. A site's price
//! is what it costs in all rooms together.

use super::rooms::{Room, Spent};
use chiliad_machine::Cost;

/// A case: all numbers are per transaction.
#[derive(Clone, Debug)]
pub struct Row {
    /// The workload and its flags.
    pub case: String,
    /// Instructions, counted natively.
    pub spent: Spent,
    /// Shared accesses in simulation.
    pub accesses: f64,
    /// Units of work in simulation, by site.
    pub units: [f64; Cost::COUNT],
}

/// The least that a unit of work costs: it is something.
const LEAST: f64 = 0.5;
/// The weight on prices, against that on errors.
const RIDGE: f64 = 1e-3;
/// Rounds: each visits every site once. The sum of squares is convex, and a round takes microseconds.
const ROUNDS: usize = 5_000;

impl Row {
    /// The case's cost at `prices`.
    pub fn fitted(&self, prices: &[f64; Cost::COUNT]) -> f64 {
        let work = self.units.iter().zip(prices).map(|(units, price)| units * price);
        self.accesses + work.sum::<f64>()
    }

    /// How far that is from what was counted, in relation to it.
    pub fn residual(&self, prices: &[f64; Cost::COUNT]) -> f64 {
        self.fitted(prices) / self.spent.all - 1.0
    }
}

/// The prices, in instructions, that suit `rows` best, whose instructions were spent in `rooms`.
pub fn solve(rows: &[Row], rooms: &[Room]) -> [f64; Cost::COUNT] {
    let mut prices = [0.0; Cost::COUNT];
    for (number, room) in rooms.iter().enumerate() {
        for (site, price) in room.sites.iter().zip(solve_room(rows, number, room)) {
            prices[site.index()] += price;
        }
    }
    prices.map(|price| price.max(LEAST))
}

/// The cost of a step of each of the room's sites.
fn solve_room(rows: &[Row], number: usize, room: &Room) -> Vec<f64> {
    let share = |row: &Row, site: Cost| row.units[site.index()] / row.spent.all;
    // A site's price times its scale is its typical share of a case.
    let scale = |&site: &Cost| {
        let squares: f64 = rows.iter().map(|row| share(row, site).powi(2)).sum();
        (squares / rows.len().max(1) as f64).sqrt()
    };
    let scales: Vec<f64> = room.sites.iter().map(scale).collect();
    let mut prices = vec![0.0f64; room.sites.len()];
    let mut errors: Vec<f64> =
        rows.iter().map(|row| -row.spent.rooms[number] / row.spent.all).collect();
    let weight = RIDGE * rows.len() as f64;
    for _ in 0..ROUNDS {
        for ((&site, price), scale) in room.sites.iter().zip(&mut prices).zip(&scales) {
            if *scale == 0.0 {
                continue;
            }
            let slope: f64 =
                rows.iter().zip(&errors).map(|(row, error)| error * share(row, site)).sum();
            let pull = weight * scale * scale;
            let curve = scale * scale * rows.len() as f64 + pull;
            let step = (*price - (slope + pull * *price) / curve).max(0.0) - *price;
            *price += step;
            for (row, error) in rows.iter().zip(&mut errors) {
                *error += step * share(row, site);
            }
        }
    }
    prices
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::rooms;

    /// Cases made up of known prices by room, each leaning on other sites.
    fn made_up(price: impl Fn(usize, Cost) -> f64, count: usize) -> Vec<Row> {
        let mut random = chiliad_workload::random::Random::new(1, 0);
        let row = |case: usize| {
            let units: [f64; Cost::COUNT] =
                core::array::from_fn(|_| 20.0 * random.unit() * random.unit());
            let accesses = 500.0 * random.unit();
            let in_room = |room: usize| -> f64 {
                let sites = rooms::ALL[room].sites.iter();
                sites.map(|&site| price(room, site) * units[site.index()]).sum()
            };
            let rooms: Vec<f64> = (0..rooms::ALL.len()).map(in_room).collect();
            let all = accesses + rooms.iter().sum::<f64>();
            Row { case: format!("{case}"), spent: Spent { all, accesses, rooms }, accesses, units }
        };
        (0..count).map(row).collect()
    }

    #[test]
    fn prices_come_back_from_cases_made_of_them() {
        let price = |room: usize, site: Cost| 5.0 + 7.0 * site.index() as f64 + room as f64;
        let rows = made_up(price, 80);
        let found = solve(&rows, &rooms::ALL);
        for site in Cost::ALL {
            let rooms =
                (0..rooms::ALL.len()).filter(|&room| rooms::ALL[room].sites.contains(&site));
            let price: f64 = rooms.map(|room| price(room, site)).sum();
            let error = (found[site.index()] - price).abs() / price;
            assert!(error < 0.05, "{}: {} is not {price}", site.name(), found[site.index()]);
        }
        assert!(rows.iter().all(|row| row.residual(&found).abs() < 0.02));
    }

    #[test]
    fn no_price_is_below_the_floor() {
        let rows = made_up(|_, site| if site == Cost::Copy { 0.0 } else { 30.0 }, 80);
        assert_eq!(solve(&rows, &rooms::ALL)[Cost::Copy.index()], LEAST);
    }
}
