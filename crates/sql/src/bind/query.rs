//! Queries.

use super::{Binder, Bound, BoundQuery, Scope};
use crate::datum::Datum;
use crate::error::{Result, SqlError};
use crate::expr::{Cast, Expr, common};
use crate::plan::{Body, Order, Query, Select, SetKind, SetOperation};
use crate::prepared::OutputColumn;
use crate::statement::too_deep;
use crate::types::Type;
use sqlparser::ast;

/// Columns of a result, at most.
pub(super) const COLUMNS_MAX: usize = 1_664;

impl Binder<'_> {
    /// A query in a scope whose innermost level is its own, and empty.
    pub fn query(&mut self, query: &ast::Query, scope: &Scope) -> Result<BoundQuery> {
        if self.depth >= super::DEPTH_MAX {
            return Err(too_deep());
        }
        self.depth += 1;
        let named = self.with.len();
        let around = core::mem::replace(&mut self.aggregates, Err("this query"));
        let bound = self.query_parts(query, scope);
        self.aggregates = around;
        self.with.truncate(named);
        self.depth -= 1;
        bound
    }

    fn query_parts(&mut self, query: &ast::Query, scope: &Scope) -> Result<BoundQuery> {
        if let Some(with) = &query.with {
            if with.recursive {
                return Err(SqlError::feature_not_supported("WITH RECURSIVE"));
            }
            for cte in &with.cte_tables {
                let name = super::folded(cte.alias.name.clone()).value;
                self.with.push((name, cte.clone()));
            }
        }
        let order = match &query.order_by {
            None => &[][..],
            Some(ast::OrderBy { kind: ast::OrderByKind::Expressions(order), .. }) => order,
            Some(_) => return Err(SqlError::feature_not_supported("ORDER BY ALL")),
        };
        let (limit, offset) = self.limits(query, scope)?;
        let mut bound = match &*query.body {
            ast::SetExpr::Select(select) => {
                self.select(select, order, &query.locks, limit.is_some(), scope)?
            }
            ast::SetExpr::Values(values) if order.is_empty() => self.values(values, scope)?,
            ast::SetExpr::Query(inner) if order.is_empty() => {
                let inner = self.query(inner, scope)?;
                if limit.is_some() || offset.is_some() { self.around(inner, scope) } else { inner }
            }
            ast::SetExpr::SetOperation { left, op, set_quantifier, right } => {
                self.set_operation(left, *op, *set_quantifier, right, order, scope)?
            }
            ast::SetExpr::Insert(_)
            | ast::SetExpr::Update(_)
            | ast::SetExpr::Delete(_)
            | ast::SetExpr::Merge(_) => {
                return Err(SqlError::feature_not_supported("writes within a query"));
            }
            _ => return Err(SqlError::feature_not_supported(format!("the query {query}"))),
        };
        if bound.columns.len() > COLUMNS_MAX {
            let message = format!("target lists can have at most {COLUMNS_MAX} entries");
            return Err(SqlError::too_many_columns(message));
        }
        bound.query.limit = limit.or(bound.query.limit);
        bound.query.offset = offset.or(bound.query.offset);
        Ok(bound)
    }

    /// `SELECT *` of a query, for a limit around that of its own.
    fn around(&mut self, inner: BoundQuery, scope: &Scope) -> BoundQuery {
        let start = scope.width;
        let width = inner.columns.len();
        let source = super::from::source_of_query(inner.query, start, width);
        let select = Select {
            sources: vec![source],
            width: start + width,
            conditions: Vec::new(),
            group: None,
            output: (start..start + width).map(Expr::Column).collect(),
            distinct: crate::plan::Distinct::No,
            order: Vec::new(),
            is_sorted: true,
            has_subquery: false,
        };
        let body = Body::Select(Box::new(select));
        BoundQuery { query: Query { body, limit: None, offset: None }, columns: inner.columns }
    }

    fn limits(
        &mut self,
        query: &ast::Query,
        scope: &Scope,
    ) -> Result<(Option<Expr>, Option<Expr>)> {
        let mut limit_of = None;
        let mut offset_of = None;
        match &query.limit_clause {
            Some(ast::LimitClause::LimitOffset { limit, offset, .. }) => {
                limit_of = limit.as_ref();
                offset_of = offset.as_ref().map(|it| &it.value);
            }
            Some(ast::LimitClause::OffsetCommaLimit { offset, limit }) => {
                (limit_of, offset_of) = (Some(limit), Some(offset));
            }
            None => {}
        }
        let one = ast::Expr::value(ast::Value::Number("1".into(), false));
        if let Some(fetch) = &query.fetch {
            if fetch.with_ties || fetch.percent {
                return Err(SqlError::feature_not_supported("FETCH WITH TIES"));
            }
            limit_of = Some(fetch.quantity.as_ref().unwrap_or(&one));
        }
        let mut count = |expr: &ast::Expr| {
            let bound = self.expr(expr, scope)?;
            let position = self.start_of(expr);
            if !(bound.of.is_number() || bound.of == Type::Unknown) {
                return Err(
                    SqlError::datatype_mismatch("argument of LIMIT must be a number").at(position)
                );
            }
            Ok(self.coerce(bound, Type::Int8).map_err(|it| it.at(position))?.expr)
        };
        Ok((limit_of.map(&mut count).transpose()?, offset_of.map(&mut count).transpose()?))
    }

    fn values(&mut self, values: &ast::Values, scope: &Scope) -> Result<BoundQuery> {
        let mut rows = Vec::with_capacity(values.rows.len());
        for row in &values.rows {
            let row = row.content.iter().map(|it| self.expr(it, scope));
            rows.push(row.collect::<Result<Vec<Bound>>>()?);
        }
        let width = rows.first().map_or(0, Vec::len);
        if rows.iter().any(|row| row.len() != width) {
            return Err(SqlError::syntax_error("VALUES lists must all be the same length"));
        }
        let mut columns = Vec::with_capacity(width);
        let mut out = vec![Vec::with_capacity(width); rows.len()];
        for at in 0..width {
            let bounds = rows.iter().map(|row| row[at].clone()).collect();
            let (exprs, of) = self.one_type(bounds, "VALUES")?;
            out.iter_mut().zip(exprs).for_each(|(row, expr)| row.push(expr));
            columns.push(OutputColumn::computed(format!("column{}", at + 1), of));
        }
        let query = Query { body: Body::Values(out), limit: None, offset: None };
        Ok(BoundQuery { query, columns })
    }

    fn set_operation(
        &mut self,
        left: &ast::SetExpr,
        operator: ast::SetOperator,
        quantifier: ast::SetQuantifier,
        right: &ast::SetExpr,
        order: &[ast::OrderByExpr],
        scope: &Scope,
    ) -> Result<BoundQuery> {
        let kind = match operator {
            ast::SetOperator::Union => SetKind::Union,
            ast::SetOperator::Intersect => SetKind::Intersect,
            ast::SetOperator::Except => SetKind::Except,
            ast::SetOperator::Minus => return Err(SqlError::feature_not_supported("MINUS")),
        };
        let all = quantifier == ast::SetQuantifier::All;
        let (mut one, mut two) = (self.operand(left, scope)?, self.operand(right, scope)?);
        if one.columns.len() != two.columns.len() {
            return Err(SqlError::syntax_error(format!(
                "each {operator} query must have the same number of columns"
            )));
        }
        let mut columns = Vec::new();
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for (one, two) in one.columns.iter().zip(&two.columns) {
            let of = common(one.sql_type, two.sql_type).ok_or_else(|| {
                SqlError::datatype_mismatch(format!(
                    "{operator} types {} and {} cannot be matched",
                    one.sql_type, two.sql_type
                ))
            })?;
            first.push((one.sql_type, of));
            second.push((two.sql_type, of));
            columns.push(OutputColumn::computed(one.name.clone(), of));
        }
        convert_columns(&mut one.query, &first);
        convert_columns(&mut two.query, &second);
        let start = scope.width;
        let order = order.iter().map(|key| {
            let at = output_place(&key.expr, &columns)?.ok_or_else(|| {
                SqlError::feature_not_supported("ORDER BY of an expression over UNION")
                    .with_hint("Only result column names can be used.")
                    .at(self.start_of(&key.expr))
            })?;
            super::select::order_of(Expr::Column(start + at), &key.options)
        });
        let order: Vec<Order> = order.collect::<Result<_>>()?;
        let (one, two) = (one.query, two.query);
        let set = SetOperation { kind, all, one, two, order, start };
        let body = Body::Set(Box::new(set));
        Ok(BoundQuery { query: Query { body, limit: None, offset: None }, columns })
    }

    fn operand(&mut self, operand: &ast::SetExpr, scope: &Scope) -> Result<BoundQuery> {
        let query = ast::Query {
            with: None,
            body: Box::new(operand.clone()),
            order_by: None,
            limit_clause: None,
            fetch: None,
            locks: Vec::new(),
            for_clause: None,
            settings: None,
            format_clause: None,
            pipe_operators: Vec::new(),
        };
        self.query(&query, scope)
    }
}

