//! The formats of COPY: rows of a stream of bytes, and back. No table and no type is known here: a field is its bytes.

mod binary;
mod csv;
mod encode;
mod text;

pub(crate) use encode::Encoder;

use chiliad_sql::{CopyFormat, SqlError};

/// Fields of one row; `None` for a null.
#[derive(Default)]
pub(crate) struct Fields {
    bytes: Vec<u8>,
    ends: Vec<Option<(usize, usize)>>,
}

impl Fields {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The field of this number from 0; `None` for a null, or where there is none.
    pub fn get(&self, at: usize) -> Option<&[u8]> {
        let (start, end) = self.ends.get(at).copied().flatten()?;
        self.bytes.get(start..end)
    }

    /// Bytes of all fields together.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The fields.
    pub fn iter(&self) -> impl Iterator<Item = Option<&[u8]>> {
        self.ends.iter().map(|ends| ends.map(|(start, end)| &self.bytes[start..end]))
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// The field whose bytes begin at `start` is complete.
    fn end(&mut self, start: usize, null: bool) {
        if null {
            self.bytes.truncate(start);
        }
        self.ends.push((!null).then_some((start, self.bytes.len())));
    }
}

/// Takes rows out of a stream that comes in pieces.
pub(crate) struct Decoder {
    format: CopyFormat,
    buffer: Vec<u8>,
    /// Bytes of the buffer that are done with.
    at: usize,
    /// Lines or rows so far.
    pub line: u64,
    /// The header has been read, if there is one.
    headed: bool,
    /// The end has come: what follows counts for nothing.
    over: bool,
    fields: Fields,
}

/// What comes next in a stream.
enum Next {
    /// A row, of so many bytes.
    Row(usize),
    /// Its end, of so many bytes.
    End(usize),
    /// More bytes are needed to tell.
    More,
}

impl Decoder {
    pub fn new(format: CopyFormat) -> Self {
        let headed = match &format {
            CopyFormat::Text { header, .. } | CopyFormat::Csv { header, .. } => !header,
            CopyFormat::Binary => false,
        };
        let fields = Fields::default();
        Self { format, buffer: Vec::new(), at: 0, line: 0, headed, over: false, fields }
    }

    /// More of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.at > 0 {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        if !self.over {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// Bytes that wait for more.
    pub fn waiting(&self) -> usize {
        self.buffer.len() - self.at
    }

