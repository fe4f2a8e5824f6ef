//! Running plans: rows go from source to source, and to whoever asked, one at a time.

mod aggregate;
mod change;
mod insert;
mod join;
mod keys;
mod late;
mod point;
mod table;

pub(crate) use change::change;
pub(crate) use insert::{duplicate, insert, row_sequence};
pub(crate) use late::late_columns;
pub use late::{Late, put_off};

use crate::datum::{Datum, OwnedDatum};
use crate::error::{Result, SqlError};
use crate::expr::{Context, Expr, eval, is_true, sort_order};
use crate::plan::{Body, Distinct, Order, Query, Select, SetKind, SetOperation};
use crate::result_row::ResultRow;
use core::cmp::Ordering;
use std::collections::{HashMap, HashSet};

/// Whether more rows are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    More,
    Enough,
}

/// Takes rows.
pub(crate) type Emit<'e> = dyn FnMut(ResultRow<'_>) -> Result<Flow> + 'e;

/// The value of an expression over no row, or over the row around.
fn value_of(expr: &Expr, outer: &[Datum<'_>], cx: &Context<'_>) -> Result<OwnedDatum> {
    Ok(eval(expr, outer, cx)?.into_owned())
}

/// The values of expressions.
fn values<'r>(
    exprs: &'r [Expr],
    row: &'r [Datum<'r>],
    cx: &'r Context<'_>,
) -> Result<Vec<Datum<'r>>> {
    let mut values = Vec::with_capacity(exprs.len());
    for expr in exprs {
        values.push(eval(expr, row, cx)?);
    }
    Ok(values)
}

/// Gives the rows of a query to `emit`.
pub(crate) fn run_query(
    query: &Query,
    outer: &[Datum<'_>],
    cx: &Context<'_>,
    emit: &mut Emit<'_>,
) -> Result<Flow> {
    if outer.is_empty()
        && let Some(point) = point::Point::of(query, cx)
    {
        return point.run(cx, emit);
    }
    let count = |expr: &Option<Expr>| -> Result<Option<i64>> {
        match expr {
            None => Ok(None),
            Some(expr) => match value_of(expr, outer, cx)? {
                Datum::Int(value) => Ok(Some(value)),
                _ => Ok(None),
            },
        }
    };
    let (limit, offset) = (count(&query.limit)?, count(&query.offset)?.unwrap_or(0));
    if limit.is_some_and(|it| it < 0) {
        return Err(SqlError::invalid_limit("LIMIT must not be negative"));
    }
    if offset < 0 {
        return Err(SqlError::invalid_offset("OFFSET must not be negative"));
    }
    if limit == Some(0) {
        return Ok(Flow::More);
    }
    let wanted = limit.map(|it| usize::try_from(it.saturating_add(offset)).unwrap_or(usize::MAX));
    let (mut passed, mut given, mut over) = (0, 0, false);
    let mut limited = |row: ResultRow<'_>| {
        if passed < offset {
            passed += 1;
            return Ok(Flow::More);
        }
        given += 1;
        let flow = emit(row)?;
        over = flow == Flow::Enough;
        Ok(if over || limit == Some(given) { Flow::Enough } else { Flow::More })
    };
    match &query.body {
        Body::Select(select) => run_select(select, outer, wanted, cx, &mut limited)?,
        Body::Values(rows) => {
            for row in rows {
                if limited(ResultRow::all(&values(row, outer, cx)?))? == Flow::Enough {
                    break;
                }
            }
            Flow::More
        }
        Body::Set(set) => run_set(set, outer, cx, &mut limited)?,
    };
    Ok(if over { Flow::Enough } else { Flow::More })
}

