//! Messages of the server, appended to a buffer.

use chiliad_sql::{Datum, SqlError, Type, codec};

/// How bad a message to the client is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Severity {
    Error,
    Fatal,
    Warning,
    Notice,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
            Self::Warning => "WARNING",
            Self::Notice => "NOTICE",
        }
    }
}

/// A column of a result, as its client is told.
pub(crate) struct Description<'a> {
    pub name: &'a str,
    pub table_oid: u32,
    pub column_number: i16,
    pub sql_type: Type,
    pub modifier: i32,
    pub binary: bool,
}

/// Appends messages to a buffer.
pub(crate) trait Writer {
    /// A message of this type, whose body `body` appends.
    fn message(&mut self, kind: u8, body: impl FnOnce(&mut Vec<u8>));

    /// A message of this type without a body.
    fn empty(&mut self, kind: u8) {
        self.message(kind, |_| {});
    }

    fn authentication(&mut self, code: u32, rest: &[u8]) {
        self.message(b'R', |out| {
            out.extend(code.to_be_bytes());
            out.extend(rest);
        });
    }

    fn parameter_status(&mut self, name: &str, value: &str) {
        self.message(b'S', |out| {
            put_text(out, name);
            put_text(out, value);
        });
    }

    fn backend_key(&mut self, id: u32, key: u32) {
        self.message(b'K', |out| {
            out.extend(id.to_be_bytes());
            out.extend(key.to_be_bytes());
        });
    }

    /// `status`: `I` idle, `T` in a transaction, `E` in a failed one.
    fn ready(&mut self, status: u8) {
        self.message(b'Z', |out| out.push(status));
    }

    fn complete(&mut self, tag: &str) {
        self.message(b'C', |out| put_text(out, tag));
    }

    /// As [`Writer::complete`], with a tag that `tag` appends.
    fn complete_with(&mut self, tag: impl FnOnce(&mut Vec<u8>)) {
        self.message(b'C', |out| {
            tag(out);
            out.push(0);
        });
    }

    fn row_description<'a>(&mut self, columns: impl ExactSizeIterator<Item = Description<'a>>) {
        self.message(b'T', |out| {
            put_count(out, columns.len());
            for column in columns {
                put_text(out, column.name);
                out.extend(column.table_oid.to_be_bytes());
                out.extend(column.column_number.to_be_bytes());
                out.extend(column.sql_type.oid().to_be_bytes());
                out.extend(column.sql_type.length().to_be_bytes());
                out.extend(column.modifier.to_be_bytes());
                out.extend(u16::from(column.binary).to_be_bytes());
            }
        });
    }

    fn parameter_description(&mut self, types: &[Type]) {
        self.message(b't', |out| {
            put_count(out, types.len());
            types.iter().for_each(|of| out.extend(of.oid().to_be_bytes()));
        });
    }

    /// A row, whose values are given with their types and formats.
    fn data_row<'a>(&mut self, values: impl ExactSizeIterator<Item = (&'a Datum<'a>, Type, bool)>) {
        self.message(b'D', |out| {
            put_count(out, values.len());
            for (datum, of, binary) in values {
                put_value(out, datum, of, binary);
            }
        });
    }

    /// The answer to COPY: `G` the client shall send, `H` it will receive.
    fn copy_response(&mut self, kind: u8, binary: bool, columns: usize) {
        self.message(kind, |out| {
            out.push(u8::from(binary));
            put_count(out, columns);
            (0..columns).for_each(|_| out.extend(u16::from(binary).to_be_bytes()));
        });
    }

    fn report(&mut self, severity: Severity, error: &SqlError) {
        let is_error = matches!(severity, Severity::Error | Severity::Fatal);
        self.message(if is_error { b'E' } else { b'N' }, |out| {
            let mut field = |kind: u8, text: &str| {
                out.push(kind);
                put_text(out, text);
            };
            field(b'S', severity.name());
            field(b'V', severity.name());
            field(b'C', error.sqlstate);
            field(b'M', &error.message);
            if let Some(detail) = &error.detail {
                field(b'D', detail);
            }
            if let Some(hint) = &error.hint {
                field(b'H', hint);
            }
            if let Some(position) = error.position {
                field(b'P', &position.to_string());
            }
            out.push(0);
        });
    }
}

impl Writer for Vec<u8> {
    fn message(&mut self, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
        self.extend_from_slice(&[kind, 0, 0, 0, 0]);
        let start = self.len() - 4;
        body(self);
        set_length(self, start);
    }
}

/// Writes the number of bytes that follow `start` there.
fn set_length(out: &mut [u8], start: usize) {
    // Limits of results keep it far below.
    let length = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

fn put_value(out: &mut Vec<u8>, datum: &Datum<'_>, of: Type, binary: bool) {
    if datum.is_null() {
        out.extend((-1_i32).to_be_bytes());
        return;
    }
    out.extend_from_slice(&[0; 4]);
    let start = out.len() - 4;
    match binary {
        true => codec::to_binary(of, datum, out),
        false => codec::to_text(of, datum, out),
    }
    let length = u32::try_from(out.len() - start - 4).unwrap_or(u32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// A text with its zero byte; one within the text would end it early, and is left out.
fn put_text(out: &mut Vec<u8>, text: &str) {
    match text.as_bytes().contains(&0) {
        false => out.extend_from_slice(text.as_bytes()),
        true => out.extend(text.bytes().filter(|byte| *byte != 0)),
    }
    out.push(0);
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend(u16::try_from(count).unwrap_or(u16::MAX).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_their_length() {
        let mut out = Vec::new();
        out.ready(b'I');
        out.complete("SELECT 1");
        assert_eq!(out, b"Z\0\0\0\x05IC\0\0\0\x0dSELECT 1\0");
    }

    #[test]
    fn a_report_has_its_fields() {
        let mut out = Vec::new();
        let error = SqlError::new("42601", "syntax\0 error").with_hint("none").at(Some(3));
        out.report(Severity::Error, &error);
        let text = b"SERROR\0VERROR\0C42601\0Msyntax error\0Hnone\0P3\0\0";
        assert_eq!(out[5..], text[..]);
    }
}
