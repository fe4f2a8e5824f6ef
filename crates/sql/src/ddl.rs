//! Statements that change the catalog.

use crate::bind::{Binder, folded, is_serial, of_data_type, table_name};
use crate::catalog::{CatalogView, HIDDEN_KEY, Table, TableInput, copy_name};
use crate::details::{Check, ColumnDetails, TableDetails};
use crate::error::{Result, SqlError};
use crate::expr::Expr;
use crate::plan::Plan;
use crate::prepared::Prepared;
use crate::run::row_sequence;
use crate::schema_change::SchemaChange;
use crate::stack::with_room_to_prepare;
use crate::types::Type;
use chiliad_api::{
    Column, ColumnPart, IndexParts, SecondarySpec, TableId, TableLayout, TableSchema, TableSpec,
};
use chiliad_row::{ColumnType, History, Schema, SchemaColumn};
use sqlparser::ast;
use std::sync::Arc;

/// Columns of a table, at most.
const COLUMNS_MAX: usize = 1_600;

/// The changes of the catalog that a statement of [`crate::Kind::Schema`] asks for, in order.
///
/// # Errors
/// 42P07, 42P01, 42701, 42P16 and their kin, where it cannot be changed so; 0A000.
pub fn schema_changes(prepared: &Prepared, catalog: &CatalogView) -> Result<Vec<SchemaChange>> {
    use ast::Statement as S;
    let Plan::Schema(statement) = &prepared.plan else {
        return Err(SqlError::internal("a statement that changes no catalog"));
    };
    let changes = || match &**statement {
        S::CreateTable(create) => create_table(create, catalog),
        S::CreateIndex(create) => create_index(create, catalog),
        S::Drop { object_type, if_exists, names, .. } => match object_type {
            ast::ObjectType::Table => drop_tables(names, *if_exists, catalog),
            _ => drop_indexes(names, *if_exists, catalog),
        },
        S::Truncate(truncate) => {
            truncate.table_names.iter().map(|it| empty(&it.name, catalog)).collect()
        }
        S::AlterTable(alter) => alter_table(alter, catalog),
        other => Err(SqlError::feature_not_supported(other.to_string())),
    };
    with_room_to_prepare(prepared.is_deep, changes)
}

fn unsupported<T>(what: impl core::fmt::Display) -> Result<T> {
    Err(SqlError::feature_not_supported(format!("{what} is not supported")))
}

/// The table of a name.
fn named<'v>(name: &ast::ObjectName, catalog: &'v CatalogView) -> Result<&'v Arc<Table>> {
    let (ident, shown) = table_name(name)?;
    catalog
        .table(&ident.value)
        .ok_or_else(|| SqlError::undefined_table(format!("relation \"{shown}\" does not exist")))
}

/// The type of the bytes of a column, without NULL.
fn stored(of: Type) -> Result<ColumnType> {
    Ok(match of {
        Type::Bool => ColumnType::Bool,
        Type::Int2 => ColumnType::Signed(16),
        Type::Int4 => ColumnType::Signed(32),
        Type::Int8 => ColumnType::Signed(64),
        Type::Float4 => ColumnType::Float(32),
        Type::Float8 => ColumnType::Float(64),
        Type::Numeric => ColumnType::Decimal,
        Type::Text | Type::Varchar | Type::Bpchar => ColumnType::String,
        Type::Bytea => ColumnType::Blob,
        Type::Date => ColumnType::Date,
        Type::Time => ColumnType::Time,
        Type::Timestamp | Type::Timestamptz => ColumnType::Instant,
        Type::Uuid => ColumnType::Uuid,
        Type::Json | Type::Jsonb => ColumnType::Json,
        other => return unsupported(format!("a column of type {other}")),
    })
}

/// A table that is being declared.
#[derive(Default)]
struct Draft {
    name: String,
    columns: Vec<DraftColumn>,
    key: Option<Vec<String>>,
    /// Names and columns of unique indexes.
    unique: Vec<(Option<String>, Vec<String>)>,
    checks: Vec<Check>,
    /// Columns of the key that indexes are over: rows repeat them.
    copies: Vec<String>,
    /// Sequences that its columns have.
    sequences: Vec<String>,
}

struct DraftColumn {
    details: ColumnDetails,
    is_nullable: bool,
}

