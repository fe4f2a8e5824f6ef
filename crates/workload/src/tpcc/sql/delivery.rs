//! Delivery in SQL: the oldest new order of each district is found, and one statement each takes all of them out of the queue,
//! gives them a carrier and finds their customers.

use super::statements::{List, Statement};
use super::values::Money;
use crate::sql::connection::{Connection, int, numbers};
use crate::tpcc::delivery::Request;
use crate::workload::present;
use chiliad_api::{Result, Transaction};
use chiliad_sql::OwnedDatum;

pub(super) fn run(
    request: &mut Request,
    connection: &Connection,
    tx: &mut dyn Transaction,
) -> Result<i64> {
    let w = int(request.w);
    let mut orders = Vec::new();
    for d in 1..=request.districts {
        let district = [w.clone(), int(d)];
        if let Some([o]) = connection.numbers(tx, Statement::Oldest, &district)? {
            orders.push((i64::from(d), o));
        }
    }
    request.went_out(orders.iter().map(|&(d, o)| (d as u8, o as u32)));
    if orders.is_empty() {
        return Ok(0);
    }
    let list = |first: &[OwnedDatum]| -> Vec<OwnedDatum> {
        let places = orders.iter().flat_map(|(d, o)| [int(*d), int(*o)]);
        first.iter().cloned().chain(places).collect()
    };
    let of_warehouse = list(core::slice::from_ref(&w));
    connection.run(tx, List::Remove.of(orders.len()), &of_warehouse)?;
    let carried = list(&[w.clone(), int(request.carrier)]);
    connection.run(tx, List::Carry.of(orders.len()), &carried)?;
    let mut buyers = Vec::new();
    connection.each(tx, List::Buyers.of(orders.len()), &of_warehouse, &mut |row| {
        buyers.push(numbers::<2>(row));
    })?;
    for (d, o) in &orders {
        let place = [w.clone(), int(*d), int(*o)];
        connection.run(tx, Statement::Deliver, &place)?;
        let total = present(connection.row(tx, Statement::Total, &place)?)?;
        let total = Money::cents(total.first().map_or(0, Money::to_cents));
        let [_, c] = present(buyers.iter().find(|[of, _]| of == d))?;
        connection.run(tx, Statement::Deliveree, &[total, w.clone(), int(*d), int(*c)])?;
    }
    Ok(orders.len() as i64)
}
