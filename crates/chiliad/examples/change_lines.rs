//! Every committed change as a line of JSON in a file, each once, also when this program is killed: a line ends with the
//! position after its change, and that of the last whole line is where it goes on.
//!
//! ```text
//! cargo run --release -p chiliad --example change_lines
//! ```

use chiliad::changes::{Change, Position};
use chiliad::row::Value;
use chiliad::{Column, ColumnType, Database, Error, Table};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

/// Why lines are not written.
#[derive(Debug)]
pub enum Failure {
    /// Of the database.
    Database(Error),
    /// Of the file.
    File(io::Error),
    /// The file's last line has no position.
    NotOurs,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

/// Appends the changes that the file does not have, as they become durable, until none has come for `patience`. Returns how
/// many.
///
/// # Errors
/// [`Failure`].
pub fn write_lines(db: &Database, path: &Path, patience: Duration) -> Result<u64, Failure> {
    let (file, position) = resume(path)?;
    let mut out = BufWriter::new(file);
    let mut changes = db.changes(position)?;
    let mut written = 0;
    while let Some(change) = changes.next_within(patience)? {
        writeln!(out, "{}", line(&change)?)?;
        written += 1;
        if change.is_last_of_epoch() {
            out.flush()?;
        }
    }
    out.flush()?;
    Ok(written)
}

/// The file behind its last whole line, and the position in that.
fn resume(path: &Path) -> Result<(File, Position), Failure> {
    let mut file =
        OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    // A line that a kill has cut short is written anew.
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    file.set_len(whole as u64)?;
    file.seek(SeekFrom::End(0))?;
    let position = match text[..whole].lines().last() {
        None => Position::START,
        Some(line) => {
            let mut parts = line.rsplit('"');
            let text = parts.nth(1).ok_or(Failure::NotOurs)?;
            text.parse().map_err(|_| Failure::NotOurs)?
        }
    };
    Ok((file, position))
}

/// A change as JSON, its position last.
fn line(change: &Change) -> Result<String, Error> {
    let (key, row) = change.values()?;
    let columns = change.columns();
    let (key, table) = (list(&columns.key, &key), json_string(change.table()));
    let row = row.map_or("null".into(), |row| list(&columns.row, &row));
    Ok(format!(r#"{{"table":{table},"key":{key},"row":{row},"at":"{}"}}"#, change.position()))
}

fn list(columns: &[Column], values: &[Value]) -> String {
    let mut out = String::from("[");
    for (column, value) in columns.iter().zip(values) {
        if out.len() > 1 {
            out.push(',');
        }
        value.write_json(&column.column_type, &mut out);
    }
    out + "]"
}

fn json_string(text: &str) -> String {
    let mut out = String::new();
    Value::Text(text.into()).write_json(&ColumnType::String, &mut out);
    out
}

fn main() -> Result<(), Failure> {
    let folder = std::env::temp_dir().join(format!("chiliad-change-lines-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let db = Database::open(folder.join("data"))?;
    let ages: Table<String, u8> = db.open_or_create_table("ages")?;
    db.run(|tx| tx.put(&ages, &"ann".to_owned(), &30).map(|_| ()))?;
    db.run(|tx| tx.remove(&ages, "ann").map(|_| ()))?;
    let lines = folder.join("changes.jsonl");
    let written = write_lines(&db, &lines, Duration::from_millis(100))?;
    print!("{written} lines\n{}", std::fs::read_to_string(&lines)?);
    db.close()?;
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}
