//! Values of TPC-C in SQL: customers and their numbers, amounts and rates.

use super::statements::Statement;
use crate::sql::connection::{Connection, int, number};
use crate::tpcc::terminal::By;
use crate::workload::present;
use chiliad_api::{Result, Transaction};
use chiliad_sql::{Datum, Numeric};

/// The number of a customer: given, or that of the one in the middle of those with a last name, by first name (clause
/// 2.5.2.2, case 2).
pub(super) fn customer(
    (w, d): (u16, u8),
    by: &By,
    connection: &Connection,
    tx: &mut dyn Transaction,
) -> Result<i64> {
    let last = match by {
        By::Number(c) => return Ok((*c).into()),
        By::Name(last) => last,
    };
    let mut found = Vec::new();
    let name = Datum::Text(String::from_utf8_lossy(last.as_bytes()));
    connection.each(tx, Statement::ByName, &[int(district_number(w, d)), name], &mut |row| {
        found.extend(row.first().map(number));
    })?;
    let middle = found.len().saturating_sub(1) / 2;
    present(found.get(middle).copied())
}

/// A warehouse and a district as one number.
pub(super) fn district_number(w: u16, d: u8) -> i64 {
    i64::from(w) * 100 + i64::from(d)
}

/// A warehouse, a district and a customer as one number.
pub(super) fn customer_number(w: u16, d: u8, c: u16) -> i64 {
    district_number(w, d) * 100_000 + i64::from(c)
}

/// Amounts and rates as values of SQL.
pub(super) struct Money;

impl Money {
    /// An amount.
    pub fn cents(cents: i64) -> Datum<'static> {
        Datum::Numeric(Numeric { mantissa: cents.into(), scale: 2 })
    }

    /// A tax or discount, in hundredths of a percent.
    pub fn rate(hundredths: u16) -> Datum<'static> {
        Datum::Numeric(Numeric { mantissa: hundredths.into(), scale: 4 })
    }

    /// The number of units of `10^-scale` in a value; what is no number counts as zero.
    pub fn units(datum: &Datum<'_>, scale: u8) -> i64 {
        match datum {
            Datum::Numeric(number) => number
                .rounded(scale)
                .map_or(0, |number| i64::try_from(number.mantissa).unwrap_or(0)),
            other => number(other),
        }
    }

    /// An amount in cents.
    pub fn to_cents(datum: &Datum<'_>) -> i64 {
        Self::units(datum, 2)
    }
}
