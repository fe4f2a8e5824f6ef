//! Market-watch: by how much a list of securities has gained since a day: those that a customer watches, those that an
//! account holds, or those of an industry.

use super::list::List;
use super::rules::{Rules, WATCHED_MAX};
use super::schema::{BY_COMPANY, BY_INDUSTRY, Tables, daily_market, key, last_trade, security};
use super::trading::fold;
use crate::workload::present;
use chiliad_api::{Get, Range, Result, TableId, Transaction};

/// Which securities.
#[derive(Clone, Copy, Debug)]
pub(super) enum Of {
    /// Those that a customer watches.
    List(u32),
    /// Those that an account holds.
    Account(u32),
    /// Those of an industry, of the companies from one to another.
    Industry { industry: u16, companies: (u32, u32) },
}

/// A list, and the day to compare with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub of: Of,
    pub day: u32,
}

/// What the securities were worth on the day, and what they are worth now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Caps {
    pub old: u64,
    pub new: u64,
}

impl Caps {
    /// Adds a security by its rows.
    pub fn add(&mut self, last_trade: &[u8], security: &[u8], day: &[u8]) {
        let [old, new] = [daily_market::DM_CLOSE.get(day), last_trade::LT_PRICE.get(last_trade)];
        self.add_security(security::S_NUM_OUT.get(security), old, new);
    }

    /// Adds so many shares at these prices.
    pub fn add_security(&mut self, shares: u64, old: u32, new: u32) {
        self.old = self.old.wrapping_add(shares.wrapping_mul(old.into()));
        self.new = self.new.wrapping_add(shares.wrapping_mul(new.into()));
    }

    /// What is shown of it.
    pub fn shown(&self) -> u64 {
        fold(&[self.old, self.new])
    }
}

/// Securities looked up in one group.
const GROUP: usize = 16;

impl Request {
    pub fn run<T: Transaction + ?Sized>(
        &self,
        rules: &Rules,
        tables: &Tables,
        tx: &mut T,
    ) -> Result<u64> {
        let mut securities = List::<u32, WATCHED_MAX>::new();
        match self.of {
            Of::List(of) => listed(tables.watch_item, of, tx, &mut securities)?,
            Of::Account(of) => listed(tables.holding_summary, of, tx, &mut securities)?,
            Of::Industry { industry, companies } => {
                let low = key::industry(industry, companies.0);
                let high = key::industry(industry, companies.1);
                let range = Range::closed(&low, &high).limit(rules.sizes.companies as usize);
                let scanned = tx.scan_index(tables.company, BY_INDUSTRY, range)?;
                let mut companies = List::<u32, WATCHED_MAX>::new();
                for &entry in tx.entries(scanned)? {
                    companies.push(key::primary(tx.key(entry)?));
                }
                for &company in companies.as_slice() {
                    let [low, high] = issues_of(company);
                    let range = Range::closed(&low, &high);
                    let scanned = tx.scan_index(tables.security, BY_COMPANY, range)?;
                    for entry in tx.entries(scanned)? {
                        securities.push(security::S_ID.get(tx.bytes(entry.row)?));
                    }
                }
            }
        }
        let mut caps = Caps::default();
        for group in securities.as_slice().chunks(GROUP) {
            self.add(tables, tx, group, &mut caps)?;
        }
        Ok(caps.shown())
    }

    /// Adds some securities, whose rows are looked up together.
    fn add<T: Transaction + ?Sized>(
        &self,
        tables: &Tables,
        tx: &mut T,
        group: &[u32],
        caps: &mut Caps,
    ) -> Result<()> {
        let mut keys = [([0; 4], [0; 8]); GROUP];
        for (keys, &security) in keys.iter_mut().zip(group) {
            *keys = (key::one(security), key::two(security, self.day));
        }
        let mut gets = [Get::read(tables.security, &[]); 3 * GROUP];
        for (gets, (security, day)) in gets.chunks_exact_mut(3).zip(&keys) {
            gets[0] = Get::read(tables.last_trade, security);
            gets[1] = Get::read(tables.security, security);
            gets[2] = Get::read(tables.daily_market, day);
        }
        let mut rows = [None; 3 * GROUP];
        let count = 3 * group.len();
        tx.get_many(&gets[..count], &mut rows[..count])?;
        for rows in rows[..count].chunks_exact(3) {
            let [last_trade, security, day] =
                [present(rows[0])?, present(rows[1])?, present(rows[2])?];
            caps.add(tx.bytes(last_trade)?, tx.bytes(security)?, tx.bytes(day)?);
        }
        Ok(())
    }
}

/// The bounds of a company's securities in their index.
pub(super) fn issues_of(company: u32) -> [[u8; 10]; 2] {
    [key::issue(company, &[0; 6]), key::issue(company, &[u8::MAX; 6])]
}

/// The securities that a customer watches, or an account holds.
fn listed<T: Transaction + ?Sized>(
    table: TableId,
    of: u32,
    tx: &mut T,
    securities: &mut List<u32, WATCHED_MAX>,
) -> Result<()> {
    let (low, high) = (key::two(of, 0), key::two(of, u32::MAX));
    let scanned = tx.scan(table, Range::closed(&low, &high))?;
    for &entry in tx.entries(scanned)? {
        securities.push(key::second(tx.key(entry)?));
    }
    Ok(())
}
