//! One client of SmallBank: how it makes up a transaction, and how it runs one.
//!
//! Each transaction first looks up its customers by name, then their balances in one group.

use super::schema::{Tables, account, balance, key};
use super::{
    AMALGAMATE, BALANCE, DEPOSIT_CHECKING, SEND_PAYMENT, SHARES, Smallbank, SmallbankOptions,
    TRANSACT_SAVINGS, WRITE_CHECK, balance_row,
};
use crate::random::Random;
use crate::workload::{free, present};
use crate::{ClientId, Shape};
use Use::{Changed, Seen};
use chiliad_api::{Error, Get, Result, Row, TableId, Transaction};

/// The amount of deposit-checking, in cents (H-Store, as the following).
const DEPOSIT: i64 = 130;
/// The amount that transact-savings adds or takes.
const SAVINGS: i64 = 2020;
/// The amount that write-check takes, and the fee when there is not as much.
const CHECK: i64 = 500;
const PENALTY: i64 = 100;
/// The amount that send-payment moves.
const PAYMENT: i64 = 500;

/// One client: its random numbers and the request in hand.
pub struct Client {
    tables: Tables,
    random: Random,
    /// Its number among the clients, from zero: its row of the ledger.
    number: u32,
    /// Its own partition.
    home: u32,
    kind: usize,
    /// The customers: the second of two payers and payees only.
    customers: [u32; 2],
    amount: i64,
    shown: i64,
}

impl Client {
    pub(super) fn new(options: &SmallbankOptions, tables: Tables, client_id: ClientId) -> Self {
        Self {
            tables,
            random: Random::new(client_id.seed, 0x5b_0000_0000 + client_id.index as u64),
            number: client_id.index as u32,
            home: client_id.home as u32 % options.partitions,
            kind: BALANCE,
            customers: [0; 2],
            amount: 0,
            shown: 0,
        }
    }

    /// The number that the last transaction saw: a balance.
    #[must_use]
    pub fn shown(&self) -> i64 {
        self.shown
    }

    /// The customers of the request in hand; the second means something where there are two.
    #[must_use]
    pub fn customers(&self) -> [u32; 2] {
        self.customers
    }

    /// The amount that the current request adds (or takes, if negative) or moves, in cents.
    #[must_use]
    pub fn amount(&self) -> i64 {
        self.amount
    }

    #[inline]
    pub(super) fn draw(&mut self, bank: &Smallbank, partitions: &mut Vec<u32>) -> Shape {
        let drawn = self.random.below(100);
        self.kind = SHARES.iter().filter(|&&sum| sum <= drawn).count();
        self.amount = match self.kind {
            DEPOSIT_CHECKING => DEPOSIT,
            TRANSACT_SAVINGS if self.random.below(2) == 0 => -SAVINGS,
            TRANSACT_SAVINGS => SAVINGS,
            WRITE_CHECK => -CHECK,
            SEND_PAYMENT => PAYMENT,
            _ => 0,
        };
        self.draw_customers(bank, partitions);
        let read_only = self.kind == BALANCE;
        let snapshot = read_only && bank.options().snapshot_reads;
        Shape { kind: self.kind, read_only, snapshot }
    }

    fn draw_customers(&mut self, bank: &Smallbank, partitions: &mut Vec<u32>) {
        let hot = self.random.chance(bank.hot);
        let choice = bank.choice(self.home, hot);
        let (low, count) = (choice.start, choice.len() as u32);
        let first = self.random.below(count);
        self.customers[0] = low + first;
        partitions.push(self.home);
        if !matches!(self.kind, AMALGAMATE | SEND_PAYMENT) {
            return;
        }
        let of = bank.options().partitions;
        if of > 1 && self.random.chance(bank.multi_partition) {
            let other = (self.home + 1 + self.random.below(of - 1)) % of;
            let choice = bank.choice(other, hot);
            self.customers[1] = choice.start + self.random.below(choice.len() as u32);
            partitions.push(other);
            partitions.sort_unstable();
        } else {
            self.customers[1] = low + (first + 1 + self.random.below(count - 1)) % count;
        }
    }

