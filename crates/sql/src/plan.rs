//! Plans: what a prepared statement is to do.

use crate::catalog::Table;
use crate::expr::Expr;
use crate::types::Type;
use chiliad_api::{Columns, TableId};
use std::sync::Arc;

/// What a statement is to do.
#[derive(Debug)]
pub(crate) enum Plan {
    /// Nothing that this crate does.
    None,
    Query(Query),
    Insert(Box<Insert>),
    /// Update or delete.
    Change(Box<Change>),
    Call(Vec<(Expr, Type)>),
    /// The lines of an explanation.
    Explain(Vec<String>),
    /// A change of the catalog.
    Schema(Box<sqlparser::ast::Statement>),
}

/// A query: rows of a body, of which some are passed over and some returned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Query {
    pub body: Body,
    pub limit: Option<Expr>,
    pub offset: Option<Expr>,
}

/// Where rows come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    Select(Box<Select>),
    Values(Vec<Vec<Expr>>),
    Set(Box<SetOperation>),
}

/// `UNION` and its kin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SetOperation {
    pub kind: SetKind,
    pub all: bool,
    pub one: Query,
    pub two: Query,
    /// By columns of the result.
    pub order: Vec<Order>,
    /// The first slot of the rows, after those of the row around.
    pub start: usize,
}

/// How the rows of two queries become those of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetKind {
    Union,
    Intersect,
    Except,
}

/// `SELECT`, without limit and offset.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Select {
    /// In the order in which they are gone through.
    pub sources: Vec<Source>,
    /// Slots of a row: those of the row around, then those of all sources.
    pub width: usize,
    /// Conditions on no source.
    pub conditions: Vec<Expr>,
    pub group: Option<Group>,
    pub output: Vec<Expr>,
    pub distinct: Distinct,
    pub order: Vec<Order>,
    /// The rows come in the order that is asked for.
    pub is_sorted: bool,
    /// A query is run for each row before rows are grouped.
    pub has_subquery: bool,
}

/// Which of equal rows are left out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Distinct {
    No,
    Yes,
    /// Rows are equal that have these values.
    On(Vec<Expr>),
}

/// A key of an order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Order {
    pub key: Expr,
    pub descending: bool,
    pub nulls_first: bool,
}

/// `GROUP BY`, or aggregates without it. The rows after it have the slots of the row around, then the keys, then the
/// aggregates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    pub keys: Vec<Expr>,
    pub aggregates: Vec<Aggregate>,
    pub having: Option<Expr>,
    /// Slots of the row around.
    pub outer: usize,
    /// There is one group, even of no rows.
    pub single: bool,
}

/// An aggregate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Aggregate {
    pub function: AggregateFunction,
    /// `None`: rows are counted.
    pub argument: Option<Expr>,
    pub distinct: bool,
    pub filter: Option<Expr>,
    /// The separator of `string_agg`.
    pub separator: Option<Expr>,
    pub order: Vec<Order>,
    pub result: Type,
}

/// The function of an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AggregateFunction {
    Count,
    /// Of whole numbers of at most 32 bits: the sum has 64.
    SumInt,
    SumNumeric,
    SumFloat,
    AvgNumeric,
    AvgFloat,
    Min,
    Max,
    BoolAnd,
    BoolOr,
    StringAgg,
}

/// Something that has rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Source {
    pub kind: SourceKind,
    /// The first of its slots.
    pub start: usize,
    pub width: usize,
    /// A row of the sources before stays where none of these goes with it.
    pub is_left: bool,
    /// Conditions on its rows and those before; of a left join those of `ON`.
    pub on: Vec<Expr>,
    /// Conditions after a left join.
    pub filter: Vec<Expr>,
    /// Under which its rows are kept, where they do not depend on those before and are gone through again.
    pub kept: Option<usize>,
}

/// What has rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SourceKind {
    Table(Access),
    Query(Box<Query>),
    /// `generate_series`.
    Series(Vec<Expr>),
}

/// A table, and how its rows are found.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub table: Arc<Table>,
    /// The columns that are looked at, in their order.
    pub needed: Vec<usize>,
    pub path: Path,
    pub reverse: bool,
    pub for_update: bool,
}

