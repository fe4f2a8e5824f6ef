//! Trades, the rows that belong to them, and the sums that follow from them.

use super::{Findings, Name};
use crate::RunReadOnly;
use crate::each_row::each_row;
use crate::tpce::rows::{brings, first_status};
use crate::tpce::rules::{Rules, customer_of, executor, opening_balance};
use crate::tpce::schema::{
    Tables, broker, cash_transaction, customer_account, key, last_trade, settlement, trade,
    trade_request,
};
use crate::tpce::text;
use crate::tpce::trading::{TYPES, status};
use crate::workload::present;
use chiliad_api::{Result, TableId, Transaction};
use std::collections::BTreeMap;

/// A row of CUSTOMER_ACCOUNT.
struct Account {
    broker: u32,
    tax_status: u8,
    balance: i64,
    /// What it should be.
    due: i64,
}

/// A row of TRADE.
pub(super) struct Trade {
    pub account: u32,
    pub security: u32,
    trade_type: u8,
    status: u8,
    is_cash: bool,
    quantity: u32,
    bid: u32,
    commission: u32,
    /// What it brings if it is completed.
    amount: i64,
    /// Its states, a bit for each.
    states: u8,
    /// The rows that belong to it, a bit for each kind.
    has: u8,
    /// Shares by which it has changed holdings.
    pub changed: i64,
}

// Bits of `Trade::has`.
const BY_ACCOUNT: u8 = 1;
const BY_SECURITY: u8 = 2;
const QUEUED: u8 = 4;
const REQUESTED: u8 = 8;
const SETTLED: u8 = 16;
const PAID: u8 = 32;

impl Trade {
    /// The rows that should belong to it.
    fn due(&self) -> u8 {
        let mut due = BY_ACCOUNT | BY_SECURITY;
        match self.status {
            status::PENDING => due |= QUEUED | REQUESTED,
            status::SUBMITTED => due |= QUEUED,
            _ if self.is_cash => due |= SETTLED | PAID,
            _ => due |= SETTLED,
        }
        due
    }

    /// Shares, below zero where it sells.
    fn shares(&self) -> i64 {
        let is_sell = TYPES.get(usize::from(self.trade_type)).is_some_and(|it| it.is_sell);
        if is_sell { -i64::from(self.quantity) } else { self.quantity.into() }
    }
}

/// Whether a row, by key and value, is the one that belongs to a trade.
type IsIts = dyn Fn(&Trade, &Accounts, &[u8], &[u8]) -> bool;

/// By number.
type Accounts = BTreeMap<u32, Account>;

/// All accounts and trades.
pub(super) struct Trades<'r> {
    rules: &'r Rules,
    accounts: Accounts,
    pub trades: BTreeMap<u64, Trade>,
}

impl<'r> Trades<'r> {
    /// Reads them, and looks at the numbers.
    pub fn read(
        rules: &'r Rules,
        tables: &Tables,
        run: &mut RunReadOnly<'_>,
        findings: &mut Findings,
    ) -> Result<Self> {
        let (mut accounts, mut trades) = (BTreeMap::new(), BTreeMap::new());
        each_row(tables.customer_account, run, &mut |key, row| {
            let number = key::first(key);
            let account = Account {
                broker: customer_account::CA_B_ID.get(row),
                tax_status: customer_account::CA_TAX_ST.get(row),
                balance: customer_account::CA_BAL.get(row),
                due: opening_balance(number),
            };
            accounts.insert(number, account);
        })?;
        let mut last = 0;
        each_row(tables.trade, run, &mut |key, row| {
            let number = key::first_trade(key);
            let follows = number == last + 1 || key::own(number) == 1;
            findings.demand(Name::Trades, follows, || {
                format!("trade {number:#x} follows trade {last:#x}")
            });
            last = number;
            let trade = Self::trade(rules, &accounts, number, row, findings);
            trades.insert(number, trade);
        })?;
        for partition in 0..rules.partitions {
            let loaded = key::trade_of(partition, rules.trades_of(partition));
            findings.demand(Name::Trades, trades.contains_key(&loaded), || {
                format!("trade {loaded:#x} of the first ones is missing")
            });
        }
        Ok(Self { rules, accounts, trades })
    }

