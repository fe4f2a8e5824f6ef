//! The conditions of a bank at rest (TPC-B, clause 2.3.3.1), each read by SQL:
//!
//! - `tellers`: each branch has the balance that its tellers have together;
//! - `history`: each branch has the balance that the rows of HISTORY have brought it;
//! - `accounts`: there are as many as at first, and together they have what the branches have;
//! - `index`, at micro scale: the index of the accounts of branches has these same accounts.

use super::statements::Statement;
use super::{Connection, TpcbOptions};
use crate::sql::connection::{int, numbers};
use crate::{Condition, RunReadOnly};
use chiliad_api::Result;
use std::collections::BTreeMap;

/// Numbers of accounts, or of a client's rows of HISTORY, of one transaction.
const CHUNK: i64 = 4096;

/// Looks at all of them.
///
/// # Errors
/// Those of the transactions.
pub(super) fn check(
    options: &TpcbOptions,
    connection: &Connection,
    run: &mut RunReadOnly<'_>,
) -> Result<Vec<Condition>> {
    let mut unlike = None;
    run(&mut |tx| {
        unlike = None;
        connection.each(tx, Statement::Unlike, &[], &mut |row| {
            let [branch, balance, tellers] = numbers(row);
            let what = || format!("branch {branch} has {balance}, its tellers {tellers}");
            unlike.get_or_insert_with(what);
        })?;
        Ok(())
    })?;
    let mut branches = Vec::new();
    run(&mut |tx| {
        branches.clear();
        connection
            .each(tx, Statement::Branches, &[], &mut |row| branches.push(numbers::<2>(row)))?;
        Ok(())
    })?;
    let held: i64 = branches.iter().map(|[_, balance]| balance).sum();
    let brought = brought(connection, run)?;
    let wrong = (1..=i64::from(options.branches)).find_map(|branch| {
        let found = branches.iter().find(|[number, _]| *number == branch);
        let balance = found.map(|[_, balance]| *balance);
        let noted = brought.get(&branch).copied().unwrap_or(0);
        let what = || format!("branch {branch} has {balance:?}, its rows of HISTORY {noted}");
        (balance != Some(noted)).then(what)
    });
    let expected = [i64::from(options.branches * options.accounts()), held];
    let found = accounts(options, connection, run)?;
    let mut all = vec![
        ("tellers", unlike),
        ("history", wrong),
        ("accounts", differs("the accounts", found, expected)),
    ];
    if options.micro {
        let found = by_index(options, connection, run)?;
        all.push(("index", differs("the index of accounts", found, expected)));
    }
    let named = |(name, failure): (&str, _)| Condition { name: name.into(), failure };
    Ok(all.into_iter().map(named).collect())
}

fn differs(what: &str, found: [i64; 2], expected: [i64; 2]) -> Option<String> {
    let [count, total] = found;
    let message = || {
        let [accounts, held] = expected;
        format!(
            "{what}: {count} with {total} in all; there are {accounts}, and the branches have {held}"
        )
    };
    (found != expected).then(message)
}

/// How many accounts there are by their numbers, and what they have.
fn accounts(
    options: &TpcbOptions,
    connection: &Connection,
    run: &mut RunReadOnly<'_>,
) -> Result<[i64; 2]> {
    let mut all = [0; 2];
    let mut first = 1;
    while first <= i64::from(options.numbers()) {
        let range = [int(first), int(first + CHUNK - 1)];
        first += CHUNK;
        let mut part = [0; 2];
        run(&mut |tx| {
            part = connection.numbers(tx, Statement::Accounts, &range)?.unwrap_or_default();
            Ok(())
        })?;
        all = [all[0] + part[0], all[1] + part[1]];
    }
    Ok(all)
}

/// The same, by the index of the branches' accounts.
fn by_index(
    options: &TpcbOptions,
    connection: &Connection,
    run: &mut RunReadOnly<'_>,
) -> Result<[i64; 2]> {
    let mut all = [0; 2];
    for branch in 1..=options.branches {
        let mut part = [0; 2];
        run(&mut |tx| {
            let found = connection.numbers(tx, Statement::AuditAccounts, &[int(branch)])?;
            part = found.unwrap_or_default();
            Ok(())
        })?;
        all = [all[0] + part[0], all[1] + part[1]];
    }
    Ok(all)
}

/// What the rows of HISTORY have brought each branch.
fn brought(connection: &Connection, run: &mut RunReadOnly<'_>) -> Result<BTreeMap<i64, i64>> {
    let mut all = BTreeMap::new();
    let mut client = -1;
    loop {
        let (mut next, mut last) = (None, [0]);
        run(&mut |tx| {
            next = connection.numbers(tx, Statement::NextClient, &[int(client)])?;
            if let Some([next]) = next {
                last = connection.numbers(tx, Statement::Last, &[int(next)])?.unwrap_or_default();
            }
            Ok(())
        })?;
        let Some([found]) = next else { return Ok(all) };
        client = found;
        let mut first = 0;
        while first <= last[0] {
            let range = [int(client), int(first), int(first + CHUNK - 1)];
            first += CHUNK;
            let mut part = Vec::new();
            run(&mut |tx| {
                part.clear();
                connection
                    .each(tx, Statement::Brought, &range, &mut |row| part.push(numbers(row)))?;
                Ok(())
            })?;
            for [branch, amount] in part {
                *all.entry(branch).or_default() += amount;
            }
        }
    }
}
