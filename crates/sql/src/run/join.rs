//! The rows of all sources of a SELECT: for each row of the first one those of the second, and so on.

use super::table::{Shown, handle_datum, handles, visit};
use super::{Flow, all_hold, run_query, value_of};
use crate::datum::{Datum, OwnedDatum, owned};
use crate::error::{Result, SqlError};
use crate::expr::{Context, Expr, Kept};
use crate::plan::{Access, Select, Source, SourceKind};
use chiliad_api::Row;
use std::rc::Rc;

/// Takes rows of all slots.
type Each<'e> = dyn FnMut(&[Datum<'_>]) -> Result<Flow> + 'e;

/// Calls `each` for the rows of a SELECT before they are grouped.
pub(super) fn rows(
    select: &Select,
    outer: &[Datum<'_>],
    wanted: Option<usize>,
    cx: &Context<'_>,
    each: &mut Each<'_>,
) -> Result<Flow> {
    if !all_hold(&select.conditions, outer, cx)? {
        return Ok(Flow::More);
    }
    if select.sources.is_empty() {
        return each(outer);
    }
    if outer.is_empty()
        && let Some((source, access)) = borrowed(select, cx)
    {
        return borrowed_rows(access, source, wanted, cx, each);
    }
    let mut row = owned(outer);
    row.resize(select.width.max(row.len()), Datum::Null);
    let wanted = wanted.filter(|_| select.sources.len() == 1);
    Join { select, wanted, cx }.level(0, &mut row, each)
}

/// The only table of a SELECT over no row around it, if its rows may be looked at in the transaction's memory.
pub(super) fn borrowed<'s>(
    select: &'s Select,
    cx: &Context<'_>,
) -> Option<(&'s Source, &'s Access)> {
    let (source, access) = one_table(select)?;
    let is_whole = source.start == 0 && source.width == access.table.columns.len();
    (is_whole && !select.has_subquery && cx.may_borrow_rows()).then_some((source, access))
}

/// The only table of a SELECT that has no other source.
pub(super) fn one_table(select: &Select) -> Option<(&Source, &Access)> {
    match select.sources.as_slice() {
        [source @ Source { kind: SourceKind::Table(access), .. }] => Some((source, access)),
        _ => None,
    }
}

/// As [`one_table`], and the values of the one whole key by which its row is found, if it is such a one.
pub(super) fn one_row(select: &Select) -> Option<(&Source, &Access, &[Expr])> {
    let (source, access) = one_table(select)?;
    Some((source, access, access.path.one_key()?))
}

/// Whether the source has conditions.
pub(super) fn has_conditions(source: &Source) -> bool {
    !source.on.is_empty() || !source.filter.is_empty()
}

/// Whether a row of a source alone meets the conditions of the source.
pub(super) fn is_wanted(source: &Source, row: &[Datum<'_>], cx: &Context<'_>) -> Result<bool> {
    Ok(all_hold(&source.on, row, cx)? && all_hold(&source.filter, row, cx)?)
}

/// The rows of one table, in the transaction's memory.
fn borrowed_rows(
    access: &Access,
    source: &Source,
    wanted: Option<usize>,
    cx: &Context<'_>,
    each: &mut Each<'_>,
) -> Result<Flow> {
    if !has_conditions(source) && access.needed.is_empty() {
        let nulls = vec![Datum::Null; source.width];
        return shown(access, wanted, cx, &mut |_, _| each(&nulls));
    }
    let mut spare = Vec::new();
    shown(access, wanted, cx, &mut |key, bytes| {
        let body = access.table.body(bytes)?;
        let mut row = emptied(core::mem::take(&mut spare));
        access.table.decode(key, &body, access.needed.iter().copied(), &mut row)?;
        let flow = if is_wanted(source, &row, cx)? { each(&row)? } else { Flow::More };
        spare = emptied(row);
        Ok(flow)
    })
}

/// Calls `each` with the keys and bytes of the rows to which a path leads. None of them is kept where all are gone
/// through: then `each` does not use the transaction.
fn shown(
    access: &Access,
    wanted: Option<usize>,
    cx: &Context<'_>,
    each: &mut Shown<'_>,
) -> Result<Flow> {
    match wanted {
        None if !access.for_update && !access.path.is_whole => visit(access, cx, each),
        _ => handles(access, &mut Vec::new(), wanted, cx, &mut |_, handle| {
            let tx = cx.transaction.borrow();
            each(tx.row_key(handle)?, tx.bytes(handle)?)
        }),
    }
}

/// The memory of a row that is over, for another one.
fn emptied<'to>(mut row: Vec<Datum<'_>>) -> Vec<Datum<'to>> {
    row.clear();
    // The standard library collects into the memory that it has come from.
    row.into_iter().map(Datum::into_owned).collect()
}

