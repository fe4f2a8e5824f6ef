//! The value of an expression.

use super::compare::{compare, equals};
use super::{Comparison, Expr, Subquery, SubqueryKind, arithmetic, cast, functions, like};
use crate::datum::{Datum, OwnedDatum};
use crate::environment::Environment;
use crate::error::{Result, SqlError};
use crate::run::{Flow, run_query};
use chiliad_api::{Fault, Transaction};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// Rows after which a statement asks whether it goes on.
const ROWS_PER_CHECK: u32 = 256;

/// What the statement that runs has at hand.
pub(crate) struct Context<'c> {
    pub parameters: &'c [Datum<'c>],
    /// Borrowed shared while rows in its memory are looked at, and not shared for each operation.
    pub transaction: RefCell<&'c mut dyn Transaction>,
    pub environment: RefCell<&'c mut dyn Environment>,
    /// The rows of queries that depend on nothing around them, by their numbers.
    kept: RefCell<HashMap<usize, Kept>>,
    /// Queries in progress whose rows go to what uses the transaction itself.
    feeding: Cell<u32>,
    /// Rows gone through so far.
    rows: Cell<u32>,
    /// Bytes of memory that were kept so far.
    memory: Cell<usize>,
    memory_max: usize,
    /// Tells which planted bug is on, where one may be.
    planted: Option<fn(&'static Fault) -> bool>,
}

/// The rows of a query.
pub(crate) type Kept = Rc<Vec<Vec<OwnedDatum>>>;

impl<'c> Context<'c> {
    pub fn new(
        parameters: &'c [Datum<'c>],
        transaction: &'c mut dyn Transaction,
        environment: &'c mut dyn Environment,
    ) -> Self {
        let memory_max = environment.memory_bytes_max();
        let planted = transaction.planted();
        Self {
            parameters,
            transaction: RefCell::new(transaction),
            environment: RefCell::new(environment),
            kept: RefCell::default(),
            feeding: Cell::new(0),
            rows: Cell::new(0),
            memory: Cell::new(0),
            memory_max,
            planted,
        }
    }

    /// Whether a planted bug is on: never where the machine does real work.
    pub fn fault(&self, fault: &'static Fault) -> bool {
        self.planted.is_some_and(|planted| planted(fault))
    }

    /// Runs a query each row of which goes to what uses the transaction itself, before the next row is read.
    pub fn feed<T>(&self, query: impl FnOnce() -> Result<T>) -> Result<T> {
        self.feeding.set(self.feeding.get() + 1);
        let done = query();
        self.feeding.set(self.feeding.get() - 1);
        done
    }

    /// Whether the transaction is free while a row of it is looked at: nobody who gets the row uses it.
    pub fn may_borrow_rows(&self) -> bool {
        self.feeding.get() == 0
    }

    /// A row more: now and then the environment is asked whether the statement goes on.
    pub fn row(&self) -> Result<()> {
        self.rows.set(self.rows.get().wrapping_add(1));
        if self.rows.get().is_multiple_of(ROWS_PER_CHECK) {
            self.environment.borrow().check()?;
        }
        Ok(())
    }

    /// Counts memory that a row takes until the statement ends.
    pub fn keep(&self, row: &[Datum<'_>]) -> Result<()> {
        let bytes = |datum: &Datum<'_>| match datum {
            Datum::Text(text) => text.len(),
            Datum::Bytes(bytes) => bytes.len(),
            _ => 0,
        };
        let row = size_of_val(row) + 48 + row.iter().map(bytes).sum::<usize>();
        self.memory.set(self.memory.get().saturating_add(row));
        if self.memory.get() > self.memory_max {
            return Err(SqlError::out_of_memory("out of memory").with_detail(format!(
                "The statement keeps more than {} bytes of rows.",
                self.memory_max
            )));
        }
        Ok(())
    }

    /// The rows kept under a number, made by `make` the first time.
    pub fn kept(&self, number: usize, make: impl FnOnce() -> Result<Kept>) -> Result<Kept> {
        if let Some(kept) = self.kept.borrow().get(&number) {
            return Ok(Rc::clone(kept));
        }
        let made = make()?;
        self.kept.borrow_mut().insert(number, Rc::clone(&made));
        Ok(made)
    }
}

/// The value of an expression for a row.
pub(crate) fn eval<'r>(
    expr: &'r Expr,
    row: &'r [Datum<'r>],
    cx: &'r Context<'_>,
) -> Result<Datum<'r>> {
    Ok(match look(expr, row, cx)? {
        Cow::Borrowed(datum) => datum.borrowed(),
        Cow::Owned(datum) => datum,
    })
}

