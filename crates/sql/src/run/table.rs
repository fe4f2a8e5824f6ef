//! The rows of a table along its path.

use super::{Flow, value_of};
use crate::catalog::Table;
use crate::datum::{Datum, OwnedDatum};
use crate::error::{Result, SqlError};
use crate::expr::{Context, Expr, look};
use crate::faults::{BOUND_LEFT_OUT, ORDER_TURNED};
use crate::plan::Access;
use crate::spare;
use crate::storage::KEY_BYTES;
use chiliad_api::{Get, Range, Row};
use chiliad_row::key::prefix_end;
use core::ops::{Bound, ControlFlow};
use std::borrow::Cow;

/// Rows of the first piece of a range whose end may not be reached, and of the largest.
const PIECE_MIN: usize = 64;
const PIECE_MAX: usize = 4096;
/// Rows that are looked up together.
const BATCH: usize = 256;

/// Takes the row so far, and the next row of a table.
pub(super) type Found<'e> = dyn FnMut(&mut Vec<OwnedDatum>, Row) -> Result<Flow> + 'e;

/// Calls `each` for the rows of a table that its path leads to; the conditions are not looked at. `row` is the row so
/// far, whose values at the beginning are those of the path, `wanted` the number of rows that are hoped for.
pub(super) fn handles(
    access: &Access,
    row: &mut Vec<OwnedDatum>,
    wanted: Option<usize>,
    cx: &Context<'_>,
    each: &mut Found<'_>,
) -> Result<Flow> {
    if let Some(key) = access.path.one_key() {
        let found = find(access, key, row, cx)?;
        return found.map_or(Ok(Flow::More), |handle| each(row, handle));
    }
    if access.path.is_whole {
        let keys = Keys::of(access, row, cx)?;
        return points(access, &keys.in_order(access, cx), wanted, cx, &mut |it| each(row, it));
    }
    for bounds in ranges(access, row, cx)? {
        // Before the range is read: what whoever has the claim does to it is seen then.
        if let Bound::Included(low) | Bound::Excluded(low) = &bounds.0 {
            claim(access, low, cx);
        }
        let mut each = |handle| each(row, handle);
        if pieces(access, bounds, wanted, cx, &mut each)? == Flow::Enough {
            return Ok(Flow::Enough);
        }
    }
    Ok(Flow::More)
}

