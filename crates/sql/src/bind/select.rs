//! `SELECT`.

use super::from::conjuncts;
use super::query::output_place;
use super::{Binder, Bound, BoundQuery, Scope, folded};
use crate::error::{Result, SqlError};
use crate::expr::Expr;
use crate::plan::{Aggregate, Body, Distinct, Order, Query, Select, SourceKind};
use crate::prepared::OutputColumn;
use crate::types::Type;
use sqlparser::ast;

/// A key with its direction.
pub(super) fn order_of(key: Expr, options: &ast::OrderByOptions) -> Result<Order> {
    let descending = match &options.sort {
        None | Some(ast::OrderBySort::Asc) => false,
        Some(ast::OrderBySort::Desc) => true,
        Some(ast::OrderBySort::Using(_)) => {
            return Err(SqlError::feature_not_supported("ORDER BY USING"));
        }
    };
    Ok(Order { key, descending, nulls_first: options.nulls_first.unwrap_or(descending) })
}

/// The list after SELECT or RETURNING.
pub(super) struct Output {
    pub exprs: Vec<Expr>,
    pub columns: Vec<OutputColumn>,
}

impl Binder<'_> {
    pub(super) fn select(
        &mut self,
        select: &ast::Select,
        order: &[ast::OrderByExpr],
        locks: &[ast::LockClause],
        is_limited: bool,
        scope: &Scope,
    ) -> Result<BoundQuery> {
        if select.into.is_some() || !select.named_window.is_empty() || select.qualify.is_some() {
            return Err(SqlError::feature_not_supported("INTO and windows in SELECT"));
        }
        let outer = scope.width;
        let mut scope = scope.clone();
        self.aggregates = Err("FROM");
        let mut from = self.from(&select.from, &mut scope)?;
        let mut conditions = core::mem::take(&mut from.conditions);
        if let Some(selection) = &select.selection {
            self.aggregates = Err("WHERE");
            conditions.extend(conjuncts(self.condition(selection, "WHERE", &scope)?));
        }
        self.aggregates = Ok(Vec::new());
        let output = self.output(&select.projection, &scope)?;
        let mut keys = self.group_keys(&select.group_by, &output, &scope)?;
        let having = select.having.as_ref();
        let mut having = having.map(|it| self.condition(it, "HAVING", &scope)).transpose()?;
        let mut order = self.order(order, &output, &scope)?;
        let mut distinct = self.distinct(select.distinct.as_ref(), &order, &output, &scope)?;
        let aggregates: Vec<Aggregate> =
            core::mem::replace(&mut self.aggregates, Err("this query")).unwrap_or_default();
        let Output { mut exprs, columns } = output;
        let is_grouped = !aggregates.is_empty() || !keys.is_empty() || having.is_some();
        let group = if is_grouped {
            let single = keys.is_empty();
            let mut after: Vec<&mut Expr> = exprs.iter_mut().chain(&mut having).collect();
            after.extend(order.iter_mut().map(|it| &mut it.key));
            if let Distinct::On(on) = &mut distinct {
                after.extend(on);
            }
            self.regroup(after, &mut keys, aggregates.len(), outer, &scope)?;
            Some(crate::plan::Group { keys, aggregates, having, outer, single })
        } else {
            None
        };
        self.lock(locks, &mut from.sources)?;
        let mut bound = Select {
            sources: from.sources,
            width: scope.width,
            conditions: Vec::new(),
            group,
            output: exprs,
            distinct,
            order,
            is_sorted: false,
            has_subquery: false,
        };
        self.plan_access(&mut bound, conditions, outer, is_limited);
        let body = Body::Select(Box::new(bound));
        Ok(BoundQuery { query: Query { body, limit: None, offset: None }, columns })
    }

    fn lock(
        &mut self,
        locks: &[ast::LockClause],
        sources: &mut [crate::plan::Source],
    ) -> Result<()> {
        for lock in locks {
            if lock.nonblock.is_some() {
                return Err(SqlError::feature_not_supported("NOWAIT and SKIP LOCKED"));
            }
            for source in sources.iter_mut() {
                if let SourceKind::Table(access) = &mut source.kind {
                    access.for_update |= matches!(lock.lock_type, ast::LockType::Update);
                }
            }
        }
        Ok(())
    }

    /// The list of values with their names.
    pub(super) fn output(&mut self, items: &[ast::SelectItem], scope: &Scope) -> Result<Output> {
        let mut output = Output { exprs: Vec::new(), columns: Vec::new() };
        for item in items {
            match item {
                ast::SelectItem::UnnamedExpr(expr) => {
                    let bound = self.expr(expr, scope)?;
                    let name = name_of(expr);
                    self.add_output(bound, name, scope, &mut output)?;
                }
                ast::SelectItem::ExprWithAlias { expr, alias } => {
                    let bound = self.expr(expr, scope)?;
                    self.add_output(bound, folded(alias.clone()).value, scope, &mut output)?;
                }
                ast::SelectItem::Wildcard(_) => {
                    if scope.own().is_empty() {
                        let message = "SELECT * with no tables specified is not valid";
                        return Err(SqlError::syntax_error(message));
                    }
                    for relation in scope.own() {
                        push_all(relation, &mut output);
                    }
                }
                ast::SelectItem::QualifiedWildcard(
                    ast::SelectItemQualifiedWildcardKind::ObjectName(name),
                    _,
                ) => {
                    let names = super::folded_names(name);
                    let name = names.last().map_or("", |it| it.value.as_str());
                    let relation = scope.own().iter().find(|it| it.name == name);
                    let relation = relation.ok_or_else(|| {
                        SqlError::undefined_table(format!(
                            "missing FROM-clause entry for table \"{name}\""
                        ))
                    })?;
                    push_all(relation, &mut output);
                }
                other => {
                    return Err(SqlError::feature_not_supported(format!("{other} in SELECT")));
                }
            }
        }
        Ok(output)
    }

    fn add_output(
        &mut self,
        bound: Bound,
        name: String,
        scope: &Scope,
        output: &mut Output,
    ) -> Result<()> {
        let bound = self.settle(bound)?;
        let described = match &bound.expr {
            Expr::Column(slot) => scope.output(*slot),
            _ => None,
        };
        output.columns.push(OutputColumn {
            name,
            sql_type: bound.of,
            modifier: bound.modifier,
            table_oid: described.map_or(0, |it| it.table_oid),
            column_number: described.map_or(0, |it| it.column_number),
        });
        output.exprs.push(bound.expr);
        Ok(())
    }

    fn order(
        &mut self,
        order: &[ast::OrderByExpr],
        output: &Output,
        scope: &Scope,
    ) -> Result<Vec<Order>> {
        let mut keys = Vec::with_capacity(order.len());
        for key in order {
            let position = self.start_of(&key.expr);
            let place = output_place(&key.expr, &output.columns).map_err(|it| it.at(position))?;
            let expr = match place {
                Some(place) => output.exprs[place].clone(),
                None => {
                    let bound = self.expr(&key.expr, scope)?;
                    self.settle(bound)?.expr
                }
            };
            keys.push(order_of(expr, &key.options)?);
        }
        Ok(keys)
    }

    fn group_keys(
        &mut self,
        group_by: &ast::GroupByExpr,
        output: &Output,
        scope: &Scope,
    ) -> Result<Vec<Expr>> {
        let ast::GroupByExpr::Expressions(exprs, modifiers) = group_by else {
            return Err(SqlError::feature_not_supported("GROUP BY ALL"));
        };
        if !modifiers.is_empty() {
            return Err(SqlError::feature_not_supported("GROUP BY with modifiers"));
        }
        let around = core::mem::replace(&mut self.aggregates, Err("GROUP BY"));
        let mut keys = Vec::with_capacity(exprs.len());
        let mut bind = || {
            for expr in exprs {
                // A name is first that of a column, then that of the output.
                let column = match expr {
                    ast::Expr::Identifier(ident) => self.column(ident, scope).ok(),
                    _ => None,
                };
                let place = match column {
                    Some(_) => None,
                    None => output_place(expr, &output.columns)?,
                };
                keys.push(match (column, place) {
                    (Some(column), _) => column.expr,
                    (None, Some(place)) => output.exprs[place].clone(),
                    (None, None) => {
                        let bound = self.expr(expr, scope)?;
                        self.settle(bound)?.expr
                    }
                });
            }
            Ok(())
        };
        let bound = bind();
        self.aggregates = around;
        bound.map(|()| keys)
    }

    fn distinct(
        &mut self,
        distinct: Option<&ast::Distinct>,
        order: &[Order],
        output: &Output,
        scope: &Scope,
    ) -> Result<Distinct> {
        match distinct {
            None | Some(ast::Distinct::All) => Ok(Distinct::No),
            Some(ast::Distinct::Distinct) => {
                if order.iter().any(|it| !output.exprs.contains(&it.key)) {
                    return Err(SqlError::invalid_column_reference(
                        "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                    ));
                }
                Ok(Distinct::Yes)
            }
            Some(ast::Distinct::On(exprs)) => {
                let mut keys = Vec::new();
                for expr in exprs {
                    let place = output_place(expr, &output.columns)?;
                    keys.push(match place {
                        Some(place) => output.exprs[place].clone(),
                        None => {
                            let bound = self.expr(expr, scope)?;
                            self.settle(bound)?.expr
                        }
                    });
                }
                let first = order.iter().take(keys.len()).all(|it| keys.contains(&it.key));
                if !first {
                    return Err(SqlError::invalid_column_reference(
                        "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
                    ));
                }
                Ok(Distinct::On(keys))
            }
        }
    }
}

fn push_all(relation: &super::Relation, output: &mut Output) {
    for (at, column) in relation.columns.iter().enumerate().filter(|(_, it)| !it.is_merged) {
        output.exprs.push(relation.column(at).expr);
        output.columns.push(column.output.clone());
    }
}

/// The name that PostgreSQL gives a value that is given none.
fn name_of(expr: &ast::Expr) -> String {
    use ast::Expr as E;
    match expr {
        E::Identifier(ident) => folded(ident.clone()).value,
        E::CompoundIdentifier(idents) => {
            idents.last().map_or(String::new(), |it| folded(it.clone()).value)
        }
        E::Nested(inner) | E::Collate { expr: inner, .. } => name_of(inner),
        E::Function(function) => {
            let names = super::folded_names(&function.name);
            names.last().map_or(String::new(), |it| it.value.clone())
        }
        E::Cast { expr, data_type, .. } => match name_of(expr).as_str() {
            "?column?" => super::of_data_type(data_type)
                .map_or("?column?".into(), |(of, _)| internal_name(of).to_owned()),
            name => name.to_owned(),
        },
        E::Case { else_result, .. } => match else_result.as_deref().map(name_of) {
            Some(name) if name != "?column?" => name,
            _ => "case".into(),
        },
        E::Exists { .. } => "exists".into(),
        E::Value(value) if matches!(value.value, ast::Value::Boolean(_)) => "bool".into(),
        E::Extract { .. } => "extract".into(),
        E::Substring { .. } => "substring".into(),
        E::Position { .. } => "position".into(),
        E::Ceil { .. } => "ceil".into(),
        E::Floor { .. } => "floor".into(),
        E::Trim { trim_where, .. } => match trim_where {
            Some(ast::TrimWhereField::Leading) => "ltrim".into(),
            Some(ast::TrimWhereField::Trailing) => "rtrim".into(),
            _ => "btrim".into(),
        },
        E::Tuple(_) => "row".into(),
        _ => "?column?".into(),
    }
}

/// A type's name in the catalog.
fn internal_name(of: Type) -> &'static str {
    match of {
        Type::Bool => "bool",
        Type::Int2 => "int2",
        Type::Int4 => "int4",
        Type::Int8 => "int8",
        Type::Float4 => "float4",
        Type::Float8 => "float8",
        Type::Numeric => "numeric",
        Type::Text => "text",
        Type::Varchar => "varchar",
        Type::Bpchar => "bpchar",
        Type::Name => "name",
        Type::Bytea => "bytea",
        Type::Date => "date",
        Type::Time => "time",
        Type::Timestamp => "timestamp",
        Type::Timestamptz => "timestamptz",
        Type::Uuid => "uuid",
        Type::Json => "json",
        Type::Jsonb => "jsonb",
        Type::Oid => "oid",
        Type::Record | Type::Void | Type::Unknown => "?column?",
    }
}
