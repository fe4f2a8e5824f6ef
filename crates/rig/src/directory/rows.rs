//! The rows of a table as lines: JSON, or fields with commas between.

use chiliad::row::Value;
use chiliad::{Column, Database, Error, Layout, Result};
use std::io::Write;

/// The form of the lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowForm {
    /// An object for each row, in a line of its own.
    Json,
    /// A line of names, then a line for each row (RFC 4180).
    Csv,
}

/// Writes all rows of an ordered table, as one whose columns are those of the key and then those of the row. Columns that
/// have their place for a name are called `key.0` and so on.
///
/// # Errors
/// Those of [`Database::for_each_row`]; [`Error::HostExhausted`], where the lines cannot be written.
pub fn write_rows(
    db: &Database,
    table: &str,
    layout: &Layout,
    form: RowForm,
    out: &mut dyn Write,
) -> Result<()> {
    let named = |columns: &[Column], of: &str| {
        let is_place = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
        let name = |column: &Column| match is_place(&column.name) {
            true => format!("{of}.{}", column.name),
            false => column.name.clone(),
        };
        columns.iter().map(|column| (name(column), column.clone())).collect::<Vec<_>>()
    };
    let mut columns = named(&layout.key, "key");
    columns.extend(named(&layout.row, "row"));
    let failed = |error: std::io::Error| {
        Error::HostExhausted(format!("the lines cannot be written: {error}"))
    };
    if form == RowForm::Csv {
        let names: Vec<String> = columns.iter().map(|(name, _)| field(name)).collect();
        writeln!(out, "{}", names.join(",")).map_err(failed)?;
    }
    db.for_each_row(table, |key, row| {
        let values: Vec<&Value> = key.iter().chain(row).collect();
        let line = match form {
            RowForm::Json => json(&columns, &values),
            RowForm::Csv => {
                let texts = values.iter().map(|value| match value {
                    Value::Null => String::new(),
                    value => field(&value.to_string()),
                });
                texts.collect::<Vec<_>>().join(",")
            }
        };
        writeln!(out, "{line}").map_err(failed)
    })
}

fn json(columns: &[(String, Column)], values: &[&Value]) -> String {
    let mut line = String::from("{");
    for (at, ((name, column), value)) in columns.iter().zip(values).enumerate() {
        line.push_str(if at == 0 { "" } else { "," });
        line.push_str(&serde_json::Value::from(name.as_str()).to_string());
        line.push(':');
        value.write_json(&column.column_type, &mut line);
    }
    line.push('}');
    line
}

/// A field of a line, in quotes where it must be.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
