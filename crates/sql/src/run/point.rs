//! The row of one whole key: what most statements read, without what others need around it.

use super::join::{borrowed, has_conditions, is_wanted, one_row};
use super::table::find;
use super::{Emit, Flow};
use crate::catalog::Table;
use crate::datum::Datum;
use crate::error::Result;
use crate::expr::{Context, Expr, eval};
use crate::plan::{Access, Body, Distinct, Query, Select, Source};
use crate::result_row::ResultRow;
use core::slice;

/// A query of the row of one key.
pub(super) struct Point<'q> {
    select: &'q Select,
    source: &'q Source,
    access: &'q Access,
    /// The values of the key.
    key: &'q [Expr],
}

impl<'q> Point<'q> {
    /// The query, if it is such a one, over no row around it.
    pub fn of(query: &'q Query, cx: &Context<'_>) -> Option<Self> {
        let Query { body: Body::Select(select), limit: None, offset: None } = query else {
            return None;
        };
        borrowed(select, cx)?;
        let (source, access, key) = one_row(select)?;
        let is_plain = select.group.is_none()
            && select.distinct == Distinct::No
            && (select.order.is_empty() || select.is_sorted)
            && select.conditions.is_empty();
        is_plain.then_some(Self { select, source, access, key })
    }

    /// Gives the row to `emit`, if there is one.
    pub fn run(&self, cx: &Context<'_>, emit: &mut Emit<'_>) -> Result<Flow> {
        let Self { source, access, .. } = *self;
        let Some(handle) = find(access, self.key, &[], cx)? else {
            return Ok(Flow::More);
        };
        let tx = cx.transaction.borrow();
        let body = access.table.body(tx.bytes(handle)?)?;
        let output = self.select.output.as_slice();
        if !has_conditions(source) && output.iter().all(|it| lies_in_row(&access.table, it)) {
            // No other column is needed, and no key.
            return give(output, emit, |it| match it {
                Expr::Column(at) => access.table.value(&[], &body, *at),
                other => eval(other, &[], cx),
            });
        }
        let key = tx.row_key(handle)?;
        let mut row = Vec::with_capacity(source.width);
        access.table.decode(key, &body, access.needed.iter().copied(), &mut row)?;
        if !is_wanted(source, &row, cx)? {
            return Ok(Flow::More);
        }
        give(output, emit, |it| eval(it, &row, cx))
    }
}

/// Whether an expression is a column that does not lie in the key.
fn lies_in_row(table: &Table, expr: &Expr) -> bool {
    let Expr::Column(at) = expr else { return false };
    table.columns.get(*at).is_some_and(|it| it.place.in_row().is_some())
}

/// Gives the values of expressions to `emit`.
fn give<'v>(
    output: &'v [Expr],
    emit: &mut Emit<'_>,
    mut value: impl FnMut(&'v Expr) -> Result<Datum<'v>>,
) -> Result<Flow> {
    match output {
        [one] => emit(ResultRow::all(slice::from_ref(&value(one)?))),
        all => {
            let mut row = Vec::with_capacity(all.len());
            for expr in all {
                row.push(value(expr)?);
            }
            emit(ResultRow::all(&row))
        }
    }
}
