//! Trade-order: a customer, or another one with the permission, buys or sells. It finds out what the trade would cost,
//! takes the number after the greatest one, and inserts the trade under it; one order in a hundred is then rolled back.

use super::costs::{HoldingsOf, RateOf, commission_rate, taxes};
use super::customer_position::assets;
use super::rows::{self, Order};
use super::schema::{
    BY_COMPANY, BY_NAME, Tables, broker, charge, company, customer, customer_account,
    holding_summary, key, last_trade, security, trade_type,
};
use super::text::{self, Line};
use super::trading::{Settling, commission, fold, scaled, status, value};
use crate::workload::{free, present};
use chiliad_api::{Error, Get, Range, Result, Transaction};

/// An order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub partition: u32,
    pub account: u32,
    /// The customer who makes it.
    pub executor: u32,
    pub security: u32,
    /// The security's company and its number there, where it is asked for by these.
    pub by_company: Option<(u32, u32)>,
    pub trade_type: u8,
    pub quantity: u32,
    pub is_cash: bool,
    pub is_lifo: bool,
    /// The price asked for, in ten-thousandths of the market's.
    pub limit: u32,
    pub second: u64,
    pub rolls_back: bool,
}

/// What the rows of account, customer and broker say.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Owner {
    pub customer: u32,
    pub broker: u32,
    pub tier: u8,
    pub tax_status: u8,
    pub balance: i64,
    /// The length of the broker's name.
    pub name: usize,
}

/// What a trade would cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimate {
    pub price: u32,
    pub charge: u32,
    pub commission: u32,
    pub tax: u32,
}

impl Request {
    pub fn run<T: Transaction + ?Sized>(&self, tables: &Tables, tx: &mut T) -> Result<u64> {
        let owner = self.owner(tables, tx)?;
        let (security, exchange) = self.security(tables, tx)?;
        let estimate = self.estimate(tables, tx, &owner, security, exchange)?;
        let worth = if self.is_cash { 0 } else { assets(tables, tx, self.account)? };
        let number = next(tables, tx, self.partition)?;
        self.insert(tables, tx, number, &owner, &estimate)?;
        if self.rolls_back {
            return Err(Error::RolledBack);
        }
        Ok(self.shown(number, &owner, &estimate, worth))
    }

    /// The tax number of another one than the owner, who needs a permission.
    pub fn other(&self) -> Option<text::TaxId> {
        let is_other = self.executor != super::rules::customer_of(self.account);
        is_other.then(|| text::tax_id(self.executor))
    }

    fn owner<T: Transaction + ?Sized>(&self, tables: &Tables, tx: &mut T) -> Result<Owner> {
        let row = present(tx.get(tables.customer_account, &key::one(self.account))?)?;
        let mut owner = Owner::default();
        owner.account(tx.bytes(row)?);
        let (customer, broker) = (key::one(owner.customer), key::one(owner.broker));
        let permission = self.other().map(|tax_id| key::permission(self.account, &tax_id));
        let permission_key: &[u8] = permission.as_ref().map_or(&[], |key| key);
        let gets = [
            Get::read(tables.customer, &customer),
            Get::read(tables.broker, &broker),
            Get::read(tables.account_permission, permission_key),
        ];
        let count = if permission.is_some() { 3 } else { 2 };
        let mut rows = [None; 3];
        tx.get_many(&gets[..count], &mut rows[..count])?;
        owner.tier = customer::C_TIER.get(tx.bytes(present(rows[0])?)?);
        owner.name = broker::B_NAME.get(tx.bytes(present(rows[1])?)?).len();
        if permission.is_some() {
            present(rows[2])?;
        }
        Ok(owner)
    }

    /// The number of the security, and its exchange.
    fn security<T: Transaction + ?Sized>(&self, tables: &Tables, tx: &mut T) -> Result<(u32, u8)> {
        let row = match self.by_company {
            None => present(tx.get(tables.security, &key::one(self.security))?)?,
            Some((company, number)) => {
                let bounds = NameBounds::new(company);
                let found = tx.scan_index(tables.company, BY_NAME, bounds.range())?;
                let entry = *present(tx.entries(found)?.first())?;
                let company = company::CO_ID.get(tx.bytes(entry.row)?);
                let issue = key::issue(company, &text::issue(number));
                let range = Range::closed(&issue, &issue);
                let found = tx.scan_index(tables.security, BY_COMPANY, range)?;
                present(tx.entries(found)?.first())?.row
            }
        };
        let row = tx.bytes(row)?;
        Ok((security::S_ID.get(row), security::S_EX_ID.get(row)))
    }

