//! The initial population: made up by a generator of our own, by distributions of our own. A part of the load is a broker, with
//! its customers, their trades of the past, and its share of the companies.

mod fixed;
mod market;
mod trades;

pub(super) use trades::{BY_OTHERS, CASH};

use super::rules::{Rules, executor, opening_balance, tier};
use super::schema::{
    Tables, account_permission, broker, customer, customer_account, customer_taxrate, key,
};
use super::text::{self, digits};
use crate::InsertRow;
use crate::random::Random;
use chiliad_api::Result;

/// The first second after the initial trades.
pub(super) fn opening(rules: &Rules) -> u64 {
    let days = rules.sizes.days.max(rules.trade_days);
    super::trading::CALENDAR + u64::from(days) * super::trading::DAY
}

/// Makes up what belongs to a broker.
pub(super) fn broker(
    rules: &Rules,
    tables: &Tables,
    broker: u32,
    seed: u64,
    insert: &mut InsertRow<'_>,
) -> Result<()> {
    if broker == 0 {
        fixed::all(tables, insert)?;
    }
    market::companies(rules, tables, broker, insert)?;
    for customer in rules.customers_of_broker(broker) {
        insert(tables.customer, &key::one(customer), &customer_row(customer))?;
        for which in [0, 1] {
            let mut row = [0; customer_taxrate::BYTES];
            customer_taxrate::CX_TX_ID.set(&mut row, fixed::tax_number(customer, which));
            insert(tables.customer_taxrate, &key::tax_of(customer, which), &row)?;
        }
        let mut random = Random::new(seed, 0x3a7c_0000_0000 + u64::from(customer));
        let partition = rules.partition_of(broker);
        let mut watched: Vec<u32> = rules.securities_of(partition).collect();
        random.shuffle(&mut watched);
        let (low, high) = rules.sizes.watched;
        watched.truncate(random.range(low, high) as usize);
        watched.sort_unstable();
        for security in watched {
            insert(tables.watch_item, &key::two(customer, security), &[])?;
        }
        for account in rules.accounts_of(customer) {
            let executor = executor(rules, account);
            let mut row = [0; account_permission::BYTES];
            let [first, last] = text::names(executor);
            account_permission::AP_ACL.set(&mut row, b"0011");
            account_permission::AP_L_NAME.set(&mut row, last);
            account_permission::AP_F_NAME.set(&mut row, first);
            let key = key::permission(account, &text::tax_id(executor));
            insert(tables.account_permission, &key, &row)?;
        }
    }
    let traded = trades::Past::new(rules, tables, broker, seed).trade(insert)?;
    for (account, balance) in traded.balances {
        let row = account_row(rules, account, balance);
        insert(tables.customer_account, &key::one(account), &row)?;
    }
    let mut row = [0; broker::BYTES];
    broker::B_NUM_TRADES.set(&mut row, rules.trades_of_broker());
    broker::B_COMM_TOTAL.set(&mut row, traded.commissions);
    broker::B_NAME.set(&mut row, text::exec_name(broker ^ 0x5555).bytes());
    insert(tables.broker, &key::one(broker), &row)
}

fn customer_row(customer: u32) -> [u8; customer::BYTES] {
    let mut row = [0; customer::BYTES];
    let [first, last] = text::names(customer);
    let mut random = Random::new(u64::from(customer), 0xc057);
    customer::C_ID.set(&mut row, customer);
    customer::C_TAX_ID.set(&mut row, &text::tax_id(customer));
    customer::C_TIER.set(&mut row, tier(customer));
    customer::C_L_NAME.set(&mut row, last);
    customer::C_F_NAME.set(&mut row, first);
    customer::C_GENDER.set(&mut row, b"FM"[random.below(2) as usize]);
    customer::C_DOB.set(&mut row, u64::from(random.below(900_000_000)));
    customer::C_PHONE.set(&mut row, &digits::<12>(random.bits()));
    let number = digits::<7>(customer.into());
    let email = text::Line::of(&[first, b".", last, &number, b"@mail.example"]);
    customer::C_EMAIL.set(&mut row, email.bytes());
    row
}

/// CA_TAX_ST of an account: no taxes, withheld, or not withheld, a fifth, three and one.
pub(super) fn tax_status(account: u32) -> u8 {
    match Random::new(u64::from(account), 0x7a).below(5) {
        0 => 0,
        1..4 => 1,
        _ => 2,
    }
}

fn account_row(rules: &Rules, account: u32, balance: i64) -> [u8; customer_account::BYTES] {
    let customer = super::rules::customer_of(account);
    let mut row = [0; customer_account::BYTES];
    customer_account::CA_BAL.set(&mut row, balance);
    customer_account::CA_B_ID.set(&mut row, rules.broker_of(customer));
    customer_account::CA_C_ID.set(&mut row, customer);
    customer_account::CA_TAX_ST.set(&mut row, tax_status(account));
    let name = text::Line::of(&[text::names(customer)[1], b" ", &digits::<8>(account.into())]);
    customer_account::CA_NAME.set(&mut row, name.bytes());
    row
}

/// The balances of a broker's accounts before any trade.
fn balances(rules: &Rules, broker: u32) -> Vec<(u32, i64)> {
    let customers = rules.customers_of_broker(broker);
    let accounts = customers.flat_map(|customer| rules.accounts_of(customer));
    accounts.map(|account| (account, opening_balance(account))).collect()
}
