//! Customer-position: what a customer has, account by account, and of one account the last trades.

use super::list::List;
use super::rules::{ACCOUNTS_MAX, BASKET_MAX, Rules, SHOWN_MAX};
use super::schema::{
    BY_TAX, Tables, customer, customer_account, holding_summary, key, last_trade, trade,
    trade_history,
};
use super::text;
use super::trading::{fold, status, value};
use crate::workload::present;
use chiliad_api::{Get, Range, Result, Transaction};

/// Positions of an account that are read.
pub(super) const POSITIONS_MAX: usize = BASKET_MAX as usize;

/// A request for the position of a customer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Request {
    pub customer: u32,
    /// Asked for by tax number.
    pub by_tax: bool,
    /// The account whose last trades are shown, too.
    pub history: Option<u32>,
}

impl Request {
    pub fn run<T: Transaction + ?Sized>(
        &self,
        rules: &Rules,
        tables: &Tables,
        tx: &mut T,
    ) -> Result<u64> {
        let row = if self.by_tax {
            let tax_id = text::tax_id(self.customer);
            let found = tx.scan_index(tables.customer, BY_TAX, Range::closed(&tax_id, &tax_id))?;
            present(tx.entries(found)?.first())?.row
        } else {
            present(tx.get(tables.customer, &key::one(self.customer))?)?
        };
        let row = tx.bytes(row)?;
        let mut shown = shown_customer(row);
        let customer = customer::C_ID.get(row);
        let [low, high] = accounts_of(customer);
        let scanned = tx.scan(tables.customer_account, Range::closed(&low, &high))?;
        let mut accounts = List::<(u32, i64), { ACCOUNTS_MAX as usize }>::new();
        for &entry in tx.entries(scanned)? {
            let balance = customer_account::CA_BAL.get(tx.bytes(entry.row)?);
            accounts.push((key::primary(tx.key(entry)?), balance));
        }
        for &(account, balance) in accounts.as_slice() {
            let assets = assets(tables, tx, account)?;
            shown = shown.wrapping_add(shown_account(account, balance, assets));
        }
        if let Some(account) = self.history {
            shown = shown.wrapping_add(history(rules, tables, tx, account)?);
        }
        Ok(shown)
    }
}

/// The bounds of a customer's accounts.
pub(super) fn accounts_of(customer: u32) -> [[u8; 4]; 2] {
    let first = customer.wrapping_mul(ACCOUNTS_MAX);
    [key::one(first), key::one(first.wrapping_add(ACCOUNTS_MAX - 1))]
}

/// What all securities of an account are worth.
pub(super) fn assets<T: Transaction + ?Sized>(
    tables: &Tables,
    tx: &mut T,
    account: u32,
) -> Result<i64> {
    let (low, high) = (key::two(account, 0), key::two(account, u32::MAX));
    let scanned = tx.scan(tables.holding_summary, Range::closed(&low, &high))?;
    let mut positions = List::<([u8; 4], i64), POSITIONS_MAX>::new();
    for &entry in tx.entries(scanned)? {
        let security = key::one(key::second(tx.key(entry)?));
        positions.push((security, holding_summary::HS_QTY.get(tx.bytes(entry.row)?)));
    }
    let positions = positions.as_slice();
    let mut gets = [Get::read(tables.last_trade, &[]); POSITIONS_MAX];
    for (get, (security, _)) in gets.iter_mut().zip(positions) {
        *get = Get::read(tables.last_trade, security);
    }
    let mut rows = [None; POSITIONS_MAX];
    let rows = &mut rows[..positions.len()];
    tx.get_many(&gets[..positions.len()], rows)?;
    let mut sum = 0_i64;
    for (row, (_, quantity)) in rows.iter().zip(positions) {
        let price = last_trade::LT_PRICE.get(tx.bytes(present(*row)?)?);
        sum = sum.wrapping_add(value(*quantity, price));
    }
    Ok(sum)
}

/// The last trades of an account, with the dates of their states.
fn history<T: Transaction + ?Sized>(
    rules: &Rules,
    tables: &Tables,
    tx: &mut T,
    account: u32,
) -> Result<u64> {
    let mut shown = 0_u64;
    for &number in last_trades(tables, tx, account, rules.sizes.history)?.as_slice() {
        let row = present(tx.get(tables.trade, &key::trade(number))?)?;
        shown = shown.wrapping_add(shown_trade(tx.bytes(row)?));
        let (low, high) = (key::state(number, 0), key::state(number, status::COMPLETED));
        let states = tx.scan(tables.trade_history, Range::closed(&low, &high))?;
        for entry in tx.entries(states)? {
            shown = shown.wrapping_add(shown_state(tx.bytes(entry.row)?));
        }
    }
    Ok(shown)
}

/// The bounds of an account's trades.
pub(super) fn last_trade_keys(account: u32) -> [[u8; 12]; 2] {
    [0, u64::MAX].map(|trade| key::trade_by(account, trade))
}

/// The last trades of an account, newest first.
pub(super) fn last_trades<T: Transaction + ?Sized>(
    tables: &Tables,
    tx: &mut T,
    account: u32,
    count: usize,
) -> Result<List<u64, SHOWN_MAX>> {
    let [low, high] = last_trade_keys(account);
    let range = Range::closed(&low, &high).reverse().limit(count);
    let scanned = tx.scan(tables.trade_account, range)?;
    let mut trades = List::new();
    for &entry in tx.entries(scanned)? {
        trades.push(key::last_trade(tx.key(entry)?));
    }
    Ok(trades)
}

pub(super) fn shown_customer(row: &[u8]) -> u64 {
    let names = customer::C_F_NAME.get(row).len() + customer::C_L_NAME.get(row).len();
    fold(&[customer::C_TIER.get(row).into(), names as u64, customer::C_DOB.get(row)])
}

pub(super) fn shown_account(account: u32, balance: i64, assets: i64) -> u64 {
    fold(&[account.into(), balance as u64, assets as u64])
}

pub(super) fn shown_trade(row: &[u8]) -> u64 {
    let [security, quantity] = [trade::T_S_ID.get(row), trade::T_QTY.get(row)];
    fold(&[security.into(), quantity.into(), trade::T_ST_ID.get(row).into()])
}

pub(super) fn shown_state(row: &[u8]) -> u64 {
    fold(&[trade_history::TH_DTS.get(row)])
}
