//! The rows of a table along its path.

use super::{Flow, value_of};
use crate::catalog::Table;
use crate::datum::Datum;
use crate::error::{Result, SqlError};
use crate::expr::{Context, Expr};
use crate::faults::{BOUND_LEFT_OUT, ORDER_TURNED};
use crate::plan::{Access, Path, RangePath};
use chiliad_api::{Get, Range, Row};
use chiliad_row::key::prefix_end;
use core::ops::{Bound, ControlFlow};

/// Rows of the first piece of a range whose end may not be reached, and of the largest.
const PIECE_MIN: usize = 64;
const PIECE_MAX: usize = 4096;
/// Rows that are looked up together.
const BATCH: usize = 256;

/// Calls `each` for the rows of a table that its path leads to; the conditions are not looked at. `row` is the row so
/// far, `wanted` the number of rows that are hoped for.
pub(super) fn handles(
    access: &Access,
    row: &[Datum<'_>],
    wanted: Option<usize>,
    cx: &Context<'_>,
    each: &mut dyn FnMut(Row) -> Result<Flow>,
) -> Result<Flow> {
    match &access.path {
        Path::Point(exprs) => {
            let Some(key) = key(access, None, exprs, row, cx)? else { return Ok(Flow::More) };
            let found = {
                let mut tx = transaction(cx)?;
                match access.for_update {
                    true => tx.get_for_update(access.table.id, &key)?,
                    false => tx.get(access.table.id, &key)?,
                }
            };
            found.map_or(Ok(Flow::More), each)
        }
        Path::Points(list) => points(access, list, row, cx, each),
        Path::Range(range) => {
            let Some((low, high)) = bounds(access, range, row, cx)? else { return Ok(Flow::More) };
            let index = range.index.map(|at| access.table.indexes[at].position);
            pieces(access, index, (low, high), wanted, cx, each)
        }
        Path::Full if !access.table.is_ordered => Err(SqlError::feature_not_supported(format!(
            "table \"{}\" finds rows by their whole key alone, and cannot be scanned",
            access.table.name
        ))),
        Path::Full => {
            let all = (Bound::Unbounded, Bound::Unbounded);
            pieces(access, None, all, wanted, cx, each)
        }
    }
}

/// The transaction, for an operation.
pub(super) fn transaction<'t, 'c>(
    cx: &'t Context<'c>,
) -> Result<std::cell::RefMut<'t, &'c mut dyn chiliad_api::Transaction>> {
    cx.transaction.try_borrow_mut().map_err(|_| SqlError::internal("the transaction is in use"))
}

/// The key of the table, or of one of its indexes, that begins with these values; `None`: no row has it.
pub(super) fn key_of<'v>(
    table: &Table,
    index: Option<usize>,
    values: impl IntoIterator<Item = Result<Datum<'v>>>,
) -> Result<Option<Vec<u8>>> {
    let mut key = Vec::new();
    for (part, value) in values.into_iter().enumerate() {
        let value = value?;
        if value.is_null() || !table.append_part(index, part, &value, &mut key)? {
            return Ok(None);
        }
    }
    Ok(Some(key))
}

