//! `chiliad inspect`: the tables of a directory with their columns, and the rows of one.

use crate::args::InspectFlags;
use chiliad::{Column, Database, Error, Options};
use chiliad_host::{Sink, Stop};
use chiliad_rig::directory::{RowForm, refusal, write_rows};
use serde_json::{Value, json};
use std::io::{BufWriter, Write, stdout};

/// Lists the tables, or writes the rows of one.
pub fn run(flags: &InspectFlags) -> Result<(), Stop> {
    let refuse = |error| refusal(&flags.directory, &error);
    let options = Options::default().read_only(true);
    let db = Database::open_with(&flags.directory, options).map_err(refuse)?;
    let tables = db.tables().into_iter().map(|table| (table.name, table.layout.columns()));
    let tables: Vec<_> = tables.collect();
    let Some(table) = &flags.table else {
        let mut sink = Sink::new(flags.json.as_deref(), flags.quiet)?;
        let lines = tables.iter().map(|(name, layout)| format!("{name}: {layout}\n"));
        sink.say(&lines.collect::<String>())?;
        let columns = |columns: &[Column]| {
            let column = |it: &Column| json!({"name": it.name, "type": it.column_type.to_string()});
            columns.iter().map(column).collect::<Value>()
        };
        let listed = tables.iter().map(|(name, layout)| {
            json!({"name": name, "key": columns(&layout.key), "row": columns(&layout.row)})
        });
        sink.json(&json!({"tables": listed.collect::<Value>()}))?;
        return sink.finish();
    };
    let Some((_, layout)) = tables.iter().find(|(name, _)| name == table) else {
        let names: Vec<&str> = tables.iter().map(|(name, _)| name.as_str()).collect();
        let accepted = if names.is_empty() { "there is none".into() } else { names.join(", ") };
        return Err(Stop::bad("--table", format!("{table}: no such table; accepted: {accepted}")));
    };
    let mut out: Box<dyn Write> = match flags.quiet {
        true => Box::new(std::io::sink()),
        false => Box::new(BufWriter::new(stdout().lock())),
    };
    let form = flags.form.unwrap_or(RowForm::Json);
    let written = write_rows(&db, table, layout, form, &mut *out);
    written.map_err(|error| match error {
        Error::NotOrdered => {
            Stop::bad("--table", format!("{table}: {error}; accepted: ordered tables"))
        }
        error => refuse(error),
    })?;
    out.flush().map_err(|error| Stop::bad("standard output", error))
}
