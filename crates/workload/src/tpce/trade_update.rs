//! Trade-update: corrections. It finds some trades, shows them with their settlements and states, and changes a text of each:
//! the name of who made it, what kind of account paid, or what the payment is called.

use super::customer_position::shown_state;
use super::list::List;
use super::rules::{Rules, SHOWN_MAX};
use super::schema::{Tables, cash_transaction, key, settlement, trade};
use super::text;
use super::trading::{fold, status};
use crate::random::Random;
use crate::workload::present;
use chiliad_api::{Range, Result, Row, TableId, Transaction};

/// Which trades, and what changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    /// Any trades, of which the name of who made them.
    Executors { trades: u64, count: usize, seed: u64 },
    /// Those of an account from a number on, of which the kind of account that paid.
    Settlements { account: u32, from: u64 },
    /// Those of a security from a number on, of which what the payment is called.
    Cash { security: u32, from: u64 },
}

/// A correction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    partition: u32,
    pub change: Change,
}

/// A trade, and what belongs to it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shown<'r> {
    pub trade: &'r [u8],
    pub settlement: Option<&'r [u8]>,
    pub cash: Option<&'r [u8]>,
}

impl Request {
    /// Changes `count` of a partition's initial trades.
    pub fn executors(partition: u32, trades: u64, count: usize, seed: u64) -> Self {
        Self { partition, change: Change::Executors { trades, count, seed } }
    }

    /// Changes settlements of an account's trades.
    pub fn settlements(partition: u32, account: u32, from: u64) -> Self {
        Self { partition, change: Change::Settlements { account, from } }
    }

    /// Changes payments for a security's trades.
    pub fn cash(partition: u32, security: u32, from: u64) -> Self {
        Self { partition, change: Change::Cash { security, from } }
    }

    /// Random choices that it took.
    pub fn draws(&self) -> u32 {
        match self.change {
            Change::Executors { count, .. } => count as u32,
            Change::Settlements { .. } | Change::Cash { .. } => 3,
        }
    }

    /// The bounds of the trades to be found, in their table; `None` where they were drawn.
    pub fn bounds(&self) -> Option<[[u8; 12]; 2]> {
        let (of, from) = match self.change {
            Change::Executors { .. } => return None,
            Change::Settlements { account: of, from } | Change::Cash { security: of, from } => {
                (of, from)
            }
        };
        let from = key::trade_of(self.partition, from);
        Some([key::trade_by(of, from), key::trade_by(of, u64::MAX)])
    }

    /// The table in which the trades are to be found.
    pub fn found_in(&self, tables: &Tables) -> TableId {
        let by_account = matches!(self.change, Change::Settlements { .. });
        if by_account { tables.trade_account } else { tables.trade_security }
    }

    /// The trades that were drawn, each from its own part of all.
    pub fn drawn(&self) -> List<u64, SHOWN_MAX> {
        let mut numbers = List::new();
        if let Change::Executors { trades, count, seed } = self.change {
            let mut random = Random::new(seed, 0);
            let each = trades / count as u64;
            for part in 0..count as u64 {
                let own = 1 + part * each + random.below_u64(each);
                numbers.push(key::trade_of(self.partition, own));
            }
        }
        numbers
    }

    pub fn run<T: Transaction + ?Sized>(
        &self,
        rules: &Rules,
        tables: &Tables,
        tx: &mut T,
    ) -> Result<u64> {
        let numbers = match self.bounds() {
            None => self.drawn(),
            Some([low, high]) => {
                let range = Range::closed(&low, &high).limit(rules.sizes.updates);
                let scanned = tx.scan(self.found_in(tables), range)?;
                let mut numbers = List::new();
                for &entry in tx.entries(scanned)? {
                    numbers.push(key::last_trade(tx.key(entry)?));
                }
                numbers
            }
        };
        let mut shown = 0_u64;
        for &number in numbers.as_slice() {
            shown = shown.wrapping_add(self.correct(tables, tx, number)?);
        }
        Ok(shown)
    }

