//! From names to columns, and from texts to types.

mod access;
mod aggregate;
mod call;
mod expression;
mod from;
mod group;
mod operators;
mod query;
mod scope;
mod select;
mod type_names;
mod write;

pub(crate) use scope::{Relation, RelationColumn, Scope};
pub(crate) use type_names::{is_serial, of_data_type};

use crate::catalog::{CatalogView, Table};
use crate::codec::from_text;
use crate::datum::Datum;
use crate::error::{Result, SqlError};
use crate::expr::{Cast, Expr, assignable, cast, castable};
use crate::plan::{Aggregate, Query};
use crate::prepared::OutputColumn;
use crate::statement::Statement;
use crate::types::Type;
use chiliad_api::TableId;
use core::cell::RefCell;
use sqlparser::ast;
use sqlparser::tokenizer::Span;
use std::sync::Arc;

/// Queries within queries, at most.
const DEPTH_MAX: usize = 20;

/// Resolves the names and types of one statement.
pub(crate) struct Binder<'b> {
    pub catalog: &'b CatalogView,
    /// For positions; none for a default of a column.
    pub statement: Option<&'b Statement>,
    /// The types of parameters, as far as they are known.
    pub parameters: Vec<Option<Type>>,
    /// Their names, in the body of a procedure.
    pub parameter_names: &'b [Option<&'b str>],
    /// The tables that names have led to so far.
    used: RefCell<Vec<TableId>>,
    /// Aggregates found so far, where they may stand; else where they may not.
    aggregates: core::result::Result<Vec<Aggregate>, &'static str>,
    /// Queries that `WITH` has named, the innermost last.
    with: Vec<(String, ast::Cte)>,
    /// Queries and sources whose rows are kept.
    numbers: usize,
    depth: usize,
}

/// An expression with its type.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub expr: Expr,
    pub of: Type,
    pub modifier: i32,
}

/// A query with the columns of its rows.
pub(crate) struct BoundQuery {
    pub query: Query,
    pub columns: Vec<OutputColumn>,
}

impl Bound {
    pub fn new(expr: Expr, of: Type) -> Self {
        Self { expr, of, modifier: -1 }
    }

    pub fn null() -> Self {
        Self::new(Expr::Constant(Datum::Null), Type::Unknown)
    }
}

impl<'b> Binder<'b> {
    pub fn new(catalog: &'b CatalogView, statement: Option<&'b Statement>) -> Self {
        Self {
            catalog,
            statement,
            parameters: Vec::new(),
            parameter_names: &[],
            used: RefCell::default(),
            aggregates: Err("this statement"),
            with: Vec::new(),
            numbers: 0,
            depth: 0,
        }
    }

    pub fn position(&self, span: Span) -> Option<u32> {
        self.statement.filter(|_| span.start.line > 0)?.position(span)
    }

    fn next_number(&mut self) -> usize {
        self.numbers += 1;
        self.numbers
    }

