//! `UPDATE` and `DELETE`.

use super::table::{find, handle_of, handles, transaction};
use super::{Flow, all_hold, join, value_of, values};
use crate::catalog::Table;
use crate::datum::{Datum, OwnedDatum, owned};
use crate::error::{Result, SqlError};
use crate::execute::RowSink;
use crate::expr::{Context, Expr, eval};
use crate::faults::MOVED_ROW_STAYS;
use crate::plan::{Access, Change, Checks, Source, columns_of};
use crate::result_row::ResultRow;
use crate::spare;
use crate::storage::same;
use chiliad_api::Row;
use std::collections::HashSet;

/// Changes the rows that the statement says, and returns how many. All are found before the first one is changed.
pub(crate) fn change(change: &Change, cx: &Context<'_>, sink: &mut dyn RowSink) -> Result<u64> {
    if let Some((source, access)) = join::one_table(&change.select) {
        return change_alone(change, source, access, cx, sink);
    }
    let handle = change.table.columns.len();
    let mut found: Vec<Vec<OwnedDatum>> = Vec::new();
    let mut seen = HashSet::new();
    join::rows(&change.select, &[], None, cx, &mut |row| {
        let Some(Datum::Int(number)) = row.get(handle) else {
            return Err(SqlError::internal("a row without a handle"));
        };
        if seen.insert(key_of(*number, cx)?) {
            let row = owned(row);
            cx.keep(&row)?;
            found.push(row);
        }
        Ok(Flow::More)
    })?;
    let mut count = 0;
    for mut row in found {
        let handle = handle_of(row.get(handle).unwrap_or(&Datum::Null))?;
        change_row(change, handle, &mut row, cx, sink)?;
        count += 1;
    }
    Ok(count)
}

/// As [`change`], of rows that are joined to none: what most statements change, without what others need around it.
fn change_alone(
    change: &Change,
    source: &Source,
    access: &Access,
    cx: &Context<'_>,
    sink: &mut dyn RowSink,
) -> Result<u64> {
    if !all_hold(&change.select.conditions, &[], cx)? {
        return Ok(0);
    }
    let mut row = spare::take(|it| &it.row);
    row.resize_with(change.select.width, Datum::default);
    let count = match access.path.one_key() {
        Some(key) => match find(access, key, &[], cx)? {
            Some(handle) if meets(source, access, handle, &mut row, cx)? => {
                change_row(change, handle, &mut row, cx, sink)?;
                1
            }
            _ => 0,
        },
        None => change_found(change, source, access, &mut row, cx, sink)?,
    };
    spare::give_back(|it| &it.row, row);
    Ok(count)
}

/// As [`change_alone`], along any path: each row is found once, and has its values in `row` when its turn comes.
fn change_found(
    change: &Change,
    source: &Source,
    access: &Access,
    row: &mut Vec<OwnedDatum>,
    cx: &Context<'_>,
    sink: &mut dyn RowSink,
) -> Result<u64> {
    let is_open = join::has_conditions(source);
    let mut found = Vec::new();
    handles(access, row, None, cx, &mut |row, handle| {
        cx.row()?;
        if !is_open || meets(source, access, handle, row, cx)? {
            cx.keep(&[])?;
            found.push(handle);
        }
        Ok(Flow::More)
    })?;
    let uses_values = change.assignments.is_some() || change.returning.is_some();
    for &handle in &found {
        if uses_values {
            join::fill(access, source, handle, row, cx)?;
        }
        change_row(change, handle, row, cx, sink)?;
    }
    Ok(found.len() as u64)
}

/// Puts the values of a row into its slots. Whether they meet the conditions of the source.
fn meets(
    source: &Source,
    access: &Access,
    handle: Row,
    row: &mut [OwnedDatum],
    cx: &Context<'_>,
) -> Result<bool> {
    join::fill(access, source, handle, row, cx)?;
    join::is_wanted(source, row, cx)
}

/// Changes one row, which has been found.
fn change_row(
    change: &Change,
    handle: Row,
    row: &mut [OwnedDatum],
    cx: &Context<'_>,
    sink: &mut dyn RowSink,
) -> Result<()> {
    match &change.assignments {
        Some(assignments) => {
            let (table, checks) = (&*change.table, &change.checks);
            update(&Changed { table, assignments, checks }, handle, row, cx)?;
        }
        None => transaction(cx)?.remove_row(handle)?,
    }
    match &change.returning {
        Some(returning) => returned(returning, row, cx, sink),
        None => Ok(()),
    }
}

/// The key of a row by its handle: one row may be found by several.
fn key_of(number: i64, cx: &Context<'_>) -> Result<Vec<u8>> {
    let row = handle_of(&Datum::Int(number))?;
    Ok(cx.transaction.borrow().row_key(row)?.to_vec())
}

