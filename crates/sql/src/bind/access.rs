//! How the rows of each table are found: by a key, a list of keys, a range of an index, or all of them.

use super::Binder;
use crate::catalog::Table;
use crate::expr::{Cast, Comparison, Expr};
use crate::plan::{Distinct, Path, RangePath, Select, Source, SourceKind};
use crate::types::Type;

/// A column of a table compared with a value that is known before its rows are.
struct Term<'e> {
    column: usize,
    comparison: Comparison,
    value: &'e Expr,
}

/// A path, and how good it is: more is better.
type Scored = (Path, usize);

const POINT: usize = 1_000;

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

/// Whether a condition holds for each row to which the path of its source leads: it is that a column of the whole key is
/// equal to the value looked up. Of whole numbers alone, of which equal ones have one key and unequal ones two.
fn is_implied(condition: &Expr, source: &Source) -> bool {
    let SourceKind::Table(access) = &source.kind else { return false };
    let Path::Point(values) = &access.path else { return false };
    let Expr::Compare(Comparison::Equal, one, two) = condition else { return false };
    access.table.key.iter().zip(values).any(|(&column, value)| {
        let is_column = |it: &Expr| *it == Expr::Column(source.start + column);
        let of = access.table.columns[column].sql_type;
        matches!(of, Type::Int2 | Type::Int4 | Type::Int8)
            && (is_column(one) && **two == *value || is_column(two) && **one == *value)
    })
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
        SourceKind::Table(_) => match path {
            Path::Point(key) => key.iter().for_each(|it| it.walk(&mut each)),
            Path::Points(keys) => keys.iter().flatten().for_each(|it| it.walk(&mut each)),
            Path::Range(range) => {
                let bounds = range.low.iter().chain(&range.high).map(|(bound, _)| bound);
                range.prefix.iter().chain(bounds).for_each(|it| it.walk(&mut each));
            }
            Path::Full => {}
        },
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

/// The best path to the rows of a source, by conditions whose values are known.
fn path_of(source: &Source, conditions: &[Expr], known: &[bool]) -> Scored {
    let SourceKind::Table(access) = &source.kind else { return (Path::Full, 0) };
    let table = &*access.table;
    let own = source.start..source.start + source.width;
    let all: Vec<&Expr> = match source.is_left {
        true => source.on.iter().collect(),
        false => source.on.iter().chain(conditions).collect(),
    };
    let is_value = |expr: &Expr| {
        let mut all = !expr.is_volatile();
        expr.slots(&mut |slot| {
            all &= !own.contains(&slot) && known.get(slot).copied().unwrap_or(true);
        });
        all
    };
    let column =
        |expr: &Expr| column_of(expr).filter(|it| own.contains(it)).map(|it| it - source.start);
    let mut terms = Vec::new();
    let mut lists = Vec::new();
    for condition in all {
        match condition {
            Expr::Compare(comparison, one, two) => {
                if let (Some(column), true) = (column(one), is_value(two)) {
                    terms.push(Term { column, comparison: *comparison, value: two });
                } else if let (Some(column), true) = (column(two), is_value(one)) {
                    terms.push(Term { column, comparison: comparison.swapped(), value: one });
                }
            }
            Expr::In(of, list) if list.iter().all(is_value) => {
                let columns: Option<Vec<usize>> = match &**of {
                    Expr::Row(parts) => parts.iter().map(column).collect(),
                    one => column(one).map(|it| vec![it]),
                };
                if let Some(columns) = columns {
                    lists.push((columns, list));
                }
            }
            _ => {}
        }
    }
    let listed = list_path(table, &terms, &lists);
    let mut best = range_path(table, None, &terms);
    for index in 0..table.indexes.len() {
        let scored = range_path(table, Some(index), &terms);
        if scored.1 > best.1 {
            best = scored;
        }
    }
    match listed {
        Some(listed) if listed.1 > best.1 => listed,
        _ => best,
    }
}

/// The slot of a column, as it is or as the text that it is compared as.
fn column_of(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Column(slot) => Some(*slot),
        Expr::Cast(of, Cast { from: Type::Bpchar, to: Type::Text, .. }) => match &**of {
            Expr::Column(slot) => Some(*slot),
            _ => None,
        },
        _ => None,
    }
}