    /// The table of a name, of which the schema is `public` if it says one.
    pub fn table(&self, name: &ast::ObjectName) -> Result<&'b Arc<Table>> {
        let (ident, shown) = table_name(name)?;
        let table = self.catalog.table(&ident.value).ok_or_else(|| {
            SqlError::undefined_table(format!("relation \"{shown}\" does not exist"))
                .at(self.position(ident.span))
        })?;
        let mut used = self.used.borrow_mut();
        if !used.contains(&table.id) {
            used.push(table.id);
        }
        Ok(table)
    }

    /// The tables that names have led to.
    pub fn into_used(self) -> Vec<TableId> {
        self.used.into_inner()
    }

    /// The expression as one of another type, where its place asks for that without being told.
    pub fn coerce(&mut self, bound: Bound, to: Type) -> Result<Bound> {
        if bound.of == to {
            return Ok(bound);
        }
        if bound.of == Type::Unknown {
            return self.coerce_unknown(bound, to);
        }
        if is_widening(bound.of, to) {
            return Ok(Bound { of: to, ..bound });
        }
        Ok(Bound::new(converted(bound, to, -1, false)?, to))
    }

    /// A literal or a parameter gets the type of its place.
    fn coerce_unknown(&mut self, bound: Bound, to: Type) -> Result<Bound> {
        match bound.expr {
            Expr::Constant(Datum::Text(text)) => {
                Ok(Bound::new(Expr::Constant(from_text(to, &text)?), to))
            }
            Expr::Parameter(number) => {
                if let Some(slot) = self.parameters.get_mut(number)
                    && slot.is_none_or(|it| it == Type::Unknown)
                {
                    *slot = Some(to);
                }
                Ok(Bound::new(Expr::Parameter(number), to))
            }
            expr @ Expr::Constant(Datum::Null) => Ok(Bound::new(expr, to)),
            expr => {
                let bound = Bound { expr, of: Type::Text, modifier: -1 };
                Ok(Bound::new(converted(bound, to, -1, true)?, to))
            }
        }
    }

    /// The expression as one of any type: text, if nothing says another one.
    pub fn settle(&mut self, bound: Bound) -> Result<Bound> {
        if bound.of == Type::Unknown { self.coerce(bound, Type::Text) } else { Ok(bound) }
    }

    /// The expression as the value of a column.
    pub fn assign(
        &mut self,
        bound: Bound,
        to: Type,
        modifier: i32,
        column: &str,
        position: Option<u32>,
    ) -> Result<Expr> {
        if !assignable(bound.of, to) {
            return Err(SqlError::datatype_mismatch(format!(
                "column \"{column}\" is of type {to} but expression is of type {}",
                bound.of
            ))
            .with_hint("You will need to rewrite or cast the expression.")
            .at(position));
        }
        if bound.of == Type::Unknown {
            let of = self.coerce(bound, to).map_err(|it| it.at(position))?;
            return if modifier < 0 && to != Type::Name {
                Ok(of.expr)
            } else {
                converted(of, to, modifier, false).map_err(|it| it.at(position))
            };
        }
        let fits = modifier < 0 || bound.modifier == modifier && bound.of == to;
        if fits && (bound.of == to || is_widening(bound.of, to)) {
            return Ok(bound.expr);
        }
        converted(bound, to, modifier, false).map_err(|it| it.at(position))
    }

    /// The expression as one of the type that `CAST` names.
    pub fn cast(&mut self, bound: Bound, to: Type, modifier: i32) -> Result<Bound> {
        let bound = if bound.of == Type::Unknown {
            let typed = self.coerce_unknown(bound, to)?;
            if modifier < 0 {
                return Ok(typed);
            }
            typed
        } else {
            bound
        };
        if !castable(bound.of, to) {
            return Err(SqlError::cannot_coerce(format!("cannot cast type {} to {to}", bound.of)));
        }
        if bound.of == to && modifier < 0 {
            return Ok(bound);
        }
        Ok(Bound { expr: converted(bound, to, modifier, true)?, of: to, modifier })
    }
}

/// Whether a value of the one type is one of the other as it is.
pub(crate) fn is_widening(from: Type, to: Type) -> bool {
    let rank = |of: Type| match of {
        Type::Int2 => 1,
        Type::Int4 => 2,
        Type::Oid => 3,
        Type::Int8 => 4,
        _ => 0,
    };
    let text = |of: Type| matches!(of, Type::Text | Type::Varchar | Type::Name);
    (rank(from) > 0 && rank(from) <= rank(to))
        || (text(from) && matches!(to, Type::Text | Type::Varchar))
        || (from == Type::Float4 && to == Type::Float8)
}

/// The expression with a conversion around it; a constant is converted at once.
fn converted(bound: Bound, to: Type, modifier: i32, explicit: bool) -> Result<Expr> {
    let how = Cast { from: bound.of, to, modifier, explicit };
    match bound.expr {
        Expr::Constant(datum) => Ok(Expr::Constant(cast(datum, how)?)),
        expr => Ok(Expr::Cast(Box::new(expr), how)),
    }
}

/// The last part of a table's name, and the whole as it is shown.
pub(crate) fn table_name(name: &ast::ObjectName) -> Result<(ast::Ident, String)> {
    let parts: Vec<ast::Ident> = name.0.iter().filter_map(|it| it.as_ident().cloned()).collect();
    let parts: Vec<ast::Ident> = parts.into_iter().map(folded).collect();
    match parts.as_slice() {
        [one] => Ok((one.clone(), one.value.clone())),
        [schema, one] | [_, schema, one] => {
            let shown = format!("{}.{}", schema.value, one.value);
            if schema.value == "public" {
                return Ok((one.clone(), shown));
            }
            // Tables of other schemas have both names.
            Ok((ast::Ident { value: shown.clone(), ..one.clone() }, shown))
        }
        _ => Err(SqlError::syntax_error(format!("improper relation name: {name}"))),
    }
}

/// A name as it counts: in small letters, where it is not quoted.
pub(crate) fn folded(ident: ast::Ident) -> ast::Ident {
    match ident.quote_style {
        Some(_) => ident,
        None => ast::Ident { value: ident.value.to_lowercase(), ..ident },
    }
}

/// The names of an object as they count.
pub(crate) fn folded_names(name: &ast::ObjectName) -> Vec<ast::Ident> {
    name.0.iter().filter_map(|it| it.as_ident().cloned()).map(folded).collect()
}
