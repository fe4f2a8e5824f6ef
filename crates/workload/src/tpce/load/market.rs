//! Companies, their securities, and the prices of those.

use super::opening;
use crate::InsertRow;
use crate::random::Random;
use crate::ranges::share;
use crate::tpce::rules::Rules;
use crate::tpce::schema::{EXCHANGES, Tables, company, daily_market, key, last_trade, security};
use crate::tpce::text;
use crate::tpce::trading::{DAY, price};
use chiliad_api::Result;

/// The exchange where a security is traded.
pub(super) fn exchange_of(security: u32) -> u8 {
    (security % u32::from(EXCHANGES)) as u8
}

/// Makes up a broker's share of the companies.
pub(super) fn companies(
    rules: &Rules,
    tables: &Tables,
    broker: u32,
    insert: &mut InsertRow<'_>,
) -> Result<()> {
    for company in share(rules.companies(), broker, rules.brokers()) {
        let mut row = [0; company::BYTES];
        company::CO_ID.set(&mut row, company);
        company::CO_IN_ID.set(&mut row, (company % rules.sizes.industries) as u16);
        company::CO_NAME.set(&mut row, text::company_name(company).bytes());
        company::CO_SP_RATE.set(&mut row, b"AAA+");
        company::CO_CEO.set(&mut row, text::exec_name(company ^ 0xaaaa).bytes());
        insert(tables.company, &key::one(company), &row)?;
        for (number, security) in (0..).zip(rules.securities_of_company(company)) {
            insert_security(rules, tables, security, number, insert)?;
        }
    }
    Ok(())
}

fn insert_security(
    rules: &Rules,
    tables: &Tables,
    security: u32,
    number: u32,
    insert: &mut InsertRow<'_>,
) -> Result<()> {
    let mut random = Random::new(u64::from(security), 0x5ec);
    let mut row = [0; security::BYTES];
    security::S_ID.set(&mut row, security);
    security::S_CO_ID.set(&mut row, rules.company_of(security));
    security::S_NUM_OUT.set(&mut row, u64::from(random.range(4_000_000, 90_000_000)));
    security::S_EX_ID.set(&mut row, exchange_of(security));
    security::S_SYMB.set(&mut row, &text::symbol(security));
    security::S_ISSUE.set(&mut row, &text::issue(number));
    let issue = text::issue(number);
    let name = text::Line::of(&[&text::symbol(security), b" ", &issue]);
    security::S_NAME.set(&mut row, name.bytes());
    let now = opening(rules);
    security::S_START_DATE.set(&mut row, now - u64::from(random.below(900_000_000)));
    security::S_52WK_HIGH.set(&mut row, 3_000);
    security::S_52WK_LOW.set(&mut row, 2_000);
    security::S_DIVIDEND.set(&mut row, random.below(200));
    insert(tables.security, &key::one(security), &row)?;

    let mut row = [0; last_trade::BYTES];
    last_trade::LT_PRICE.set(&mut row, price(security, now));
    last_trade::LT_OPEN_PRICE.set(&mut row, price(security, now));
    last_trade::LT_DTS.set(&mut row, now);
    insert(tables.last_trade, &key::one(security), &row)?;

    let days = rules.sizes.days;
    for day in 0..days {
        let close = price(security, now - u64::from(days - day) * DAY);
        let mut row = [0; daily_market::BYTES];
        daily_market::DM_CLOSE.set(&mut row, close);
        daily_market::DM_HIGH.set(&mut row, close + close / 50);
        daily_market::DM_LOW.set(&mut row, close - close / 50);
        daily_market::DM_VOL.set(&mut row, u64::from(random.range(1_000, 10_000)));
        insert(tables.daily_market, &key::two(security, day), &row)?;
    }
    Ok(())
}
