//! Aggregates.

use super::call::missing;
use super::{Binder, Bound, Scope};
use crate::error::{Result, SqlError};
use crate::expr::Expr;
use crate::plan::{Aggregate, AggregateFunction};
use crate::types::Type;
use sqlparser::ast;

impl Binder<'_> {
    /// The aggregate of this name, if it is one.
    pub(super) fn aggregate(
        &mut self,
        name: &str,
        function: &ast::Function,
        list: Option<&ast::FunctionArgumentList>,
        position: Option<u32>,
        scope: &Scope,
    ) -> Result<Option<Bound>> {
        if !matches!(
            name,
            "count"
                | "sum"
                | "avg"
                | "min"
                | "max"
                | "bool_and"
                | "bool_or"
                | "every"
                | "string_agg"
        ) {
            return Ok(None);
        }
        if let Err(place) = self.aggregates {
            let message = format!("aggregate functions are not allowed in {place}");
            return Err(SqlError::grouping_error(message).at(position));
        }
        // Those within are refused; those around go on afterwards.
        let around = core::mem::replace(&mut self.aggregates, Err("aggregate function calls"));
        let bound = self.aggregate_parts(name, function, list, position, scope);
        self.aggregates = around;
        let (aggregate, of) = bound?;
        let Ok(found) = &mut self.aggregates else {
            return Err(SqlError::internal("an aggregate out of place"));
        };
        let number = found.iter().position(|it| *it == aggregate).unwrap_or(found.len());
        if number == found.len() {
            found.push(aggregate);
        }
        Ok(Some(Bound::new(Expr::Aggregate(number), of)))
    }

    fn aggregate_parts(
        &mut self,
        name: &str,
        function: &ast::Function,
        list: Option<&ast::FunctionArgumentList>,
        position: Option<u32>,
        scope: &Scope,
    ) -> Result<(Aggregate, Type)> {
        let filter = function.filter.as_deref();
        let filter = filter.map(|it| self.condition(it, "FILTER", scope)).transpose()?;
        let mut aggregate = Aggregate {
            function: AggregateFunction::Count,
            argument: None,
            distinct: false,
            filter,
            separator: None,
            order: Vec::new(),
            result: Type::Int8,
        };
        let Some(list) = list else { return Err(missing(name, &[]).at(position)) };
        aggregate.distinct = list.duplicate_treatment == Some(ast::DuplicateTreatment::Distinct);
        for clause in &list.clauses {
            let ast::FunctionArgumentClause::OrderBy(order) = clause else {
                return Err(SqlError::feature_not_supported(format!("{clause} in {name}")));
            };
            for key in order {
                let bound = self.expr(&key.expr, scope)?;
                let bound = self.settle(bound)?;
                aggregate.order.push(super::select::order_of(bound.expr, &key.options)?);
            }
        }
        let mut bounds = Vec::new();
        for argument in &list.args {
            match argument {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => {
                    bounds.push(self.expr(expr, scope)?);
                }
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard) if name == "count" => {
                    return Ok((aggregate, Type::Int8));
                }
                other => {
                    let what = format!("the argument {other}");
                    return Err(SqlError::feature_not_supported(what).at(position));
                }
            }
        }
        let types: Vec<Type> = bounds.iter().map(|it| it.of).collect();
        if name == "string_agg" {
            let Ok([text, separator]) = <[Bound; 2]>::try_from(bounds) else {
                return Err(missing(name, &types).at(position));
            };
            aggregate.function = AggregateFunction::StringAgg;
            aggregate.argument = Some(self.coerce(text, Type::Text)?.expr);
            aggregate.separator = Some(self.coerce(separator, Type::Text)?.expr);
            aggregate.result = Type::Text;
            return Ok((aggregate, Type::Text));
        }
        let Ok([bound]) = <[Bound; 1]>::try_from(bounds) else {
            return Err(missing(name, &types).at(position));
        };
        let bound = self.settle_argument(bound)?;
        let (function, argument, of) =
            chosen(name, bound.of).ok_or_else(|| missing(name, &[bound.of]).at(position))?;
        aggregate.function = function;
        aggregate.argument = Some(self.coerce(bound, argument)?.expr);
        aggregate.result = of;
        Ok((aggregate, of))
    }

    fn settle_argument(&mut self, bound: Bound) -> Result<Bound> {
        if bound.of == Type::Unknown { self.coerce(bound, Type::Text) } else { Ok(bound) }
    }
}

/// How an aggregate is computed for values of a type: the function, the type of its argument, and of its value.
fn chosen(name: &str, of: Type) -> Option<(AggregateFunction, Type, Type)> {
    use AggregateFunction as A;
    use Type as T;
    let text = |of: Type| if of.is_text() { T::Text } else { of };
    Some(match (name, of) {
        ("count", of) => (A::Count, of, T::Int8),
        ("sum", T::Int2 | T::Int4) => (A::SumInt, of, T::Int8),
        ("sum", T::Int8 | T::Numeric) => (A::SumNumeric, T::Numeric, T::Numeric),
        ("sum", T::Float4 | T::Float8) => (A::SumFloat, of, of),
        ("avg", T::Int2 | T::Int4 | T::Int8 | T::Numeric) => {
            (A::AvgNumeric, T::Numeric, T::Numeric)
        }
        ("avg", T::Float4 | T::Float8) => (A::AvgFloat, T::Float8, T::Float8),
        ("min" | "max", T::Bool | T::Record | T::Uuid | T::Json | T::Jsonb) => return None,
        ("min", of) => (A::Min, text(of), text(of)),
        ("max", of) => (A::Max, text(of), text(of)),
        ("bool_and" | "every", T::Bool) => (A::BoolAnd, of, of),
        ("bool_or", T::Bool) => (A::BoolOr, of, of),
        _ => return None,
    })
}