fn create_table(create: &ast::CreateTable, catalog: &CatalogView) -> Result<Vec<SchemaChange>> {
    let (ident, _) = table_name(&create.name)?;
    let name = ident.value;
    if catalog.table(&name).is_some() {
        let message = format!("relation \"{name}\" already exists");
        return match create.if_not_exists {
            true => {
                let message = format!("{message}, skipping");
                Ok(vec![SchemaChange::Notice { sqlstate: "42P07", message }])
            }
            false => Err(SqlError::duplicate_table(message)),
        };
    }
    if create.query.is_some() || create.like.is_some() || create.temporary {
        return unsupported("CREATE TABLE of a query, of another table or a temporary one");
    }
    let mut draft = Draft { name, ..Draft::default() };
    for column in &create.columns {
        draft.add(column)?;
    }
    for constraint in &create.constraints {
        draft.constrain(constraint)?;
    }
    draft.finish()
}

impl Draft {
    /// A table that is there, under this key, without indexes.
    fn of_table(table: &Table, details: &TableDetails, key: Vec<String>) -> Self {
        let columns = details.columns.iter().map(|details| {
            let column = table.columns.iter().find(|it| it.name == details.name);
            DraftColumn {
                details: details.clone(),
                is_nullable: column.is_none_or(|it| it.is_nullable),
            }
        });
        let (name, columns) = (table.name.clone(), columns.collect());
        let checks = details.checks.clone();
        Self { name, columns, key: Some(key), checks, ..Self::default() }
    }