/// Keys of which one column or several have the values of a list, and the others are equal to a value.
fn list_path(
    table: &Table,
    terms: &[Term<'_>],
    lists: &[(Vec<usize>, &Vec<Expr>)],
) -> Option<Scored> {
    if table.key.is_empty() {
        return None;
    }
    lists.iter().find_map(|(columns, list)| {
        let keys = list.iter().map(|item| {
            let key = table.key.iter().map(|part| {
                let listed = columns.iter().position(|it| it == part);
                match (listed, item) {
                    (Some(at), Expr::Row(parts)) => parts.get(at).cloned(),
                    (Some(_), one) => Some(one.clone()),
                    (None, _) => equal_to(terms, *part).cloned(),
                }
            });
            key.collect::<Option<Vec<Expr>>>()
        });
        let keys = keys.collect::<Option<Vec<_>>>()?;
        Some((Path::Points(keys), POINT - 1))
    })
}

fn equal_to<'e>(terms: &[Term<'e>], column: usize) -> Option<&'e Expr> {
    let mut terms = terms.iter();
    terms.find(|it| it.column == column && it.comparison == Comparison::Equal).map(|it| it.value)
}

/// The part of an index that the conditions leave, and how good that is.
fn range_path(table: &Table, index: Option<usize>, terms: &[Term<'_>]) -> Scored {
    let parts = index.map_or(table.key.len(), |index| table.indexes[index].parts.len());
    let mut prefix = Vec::new();
    for part in 0..parts {
        let column = table.part_column(index, part);
        let Some(value) = column.and_then(|column| equal_to(terms, column)) else { break };
        prefix.push(value.clone());
    }
    let is_whole = prefix.len() == parts && parts > 0;
    if is_whole && index.is_none() {
        return (Path::Point(prefix), POINT);
    }
    if index.is_none() && !table.is_ordered {
        return (Path::Full, 0);
    }
    let unique = is_whole && index.is_some_and(|index| table.indexes[index].unique);
    let (mut low, mut high) = (None, None);
    if let Some(column) = table.part_column(index, prefix.len()) {
        for term in terms.iter().filter(|it| it.column == column) {
            let bound = |included| Some((term.value.clone(), included));
            match term.comparison {
                Comparison::Greater => low = low.or_else(|| bound(false)),
                Comparison::GreaterOrEqual => low = low.or_else(|| bound(true)),
                Comparison::Less => high = high.or_else(|| bound(false)),
                Comparison::LessOrEqual => high = high.or_else(|| bound(true)),
                Comparison::Equal | Comparison::NotEqual => {}
            }
        }
    }
    let bounds = usize::from(low.is_some()) + usize::from(high.is_some());
    // Of equal ones the primary key, which leads to the row itself.
    let score = prefix.len() * 20 + bounds * 5 + usize::from(unique) * (POINT / 2);
    if score == 0 {
        return (Path::Full, 0);
    }
    let range = RangePath { index, prefix, low, high };
    (Path::Range(Box::new(range)), score * 2 + usize::from(index.is_none()))
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
    match &access.path {
        Path::Point(_) => select.is_sorted = true,
        Path::Points(_) => {}
        Path::Range(range) => {
            if let Some(reverse) = goes_along(table, range.index, range.prefix.len(), &keys) {
                (select.is_sorted, access.reverse) = (true, reverse);
            }
        }
        Path::Full if !table.is_ordered => {}
        Path::Full => {
            let secondary = if is_limited { table.indexes.len() } else { 0 };
            for index in core::iter::once(None).chain((0..secondary).map(Some)) {
                if let Some(reverse) = goes_along(table, index, 0, &keys) {
                    if index.is_some() {
                        let prefix = Vec::new();
                        let range = RangePath { index, prefix, low: None, high: None };
                        access.path = Path::Range(Box::new(range));
                    }
                    (select.is_sorted, access.reverse) = (true, reverse);
                    return;
                }
            }
        }
    }
}

/// Whether an index whose first parts have one value each has the rows in the order of these keys: `Some(true)` from its
/// end.
fn goes_along(
    table: &Table,
    index: Option<usize>,
    prefix: usize,
    keys: &[(usize, bool)],
) -> Option<bool> {
    let mut direction = None;
    let mut part = prefix;
    let fixed: Vec<usize> = (0..prefix).filter_map(|it| table.part_column(index, it)).collect();
    for (column, descending) in keys {
        if fixed.contains(column) {
            continue;
        }
        // An index has nulls first, unlike the order.
        if table.part_column(index, part) != Some(*column) || table.columns[*column].is_nullable {
            return None;
        }
        let reverse = table.part_descends(index, part) != *descending;
        if direction.is_some_and(|it| it != reverse) {
            return None;
        }
        direction = Some(reverse);
        part += 1;
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
            for (at, needed) in access.needed.iter_mut().enumerate() {
                *needed = read[source.start + at];
            }
        }
    }
}
