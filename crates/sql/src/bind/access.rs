//! In which order sources are gone through, each by the best path, and which order of rows that gives.

use super::Binder;
use super::path::{parts, path_of};
use crate::catalog::Table;
use crate::expr::{Comparison, Expr};
use crate::plan::{Access, Distinct, Path, Select, Source, SourceKind};
use crate::types::Type;

impl Binder<'_> {
    /// Puts the sources in order, and gives each its conditions and its path.
    pub(super) fn plan_access(
        &mut self,
        select: &mut Select,
        conditions: Vec<Expr>,
        outer: usize,
        is_limited: bool,
    ) {
        let (mut waiting, constant): (Vec<Expr>, Vec<Expr>) =
            conditions.into_iter().partition(|it| reads_from(it, outer) || it.is_volatile());
        if select.sources.is_empty() {
            waiting.extend(constant);
            select.conditions = waiting;
            return;
        }
        select.conditions = constant;
        let mut sources = core::mem::take(&mut select.sources);
        let fixed = sources.iter().any(|it| it.is_left);
        let mut known = vec![false; select.width];
        known[..outer].fill(true);
        while !sources.is_empty() {
            let next = if fixed { 0 } else { best(&sources, &waiting, &known) };
            let mut source = sources.remove(next);
            let (path, _) = path_of(&source, &waiting, &known);
            let dependent = path_depends(&path, outer, &source);
            if let SourceKind::Table(access) = &mut source.kind {
                access.path = path;
            }
            known[source.start..source.start + source.width].fill(true);
            let (ready, later): (Vec<Expr>, Vec<Expr>) =
                waiting.into_iter().partition(|it| is_known(it, &known));
            waiting = later;
            if source.is_left {
                source.filter = ready;
            } else {
                source.on.extend(ready);
            }
            let mut on = core::mem::take(&mut source.on);
            on.retain(|condition| !is_implied(condition, &source));
            source.on = on;
            if !select.sources.is_empty() && !dependent {
                source.kept = Some(self.next_number());
            }
            select.sources.push(source);
        }
        if let Some(last) = select.sources.last_mut() {
            last.filter.extend(waiting);
        }
        order_by_index(select, is_limited);
        mark_needed(select);
    }
}

/// Whether a condition holds for each row to which the path of its source leads: it is one of those that the prefixes of
/// the primary key are made of. Of whole numbers alone, of which equal ones have one key and unequal ones two.
fn is_implied(condition: &Expr, source: &Source) -> bool {
    let SourceKind::Table(access) = &source.kind else { return false };
    let Access { table, path, .. } = access;
    if path.index.is_some() {
        return false;
    }
    let part_of = |expr: &Expr| {
        let Expr::Column(slot) = expr else { return None };
        let column = slot.checked_sub(source.start)?;
        let part = table.key.iter().take(path.width()).position(|it| *it == column)?;
        let of = table.columns[column].sql_type;
        matches!(of, Type::Int2 | Type::Int4 | Type::Int8).then_some(part)
    };
    match condition {
        Expr::Compare(Comparison::Equal, one, two) => {
            let has = |column: &Expr, value: &Expr| {
                part_of(column)
                    .is_some_and(|part| path.prefixes.iter().all(|it| it[part] == *value))
            };
            has(one, two) || has(two, one)
        }
        Expr::In(of, items) if items.len() == path.prefixes.len() => {
            let columns: Option<Vec<usize>> = parts(of).into_iter().map(part_of).collect();
            columns.is_some_and(|columns| {
                path.prefixes.iter().zip(items).all(|(prefix, item)| {
                    columns.iter().zip(parts(item)).all(|(&part, value)| prefix[part] == *value)
                })
            })
        }
        _ => false,
    }
}

/// Whether an expression reads slots from `first` on.
fn reads_from(expr: &Expr, first: usize) -> bool {
    let mut found = false;
    expr.slots(&mut |slot| found |= slot >= first);
    found
}

/// Whether all slots below the row's width that an expression reads are known. Those beyond are of queries within it.
fn is_known(expr: &Expr, known: &[bool]) -> bool {
    let mut all = true;
    expr.slots(&mut |slot| all &= known.get(slot).copied().unwrap_or(true));
    all
}

/// Whether the rows of a source depend on those of the sources before it.
fn path_depends(path: &Path, outer: usize, source: &Source) -> bool {
    let mut found = false;
    let mut each = |expr: &Expr| {
        if let Expr::Column(slot) = expr {
            found |= (outer..source.start).contains(slot)
                || *slot >= source.start + source.width
                    && matches!(source.kind, SourceKind::Table(_));
        }
    };
    match &source.kind {
        SourceKind::Table(_) => path.walk(&mut each),
        SourceKind::Query(query) => query.walk(&mut each),
        SourceKind::Series(bounds) => bounds.iter().for_each(|it| it.walk(&mut each)),
    }
    found
}

