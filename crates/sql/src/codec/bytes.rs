//! Bytes and UUIDs as text.

use crate::error::{Result, SqlError};

fn digit(of: u8) -> Option<u8> {
    char::from(of).to_digit(16).and_then(|it| u8::try_from(it).ok())
}

/// Bytes in hexadecimal after `\x`, or as letters with backslash sequences.
pub(super) fn parse(text: &str) -> Result<Vec<u8>> {
    if let Some(digits) = text.strip_prefix("\\x") {
        let digits: Vec<u8> = digits.bytes().filter(|it| !it.is_ascii_whitespace()).collect();
        let pair = |pair: &[u8]| match pair {
            [high, low] => {
                let wrong = || SqlError::invalid_text("invalid hexadecimal digit");
                Ok(digit(*high).ok_or_else(wrong)? << 4 | digit(*low).ok_or_else(wrong)?)
            }
            _ => Err(SqlError::invalid_text("invalid hexadecimal data: odd number of digits")),
        };
        return digits.chunks(2).map(pair).collect();
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first != b'\\' {
            out.push(first);
            rest = after;
            continue;
        }
        match after {
            [b'\\', after @ ..] => {
                out.push(b'\\');
                rest = after;
            }
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = after;
            }
            _ => return Err(SqlError::invalid_text("invalid input syntax for type bytea")),
        }
    }
    Ok(out)
}

pub(super) fn push_hex(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend(b"\\x");
    for byte in bytes {
        push_byte(*byte, out);
    }
}

fn push_byte(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(DIGITS[usize::from(byte >> 4)]);
    out.push(DIGITS[usize::from(byte & 15)]);
}

pub(super) fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let inner = text.strip_prefix('{').and_then(|it| it.strip_suffix('}')).unwrap_or(text);
    let digits: Vec<u8> =
        inner.bytes().filter(|it| *it != b'-').map(digit).collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    if digits.len() == 32 { bytes.try_into().ok() } else { None }
}

pub(super) fn push_uuid(bytes: &[u8; 16], out: &mut Vec<u8>) {
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        push_byte(*byte, out);
    }
}