impl Access {
    /// All rows of a table, with all columns.
    pub fn all(table: Arc<Table>, for_update: bool) -> Self {
        let needed = (0..table.columns.len()).collect();
        Self { table, needed, path: Path::all(None), reverse: false, for_update }
    }

    /// The columns of rows that its result depends on, those by which it finds them among them.
    fn columns(&self) -> Columns {
        let index = self.path.index.and_then(|at| self.table.indexes.get(at));
        let parts = index.into_iter().flat_map(|index| index.parts.iter().map(|(place, _)| *place));
        self.table.columns_at(self.needed.iter().copied().chain(parts))
    }
}

/// Tables are equal that have one number.
impl PartialEq for Access {
    fn eq(&self, other: &Self) -> bool {
        self.table.id == other.table.id
            && (&self.needed, &self.path) == (&other.needed, &other.path)
            && (self.reverse, self.for_update) == (other.reverse, other.for_update)
    }
}

/// How rows of a table are found: by the keys of one index that begin with one of several prefixes, and go on between
/// bounds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Path {
    /// The primary key (`None`), or the secondary index of this place in [`Table::indexes`].
    pub index: Option<usize>,
    /// For each prefix the values of the first parts, as many in each. Rows are found once, however often their prefix is
    /// given; a null begins no key.
    pub prefixes: Vec<Vec<Expr>>,
    /// Whether the prefixes are whole primary keys: they are looked up, and no range is scanned.
    pub is_whole: bool,
    /// Of the part after the prefix, and whether the bound itself belongs to it.
    pub low: Option<Bound>,
    pub high: Option<Bound>,
}

/// A bound of a range, and whether it belongs to the range.
pub(crate) type Bound = (Expr, bool);

/// Conditions that a table's rows meet, over its columns, with their names.
pub(crate) type Checks = Vec<(String, Expr)>;

/// `INSERT`.
#[derive(Debug)]
pub(crate) struct Insert {
    pub table: Arc<Table>,
    pub source: InsertSource,
    /// The sequence that numbers the rows of a table without a primary key.
    pub numbers: Option<String>,
    pub conflict: Conflict,
    pub checks: Checks,
    /// Over the row's columns.
    pub returning: Option<Vec<Expr>>,
}

/// Where the rows of an INSERT come from.
#[derive(Debug)]
pub(crate) enum InsertSource {
    /// For each row the value of each column of the table, in its order.
    Values(Vec<Vec<Expr>>),
    /// A query, and for each column of the table, in its order, its value over a row of that.
    Query(Query, Vec<Expr>),
}

/// What becomes of a row whose key is taken.
#[derive(Debug)]
pub(crate) enum Conflict {
    Error,
    /// Of the primary key, or of the unique index of this place; `None`: any.
    Nothing(Option<Target>),
    Update {
        target: Target,
        /// By places of columns, over the row that is there and then the one that was to be inserted.
        assignments: Vec<(usize, Expr)>,
        condition: Option<Expr>,
    },
}

/// A unique key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Primary,
    Index(usize),
}

/// `UPDATE` or `DELETE`.
#[derive(Debug)]
pub(crate) struct Change {
    /// The first source is the table.
    pub select: Select,
    pub table: Arc<Table>,
    /// By places of columns, over the row of all sources; `None`: the rows are deleted.
    pub assignments: Option<Vec<(usize, Expr)>>,
    pub checks: Checks,
    /// Over the row of all sources, the table's columns as they are afterwards.
    pub returning: Option<Vec<Expr>>,
}

/// The columns of a table's rows that assignments change: all, where a row may get another key.
pub(crate) fn columns_of(table: &Table, assignments: &[(usize, Expr)]) -> Columns {
    let mut places = assignments.iter().map(|(place, _)| *place);
    match places.clone().any(|place| table.key.contains(&place)) {
        true => Columns::ALL,
        false => table.columns_at(&mut places),
    }
}

