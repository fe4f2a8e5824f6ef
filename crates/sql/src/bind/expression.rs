//! Expressions of the parser as expressions of typed values.

use super::{Binder, Bound, Scope, of_data_type};
use crate::datum::Datum;
use crate::error::{Result, SqlError};
use crate::expr::{Comparison, Expr, Subquery, SubqueryKind, common};
use crate::numeric::Numeric;
use crate::types::Type;
use sqlparser::ast::{self, BinaryOperator, Spanned};
use sqlparser::tokenizer::Span;

/// Numbers of parameters, at most.
const PARAMETERS_MAX: usize = 65_535;

impl Binder<'_> {
    /// The expression with its type.
    pub fn expr(&mut self, expr: &ast::Expr, scope: &Scope) -> Result<Bound> {
        use ast::Expr as E;
        match expr {
            E::Nested(inner) => self.expr(inner, scope),
            E::Identifier(ident) => self.identifier(ident, scope),
            E::CompoundIdentifier(idents) => self.qualified_column(idents, scope),
            E::Value(value) => self.literal(value),
            E::TypedString(typed) => {
                let text = typed.value.value.clone().into_string().unwrap_or_default();
                let (of, modifier) = of_data_type(&typed.data_type)?;
                let bound = Bound::new(Expr::Constant(Datum::text(text)), Type::Unknown);
                self.cast(bound, of, modifier).map_err(|it| it.at(self.position(typed.value.span)))
            }
            E::BinaryOp { left, op, right } => self.binary(expr, left, op, right, scope),
            E::UnaryOp { op, expr } => self.unary(op, expr, scope),
            E::IsNull(of) => self.is_null(of, scope),
            E::IsNotNull(of) => self.is_null(of, scope).map(negated),
            E::IsTrue(of) => self.is(of, true, scope),
            E::IsNotTrue(of) => self.is(of, true, scope).map(negated),
            E::IsFalse(of) => self.is(of, false, scope),
            E::IsNotFalse(of) => self.is(of, false, scope).map(negated),
            E::IsUnknown(of) => self.is_null(of, scope),
            E::IsNotUnknown(of) => self.is_null(of, scope).map(negated),
            E::IsDistinctFrom(one, two) => self.not_distinct(one, two, scope).map(negated),
            E::IsNotDistinctFrom(one, two) => self.not_distinct(one, two, scope),
            E::In { .. } | E::Between { .. } | E::Like { .. } | E::ILike { .. } => {
                self.predicate(expr, scope)
            }
            E::Cast {
                kind: ast::CastKind::Cast | ast::CastKind::DoubleColon,
                expr,
                data_type,
                ..
            } => {
                let (to, modifier) = of_data_type(data_type)?;
                let bound = self.expr(expr, scope)?;
                self.cast(bound, to, modifier).map_err(|it| it.at(self.start_of(expr)))
            }
            E::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref(), scope)
            }
            E::Tuple(parts) => {
                let parts = parts.iter().map(|it| Ok(self.expr(it, scope)?.expr));
                Ok(Bound::new(Expr::Row(parts.collect::<Result<_>>()?), Type::Record))
            }
            E::Exists { subquery, negated: not } => {
                let bound = self.subquery(subquery, scope, SubqueryKind::Exists)?.0;
                Ok(if *not { negated(bound) } else { bound })
            }
            E::Subquery(query) => {
                let (mut bound, types) = self.subquery(query, scope, SubqueryKind::Scalar)?;
                let [of] = types.as_slice() else {
                    return Err(SqlError::syntax_error("subquery must return only one column"));
                };
                bound.of = *of;
                Ok(bound)
            }
            E::AnyOp { left, compare_op, right, .. } => {
                self.quantified(left, compare_op, right, true, scope)
            }
            E::AllOp { left, compare_op, right } => {
                self.quantified(left, compare_op, right, false, scope)
            }
            E::Collate { expr, .. } => self.expr(expr, scope),
            other => self.function_like(other, scope),
        }
    }

    /// IN, BETWEEN and LIKE, each of which may be negated.
    fn predicate(&mut self, expr: &ast::Expr, scope: &Scope) -> Result<Bound> {
        use ast::Expr as E;
        match expr {
            E::In { expr, target, negated: not, .. } => {
                let bound = self.within(expr, target, scope)?;
                Ok(if *not { negated(bound) } else { bound })
            }
            E::Between { expr, negated: not, low, high } => {
                let (of, low) = self.pair(expr, low, scope)?;
                let (again, high) = self.pair(expr, high, scope)?;
                let compare = |comparison, one: Bound, two: Bound| {
                    Expr::Compare(comparison, Box::new(one.expr), Box::new(two.expr))
                };
                let between = Expr::And(vec![
                    compare(Comparison::GreaterOrEqual, of, low),
                    compare(Comparison::LessOrEqual, again, high),
                ]);
                let bound = Bound::new(between, Type::Bool);
                Ok(if *not { negated(bound) } else { bound })
            }
            E::Like { negated: not, any: false, expr, pattern, escape_char } => {
                let escape = escape_char.as_deref();
                let bound = self.like(expr, pattern, escape, false, scope)?;
                Ok(if *not { negated(bound) } else { bound })
            }
            E::ILike { negated: not, any: false, expr, pattern, escape_char } => {
                let escape = escape_char.as_deref();
                let bound = self.like(expr, pattern, escape, true, scope)?;
                Ok(if *not { negated(bound) } else { bound })
            }
            other => self.function_like(other, scope),
        }
    }

    /// The condition, which is a boolean.
    pub fn condition(&mut self, expr: &ast::Expr, what: &str, scope: &Scope) -> Result<Expr> {
        let bound = self.expr(expr, scope)?;
        self.boolean(bound, what, expr)
    }

    pub fn boolean(&mut self, bound: Bound, what: &str, expr: &ast::Expr) -> Result<Expr> {
        if !matches!(bound.of, Type::Bool | Type::Unknown) {
            return Err(SqlError::datatype_mismatch(format!(
                "argument of {what} must be type boolean, not type {}",
                bound.of
            ))
            .at(self.start_of(expr)));
        }
        let position = self.start_of(expr);
        Ok(self.coerce(bound, Type::Bool).map_err(|it| it.at(position))?.expr)
    }

    /// Where an expression begins in the text.
    pub fn start_of(&self, expr: &ast::Expr) -> Option<u32> {
        self.position(expr.span())
    }

    fn identifier(&mut self, ident: &ast::Ident, scope: &Scope) -> Result<Bound> {
        if ident.quote_style.is_none() && self.column(ident, scope).is_err() {
            // Functions that are called without parentheses.
            let name = ident.value.to_lowercase();
            let is_function = matches!(
                name.as_str(),
                "current_user"
                    | "session_user"
                    | "user"
                    | "current_role"
                    | "current_catalog"
                    | "current_schema"
                    | "current_date"
                    | "current_timestamp"
                    | "localtimestamp"
                    | "localtime"
                    | "current_time"
            );
            if is_function {
                return self.named_function(&name, Vec::new(), ident.span);
            }
        }
        self.column(ident, scope)
    }

    fn literal(&mut self, value: &ast::ValueWithSpan) -> Result<Bound> {
        use ast::Value as V;
        let text =
            |text: &str| Bound::new(Expr::Constant(Datum::text(text.to_owned())), Type::Unknown);
        Ok(match &value.value {
            V::Null => Bound::null(),
            V::Boolean(value) => Bound::new(Expr::Constant(Datum::Bool(*value)), Type::Bool),
            V::Number(digits, _) => {
                number(digits).map_err(|it| it.at(self.position(value.span)))?
            }
            V::SingleQuotedString(it)
            | V::EscapedStringLiteral(it)
            | V::UnicodeStringLiteral(it)
            | V::NationalStringLiteral(it) => text(it),
            V::DollarQuotedString(it) => text(&it.value),
            V::Placeholder(name) => self.parameter(name, value.span)?,
            other => {
                return Err(SqlError::feature_not_supported(format!("the literal {other}"))
                    .at(self.position(value.span)));
            }
        })
    }

    fn parameter(&mut self, name: &str, span: Span) -> Result<Bound> {
        let number = name.strip_prefix('$').and_then(|it| it.parse::<usize>().ok());
        let number = number.filter(|it| (1..=PARAMETERS_MAX).contains(it)).ok_or_else(|| {
            SqlError::undefined_parameter(format!("there is no parameter {name}"))
                .at(self.position(span))
        })?;
        if self.parameters.len() < number {
            self.parameters.resize(number, None);
        }
        let of = self.parameters[number - 1].unwrap_or(Type::Unknown);
        Ok(Bound::new(Expr::Parameter(number - 1), of))
    }

    fn is_null(&mut self, of: &ast::Expr, scope: &Scope) -> Result<Bound> {
        let bound = self.expr(of, scope)?;
        let bound = self.settle(bound)?;
        Ok(Bound::new(Expr::IsNull(Box::new(bound.expr)), Type::Bool))
    }

    fn is(&mut self, of: &ast::Expr, value: bool, scope: &Scope) -> Result<Bound> {
        let what = if value { "IS TRUE" } else { "IS FALSE" };
        let condition = self.condition(of, what, scope)?;
        Ok(Bound::new(Expr::Is(Box::new(condition), value), Type::Bool))
    }

    fn not_distinct(&mut self, one: &ast::Expr, two: &ast::Expr, scope: &Scope) -> Result<Bound> {
        let (one, two) = self.pair(one, two, scope)?;
        let expr = Expr::NotDistinct(Box::new(one.expr), Box::new(two.expr));
        Ok(Bound::new(expr, Type::Bool))
    }

    /// Two expressions of one type.
    fn pair(&mut self, one: &ast::Expr, two: &ast::Expr, scope: &Scope) -> Result<(Bound, Bound)> {
        let (first, second) = (self.expr(one, scope)?, self.expr(two, scope)?);
        let position = self.start_of(one);
        self.unify(first, second, "=", position)
    }

    /// Both as values of the type that they have in common.
    pub fn unify(
        &mut self,
        one: Bound,
        two: Bound,
        symbol: &str,
        position: Option<u32>,
    ) -> Result<(Bound, Bound)> {
        if let (Expr::Row(ones), Expr::Row(twos)) = (&one.expr, &two.expr)
            && ones.len() != twos.len()
        {
            return Err(
                SqlError::syntax_error("unequal number of entries in row expressions").at(position)
            );
        }
        let Some(of) = common(one.of, two.of) else {
            return Err(SqlError::undefined_function(format!(
                "operator does not exist: {} {symbol} {}",
                one.of, two.of
            ))
            .with_hint(
                "No operator matches the given name and argument types. \
                 You might need to add explicit type casts.",
            )
            .at(position));
        };
        let one = self.comparable(one, of).map_err(|it| it.at(position))?;
        let two = self.comparable(two, of).map_err(|it| it.at(position))?;
        Ok((one, two))
    }

    /// A value that is compared as one of type `of`: of a blank-padded text the part before the blanks.
    fn comparable(&mut self, bound: Bound, of: Type) -> Result<Bound> {
        let bound = self.coerce(bound, of)?;
        if of == Type::Bpchar { self.coerce(bound, Type::Text) } else { Ok(bound) }
    }

    fn within(&mut self, expr: &ast::Expr, target: &ast::InTarget, scope: &Scope) -> Result<Bound> {
        match target {
            ast::InTarget::List(list) => {
                if let ast::Expr::Tuple(parts) = expr {
                    return self.rows_within(parts, list, scope);
                }
                let of = self.expr(expr, scope)?;
                let items = list.iter().map(|it| self.expr(it, scope));
                let items = items.collect::<Result<Vec<_>>>()?;
                let position = self.start_of(expr);
                let mut bound = of;
                for item in &items {
                    bound = self.unify(bound, item.clone(), "=", position)?.0;
                }
                let mut list = Vec::with_capacity(items.len());
                for item in items {
                    list.push(self.unify(bound.clone(), item, "=", position)?.1.expr);
                }
                Ok(Bound::new(Expr::In(Box::new(bound.expr), list), Type::Bool))
            }
            ast::InTarget::Subquery(query) => self.any(expr, Comparison::Equal, query, true, scope),
            _ => Err(SqlError::feature_not_supported("IN over this target")),
        }
    }

    /// `(a, b) IN ((1, 2), (3, 4))`.
    fn rows_within(
        &mut self,
        parts: &[ast::Expr],
        list: &[ast::Expr],
        scope: &Scope,
    ) -> Result<Bound> {
        let mut left = parts.iter().map(|it| self.expr(it, scope)).collect::<Result<Vec<_>>>()?;
        let mut rows = Vec::with_capacity(list.len());
        for item in list {
            let ast::Expr::Tuple(items) = item else {
                return Err(SqlError::feature_not_supported("IN of a row over what is no row"));
            };
            if items.len() != left.len() {
                let message = "unequal number of entries in row expressions";
                return Err(SqlError::syntax_error(message).at(self.start_of(item)));
            }
            let items = items.iter().map(|it| self.expr(it, scope));
            rows.push(items.collect::<Result<Vec<_>>>()?);
        }
        for row in &rows {
            for (one, two) in left.iter_mut().zip(row) {
                *one = self.unify(one.clone(), two.clone(), "=", None)?.0;
            }
        }
        let mut items = Vec::with_capacity(rows.len());
        for row in rows {
            let mut parts = Vec::with_capacity(row.len());
            for (one, two) in left.iter().zip(row) {
                parts.push(self.unify(one.clone(), two, "=", None)?.1.expr);
            }
            items.push(Expr::Row(parts));
        }
        let left = Expr::Row(left.into_iter().map(|it| it.expr).collect());
        Ok(Bound::new(Expr::In(Box::new(left), items), Type::Bool))
    }

    fn like(
        &mut self,
        text: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        insensitive: bool,
        scope: &Scope,
    ) -> Result<Bound> {
        let mut part = |expr: &ast::Expr| {
            let bound = self.expr(expr, scope)?;
            if !bound.of.is_text() {
                return Err(SqlError::undefined_function(format!(
                    "operator does not exist: {} ~~ unknown",
                    bound.of
                ))
                .at(self.start_of(expr)));
            }
            Ok(Box::new(self.coerce(bound, Type::Text)?.expr))
        };
        let (text, pattern) = (part(text)?, part(pattern)?);
        let escape = escape.map(part).transpose()?;
        Ok(Bound::new(Expr::Like { text, pattern, escape, insensitive }, Type::Bool))
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&ast::Expr>,
        scope: &Scope,
    ) -> Result<Bound> {
        let (mut tests, mut results) = (Vec::new(), Vec::new());
        for case in conditions {
            tests.push(match operand {
                None => self.condition(&case.condition, "CASE/WHEN", scope)?,
                Some(operand) => {
                    let (one, two) = self.pair(operand, &case.condition, scope)?;
                    let (one, two) = (Box::new(one.expr), Box::new(two.expr));
                    Expr::Compare(Comparison::Equal, one, two)
                }
            });
            results.push(self.expr(&case.result, scope)?);
        }
        results.push(otherwise.map_or_else(|| Ok(Bound::null()), |it| self.expr(it, scope))?);
        let (mut results, of) = self.one_type(results, "CASE")?;
        let otherwise = results.pop().unwrap_or(Expr::Constant(Datum::Null));
        let cases = tests.into_iter().zip(results).collect();
        Ok(Bound::new(Expr::Case(cases, Box::new(otherwise)), of))
    }

    /// All as values of the type that they have in common.
    pub fn one_type(&mut self, bounds: Vec<Bound>, what: &str) -> Result<(Vec<Expr>, Type)> {
        let mut of = Type::Unknown;
        for bound in &bounds {
            of = match (of, bound.of) {
                (Type::Unknown, next) => next,
                (of, Type::Unknown) => of,
                (of, next) => common(of, next).ok_or_else(|| {
                    SqlError::datatype_mismatch(format!(
                        "{what} types {of} and {next} cannot be matched"
                    ))
                })?,
            };
        }
        let of = if of == Type::Unknown { Type::Text } else { of };
        let exprs = bounds.into_iter().map(|it| Ok(self.coerce(it, of)?.expr));
        Ok((exprs.collect::<Result<_>>()?, of))
    }

    /// A query within an expression, and the types of its columns.
    pub fn subquery(
        &mut self,
        query: &ast::Query,
        scope: &Scope,
        kind: SubqueryKind,
    ) -> Result<(Bound, Vec<Type>)> {
        let bound = self.query(query, &scope.inner())?;
        let (outer, number) = (scope.width, self.next_number());
        let mut correlated = false;
        bound.query.walk(&mut |it| match it {
            Expr::Column(slot) => correlated |= *slot < outer,
            Expr::Call(function, _) => correlated |= function.is_volatile(),
            _ => {}
        });
        let types = bound.columns.iter().map(|it| it.sql_type).collect();
        let subquery = Subquery { query: bound.query, kind, number, correlated, outer };
        Ok((Bound::new(Expr::Subquery(Box::new(subquery)), Type::Bool), types))
    }

    fn quantified(
        &mut self,
        left: &ast::Expr,
        operator: &BinaryOperator,
        right: &ast::Expr,
        any: bool,
        scope: &Scope,
    ) -> Result<Bound> {
        let comparison = super::operators::comparison(operator).ok_or_else(|| {
            SqlError::feature_not_supported(format!("the operator {operator} with ANY or ALL"))
        })?;
        match right {
            ast::Expr::Subquery(query) => self.any(left, comparison, query, any, scope),
            ast::Expr::Array(array) => {
                let of = self.expr(left, scope)?;
                let mut parts = Vec::new();
                for item in &array.elem {
                    let item = self.expr(item, scope)?;
                    let position = self.start_of(left);
                    let (one, two) = self.unify(of.clone(), item, comparison.symbol(), position)?;
                    let (one, two) = (Box::new(one.expr), Box::new(two.expr));
                    parts.push(Expr::Compare(comparison, one, two));
                }
                let expr = if any { Expr::Or(parts) } else { Expr::And(parts) };
                Ok(Bound::new(expr, Type::Bool))
            }
            _ => {
                Err(SqlError::feature_not_supported("ANY and ALL over arrays")
                    .at(self.start_of(right)))
            }
        }
    }

    /// Whether the value is among the rows of a query.
    fn any(
        &mut self,
        left: &ast::Expr,
        comparison: Comparison,
        query: &ast::Query,
        any: bool,
        scope: &Scope,
    ) -> Result<Bound> {
        let (bound, types) = self.subquery(query, scope, SubqueryKind::Exists)?;
        let Expr::Subquery(mut subquery) = bound.expr else {
            return Err(SqlError::internal("a query that is none"));
        };
        let position = self.start_of(left);
        let of = match left {
            ast::Expr::Tuple(parts) => {
                if parts.len() != types.len() {
                    return Err(SqlError::syntax_error("subquery has too few columns").at(position));
                }
                let mut exprs = Vec::new();
                for (part, of) in parts.iter().zip(&types) {
                    let part = self.expr(part, scope)?;
                    let column = Bound::new(Expr::Constant(Datum::Null), *of);
                    exprs.push(self.unify(part, column, comparison.symbol(), position)?.0.expr);
                }
                Expr::Row(exprs)
            }
            left => {
                let [of] = types.as_slice() else {
                    return Err(
                        SqlError::syntax_error("subquery has too many columns").at(position)
                    );
                };
                let left = self.expr(left, scope)?;
                let column = Bound::new(Expr::Constant(Datum::Null), *of);
                let (left, _) = self.unify(left, column, comparison.symbol(), position)?;
                let same = left.of == *of || super::is_widening(*of, left.of);
                if !same {
                    super::query::convert_columns(&mut subquery.query, &[(*of, left.of)]);
                }
                left.expr
            }
        };
        subquery.kind = match any {
            true => SubqueryKind::Any(comparison, of),
            false => SubqueryKind::All(comparison, of),
        };
        Ok(Bound::new(Expr::Subquery(subquery), Type::Bool))
    }
}

fn negated(bound: Bound) -> Bound {
    Bound { expr: bound.expr.negated(), ..bound }
}

/// A number as the smallest type that it fits.
fn number(digits: &str) -> Result<Bound> {
    let bare = digits.replace('_', "");
    if bare.bytes().all(|it| it.is_ascii_digit())
        && let Ok(value) = bare.parse::<i64>()
    {
        let of = if i32::try_from(value).is_ok() { Type::Int4 } else { Type::Int8 };
        return Ok(Bound::new(Expr::Constant(Datum::Int(value)), of));
    }
    let value = Numeric::parse(&bare)?;
    Ok(Bound::new(Expr::Constant(Datum::Numeric(value)), Type::Numeric))
}
