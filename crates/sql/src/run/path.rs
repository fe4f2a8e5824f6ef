//! Where a path leads, as bytes: the keys and ranges of an index.

use super::value_of;
use crate::catalog::Table;
use crate::datum::Datum;
use crate::error::{Result, SqlError};
use crate::expr::{Context, Expr};
use crate::faults::{BOUND_LEFT_OUT, ORDER_TURNED};
use crate::plan::Access;
use chiliad_row::key::prefix_end;
use core::ops::Bound;

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

/// As [`key_of`], of the values of expressions, for the index of the path.
pub(super) fn key(
    access: &Access,
    exprs: &[Expr],
    row: &[Datum<'_>],
    cx: &Context<'_>,
) -> Result<Option<Vec<u8>>> {
    key_of(&access.table, access.path.index, exprs.iter().map(|it| value_of(it, row, cx)))
}

/// The prefixes of a path as bytes, each once, in the order in which rows are asked for.
pub(super) fn prefixes(
    access: &Access,
    row: &[Datum<'_>],
    cx: &Context<'_>,
) -> Result<Vec<Vec<u8>>> {
    let mut keys = Vec::with_capacity(access.path.prefixes.len());
    for exprs in &access.path.prefixes {
        keys.extend(key(access, exprs, row, cx)?);
    }
    keys.sort_unstable();
    keys.dedup();
    if access.reverse != cx.fault(&ORDER_TURNED) {
        keys.reverse();
    }
    Ok(keys)
}

pub(super) type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// The bytes between which the ranges of a path lie, none of them empty, in the order in which rows are asked for. They
/// have no key in common, since no prefix begins another one.
pub(super) fn ranges(access: &Access, row: &[Datum<'_>], cx: &Context<'_>) -> Result<Vec<Bounds>> {
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
    let all = prefixes(access, row, cx)?.into_iter();
    let all = all.filter_map(|prefix| within(prefix, &limits, cx));
    Ok(all.filter(|(low, high)| !is_empty(low, high)).collect())
}

/// An end of the ranges of a path: the bytes of the part after the prefix, and whether keys with them belong to a range.
struct Limit {
    bytes: Vec<u8>,
    is_low: bool,
    included: bool,
}

/// The range of a prefix; `None`: it is empty.
fn within(prefix: Vec<u8>, limits: &[Limit], cx: &Context<'_>) -> Option<Bounds> {
    let (mut low, mut high) = (Bound::Included(prefix.clone()), after(&prefix));
    for limit in limits {
        let key = [prefix.as_slice(), limit.bytes.as_slice()].concat();
        match (limit.is_low, limit.included) {
            (true, true) => low = Bound::Included(key),
            (true, false) => low = Bound::Included(prefix_end(&key)?),
            (false, true) if !cx.fault(&BOUND_LEFT_OUT) => high = after(&key),
            (false, _) => high = Bound::Excluded(key),
        }
    }
    Some((low, high))
}

/// The end of all keys that begin so.
pub(super) fn after(prefix: &[u8]) -> Bound<Vec<u8>> {
    prefix_end(prefix).map_or(Bound::Unbounded, Bound::Excluded)
}

pub(super) fn is_empty(low: &Bound<Vec<u8>>, high: &Bound<Vec<u8>>) -> bool {
    match (low, high) {
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (
            Bound::Included(low) | Bound::Excluded(low),
            Bound::Included(high) | Bound::Excluded(high),
        ) => low >= high,
        _ => false,
    }
}