    fn trade(
        rules: &Rules,
        accounts: &Accounts,
        number: u64,
        row: &[u8],
        findings: &mut Findings,
    ) -> Trade {
        let account = trade::T_CA_ID.get(row);
        let of = accounts.get(&account);
        let partition = of.map(|it| rules.partition_of(it.broker));
        findings.demand(Name::Trades, partition == Some(key::partition(number)), || {
            format!("trade {number:#x} is of account {account}")
        });
        let name = trade::T_EXEC_NAME.get(row);
        let mut executors = [customer_of(account), executor(rules, account)].into_iter();
        let is_known = executors.any(|customer| {
            let form = text::exec_name(customer);
            name == form.bytes() || name == text::other_exec_name(form.bytes()).bytes()
        });
        findings.demand(Name::Texts, is_known, || format!("T_EXEC_NAME of trade {number:#x}"));
        Trade {
            account,
            security: trade::T_S_ID.get(row),
            trade_type: trade::T_TT_ID.get(row),
            status: trade::T_ST_ID.get(row),
            is_cash: trade::T_IS_CASH.get(row) != 0,
            quantity: trade::T_QTY.get(row),
            bid: trade::T_BID_PRICE.get(row),
            commission: trade::T_COMM.get(row),
            amount: brings(row, of.map_or(0, |it| it.tax_status)),
            states: 0,
            has: 0,
            changed: 0,
        }
    }

    /// Notes the rows of a table whose keys end in a trade, if `is_its` says that they are the trade's.
    fn mark(
        &mut self,
        (table, bit): (TableId, u8),
        run: &mut RunReadOnly<'_>,
        findings: &mut Findings,
        is_its: &IsIts,
    ) -> Result<()> {
        let Self { accounts, trades, .. } = self;
        each_row(table, run, &mut |key, row| {
            let number = key::last_trade(key);
            match trades.get_mut(&number) {
                Some(trade) if is_its(trade, accounts, key, row) => trade.has |= bit,
                _ => findings.demand(Name::Trades, false, || {
                    format!("a row of table {} is not trade {number:#x}'s", table.0)
                }),
            }
        })
    }

    /// Looks at the states of trades, and at the ways to find them.
    pub fn ways(
        &mut self,
        tables: &Tables,
        run: &mut RunReadOnly<'_>,
        findings: &mut Findings,
    ) -> Result<()> {
        each_row(tables.trade_history, run, &mut |key, _| {
            let (number, status) = key::state_of(key);
            match self.trades.get_mut(&number) {
                Some(trade) => trade.states |= 1 << status,
                None => findings.demand(Name::Trades, false, || {
                    format!("trade {number:#x} has a state and no row")
                }),
            }
        })?;
        let by_account = (tables.trade_account, BY_ACCOUNT);
        self.mark(by_account, run, findings, &|trade, _, key, _| trade.account == key::first(key))?;
        let by_security = (tables.trade_security, BY_SECURITY);
        let is_its = |trade: &Trade, _: &_, key: &[u8], _: &[u8]| trade.security == key::first(key);
        self.mark(by_security, run, findings, &is_its)?;
        let is_its = |trade: &Trade, accounts: &_, key: &[u8], _: &[u8]| {
            broker_of(trade, accounts) == Some(key::first(key))
        };
        self.mark((tables.trade_queue, QUEUED), run, findings, &is_its)?;
        let is_its = |trade: &Trade, accounts: &_, _: &[u8], row: &[u8]| {
            let asked = [
                trade_request::TR_S_ID.get(row),
                trade_request::TR_QTY.get(row),
                trade_request::TR_BID_PRICE.get(row),
            ];
            asked == [trade.security, trade.quantity, trade.bid]
                && trade_request::TR_TT_ID.get(row) == trade.trade_type
                && broker_of(trade, accounts) == Some(trade_request::TR_B_ID.get(row))
        };
        self.mark((tables.trade_request, REQUESTED), run, findings, &is_its)
    }

    /// Looks at settlements, payments and balances.
    pub fn money(
        &mut self,
        tables: &Tables,
        run: &mut RunReadOnly<'_>,
        findings: &mut Findings,
    ) -> Result<()> {
        let Self { accounts, trades, .. } = self;
        each_row(tables.settlement, run, &mut |key, row| {
            let (number, amount) = (key::first_trade(key), settlement::SE_AMT.get(row));
            let Some(trade) = trades.get_mut(&number) else {
                return findings.demand(Name::Cash, false, || unknown("settled", number));
            };
            trade.has |= SETTLED;
            findings.demand(Name::Cash, trade.amount == amount, || {
                format!("trade {number:#x} is settled by {amount}, not {}", trade.amount)
            });
            let kind = settlement::SE_CASH_TYPE.get(row);
            let is_known = text::cash_types(trade.is_cash).contains(&kind);
            findings.demand(Name::Texts, is_known, || format!("SE_CASH_TYPE of trade {number:#x}"));
        })?;
        each_row(tables.cash_transaction, run, &mut |key, row| {
            let (number, amount) = (key::first_trade(key), cash_transaction::CT_AMT.get(row));
            let Some(trade) = trades.get_mut(&number) else {
                return findings.demand(Name::Cash, false, || unknown("paid", number));
            };
            trade.has |= PAID;
            if let Some(account) = accounts.get_mut(&trade.account) {
                account.due = account.due.wrapping_add(amount);
            }
            findings.demand(Name::Cash, trade.amount == amount, || {
                format!("trade {number:#x} is paid by {amount}, not {}", trade.amount)
            });
            let kind = trade.trade_type.min(TYPES.len() as u8 - 1);
            let name = text::cash_name(kind, trade.quantity, trade.security);
            let forms = [name, text::other_cash_name(name.bytes())];
            let found = cash_transaction::CT_NAME.get(row);
            let is_known = forms.iter().any(|form| form.bytes() == found);
            findings.demand(Name::Texts, is_known, || format!("CT_NAME of trade {number:#x}"));
        })?;
        for (number, Account { balance, due, .. }) in accounts {
            findings.demand(Name::Cash, balance == due, || {
                format!("account {number} has {balance}, not {due}")
            });
        }
        Ok(())
    }

