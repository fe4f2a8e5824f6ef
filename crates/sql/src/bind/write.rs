//! `INSERT`, `UPDATE` and `DELETE`.

use super::from::{conjuncts, source};
use super::select::Output;
use super::{Binder, Bound, Relation, Scope, folded, folded_names};
use crate::catalog::{Column, Table};
use crate::datum::Datum;
use crate::details::Check;
use crate::error::{Result, SqlError};
use crate::expr::{Expr, Function};
use crate::plan::{
    Access, Change, Checks, Conflict, Distinct, Insert, InsertSource, Select, SourceKind, Target,
};
use crate::prepared::OutputColumn;
use crate::run::row_sequence;
use crate::types::Type;
use sqlparser::ast;
use std::sync::Arc;

impl Binder<'_> {
    pub fn insert(&mut self, insert: &ast::Insert) -> Result<(Insert, Vec<OutputColumn>)> {
        let ast::TableObject::TableName(name) = &insert.table else {
            return Err(SqlError::feature_not_supported("INSERT into what is no table"));
        };
        let table = self.table(name)?.clone();
        let mut places = Vec::new();
        for name in &insert.columns {
            places.push(self.place(&table, name)?);
        }
        for (at, place) in places.iter().enumerate() {
            if places[..at].contains(place) {
                return Err(SqlError::duplicate_column(format!(
                    "column \"{}\" specified more than once",
                    table.columns[*place].name
                )));
            }
        }
        if places.is_empty() {
            places = (0..table.columns.len()).collect();
        }
        let overriding = matches!(insert.overriding, Some(ast::InsertOverriding::System));
        let source = match &insert.source {
            None => InsertSource::Values(vec![self.with_defaults(&table, Vec::new())?]),
            Some(query) => self.inserted(&table, &places, query, overriding)?,
        };
        let alias = insert.table_alias.as_ref();
        let shown = alias.map_or(table.name.clone(), |it| folded(it.alias.clone()).value);
        let mut scope = Scope::default();
        scope.push(Relation::of_table(&shown, &table, 0))?;
        let conflict = self.conflict(insert.on.as_ref(), &table, &scope)?;
        let returning = insert.returning.as_ref();
        let returning = returning.map(|it| self.output(it, &scope)).transpose()?;
        let (returning, columns) = parts(returning);
        let numbers = table.hidden_key.then(|| row_sequence(&table.name));
        let checks = self.checks(&table)?;
        Ok((Insert { table, source, numbers, conflict, checks, returning }, columns))
    }

    /// The conditions that a table's rows meet.
    pub fn checks(&self, table: &Table) -> Result<Checks> {
        let checks = table.details.iter().flat_map(|it| &it.checks);
        let bind = |check: &Check| {
            let parsed = crate::statement::parse_expression(&check.condition)?;
            let mut scope = Scope::default();
            scope.push(Relation::of_table(&table.name, table, 0))?;
            let mut binder = Binder::new(self.catalog, None);
            let condition = binder.condition(&parsed, "CHECK", &scope)?;
            Ok((check.name.clone(), condition))
        };
        checks.map(bind).collect()
    }

    /// The rows to be inserted, and the value of each column of the table over such a row.
    fn inserted(
        &mut self,
        table: &Table,
        places: &[usize],
        query: &ast::Query,
        overriding: bool,
    ) -> Result<InsertSource> {
        let values = match &*query.body {
            ast::SetExpr::Values(values) if query.order_by.is_none() && query.with.is_none() => {
                values
            }
            _ => {
                let bound = self.query(query, &Scope::default().inner())?;
                let found = bound.columns.iter().enumerate();
                let found: Vec<Bound> = found
                    .map(|(at, it)| Bound {
                        expr: Expr::Column(at),
                        of: it.sql_type,
                        modifier: it.modifier,
                    })
                    .collect();
                let given = self.given(table, places, found, overriding)?;
                let values = self.with_defaults(table, given)?;
                return Ok(InsertSource::Query(bound.query, values));
            }
        };
        let scope = Scope::default();
        let mut rows = Vec::with_capacity(values.rows.len());
        let width = values.rows.first().map_or(0, |row| row.content.len());
        for row in &values.rows {
            if row.content.len() != width {
                return Err(SqlError::syntax_error("VALUES lists must all be the same length"));
            }
            if width > places.len() {
                let position = row.content.get(places.len()).and_then(|it| self.start_of(it));
                return Err(SqlError::syntax_error(
                    "INSERT has more expressions than target columns",
                )
                .at(position));
            }
            let mut exprs = Vec::with_capacity(width);
            for (expr, place) in row.content.iter().zip(places) {
                let column = &table.columns[*place];
                exprs.push(match expr {
                    ast::Expr::Identifier(ident) if is_default(ident) => {
                        self.default(table, column)?
                    }
                    expr => {
                        check_always(column, overriding)?;
                        let bound = self.expr(expr, &scope)?;
                        let position = self.start_of(expr);
                        let (of, modifier) = (column.sql_type, column.modifier);
                        self.assign(bound, of, modifier, &column.name, position)?
                    }
                });
            }
            rows.push(exprs);
        }
        if width < places.len() && !places.is_empty() && values.rows.len() == 1 && width == 0 {
            return Err(SqlError::syntax_error("VALUES without values"));
        }
        let given = places.iter().take(width).enumerate();
        let given = given.map(|(at, place)| (*place, Expr::Column(at))).collect();
        // Each slot is that of one column; the other values are over no row.
        let values = self.with_defaults(table, given)?;
        let whole = |mut row: Vec<Expr>| {
            let value = |value: &Expr| match value {
                Expr::Column(at) => core::mem::replace(&mut row[*at], Expr::Constant(Datum::Null)),
                over_no_row => over_no_row.clone(),
            };
            values.iter().map(value).collect()
        };
        Ok(InsertSource::Values(rows.into_iter().map(whole).collect()))
    }

    /// The columns of a query as values of the table's columns.
    fn given(
        &mut self,
        table: &Table,
        places: &[usize],
        found: Vec<Bound>,
        overriding: bool,
    ) -> Result<Vec<(usize, Expr)>> {
        if found.len() > places.len() {
            return Err(SqlError::syntax_error("INSERT has more expressions than target columns"));
        }
        let mut given = Vec::with_capacity(found.len());
        for (bound, place) in found.into_iter().zip(places) {
            let column = &table.columns[*place];
            check_always(column, overriding)?;
            let (of, modifier) = (column.sql_type, column.modifier);
            given.push((*place, self.assign(bound, of, modifier, &column.name, None)?));
        }
        Ok(given)
    }

    /// A value for each column: the one given, or the default.
    fn with_defaults(&mut self, table: &Table, given: Vec<(usize, Expr)>) -> Result<Vec<Expr>> {
        let mut values = vec![None; table.columns.len()];
        for (place, expr) in given {
            values[place] = Some(expr);
        }
        let columns = table.columns.iter().zip(values);
        columns
            .map(|(column, value)| value.map_or_else(|| self.default(table, column), Ok))
            .collect()
    }

    /// The value of a column where none is given.
    fn default(&mut self, table: &Table, column: &Column) -> Result<Expr> {
        if let Some(sequence) = &column.sequence {
            let name = Expr::Constant(Datum::text(sequence.clone()));
            let bound = Bound::new(Expr::Call(Function::NextValue, vec![name]), Type::Int8);
            return self.assign(bound, column.sql_type, column.modifier, &column.name, None);
        }
        let Some(default) = &column.default else { return Ok(Expr::Constant(Datum::Null)) };
        let parsed = crate::statement::parse_expression(default)?;
        let mut binder = Binder::new(self.catalog, None);
        let bound = binder.expr(&parsed, &Scope::default()).map_err(|error| {
            let detail = format!("The default of column {}.{}.", table.name, column.name);
            error.with_detail(detail)
        })?;
        binder.assign(bound, column.sql_type, column.modifier, &column.name, None)
    }

    fn place(&self, table: &Table, name: &ast::ObjectName) -> Result<usize> {
        let names = folded_names(name);
        let ident =
            names.last().ok_or_else(|| SqlError::syntax_error("a column without a name"))?;
        table.place_of(&ident.value).ok_or_else(|| {
            SqlError::undefined_column(format!(
                "column \"{}\" of relation \"{}\" does not exist",
                ident.value, table.name
            ))
            .at(self.position(ident.span))
        })
    }

    fn conflict(
        &mut self,
        on: Option<&ast::OnInsert>,
        table: &Table,
        scope: &Scope,
    ) -> Result<Conflict> {
        let conflict = match on {
            None => return Ok(Conflict::Error),
            Some(ast::OnInsert::OnConflict(conflict)) => conflict,
            Some(_) => return Err(SqlError::feature_not_supported("ON DUPLICATE KEY")),
        };
        let target = conflict.conflict_target.as_ref();
        let target = target.map(|it| self.target(it, table)).transpose()?;
        let update = match &conflict.action {
            ast::OnConflictAction::DoNothing => return Ok(Conflict::Nothing(target)),
            ast::OnConflictAction::DoUpdate(update) => update,
        };
        let target = target.ok_or_else(|| {
            SqlError::syntax_error(
                "ON CONFLICT DO UPDATE requires inference specification or constraint name",
            )
        })?;
        let mut scope = scope.clone();
        let mut excluded = Relation::of_table("excluded", table, table.columns.len());
        // They are named with their relation alone.
        excluded.columns.iter_mut().for_each(|it| it.is_merged = true);
        scope.push(excluded)?;
        let assignments = self.assignments(&update.assignments, table, &scope)?;
        let condition = update.selection.as_ref();
        let condition = condition.map(|it| self.condition(it, "WHERE", &scope)).transpose()?;
        Ok(Conflict::Update { target, assignments, condition })
    }

    fn target(&self, target: &ast::ConflictTarget, table: &Table) -> Result<Target> {
        let missing = || {
            SqlError::invalid_column_reference(
                "there is no unique or exclusion constraint matching the ON CONFLICT specification",
            )
        };
        let mut places = match target {
            ast::ConflictTarget::OnConstraint(name) => {
                let names = folded_names(name);
                let name = names.last().map_or("", |it| it.value.as_str());
                if name == format!("{}_pkey", table.name) {
                    return Ok(Target::Primary);
                }
                let index = table.indexes.iter().position(|it| it.name == name && it.unique);
                return index.map(Target::Index).ok_or_else(|| {
                    SqlError::undefined_object(format!(
                        "constraint \"{name}\" for table \"{}\" does not exist",
                        table.name
                    ))
                });
            }
            ast::ConflictTarget::Columns { columns, .. } => {
                let places = columns.iter().map(|it| {
                    let name = folded(it.clone()).value;
                    table.place_of(&name).ok_or_else(|| {
                        SqlError::undefined_column(format!("column \"{name}\" does not exist"))
                            .at(self.position(it.span))
                    })
                });
                places.collect::<Result<Vec<usize>>>()?
            }
        };
        places.sort_unstable();
        places.dedup();
        let sorted = |mut of: Vec<usize>| {
            of.sort_unstable();
            of
        };
        if !table.key.is_empty() && sorted(table.key.clone()) == places {
            return Ok(Target::Primary);
        }
        let index = table.indexes.iter().position(|index| {
            index.unique && sorted(index.parts.iter().map(|it| it.0).collect()) == places
        });
        index.map(Target::Index).ok_or_else(missing)
    }

    fn assignments(
        &mut self,
        assignments: &[ast::Assignment],
        table: &Table,
        scope: &Scope,
    ) -> Result<Vec<(usize, Expr)>> {
        let mut found: Vec<(usize, Expr)> = Vec::with_capacity(assignments.len());
        let mut add = |binder: &mut Self, name: &ast::ObjectName, value: &ast::Expr| {
            let place = binder.place(table, name)?;
            let column = &table.columns[place];
            if found.iter().any(|(it, _)| *it == place) {
                return Err(SqlError::syntax_error(format!(
                    "multiple assignments to same column \"{}\"",
                    column.name
                )));
            }
            let expr = match value {
                ast::Expr::Identifier(ident) if is_default(ident) => {
                    binder.default(table, column)?
                }
                value => {
                    check_always(column, false)?;
                    let bound = binder.expr(value, scope)?;
                    let position = binder.start_of(value);
                    let (of, modifier) = (column.sql_type, column.modifier);
                    binder.assign(bound, of, modifier, &column.name, position)?
                }
            };
            found.push((place, expr));
            Ok(())
        };
        for assignment in assignments {
            match (&assignment.target, &assignment.value) {
                (ast::AssignmentTarget::ColumnName(name), value) => add(self, name, value)?,
                (ast::AssignmentTarget::Tuple(names), ast::Expr::Tuple(values))
                    if names.len() == values.len() =>
                {
                    for (name, value) in names.iter().zip(values) {
                        add(self, name, value)?;
                    }
                }
                _ => {
                    return Err(SqlError::feature_not_supported(
                        "SET of several columns by a query",
                    ));
                }
            }
        }
        Ok(found)
    }

    pub fn update(&mut self, update: &ast::Update) -> Result<(Change, Vec<OutputColumn>)> {
        let others = match &update.from {
            None => &[][..],
            Some(
                ast::UpdateTableFromKind::AfterSet(from)
                | ast::UpdateTableFromKind::BeforeSet(from),
            ) => from,
        };
        let (mut scope, mut select, table) = self.changed(&update.table, others)?;
        let assignments = self.assignments(&update.assignments, &table, &scope)?;
        let selection = update.selection.as_ref();
        let returning = update.returning.as_deref();
        let checks = self.checks(&table)?;
        let columns =
            self.finish_change(&mut select, selection, returning, &mut scope, &assignments)?;
        need(&mut select, &table, &assignments, &checks);
        let (returning, columns) = parts(columns);
        let assignments = Some(assignments);
        Ok((Change { select, table, assignments, checks, returning }, columns))
    }

    pub fn delete(&mut self, delete: &ast::Delete) -> Result<(Change, Vec<OutputColumn>)> {
        let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) =
            &delete.from;
        let [target] = from.as_slice() else {
            return Err(SqlError::feature_not_supported("DELETE from several tables"));
        };
        let others = delete.using.as_deref().unwrap_or_default();
        let (mut scope, mut select, table) = self.changed(target, others)?;
        let selection = delete.selection.as_ref();
        let returning = delete.returning.as_deref();
        let columns = self.finish_change(&mut select, selection, returning, &mut scope, &[])?;
        let (returning, columns) = parts(columns);
        let checks = Checks::new();
        Ok((Change { select, table, assignments: None, checks, returning }, columns))
    }

    /// The table that is changed and those that it is joined with. After the table's columns there is a slot for the
    /// handle of its row.
    fn changed(
        &mut self,
        target: &ast::TableWithJoins,
        others: &[ast::TableWithJoins],
    ) -> Result<(Scope, Select, Arc<Table>)> {
        let ast::TableFactor::Table { name, alias, args: None, .. } = &target.relation else {
            return Err(SqlError::feature_not_supported("a change of what is no table"));
        };
        if !target.joins.is_empty() {
            return Err(SqlError::feature_not_supported("a change of a join"));
        }
        let table = self.table(name)?.clone();
        let shown = alias.as_ref();
        let shown = shown.map_or(table.name.clone(), |it| folded(it.name.clone()).value);
        let mut scope = Scope::default();
        scope.push(Relation::of_table(&shown, &table, 0))?;
        let columns = table.columns.len();
        scope.width = columns + 1;
        let access = Access::all(Arc::clone(&table), true);
        let source = source(SourceKind::Table(access), 0, columns + 1);
        let mut from = self.from(others, &mut scope)?;
        from.sources.insert(0, source);
        let select = Select {
            sources: from.sources,
            width: scope.width,
            conditions: from.conditions,
            group: None,
            output: Vec::new(),
            distinct: Distinct::No,
            order: Vec::new(),
            is_sorted: true,
            has_subquery: false,
        };
        Ok((scope, select, table))
    }

    fn finish_change(
        &mut self,
        select: &mut Select,
        selection: Option<&ast::Expr>,
        returning: Option<&[ast::SelectItem]>,
        scope: &mut Scope,
        assignments: &[(usize, Expr)],
    ) -> Result<Option<Output>> {
        let mut conditions = core::mem::take(&mut select.conditions);
        if let Some(selection) = selection {
            conditions.extend(conjuncts(self.condition(selection, "WHERE", scope)?));
        }
        let output = returning.map(|it| self.output(it, scope)).transpose()?;
        // What is looked at afterwards counts as read.
        select.output = assignments.iter().map(|(_, expr)| expr.clone()).collect();
        select.output.extend(output.iter().flat_map(|it| it.exprs.iter().cloned()));
        self.plan_access(select, conditions, 0, false);
        select.output.clear();
        let target = select.sources.iter_mut().find(|source| source.start == 0);
        if let Some(source) = target {
            source.kept = None;
        }
        Ok(output)
    }
}

