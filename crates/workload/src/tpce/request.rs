//! One client of TPC-E: how it makes up a request, and what it was shown.
//!
//! Choices are our own: customers are chosen by TPC-C's non-uniform numbers, what belongs to them uniformly.

use super::load::opening;
use super::rules::{Rules, customer_of, executor};
use super::schema::Tables;
use super::{Tpce, customer_position, market_watch, trade_order, trade_result, trade_status};
use super::{trade_update, trading};
use crate::random::{Chance, Random};
use crate::tpcc::random::nurand;
use crate::{ClientId, Shape};
use chiliad_api::{Result, Transaction};

/// What a client asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Request {
    CustomerPosition(customer_position::Request),
    MarketWatch(market_watch::Request),
    TradeStatus(trade_status::Request),
    TradeOrder(trade_order::Request),
    TradeUpdate(trade_update::Request),
    TradeResult(trade_result::Request),
}

/// One client: its random numbers and the request in hand.
pub struct Client {
    pub(super) tables: Tables,
    pub(super) rules: Rules,
    random: Random,
    /// Its own partition.
    home: u32,
    /// The date of its next request.
    second: u64,
    pub(super) request: Request,
    /// What it was shown, folded into a number.
    shown: u64,
    /// Whether the last transaction found what it was to act on.
    found: bool,
}

/// The chance that a customer is asked for by tax number, in percent.
const BY_TAX: f64 = 50.0;
/// The chance that a customer's position comes with the history of an account, in percent.
const WITH_HISTORY: f64 = 50.0;
/// The chance that a security is asked for by the name of its company, in percent.
const BY_COMPANY: f64 = 40.0;
/// The chance that an order is rolled back, in percent.
const ROLLED_BACK: f64 = 1.0;

impl Client {
    pub(super) fn new(tpce: &Tpce, tables: Tables, client_id: ClientId) -> Self {
        let rules = tpce.rules;
        Self {
            tables,
            rules,
            random: Random::new(client_id.seed, 0x7bce_0000_0000 + client_id.index as u64),
            home: client_id.home as u32 % rules.partitions,
            second: opening(&rules) + client_id.index as u64,
            request: Request::TradeStatus(trade_status::Request::default()),
            shown: 0,
            found: false,
        }
    }

    /// What the last transaction has shown, folded into a number.
    #[must_use]
    pub fn shown(&self) -> u64 {
        self.shown
    }

    /// Whether the last transaction found what it was to act on: trade-result finds no trade where none is submitted.
    #[must_use]
    pub fn found(&self) -> bool {
        self.found
    }

    /// The index of the request's kind in [`super::Tpce`]'s list of them.
    #[must_use]
    pub fn kind(&self) -> usize {
        match self.request {
            Request::CustomerPosition(_) => 0,
            Request::MarketWatch(_) => 1,
            Request::TradeStatus(_) => 2,
            Request::TradeOrder(_) => 3,
            Request::TradeUpdate(_) => 4,
            Request::TradeResult(_) => 5,
        }
    }

    /// Random choices that the request took.
    pub(super) fn draws(&self) -> u32 {
        match &self.request {
            Request::CustomerPosition(_) | Request::MarketWatch(_) => 4,
            Request::TradeStatus(_) | Request::TradeResult(_) => 3,
            Request::TradeOrder(_) => 11,
            Request::TradeUpdate(request) => 2 + request.draws(),
        }
    }

    #[inline]
    pub(super) fn draw(&mut self, tpce: &Tpce, partitions: &mut Vec<u32>) -> Shape {
        partitions.push(self.home);
        self.second += 1;
        let drawn = self.random.below(1000);
        self.request = match tpce.sums.iter().filter(|&&sum| sum <= drawn).count() {
            0 => Request::CustomerPosition(self.draw_position()),
            1 => Request::MarketWatch(self.draw_watch()),
            2 => Request::TradeStatus(trade_status::Request { account: self.any_account() }),
            3 => Request::TradeOrder(self.draw_order()),
            4 => Request::TradeUpdate(self.draw_update()),
            _ => Request::TradeResult(self.draw_result()),
        };
        let kind = self.kind();
        let read_only = kind <= 2;
        Shape { kind, read_only, snapshot: read_only && tpce.options().snapshot_reads }
    }

