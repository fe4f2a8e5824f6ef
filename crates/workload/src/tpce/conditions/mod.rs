//! The conditions of a brokerage house at rest: our own, such as an auditor would ask for. Tables are walked in pieces, each
//! in a transaction of its own.
//!
//! - `trades`: trades of a partition are numbered without a gap; each has gone through the states that led to its own, is found
//!   by its account and by its security, waits in its broker's queue unless it is completed, and has a request while
//!   it waits for its price; and no such row is of another trade;
//! - `brokers`: each counts the completed trades of its customers, and their commissions;
//! - `cash`: each completed trade is settled by what it brings, and paid if it is for cash; each account has what it was opened
//!   with and the payments of its trades;
//! - `holdings`: each position is the sum of the account's holdings of the security, all of one sign and none of nothing;
//! - `history`: changes of a holding follow each other, from nothing to what is left of it, and the changes that a trade
//!   made are as many shares as it was of;
//! - `volumes`: since the opening each security was traded as often as its completed trades say;
//! - `texts`: each text that corrections change has one of its two forms.

mod holdings;
mod trades;

use super::rules::Rules;
use super::schema::Tables;
use crate::{Condition, RunReadOnly};
use chiliad_api::Result;

/// The conditions, by their names in reports.
#[derive(Clone, Copy)]
enum Name {
    Trades,
    Brokers,
    Cash,
    Holdings,
    History,
    Volumes,
    Texts,
}

const NAMES: [&str; 7] = ["trades", "brokers", "cash", "holdings", "history", "volumes", "texts"];

/// The first violation of each.
#[derive(Default)]
struct Findings([Option<String>; NAMES.len()]);

impl Findings {
    /// A condition must hold; `what` says what is wrong if it does not.
    fn demand(&mut self, name: Name, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.0[name as usize].get_or_insert_with(what);
        }
    }
}

/// Looks at all of them.
///
/// # Errors
/// Those of the transactions.
pub(super) fn check(
    rules: &Rules,
    tables: &Tables,
    run: &mut RunReadOnly<'_>,
) -> Result<Vec<Condition>> {
    let mut findings = Findings::default();
    let mut trades = trades::Trades::read(rules, tables, run, &mut findings)?;
    trades.ways(tables, run, &mut findings)?;
    trades.money(tables, run, &mut findings)?;
    holdings::check(tables, run, &mut trades, &mut findings)?;
    trades.judge(&mut findings);
    trades.totals(tables, run, &mut findings)?;
    let named = NAMES.into_iter().zip(findings.0);
    Ok(named.map(|(name, failure)| Condition { name: name.into(), failure }).collect())
}
