//! Expressions whose names and types are resolved.

mod arithmetic;
mod cast;
mod compare;
mod eval;
mod functions;
mod like;
mod strings;
mod timing;

pub(crate) use arithmetic::{Number, Operator};
pub(crate) use cast::{Cast, assignable, cast, castable, common, padded, stored_as};
pub(crate) use compare::{Comparison, compare, sort_order};
pub(crate) use eval::{Context, Kept, eval, is_true, look};
pub(crate) use functions::{Function, resolve};

use crate::datum::OwnedDatum;
use crate::plan::Query;

/// An expression over the values of a row, the parameters and the environment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    Constant(OwnedDatum),
    /// By number from 0.
    Parameter(usize),
    /// By its slot in the row.
    Column(usize),
    /// An aggregate of the query by number, until it has a slot.
    Aggregate(usize),
    Not(Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    IsNull(Box<Expr>),
    /// Whether it is true or false, never null.
    Is(Box<Expr>, bool),
    /// The operands have one type.
    Compare(Comparison, Box<Expr>, Box<Expr>),
    /// Nulls are equal.
    NotDistinct(Box<Expr>, Box<Expr>),
    In(Box<Expr>, Vec<Expr>),
    Like {
        text: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        insensitive: bool,
    },
    /// Conditions with results, and the result where none holds.
    Case(Vec<(Expr, Expr)>, Box<Expr>),
    Coalesce(Vec<Expr>),
    Arithmetic(Operator, Number, Box<Expr>, Box<Expr>),
    Negate(Number, Box<Expr>),
    Cast(Box<Expr>, Cast),
    Call(Function, Vec<Expr>),
    Row(Vec<Expr>),
    Subquery(Box<Subquery>),
}

/// A query within an expression. Its rows' slots begin after those of the row around it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Subquery {
    pub query: Query,
    pub kind: SubqueryKind,
    /// Under which its result is kept, where it depends on nothing around it.
    pub number: usize,
    pub correlated: bool,
    /// Slots of the row around it.
    pub outer: usize,
}

/// The value of a query within an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SubqueryKind {
    /// That of its one row.
    Scalar,
    /// Whether it has rows.
    Exists,
    /// Whether this value is among its rows, by this comparison: any of them, or all.
    Any(Comparison, Expr),
    All(Comparison, Expr),
}

/// The parts of an expression, to be read or to be changed.
macro_rules! parts {
    ($expr:expr, $iter:ident, $as_deref:ident $(, $mut:tt)?) => {
        match $expr {
            Self::Constant(_) | Self::Parameter(_) | Self::Column(_) | Self::Aggregate(_) => {
                Vec::new()
            }
            Self::Not(of)
            | Self::IsNull(of)
            | Self::Is(of, _)
            | Self::Negate(_, of)
            | Self::Cast(of, _) => vec![of],
            Self::And(of)
            | Self::Or(of)
            | Self::Coalesce(of)
            | Self::Call(_, of)
            | Self::Row(of) => of.$iter().collect(),
            Self::Compare(_, one, two)
            | Self::NotDistinct(one, two)
            | Self::Arithmetic(_, _, one, two) => vec![one, two],
            Self::In(of, list) => core::iter::once(&$($mut)? **of).chain(list).collect(),
            Self::Like { text, pattern, escape, .. } => {
                let two: [&$($mut)? Expr; 2] = [text, pattern];
                two.into_iter().chain(escape.$as_deref()).collect()
            }
            Self::Case(cases, otherwise) => {
                let cases = cases.$iter().flat_map(|(condition, result)| [condition, result]);
                cases.chain([&$($mut)? **otherwise]).collect()
            }
            Self::Subquery(subquery) => match &$($mut)? subquery.kind {
                SubqueryKind::Any(_, of) | SubqueryKind::All(_, of) => vec![of],
                SubqueryKind::Scalar | SubqueryKind::Exists => Vec::new(),
            },
        }
    };
}

impl Expr {
    pub fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// The expressions of which it is made.
    pub fn parts(&self) -> Vec<&Expr> {
        parts!(self, iter, as_deref)
    }

    /// Those, to be changed.
    pub fn parts_mut(&mut self) -> Vec<&mut Expr> {
        parts!(self, iter_mut, as_deref_mut, mut)
    }

    /// Calls `each` for the expression and all within it, those of queries as well.
    pub fn walk(&self, each: &mut dyn FnMut(&Expr)) {
        each(self);
        for part in self.parts() {
            part.walk(each);
        }
        if let Self::Subquery(subquery) = self {
            subquery.query.walk(each);
        }
    }

    /// Calls `each` for every slot that it reads.
    pub fn slots(&self, each: &mut dyn FnMut(usize)) {
        self.walk(&mut |it| {
            if let Self::Column(slot) = it {
                each(*slot);
            }
        });
    }

    /// Whether it has another value each time that it is evaluated.
    pub fn is_volatile(&self) -> bool {
        let mut found = false;
        self.walk(&mut |it| {
            found |= matches!(it, Self::Call(function, _) if function.is_volatile());
        });
        found
    }
}