    fn add(&mut self, column: &ast::ColumnDef) -> Result<()> {
        let name = folded(column.name.clone()).value;
        if self.columns.iter().any(|it| it.details.name == name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::duplicate_column(message));
        }
        if self.columns.len() == COLUMNS_MAX {
            return Err(SqlError::program_limit("tables can have at most 1600 columns"));
        }
        let (column_type, modifier) = of_data_type(&column.data_type)?;
        let mut details = ColumnDetails {
            name: name.clone(),
            column_type,
            modifier,
            default: None,
            sequence: None,
            always: false,
        };
        let mut is_nullable = true;
        if is_serial(&column.data_type) {
            is_nullable = false;
            details.sequence = Some(self.sequence(&name));
        }
        for option in &column.options {
            match &option.option {
                ast::ColumnOption::Null => is_nullable = true,
                ast::ColumnOption::NotNull => is_nullable = false,
                ast::ColumnOption::Default(default) => details.default = Some(default.to_string()),
                ast::ColumnOption::PrimaryKey(_) => self.set_key(vec![name.clone()])?,
                ast::ColumnOption::Unique(_) => {
                    let index = option.name.clone().map(|it| folded(it).value);
                    self.unique.push((index, vec![name.clone()]));
                }
                ast::ColumnOption::Check(check) => {
                    let given = option.name.as_ref().or(check.name.as_ref());
                    self.check(given, &check.expr, &format!("{name}_check"));
                }
                ast::ColumnOption::Generated { generated_as, generation_expr: None, .. } => {
                    is_nullable = false;
                    details.always = matches!(generated_as, ast::GeneratedAs::Always);
                    details.sequence = Some(self.sequence(&name));
                }
                other => return unsupported(format!("the option {other} of a column")),
            }
        }
        self.columns.push(DraftColumn { details, is_nullable });
        Ok(())
    }

    /// The sequence of a column.
    fn sequence(&mut self, column: &str) -> String {
        let name = format!("{}_{column}_seq", self.name);
        self.sequences.push(name.clone());
        name
    }

    /// A condition on rows; `otherwise` is the end of its name where it is given none.
    fn check(&mut self, name: Option<&ast::Ident>, condition: &ast::Expr, otherwise: &str) {
        let condition = condition.to_string();
        let name = name.cloned().map_or_else(
            || {
                let base = format!("{}_{otherwise}", self.name);
                let is_free = |name: &String| !self.checks.iter().any(|it| it.name == *name);
                let numbered = (1..).map(|number| format!("{base}{number}"));
                core::iter::once(base.clone()).chain(numbered).find(is_free).unwrap_or(base)
            },
            |name| folded(name).value,
        );
        self.checks.push(Check { name, condition });
    }

    fn set_key(&mut self, columns: Vec<String>) -> Result<()> {
        if self.key.replace(columns).is_some() {
            let message =
                format!("multiple primary keys for table \"{}\" are not allowed", self.name);
            return Err(SqlError::new("42P16", message));
        }
        Ok(())
    }

    fn constrain(&mut self, constraint: &ast::TableConstraint) -> Result<()> {
        match constraint {
            ast::TableConstraint::PrimaryKey(key) => self.set_key(column_names(&key.columns)?),
            ast::TableConstraint::Unique(unique) => {
                let name = unique.name.clone().map(|it| folded(it).value);
                self.unique.push((name, column_names(&unique.columns)?));
                Ok(())
            }
            ast::TableConstraint::Check(check) => {
                self.check(check.name.as_ref(), &check.expr, "check");
                Ok(())
            }
            other => unsupported(format!("the constraint {other}")),
        }
    }

    fn place_of(&self, name: &str) -> Result<usize> {
        self.columns.iter().position(|it| it.details.name == name).ok_or_else(|| {
            SqlError::new("42703", format!("column \"{name}\" named in key does not exist"))
        })
    }

    /// The table, with its indexes and sequences.
    fn finish(mut self) -> Result<Vec<SchemaChange>> {
        let key = self.key.clone().unwrap_or_default();
        for name in &key {
            let at = self.place_of(name)?;
            self.columns[at].is_nullable = false;
        }
        let hidden_key = key.is_empty();
        let mut layout_key = Vec::new();
        for name in &key {
            let column = &self.columns[self.place_of(name)?];
            layout_key.push(Column::new(name, stored(column.details.column_type)?));
        }
        if hidden_key {
            layout_key.push(Column::new(HIDDEN_KEY, ColumnType::Unsigned(64)));
            self.sequences.push(row_sequence(&self.name));
        }
        let spec = self.table(&key, layout_key)?;
        let spec = self.with_unique(spec)?;
        let columns = self.columns.into_iter().map(|it| it.details).collect();
        let details = TableDetails { columns, hidden_key, checks: self.checks };
        check_conditions(&spec, &details)?;
        let sequences =
            self.sequences.into_iter().map(|name| SchemaChange::CreateSequence { name });
        Ok(sequences.chain([SchemaChange::CreateTable { spec, details }]).collect())
    }

    /// The table without indexes.
    fn table(&self, key: &[String], layout_key: Vec<Column>) -> Result<TableSpec> {
        let mut rows = Vec::new();
        for column in self.columns.iter().filter(|it| !key.contains(&it.details.name)) {
            let of = stored(column.details.column_type)?;
            let of = if column.is_nullable { ColumnType::Optional(Box::new(of)) } else { of };
            rows.push(SchemaColumn::new(rows.len() as u32, &column.details.name, of));
        }
        let unique = self.unique.iter().flat_map(|(_, columns)| columns);
        let mut copied: Vec<&String> = Vec::new();
        for name in unique.chain(&self.copies).filter(|name| key.contains(name)) {
            if copied.contains(&name) {
                continue;
            }
            copied.push(name);
            let of = stored(self.columns[self.place_of(name)?].details.column_type)?;
            rows.push(SchemaColumn::new(rows.len() as u32, &copy_name(name), of));
        }
        let wrong = |error| SqlError::new("42P16", format!("{error}"));
        let rows = History::new(Schema::new(rows).map_err(wrong)?);
        let mut spec = TableSpec::ordered(&self.name);
        let schema = TableSchema { key: layout_key, rows, expires: None };
        spec.layout = TableLayout::Schema(Arc::new(schema));
        Ok(spec)
    }

    fn with_unique(&self, mut spec: TableSpec) -> Result<TableSpec> {
        for (name, columns) in &self.unique {
            let name =
                name.clone().unwrap_or_else(|| format!("{}_{}_key", self.name, columns.join("_")));
            let index = index_of(&spec, &name, &ascending(columns), true)?;
            spec.secondary.push(index);
        }
        Ok(spec)
    }
}

/// Conditions that cannot be checked are refused when they are declared.
fn check_conditions(spec: &TableSpec, details: &TableDetails) -> Result<()> {
    if details.checks.is_empty() {
        return Ok(());
    }
    let input = TableInput::new(TableId(0), spec.clone());
    let input = TableInput { details: Some(details.clone()), ..input };
    let view = CatalogView::new(0, [input]);
    let missing = || SqlError::internal("a table without its columns");
    let table = view.table(&spec.name).ok_or_else(missing)?;
    for (name, condition) in Binder::new(&view, None).checks(table)? {
        let mut is_plain = true;
        condition.walk(&mut |part| {
            is_plain &= !matches!(part, Expr::Subquery(_));
        });
        if !is_plain {
            return unsupported(format!("a query in the check constraint \"{name}\""));
        }
    }
    Ok(())
}

/// Columns of an index, and whether greater comes first.
fn ascending(columns: &[String]) -> Vec<(String, bool)> {
    columns.iter().map(|name| (name.clone(), false)).collect()
}

