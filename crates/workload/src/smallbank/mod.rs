//! SmallBank: customers with savings and checking accounts, six short transactions.
//!
//! After Alomari, Cahill, Fekete and Röhm, "The Cost of Serializability on Platforms That Use
//! Snapshot Isolation" (ICDE 2008), whose write skew (write-check beside transact-savings) is why it
//! exists; mix, amounts and first balances are those of its version in H-Store, which added
//! send-payment. Money is in whole cents. By default 90 of a hundred transactions are about 1000 hot
//! accounts, as in the paper.
//!
//! The paper leaves open: transact-savings brings 20.20 or takes it, half and half, so that
//! savings that were amalgamated fill up again.
//!
//! Deposits and withdrawals change how much money there is. So that it can be counted exactly after
//! a run, each goes into the [`schema`]'s ledger too, inside its transaction: a row per client, which
//! nobody else touches. That costs one look-up and one write in 45 of a hundred transactions, and no
//! conflict but when clients begin and insert their rows.
//!
//! With partitions each has a range of the accounts, and its share of the hot ones in front. A
//! client's first account is of its own partition.

mod conditions;
mod options;
mod request;
pub mod schema;

pub use options::{ACCOUNTS_MAX, SmallbankOptions};
pub use request::Client;

use crate::random::{Chance, Random};
use crate::ranges::share;
use crate::{ClientId, Condition, InsertRow, RunReadOnly, Shape, Workload};
use chiliad_api::{Result, TableId, TableSpec, Transaction};
use core::ops::Range;
use schema::{Tables, account, balance, key};

const KINDS: [&str; 6] = [
    "balance",
    "deposit_checking",
    "transact_savings",
    "amalgamate",
    "write_check",
    "send_payment",
];
const BALANCE: usize = 0;
const DEPOSIT_CHECKING: usize = 1;
const TRANSACT_SAVINGS: usize = 2;
const AMALGAMATE: usize = 3;
const WRITE_CHECK: usize = 4;
const SEND_PAYMENT: usize = 5;

/// The sums of the shares of the kinds up to each, in percent: 15 each and 25 payments (H-Store).
const SHARES: [u32; 6] = [15, 30, 45, 60, 75, 100];

/// Accounts made by one part of the load.
const LOAD_PART: u32 = 1 << 14;

/// The workload.
#[derive(Debug)]
pub struct Smallbank {
    options: SmallbankOptions,
    hot: Chance,
    multi_partition: Chance,
}

impl Smallbank {
    /// SmallBank as asked for.
    ///
    /// # Errors
    /// Those of [`SmallbankOptions::validate`].
    pub fn new(options: SmallbankOptions) -> core::result::Result<Self, String> {
        options.validate()?;
        Ok(Self {
            hot: Chance::percent(options.hot_share),
            multi_partition: Chance::percent(options.multi_partition),
            options,
        })
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &SmallbankOptions {
        &self.options
    }

    /// The accounts of a partition.
    #[inline]
    #[must_use]
    pub fn accounts_of(&self, partition: u32) -> Range<u32> {
        share(self.options.accounts, partition, self.options.partitions)
    }

    /// The accounts of a partition that a transaction chooses among which is about hot accounts, or
    /// about others. Where there are not two of them, all of the partition.
    #[inline]
    fn choice(&self, partition: u32, hot: bool) -> Range<u32> {
        let all = self.accounts_of(partition);
        let hot_accounts = share(self.options.hot_accounts, partition, self.options.partitions);
        let first_cold = (all.start + hot_accounts.len() as u32).min(all.end);
        let choice = if hot { all.start..first_cold } else { first_cold..all.end };
        if choice.len() < 2 { all } else { choice }
    }
}

impl Workload for Smallbank {
    type Client = Client;

    fn name(&self) -> &'static str {
        "smallbank"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KINDS
    }

    fn tables(&self) -> Vec<TableSpec> {
        schema::specs(self.options.accounts as usize)
    }

    fn load_parts(&self) -> usize {
        self.options.accounts.div_ceil(LOAD_PART) as usize
    }

    fn load(
        &self,
        tables: &[TableId],
        part: usize,
        seed: u64,
        insert: &mut InsertRow<'_>,
    ) -> Result<()> {
        let tables = Tables::new(tables);
        let mut random = Random::new(seed, 0x10ad_0000_0000 + part as u64);
        let (low, high) = self.options.first_balance;
        let first = part as u32 * LOAD_PART;
        let end = first.saturating_add(LOAD_PART).min(self.options.accounts);
        let mut brought = 0;
        for customer in first..end {
            let mut row = [0; account::BYTES];
            account::CUSTOMER.set(&mut row, customer);
            insert(tables.account, &key::name(customer), &row)?;
            for table in [tables.savings, tables.checking] {
                let cents = i64::from(random.range(low, high));
                insert(table, &key::customer(customer), &balance_row(cents))?;
                brought += cents;
            }
        }
        insert(tables.ledger, &key::load_part(part as u32), &balance_row(brought))
    }

    fn client(&self, tables: &[TableId], client_id: ClientId) -> Client {
        Client::new(&self.options, Tables::new(tables), client_id)
    }

    #[inline]
    fn next(&self, client: &mut Client, partitions: &mut Vec<u32>) -> Shape {
        client.draw(self, partitions)
    }

    #[inline]
    fn execute<T: Transaction + ?Sized>(&self, client: &mut Client, tx: &mut T) -> Result<()> {
        client.run(tx)
    }

    fn conditions(&self, tables: &[TableId], run: &mut RunReadOnly<'_>) -> Result<Vec<Condition>> {
        conditions::check(self.options.accounts, &Tables::new(tables), run)
    }
}

fn balance_row(cents: i64) -> [u8; balance::BYTES] {
    let mut row = [0; balance::BYTES];
    balance::CENTS.set(&mut row, cents);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_divide_the_accounts_and_the_hot_ones() {
        let options = SmallbankOptions { partitions: 4, ..SmallbankOptions::micro() };
        let bank = Smallbank::new(options).unwrap();
        let all: Vec<u32> = (0..4).flat_map(|partition| bank.accounts_of(partition)).collect();
        assert_eq!(all, (0..18).collect::<Vec<_>>());
        // One hot account each: too few for a payment, so all are chosen among.
        assert_eq!(bank.accounts_of(1), 4..9);
        assert_eq!(bank.choice(1, true), 4..9);
        assert_eq!(bank.choice(1, false), 5..9);
        let whole = Smallbank::new(SmallbankOptions::default()).unwrap();
        assert_eq!(whole.choice(0, true), 0..1000);
        assert_eq!(whole.choice(0, false), 1000..100_000);
    }
}
