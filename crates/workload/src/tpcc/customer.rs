//! A customer, as payment, order-status and delivery treat one: found by last name, paying, getting
//! an order.

use super::random::LastName;
use super::schema::{self, Tables, customer};
use super::terminal::By;
use crate::workload::present;
use chiliad_api::{Range, Result, Transaction};
use core::ops::ControlFlow;

/// The number of the customer of a district whom a request names; `namesakes` is scratch.
pub(super) fn number<T: Transaction + ?Sized>(
    tables: &Tables,
    tx: &mut T,
    district: (u16, u8),
    by: &By,
    namesakes: &mut Vec<u16>,
) -> Result<u16> {
    match by {
        By::Number(c) => Ok(*c),
        By::Name(last) => by_name(tables, tx, district, last, namesakes),
    }
}

/// The number of the customer in the middle, at position ceil(n/2), of those of a district with a last name, by first name
/// (clause 2.5.2.2, case 2), as the index has them.
fn by_name<T: Transaction + ?Sized>(
    tables: &Tables,
    tx: &mut T,
    (w, d): (u16, u8),
    last: &LastName,
    namesakes: &mut Vec<u16>,
) -> Result<u16> {
    let bounds = schema::NameBounds::new(w, d, last);
    let range = Range::between(bounds.low(), bounds.high());
    namesakes.clear();
    tx.visit_index_keys(tables.customer_info, schema::BY_NAME, range, &mut |_, key| {
        namesakes.push(schema::key::number_of_customer(key));
        ControlFlow::Continue(())
    })?;
    let middle = namesakes.len().saturating_sub(1) / 2;
    present(namesakes.get(middle).copied())
}

/// The customer pays `amount`. Returns the new balance.
#[inline]
pub(super) fn pay(row: &mut [u8], amount: u32) -> i64 {
    let balance = customer::C_BALANCE.get(row) - i64::from(amount);
    customer::C_BALANCE.set(row, balance);
    customer::C_YTD_PAYMENT.set(row, customer::C_YTD_PAYMENT.get(row) + u64::from(amount));
    customer::C_PAYMENT_CNT.set(row, customer::C_PAYMENT_CNT.get(row) + 1);
    balance
}

/// The customer gets an order of `amount`.
#[inline]
pub(super) fn deliver(row: &mut [u8], amount: i64) {
    customer::C_BALANCE.set(row, customer::C_BALANCE.get(row) + amount);
    customer::C_DELIVERY_CNT.set(row, customer::C_DELIVERY_CNT.get(row) + 1);
}