impl Query {
    /// Calls `each` for all expressions within it, each with those within it.
    pub fn walk(&self, each: &mut dyn FnMut(&Expr)) {
        for expr in self.limit.iter().chain(&self.offset) {
            expr.walk(each);
        }
        match &self.body {
            Body::Values(rows) => rows.iter().flatten().for_each(|it| it.walk(each)),
            Body::Set(set) => {
                set.one.walk(each);
                set.two.walk(each);
                set.order.iter().for_each(|it| it.key.walk(each));
            }
            Body::Select(select) => select.walk(each),
        }
    }

    /// The columns that it looks at, for each table that it reads.
    pub fn columns(&self) -> Vec<(TableId, Columns)> {
        let mut found = Vec::new();
        self.add_columns(&mut found);
        self.walk(&mut |expr| {
            if let Expr::Subquery(it) = expr {
                it.query.add_columns(&mut found);
            }
        });
        found
    }

    /// Adds those of the tables outside of expressions.
    fn add_columns(&self, found: &mut Vec<(TableId, Columns)>) {
        match &self.body {
            Body::Values(_) => {}
            Body::Set(set) => {
                set.one.add_columns(found);
                set.two.add_columns(found);
            }
            Body::Select(select) => {
                for source in &select.sources {
                    match &source.kind {
                        SourceKind::Table(access) => {
                            found.push((access.table.id, access.columns()));
                        }
                        SourceKind::Query(query) => query.add_columns(found),
                        SourceKind::Series(_) => {}
                    }
                }
            }
        }
    }
}

impl Select {
    /// As [`Query::walk`].
    pub fn walk(&self, each: &mut dyn FnMut(&Expr)) {
        for source in &self.sources {
            for expr in source.on.iter().chain(&source.filter) {
                expr.walk(each);
            }
            match &source.kind {
                SourceKind::Table(access) => access.path.walk(each),
                SourceKind::Query(query) => query.walk(each),
                SourceKind::Series(bounds) => bounds.iter().for_each(|it| it.walk(each)),
            }
        }
        for expr in self.conditions.iter().chain(&self.output) {
            expr.walk(each);
        }
        self.order.iter().for_each(|it| it.key.walk(each));
        if let Distinct::On(keys) = &self.distinct {
            keys.iter().for_each(|it| it.walk(each));
        }
        if let Some(group) = &self.group {
            for expr in group.keys.iter().chain(&group.having) {
                expr.walk(each);
            }
            for aggregate in &group.aggregates {
                let parts = aggregate.argument.iter().chain(&aggregate.filter);
                parts.chain(&aggregate.separator).for_each(|it| it.walk(each));
                aggregate.order.iter().for_each(|it| it.key.walk(each));
            }
        }
    }
}

impl Path {
    /// All rows, in the order of an index.
    pub fn all(index: Option<usize>) -> Self {
        Self { index, prefixes: vec![Vec::new()], is_whole: false, low: None, high: None }
    }

    /// The values of the one whole key that it leads to, if it does.
    pub fn one_key(&self) -> Option<&[Expr]> {
        match (self.prefixes.as_slice(), self.is_whole) {
            ([key], true) => Some(key),
            _ => None,
        }
    }

    /// Whether it leads to all rows, by the primary key.
    pub fn is_full(&self) -> bool {
        self.index.is_none() && self.width() == 0 && self.low.is_none() && self.high.is_none()
    }

    /// The parts of the index that each prefix has.
    pub fn width(&self) -> usize {
        self.prefixes.first().map_or(0, Vec::len)
    }

    /// Whether all prefixes have one value of this part.
    pub fn is_fixed(&self, part: usize) -> bool {
        let mut values = self.prefixes.iter().map(|prefix| prefix.get(part));
        let first = values.next().flatten();
        first.is_some() && values.all(|it| it == first)
    }

    /// Calls `each` for all expressions within it, each with those within it.
    pub fn walk(&self, each: &mut dyn FnMut(&Expr)) {
        let bounds = self.low.iter().chain(&self.high).map(|(bound, _)| bound);
        self.prefixes.iter().flatten().chain(bounds).for_each(|it| it.walk(each));
    }
}