/// Marks the columns of an UPDATE's table that are looked at beside those of its expressions: by the table's conditions, and
/// all of them where a row may move to another key.
fn need(select: &mut Select, table: &Table, assignments: &[(usize, Expr)], checks: &Checks) {
    let moves = assignments.iter().any(|(place, _)| table.key.contains(place));
    let target = select.sources.iter_mut().find(|source| source.start == 0);
    let Some(SourceKind::Table(access)) = target.map(|source| &mut source.kind) else { return };
    if moves {
        access.needed = (0..table.columns.len()).collect();
    }
    let mut mark = |slot: usize| access.needed.push(slot);
    checks.iter().for_each(|(_, condition)| condition.slots(&mut mark));
    access.needed.sort_unstable();
    access.needed.dedup();
}

fn parts(output: Option<Output>) -> (Option<Vec<Expr>>, Vec<OutputColumn>) {
    match output {
        Some(Output { exprs, columns }) => (Some(exprs), columns),
        None => (None, Vec::new()),
    }
}

fn is_default(ident: &ast::Ident) -> bool {
    ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default")
}

fn check_always(column: &Column, overriding: bool) -> Result<()> {
    if column.always && !overriding {
        let name = &column.name;
        return Err(SqlError::new(
            "428C9",
            format!("cannot insert a non-DEFAULT value into column \"{name}\""),
        )
        .with_detail(format!(
            "Column \"{name}\" is an identity column defined as GENERATED ALWAYS."
        )));
    }
    Ok(())
}
