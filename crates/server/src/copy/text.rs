//! Lines of fields with backslash sequences.

use super::{Fields, Next, bad};
use chiliad_sql::SqlError;

/// The first line of `rest`.
pub(super) fn row(
    rest: &[u8],
    last: bool,
    delimiter: u8,
    null: &[u8],
    fields: &mut Fields,
) -> Result<Next, SqlError> {
    let Some((line, length)) = line(rest, last) else { return Ok(Next::More) };
    if line == b"\\." {
        return Ok(Next::End(length));
    }
    let mut raw_start = 0;
    let mut start = fields.bytes.len();
    let mut at = 0;
    loop {
        match line.get(at) {
            Some(&byte) if byte != delimiter => {
                at += if byte == b'\\' {
                    escape(&line[at..], fields)?
                } else {
                    fields.bytes.push(byte);
                    1
                };
            }
            other => {
                fields.end(start, &line[raw_start..at] == null);
                if other.is_none() {
                    return Ok(Next::Row(length));
                }
                at += 1;
                (raw_start, start) = (at, fields.bytes.len());
            }
        }
    }
}

/// The first line without its end, and its bytes with it. A backslash hides the end of a line.
fn line(rest: &[u8], last: bool) -> Option<(&[u8], usize)> {
    let mut at = 0;
    loop {
        match rest.get(at) {
            Some(b'\n') => return Some((&rest[..at], at + 1)),
            Some(b'\r') => match rest.get(at + 1) {
                Some(b'\n') => return Some((&rest[..at], at + 2)),
                Some(_) => return Some((&rest[..at], at + 1)),
                None => return last.then_some((&rest[..at], at + 1)),
            },
            Some(b'\\') if at + 1 < rest.len() => at += 2,
            Some(_) => at += 1,
            None => return last.then_some((rest, rest.len())),
        }
    }
}

/// Appends what a sequence stands for, and returns its length.
fn escape(sequence: &[u8], fields: &mut Fields) -> Result<usize, SqlError> {
    let Some(&letter) = sequence.get(1) else {
        fields.bytes.push(b'\\');
        return Ok(1);
    };
    let (byte, length) = match letter {
        b'b' => (8, 2),
        b'f' => (12, 2),
        b'n' => (b'\n', 2),
        b'r' => (b'\r', 2),
        b't' => (b'\t', 2),
        b'v' => (11, 2),
        b'0'..=b'7' => {
            number(&sequence[1..], 8, 3).map_or((letter, 2), |(it, used)| (it, used + 1))
        }
        b'x' => number(&sequence[2..], 16, 2).map_or((letter, 2), |(it, used)| (it, used + 2)),
        other => (other, 2),
    };
    if byte == 0 {
        return Err(bad("a zero byte in a text"));
    }
    fields.bytes.push(byte);
    Ok(length)
}

/// A number of up to `most` digits, and how many it has.
fn number(digits: &[u8], base: u32, most: usize) -> Option<(u8, usize)> {
    let digit = |byte: &u8| char::from(*byte).to_digit(base);
    let digits = digits.iter().take(most).map_while(digit);
    let (value, count) = digits.fold((0_u32, 0), |(all, count), it| (all * base + it, count + 1));
    (count > 0).then_some(((value & 0xff) as u8, count))
}
