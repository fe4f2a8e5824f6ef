//! The path to the rows of a table: of its indexes the one of which the conditions leave the least.

use crate::catalog::Table;
use crate::expr::{Cast, Comparison, Expr};
use crate::plan::{Bound, Path, Source, SourceKind};
use crate::types::Type;

/// A path, and how good it is: more is better, and 0 is that of all rows.
pub(super) type Scored = (Path, usize);

/// The least score of a path with at most one row for each prefix, and how much a part of a prefix counts beside a bound.
const ONE_ROW: usize = 1_000;
const PART: usize = 4;

/// A column of a table compared with a value that is known before its rows are.
struct Term<'e> {
    column: usize,
    comparison: Comparison,
    value: &'e Expr,
}

/// Columns of a table that have together one of several values, which are known before its rows are.
struct List<'e> {
    columns: Vec<usize>,
    /// For each item the values of the columns.
    items: Vec<Vec<&'e Expr>>,
}

/// What conditions say of a table's columns.
struct Known<'e> {
    terms: Vec<Term<'e>>,
    /// Those of conditions, after one of no columns, whose one item every row has.
    lists: Vec<List<'e>>,
}

/// Whence the value of a part of a prefix comes.
enum PartValue<'e> {
    /// It is one for all prefixes.
    Equal(&'e Expr),
    /// It is that of the list's column of this place.
    Listed(usize),
}

/// The best path to the rows of a source, by conditions whose values are known.
pub(super) fn path_of(source: &Source, conditions: &[Expr], known: &[bool]) -> Scored {
    let mut best = (Path::all(None), 0);
    let SourceKind::Table(access) = &source.kind else { return best };
    let known = Known::of(source, conditions, known);
    for index in core::iter::once(None).chain((0..access.table.indexes.len()).map(Some)) {
        for list in &known.lists {
            match along(&access.table, index, &known, list) {
                Some(scored) if is_better(&scored, &best) => best = scored,
                _ => {}
            }
        }
    }
    best
}

/// Of two paths that are equally good that of fewer prefixes is taken, then the first one.
fn is_better(one: &Scored, two: &Scored) -> bool {
    one.1 > two.1 || one.1 == two.1 && one.0.prefixes.len() < two.0.prefixes.len()
}

/// The part of an index that the terms leave with one of the lists; `None` where that list, or the index, is no help.
fn along(
    table: &Table,
    index: Option<usize>,
    known: &Known<'_>,
    list: &List<'_>,
) -> Option<Scored> {
    let value_of = |part: usize| {
        let column = table.part_column(index, part)?;
        match list.columns.iter().position(|it| *it == column) {
            Some(place) => Some(PartValue::Listed(place)),
            None => known.equal_to(column).map(PartValue::Equal),
        }
    };
    let values: Vec<PartValue<'_>> = (0..).map_while(value_of).collect();
    let uses_list = values.iter().any(|it| matches!(it, PartValue::Listed(_)));
    let is_complete = !values.is_empty() && table.part_column(index, values.len()).is_none();
    let is_whole = is_complete && index.is_none();
    if !uses_list && !list.columns.is_empty() || index.is_none() && !table.is_ordered && !is_whole {
        return None;
    }
    let prefix = |item: &Vec<&Expr>| {
        let value = |value: &PartValue<'_>| match value {
            PartValue::Equal(value) => Some((*value).clone()),
            PartValue::Listed(place) => item.get(*place).map(|it| (*it).clone()),
        };
        values.iter().map(value).collect::<Option<Vec<Expr>>>()
    };
    let prefixes = list.items.iter().map(prefix).collect::<Option<Vec<_>>>()?;
    let (low, high) = known.bounds(table.part_column(index, values.len()));
    let measure = values.len() * PART + usize::from(low.is_some()) + usize::from(high.is_some());
    if measure == 0 {
        return None;
    }
    let has_one_row = is_whole || is_complete && index.is_some_and(|it| table.indexes[it].unique);
    // Of equal ones that of one prefix, then the primary key, which leads to the row itself.
    let preference = usize::from(!uses_list) * 2 + usize::from(index.is_none());
    let score = match has_one_row {
        true => ONE_ROW + preference,
        false => (measure * 4 + preference).min(ONE_ROW - 1),
    };
    Some((Path { index, prefixes, is_whole, low, high }, score))
}

impl<'e> Known<'e> {
    /// What the conditions on a source say, those of its own `ON` included, when the slots of `known` are.
    fn of(source: &'e Source, conditions: &'e [Expr], known: &[bool]) -> Self {
        let own = source.start..source.start + source.width;
        let is_value = |expr: &Expr| {
            let mut all = !expr.is_volatile();
            expr.slots(&mut |slot| {
                all &= !own.contains(&slot) && known.get(slot).copied().unwrap_or(true);
            });
            all
        };
        let column =
            |expr: &Expr| column_of(expr).filter(|it| own.contains(it)).map(|it| it - source.start);
        let every_row = List { columns: Vec::new(), items: vec![Vec::new()] };
        let mut found = Self { terms: Vec::new(), lists: vec![every_row] };
        let around = if source.is_left { &[] } else { conditions };
        for condition in source.on.iter().chain(around) {
            match condition {
                Expr::Compare(comparison, one, two) => {
                    if let (Some(column), true) = (column(one), is_value(two)) {
                        found.terms.push(Term { column, comparison: *comparison, value: two });
                    } else if let (Some(column), true) = (column(two), is_value(one)) {
                        let comparison = comparison.swapped();
                        found.terms.push(Term { column, comparison, value: one });
                    }
                }
                Expr::In(of, items) if items.iter().all(is_value) => {
                    let columns: Option<Vec<usize>> = parts(of).into_iter().map(column).collect();
                    if let Some(columns) = columns {
                        found.add_list(List { columns, items: items.iter().map(parts).collect() });
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// A list of one item says that each of its columns has one value.
    fn add_list(&mut self, list: List<'e>) {
        let [item] = list.items.as_slice() else {
            self.lists.push(list);
            return;
        };
        let comparison = Comparison::Equal;
        let pairs = list.columns.iter().zip(item);
        self.terms.extend(pairs.map(|(&column, value)| Term { column, comparison, value }));
    }

    fn equal_to(&self, column: usize) -> Option<&'e Expr> {
        let mut terms = self.terms.iter();
        let found = terms.find(|it| it.column == column && it.comparison == Comparison::Equal);
        found.map(|it| it.value)
    }

    /// The least and the greatest value of a column.
    fn bounds(&self, column: Option<usize>) -> (Option<Bound>, Option<Bound>) {
        let (mut low, mut high) = (None, None);
        for term in self.terms.iter().filter(|it| Some(it.column) == column) {
            let bound = |included| Some((term.value.clone(), included));
            match term.comparison {
                Comparison::Greater => low = low.or_else(|| bound(false)),
                Comparison::GreaterOrEqual => low = low.or_else(|| bound(true)),
                Comparison::Less => high = high.or_else(|| bound(false)),
                Comparison::LessOrEqual => high = high.or_else(|| bound(true)),
                Comparison::Equal | Comparison::NotEqual => {}
            }
        }
        (low, high)
    }
}

/// The values of a row; a value that is none is the only one.
pub(super) fn parts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Row(parts) => parts.iter().collect(),
        one => vec![one],
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
