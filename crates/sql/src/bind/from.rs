//! The tables and queries of FROM.

use super::{Binder, Relation, RelationColumn, Scope, folded, folded_names, table_name};
use crate::error::{Result, SqlError};
use crate::expr::{Comparison, Expr};
use crate::plan::{Access, Query, Source, SourceKind};
use crate::prepared::OutputColumn;
use crate::types::Type;
use sqlparser::ast;

/// What FROM says.
#[derive(Default)]
pub(super) struct From {
    pub sources: Vec<Source>,
    /// Conditions of inner joins.
    pub conditions: Vec<Expr>,
}

/// How a join treats rows that go with none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Inner,
    Left,
    Right,
}

/// A query as a source of rows.
pub(super) fn source_of_query(query: Query, start: usize, width: usize) -> Source {
    source(SourceKind::Query(Box::new(query)), start, width)
}

pub(super) fn source(kind: SourceKind, start: usize, width: usize) -> Source {
    let (on, filter) = (Vec::new(), Vec::new());
    Source { kind, start, width, is_left: false, on, filter, kept: None }
}

impl Binder<'_> {
    /// Adds the relations of FROM to the scope's own level.
    pub(super) fn from(
        &mut self,
        tables: &[ast::TableWithJoins],
        scope: &mut Scope,
    ) -> Result<From> {
        let mut from = From::default();
        for table in tables {
            self.joined_tables(table, scope, &mut from)?;
        }
        Ok(from)
    }

    fn joined_tables(
        &mut self,
        table: &ast::TableWithJoins,
        scope: &mut Scope,
        from: &mut From,
    ) -> Result<()> {
        let first = from.sources.len();
        self.factor(&table.relation, scope, from)?;
        for join in &table.joins {
            self.join(join, first, scope, from)?;
        }
        Ok(())
    }

    fn join(
        &mut self,
        join: &ast::Join,
        first: usize,
        scope: &mut Scope,
        from: &mut From,
    ) -> Result<()> {
        use ast::JoinOperator as J;
        let (side, constraint) = match &join.join_operator {
            J::Join(constraint) | J::Inner(constraint) | J::CrossJoin(constraint) => {
                (Side::Inner, constraint)
            }
            J::Left(constraint) | J::LeftOuter(constraint) => (Side::Left, constraint),
            J::Right(constraint) | J::RightOuter(constraint) => (Side::Right, constraint),
            _ => return Err(SqlError::feature_not_supported("this kind of join")),
        };
        let before = scope.own().len();
        let sources = from.sources.len();
        self.factor(&join.relation, scope, from)?;
        if side != Side::Inner && from.sources.len() != sources + 1 {
            return Err(SqlError::feature_not_supported("an outer join of a join"));
        }
        let conditions = match constraint {
            ast::JoinConstraint::On(expr) => self.condition(expr, "JOIN/ON", scope)?,
            ast::JoinConstraint::Using(names) => {
                let names = names.iter().filter_map(|it| folded_names(it).pop());
                let names: Vec<String> = names.map(|it| it.value).collect();
                self.using(&names, before, scope)?
            }
            ast::JoinConstraint::Natural => {
                let own = scope.own();
                let right = own.get(before..).unwrap_or_default();
                let has = |relations: &[Relation], name: &str| {
                    relations.iter().any(|it| it.columns.iter().any(|it| it.output.name == name))
                };
                let names = right.iter().flat_map(|it| &it.columns).map(|it| &it.output.name);
                let names = names.filter(|name| has(&own[..before], name)).cloned();
                let names: Vec<String> = names.collect();
                self.using(&names, before, scope)?
            }
            ast::JoinConstraint::None => Expr::And(Vec::new()),
            ast::JoinConstraint::UsingAlias(..) => {
                return Err(SqlError::feature_not_supported("USING with an alias"));
            }
        };
        let conditions = conjuncts(conditions);
        match side {
            Side::Inner => from.conditions.extend(conditions),
            Side::Left => {
                let Some(right) = from.sources.last_mut() else { return Ok(()) };
                right.is_left = true;
                right.on = conditions;
            }
            Side::Right => {
                if first + 2 != from.sources.len() || from.sources[first].is_left {
                    return Err(SqlError::feature_not_supported("a right join of a join"));
                }
                from.sources.swap(first, first + 1);
                let left = &mut from.sources[first + 1];
                left.is_left = true;
                left.on = conditions;
            }
        }
        Ok(())
    }

    /// Equality of columns of one name of the relations before and after.
    fn using(&mut self, names: &[String], before: usize, scope: &mut Scope) -> Result<Expr> {
        let mut parts = Vec::new();
        for name in names {
            let find = |relations: &[Relation]| {
                relations.iter().find_map(|relation| {
                    let mut columns = relation.columns.iter();
                    let at = columns.position(|it| it.output.name == *name && !it.is_merged)?;
                    Some(relation.column(at))
                })
            };
            let own = scope.own();
            let missing = |side: &str| {
                SqlError::undefined_column(format!(
                    "column \"{name}\" specified in USING clause does not exist in {side} table"
                ))
            };
            let one = find(&own[..before]).ok_or_else(|| missing("left"))?;
            let two = find(&own[before..]).ok_or_else(|| missing("right"))?;
            let (one, two) = self.unify(one, two, "=", None)?;
            parts.push(Expr::Compare(Comparison::Equal, Box::new(one.expr), Box::new(two.expr)));
            let right = scope.levels.last_mut().into_iter().flat_map(|it| &mut it[before..]);
            for column in right.flat_map(|it| &mut it.columns) {
                column.is_merged |= column.output.name == *name;
            }
        }
        Ok(Expr::And(parts))
    }

    fn factor(
        &mut self,
        factor: &ast::TableFactor,
        scope: &mut Scope,
        from: &mut From,
    ) -> Result<()> {
        use ast::TableFactor as F;
        match factor {
            F::Table { name, alias, args: None, .. } => {
                self.named(name, alias.as_ref(), scope, from)
            }
            F::Table { name, alias, args: Some(args), .. } => {
                self.series(name, &args.args, alias.as_ref(), scope, from)
            }
            F::Function { name, args, alias, .. } => {
                self.series(name, args, alias.as_ref(), scope, from)
            }
            F::Derived { lateral, subquery, alias, .. } => {
                let alias = alias.as_ref();
                let name = alias.map_or(String::new(), |it| folded(it.name.clone()).value);
                self.derived(&name, subquery, alias, *lateral, scope, from)
            }
            F::NestedJoin { table_with_joins, alias: None } => {
                self.joined_tables(table_with_joins, scope, from)
            }
            other => Err(SqlError::feature_not_supported(format!("{other} in FROM"))),
        }
    }

    fn named(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&ast::TableAlias>,
        scope: &mut Scope,
        from: &mut From,
    ) -> Result<()> {
        let (ident, _) = table_name(name)?;
        let shown = alias.map_or(ident.value.clone(), |it| folded(it.name.clone()).value);
        if let Some(at) = self.with.iter().rposition(|(it, _)| *it == ident.value) {
            let cte = self.with[at].1.clone();
            // A name of WITH is not known within its own query.
            let after = self.with.split_off(at);
            let mut columns = cte.alias.clone();
            if let Some(alias) = alias.filter(|it| !it.columns.is_empty()) {
                columns.columns.clone_from(&alias.columns);
            }
            let derived = self.derived(&shown, &cte.query, Some(&columns), false, scope, from);
            self.with.extend(after);
            return derived;
        }
        let table = self.table(name)?.clone();
        let start = scope.width;
        let mut relation = Relation::of_table(&shown, &table, start);
        rename(&mut relation, alias)?;
        scope.push(relation).map_err(|it| it.at(self.position(ident.span)))?;
        let width = table.columns.len();
        let access = Access::all(table, false);
        from.sources.push(source(SourceKind::Table(access), start, width));
        Ok(())
    }

    fn derived(
        &mut self,
        name: &str,
        query: &ast::Query,
        alias: Option<&ast::TableAlias>,
        lateral: bool,
        scope: &mut Scope,
        from: &mut From,
    ) -> Result<()> {
        let start = scope.width;
        let mut inner = scope.clone();
        if !lateral && let Some(own) = inner.levels.last_mut() {
            own.clear();
        }
        inner.levels.push(Vec::new());
        let bound = self.query(query, &inner)?;
        let width = bound.columns.len();
        let columns = bound.columns.into_iter();
        let columns = columns.map(|output| RelationColumn { output, is_merged: false }).collect();
        let mut relation = Relation { name: name.into(), columns, start };
        rename(&mut relation, alias)?;
        scope.push(relation)?;
        from.sources.push(source_of_query(bound.query, start, width));
        Ok(())
    }

    fn series(
        &mut self,
        name: &ast::ObjectName,
        arguments: &[ast::FunctionArg],
        alias: Option<&ast::TableAlias>,
        scope: &mut Scope,
        from: &mut From,
    ) -> Result<()> {
        let names = folded_names(name);
        let function = names.last().map_or("", |it| it.value.as_str());
        if function != "generate_series" || !matches!(arguments.len(), 2 | 3) {
            return Err(SqlError::feature_not_supported(format!("{name} in FROM")));
        }
        let (mut bounds, mut of) = (Vec::new(), Type::Int4);
        for argument in arguments {
            let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) = argument else {
                return Err(SqlError::feature_not_supported(format!("the argument {argument}")));
            };
            let bound = self.expr(expr, scope)?;
            if bound.of == Type::Int8 {
                of = Type::Int8;
            } else if !bound.of.is_integer() && bound.of != Type::Unknown {
                return Err(SqlError::feature_not_supported(format!(
                    "generate_series over {}",
                    bound.of
                )));
            }
            bounds.push(self.coerce(bound, Type::Int8)?.expr);
        }
        let start = scope.width;
        let shown = alias.map_or(function.to_owned(), |it| folded(it.name.clone()).value);
        let output = OutputColumn::computed(shown.clone(), of);
        let columns = vec![RelationColumn { output, is_merged: false }];
        let mut relation = Relation { name: shown, columns, start };
        rename(&mut relation, alias)?;
        scope.push(relation)?;
        from.sources.push(source(SourceKind::Series(bounds), start, 1));
        Ok(())
    }
}

/// Gives the columns the names of an alias.
fn rename(relation: &mut Relation, alias: Option<&ast::TableAlias>) -> Result<()> {
    let names = alias.map_or(&[][..], |it| &it.columns);
    if names.len() > relation.columns.len() {
        return Err(SqlError::invalid_column_reference(format!(
            "table \"{}\" has {} columns available but {} columns specified",
            relation.name,
            relation.columns.len(),
            names.len()
        )));
    }
    for (column, name) in relation.columns.iter_mut().zip(names) {
        let output: &mut OutputColumn = &mut column.output;
        output.name = folded(name.name.clone()).value;
    }
    Ok(())
}

/// The conditions of which a condition is made, all of which must hold.
pub(super) fn conjuncts(expr: Expr) -> Vec<Expr> {
    match expr {
        Expr::And(parts) => parts.into_iter().flat_map(conjuncts).collect(),
        other => vec![other],
    }
}
