//! EXPLAIN: how the rows of a statement are found.

use crate::error::{Result, SqlError};
use crate::expr::Expr;
use crate::plan::{Access, Body, InsertSource, Plan, Query, Select, SourceKind};

/// A line for each step of a plan.
pub(crate) fn explain(plan: &Plan) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    match plan {
        Plan::Query(query) => of_query(query, 0, &mut lines),
        Plan::Insert(insert) => {
            lines.push(format!("Insert on {}", insert.table.name));
            match &insert.source {
                InsertSource::Values(rows) => of_values(rows, 1, &mut lines),
                InsertSource::Query(query, _) => of_query(query, 1, &mut lines),
            }
        }
        Plan::Change(change) => {
            let what = if change.assignments.is_some() { "Update" } else { "Delete" };
            lines.push(format!("{what} on {}", change.table.name));
            of_select(&change.select, 1, &mut lines);
        }
        Plan::None | Plan::Call(_) | Plan::Explain(_) | Plan::Schema(_) => {
            return Err(SqlError::feature_not_supported("EXPLAIN of such a statement"));
        }
    }
    Ok(lines)
}

fn push(lines: &mut Vec<String>, depth: usize, line: &str) {
    let indent =
        if depth == 0 { String::new() } else { format!("{}->  ", "      ".repeat(depth - 1)) };
    lines.push(format!("{indent}{line}"));
}

fn of_values(rows: &[Vec<Expr>], depth: usize, lines: &mut Vec<String>) {
    push(lines, depth, &format!("Values: {} rows", rows.len()));
}

fn of_query(query: &Query, depth: usize, lines: &mut Vec<String>) {
    let depth = match query.limit.is_some() || query.offset.is_some() {
        true => {
            push(lines, depth, "Limit");
            depth + 1
        }
        false => depth,
    };
    match &query.body {
        Body::Values(rows) => of_values(rows, depth, lines),
        Body::Set(set) => {
            push(lines, depth, &format!("{:?}", set.kind));
            of_query(&set.one, depth + 1, lines);
            of_query(&set.two, depth + 1, lines);
        }
        Body::Select(select) => of_select(select, depth, lines),
    }
}

fn of_select(select: &Select, mut depth: usize, lines: &mut Vec<String>) {
    if !select.order.is_empty() && !select.is_sorted {
        push(lines, depth, "Sort");
        depth += 1;
    }
    if let Some(group) = &select.group {
        push(lines, depth, if group.keys.is_empty() { "Aggregate" } else { "HashAggregate" });
        depth += 1;
    }
    if select.sources.len() > 1 {
        push(lines, depth, "Nested Loop");
        depth += 1;
    }
    if select.sources.is_empty() {
        push(lines, depth, "Result");
    }
    for source in &select.sources {
        match &source.kind {
            SourceKind::Table(access) => push(lines, depth, &of_access(access)),
            SourceKind::Series(_) => push(lines, depth, "Function Scan on generate_series"),
            SourceKind::Query(query) => {
                push(lines, depth, "Subquery Scan");
                of_query(query, depth + 1, lines);
            }
        }
    }
}

fn of_access(access: &Access) -> String {
    let Access { table, path, .. } = access;
    let backward = if access.reverse { " Backward" } else { "" };
    if path.is_full() {
        return format!("Seq Scan{backward} on {}", table.name);
    }
    let several = match path.prefixes.len() {
        1 => String::new(),
        count if path.is_whole => format!(" of {count}"),
        count => format!(" of {count} ranges"),
    };
    if path.is_whole {
        return format!("Key Lookup{backward}{several} on {}", table.name);
    }
    let index = path.index.and_then(|at| table.indexes.get(at));
    let index = index.map_or("the primary key", |it| it.name.as_str());
    format!("Index Scan{backward}{several} using {index} on {}", table.name)
}