    /// Judges each trade by the rows that were met.
    pub fn judge(&self, findings: &mut Findings) {
        for (number, trade) in &self.trades {
            let (first, last) = (first_status(trade.trade_type), trade.status);
            let states: u8 = (first..=last.min(status::COMPLETED)).map(|it| 1 << it).sum();
            let is_known = (first..=status::COMPLETED).contains(&last);
            findings.demand(Name::Trades, is_known && trade.states == states, || {
                format!("trade {number:#x} of state {last} has the states {:#b}", trade.states)
            });
            let (has, due) = (trade.has, trade.due());
            let money = SETTLED | PAID;
            findings.demand(Name::Trades, has & !money == due & !money, || {
                format!("trade {number:#x} has the rows {has:#b}, not {due:#b}")
            });
            findings.demand(Name::Cash, has & money == due & money, || {
                format!("trade {number:#x} has the rows {has:#b}, not {due:#b}")
            });
            let shares = if last == status::COMPLETED { trade.shares() } else { 0 };
            findings.demand(Name::History, trade.changed == shares, || {
                format!("trade {number:#x} of {shares} shares changed {}", trade.changed)
            });
        }
    }

    /// Compares what brokers and securities have counted.
    pub fn totals(
        &self,
        tables: &Tables,
        run: &mut RunReadOnly<'_>,
        findings: &mut Findings,
    ) -> Result<()> {
        let mut brokers = vec![(0_u64, 0_u64); self.rules.brokers() as usize];
        let mut volumes = vec![0_u64; self.rules.securities() as usize];
        for (&number, trade) in &self.trades {
            if trade.status != status::COMPLETED {
                continue;
            }
            let broker = self.accounts.get(&trade.account).map(|it| it.broker as usize);
            if let Some((count, sum)) = broker.and_then(|it| brokers.get_mut(it)) {
                *count += 1;
                *sum += u64::from(trade.commission);
            }
            if key::own(number) > self.rules.trades_of(key::partition(number))
                && let Some(volume) = volumes.get_mut(trade.security as usize)
            {
                *volume += u64::from(trade.quantity);
            }
        }
        for (number, due) in (0..).zip(brokers) {
            each(tables.broker, number, run, &mut |row| {
                let found = (broker::B_NUM_TRADES.get(row), broker::B_COMM_TOTAL.get(row));
                findings.demand(Name::Brokers, found == due, || {
                    format!("broker {number} counts trades and commissions {found:?}, not {due:?}")
                });
            })?;
        }
        for (number, due) in (0..).zip(volumes) {
            each(tables.last_trade, number, run, &mut |row| {
                let found = last_trade::LT_VOL.get(row);
                findings.demand(Name::Volumes, found == due, || {
                    format!("security {number} has the volume {found}, not {due}")
                });
            })?;
        }
        Ok(())
    }
}

/// The broker of a trade's account.
fn broker_of(trade: &Trade, accounts: &Accounts) -> Option<u32> {
    accounts.get(&trade.account).map(|it| it.broker)
}

/// Gives a row of a hash table to `look`.
fn each(
    table: TableId,
    number: u32,
    run: &mut RunReadOnly<'_>,
    look: &mut dyn FnMut(&[u8]),
) -> Result<()> {
    run(&mut |tx: &mut dyn Transaction| {
        let row = present(tx.get(table, &key::one(number))?)?;
        look(tx.bytes(row)?);
        Ok(())
    })
}

fn unknown(what: &str, number: u64) -> String {
    format!("trade {number:#x} is {what} and not there")
}
