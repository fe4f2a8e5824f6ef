//! Messages of clients. What they carry is borrowed from the connection's buffer.

use super::{BadMessage, Cursor, FormatCodes, Values};

/// A message of a client.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Message<'a> {
    Query(&'a str),
    Parse {
        name: &'a str,
        text: &'a str,
        types: Vec<u32>,
    },
    Bind(Bind<'a>),
    Describe(Target<'a>),
    Execute {
        portal: &'a str,
        rows_max: i32,
    },
    Close(Target<'a>),
    Flush,
    Sync,
    CopyData(&'a [u8]),
    CopyDone,
    CopyFail(&'a str),
    /// Part of an authentication.
    Password(&'a [u8]),
    Terminate,
}

/// The parameters of a statement, and the formats of its results.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Bind<'a> {
    pub portal: &'a str,
    pub statement: &'a str,
    /// Whether each parameter is binary: none, one for all, or one for each.
    pub formats: FormatCodes<'a>,
    pub values: Values<'a>,
    /// The same of each column of the result.
    pub result_formats: FormatCodes<'a>,
}

/// A prepared statement or a portal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target<'a> {
    Statement(&'a str),
    Portal(&'a str),
}

impl<'a> Message<'a> {
    /// The message of this type and body.
    ///
    /// # Errors
    /// A type that no client sends, and a body that is not of its form.
    pub fn parse(kind: u8, body: &'a [u8]) -> Result<Self, BadMessage> {
        let mut cursor = Cursor::new(body);
        let message = match kind {
            b'Q' => Self::Query(cursor.text()?),
            b'P' => Self::Parse {
                name: cursor.text()?,
                text: cursor.text()?,
                types: list(&mut cursor, Cursor::u32)?,
            },
            b'B' => Self::Bind(bind(&mut cursor)?),
            b'D' => Self::Describe(target(&mut cursor, "DESCRIBE")?),
            b'E' => Self::Execute { portal: cursor.text()?, rows_max: cursor.i32()? },
            b'C' => Self::Close(target(&mut cursor, "CLOSE")?),
            b'H' => Self::Flush,
            b'S' => Self::Sync,
            b'd' => Self::CopyData(cursor.rest()),
            b'c' => Self::CopyDone,
            b'f' => Self::CopyFail(cursor.text()?),
            b'p' => Self::Password(cursor.rest()),
            b'X' => Self::Terminate,
            kind => {
                return Err(BadMessage::new(format!("invalid frontend message type {kind}")));
            }
        };
        cursor.end()?;
        Ok(message)
    }
}

fn bind<'a>(cursor: &mut Cursor<'a>) -> Result<Bind<'a>, BadMessage> {
    Ok(Bind {
        portal: cursor.text()?,
        statement: cursor.text()?,
        formats: FormatCodes::parse(cursor)?,
        values: Values::parse(cursor)?,
        result_formats: FormatCodes::parse(cursor)?,
    })
}

/// A count of two bytes, and as many items.
fn list<'a, T>(
    cursor: &mut Cursor<'a>,
    mut item: impl FnMut(&mut Cursor<'a>) -> Result<T, BadMessage>,
) -> Result<Vec<T>, BadMessage> {
    let count = cursor.u16()?;
    (0..count).map(|_| item(cursor)).collect()
}

fn target<'a>(cursor: &mut Cursor<'a>, of: &str) -> Result<Target<'a>, BadMessage> {
    match cursor.u8()? {
        b'S' => cursor.text().map(Target::Statement),
        b'P' => cursor.text().map(Target::Portal),
        kind => Err(BadMessage::new(format!("invalid {of} message subtype {kind}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_apart() {
        assert_eq!(Message::parse(b'Q', b"select 1\0"), Ok(Message::Query("select 1")));
        let parsed = Message::parse(b'P', b"s\0select $1\0\0\x01\0\0\0\x17");
        let expected = Message::Parse { name: "s", text: "select $1", types: vec![23] };
        assert_eq!(parsed, Ok(expected));
        let body = b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\0";
        let expected = Bind {
            portal: "p",
            statement: "s",
            formats: FormatCodes::of(b"\0\x01"),
            values: Values::of(2, b"\0\0\0\x01x\xff\xff\xff\xff"),
            result_formats: FormatCodes::of(b""),
        };
        assert_eq!(Message::parse(b'B', body), Ok(Message::Bind(expected)));
    }

    #[test]
    fn every_shortened_body_is_refused() {
        let bodies: [(u8, &[u8]); 6] = [
            (b'Q', b"select 1\0"),
            (b'P', b"s\0select $1\0\0\x01\0\0\0\x17"),
            (b'B', b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\0"),
            (b'D', b"Ss\0"),
            (b'E', b"p\0\0\0\0\0"),
            (b'C', b"Pp\0"),
        ];
        for (kind, body) in bodies {
            assert!(Message::parse(kind, body).is_ok());
            for end in 0..body.len() {
                assert!(Message::parse(kind, &body[..end]).is_err(), "{kind} {end}");
            }
            let longer = [body, b"x"].concat();
            assert!(Message::parse(kind, &longer).is_err(), "{kind}");
        }
        assert!(Message::parse(b'?', b"").is_err());
    }
}
