//! Makes a prepared statement of a parsed one.

use crate::bind::{Binder, Scope, folded_names};
use crate::catalog::CatalogView;
use crate::error::{Result, SqlError};
use crate::explain::explain;
use crate::plan::Plan;
use crate::prepared::{Copy, Kind, OutputColumn, Prepared};
use crate::run::late_columns;
use crate::stack::with_room_to_prepare;
use crate::statement::{Ast, Statement, parse, too_deep};
use crate::types::Type;
use crate::utility::{CopySource, CopyStatement, Utility};
use chiliad_api::TableId;
use sqlparser::ast;

/// As [`prepare`], of a statement in a body where these are the names of the parameters.
///
/// # Errors
/// As for [`prepare`].
pub(crate) fn prepare_in_body(
    statement: &Statement,
    catalog: &CatalogView,
    declared: &[Option<Type>],
    names: &[Option<&str>],
) -> Result<Prepared> {
    prepare_named(statement, catalog, Parameters { declared, names })
}

/// The parameters of a statement, `$1` first: their types, as far as they are said, and names.
#[derive(Clone, Copy)]
struct Parameters<'p> {
    declared: &'p [Option<Type>],
    names: &'p [Option<&'p str>],
}

/// Resolves the names and types of a statement. `declared` are the types of its parameters that the client has said,
/// `$1` first; those of the others follow from their places.
///
/// # Errors
/// 42P01, 42703, 42883, 42804 and their kin for names and types that do not fit; 42P18 for a parameter of no clear
/// type; 0A000 for what is not supported.
pub fn prepare(
    statement: &Statement,
    catalog: &CatalogView,
    declared: &[Option<Type>],
) -> Result<Prepared> {
    prepare_named(statement, catalog, Parameters { declared, names: &[] })
}

fn prepare_named(
    statement: &Statement,
    catalog: &CatalogView,
    parameters: Parameters<'_>,
) -> Result<Prepared> {
    let nesting = statement.nesting;
    let is_deep = nesting.is_deep();
    let prepare = || prepare_here(statement, catalog, parameters);
    let prepared = with_room_to_prepare(is_deep, prepare)?;
    if prepared.kind == Kind::Schema && nesting.is_too_deep_to_declare() {
        return Err(too_deep());
    }
    Ok(Prepared { is_deep, ..prepared })
}

fn prepare_here(
    statement: &Statement,
    catalog: &CatalogView,
    parameters: Parameters<'_>,
) -> Result<Prepared> {
    match &*statement.ast {
        Ast::Utility(utility) => match &**utility {
            Utility::Declare(cursor, query) => {
                let prepared = prepare_parsed(query, statement, catalog, parameters)?;
                let kind = Kind::Declare(cursor.clone());
                Ok(Prepared { kind, tag: "DECLARE CURSOR", ..prepared })
            }
            utility => prepare_utility(utility, catalog),
        },
        Ast::Parsed(parsed) => prepare_parsed(parsed, statement, catalog, parameters),
    }
}

fn prepare_parsed(
    parsed: &ast::Statement,
    statement: &Statement,
    catalog: &CatalogView,
    parameters: Parameters<'_>,
) -> Result<Prepared> {
    let mut binder = Binder::new(catalog, Some(statement));
    binder.parameters = parameters.declared.to_vec();
    binder.parameter_names = parameters.names;
    let bound = bind(parsed, &mut binder)?;
    let mut parameters = Vec::with_capacity(binder.parameters.len());
    for (at, of) in binder.parameters.iter().enumerate() {
        let of = of.filter(|it| *it != Type::Unknown).ok_or_else(|| {
            let message = format!("could not determine data type of parameter ${}", at + 1);
            SqlError::new("42P18", message)
        })?;
        parameters.push(of);
    }
    let tables = binder.into_used();
    Ok(prepared(bound, parameters, tables, catalog))
}