/// The row of the key with these values, to be changed if that is meant.
pub(super) fn find(
    access: &Access,
    exprs: &[Expr],
    row: &[Datum<'_>],
    cx: &Context<'_>,
) -> Result<Option<Row>> {
    with_key(access, exprs, row, cx, |key| get(access, key, cx))
}

/// Calls `act` with the key that these values are, unless no row has it.
pub(super) fn with_key<T>(
    access: &Access,
    exprs: &[Expr],
    row: &[Datum<'_>],
    cx: &Context<'_>,
    act: impl FnOnce(&[u8]) -> Result<Option<T>>,
) -> Result<Option<T>> {
    let mut key = spare::take(|it| &it.key);
    key.reserve(KEY_BYTES);
    let done = match append_key(access, exprs, row, cx, &mut key)? {
        true => act(&key)?,
        false => None,
    };
    spare::give_back(|it| &it.key, key);
    Ok(done)
}

/// The row of a key, to be changed if that is meant.
fn get(access: &Access, key: &[u8], cx: &Context<'_>) -> Result<Option<Row>> {
    claim(access, key, cx);
    let mut tx = transaction(cx)?;
    Ok(match access.for_update {
        true => tx.get_for_update(access.table.id, key)?,
        false => tx.get(access.table.id, key)?,
    })
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
    values: impl IntoIterator<Item = Result<Cow<'v, Datum<'v>>>>,
) -> Result<Option<Vec<u8>>> {
    let mut key = Vec::with_capacity(KEY_BYTES);
    Ok(append_key_of(table, index, values, &mut key)?.then_some(key))
}

/// As [`key_of`], at the end of `key`; `false`: no row has it.
fn append_key_of<'v>(
    table: &Table,
    index: Option<usize>,
    values: impl IntoIterator<Item = Result<Cow<'v, Datum<'v>>>>,
    key: &mut Vec<u8>,
) -> Result<bool> {
    for (part, value) in values.into_iter().enumerate() {
        let value = value?;
        if value.is_null() || !table.append_part(index, part, &value, key)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// As [`append_key_of`], of the values of expressions, for the index of the path.
fn append_key(
    access: &Access,
    exprs: &[Expr],
    row: &[Datum<'_>],
    cx: &Context<'_>,
    key: &mut Vec<u8>,
) -> Result<bool> {
    let values = exprs.iter().map(|it| look(it, row, cx));
    append_key_of(&access.table, access.path.index, values, key)
}

/// The prefixes of a path as bytes.
struct Keys {
    bytes: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
}

impl Keys {
    /// Those of a path whose values are in `row`; without those that no row has.
    fn of(access: &Access, row: &[Datum<'_>], cx: &Context<'_>) -> Result<Self> {
        let prefixes = &access.path.prefixes;
        let bytes = Vec::with_capacity(prefixes.len() * KEY_BYTES);
        let mut keys = Self { bytes, ends: Vec::with_capacity(prefixes.len()) };
        for exprs in prefixes {
            let start = keys.bytes.len();
            match append_key(access, exprs, row, cx, &mut keys.bytes)? {
                true => keys.ends.push(keys.bytes.len()),
                false => keys.bytes.truncate(start),
            }
        }
        Ok(keys)
    }

    /// Each once, in the order in which rows are asked for.
    fn in_order(&self, access: &Access, cx: &Context<'_>) -> Vec<&[u8]> {
        let mut start = 0;
        let key = |end: &usize| {
            let key = &self.bytes[start..*end];
            start = *end;
            key
        };
        let mut keys: Vec<&[u8]> = self.ends.iter().map(key).collect();
        keys.sort_unstable();
        keys.dedup();
        if access.reverse != cx.fault(&ORDER_TURNED) {
            keys.reverse();
        }
        keys
    }
}

type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// The bytes between which the ranges of a path lie, none of them empty, in the order in which rows are asked for. They
/// have no key in common, since no prefix begins another one.
fn ranges(access: &Access, row: &[Datum<'_>], cx: &Context<'_>) -> Result<Vec<Bounds>> {
    let Access { table, path, .. } = access;
    if path.is_full() && !table.is_ordered {
        return Err(SqlError::feature_not_supported(format!(
            "table \"{}\" finds rows by their whole key alone, and cannot be scanned",
            table.name
        )));
    }
    let (part, mut limits) = (path.width(), Vec::new());
    for (bound, is_low) in [(&path.low, true), (&path.high, false)] {
        let Some((expr, included)) = bound else { continue };
        let (value, mut bytes) = (value_of(expr, row, cx)?, Vec::new());
        if value.is_null() {
            return Ok(Vec::new());
        }
        // A value that the column cannot have bounds nothing here; the condition is looked at for each row.
        if table.append_part(path.index, part, &value, &mut bytes)? {
            let is_low = is_low != table.part_descends(path.index, part);
            limits.push(Limit { bytes, is_low, included: *included });
        }
    }
    let keys = Keys::of(access, row, cx)?;
    let all = keys.in_order(access, cx).into_iter().filter_map(|it| within(it, &limits, cx));
    Ok(all.filter(|(low, high)| !is_empty(low, high)).collect())
}

/// An end of the ranges of a path: the bytes of the part after the prefix, and whether keys with them belong to a range.
struct Limit {
    bytes: Vec<u8>,
    is_low: bool,
    included: bool,
}

/// The range of a prefix; `None`: it is empty.
fn within(prefix: &[u8], limits: &[Limit], cx: &Context<'_>) -> Option<Bounds> {
    let (mut low, mut high) = (None, None);
    for limit in limits {
        let key = [prefix, limit.bytes.as_slice()].concat();
        match (limit.is_low, limit.included) {
            (true, true) => low = Some(key),
            (true, false) => low = Some(prefix_end(&key)?),
            (false, true) if !cx.fault(&BOUND_LEFT_OUT) => high = Some(after(&key)),
            (false, _) => high = Some(Bound::Excluded(key)),
        }
    }
    let high = high.unwrap_or_else(|| after(prefix));
    Some((Bound::Included(low.unwrap_or_else(|| prefix.to_vec())), high))
}

/// The end of all keys that begin so.
pub(super) fn after(prefix: &[u8]) -> Bound<Vec<u8>> {
    prefix_end(prefix).map_or(Bound::Unbounded, Bound::Excluded)
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

/// Before the row of a key is read to be changed, or rows from that key on.
fn claim(access: &Access, key: &[u8], cx: &Context<'_>) {
    if access.for_update {
        cx.environment.borrow_mut().claim(access.table.id, key);
    }
}

/// The rows of whole keys, in groups, since whoever asks may have enough of them.
fn points(
    access: &Access,
    keys: &[&[u8]],
    wanted: Option<usize>,
    cx: &Context<'_>,
    each: &mut dyn FnMut(Row) -> Result<Flow>,
) -> Result<Flow> {
    let id = access.table.id;
    let (mut rest, mut batch) = (keys, wanted.unwrap_or(BATCH).clamp(1, BATCH));
    while !rest.is_empty() {
        cx.environment.borrow().check()?;
        let (keys, later) = rest.split_at(batch.min(rest.len()));
        (rest, batch) = (later, BATCH);
        keys.iter().for_each(|key| claim(access, key, cx));
        let get = if access.for_update { Get::update } else { Get::read };
        let gets: Vec<Get<'_>> = keys.iter().map(|key| get(id, key)).collect();
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

/// Takes the key and the bytes of a row.
pub(super) type Shown<'e> = dyn FnMut(&[u8], &[u8]) -> Result<Flow> + 'e;

/// Calls `each` with the keys and bytes of all rows of a path's ranges, and keeps none of them.
pub(super) fn visit(access: &Access, cx: &Context<'_>, each: &mut Shown<'_>) -> Result<Flow> {
    let (id, index) = (access.table.id, position(access));
    for (low, high) in ranges(access, &[], cx)? {
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
            None => tx.visit(id, range, &mut show)?,
            Some(index) => {
                tx.visit_index(id, index, range, &mut |_, key, bytes| show(key, bytes))?;
            }
        }
        if over? == Flow::Enough {
            return Ok(Flow::Enough);
        }
    }
    Ok(Flow::More)
}

/// The position of the path's index in the transaction's operations.
fn position(access: &Access) -> Option<usize> {
    access.path.index.map(|at| access.table.indexes[at].position)
}

/// The rows of a range, in pieces, since whoever asks may have enough of them.
fn pieces(
    access: &Access,
    (mut low, mut high): Bounds,
    wanted: Option<usize>,
    cx: &Context<'_>,
    each: &mut dyn FnMut(Row) -> Result<Flow>,
) -> Result<Flow> {
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
        let (rows, goes_on_after) = scan(access, range, cx)?;
        for row in rows {
            if each(row)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        let Some(last) = goes_on_after else { return Ok(Flow::More) };
        match reverse {
            true => high = Bound::Excluded(last),
            false => low = Bound::Excluded(last),
        }
        piece = (piece * 4).clamp(PIECE_MIN, PIECE_MAX);
    }
}

/// The rows of one piece, to be written if that is meant, and its last key if it has as many as were asked for: of those,
/// one that is to be written may have gone meanwhile.
fn scan(
    access: &Access,
    range: Range<'_>,
    cx: &Context<'_>,
) -> Result<(Vec<Row>, Option<Vec<u8>>)> {
    let id = access.table.id;
    let mut tx = transaction(cx)?;
    let scanned = match position(access) {
        None => tx.scan(id, range)?,
        Some(index) => tx.scan_index(id, index, range)?,
    };
    let entries = tx.entries(scanned)?;
    let last = entries
        .last()
        .filter(|_| entries.len() == range.limit)
        .map(|it| tx.key(*it).map(<[u8]>::to_vec))
        .transpose()?;
    let mut rows: Vec<Row> = entries.iter().map(|it| it.row).collect();
    if access.for_update {
        let again = rows.into_iter().filter_map(|row| tx.reread_for_update(row).transpose());
        rows = again.collect::<chiliad_api::Result<_>>()?;
    }
    Ok((rows, last))
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
