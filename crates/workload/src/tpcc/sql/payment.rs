//! Payment in SQL.

use super::statements::Statement;
use super::values::{Money, customer};
use crate::sql::connection::{Connection, int};
use crate::tpcc::payment::{NOTE_MAX, Request};
use crate::tpcc::terminal::Terminal;
use crate::workload::present;
use chiliad_api::{Result, Transaction};
use chiliad_sql::{Datum, OwnedDatum};

pub(super) fn run(
    request: &mut Request,
    connection: &Connection,
    terminal: &mut Terminal,
    tx: &mut dyn Transaction,
) -> Result<i64> {
    let amount = Money::cents(request.amount.into());
    let (w, d) = (int(request.w), int(request.d));
    connection.run(tx, Statement::PayWarehouse, &[amount.clone(), w.clone()])?;
    let warehouse =
        present(connection.row(tx, Statement::Warehouse, core::slice::from_ref(&w))?)?;
    connection.run(tx, Statement::PayDistrict, &[amount.clone(), w.clone(), d.clone()])?;
    let district = present(connection.row(tx, Statement::District, &[w, d])?)?;
    let place = (request.c_w, request.c_d);
    let c = customer(place, &request.by, connection, tx)?;
    let place = [int(request.c_w), int(request.c_d), int(c)];
    let payer = present(connection.row(tx, Statement::Payer, &place)?)?;
    let [c_w, c_d, c_id] = place;
    let mut paid = vec![amount.clone(), c_w, c_d, c_id];
    let has_bad_credit = matches!(&payer[9], Datum::Text(credit) if credit == "BC");
    if has_bad_credit {
        let mut note = [0; NOTE_MAX];
        let length = request.note(c as u16, &mut note);
        let note = String::from_utf8_lossy(&note[..length]).into_owned();
        paid.extend([Datum::text(note), int(request.data_max as i64)]);
        connection.run(tx, Statement::PayNoted, &paid)?;
    } else {
        connection.run(tx, Statement::Pay, &paid)?;
    }
    let names = [&warehouse[0], &district[0]].map(letters);
    note(request, (c, names.join("    ")), connection, terminal, tx)?;
    let (discount, balance) = (Money::units(&payer[11], 4), Money::to_cents(&payer[12]));
    Ok(discount ^ (balance - i64::from(request.amount)))
}

fn letters(datum: &OwnedDatum) -> String {
    match datum {
        Datum::Text(text) => text.clone().into_owned(),
        _ => String::new(),
    }
}

/// Writes the row of HISTORY.
fn note(
    request: &mut Request,
    (c, data): (i64, String),
    connection: &Connection,
    terminal: &mut Terminal,
    tx: &mut dyn Transaction,
) -> Result<()> {
    let Request { w, d, c_w, c_d, amount, .. } = *request;
    let amount = Money::cents(amount.into());
    let mut row = [int(terminal.number), int(0), int(c), int(c_d), int(c_w), int(d), int(w)]
        .into_iter()
        .chain([amount, Datum::text(data)])
        .collect::<Vec<_>>();
    loop {
        row[1] = int(request.sequence);
        if connection.run(tx, Statement::History, &row)? > 0 {
            return Ok(());
        }
        // An earlier run on the same database used this client's numbers: go on after the last.
        let last = connection.numbers(tx, Statement::LastNumber, &row[..1])?;
        request.sequence = last.map_or(0, |[last]| u32::try_from(last + 1).unwrap_or(0));
        terminal.history = request.sequence + 1;
    }
}