/// A secondary index over columns of rows.
fn index_of(
    spec: &TableSpec,
    name: &str,
    columns: &[(String, bool)],
    unique: bool,
) -> Result<SecondarySpec> {
    let TableLayout::Schema(schema) = &spec.layout else {
        return unsupported("an index of a table whose rows have no versions");
    };
    let current = schema.rows.current();
    let mut parts = Vec::new();
    for (column, descending) in columns {
        let is_key = schema.key.iter().any(|it| it.name == *column);
        let place = match is_key {
            true => current.place_of(&copy_name(column)),
            false => current.place_of(column),
        };
        let Some(at) = place else {
            return match is_key {
                true => unsupported(format!("an index over {column} of the key of such a table")),
                false => {
                    Err(SqlError::undefined_column(format!("column \"{column}\" does not exist")))
                }
            };
        };
        let number = current.columns()[at].number;
        parts.push(ColumnPart { number, descending: *descending });
    }
    Ok(SecondarySpec { name: name.into(), parts: IndexParts::Columns(parts), unique })
}

/// The names of columns that stand for themselves, upwards.
fn column_names(columns: &[ast::IndexColumn]) -> Result<Vec<String>> {
    let name = |column: &ast::IndexColumn| match &column.column.expr {
        ast::Expr::Identifier(ident)
            if matches!(column.column.options.sort, None | Some(ast::OrderBySort::Asc)) =>
        {
            Ok(folded(ident.clone()).value)
        }
        other => unsupported(format!("an index over {other}")),
    };
    columns.iter().map(name).collect()
}

fn create_index(create: &ast::CreateIndex, catalog: &CatalogView) -> Result<Vec<SchemaChange>> {
    let table = named(&create.table_name, catalog)?;
    if create.predicate.is_some() || !create.include.is_empty() {
        return unsupported("an index with WHERE or INCLUDE");
    }
    let columns = column_names(&create.columns)?;
    let name = match &create.name {
        Some(name) => table_name(name)?.0.value,
        None => format!("{}_{}_idx", table.name, columns.join("_")),
    };
    if owner_of(&name, catalog).is_some() {
        let message = format!("relation \"{name}\" already exists");
        if !create.if_not_exists {
            return Err(SqlError::duplicate_table(message));
        }
        let message = format!("{message}, skipping");
        return Ok(vec![SchemaChange::Notice { sqlstate: "42P07", message }]);
    }
    add_index(table, &name, &ascending(&columns), create.unique)
}

/// An index of a table. Where it is over columns of the key that rows do not repeat yet, they are written anew.
fn add_index(
    table: &Arc<Table>,
    name: &str,
    columns: &[(String, bool)],
    unique: bool,
) -> Result<Vec<SchemaChange>> {
    let of = |spec: &TableSpec, name: &str, columns: &[(String, bool)], unique: bool| {
        let index = index_of(spec, name, columns, unique)?;
        Ok::<_, SqlError>(SchemaChange::AddIndex { table: table.id, index })
    };
    let keys = table.key.iter().copied();
    let is_copied = |at: usize| table.stored.contains(&Some(at));
    let has = |at: &usize| columns.iter().any(|(name, _)| *name == table.columns[*at].name);
    let Some(details) =
        table.details.as_ref().filter(|_| keys.clone().any(|at| has(&at) && !is_copied(at)))
    else {
        return Ok(vec![of(&table.spec, name, columns, unique)?]);
    };
    let key: Vec<String> = keys.clone().map(|at| table.columns[at].name.clone()).collect();
    let copies = keys.filter(|at| is_copied(*at) || has(at));
    let copies = copies.map(|at| table.columns[at].name.clone()).collect();
    let draft = Draft { copies, ..Draft::of_table(table, details, key) };
    let mut changes = Vec::new();
    for change in draft.finish()? {
        let SchemaChange::CreateTable { spec, details } = change else { continue };
        let before = table.indexes.iter().map(|it| {
            let part = |(at, down): &(usize, bool)| (table.columns[*at].name.clone(), *down);
            (it.name.clone(), it.parts.iter().map(part).collect::<Vec<_>>(), it.unique)
        });
        let added = (name.to_owned(), columns.to_vec(), unique);
        let indexes: Vec<_> = before.chain([added]).collect();
        changes.push(SchemaChange::Rewrite { table: table.id, spec: spec.clone(), details });
        for (name, columns, unique) in indexes {
            changes.push(of(&spec, &name, &columns, unique)?);
        }
    }
    Ok(changes)
}

