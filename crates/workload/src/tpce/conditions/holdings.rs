//! Positions, holdings and their changes.

use super::trades::Trades;
use super::{Findings, Name};
use crate::RunReadOnly;
use crate::each_row::each_row;
use crate::tpce::schema::{Tables, holding, holding_history, holding_summary, key};
use chiliad_api::Result;
use std::collections::BTreeMap;

/// Looks at them, and notes at each trade by how much it has changed holdings.
pub(super) fn check(
    tables: &Tables,
    run: &mut RunReadOnly<'_>,
    trades: &mut Trades<'_>,
    findings: &mut Findings,
) -> Result<()> {
    let held = sums(tables, run, trades, findings)?;
    changes(tables, run, held, trades, findings)
}

/// Compares positions with holdings. Returns the shares of each holding, by its trade.
fn sums(
    tables: &Tables,
    run: &mut RunReadOnly<'_>,
    trades: &Trades<'_>,
    findings: &mut Findings,
) -> Result<BTreeMap<u64, i64>> {
    let (mut held, mut sums) = (BTreeMap::new(), BTreeMap::<(u32, u32), i64>::new());
    each_row(tables.holding, run, &mut |key, row| {
        let (position, number) = ((key::first(key), key::second(key)), key::last_trade(key));
        let shares = holding::H_QTY.get(row);
        let sum = sums.entry(position).or_default();
        findings.demand(Name::Holdings, shares != 0 && *sum * shares.signum() >= 0, || {
            format!("account {} holds {sum} and {shares} of security {}", position.0, position.1)
        });
        *sum += shares;
        let of = trades.trades.get(&number).map(|it| (it.account, it.security));
        findings.demand(Name::Holdings, of == Some(position), || {
            format!("the holding of trade {number:#x} is of {of:?}, not {position:?}")
        });
        held.insert(number, shares);
    })?;
    each_row(tables.holding_summary, run, &mut |key, row| {
        let position = (key::first(key), key::second(key));
        let (found, sum) = (holding_summary::HS_QTY.get(row), sums.remove(&position));
        findings.demand(Name::Holdings, Some(found) == sum, || {
            format!("account and security {position:?}: {found} and not {sum:?}")
        });
    })?;
    let left = sums.pop_first();
    findings.demand(Name::Holdings, left.is_none(), || format!("without a position: {left:?}"));
    Ok(held)
}

/// Follows the changes of each holding.
fn changes(
    tables: &Tables,
    run: &mut RunReadOnly<'_>,
    mut held: BTreeMap<u64, i64>,
    trades: &mut Trades<'_>,
    findings: &mut Findings,
) -> Result<()> {
    // The holding whose changes are followed, and its shares.
    let mut current: Option<(u64, i64)> = None;
    let mut end = |(first, shares): (u64, i64), findings: &mut Findings| {
        let left = held.remove(&first).unwrap_or(0);
        findings.demand(Name::History, left == shares, || {
            format!("of the holding of trade {first:#x} {left} are left, not {shares}")
        });
    };
    each_row(tables.holding_history, run, &mut |key, row| {
        let (first, by) = (key::first_trade(key), key::last_trade(key));
        let before = holding_history::HH_BEFORE_QTY.get(row);
        let after = holding_history::HH_AFTER_QTY.get(row);
        let follows = match current {
            Some((number, shares)) if number == first => before == shares,
            _ => {
                current.take().into_iter().for_each(|it| end(it, findings));
                before == 0 && by == first
            }
        };
        findings.demand(Name::History, follows, || {
            format!("trade {by:#x} changes the holding of trade {first:#x} from {before}")
        });
        current = Some((first, after));
        match trades.trades.get_mut(&by) {
            Some(trade) => trade.changed += after - before,
            None => findings.demand(Name::History, false, || {
                format!("trade {by:#x} changes a holding and is not there")
            }),
        }
    })?;
    current.into_iter().for_each(|it| end(it, findings));
    let left = held.pop_first();
    findings
        .demand(Name::History, left.is_none(), || format!("a holding without a change: {left:?}"));
    Ok(())
}