    /// Shows a trade, and changes it or what belongs to it.
    fn correct<T: Transaction + ?Sized>(
        &self,
        tables: &Tables,
        tx: &mut T,
        number: u64,
    ) -> Result<u64> {
        let key = key::trade(number);
        let change = |of: bool| if of { T::get_for_update } else { T::get };
        let is = |of: fn(&Change) -> bool| of(&self.change);
        let executors = is(|it| matches!(it, Change::Executors { .. }));
        let settlements = is(|it| matches!(it, Change::Settlements { .. }));
        let cash = is(|it| matches!(it, Change::Cash { .. }));
        let trade = present(change(executors)(tx, tables.trade, &key)?)?;
        let [is_completed, is_cash] = state_of(tx.bytes(trade)?);
        let (mut settled, mut paid): (Option<Row>, Option<Row>) = (None, None);
        if is_completed {
            settled = Some(present(change(settlements)(tx, tables.settlement, &key)?)?);
            if is_cash {
                paid = Some(present(change(cash)(tx, tables.cash_transaction, &key)?)?);
            }
        }
        let shown = Shown {
            trade: tx.bytes(trade)?,
            settlement: settled.map(|row| tx.bytes(row)).transpose()?,
            cash: paid.map(|row| tx.bytes(row)).transpose()?,
        };
        let mut sum = shown.fold();
        let (low, high) = (key::state(number, 0), key::state(number, status::COMPLETED));
        let states = tx.scan(tables.trade_history, Range::closed(&low, &high))?;
        for entry in tx.entries(states)? {
            sum = sum.wrapping_add(shown_state(tx.bytes(entry.row)?));
        }
        match self.change {
            Change::Executors { .. } => change_executor(tx.modify(trade)?),
            Change::Settlements { .. } => {
                if let Some(row) = settled {
                    change_settlement(tx.modify(row)?, is_cash);
                }
            }
            Change::Cash { .. } => {
                if let Some(row) = paid {
                    change_cash(tx.modify(row)?);
                }
            }
        }
        Ok(sum)
    }
}

/// Whether a trade is completed, and whether it is paid for at once.
pub(super) fn state_of(row: &[u8]) -> [bool; 2] {
    [trade::T_ST_ID.get(row) == status::COMPLETED, trade::T_IS_CASH.get(row) != 0]
}

impl Shown<'_> {
    /// What is shown of it.
    pub fn fold(&self) -> u64 {
        let row = self.trade;
        let settled = self.settlement.map_or(0, |row| {
            settlement::SE_AMT.get(row) as u64 ^ settlement::SE_CASH_TYPE.get(row).len() as u64
        });
        let paid = self.cash.map_or(0, |row| {
            let name = cash_transaction::CT_NAME.get(row);
            let letters: u64 = name.iter().map(|&byte| u64::from(byte)).sum();
            cash_transaction::CT_AMT.get(row) as u64 ^ letters
        });
        let price = u64::from(trade::T_TRADE_PRICE.get(row)) << 32;
        let bid = u64::from(trade::T_BID_PRICE.get(row));
        let name = trade::T_EXEC_NAME.get(row).len() as u64;
        fold(&[price | bid, name, settled, paid])
    }
}

/// Gives T_EXEC_NAME its other form.
pub(super) fn change_executor(row: &mut [u8]) {
    let name = text::other_exec_name(trade::T_EXEC_NAME.get(row));
    trade::T_EXEC_NAME.set(row, name.bytes());
}

/// Gives SE_CASH_TYPE its other form.
pub(super) fn change_settlement(row: &mut [u8], is_cash: bool) {
    let other = text::other_cash_type(is_cash, settlement::SE_CASH_TYPE.get(row));
    settlement::SE_CASH_TYPE.set(row, other);
}

/// Gives CT_NAME its other form.
pub(super) fn change_cash(row: &mut [u8]) {
    let name = text::other_cash_name(cash_transaction::CT_NAME.get(row));
    cash_transaction::CT_NAME.set(row, name.bytes());
}