    /// The next row; `None` until more of the stream has come. `last`: none will.
    ///
    /// # Errors
    /// 22P04 for bytes that are no row of the format.
    pub fn next(&mut self, last: bool) -> Result<Option<&Fields>, SqlError> {
        loop {
            if self.over {
                return Ok(None);
            }
            let rest = &self.buffer[self.at..];
            if rest.is_empty() && !(last && matches!(self.format, CopyFormat::Binary)) {
                return Ok(None);
            }
            self.fields.clear();
            let first = !self.headed && matches!(self.format, CopyFormat::Binary);
            let next = match &self.format {
                CopyFormat::Text { delimiter, null, .. } => {
                    text::row(rest, last, *delimiter, null.as_bytes(), &mut self.fields)
                }
                CopyFormat::Csv { delimiter, null, quote, escape, .. } => {
                    let marks =
                        csv::Marks { delimiter: *delimiter, quote: *quote, escape: *escape };
                    csv::row(rest, last, marks, null.as_bytes(), &mut self.fields)
                }
                CopyFormat::Binary if first => binary::header(rest, last),
                CopyFormat::Binary => binary::row(rest, last, &mut self.fields),
            }?;
            match next {
                Next::More => return Ok(None),
                Next::End(bytes) => {
                    self.at += bytes;
                    self.over = true;
                }
                Next::Row(bytes) => {
                    self.at += bytes;
                    if !first {
                        self.line += 1;
                    }
                    if std::mem::replace(&mut self.headed, true) {
                        return Ok(Some(&self.fields));
                    }
                }
            }
        }
    }
}

fn bad(message: impl Into<String>) -> SqlError {
    SqlError::bad_copy(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> CopyFormat {
        CopyFormat::Text { delimiter: b'\t', null: "\\N".into(), header: false }
    }

    fn csv() -> CopyFormat {
        let null = String::new();
        CopyFormat::Csv { delimiter: b',', null, header: true, quote: b'"', escape: b'"' }
    }

    /// The rows of a stream, in pieces of `step` bytes.
    fn rows(
        format: &CopyFormat,
        stream: &[u8],
        step: usize,
    ) -> Result<Vec<Vec<Option<Vec<u8>>>>, SqlError> {
        let mut decoder = Decoder::new(format.clone());
        let mut rows = Vec::new();
        let pieces: Vec<&[u8]> = stream.chunks(step).collect();
        for at in 0..=pieces.len() {
            let last = at == pieces.len();
            if !last {
                decoder.push(pieces[at]);
            }
            while let Some(fields) = decoder.next(last)? {
                rows.push(fields.iter().map(|field| field.map(<[u8]>::to_vec)).collect());
            }
        }
        Ok(rows)
    }

    fn some(text: &str) -> Option<Vec<u8>> {
        Some(text.as_bytes().to_vec())
    }

    #[test]
    fn rows_of_text_come_in_any_pieces() {
        let stream = b"1\ta\\tb\\\\\n2\t\\N\r\n\\x41\\101\t\n\\.\nnothing\tmore\n";
        let expected = vec![
            vec![some("1"), some("a\tb\\")],
            vec![some("2"), None],
            vec![some("AA"), some("")],
        ];
        for step in 1..stream.len() + 1 {
            assert_eq!(rows(&text(), stream, step).unwrap(), expected, "{step}");
        }
        assert_eq!(rows(&text(), b"1\t2", 9).unwrap(), [[some("1"), some("2")]]);
    }

    #[test]
    fn rows_of_csv_come_in_any_pieces() {
        let stream = b"id,name\n1,\"a,\n\"\"b\"\"\"\r\n2,\n3,\"\"\n4,x\"y\"z\n";
        let expected = vec![
            vec![some("1"), some("a,\n\"b\"")],
            vec![some("2"), None],
            vec![some("3"), some("")],
            vec![some("4"), some("xyz")],
        ];
        for step in 1..stream.len() + 1 {
            assert_eq!(rows(&csv(), stream, step).unwrap(), expected, "{step}");
        }
        assert!(rows(&csv(), b"a\n\"b", 9).is_err());
    }

    #[test]
    fn rows_of_the_binary_format_come_in_any_pieces() {
        let mut stream = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\x02xy".to_vec();
        stream.extend(b"\0\x02\0\0\0\x01a\xff\xff\xff\xff\xff\xff");
        for step in 1..stream.len() + 1 {
            let expected = vec![vec![some("a"), None]];
            assert_eq!(rows(&CopyFormat::Binary, &stream, step).unwrap(), expected, "{step}");
        }
        for end in 0..stream.len() - 2 {
            assert!(rows(&CopyFormat::Binary, &stream[..end], 99).is_err(), "{end}");
        }
        assert!(rows(&CopyFormat::Binary, b"PGCOPY\n\xfe\r\n\0\0\0\0\0\0\0\0\0", 99).is_err());
    }

    #[test]
    fn what_is_written_is_read_again() {
        let values: [Option<&[u8]>; 4] = [Some(b"a\tb\n\\\"',"), None, Some(b""), Some(b"\\N")];
        for format in [text(), csv(), CopyFormat::Binary] {
            let encoder = Encoder::new(&format);
            let mut stream = Vec::new();
            encoder.start(&["a", "b", "c", "d"], &mut stream);
            let mut row = encoder.begin_row(values.len(), &mut stream);
            for value in values {
                row.field(value, &mut stream);
            }
            encoder.end_row(&mut stream);
            encoder.finish(&mut stream);
            let expected: Vec<_> = values.iter().map(|it| it.map(<[u8]>::to_vec)).collect();
            assert_eq!(rows(&format, &stream, 3).unwrap(), [expected], "{format:?}");
        }
    }
}
