//! Lines of fields with backslash sequences.

use super::{Fields, Next, bad};
use chiliad_sql::SqlError;

/// Bytes of the longest sequence that begins with a backslash.
const SEQUENCE_BYTES_MAX: usize = 4;

/// The first line of `rest`, up to the end of a line that no backslash hides.
pub(super) fn row(
    rest: &[u8],
    last: bool,
    delimiter: u8,
    null: &[u8],
    fields: &mut Fields,
) -> Result<Next, SqlError> {
    let is_special = |byte: u8| byte == delimiter || matches!(byte, b'\n' | b'\r' | b'\\');
    let (mut at, mut raw_start, mut start) = (0, 0, fields.bytes.len());
    loop {
        let plain = rest[at..].iter().take_while(|byte| !is_special(**byte)).count();
        fields.bytes.extend_from_slice(&rest[at..at + plain]);
        at += plain;
        match ending(&rest[at..], last) {
            Ending::Unknown => return Ok(Next::More),
            Ending::Here(length) => {
                fields.end(start, &rest[raw_start..at] == null);
                return Ok(Next::Row(at + length));
            }
            Ending::No if rest[at] == delimiter => {
                fields.end(start, &rest[raw_start..at] == null);
                at += 1;
                (raw_start, start) = (at, fields.bytes.len());
                continue;
            }
            Ending::No => {}
        }
        let sequence = &rest[at..];
        if at == 0 && sequence.starts_with(b"\\.") {
            match ending(&sequence[2..], last) {
                Ending::Here(length) => return Ok(Next::End(2 + length)),
                Ending::Unknown => return Ok(Next::More),
                Ending::No => {}
            }
        }
        match escape(sequence, fields) {
            // It may go on with what comes.
            _ if sequence.len() == 1 && !last => return Ok(Next::More),
            Err(_) if sequence.len() < SEQUENCE_BYTES_MAX && !last => return Ok(Next::More),
            done => at += done?,
        }
    }
}

/// Whether a line ends where these bytes begin.
enum Ending {
    /// It does, and its end has so many bytes.
    Here(usize),
    No,
    /// More bytes tell.
    Unknown,
}

fn ending(rest: &[u8], last: bool) -> Ending {
    match rest {
        [b'\n', ..] => Ending::Here(1),
        [b'\r', b'\n', ..] => Ending::Here(2),
        [b'\r'] | [] if !last => Ending::Unknown,
        [b'\r', ..] => Ending::Here(1),
        [] => Ending::Here(0),
        _ => Ending::No,
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