/// As [`eval`], to be looked at: without a copy where it stands somewhere.
#[inline]
pub(crate) fn look<'r>(
    expr: &'r Expr,
    row: &'r [Datum<'r>],
    cx: &'r Context<'_>,
) -> Result<Cow<'r, Datum<'r>>> {
    // Most expressions are one of these, and need little room on the stack.
    let there = match expr {
        Expr::Constant(datum) => datum,
        Expr::Parameter(number) => {
            cx.parameters.get(*number).ok_or_else(|| no_parameter(*number))?
        }
        Expr::Column(slot) => row.get(*slot).ok_or_else(no_slot)?,
        composed => return eval_composed(composed, row, cx).map(Cow::Owned),
    };
    Ok(Cow::Borrowed(there))
}

// Apart, since an expression goes as deep as its text does, and the above are all that most of its levels have.
#[inline(never)]
fn eval_composed<'r>(
    expr: &'r Expr,
    row: &'r [Datum<'r>],
    cx: &'r Context<'_>,
) -> Result<Datum<'r>> {
    Ok(match expr {
        Expr::Constant(_) | Expr::Parameter(_) | Expr::Column(_) => eval(expr, row, cx)?,
        Expr::Aggregate(_) => return Err(SqlError::internal("an aggregate without a slot")),
        Expr::Not(of) => match eval(of, row, cx)? {
            Datum::Bool(value) => Datum::Bool(!value),
            _ => Datum::Null,
        },
        Expr::And(parts) => junction(parts, false, row, cx)?,
        Expr::Or(parts) => junction(parts, true, row, cx)?,
        Expr::IsNull(of) => Datum::Bool(match eval(of, row, cx)? {
            Datum::Record(parts) => parts.iter().all(Datum::is_null),
            datum => datum.is_null(),
        }),
        Expr::Is(of, value) => Datum::Bool(eval(of, row, cx)? == Datum::Bool(*value)),
        Expr::Compare(comparison, one, two) => {
            holds(*comparison, (one, two), row, cx)?.map_or(Datum::Null, Datum::Bool)
        }
        Expr::NotDistinct(one, two) => {
            Datum::Bool(equals(&eval(one, row, cx)?, &eval(two, row, cx)?))
        }
        Expr::In(..) | Expr::Like { .. } => found(expr, row, cx)?,
        Expr::Case(cases, otherwise) => {
            for (condition, result) in cases {
                if is_true(condition, row, cx)? {
                    return eval(result, row, cx);
                }
            }
            return eval(otherwise, row, cx);
        }
        Expr::Coalesce(parts) => {
            for part in parts {
                let datum = eval(part, row, cx)?;
                if !datum.is_null() {
                    return Ok(datum);
                }
            }
            Datum::Null
        }
        Expr::Arithmetic(operator, number, one, two) => {
            arithmetic::apply(*operator, *number, &eval(one, row, cx)?, &eval(two, row, cx)?)?
        }
        Expr::Negate(number, of) => arithmetic::negate(*number, &eval(of, row, cx)?)?,
        Expr::Cast(of, how) => cast(eval(of, row, cx)?, *how)?,
        Expr::Call(function, arguments) => {
            let arguments = arguments.iter().map(|it| eval(it, row, cx));
            functions::call(*function, arguments.collect::<Result<Vec<_>>>()?, cx)?
        }
        Expr::Row(parts) => {
            let parts = parts.iter().map(|it| eval(it, row, cx));
            Datum::Record(parts.collect::<Result<_>>()?)
        }
        Expr::Subquery(subquery) => subquery_value(subquery, row, cx)?,
    })
}

/// Whether a value is in a list, or a text like a pattern.
fn found<'r>(expr: &'r Expr, row: &'r [Datum<'r>], cx: &'r Context<'_>) -> Result<Datum<'r>> {
    Ok(match expr {
        Expr::In(of, list) => {
            let of = eval(of, row, cx)?;
            let mut result = Datum::Bool(false);
            for item in list {
                match compared(Comparison::Equal, &of, &eval(item, row, cx)?) {
                    Datum::Bool(true) => return Ok(Datum::Bool(true)),
                    Datum::Bool(_) => {}
                    _ => result = Datum::Null,
                }
            }
            result
        }
        Expr::Like { text, pattern, escape, insensitive } => {
            let escape = match escape {
                None => Some('\\'),
                Some(escape) => match eval(escape, row, cx)? {
                    Datum::Text(text) => escape_of(&text)?,
                    _ => return Ok(Datum::Null),
                },
            };
            match (eval(text, row, cx)?, eval(pattern, row, cx)?) {
                (Datum::Text(text), Datum::Text(pattern)) => {
                    Datum::Bool(like::matches(&text, &pattern, escape, *insensitive)?)
                }
                _ => Datum::Null,
            }
        }
        _ => return Err(SqlError::internal("another expression")),
    })
}

