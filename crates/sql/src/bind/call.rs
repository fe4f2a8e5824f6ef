//! Calls of functions.

use super::{Binder, Bound, Scope, folded_names};
use crate::datum::Datum;
use crate::error::{Result, SqlError};
use crate::expr::{Comparison, Expr, Function, resolve};
use crate::types::Type;
use sqlparser::ast;
use sqlparser::tokenizer::Span;

impl Binder<'_> {
    /// What has a syntax of its own, and is a function.
    pub(super) fn function_like(&mut self, expr: &ast::Expr, scope: &Scope) -> Result<Bound> {
        use ast::Expr as E;
        let position = self.start_of(expr);
        match expr {
            E::Function(function) => self.function(function, scope),
            E::Ceil { expr, .. } => self.with_arguments("ceil", &[expr], position, scope),
            E::Floor { expr, .. } => self.with_arguments("floor", &[expr], position, scope),
            E::Position { expr, r#in } => {
                self.with_arguments("strpos", &[r#in, expr], position, scope)
            }
            E::Substring { expr, substring_from, substring_for, .. } => {
                let one = ast::Expr::value(ast::Value::Number("1".into(), false));
                let from = substring_from.as_deref().unwrap_or(&one);
                let mut arguments: Vec<&ast::Expr> = vec![expr, from];
                arguments.extend(substring_for.as_deref());
                self.with_arguments("substring", &arguments, position, scope)
            }
            E::Trim { trim_where, trim_what, expr, trim_characters } => {
                let name = match trim_where {
                    Some(ast::TrimWhereField::Leading) => "ltrim",
                    Some(ast::TrimWhereField::Trailing) => "rtrim",
                    _ => "btrim",
                };
                let mut arguments: Vec<&ast::Expr> = vec![expr];
                arguments.extend(trim_what.as_deref());
                arguments.extend(trim_characters.iter().flatten());
                self.with_arguments(name, &arguments, position, scope)
            }
            E::Extract { field, expr, .. } => {
                let field = Expr::Constant(Datum::text(field.to_string().to_lowercase()));
                let bound = self.expr(expr, scope)?;
                if !matches!(
                    bound.of,
                    Type::Date | Type::Timestamp | Type::Timestamptz | Type::Unknown
                ) {
                    return Err(missing("extract", &[Type::Text, bound.of]).at(position));
                }
                let bound = self.coerce(bound, Type::Timestamptz)?;
                let parts = vec![field, bound.expr];
                Ok(Bound::new(Expr::Call(Function::Extract, parts), Type::Numeric))
            }
            E::AtTimeZone { .. } => {
                Err(SqlError::feature_not_supported("AT TIME ZONE").at(position))
            }
            other => {
                Err(SqlError::feature_not_supported(format!("the expression {other}")).at(position))
            }
        }
    }

    fn with_arguments(
        &mut self,
        name: &str,
        arguments: &[&ast::Expr],
        position: Option<u32>,
        scope: &Scope,
    ) -> Result<Bound> {
        let bounds = arguments.iter().map(|it| self.expr(it, scope));
        let bounds = bounds.collect::<Result<Vec<_>>>()?;
        self.call_named(name, bounds, position)
    }

    fn function(&mut self, function: &ast::Function, scope: &Scope) -> Result<Bound> {
        let names = folded_names(&function.name);
        let Some(last) = names.last() else {
            return Err(SqlError::syntax_error("a function without a name"));
        };
        let (name, span) = (last.value.clone(), last.span);
        let position = self.position(span);
        if function.over.is_some() {
            return Err(SqlError::feature_not_supported("window functions").at(position));
        }
        if !function.within_group.is_empty() {
            return Err(SqlError::feature_not_supported("WITHIN GROUP").at(position));
        }
        let list = match &function.args {
            ast::FunctionArguments::None => None,
            ast::FunctionArguments::List(list) => Some(list),
            ast::FunctionArguments::Subquery(_) => {
                return Err(SqlError::feature_not_supported("a query as arguments").at(position));
            }
        };
        if let Some(bound) = self.aggregate(&name, function, list, position, scope)? {
            return Ok(bound);
        }
        if function.filter.is_some() {
            let message = format!("FILTER specified, but {name} is not an aggregate function");
            return Err(SqlError::wrong_object_type(message).at(position));
        }
        let mut bounds = Vec::new();
        for argument in list.iter().flat_map(|it| &it.args) {
            bounds.push(self.argument(argument, position, scope)?);
        }
        match name.as_str() {
            "coalesce" => {
                let (parts, of) = self.one_type(bounds, "COALESCE")?;
                Ok(Bound::new(Expr::Coalesce(parts), of))
            }
            "greatest" | "least" => {
                let (parts, of) = self.one_type(bounds, &name.to_uppercase())?;
                let function = if name == "least" { Function::Least } else { Function::Greatest };
                Ok(Bound::new(Expr::Call(function, parts), of))
            }
            "nullif" => self.null_if(bounds, position),
            _ => self.named_function(&name, bounds, span),
        }
    }

    fn argument(
        &mut self,
        argument: &ast::FunctionArg,
        position: Option<u32>,
        scope: &Scope,
    ) -> Result<Bound> {
        match argument {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => self.expr(expr, scope),
            other => {
                let what = format!("the argument {other}");
                Err(SqlError::feature_not_supported(what).at(position))
            }
        }
    }

    /// `NULLIF(a, b)`: null where they are equal, else the first.
    fn null_if(&mut self, bounds: Vec<Bound>, position: Option<u32>) -> Result<Bound> {
        let Ok([one, two]) = <[Bound; 2]>::try_from(bounds) else {
            return Err(SqlError::syntax_error("NULLIF takes two arguments").at(position));
        };
        let of = one.of;
        let first = one.clone();
        let (one, two) = self.unify(one, two, "=", position)?;
        let equal = Expr::Compare(Comparison::Equal, Box::new(one.expr), Box::new(two.expr));
        let first = if of == Type::Unknown { self.coerce(first, Type::Text)? } else { first };
        let of = first.of;
        let cases = vec![(equal, Expr::Constant(Datum::Null))];
        Ok(Bound::new(Expr::Case(cases, Box::new(first.expr)), of))
    }

    /// A function by its name.
    pub fn named_function(&mut self, name: &str, bounds: Vec<Bound>, span: Span) -> Result<Bound> {
        let position = self.position(span);
        self.call_named(name, bounds, position)
    }

    pub fn call_named(
        &mut self,
        name: &str,
        bounds: Vec<Bound>,
        position: Option<u32>,
    ) -> Result<Bound> {
        let types: Vec<Type> = bounds.iter().map(|it| it.of).collect();
        let Some((function, wanted, of)) = resolve(name, &types) else {
            return Err(missing(name, &types).at(position));
        };
        if function == Function::TypeOf {
            let of = types.first().copied().unwrap_or(Type::Unknown);
            return Ok(Bound::new(Expr::Constant(Datum::text(of.to_string())), Type::Text));
        }
        let mut parts = Vec::with_capacity(bounds.len());
        for (bound, to) in bounds.into_iter().zip(wanted) {
            parts.push(self.coerce(bound, to).map_err(|it| it.at(position))?.expr);
        }
        let call = Expr::Call(function, parts);
        match (function, of) {
            // The least number of a type has no opposite in it.
            (Function::Abs, Type::Int2 | Type::Int4) => {
                self.cast(Bound::new(call, Type::Int8), of, -1)
            }
            _ => Ok(Bound::new(call, of)),
        }
    }
}

/// There is no such function.
pub(super) fn missing(name: &str, types: &[Type]) -> SqlError {
    let types: Vec<String> = types.iter().map(Type::to_string).collect();
    SqlError::undefined_function(format!("function {name}({}) does not exist", types.join(", ")))
        .with_hint(
            "No function matches the given name and argument types. \
             You might need to add explicit type casts.",
        )
}
