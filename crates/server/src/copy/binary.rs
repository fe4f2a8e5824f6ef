//! PostgreSQL's binary format.

use super::{Fields, Next, bad};
use chiliad_sql::SqlError;

pub(super) const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";

/// The header, as a row that does not count.
pub(super) fn header(rest: &[u8], last: bool) -> Result<Next, SqlError> {
    let known = rest.len().min(SIGNATURE.len());
    if rest[..known] != SIGNATURE[..known] {
        return Err(bad("COPY file signature not recognized"));
    }
    let flags = rest.get(11..15).and_then(|bytes| bytes.first_chunk::<4>());
    if flags.is_some_and(|flags| u32::from_be_bytes(*flags) >> 16 != 0) {
        return Err(bad("unrecognized critical flags in COPY file header"));
    }
    let extension = rest.get(15..19).and_then(|bytes| bytes.first_chunk::<4>());
    let length = extension.map(|bytes| 19 + u32::from_be_bytes(*bytes) as usize);
    match length.filter(|length| *length <= rest.len()) {
        Some(length) => Ok(Next::Row(length)),
        None => more(last),
    }
}

/// The first row of `rest`, or its end.
pub(super) fn row(rest: &[u8], last: bool, fields: &mut Fields) -> Result<Next, SqlError> {
    let Some((count, mut left)) = rest.split_first_chunk::<2>() else { return more(last) };
    let count = i16::from_be_bytes(*count);
    if count == -1 {
        return Ok(Next::End(2));
    }
    if count < 0 {
        return Err(bad(format!("row field count is {count}")));
    }
    for _ in 0..count {
        let Some((length, after)) = left.split_first_chunk::<4>() else { return more(last) };
        left = after;
        let start = fields.bytes.len();
        match i32::from_be_bytes(*length) {
            -1 => fields.end(start, true),
            length => {
                let length = usize::try_from(length);
                let length = length.map_err(|_| bad("invalid field size"))?;
                let Some((field, after)) = left.split_at_checked(length) else { return more(last) };
                fields.bytes.extend_from_slice(field);
                fields.end(start, false);
                left = after;
            }
        }
    }
    Ok(Next::Row(rest.len() - left.len()))
}

fn more(last: bool) -> Result<Next, SqlError> {
    match last {
        true => Err(bad("unexpected EOF in COPY data")),
        false => Ok(Next::More),
    }
}