fn run_select(
    select: &Select,
    outer: &[Datum<'_>],
    wanted: Option<usize>,
    cx: &Context<'_>,
    emit: &mut Emit<'_>,
) -> Result<Flow> {
    match &select.group {
        None => {
            let wanted = wanted.filter(|_| select.is_sorted && select.distinct == Distinct::No);
            let mut last = Last::new(select, cx, emit);
            join::rows(select, outer, wanted, cx, &mut |row| last.row(row))?;
            last.finish()
        }
        Some(group) => {
            let mut groups = aggregate::Groups::new(group, cx);
            join::rows(select, outer, None, cx, &mut |row| groups.add(row))?;
            let mut last = Last::new(select, cx, emit);
            groups.finish(outer, &mut |row| last.row(row))?;
            last.finish()
        }
    }
}

/// The end of a SELECT: its output, without equal rows, in order.
struct Last<'l, 'c, 'e, 'f> {
    select: &'l Select,
    cx: &'l Context<'c>,
    emit: &'e mut Emit<'f>,
    /// Keys of rows that were given already.
    seen: HashSet<Vec<u8>>,
    /// Keys of the order, and rows, where they have to be sorted.
    kept: Vec<(Vec<OwnedDatum>, Vec<OwnedDatum>)>,
    sorts: bool,
    /// The places of its output, where that is nothing but values of the row as they are.
    places: Option<Vec<usize>>,
}

impl<'l, 'c, 'e, 'f> Last<'l, 'c, 'e, 'f> {
    fn new(select: &'l Select, cx: &'l Context<'c>, emit: &'e mut Emit<'f>) -> Self {
        let sorts = !select.order.is_empty() && !select.is_sorted;
        let place = |expr: &Expr| match expr {
            Expr::Column(slot) => Some(*slot),
            _ => None,
        };
        let is_plain = !sorts && select.distinct == Distinct::No;
        let places = is_plain.then(|| select.output.iter().map(place).collect()).flatten();
        Self { select, cx, emit, seen: HashSet::new(), kept: Vec::new(), sorts, places }
    }

    fn row(&mut self, row: &[Datum<'_>]) -> Result<Flow> {
        if let Some(places) = &self.places {
            return (self.emit)(ResultRow::picked(row, places));
        }
        let (select, cx) = (self.select, self.cx);
        let all = |exprs: &'l [Expr]| -> Result<Vec<OwnedDatum>> {
            exprs.iter().map(|it| value_of(it, row, cx)).collect()
        };
        // With an order, which of equal rows stays is decided after it.
        if let Distinct::On(on) = &select.distinct {
            let on = all(on)?;
            if !self.sorts && !self.seen.insert(keys::of(&on)) {
                return Ok(Flow::More);
            }
        }
        if self.sorts {
            let out = all(&select.output)?;
            if select.distinct == Distinct::Yes && !self.seen.insert(keys::of(&out)) {
                return Ok(Flow::More);
            }
            let mut by = Vec::with_capacity(select.order.len());
            for key in &select.order {
                by.push(value_of(&key.key, row, cx)?);
            }
            if let Distinct::On(on) = &select.distinct {
                by.extend(all(on)?);
            }
            cx.keep(&by)?;
            cx.keep(&out)?;
            self.kept.push((by, out));
            return Ok(Flow::More);
        }
        let out = values(&select.output, row, cx)?;
        if select.distinct == Distinct::Yes {
            let key = keys::of(&out);
            if self.seen.contains(&key) {
                return Ok(Flow::More);
            }
            cx.keep(&[Datum::bytes(key.as_slice())])?;
            self.seen.insert(key);
        }
        (self.emit)(ResultRow::all(&out))
    }

    fn finish(mut self) -> Result<Flow> {
        let order = &self.select.order;
        self.kept.sort_by(|(one, _), (two, _)| by_order(order, one, two));
        for (by, row) in self.kept {
            if matches!(self.select.distinct, Distinct::On(_)) {
                let on = by.get(order.len()..).unwrap_or_default();
                if !self.seen.insert(keys::of(on)) {
                    continue;
                }
            }
            if (self.emit)(ResultRow::all(&row))? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }
}

/// How the keys of two rows stand in an order.
fn by_order(order: &[Order], one: &[OwnedDatum], two: &[OwnedDatum]) -> Ordering {
    for (key, (one, two)) in order.iter().zip(one.iter().zip(two)) {
        match sort_order(one, two, key.descending, key.nulls_first) {
            Ordering::Equal => {}
            order => return order,
        }
    }
    Ordering::Equal
}

fn run_set(
    set: &SetOperation,
    outer: &[Datum<'_>],
    cx: &Context<'_>,
    emit: &mut Emit<'_>,
) -> Result<Flow> {
    let mut rows = Vec::new();
    let collect = |query: &Query| {
        let mut rows = Vec::new();
        run_query(query, outer, cx, &mut |row| {
            let row = row.into_owned();
            cx.keep(&row)?;
            rows.push(row);
            Ok(Flow::More)
        })?;
        Ok::<_, SqlError>(rows)
    };
    let (one, two) = (collect(&set.one)?, collect(&set.two)?);
    let mut seen = HashSet::new();
    match set.kind {
        SetKind::Union => {
            for row in one.into_iter().chain(two) {
                if set.all || seen.insert(keys::of(&row)) {
                    rows.push(row);
                }
            }
        }
        SetKind::Intersect | SetKind::Except => {
            let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
            two.iter().for_each(|row| *counts.entry(keys::of(row)).or_default() += 1);
            for row in one {
                let key = keys::of(&row);
                let count = counts.get_mut(&key).filter(|it| **it > 0);
                let is_there = count.is_some();
                if let (Some(count), true) = (count, set.all) {
                    *count -= 1;
                }
                let stays = is_there == (set.kind == SetKind::Intersect);
                if stays && (set.all || seen.insert(key)) {
                    rows.push(row);
                }
            }
        }
    }
    if !set.order.is_empty() {
        let mut keyed = Vec::with_capacity(rows.len());
        for row in rows {
            let by = set.order.iter().map(|it| match it.key {
                Expr::Column(slot) => row.get(slot - set.start).cloned().unwrap_or_default(),
                _ => Datum::Null,
            });
            keyed.push((by.collect::<Vec<_>>(), row));
        }
        keyed.sort_by(|(one, _), (two, _)| by_order(&set.order, one, two));
        rows = keyed.into_iter().map(|(_, row)| row).collect();
    }
    for row in rows {
        if emit(ResultRow::all(&row))? == Flow::Enough {
            return Ok(Flow::Enough);
        }
    }
    Ok(Flow::More)
}

/// Whether all conditions hold for a row.
fn all_hold(conditions: &[Expr], row: &[Datum<'_>], cx: &Context<'_>) -> Result<bool> {
    for condition in conditions {
        if !is_true(condition, row, cx)? {
            return Ok(false);
        }
    }
    Ok(true)
}