    #[inline]
    pub(super) fn run<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        let Tables { savings, checking, .. } = self.tables;
        match self.kind {
            BALANCE => {
                let [customer] = self.look_up(tx)?;
                let rows = balances(tx, [(savings, customer, Seen), (checking, customer, Seen)])?;
                self.shown = cents(tx, rows[0])? + cents(tx, rows[1])?;
                Ok(())
            }
            DEPOSIT_CHECKING => {
                let [customer] = self.look_up(tx)?;
                let [row] = balances(tx, [(checking, customer, Changed)])?;
                self.shown = add(tx, row, self.amount)?;
                self.enter(tx, self.amount)
            }
            TRANSACT_SAVINGS => {
                let [customer] = self.look_up(tx)?;
                let [row] = balances(tx, [(savings, customer, Changed)])?;
                if cents(tx, row)? + self.amount < 0 {
                    return Err(Error::RolledBack);
                }
                self.shown = add(tx, row, self.amount)?;
                self.enter(tx, self.amount)
            }
            AMALGAMATE => {
                let [from, to] = self.look_up(tx)?;
                let wanted =
                    [(savings, from, Changed), (checking, from, Changed), (checking, to, Changed)];
                let [saved, checked, heir] = balances(tx, wanted)?;
                let all = cents(tx, saved)? + cents(tx, checked)?;
                balance::CENTS.set(tx.modify(saved)?, 0);
                balance::CENTS.set(tx.modify(checked)?, 0);
                self.shown = add(tx, heir, all)?;
                Ok(())
            }
            WRITE_CHECK => {
                let [customer] = self.look_up(tx)?;
                let wanted = [(savings, customer, Seen), (checking, customer, Changed)];
                let [saved, checked] = balances(tx, wanted)?;
                let is_covered = cents(tx, saved)? + cents(tx, checked)? + self.amount >= 0;
                let taken = if is_covered { self.amount } else { self.amount - PENALTY };
                self.shown = add(tx, checked, taken)?;
                self.enter(tx, taken)
            }
            _ => {
                let [from, to] = self.look_up(tx)?;
                let wanted = [(checking, from, Changed), (checking, to, Changed)];
                let [payer, payee] = balances(tx, wanted)?;
                if cents(tx, payer)? < self.amount {
                    return Err(Error::RolledBack);
                }
                self.shown = add(tx, payer, -self.amount)?;
                add(tx, payee, self.amount)?;
                Ok(())
            }
        }
    }

    /// The customers of the request, by name.
    #[inline]
    fn look_up<T: Transaction + ?Sized, const N: usize>(&self, tx: &mut T) -> Result<[u32; N]> {
        let mut names = [[0; 16]; N];
        for (name, &customer) in names.iter_mut().zip(&self.customers) {
            *name = key::name(customer);
        }
        let gets = names.each_ref().map(|key| Get::read(self.tables.account, key));
        let mut rows = [None; N];
        tx.get_many(&gets, &mut rows)?;
        let mut customers = [0; N];
        for (customer, row) in customers.iter_mut().zip(rows) {
            *customer = account::CUSTOMER.get(tx.bytes(present(row)?)?);
        }
        Ok(customers)
    }

    /// Enters into the ledger what this transaction brings into the bank.
    #[inline]
    fn enter<T: Transaction + ?Sized>(&self, tx: &mut T, brought: i64) -> Result<()> {
        let key = key::client(self.number);
        match tx.get_for_update(self.tables.ledger, &key)? {
            Some(row) => add(tx, row, brought).map(|_| ()),
            None => free(tx.insert(self.tables.ledger, &key, &balance_row(brought))),
        }
    }
}

/// The change of a balance.
#[derive(Clone, Copy)]
enum Use {
    Seen,
    Changed,
}

/// Balances of customers, in one group.
#[inline]
fn balances<T: Transaction + ?Sized, const N: usize>(
    tx: &mut T,
    wanted: [(TableId, u32, Use); N],
) -> Result<[Row; N]> {
    let keys = wanted.map(|(_, customer, _)| key::customer(customer));
    let mut gets = [Get::read(wanted[0].0, &[]); N];
    for ((get, key), (table, _, becomes)) in gets.iter_mut().zip(&keys).zip(wanted) {
        *get = match becomes {
            Seen => Get::read(table, key),
            Changed => Get::update(table, key),
        };
    }
    let mut rows = [None; N];
    tx.get_many(&gets, &mut rows)?;
    // The first one stands for all until each has its own.
    let mut found = [present(rows[0])?; N];
    for (found, row) in found.iter_mut().zip(rows) {
        *found = present(row)?;
    }
    Ok(found)
}

#[inline]
fn cents<T: Transaction + ?Sized>(tx: &T, row: Row) -> Result<i64> {
    Ok(balance::CENTS.get(tx.bytes(row)?))
}

/// Adds to a balance and returns what it is then.
#[inline]
fn add<T: Transaction + ?Sized>(tx: &mut T, row: Row, amount: i64) -> Result<i64> {
    let bytes = tx.modify(row)?;
    let sum = balance::CENTS.get(bytes) + amount;
    balance::CENTS.set(bytes, sum);
    Ok(sum)
}
