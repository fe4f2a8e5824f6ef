//! Stock-level in SQL: one query joins the lines of the last orders with their stocks.

use super::statements::Statement;
use crate::sql::connection::{Connection, int};
use crate::tpcc::stock_level::Request;
use crate::workload::present;
use chiliad_api::{Result, Transaction};

pub(super) fn run(
    request: &Request,
    connection: &Connection,
    tx: &mut dyn Transaction,
) -> Result<i64> {
    let (w, d) = (int(request.w), int(request.d));
    let district = [w.clone(), d.clone()];
    let [next] = present(connection.numbers(tx, Statement::NextRead, &district)?)?;
    let few = [w, d, int(next), int(request.threshold)];
    let [low] = present(connection.numbers(tx, Statement::Low, &few)?)?;
    Ok(low)
}
