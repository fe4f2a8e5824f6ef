//! Trade-status: the last trades of an account, with what one says of them.

use super::customer_position::last_trades;
use super::rules::Rules;
use super::schema::{
    Tables, broker, customer, customer_account, exchange, key, security, status_type, trade,
    trade_type,
};
use super::trading::fold;
use crate::workload::present;
use chiliad_api::{Get, Result, Row, Transaction};

/// The account asked about.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Request {
    pub account: u32,
}

/// Trades whose rows are looked up together.
const GROUP: usize = 10;

impl Request {
    pub fn run<T: Transaction + ?Sized>(
        &self,
        rules: &Rules,
        tables: &Tables,
        tx: &mut T,
    ) -> Result<u64> {
        let row = present(tx.get(tables.customer_account, &key::one(self.account))?)?;
        let row = tx.bytes(row)?;
        let customer = key::one(customer_account::CA_C_ID.get(row));
        let broker = key::one(customer_account::CA_B_ID.get(row));
        let gets = [Get::read(tables.customer, &customer), Get::read(tables.broker, &broker)];
        let mut rows = [None; 2];
        tx.get_many(&gets, &mut rows)?;
        let [customer, broker] = [present(rows[0])?, present(rows[1])?];
        let mut shown = shown_owner(tx.bytes(customer)?, tx.bytes(broker)?);
        let trades = last_trades(tables, tx, self.account, rules.sizes.shown)?;
        for group in trades.as_slice().chunks(GROUP) {
            shown = shown.wrapping_add(show(tables, tx, group)?);
        }
        Ok(shown)
    }
}

/// Shows some trades.
fn show<T: Transaction + ?Sized>(tables: &Tables, tx: &mut T, trades: &[u64]) -> Result<u64> {
    let keys: [[u8; 8]; GROUP] =
        core::array::from_fn(|at| key::trade(trades.get(at).copied().unwrap_or(0)));
    let gets = keys.each_ref().map(|key| Get::read(tables.trade, key));
    let mut rows = [None; GROUP];
    tx.get_many(&gets[..trades.len()], &mut rows[..trades.len()])?;

    let mut securities = [[0; 4]; GROUP];
    let mut kinds = [[0; 2]; GROUP];
    for at in 0..trades.len() {
        let row = tx.bytes(present(rows[at])?)?;
        securities[at] = key::one(trade::T_S_ID.get(row));
        kinds[at] = [trade::T_ST_ID.get(row), trade::T_TT_ID.get(row)];
    }
    let mut gets = [Get::read(tables.security, &[]); 3 * GROUP];
    for (gets, (security, kinds)) in gets.chunks_exact_mut(3).zip(securities.iter().zip(&kinds)) {
        gets[0] = Get::read(tables.security, security);
        gets[1] = Get::read(tables.status_type, &kinds[..1]);
        gets[2] = Get::read(tables.trade_type, &kinds[1..]);
    }
    let (mut others, count) = ([None; 3 * GROUP], 3 * trades.len());
    tx.get_many(&gets[..count], &mut others[..count])?;

    let mut exchanges = [[0; 1]; GROUP];
    for (exchange, rows) in exchanges.iter_mut().zip(others[..count].chunks_exact(3)) {
        *exchange = [security::S_EX_ID.get(tx.bytes(present(rows[0])?)?)];
    }
    let gets = exchanges.each_ref().map(|key| Get::read(tables.exchange, key));
    let mut halls: [Option<Row>; GROUP] = [None; GROUP];
    tx.get_many(&gets[..trades.len()], &mut halls[..trades.len()])?;

    let mut shown = 0_u64;
    for at in 0..trades.len() {
        let [security, status, kind] = [0, 1, 2].map(|which| others[3 * at + which]);
        shown = shown.wrapping_add(shown_trade([
            tx.bytes(present(rows[at])?)?,
            tx.bytes(present(security)?)?,
            tx.bytes(present(status)?)?,
            tx.bytes(present(kind)?)?,
            tx.bytes(present(halls[at])?)?,
        ]));
    }
    Ok(shown)
}

pub(super) fn shown_owner(customer: &[u8], broker: &[u8]) -> u64 {
    let names = [
        customer::C_F_NAME.get(customer).len(),
        customer::C_L_NAME.get(customer).len(),
        broker::B_NAME.get(broker).len(),
    ];
    fold(&names.map(|bytes| bytes as u64))
}

/// What is shown of a trade: from its row, and those of its security, state, kind and exchange.
pub(super) fn shown_trade([trade, security, status, kind, exchange]: [&[u8]; 5]) -> u64 {
    let names = status_type::ST_NAME.get(status).len() << 24
        | trade_type::TT_NAME.get(kind).len() << 16
        | exchange::EX_NAME.get(exchange).len() << 8
        | trade::T_EXEC_NAME.get(trade).len();
    fold(&[
        trade::T_DTS.get(trade),
        trade::T_S_ID.get(trade).into(),
        trade::T_QTY.get(trade).into(),
        trade::T_CHRG.get(trade).into(),
        security::S_NAME.get(security).len() as u64,
        names as u64,
    ])
}