/// Gives a row of RETURNING to the sink.
pub(super) fn returned(
    returning: &[Expr],
    row: &[Datum<'_>],
    cx: &Context<'_>,
    sink: &mut dyn RowSink,
) -> Result<()> {
    sink.row(ResultRow::all(&values(returning, row, cx)?))
}

/// What an update does with a row.
pub(super) struct Changed<'c> {
    pub table: &'c Table,
    /// By places of columns.
    pub assignments: &'c [(usize, Expr)],
    pub checks: &'c Checks,
}

/// Refuses a row for which a condition of its table is false.
pub(super) fn check(
    table: &Table,
    checks: &Checks,
    row: &[Datum<'_>],
    cx: &Context<'_>,
) -> Result<()> {
    match fails(checks, row, cx)? {
        Some(name) => Err(table.violates(name, row)),
        None => Ok(()),
    }
}

/// The first condition that is false for a row.
fn fails<'c>(checks: &'c Checks, row: &[Datum<'_>], cx: &Context<'_>) -> Result<Option<&'c str>> {
    for (name, condition) in checks {
        if matches!(eval(condition, row, cx)?, Datum::Bool(false)) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Gives a row its new values, in `row` as well; they are made of those that `row` begins with.
pub(super) fn update(
    changed: &Changed<'_>,
    handle: Row,
    row: &mut [OwnedDatum],
    cx: &Context<'_>,
) -> Result<()> {
    let mut bytes = spare::take(|it| &it.bytes);
    let moves = encode(changed, handle, row, cx, &mut bytes)?;
    let Changed { table, assignments, .. } = *changed;
    let mut tx = transaction(cx)?;
    if moves {
        let columns = row.get(..table.columns.len()).unwrap_or_default();
        let key = table.key_of(columns, None)?;
        if !cx.fault(&MOVED_ROW_STAYS) {
            tx.remove_row(handle)?;
        }
        tx.insert(table.id, &key, &bytes)?;
    } else {
        tx.update_columns(handle, &bytes, columns_of(table, assignments))?;
    }
    spare::give_back(|it| &it.bytes, bytes);
    Ok(())
}

/// Puts the new values of a row into `row`, and its bytes with them into `bytes`. Whether it moves to another key.
pub(super) fn encode(
    changed: &Changed<'_>,
    handle: Row,
    row: &mut [OwnedDatum],
    cx: &Context<'_>,
    bytes: &mut Vec<u8>,
) -> Result<bool> {
    let Changed { table, assignments, checks } = *changed;
    let mut values = spare::take(|it| &it.values);
    for (_, expr) in assignments {
        values.push(value_of(expr, row, cx)?);
    }
    let mut moves = false;
    for ((place, _), value) in assignments.iter().zip(values.drain(..)) {
        moves |= table.key.contains(place) && !same(&row[*place], &value);
        row[*place] = value;
    }
    spare::give_back(|it| &it.values, values);
    let columns = row.get(..table.columns.len()).unwrap_or_default();
    let is_missing = |place: usize| columns[place].is_null() && !table.columns[place].is_nullable;
    let mut refused = assignments.iter().any(|(place, _)| is_missing(*place));
    if !refused {
        refused = fails(checks, columns, cx)?.is_some();
    }
    if refused {
        return Err(refusal(changed, handle, columns, cx)?);
    }
    if assignments.iter().any(|(place, _)| table.key.contains(place)) {
        table.encode(columns, bytes)?;
    } else {
        let tx = cx.transaction.borrow();
        let body = table.body(tx.bytes(handle)?)?;
        let is_changed = |at| assignments.iter().any(|(place, _)| *place == at);
        table.encode_changed(&body, columns, is_changed, bytes)?;
    }
    Ok(moves)
}

/// The error for new values of a row that its table does not take. They are told with those that the statement has not
/// looked at.
#[cold]
fn refusal(
    changed: &Changed<'_>,
    handle: Row,
    columns: &[Datum<'_>],
    cx: &Context<'_>,
) -> Result<SqlError> {
    let Changed { table, assignments, checks } = *changed;
    let tx = cx.transaction.borrow();
    let (key, body) = (tx.row_key(handle)?, table.body(tx.bytes(handle)?)?);
    let mut row = Vec::with_capacity(columns.len());
    table.decode(key, &body, 0..columns.len(), &mut row)?;
    let mut row = owned(&row);
    drop(tx);
    for (place, _) in assignments {
        row[*place] = columns[*place].borrowed().into_owned();
    }
    let refused = table.check_nulls(&row).and_then(|()| check(table, checks, &row, cx));
    Ok(refused.err().unwrap_or_else(|| SqlError::internal("a row that is refused for nothing")))
}
