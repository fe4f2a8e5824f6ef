//! Comma-separated values.

use super::{Fields, Next, bad};
use chiliad_sql::SqlError;

/// The bytes that mean something.
#[derive(Clone, Copy)]
pub(super) struct Marks {
    pub delimiter: u8,
    pub quote: u8,
    pub escape: u8,
}

/// The first record of `rest`. Ends of lines within quotes belong to their field.
pub(super) fn row(
    rest: &[u8],
    last: bool,
    marks: Marks,
    null: &[u8],
    fields: &mut Fields,
) -> Result<Next, SqlError> {
    let Some(length) = record(rest, last, marks)? else { return Ok(Next::More) };
    let line = rest[..length].strip_suffix(b"\n").unwrap_or(&rest[..length]);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line == b"\\." {
        return Ok(Next::End(length));
    }
    let (mut at, mut start) = (0, fields.bytes.len());
    let (mut quoted, mut inside) = (false, false);
    loop {
        match line.get(at) {
            Some(&byte) if inside && byte == marks.escape && follows(line, at, marks) => {
                fields.bytes.push(line[at + 1]);
                at += 1;
            }
            Some(&byte) if byte == marks.quote => {
                inside = !inside;
                quoted = true;
            }
            Some(&byte) if inside || byte != marks.delimiter => fields.bytes.push(byte),
            other => {
                let null = !quoted && &fields.bytes[start..] == null;
                fields.end(start, null);
                if other.is_none() {
                    return Ok(Next::Row(length));
                }
                (start, quoted) = (fields.bytes.len(), false);
            }
        }
        at += 1;
    }
}

/// Whether a quote or an escape follows: the byte here is an escape then.
fn follows(line: &[u8], at: usize, marks: Marks) -> bool {
    line.get(at + 1).is_some_and(|next| [marks.quote, marks.escape].contains(next))
}

/// The bytes of the first record, with the end of its line.
fn record(rest: &[u8], last: bool, marks: Marks) -> Result<Option<usize>, SqlError> {
    let mut inside = false;
    let mut at = 0;
    while let Some(&byte) = rest.get(at) {
        match byte {
            byte if inside && byte == marks.escape && byte != marks.quote => at += 1,
            // An escaped quote is two of them, which change nothing.
            byte if byte == marks.quote => inside = !inside,
            b'\n' if !inside => return Ok(Some(at + 1)),
            b'\r' if !inside => match rest.get(at + 1) {
                Some(b'\n') => return Ok(Some(at + 2)),
                None if !last => return Ok(None),
                _ => return Ok(Some(at + 1)),
            },
            _ => {}
        }
        at += 1;
    }
    match (last, inside) {
        (false, _) => Ok(None),
        (true, false) => Ok(Some(rest.len())),
        (true, true) => Err(bad("unterminated CSV quoted field")),
    }
}
