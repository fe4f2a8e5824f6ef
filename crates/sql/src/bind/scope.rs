//! The names that an expression may use.

use super::{Binder, Bound, folded};
use crate::catalog::Table;
use crate::error::{Result, SqlError};
use crate::expr::Expr;
use crate::prepared::OutputColumn;
use crate::types::Type;
use sqlparser::ast;

/// Relations whose columns may be named: those of a query, after those of the queries around it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub levels: Vec<Vec<Relation>>,
    /// Slots of a row.
    pub width: usize,
}

/// A table, or a query in FROM.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    pub name: String,
    pub columns: Vec<RelationColumn>,
    /// The first of its slots.
    pub start: usize,
}

/// A column of a relation.
#[derive(Clone, Debug)]
pub(crate) struct RelationColumn {
    pub output: OutputColumn,
    /// It is one with a column before it, by USING, and neither named alone nor among `*`.
    pub is_merged: bool,
}

impl Relation {
    /// A table under a name.
    pub fn of_table(name: &str, table: &Table, start: usize) -> Self {
        let columns = table.columns.iter().enumerate().map(|(at, column)| RelationColumn {
            output: OutputColumn {
                name: column.name.clone(),
                sql_type: column.sql_type,
                modifier: column.modifier,
                table_oid: table.oid(),
                column_number: i16::try_from(at + 1).unwrap_or(0),
            },
            is_merged: false,
        });
        Self { name: name.into(), columns: columns.collect(), start }
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.output.name == name)
    }

    pub fn column(&self, at: usize) -> Bound {
        let OutputColumn { sql_type, modifier, .. } = self.columns[at].output;
        Bound { expr: Expr::Column(self.start + at), of: sql_type, modifier }
    }
}

impl Scope {
    /// A scope within this one, without relations of its own yet.
    pub fn inner(&self) -> Self {
        let mut inner = self.clone();
        inner.levels.push(Vec::new());
        inner
    }

    /// The relations of the query itself.
    pub fn own(&self) -> &[Relation] {
        self.levels.last().map_or(&[], Vec::as_slice)
    }

    pub fn push(&mut self, relation: Relation) -> Result<()> {
        if self.levels.is_empty() {
            self.levels.push(Vec::new());
        }
        self.width = self.width.max(relation.start + relation.columns.len());
        let Some(own) = self.levels.last_mut() else { return Ok(()) };
        if !relation.name.is_empty() && own.iter().any(|it| it.name == relation.name) {
            return Err(SqlError::duplicate_alias(format!(
                "table name \"{}\" specified more than once",
                relation.name
            )));
        }
        own.push(relation);
        Ok(())
    }

    /// The column of a slot, for the description of a result.
    pub fn output(&self, slot: usize) -> Option<&OutputColumn> {
        let relations = self.levels.iter().flatten();
        let mut found =
            relations.filter(|it| (it.start..it.start + it.columns.len()).contains(&slot));
        found.next().map(|it| &it.columns[slot - it.start].output)
    }
}

impl Binder<'_> {
    /// A column by its name alone.
    pub fn column(&self, ident: &ast::Ident, scope: &Scope) -> Result<Bound> {
        let name = folded(ident.clone()).value;
        for level in scope.levels.iter().rev() {
            let mut found = level.iter().filter_map(|relation| {
                let columns = relation.columns.iter().enumerate();
                let mut named = columns.filter(|(_, it)| it.output.name == name && !it.is_merged);
                named.next().map(|(at, _)| relation.column(at))
            });
            if let Some(column) = found.next() {
                if found.next().is_some() {
                    return Err(SqlError::ambiguous_column(format!(
                        "column reference \"{name}\" is ambiguous"
                    ))
                    .at(self.position(ident.span)));
                }
                return Ok(column);
            }
        }
        // A relation's name stands for its row.
        if let Some(relation) = scope.levels.iter().rev().flatten().find(|it| it.name == name) {
            let columns = (0..relation.columns.len()).map(|at| relation.column(at).expr);
            return Ok(Bound::new(Expr::Row(columns.collect()), Type::Record));
        }
        // In the body of a procedure a column comes before a parameter.
        if let Some(at) = self.parameter_names.iter().position(|it| *it == Some(&*name)) {
            let of = self.parameters[at].unwrap_or(Type::Unknown);
            return Ok(Bound::new(Expr::Parameter(at), of));
        }
        Err(SqlError::undefined_column(format!("column \"{name}\" does not exist"))
            .at(self.position(ident.span)))
    }

    /// A column by the name of its relation and its own.
    pub fn qualified_column(&self, idents: &[ast::Ident], scope: &Scope) -> Result<Bound> {
        let names: Vec<ast::Ident> = idents.iter().cloned().map(folded).collect();
        let (relation, column) = match names.as_slice() {
            [relation, column] => (&relation.value, column),
            [schema, relation, column] if schema.value == "public" => (&relation.value, column),
            _ => {
                let shown: Vec<_> = names.iter().map(|it| it.value.as_str()).collect();
                return Err(SqlError::feature_not_supported(format!(
                    "the name {}",
                    shown.join(".")
                )));
            }
        };
        let found = scope.levels.iter().rev().flatten().find(|it| it.name == *relation);
        let position = self.position(names[0].span);
        let found = found.ok_or_else(|| {
            SqlError::undefined_table(format!("missing FROM-clause entry for table \"{relation}\""))
                .at(position)
        })?;
        let place = found.place_of(&column.value).ok_or_else(|| {
            let name = &column.value;
            SqlError::undefined_column(format!("column {relation}.{name} does not exist"))
                .at(position)
        })?;
        Ok(found.column(place))
    }
}
