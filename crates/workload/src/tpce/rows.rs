//! The rows that a trade makes: put together here for the load, the procedures and the tasks alike.

use super::schema::{
    cash_transaction, holding, holding_history, settlement, trade, trade_history, trade_request,
};
use super::text;
use super::trading::{TYPES, amount, status, value};

/// A trade as it is asked for, and what it will cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    pub account: u32,
    pub security: u32,
    pub trade_type: u8,
    pub is_cash: bool,
    pub is_lifo: bool,
    pub quantity: u32,
    pub bid: u32,
    pub charge: u32,
    /// The customer who makes it.
    pub executor: u32,
    /// When.
    pub second: u64,
}

impl Order {
    /// Its first state.
    pub fn status(&self) -> u8 {
        first_status(self.trade_type)
    }

    /// The row of TRADE.
    pub fn row(&self) -> [u8; trade::BYTES] {
        let mut row = [0; trade::BYTES];
        trade::T_DTS.set(&mut row, self.second);
        trade::T_ST_ID.set(&mut row, self.status());
        trade::T_TT_ID.set(&mut row, self.trade_type);
        trade::T_IS_CASH.set(&mut row, self.is_cash.into());
        trade::T_LIFO.set(&mut row, self.is_lifo.into());
        trade::T_S_ID.set(&mut row, self.security);
        trade::T_CA_ID.set(&mut row, self.account);
        trade::T_QTY.set(&mut row, self.quantity);
        trade::T_BID_PRICE.set(&mut row, self.bid);
        trade::T_CHRG.set(&mut row, self.charge);
        trade::T_EXEC_NAME.set(&mut row, text::exec_name(self.executor).bytes());
        row
    }

    /// The row of TRADE_REQUEST.
    pub fn request(&self, broker: u32) -> [u8; trade_request::BYTES] {
        let mut row = [0; trade_request::BYTES];
        trade_request::TR_TT_ID.set(&mut row, self.trade_type);
        trade_request::TR_S_ID.set(&mut row, self.security);
        trade_request::TR_QTY.set(&mut row, self.quantity);
        trade_request::TR_BID_PRICE.set(&mut row, self.bid);
        trade_request::TR_B_ID.set(&mut row, broker);
        row
    }
}

/// The first state of a trade of this kind.
pub(super) fn first_status(trade_type: u8) -> u8 {
    let is_market = TYPES.get(usize::from(trade_type)).is_none_or(|it| it.is_market);
    if is_market { status::SUBMITTED } else { status::PENDING }
}

/// A trade that was made at a price.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    pub second: u64,
    pub price: u32,
    pub commission: u32,
    pub tax: u32,
    /// CA_TAX_ST of its account.
    pub tax_status: u8,
}

impl Done {
    /// Notes in the row of TRADE that it is over.
    pub fn complete(&self, row: &mut [u8]) {
        trade::T_DTS.set(row, self.second);
        trade::T_ST_ID.set(row, status::COMPLETED);
        trade::T_TRADE_PRICE.set(row, self.price);
        trade::T_COMM.set(row, self.commission);
        trade::T_TAX.set(row, self.tax);
    }
}

/// What a completed trade brings to its account: SE_AMT.
pub(super) fn brings(row: &[u8], tax_status: u8) -> i64 {
    let kind = TYPES.get(usize::from(trade::T_TT_ID.get(row)));
    let is_sell = kind.is_some_and(|it| it.is_sell);
    let value = value(trade::T_QTY.get(row).into(), trade::T_TRADE_PRICE.get(row));
    let fees = trade::T_CHRG.get(row).wrapping_add(trade::T_COMM.get(row));
    amount(is_sell, value, fees, trade::T_TAX.get(row), tax_status)
}

/// Days until a trade is paid for, in seconds.
const DUE: u64 = 2 * super::trading::DAY;

/// The row of SETTLEMENT of a completed trade.
pub(super) fn settle(row: &[u8], amount: i64) -> [u8; settlement::BYTES] {
    let is_cash = trade::T_IS_CASH.get(row) != 0;
    let mut settled = [0; settlement::BYTES];
    settlement::SE_AMT.set(&mut settled, amount);
    settlement::SE_CASH_DUE_DATE.set(&mut settled, trade::T_DTS.get(row) + DUE);
    settlement::SE_CASH_TYPE.set(&mut settled, text::cash_types(is_cash)[0]);
    settled
}

/// The row of CASH_TRANSACTION of a completed trade.
pub(super) fn pay(row: &[u8], amount: i64) -> [u8; cash_transaction::BYTES] {
    // A reader of a state that never was may find any kind.
    let kind = trade::T_TT_ID.get(row).min(TYPES.len() as u8 - 1);
    let name = text::cash_name(kind, trade::T_QTY.get(row), trade::T_S_ID.get(row));
    let mut paid = [0; cash_transaction::BYTES];
    cash_transaction::CT_AMT.set(&mut paid, amount);
    cash_transaction::CT_DTS.set(&mut paid, trade::T_DTS.get(row));
    cash_transaction::CT_NAME.set(&mut paid, name.bytes());
    paid
}

/// The row of TRADE_HISTORY.
pub(super) fn dated(second: u64) -> [u8; trade_history::BYTES] {
    let mut row = [0; trade_history::BYTES];
    trade_history::TH_DTS.set(&mut row, second);
    row
}

/// The row of HOLDING.
pub(super) fn hold(quantity: i64, price: u32, second: u64) -> [u8; holding::BYTES] {
    let mut row = [0; holding::BYTES];
    holding::H_QTY.set(&mut row, quantity);
    holding::H_PRICE.set(&mut row, price);
    holding::H_DTS.set(&mut row, second);
    row
}

/// The row of HOLDING_HISTORY.
pub(super) fn change(before: i64, after: i64) -> [u8; holding_history::BYTES] {
    let mut row = [0; holding_history::BYTES];
    holding_history::HH_BEFORE_QTY.set(&mut row, before);
    holding_history::HH_AFTER_QTY.set(&mut row, after);
    row
}