    #[inline]
    pub(super) fn run<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        let (rules, tables) = (&self.rules, &self.tables);
        let shown = match &self.request {
            Request::CustomerPosition(request) => Some(request.run(rules, tables, tx)?),
            Request::MarketWatch(request) => Some(request.run(rules, tables, tx)?),
            Request::TradeStatus(request) => Some(request.run(rules, tables, tx)?),
            Request::TradeOrder(request) => Some(request.run(tables, tx)?),
            Request::TradeUpdate(request) => Some(request.run(rules, tables, tx)?),
            Request::TradeResult(request) => request.run(tables, tx)?,
        };
        self.found = shown.is_some();
        self.shown = shown.unwrap_or(0);
        Ok(())
    }

    /// A customer of the client's partition.
    fn any_customer(&mut self) -> u32 {
        let brokers = self.rules.brokers_of(self.home);
        let first = self.rules.customers_of_broker(brokers.start).start;
        let last = self.rules.customers_of_broker(brokers.end - 1).end - 1;
        let skew = ((last - first) / 4).next_power_of_two() - 1;
        nurand(&mut self.random, skew, 0, first, last)
    }

    fn any_account(&mut self) -> u32 {
        let customer = self.any_customer();
        self.account_of(customer)
    }

    fn account_of(&mut self, customer: u32) -> u32 {
        let accounts = self.rules.accounts_of(customer);
        accounts.start + self.random.below(accounts.len() as u32)
    }

    fn security_of(&mut self, account: u32) -> u32 {
        let basket = self.rules.basket(account);
        basket.start + self.random.below(basket.len() as u32)
    }

    fn chance(&mut self, percent: f64) -> bool {
        self.random.chance(Chance::percent(percent))
    }

    fn draw_position(&mut self) -> customer_position::Request {
        let customer = self.any_customer();
        let account = self.account_of(customer);
        customer_position::Request {
            customer,
            by_tax: self.chance(BY_TAX),
            history: self.chance(WITH_HISTORY).then_some(account),
        }
    }

    fn draw_watch(&mut self) -> market_watch::Request {
        let of = match self.random.below(100) {
            0..60 => market_watch::Of::List(self.any_customer()),
            60..95 => market_watch::Of::Account(self.any_account()),
            _ => {
                let all = self.rules.companies_of(self.home);
                let most = (all.len() as u32).min(self.rules.sizes.companies);
                let first = all.start + self.random.below(all.len() as u32 - most + 1);
                let industry = self.random.below(self.rules.sizes.industries) as u16;
                market_watch::Of::Industry { industry, companies: (first, first + most - 1) }
            }
        };
        market_watch::Request { of, day: self.random.below(self.rules.sizes.days) }
    }

    fn draw_order(&mut self) -> trade_order::Request {
        let account = self.any_account();
        let security = self.security_of(account);
        let owner = customer_of(account);
        let by_other = self.chance(super::load::BY_OTHERS);
        let by_company = self.chance(BY_COMPANY).then(|| {
            let company = self.rules.company_of(security);
            (company, security - self.rules.securities_of_company(company).start)
        });
        trade_order::Request {
            partition: self.home,
            account,
            executor: if by_other { executor(&self.rules, account) } else { owner },
            security,
            by_company,
            trade_type: trading::draw_type(&mut self.random),
            quantity: trading::draw_quantity(&mut self.random),
            is_cash: self.chance(super::load::CASH),
            is_lifo: self.random.below(2) == 1,
            limit: self.random.range(9_800, 10_200),
            second: self.second,
            rolls_back: self.chance(ROLLED_BACK),
        }
    }

    fn draw_update(&mut self) -> trade_update::Request {
        let trades = self.rules.trades_of(self.home);
        let from = 1 + self.random.below_u64(trades);
        match self.random.below(3) {
            0 => {
                let seed = self.random.bits();
                trade_update::Request::executors(self.home, trades, self.rules.sizes.updates, seed)
            }
            1 => trade_update::Request::settlements(self.home, self.any_account(), from),
            _ => {
                let account = self.any_account();
                trade_update::Request::cash(self.home, self.security_of(account), from)
            }
        }
    }

    fn draw_result(&mut self) -> trade_result::Request {
        let brokers = self.rules.brokers_of(self.home);
        trade_result::Request {
            broker: brokers.start + self.random.below(brokers.len() as u32),
            moves: self.random.range(9_900, 10_100),
            second: self.second,
        }
    }
}