/// A statement as it is executed, with what its plan tells of it.
fn prepared(
    (kind, tag, plan, columns): BoundStatement,
    parameters: Vec<Type>,
    tables: Vec<TableId>,
    catalog: &CatalogView,
) -> Prepared {
    let read = match &plan {
        Plan::Query(query) => query.columns(),
        _ => Vec::new(),
    };
    let late = match &plan {
        Plan::Change(change) => late_columns(change),
        _ => None,
    };
    let (catalog_version, is_deep) = (catalog.version(), false);
    Prepared { kind, tag, parameters, columns, tables, read, late, catalog_version, plan, is_deep }
}

type BoundStatement = (Kind, &'static str, Plan, Vec<OutputColumn>);

fn bind(parsed: &ast::Statement, binder: &mut Binder<'_>) -> Result<BoundStatement> {
    use ast::Statement as S;
    Ok(match parsed {
        S::Query(query) => {
            let bound = binder.query(query, &Scope::default().inner())?;
            let kind = Kind::Query { for_update: !query.locks.is_empty() };
            (kind, "SELECT", Plan::Query(bound.query), bound.columns)
        }
        S::Insert(insert) => {
            let (insert, columns) = binder.insert(insert)?;
            (Kind::Write, "INSERT", Plan::Insert(Box::new(insert)), columns)
        }
        S::Update(update) => {
            let (change, columns) = binder.update(update)?;
            (Kind::Write, "UPDATE", Plan::Change(Box::new(change)), columns)
        }
        S::Delete(delete) => {
            let (change, columns) = binder.delete(delete)?;
            (Kind::Write, "DELETE", Plan::Change(Box::new(change)), columns)
        }
        S::Call(function) => call(function, binder)?,
        S::Explain { statement, analyze: false, .. } => {
            let (_, _, plan, _) = bind(statement, binder)?;
            let column = OutputColumn::computed("QUERY PLAN".into(), Type::Text);
            (Kind::Explain, "EXPLAIN", Plan::Explain(explain(&plan)?), vec![column])
        }
        S::CreateTable(_) => schema(parsed, "CREATE TABLE"),
        S::CreateIndex(_) => schema(parsed, "CREATE INDEX"),
        S::Drop { object_type: ast::ObjectType::Table, .. } => schema(parsed, "DROP TABLE"),
        S::Drop { object_type: ast::ObjectType::Index, .. } => schema(parsed, "DROP INDEX"),
        S::Truncate(_) => schema(parsed, "TRUNCATE TABLE"),
        S::AlterTable(_) => schema(parsed, "ALTER TABLE"),
        other => {
            let text = other.to_string();
            let words: Vec<&str> = text.split_whitespace().take(2).collect();
            return Err(SqlError::feature_not_supported(format!(
                "the statement {} is not supported",
                words.join(" ")
            )));
        }
    })
}

fn schema(parsed: &ast::Statement, tag: &'static str) -> BoundStatement {
    (Kind::Schema, tag, Plan::Schema(Box::new(parsed.clone())), Vec::new())
}

fn call(function: &ast::Function, binder: &mut Binder<'_>) -> Result<BoundStatement> {
    let names = folded_names(&function.name);
    let name = names.last().map_or_else(String::new, |it| it.value.clone());
    let mut arguments = Vec::new();
    if let ast::FunctionArguments::List(list) = &function.args {
        for argument in &list.args {
            let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) = argument else {
                return Err(SqlError::feature_not_supported("arguments of CALL by name"));
            };
            let bound = binder.expr(expr, &Scope::default().inner())?;
            let of = bound.of;
            arguments.push((binder.settle(bound)?.expr, of));
        }
    }
    Ok((Kind::Call(name), "CALL", Plan::Call(arguments), Vec::new()))
}

