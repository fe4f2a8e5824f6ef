//! The sizes of a brokerage house, and what follows from a number alone: whose account it is, in which securities it
//! trades, in which partition it lies. So a client makes up requests without having read a row.
//!
//! Everything is divided by brokers. A broker has a hundred customers, and each partition a range of the brokers,
//! of the companies and of the securities; accounts hold and watch securities of their own partition.

use crate::random::Random;
use crate::ranges::share;
use core::ops::Range;

/// Numbers of accounts for each customer: its first account is its own number times as many.
pub const ACCOUNTS_MAX: u32 = 10;

/// The most securities in which an account trades.
pub const BASKET_MAX: u32 = 15;

/// The most securities on a list.
pub const WATCHED_MAX: usize = 150;

/// The most trades that one transaction shows.
pub const SHOWN_MAX: usize = 50;

/// The rows of everything, most of them for each load unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sizes {
    /// Customers.
    pub load_unit: u32,
    pub customers_per_broker: u32,
    pub companies: u32,
    pub securities: u32,
    /// In all.
    pub industries: u32,
    /// Days of prices, in all.
    pub days: u32,
    /// Initial trades of a broker's customers in a day.
    pub trades_per_day: u32,
    /// The most accounts of a customer.
    pub accounts: u32,
    /// The least and the most securities in which an account trades.
    pub basket: (u32, u32),
    /// The least and the most securities on a list.
    pub watched: (u32, u32),
    /// Trades that trade-status shows.
    pub shown: usize,
    /// Trades whose history customer-position shows.
    pub history: usize,
    /// Trades that trade-update changes.
    pub updates: usize,
}

/// The specification's, but for the days of prices, of which it has five years.
pub(super) const SPEC: Sizes = Sizes {
    load_unit: 1000,
    customers_per_broker: 100,
    companies: 500,
    securities: 685,
    industries: 102,
    days: 250,
    trades_per_day: 5760,
    accounts: ACCOUNTS_MAX,
    basket: (5, BASKET_MAX),
    watched: (50, WATCHED_MAX as u32),
    shown: SHOWN_MAX,
    history: 10,
    updates: 20,
};

/// A handful of each, so that a few clients meet.
pub(super) const MICRO: Sizes = Sizes {
    load_unit: 6,
    customers_per_broker: 2,
    companies: 3,
    securities: 5,
    industries: 2,
    days: 3,
    trades_per_day: 6,
    accounts: 2,
    basket: (2, 3),
    watched: (2, 3),
    shown: 4,
    history: 2,
    updates: 3,
};

/// A brokerage house.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rules {
    pub customers: u32,
    pub trade_days: u32,
    pub partitions: u32,
    pub sizes: Sizes,
}

impl Rules {
    fn units(&self) -> u32 {
        self.customers / self.sizes.load_unit
    }

    pub fn brokers(&self) -> u32 {
        self.customers / self.sizes.customers_per_broker
    }

    pub fn companies(&self) -> u32 {
        self.units() * self.sizes.companies
    }

    pub fn securities(&self) -> u32 {
        self.units() * self.sizes.securities
    }

    pub fn brokers_of(&self, partition: u32) -> Range<u32> {
        share(self.brokers(), partition, self.partitions)
    }

    pub fn partition_of(&self, broker: u32) -> u32 {
        owner(self.brokers(), broker, self.partitions)
    }

    pub fn customers_of_broker(&self, broker: u32) -> Range<u32> {
        let each = self.sizes.customers_per_broker;
        broker * each..(broker + 1) * each
    }

    pub fn broker_of(&self, customer: u32) -> u32 {
        customer / self.sizes.customers_per_broker
    }

    /// The companies of a partition.
    pub fn companies_of(&self, partition: u32) -> Range<u32> {
        share(self.companies(), partition, self.partitions)
    }

    /// The securities of a company: one or two.
    pub fn securities_of_company(&self, company: u32) -> Range<u32> {
        share(self.securities(), company, self.companies())
    }

    pub fn company_of(&self, security: u32) -> u32 {
        owner(self.securities(), security, self.companies())
    }

    /// The securities of a partition: those of its companies.
    pub fn securities_of(&self, partition: u32) -> Range<u32> {
        let companies = self.companies_of(partition);
        let first = self.securities_of_company(companies.start).start;
        first..self.securities_of_company(companies.end - 1).end
    }

