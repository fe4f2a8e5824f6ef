//! Order-status in SQL.

use super::statements::Statement;
use super::values::{Money, customer, customer_number};
use crate::sql::connection::{Connection, int, number};
use crate::tpcc::order_status::Request;
use crate::workload::present;
use chiliad_api::{Result, Transaction};
use chiliad_sql::Datum;

pub(super) fn run(
    request: &Request,
    connection: &Connection,
    tx: &mut dyn Transaction,
) -> Result<i64> {
    let Request { w, d, .. } = *request;
    let c = customer((w, d), &request.by, connection, tx)?;
    let place = [int(w), int(d), int(c)];
    let customer = present(connection.row(tx, Statement::Customer, &place)?)?;
    let mut shown = Money::to_cents(&customer[0]);
    // Every customer has an order from the start (clause 4.3.3.1).
    let last = [int(customer_number(w, d, c as u16))];
    let order = present(connection.row(tx, Statement::LastOrder, &last)?)?;
    let place = [int(w), int(d), order[0].clone()];
    connection.each(tx, Statement::OrderLines, &place, &mut |row| {
        if let [item, supplier, quantity, amount, delivered] = row {
            let delivered = match delivered {
                Datum::Timestamp(time) => *time,
                _ => 0,
            };
            let numbers = number(item) ^ number(supplier) << 20 ^ number(quantity) << 40;
            shown = shown.wrapping_mul(31) ^ numbers ^ Money::to_cents(amount) ^ delivered;
        }
    })?;
    Ok(shown)
}
