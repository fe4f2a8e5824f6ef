//! Operators.

use super::{Binder, Bound, Scope};
use crate::datum::Datum;
use crate::error::{Result, SqlError};
use crate::expr::{Comparison, Expr, Function, Number, Operator, common};
use crate::types::Type;
use sqlparser::ast::{self, BinaryOperator, UnaryOperator};

/// The comparison of an operator, if it is one.
pub(crate) fn comparison(operator: &BinaryOperator) -> Option<Comparison> {
    Some(match operator {
        BinaryOperator::Eq => Comparison::Equal,
        BinaryOperator::NotEq => Comparison::NotEqual,
        BinaryOperator::Lt => Comparison::Less,
        BinaryOperator::LtEq => Comparison::LessOrEqual,
        BinaryOperator::Gt => Comparison::Greater,
        BinaryOperator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

fn arithmetic(operator: &BinaryOperator) -> Option<Operator> {
    Some(match operator {
        BinaryOperator::Plus => Operator::Add,
        BinaryOperator::Minus => Operator::Subtract,
        BinaryOperator::Multiply => Operator::Multiply,
        BinaryOperator::Divide => Operator::Divide,
        BinaryOperator::Modulo => Operator::Modulo,
        BinaryOperator::PGExp => Operator::Power,
        BinaryOperator::BitwiseAnd => Operator::And,
        BinaryOperator::BitwiseOr => Operator::Or,
        BinaryOperator::PGBitwiseXor => Operator::Xor,
        BinaryOperator::PGBitwiseShiftLeft => Operator::ShiftLeft,
        BinaryOperator::PGBitwiseShiftRight => Operator::ShiftRight,
        _ => return None,
    })
}

impl Binder<'_> {
    pub(super) fn binary(
        &mut self,
        whole: &ast::Expr,
        left: &ast::Expr,
        operator: &BinaryOperator,
        right: &ast::Expr,
        scope: &Scope,
    ) -> Result<Bound> {
        if matches!(operator, BinaryOperator::And | BinaryOperator::Or) {
            return self.junction(whole, operator, scope);
        }
        if let (ast::Expr::Tuple(ones), ast::Expr::Tuple(twos)) = (left, right)
            && let Some(comparison) = comparison(operator)
        {
            return self.rows_compared(ones, comparison, twos, scope);
        }
        let one = self.left_operand(left, scope)?;
        let two = self.expr(right, scope)?;
        self.operation(one, operator, two, left)
    }

    /// The left operand, whose own left operands are a long list in `1 + 2 + 3 ..`: without a level of the stack for
    /// each.
    fn left_operand(&mut self, left: &ast::Expr, scope: &Scope) -> Result<Bound> {
        let mut spine = Vec::new();
        let mut at = left;
        while let ast::Expr::BinaryOp { left, op, right } = at {
            if matches!(op, BinaryOperator::And | BinaryOperator::Or) {
                break;
            }
            spine.push((op, right, left));
            at = left;
        }
        let mut bound = self.expr(at, scope)?;
        for (operator, right, left) in spine.into_iter().rev() {
            let right = self.expr(right, scope)?;
            bound = self.operation(bound, operator, right, left)?;
        }
        Ok(bound)
    }

    /// `(a, b) = (1, 2)`: the parts of either have the type that they have in common. Rows are equal where all parts are.
    fn rows_compared(
        &mut self,
        ones: &[ast::Expr],
        comparison: Comparison,
        twos: &[ast::Expr],
        scope: &Scope,
    ) -> Result<Bound> {
        if ones.len() != twos.len() {
            let position = ones.first().and_then(|it| self.start_of(it));
            let message = "unequal number of entries in row expressions";
            return Err(SqlError::syntax_error(message).at(position));
        }
        let mut pairs = Vec::with_capacity(ones.len());
        for (one, two) in ones.iter().zip(twos) {
            let position = self.start_of(one);
            let (one, two) = (self.expr(one, scope)?, self.expr(two, scope)?);
            let (one, two) = self.unify(one, two, comparison.symbol(), position)?;
            pairs.push((one.expr, two.expr));
        }
        let of_parts = |(one, two)| Expr::Compare(comparison, Box::new(one), Box::new(two));
        let expr = match comparison {
            Comparison::Equal => Expr::And(pairs.into_iter().map(of_parts).collect()),
            Comparison::NotEqual => Expr::Or(pairs.into_iter().map(of_parts).collect()),
            _ => {
                let (ones, twos) = pairs.into_iter().unzip();
                of_parts((Expr::Row(ones), Expr::Row(twos)))
            }
        };
        Ok(Bound::new(expr, Type::Bool))
    }

    /// A list of conditions with one operator between.
    fn junction(
        &mut self,
        whole: &ast::Expr,
        operator: &BinaryOperator,
        scope: &Scope,
    ) -> Result<Bound> {
        let mut parts = Vec::new();
        let mut at = whole;
        while let ast::Expr::BinaryOp { left, op, right } = at {
            if op != operator {
                break;
            }
            parts.push(&**right);
            at = left;
        }
        parts.push(at);
        let what = if *operator == BinaryOperator::And { "AND" } else { "OR" };
        let parts = parts.into_iter().rev().map(|it| self.condition(it, what, scope));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let expr = if what == "AND" { Expr::And(parts) } else { Expr::Or(parts) };
        Ok(Bound::new(expr, Type::Bool))
    }

    fn operation(
        &mut self,
        one: Bound,
        operator: &BinaryOperator,
        two: Bound,
        left: &ast::Expr,
    ) -> Result<Bound> {
        let position = self.start_of(left);
        if let Some(comparison) = comparison(operator) {
            let (one, two) = self.unify(one, two, comparison.symbol(), position)?;
            let expr = Expr::Compare(comparison, Box::new(one.expr), Box::new(two.expr));
            return Ok(Bound::new(expr, Type::Bool));
        }
        if *operator == BinaryOperator::StringConcat {
            return self.joined(one, two, position);
        }
        if let Some(operator) = arithmetic(operator) {
            return self.arithmetic(one, operator, two, position);
        }
        let like = match operator {
            BinaryOperator::PGLikeMatch => Some((false, false)),
            BinaryOperator::PGILikeMatch => Some((true, false)),
            BinaryOperator::PGNotLikeMatch => Some((false, true)),
            BinaryOperator::PGNotILikeMatch => Some((true, true)),
            _ => None,
        };
        let Some((insensitive, not)) = like else {
            return Err(
                SqlError::feature_not_supported(format!("the operator {operator}")).at(position)
            );
        };
        let text = Box::new(self.coerce(one, Type::Text)?.expr);
        let pattern = Box::new(self.coerce(two, Type::Text)?.expr);
        let expr = Expr::Like { text, pattern, escape: None, insensitive };
        Ok(Bound::new(if not { expr.negated() } else { expr }, Type::Bool))
    }

    fn joined(&mut self, one: Bound, two: Bound, position: Option<u32>) -> Result<Bound> {
        let bytes = one.of == Type::Bytea || two.of == Type::Bytea;
        if !bytes && !one.of.is_text() && !two.of.is_text() {
            return Err(SqlError::undefined_function(format!(
                "operator does not exist: {} || {}",
                one.of, two.of
            ))
            .at(position));
        }
        let of = if bytes { Type::Bytea } else { Type::Text };
        let parts = vec![self.coerce(one, of)?.expr, self.coerce(two, of)?.expr];
        Ok(Bound::new(Expr::Call(Function::Join, parts), of))
    }

    fn arithmetic(
        &mut self,
        one: Bound,
        operator: Operator,
        two: Bound,
        position: Option<u32>,
    ) -> Result<Bound> {
        let dates = match (one.of, two.of, operator) {
            (Type::Date, of, Operator::Add | Operator::Subtract) if of.is_integer() => {
                Some(Number::DateDays)
            }
            (of, Type::Date, Operator::Add) if of.is_integer() => Some(Number::DateDays),
            (Type::Date, Type::Date, Operator::Subtract) => Some(Number::Dates),
            _ => None,
        };
        let missing = |one: Type, two: Type| {
            SqlError::undefined_function(format!(
                "operator does not exist: {one} {} {two}",
                operator.symbol()
            ))
            .with_hint(
                "No operator matches the given name and argument types. \
                 You might need to add explicit type casts.",
            )
            .at(position)
        };
        if let Some(number) = dates {
            let expr = Expr::Arithmetic(operator, number, Box::new(one.expr), Box::new(two.expr));
            return Ok(Bound::new(expr, number.result()));
        }
        let both = (one.of, two.of);
        let mut of = match both {
            (Type::Unknown, Type::Unknown) => None,
            _ => common(one.of, two.of).filter(|it| it.is_number()),
        };
        if operator == Operator::Power && of.is_some_and(|it| it != Type::Numeric) {
            of = Some(Type::Float8);
        }
        let of = of.ok_or_else(|| missing(both.0, both.1))?;
        let integral = matches!(
            operator,
            Operator::And
                | Operator::Or
                | Operator::Xor
                | Operator::ShiftLeft
                | Operator::ShiftRight
        );
        let floating = matches!(of, Type::Float4 | Type::Float8);
        if integral && !of.is_integer() || operator == Operator::Modulo && floating {
            return Err(missing(both.0, both.1));
        }
        let number = Number::of(of).ok_or_else(|| missing(both.0, both.1))?;
        let one = self.coerce(one, of).map_err(|it| it.at(position))?;
        let two = self.coerce(two, of).map_err(|it| it.at(position))?;
        if operator == Operator::Power && of == Type::Numeric {
            let parts = vec![one.expr, two.expr];
            return Ok(Bound::new(Expr::Call(Function::PowerNumeric, parts), of));
        }
        let expr = Expr::Arithmetic(operator, number, Box::new(one.expr), Box::new(two.expr));
        Ok(Bound::new(expr, number.result()))
    }

    pub(super) fn unary(
        &mut self,
        operator: &UnaryOperator,
        expr: &ast::Expr,
        scope: &Scope,
    ) -> Result<Bound> {
        match operator {
            UnaryOperator::Not => {
                let condition = self.condition(expr, "NOT", scope)?;
                Ok(Bound::new(condition.negated(), Type::Bool))
            }
            UnaryOperator::Plus => self.expr(expr, scope),
            UnaryOperator::Minus => {
                // The least number has no positive counterpart.
                if let ast::Expr::Value(value) = expr
                    && let ast::Value::Number(digits, _) = &value.value
                    && digits == "9223372036854775808"
                {
                    return Ok(Bound::new(Expr::Constant(Datum::Int(i64::MIN)), Type::Int8));
                }
                let bound = self.expr(expr, scope)?;
                let bound = match bound.of {
                    Type::Unknown => self.coerce(bound, Type::Float8)?,
                    _ => bound,
                };
                let position = self.start_of(expr);
                let number = Number::of(bound.of).ok_or_else(|| {
                    SqlError::undefined_function(format!("operator does not exist: - {}", bound.of))
                        .at(position)
                })?;
                let of = bound.of;
                let of = match bound.expr {
                    Expr::Constant(Datum::Int(2_147_483_648)) => Type::Int4,
                    _ => of,
                };
                match bound.expr {
                    Expr::Constant(Datum::Int(value)) => {
                        let value = value.checked_neg().unwrap_or(i64::MIN);
                        Ok(Bound::new(Expr::Constant(Datum::Int(value)), of))
                    }
                    Expr::Constant(Datum::Numeric(value)) => {
                        Ok(Bound::new(Expr::Constant(Datum::Numeric(value.negated())), of))
                    }
                    expr => Ok(Bound::new(Expr::Negate(number, Box::new(expr)), of)),
                }
            }
            UnaryOperator::PGAbs => {
                let bound = self.expr(expr, scope)?;
                self.call_named("abs", vec![bound], self.start_of(expr))
            }
            other => Err(SqlError::feature_not_supported(format!("the operator {other}"))
                .at(self.start_of(expr))),
        }
    }
}