    /// The accounts of a customer. Those of a higher tier have more.
    pub fn accounts_of(&self, customer: u32) -> Range<u32> {
        let mut random = Random::new(u64::from(customer), 0xacc0);
        let (low, high) = [(1, 4), (2, 8), (5, 10)][usize::from(tier(customer)) - 1];
        let count = random.range(low, high).min(self.sizes.accounts);
        customer * ACCOUNTS_MAX..customer * ACCOUNTS_MAX + count
    }

    /// The securities in which an account trades, of those of its partition.
    pub fn basket(&self, account: u32) -> Range<u32> {
        let all = self.securities_of(self.partition_of(self.broker_of(customer_of(account))));
        let mut random = Random::new(u64::from(account), 0xba5);
        let (low, high) = self.sizes.basket;
        let count = random.range(low, high).min(all.len() as u32);
        let first = all.start + random.below(all.len() as u32 - count + 1);
        first..first + count
    }

    /// The initial trades of a broker's customers.
    pub fn trades_of_broker(&self) -> u64 {
        u64::from(self.sizes.trades_per_day) * u64::from(self.trade_days)
    }

    /// The initial trades of a partition: they are numbered from one to this.
    pub fn trades_of(&self, partition: u32) -> u64 {
        self.trades_of_broker() * self.brokers_of(partition).len() as u64
    }
}

/// The part of `of` that item `item` of `items` lies in, as [`share`] divides them.
fn owner(items: u32, item: u32, of: u32) -> u32 {
    (((u64::from(item) + 1) * u64::from(of) - 1) / u64::from(items)) as u32
}

/// The owner of an account.
pub(super) fn customer_of(account: u32) -> u32 {
    account / ACCOUNTS_MAX
}

/// The tier of a customer: 1 to 3, a fifth, three fifths and a fifth.
pub(super) fn tier(customer: u32) -> u8 {
    match Random::new(u64::from(customer), 0x71e5).below(10) {
        0..2 => 1,
        2..8 => 2,
        _ => 3,
    }
}

/// The cents that an account was opened with.
pub(super) fn opening_balance(account: u32) -> i64 {
    i64::from(Random::new(u64::from(account), 0xca5).range(1_000_000, 10_000_000))
}

/// The customer beside the owner that may trade for an account.
pub(super) fn executor(rules: &Rules, account: u32) -> u32 {
    let customer = customer_of(account);
    let all = rules.customers_of_broker(rules.broker_of(customer));
    if customer + 1 < all.end { customer + 1 } else { all.start }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpce::TpceOptions;

    fn all(customers: u32, partitions: u32) -> Rules {
        let options = TpceOptions { customers, partitions, ..TpceOptions::default() };
        options.validate().unwrap();
        options.rules()
    }

    #[test]
    fn partitions_divide_everything() {
        for rules in [all(2000, 1), all(2000, 7), all(1000, 10)] {
            let partitions = 0..rules.partitions;
            let brokers: Vec<u32> =
                partitions.clone().flat_map(|it| rules.brokers_of(it)).collect();
            assert!(brokers.into_iter().eq(0..rules.brokers()));
            let securities = partitions.clone().flat_map(|it| rules.securities_of(it));
            assert!(securities.eq(0..rules.securities()));
            for partition in partitions {
                assert!(rules.brokers_of(partition).all(|it| rules.partition_of(it) == partition));
            }
            for security in 0..rules.securities() {
                let company = rules.company_of(security);
                assert!(rules.securities_of_company(company).contains(&security));
            }
        }
    }

    #[test]
    fn accounts_keep_to_their_partition() {
        let rules = all(1000, 10);
        let mut accounts = 0;
        for customer in 0..rules.customers {
            let partition = rules.partition_of(rules.broker_of(customer));
            for account in rules.accounts_of(customer) {
                let (basket, all) = (rules.basket(account), rules.securities_of(partition));
                assert!(all.start <= basket.start && basket.end <= all.end);
                assert!((5..=15).contains(&basket.len()));
                assert_ne!(executor(&rules, account), customer);
                accounts += 1;
            }
        }
        assert!((4500..5500).contains(&accounts), "{accounts}");
    }
}
