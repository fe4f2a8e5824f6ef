//! A customer, as payment, order-status and delivery treat one: found by last name, paying, getting
//! an order.

use super::random::LastName;
use super::schema::{self, Tables, customer, customer_info};
use crate::workload::present;
use chiliad_api::{Range, Result, Row, Transaction};

/// A customer that a request names.
#[derive(Clone, Copy)]
pub(super) struct Found {
    /// C_ID.
    pub(super) c: u16,
    /// The row of `customer_info`, if finding the customer meant reading it.
    pub(super) info: Option<Row>,
}

/// The customer in the middle, at position ceil(n/2), of those of a district with a last name, by
/// first name (clause 2.5.2.2, case 2).
pub(super) fn by_name<T: Transaction + ?Sized>(
    tables: &Tables,
    tx: &mut T,
    w: u16,
    d: u8,
    last: &LastName,
) -> Result<Found> {
    let bounds = schema::NameBounds::new(w, d, last);
    let range = Range::between(bounds.low(), bounds.high());
    let scanned = tx.scan_index(tables.customer_info, schema::BY_NAME, range)?;
    let entries = tx.entries(scanned)?;
    let middle = entries.len().saturating_sub(1) / 2;
    let row = present(entries.get(middle))?.row;
    Ok(Found { c: customer_info::C_ID.get(tx.bytes(row)?), info: Some(row) })
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