/// The place of the output column that a key of ORDER BY or GROUP BY names, by number or by name.
pub(super) fn output_place(expr: &ast::Expr, columns: &[OutputColumn]) -> Result<Option<usize>> {
    match expr {
        ast::Expr::Value(value) => {
            let ast::Value::Number(digits, _) = &value.value else { return Ok(None) };
            let place = digits.parse::<usize>().ok().and_then(|it| it.checked_sub(1));
            match place.filter(|it| *it < columns.len()) {
                Some(place) => Ok(Some(place)),
                None => Err(SqlError::invalid_column_reference(format!(
                    "ORDER BY position {digits} is not in select list"
                ))),
            }
        }
        ast::Expr::Identifier(ident) => {
            let name = super::folded(ident.clone()).value;
            Ok(columns.iter().position(|column| column.name == name))
        }
        _ => Ok(None),
    }
}

/// Has a query return its columns as other types.
pub(super) fn convert_columns(query: &mut Query, types: &[(Type, Type)]) {
    let convert = |expr: &mut Expr, from: Type, to: Type| {
        if from != to && !super::is_widening(from, to) {
            let of = core::mem::replace(expr, Expr::Constant(Datum::Null));
            let how = Cast { from, to, modifier: -1, explicit: false };
            *expr = Expr::Cast(Box::new(of), how);
        }
    };
    match &mut query.body {
        Body::Select(select) => {
            for (expr, (from, to)) in select.output.iter_mut().zip(types) {
                convert(expr, *from, *to);
            }
        }
        Body::Values(rows) => {
            for row in rows {
                for (expr, (from, to)) in row.iter_mut().zip(types) {
                    convert(expr, *from, *to);
                }
            }
        }
        Body::Set(set) => {
            convert_columns(&mut set.one, types);
            convert_columns(&mut set.two, types);
        }
    }
}