/// The table that has an index of this name.
fn owner_of<'v>(index: &str, catalog: &'v CatalogView) -> Option<&'v Arc<Table>> {
    catalog.tables().find(|table| table.spec.secondary.iter().any(|it| it.name == index))
}

fn drop_tables(
    names: &[ast::ObjectName],
    if_exists: bool,
    catalog: &CatalogView,
) -> Result<Vec<SchemaChange>> {
    let mut changes = Vec::new();
    for name in names {
        let (ident, shown) = table_name(name)?;
        let Some(table) = catalog.table(&ident.value) else {
            let missing = SqlError::undefined_table(format!("table \"{shown}\" does not exist"));
            changes.push(skipped(missing, if_exists)?);
            continue;
        };
        let is_known = |it: &SchemaChange| matches!(it, SchemaChange::DropTable { table: id, .. } if *id == table.id);
        if changes.iter().any(is_known) {
            continue;
        }
        changes.push(SchemaChange::DropTable { table: table.id, name: table.name.clone() });
        let columns = table.columns.iter().filter_map(|it| it.sequence.clone());
        let rows = table.hidden_key.then(|| row_sequence(&table.name));
        let sequences = columns.chain(rows).map(|name| SchemaChange::DropSequence { name });
        changes.extend(sequences);
    }
    Ok(changes)
}

fn drop_indexes(
    names: &[ast::ObjectName],
    if_exists: bool,
    catalog: &CatalogView,
) -> Result<Vec<SchemaChange>> {
    let mut changes = Vec::new();
    for name in names {
        let (ident, shown) = table_name(name)?;
        match owner_of(&ident.value, catalog) {
            Some(table) => {
                changes.push(SchemaChange::DropIndex { table: table.id, name: ident.value });
            }
            None => {
                let missing =
                    SqlError::undefined_object(format!("index \"{shown}\" does not exist"));
                changes.push(skipped(missing, if_exists)?);
            }
        }
    }
    Ok(changes)
}

/// Something to drop that is missing: with IF EXISTS a notice, an error without.
fn skipped(missing: SqlError, if_exists: bool) -> Result<SchemaChange> {
    if !if_exists {
        return Err(missing);
    }
    let message = format!("{}, skipping", missing.message);
    Ok(SchemaChange::Notice { sqlstate: "00000", message })
}

fn empty(name: &ast::ObjectName, catalog: &CatalogView) -> Result<SchemaChange> {
    let table = named(name, catalog)?;
    let (spec, details) = (table.spec.clone(), table.details.clone());
    Ok(SchemaChange::Truncate { table: table.id, spec, details })
}

fn alter_table(alter: &ast::AlterTable, catalog: &CatalogView) -> Result<Vec<SchemaChange>> {
    let table = named(&alter.name, catalog)?;
    if alter.operations.len() > 1 {
        return unsupported("ALTER TABLE with several changes");
    }
    let mut changes = Vec::new();
    for operation in &alter.operations {
        match operation {
            ast::AlterTableOperation::AddConstraint {
                constraint: ast::TableConstraint::PrimaryKey(key),
                ..
            } => changes.extend(add_key(table, column_names(&key.columns)?)?),
            ast::AlterTableOperation::AddConstraint {
                constraint: ast::TableConstraint::Unique(unique),
                ..
            } => {
                let columns = column_names(&unique.columns)?;
                let name = unique.name.clone().map(|it| folded(it).value);
                let name =
                    name.unwrap_or_else(|| format!("{}_{}_key", table.name, columns.join("_")));
                changes.extend(add_index(table, &name, &ascending(&columns), true)?);
            }
            other => return unsupported(format!("ALTER TABLE {other}")),
        }
    }
    Ok(changes)
}

/// A primary key for a table whose rows are numbered: they are written anew under it.
fn add_key(table: &Arc<Table>, key: Vec<String>) -> Result<Vec<SchemaChange>> {
    let Some(details) = table.details.as_ref().filter(|_| table.hidden_key) else {
        let message = format!("multiple primary keys for table \"{}\" are not allowed", table.name);
        return Err(SqlError::new("42P16", message));
    };
    if !table.spec.secondary.is_empty() {
        return unsupported("a primary key for a table that has indexes");
    }
    let draft = Draft::of_table(table, details, key);
    let mut changes = Vec::new();
    for change in draft.finish()? {
        if let SchemaChange::CreateTable { spec, details } = change {
            changes.push(SchemaChange::Rewrite { table: table.id, spec, details });
        }
    }
    changes.push(SchemaChange::DropSequence { name: row_sequence(&table.name) });
    Ok(changes)
}