#[cold]
fn no_slot() -> SqlError {
    SqlError::internal("a column without a slot")
}

#[cold]
fn no_parameter(number: usize) -> SqlError {
    SqlError::undefined_parameter(format!("there is no parameter ${}", number + 1))
}

/// Whether a condition holds for a row.
pub(crate) fn is_true(expr: &Expr, row: &[Datum<'_>], cx: &Context<'_>) -> Result<bool> {
    Ok(match expr {
        // What most conditions are.
        Expr::Compare(comparison, one, two) => {
            holds(*comparison, (one, two), row, cx)? == Some(true)
        }
        other => matches!(eval(other, row, cx)?, Datum::Bool(true)),
    })
}

fn escape_of(text: &str) -> Result<Option<char>> {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (letter, None) => Ok(letter),
        _ => Err(SqlError::new("22019", "invalid escape string")
            .with_hint("Escape string must be empty or one character.")),
    }
}

/// Whether a comparison of two expressions holds for a row; `None` where one of them is null.
#[inline]
fn holds(
    comparison: Comparison,
    (one, two): (&Expr, &Expr),
    row: &[Datum<'_>],
    cx: &Context<'_>,
) -> Result<Option<bool>> {
    let (one, two) = (look(one, row, cx)?, look(two, row, cx)?);
    Ok(compare(&one, &two).map(|order| comparison.holds(order)))
}

fn compared<'a>(comparison: Comparison, one: &Datum<'_>, two: &Datum<'_>) -> Datum<'a> {
    compare(one, two).map_or(Datum::Null, |order| Datum::Bool(comparison.holds(order)))
}

/// `OR` (`decisive`) or `AND`: the first part that decides does; a null among the others makes it null.
fn junction<'r>(
    parts: &'r [Expr],
    decisive: bool,
    row: &'r [Datum<'r>],
    cx: &'r Context<'_>,
) -> Result<Datum<'r>> {
    let mut result = Datum::Bool(!decisive);
    for part in parts {
        match eval(part, row, cx)? {
            Datum::Bool(value) if value == decisive => return Ok(Datum::Bool(value)),
            Datum::Bool(_) => {}
            _ => result = Datum::Null,
        }
    }
    Ok(result)
}

fn subquery_value<'r>(
    subquery: &'r Subquery,
    row: &'r [Datum<'r>],
    cx: &'r Context<'_>,
) -> Result<Datum<'r>> {
    let most = match subquery.kind {
        SubqueryKind::Scalar => 2,
        SubqueryKind::Exists => 1,
        SubqueryKind::Any(..) | SubqueryKind::All(..) => usize::MAX,
    };
    let rows = || {
        let mut rows = Vec::new();
        let outer = row.get(..subquery.outer).unwrap_or(row);
        run_query(&subquery.query, outer, cx, &mut |found| {
            let found = found.into_owned();
            if !subquery.correlated {
                cx.keep(&found)?;
            }
            rows.push(found);
            Ok(if rows.len() < most { Flow::More } else { Flow::Enough })
        })?;
        Ok(Rc::new(rows))
    };
    let rows = if subquery.correlated { rows()? } else { cx.kept(subquery.number, rows)? };
    match &subquery.kind {
        SubqueryKind::Exists => Ok(Datum::Bool(!rows.is_empty())),
        SubqueryKind::Scalar => match rows.as_slice() {
            [] => Ok(Datum::Null),
            [one] => Ok(one.first().cloned().unwrap_or_default()),
            _ => Err(SqlError::cardinality_violation(
                "more than one row returned by a subquery used as an expression",
            )),
        },
        SubqueryKind::Any(comparison, of) | SubqueryKind::All(comparison, of) => {
            let of = eval(of, row, cx)?;
            let decisive = matches!(subquery.kind, SubqueryKind::Any(..));
            let mut result = Datum::Bool(!decisive);
            for found in rows.iter() {
                let holds = match (&of, found.as_slice()) {
                    (Datum::Record(_), parts) => {
                        compared(*comparison, &of, &Datum::Record(parts.into()))
                    }
                    (of, [one]) => compared(*comparison, of, one),
                    _ => return Err(SqlError::internal("a row of several columns")),
                };
                match holds {
                    Datum::Bool(value) if value == decisive => return Ok(Datum::Bool(value)),
                    Datum::Bool(_) => {}
                    _ => result = Datum::Null,
                }
            }
            Ok(result)
        }
    }
}
