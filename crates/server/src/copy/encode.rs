//! Rows as bytes of a format.

use super::binary::SIGNATURE;
use chiliad_sql::CopyFormat;

/// Writes rows in a format.
pub(crate) struct Encoder<'a>(&'a CopyFormat);

/// A row in progress.
pub(crate) struct Row<'a> {
    format: &'a CopyFormat,
    first: bool,
    alone: bool,
}

impl<'a> Encoder<'a> {
    pub fn new(format: &'a CopyFormat) -> Self {
        Self(format)
    }

    /// Whether fields are values in the binary format.
    pub fn is_binary(&self) -> bool {
        matches!(self.0, CopyFormat::Binary)
    }

    /// The begin of the stream. Whether anything was written.
    pub fn start(&self, names: &[&str], out: &mut Vec<u8>) -> bool {
        match self.0 {
            CopyFormat::Binary => {
                out.extend_from_slice(SIGNATURE);
                out.extend([0; 8]);
                true
            }
            CopyFormat::Text { header: true, .. } | CopyFormat::Csv { header: true, .. } => {
                let mut row = self.begin_row(names.len(), out);
                names.iter().for_each(|name| row.field(Some(name.as_bytes()), out));
                self.end_row(out);
                true
            }
            _ => false,
        }
    }

    pub fn begin_row(&self, fields: usize, out: &mut Vec<u8>) -> Row<'a> {
        if self.is_binary() {
            out.extend(u16::try_from(fields).unwrap_or(u16::MAX).to_be_bytes());
        }
        Row { format: self.0, first: true, alone: fields == 1 }
    }

    pub fn end_row(&self, out: &mut Vec<u8>) {
        if !self.is_binary() {
            out.push(b'\n');
        }
    }

    /// The end of the stream. Whether anything was written.
    pub fn finish(&self, out: &mut Vec<u8>) -> bool {
        if self.is_binary() {
            out.extend((-1_i16).to_be_bytes());
        }
        self.is_binary()
    }
}

impl Row<'_> {
    /// One field more; `None` for a null.
    pub fn field(&mut self, value: Option<&[u8]>, out: &mut Vec<u8>) {
        let first = std::mem::replace(&mut self.first, false);
        match self.format {
            CopyFormat::Text { delimiter, null, .. } => {
                if !first {
                    out.push(*delimiter);
                }
                match value {
                    None => out.extend_from_slice(null.as_bytes()),
                    Some(value) => text_field(value, *delimiter, out),
                }
            }
            CopyFormat::Csv { delimiter, null, quote, escape, .. } => {
                if !first {
                    out.push(*delimiter);
                }
                let Some(value) = value else {
                    out.extend_from_slice(null.as_bytes());
                    return;
                };
                let special = |byte: &u8| [*delimiter, *quote, b'\n', b'\r'].contains(byte);
                let quoted = value == null.as_bytes()
                    || value.iter().any(special)
                    || self.alone && value == b"\\.";
                if !quoted {
                    out.extend_from_slice(value);
                    return;
                }
                out.push(*quote);
                for byte in value {
                    if byte == quote || byte == escape {
                        out.push(*escape);
                    }
                    out.push(*byte);
                }
                out.push(*quote);
            }
            CopyFormat::Binary => match value {
                None => out.extend((-1_i32).to_be_bytes()),
                Some(value) => {
                    let length = u32::try_from(value.len()).unwrap_or(u32::MAX);
                    out.extend(length.to_be_bytes());
                    out.extend_from_slice(value);
                }
            },
        }
    }
}

fn text_field(value: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    for &byte in value {
        let letter = match byte {
            b'\\' => b'\\',
            8 => b'b',
            12 => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            11 => b'v',
            byte if byte == delimiter => byte,
            byte => {
                out.push(byte);
                continue;
            }
        };
        out.extend([b'\\', letter]);
    }
}