/// The source whose rows are found best by what is known.
fn best(sources: &[Source], conditions: &[Expr], known: &[bool]) -> usize {
    let mut best = (0, 0);
    for (at, source) in sources.iter().enumerate() {
        let mut ready = true;
        if let SourceKind::Query(query) = &source.kind {
            query.walk(&mut |it| {
                if let Expr::Column(slot) = it {
                    ready &= *slot >= source.start || known.get(*slot).copied().unwrap_or(true);
                }
            });
        }
        let score = if ready { path_of(source, conditions, known).1 + 1 } else { 0 };
        if score > best.1 {
            best = (at, score);
        }
    }
    best.0
}

/// Has an index bring the rows in the order that is asked for, where one can.
fn order_by_index(select: &mut Select, is_limited: bool) {
    let unordered = select.order.is_empty() && !matches!(select.distinct, Distinct::On(_));
    if unordered || select.group.is_some() {
        select.is_sorted = unordered;
        return;
    }
    let [source] = select.sources.as_mut_slice() else { return };
    let SourceKind::Table(access) = &mut source.kind else { return };
    let keys: Option<Vec<(usize, bool)>> = select
        .order
        .iter()
        .map(|it| match it.key {
            Expr::Column(slot) if slot >= source.start => {
                Some((slot - source.start, it.descending))
            }
            _ => None,
        })
        .collect();
    let Some(keys) = keys else { return };
    let table = &*access.table;
    // Of all rows any index can bring the few that are wanted.
    let others = if access.path.is_full() && is_limited { table.indexes.len() } else { 0 };
    let others = (0..others).map(|index| Path::all(Some(index)));
    for path in core::iter::once(access.path.clone()).chain(others) {
        if let Some(reverse) = goes_along(table, &path, &keys) {
            (select.is_sorted, access.reverse, access.path) = (true, reverse, path);
            return;
        }
    }
}

/// Whether a path has the rows in the order of these keys: `Some(true)` from its end. Its prefixes are gone through in the
/// order of the index, so they order rows as its parts do, and those of which all have one value need not be in the order.
fn goes_along(table: &Table, path: &Path, keys: &[(usize, bool)]) -> Option<bool> {
    if path.index.is_none() && !table.is_ordered && !path.is_whole {
        return None;
    }
    let column = |part: usize| table.part_column(path.index, part);
    let is_fixed =
        |of: usize| (0..path.width()).any(|it| path.is_fixed(it) && column(it) == Some(of));
    let is_single = path.is_whole && path.prefixes.len() == 1;
    let mut direction = None;
    let mut parts = (0..).filter(|&part| !path.is_fixed(part));
    for &(of, descending) in keys.iter().filter(|(of, _)| !is_single && !is_fixed(*of)) {
        let part = parts.next()?;
        // An index has nulls first, unlike the order; none begin with a prefix.
        let may_be_null = part >= path.width() && table.columns[of].is_nullable;
        if column(part) != Some(of) || may_be_null {
            return None;
        }
        let reverse = table.part_descends(path.index, part) != descending;
        if direction.is_some_and(|it| it != reverse) {
            return None;
        }
        direction = Some(reverse);
    }
    Some(direction.unwrap_or(false))
}

/// Finds out which columns are looked at, and whether queries are run for the rows.
pub(super) fn mark_needed(select: &mut Select) {
    let mut read = vec![false; select.width];
    let mut has_subquery = false;
    let mut each = |expr: &Expr| {
        has_subquery |= matches!(expr, Expr::Subquery(_));
        if let Expr::Column(slot) = expr
            && let Some(read) = read.get_mut(*slot)
        {
            *read = true;
        }
    };
    let group = select.group.take();
    match &group {
        // Expressions after it read the group's slots.
        Some(group) => {
            let before = Select {
                output: Vec::new(),
                order: Vec::new(),
                distinct: Distinct::No,
                group: Some(crate::plan::Group { having: None, ..group.clone() }),
                ..select.clone()
            };
            before.walk(&mut each);
        }
        None => select.walk(&mut each),
    }
    (select.group, select.has_subquery) = (group, has_subquery);
    for source in &mut select.sources {
        if let SourceKind::Table(access) = &mut source.kind {
            let columns = 0..access.table.columns.len();
            access.needed = columns.filter(|at| read[source.start + at]).collect();
        }
    }
}