    fn estimate<T: Transaction + ?Sized>(
        &self,
        tables: &Tables,
        tx: &mut T,
        owner: &Owner,
        security: u32,
        exchange: u8,
    ) -> Result<Estimate> {
        let (last, kind) = (key::one(security), [self.trade_type]);
        let charge = key::charge(self.trade_type, owner.tier);
        let position = key::two(self.account, security);
        let gets = [
            Get::read(tables.last_trade, &last),
            Get::read(tables.trade_type, &kind),
            Get::read(tables.charge, &charge),
            Get::read(tables.holding_summary, &position),
        ];
        let mut rows = [None; 4];
        tx.get_many(&gets, &mut rows)?;
        let market = last_trade::LT_PRICE.get(tx.bytes(present(rows[0])?)?);
        let kind = tx.bytes(present(rows[1])?)?;
        let price = self.price(market, trade_type::TT_IS_MRKT.get(kind) != 0);
        let is_sell = trade_type::TT_IS_SELL.get(kind) != 0;
        let charge = charge::CH_CHRG.get(tx.bytes(present(rows[2])?)?);
        let held = rows[3]
            .map_or(Ok(0), |row| tx.bytes(row).map(|row| holding_summary::HS_QTY.get(row)))?;

        let mut settling = Settling::new(is_sell, self.quantity, price);
        if settling.meets(held) {
            let holdings = self.holdings(security);
            holdings.settle(tables, tx, &mut settling, &mut |_, _, _| {})?;
        }
        let mut tax = 0;
        if settling.is_taxed(owner.tax_status) {
            tax = settling.tax(owner.tax_status, taxes(tables, tx, owner.customer)?);
        }
        let rate = commission_rate(tables, tx, self.rate_of(owner.tier, exchange))?;
        let commission = commission(value(self.quantity.into(), price), rate);
        Ok(Estimate { price, charge, commission, tax })
    }

    /// The price at which it would be traded.
    pub fn price(&self, market: u32, is_market: bool) -> u32 {
        if is_market { market } else { scaled(market, self.limit) }
    }

    pub fn holdings(&self, security: u32) -> HoldingsOf {
        let Self { account, is_lifo, quantity, .. } = *self;
        HoldingsOf { account, security, is_lifo, quantity }
    }

    pub fn rate_of(&self, tier: u8, exchange: u8) -> RateOf {
        let Self { trade_type, quantity, .. } = *self;
        RateOf { tier, trade_type, exchange, quantity }
    }

    /// The trade as a row.
    pub fn order(&self, price: u32, charge: u32) -> Order {
        Order {
            account: self.account,
            security: self.security,
            trade_type: self.trade_type,
            is_cash: self.is_cash,
            is_lifo: self.is_lifo,
            quantity: self.quantity,
            bid: price,
            charge,
            executor: self.executor,
            second: self.second,
        }
    }

    fn insert<T: Transaction + ?Sized>(
        &self,
        tables: &Tables,
        tx: &mut T,
        number: u64,
        owner: &Owner,
        estimate: &Estimate,
    ) -> Result<()> {
        let order = self.order(estimate.price, estimate.charge);
        let key = key::trade(number);
        free(tx.insert(tables.trade, &key, &order.row()))?;
        let state = key::state(number, order.status());
        free(tx.insert(tables.trade_history, &state, &rows::dated(self.second)))?;
        free(tx.insert(tables.trade_account, &key::trade_by(self.account, number), &[]))?;
        free(tx.insert(tables.trade_security, &key::trade_by(self.security, number), &[]))?;
        free(tx.insert(tables.trade_queue, &key::trade_by(owner.broker, number), &[]))?;
        if order.status() == status::PENDING {
            free(tx.insert(tables.trade_request, &key, &order.request(owner.broker)))?;
        }
        Ok(())
    }

    pub fn shown(&self, number: u64, owner: &Owner, estimate: &Estimate, worth: i64) -> u64 {
        let Estimate { price, charge, commission, tax } = *estimate;
        let worth = if self.is_cash { 0 } else { worth.wrapping_add(owner.balance) };
        let costs = u64::from(charge) << 32 | u64::from(price);
        let others = u64::from(commission) << 32 | u64::from(tax);
        fold(&[number, costs, others, worth as u64, owner.name as u64])
    }
}

impl Owner {
    /// Notes what the row of CUSTOMER_ACCOUNT says.
    pub fn account(&mut self, row: &[u8]) {
        self.customer = customer_account::CA_C_ID.get(row);
        self.broker = customer_account::CA_B_ID.get(row);
        self.tax_status = customer_account::CA_TAX_ST.get(row);
        self.balance = customer_account::CA_BAL.get(row);
    }
}

/// The bounds of a company in the index by name: a text ends with a byte of zero, and others.
pub(super) struct NameBounds([Line; 2]);

impl NameBounds {
    pub fn new(company: u32) -> Self {
        let name = text::company_name(company);
        Self([0, 1].map(|end| Line::of(&[name.bytes(), &[end]])))
    }

    pub fn range(&self) -> Range<'_> {
        Range::between(self.0[0].bytes(), self.0[1].bytes()).limit(1)
    }
}

/// The bounds of the trades of a partition.
pub(super) fn trades_of(partition: u32) -> [[u8; 8]; 2] {
    [partition, partition + 1].map(|it| key::trade(key::trade_of(it, 0)))
}

/// The number after the greatest one of a partition's trades.
fn next<T: Transaction + ?Sized>(tables: &Tables, tx: &mut T, partition: u32) -> Result<u64> {
    let [low, high] = trades_of(partition);
    let scanned = tx.scan(tables.trade, Range::between(&low, &high).reverse().limit(1))?;
    let entry = *present(tx.entries(scanned)?.first())?;
    Ok(key::last_trade(tx.key(entry)?).wrapping_add(1))
}