fn prepare_utility(utility: &Utility, catalog: &CatalogView) -> Result<Prepared> {
    let (kind, tag) = match utility {
        Utility::Transaction(control, tag) => (Kind::Transaction(control.clone()), *tag),
        Utility::Set(set) => (Kind::Set(set.clone()), "SET"),
        Utility::Reset(name) => (Kind::Reset(name.clone()), "RESET"),
        Utility::Show(name) => (Kind::Show(name.clone()), "SHOW"),
        Utility::Deallocate(None) => (Kind::Deallocate(None), "DEALLOCATE ALL"),
        Utility::Deallocate(name) => (Kind::Deallocate(name.clone()), "DEALLOCATE"),
        Utility::Discard => (Kind::Discard, "DISCARD ALL"),
        Utility::Nothing(tag) => (Kind::Nothing, *tag),
        Utility::Copy(copy) => return prepare_copy(copy, catalog),
        Utility::Fetch(fetch) => {
            (Kind::Fetch(fetch.clone()), if fetch.moves { "MOVE" } else { "FETCH" })
        }
        Utility::CreateProcedure { procedure, replaces } => {
            let (procedure, replaces) = (procedure.clone(), *replaces);
            (Kind::CreateProcedure { procedure, replaces }, "CREATE PROCEDURE")
        }
        Utility::DropProcedure { name, if_exists } => {
            let (name, if_exists) = (name.clone(), *if_exists);
            (Kind::DropProcedure { name, if_exists }, "DROP PROCEDURE")
        }
        Utility::Close(None) => (Kind::Close(None), "CLOSE CURSOR ALL"),
        Utility::Close(name) => (Kind::Close(name.clone()), "CLOSE CURSOR"),
        Utility::Declare(..) => return Err(SqlError::internal("a cursor without its query")),
    };
    let columns = match utility {
        Utility::Show(name) => shown_columns(name),
        _ => Vec::new(),
    };
    let bound = (kind, tag, Plan::None, columns);
    Ok(prepared(bound, Vec::new(), Vec::new(), catalog))
}

/// The columns of SHOW: the parameter's value; of all of them name, value and description.
fn shown_columns(name: &str) -> Vec<OutputColumn> {
    let names = if name == "all" { vec!["name", "setting", "description"] } else { vec![name] };
    names.into_iter().map(|name| OutputColumn::computed(name.into(), Type::Text)).collect()
}

/// COPY reads a table or a query as a query does, and fills a table by an INSERT of its columns, a row at a time.
fn prepare_copy(copy: &CopyStatement, catalog: &CatalogView) -> Result<Prepared> {
    let quoted = |ident: &ast::Ident| format!("\"{}\"", ident.value.replace('"', "\"\""));
    let (text, name) = match &copy.source {
        CopySource::Query(query) => (query.to_string(), String::new()),
        CopySource::Table { name, columns } => {
            let table = catalog.table(&name.value).ok_or_else(|| {
                SqlError::undefined_table(format!("relation \"{}\" does not exist", name.value))
            })?;
            let all = || table.columns.iter().map(|it| ast::Ident::new(&it.name)).collect();
            let columns = if columns.is_empty() { all() } else { columns.clone() };
            let listed: Vec<String> = columns.iter().map(quoted).collect();
            let (listed, count) = (listed.join(", "), listed.len());
            let text = match copy.from_client {
                true => {
                    let values: Vec<String> = (1..=count).map(|it| format!("${it}")).collect();
                    let values = values.join(", ");
                    format!(
                        "INSERT INTO {} ({listed}) VALUES ({values}) RETURNING {listed}",
                        quoted(name)
                    )
                }
                false => format!("SELECT {listed} FROM {}", quoted(name)),
            };
            (text, name.value.clone())
        }
    };
    let statements = parse(&text)?;
    let [statement] = statements.as_slice() else {
        return Err(SqlError::internal("COPY is one statement"));
    };
    let mut prepared = prepare(statement, catalog, &[])?;
    if let Plan::Insert(insert) = &mut prepared.plan {
        // It said what the columns are.
        insert.returning = None;
    }
    prepared.kind = Kind::Copy(Box::new(Copy {
        from_client: copy.from_client,
        table: name,
        format: copy.format.clone(),
        freeze: copy.freeze,
    }));
    prepared.tag = "COPY";
    // Those of the INSERT are the rows that come.
    prepared.parameters = Vec::new();
    Ok(prepared)
}
