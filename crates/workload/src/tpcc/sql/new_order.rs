//! New-order in SQL.

use super::statements::{List, Statement};
use super::values::{Money, customer_number};
use crate::sql::connection::{Connection, int, number};
use crate::tpcc::new_order::Request;
use crate::tpcc::random::has_original;
use crate::workload::present;
use chiliad_api::{Error, Result, Transaction};
use chiliad_sql::{Datum, OwnedDatum};

/// An item, as the order sees it.
struct Item {
    price: i64,
    is_original: bool,
}

/// A stock, as the order sees it.
struct Stock {
    is_original: bool,
    text: OwnedDatum,
}

pub(super) fn run(
    request: &Request,
    connection: &Connection,
    tx: &mut dyn Transaction,
) -> Result<i64> {
    let (w, d, c) = (int(request.w), int(request.d), int(request.c));
    let place = [w, d, c];
    let terms = present(connection.row(tx, Statement::Terms, &place)?)?;
    let district = present(connection.row(tx, Statement::Next, &place[..2])?)?;
    let o = number(&district[0]);
    connection.run(tx, Statement::Take, &place[..2])?;
    insert_order(request, o, connection, tx)?;
    let Some(items) = items(request, connection, tx)? else { return Err(Error::RolledBack) };
    let (mut sum, mut brands) = (0, 0);
    let stocks = stocks(request, connection, tx)?;
    let mut rows = vec![int(request.w), int(request.d), int(o)];
    for (at, (line, item)) in (1..).zip(request.lines().iter().zip(&items)) {
        let stock = present(stocks.iter().find(|(of, _)| *of == (line.supplier, line.item)))?;
        let is_remote = i64::from(line.supplier != request.w);
        let supply = [int(line.quantity), int(is_remote), int(line.supplier), int(line.item)];
        connection.run(tx, Statement::Supply, &supply)?;
        let amount = item.price * i64::from(line.quantity);
        rows.extend([int(at), int(line.item), int(line.supplier), int(line.quantity)]);
        rows.extend([Money::cents(amount), stock.1.text.clone()]);
        sum += amount;
        brands = brands << 1 | i64::from(item.is_original && stock.1.is_original);
    }
    connection.run(tx, List::Lines.of(items.len()), &rows)?;
    let rate = |datum: &Datum<'_>| Money::units(datum, 4);
    let discounted = sum * (10_000 - rate(&terms[0]));
    let total = discounted * (10_000 + rate(&terms[3]) + rate(&district[1])) / 100_000_000;
    Ok(total ^ brands << 32)
}

fn insert_order(
    request: &Request,
    o: i64,
    connection: &Connection,
    tx: &mut dyn Transaction,
) -> Result<()> {
    let Request { w, d, c, .. } = *request;
    let customer = customer_number(w, d, c);
    let (lines, all_local) = (request.lines().len() as i64, i64::from(request.all_local));
    let order = [int(w), int(d), int(o), int(c), int(lines), int(all_local), int(customer)];
    connection.run(tx, Statement::Order, &order)?;
    connection.run(tx, Statement::NewOrder, &order[..3]).map(|_| ())
}

/// The item of each line; `None`: one of them is not in use, and the order is not to be (clause 2.4.2.3).
fn items(
    request: &Request,
    connection: &Connection,
    tx: &mut dyn Transaction,
) -> Result<Option<Vec<Item>>> {
    let lines = request.lines();
    let wanted: Vec<Datum<'_>> = lines.iter().map(|line| int(line.item)).collect();
    let mut found = Vec::new();
    connection.each(tx, List::Items.of(lines.len()), &wanted, &mut |row| {
        if let [i, price, _name, Datum::Text(data)] = row {
            let is_original = has_original(data.as_bytes());
            found.push((number(i), Item { price: Money::to_cents(price), is_original }));
        }
    })?;
    let of_line = |item: u32| {
        let (_, item) = found.iter().find(|(i, _)| *i == i64::from(item))?;
        Some(Item { ..*item })
    };
    Ok(lines.iter().map(|line| of_line(line.item)).collect())
}

/// The stocks that the lines come from.
fn stocks(
    request: &Request,
    connection: &Connection,
    tx: &mut dyn Transaction,
) -> Result<Vec<((u16, u32), Stock)>> {
    let lines = request.lines();
    let mut wanted = vec![int(request.d)];
    wanted.extend(lines.iter().flat_map(|line| [int(line.supplier), int(line.item)]));
    let mut found = Vec::new();
    connection.each(tx, List::Stocks.of(lines.len()), &wanted, &mut |row| {
        if let [w, i, Datum::Text(data), text] = row {
            let is_original = has_original(data.as_bytes());
            let stock = Stock { is_original, text: text.borrowed().into_owned() };
            found.push(((number(w) as u16, number(i) as u32), stock));
        }
    })?;
    Ok(found)
}