/// As [`key_of`], of the values of expressions.
fn key(
    access: &Access,
    index: Option<usize>,
    exprs: &[Expr],
    row: &[Datum<'_>],
    cx: &Context<'_>,
) -> Result<Option<Vec<u8>>> {
    key_of(&access.table, index, exprs.iter().map(|it| value_of(it, row, cx)))
}

fn points(
    access: &Access,
    list: &[Vec<Expr>],
    row: &[Datum<'_>],
    cx: &Context<'_>,
    each: &mut dyn FnMut(Row) -> Result<Flow>,
) -> Result<Flow> {
    let mut keys = Vec::with_capacity(list.len());
    for exprs in list {
        keys.extend(key(access, None, exprs, row, cx)?);
    }
    // Each row once, in the order of keys.
    keys.sort_unstable();
    keys.dedup();
    let id = access.table.id;
    for keys in keys.chunks(BATCH) {
        let get = |key| Get { table: id, key, for_update: access.for_update };
        let gets: Vec<Get<'_>> = keys.iter().map(Vec::as_slice).map(get).collect();
        let mut rows = vec![None; gets.len()];
        transaction(cx)?.get_many(&gets, &mut rows)?;
        for row in rows.into_iter().flatten() {
            if each(row)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
    }
    Ok(Flow::More)
}

type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// The bytes between which a range lies; `None`: it is empty.
fn bounds(
    access: &Access,
    range: &RangePath,
    row: &[Datum<'_>],
    cx: &Context<'_>,
) -> Result<Option<Bounds>> {
    let table = &*access.table;
    let Some(prefix) = key(access, range.index, &range.prefix, row, cx)? else { return Ok(None) };
    let part = range.prefix.len();
    let (mut low, mut high) = (Bound::Included(prefix.clone()), after(&prefix));
    for (bound, is_low) in [(&range.low, true), (&range.high, false)] {
        let Some((expr, included)) = bound else { continue };
        let value = value_of(expr, row, cx)?;
        if value.is_null() {
            return Ok(None);
        }
        let mut key = prefix.clone();
        // A value that the column cannot have bounds nothing here; the condition is looked at for each row.
        if !table.append_part(range.index, part, &value, &mut key)? {
            continue;
        }
        match (is_low != table.part_descends(range.index, part), included) {
            (true, true) => low = Bound::Included(key),
            (true, false) => {
                low = match prefix_end(&key) {
                    Some(end) => Bound::Included(end),
                    None => return Ok(None),
                }
            }
            (false, true) if !cx.fault(&BOUND_LEFT_OUT) => high = after(&key),
            (false, _) => high = Bound::Excluded(key),
        }
    }
    Ok(Some((low, high)))
}

/// The end of all keys that begin so.
pub(super) fn after(prefix: &[u8]) -> Bound<Vec<u8>> {
    prefix_end(prefix).map_or(Bound::Unbounded, Bound::Excluded)
}

/// Takes the key and the bytes of a row.
pub(super) type Shown<'e> = dyn FnMut(&[u8], &[u8]) -> Result<Flow> + 'e;

/// Calls `each` with the keys and bytes of all rows of a range, or of all rows, and keeps none of them.
pub(super) fn visit(access: &Access, cx: &Context<'_>, each: &mut Shown<'_>) -> Result<Flow> {
    let (index, (low, high)) = match &access.path {
        Path::Range(range) => match bounds(access, range, &[], cx)? {
            Some(bounds) => (range.index.map(|at| access.table.indexes[at].position), bounds),
            None => return Ok(Flow::More),
        },
        _ => (None, (Bound::Unbounded, Bound::Unbounded)),
    };
    if is_empty(&low, &high) {
        return Ok(Flow::More);
    }
    let range = Range {
        low: low.as_ref().map(Vec::as_slice),
        high: high.as_ref().map(Vec::as_slice),
        reverse: access.reverse,
        limit: usize::MAX,
    };
    let mut over = Ok(Flow::More);
    let mut show = |key: &[u8], bytes: &[u8]| {
        over = cx.row().and_then(|()| each(key, bytes));
        match over {
            Ok(Flow::More) => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    };
    let mut tx = transaction(cx)?;
    match index {
        None => tx.visit(access.table.id, range, &mut show)?,
        Some(index) => {
            tx.visit_index(access.table.id, index, range, &mut |_, key, bytes| show(key, bytes))?;
        }
    }
    over
}

/// The rows of a range, in pieces, since whoever asks may have enough of them.
fn pieces(
    access: &Access,
    index: Option<usize>,
    bounds: Bounds,
    wanted: Option<usize>,
    cx: &Context<'_>,
    each: &mut dyn FnMut(Row) -> Result<Flow>,
) -> Result<Flow> {
    let (mut low, mut high) = bounds;
    let reverse = access.reverse != cx.fault(&ORDER_TURNED);
    let mut piece = match wanted {
        Some(wanted) => wanted.clamp(1, PIECE_MAX),
        None => PIECE_MAX,
    };
    loop {
        cx.environment.borrow().check()?;
        if is_empty(&low, &high) {
            return Ok(Flow::More);
        }
        let range = Range {
            low: low.as_ref().map(Vec::as_slice),
            high: high.as_ref().map(Vec::as_slice),
            reverse,
            limit: piece,
        };
        let (rows, last) = scan(access, index, range, cx)?;
        let count = rows.len();
        for row in rows {
            if each(row)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        let Some(last) = last.filter(|_| count == piece) else { return Ok(Flow::More) };
        match reverse {
            true => high = Bound::Excluded(last),
            false => low = Bound::Excluded(last),
        }
        piece = (piece * 4).clamp(PIECE_MIN, PIECE_MAX);
    }
}

/// The rows of one piece, to be written if that is meant, and its last key.
fn scan(
    access: &Access,
    index: Option<usize>,
    range: Range<'_>,
    cx: &Context<'_>,
) -> Result<(Vec<Row>, Option<Vec<u8>>)> {
    let id = access.table.id;
    let mut tx = transaction(cx)?;
    let scanned = match index {
        None => tx.scan(id, range)?,
        Some(index) => tx.scan_index(id, index, range)?,
    };
    let entries = tx.entries(scanned)?;
    let last = entries.last().map(|it| tx.key(*it).map(<[u8]>::to_vec)).transpose()?;
    let rows: Vec<Row> = entries.iter().map(|it| it.row).collect();
    if !access.for_update {
        return Ok((rows, last));
    }
    let mut locked = Vec::with_capacity(rows.len());
    for row in rows {
        let key = tx.row_key(row)?.to_vec();
        locked.extend(tx.get_for_update(id, &key)?);
    }
    Ok((locked, last))
}

fn is_empty(low: &Bound<Vec<u8>>, high: &Bound<Vec<u8>>) -> bool {
    match (low, high) {
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (
            Bound::Included(low) | Bound::Excluded(low),
            Bound::Included(high) | Bound::Excluded(high),
        ) => low >= high,
        _ => false,
    }
}

/// The slot that keeps the handle of a row, after the table's columns.
pub(super) fn handle_datum(row: Row) -> Datum<'static> {
    Datum::Int(row.number().get().cast_signed())
}

/// The row of such a slot.
pub(super) fn handle_of(datum: &Datum<'_>) -> Result<Row> {
    match datum {
        Datum::Int(number) => core::num::NonZeroU64::new(number.cast_unsigned())
            .map(Row::from_number)
            .ok_or_else(|| SqlError::internal("no handle")),
        _ => Err(SqlError::internal("no handle")),
    }
}