/// Puts the values of a row, and its handle, into its slots; those of columns that are not needed stay null.
pub(super) fn fill(
    access: &Access,
    source: &Source,
    handle: Row,
    row: &mut [OwnedDatum],
    cx: &Context<'_>,
) -> Result<()> {
    let tx = cx.transaction.borrow();
    let (key, bytes) = (tx.row_key(handle)?, tx.bytes(handle)?);
    let body = access.table.body(bytes)?;
    let slots = row.get_mut(source.start..source.start + source.width).unwrap_or_default();
    let needed = access.needed.iter().copied();
    access.table.decode_into(key, &body, needed, slots, Datum::into_owned)?;
    if let Some(slot) = slots.get_mut(access.table.columns.len()) {
        *slot = handle_datum(handle);
    }
    Ok(())
}

struct Join<'j, 'c> {
    select: &'j Select,
    wanted: Option<usize>,
    cx: &'j Context<'c>,
}

impl Join<'_, '_> {
    fn level(&self, at: usize, row: &mut Vec<OwnedDatum>, each: &mut Each<'_>) -> Result<Flow> {
        let Some(source) = self.select.sources.get(at) else { return each(row) };
        let mut found = false;
        let mut on_row = |row: &mut Vec<OwnedDatum>| {
            self.cx.row()?;
            if !all_hold(&source.on, row, self.cx)? {
                return Ok(Flow::More);
            }
            found = true;
            if !all_hold(&source.filter, row, self.cx)? {
                return Ok(Flow::More);
            }
            self.level(at + 1, row, each)
        };
        let flow = match source.kept {
            Some(number) => {
                let kept = self.cx.kept(number, || self.collect(source, row))?;
                let mut flow = Flow::More;
                for columns in kept.iter() {
                    let slots = source.start..source.start + source.width;
                    row.get_mut(slots).unwrap_or_default().clone_from_slice(columns);
                    flow = on_row(row)?;
                    if flow == Flow::Enough {
                        break;
                    }
                }
                flow
            }
            None => self.source(source, row, &mut on_row)?,
        };
        if flow == Flow::Enough {
            return Ok(flow);
        }
        if source.is_left && !found {
            let slots = source.start..source.start + source.width;
            row.get_mut(slots).unwrap_or_default().fill(Datum::Null);
            if all_hold(&source.filter, row, self.cx)? {
                return self.level(at + 1, row, each);
            }
        }
        Ok(Flow::More)
    }

    /// The rows of a source that depends on none before it.
    fn collect(&self, source: &Source, row: &[OwnedDatum]) -> Result<Kept> {
        let mut rows = Vec::new();
        let mut row = row.to_vec();
        self.source(source, &mut row, &mut |row| {
            self.cx.row()?;
            let columns = row.get(source.start..source.start + source.width).unwrap_or_default();
            self.cx.keep(columns)?;
            rows.push(columns.to_vec());
            Ok(Flow::More)
        })?;
        Ok(Rc::new(rows))
    }

    fn source(
        &self,
        source: &Source,
        row: &mut Vec<OwnedDatum>,
        on_row: &mut dyn FnMut(&mut Vec<OwnedDatum>) -> Result<Flow>,
    ) -> Result<Flow> {
        match &source.kind {
            SourceKind::Table(access) => {
                handles(access, row, self.wanted, self.cx, &mut |row, handle| {
                    fill(access, source, handle, row, self.cx)?;
                    on_row(row)
                })
            }
            SourceKind::Query(query) => {
                let before: Vec<OwnedDatum> = row.get(..source.start).unwrap_or_default().to_vec();
                let mut run = || {
                    run_query(query, &before, self.cx, &mut |found| {
                        for (at, datum) in found.iter().enumerate() {
                            row[source.start + at] = datum.borrowed().into_owned();
                        }
                        on_row(row)
                    })
                };
                match self.select.sources.len() > 1 || self.select.has_subquery {
                    true => self.cx.feed(run),
                    false => run(),
                }
            }
            SourceKind::Series(bounds) => {
                let mut numbers = Vec::new();
                for bound in bounds {
                    match value_of(bound, row, self.cx)? {
                        Datum::Int(number) => numbers.push(number),
                        _ => return Ok(Flow::More),
                    }
                }
                let step = numbers.get(2).copied().unwrap_or(1);
                if step == 0 {
                    return Err(SqlError::invalid_parameter("step size cannot equal zero"));
                }
                let (mut at, end) = (numbers[0], numbers[1]);
                while if step > 0 { at <= end } else { at >= end } {
                    row[source.start] = Datum::Int(at);
                    if on_row(row)? == Flow::Enough {
                        return Ok(Flow::Enough);
                    }
                    let Some(next) = at.checked_add(step) else { break };
                    at = next;
                }
                Ok(Flow::More)
            }
        }
    }
}
