//! The lists of a Bind message. They stay as the message has them, and are checked once: most are of one item, and nobody
//! needs them longer than the message.

use super::{BadMessage, Cursor};

/// Whether each of some values is binary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FormatCodes<'a>(&'a [u8]);

/// Values; `None` for a null.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Values<'a> {
    count: u16,
    /// Each with its length before it.
    bytes: &'a [u8],
}

impl<'a> FormatCodes<'a> {
    pub fn parse(cursor: &mut Cursor<'a>) -> Result<Self, BadMessage> {
        let count = cursor.u16()?;
        let check = |cursor: &mut Cursor<'a>| match cursor.u16()? {
            0 | 1 => Ok(()),
            other => Err(BadMessage::new(format!("unsupported format code: {other}"))),
        };
        cursor.span(|cursor| (0..count).try_for_each(|_| check(cursor))).map(Self)
    }

    /// How many there are.
    pub fn len(self) -> usize {
        self.0.len() / 2
    }

    /// Whether the value at this place is binary: a single code stands for all, none for text.
    pub fn is_binary(self, at: usize) -> bool {
        let at = if self.len() == 1 { 0 } else { at };
        self.get(at).unwrap_or(false)
    }

    /// The code at this place.
    fn get(self, at: usize) -> Option<bool> {
        self.0.get(2 * at + 1).map(|code| *code == 1)
    }

    pub fn iter(self) -> impl Iterator<Item = bool> {
        self.0.chunks_exact(2).map(|code| code[1] == 1)
    }
}

impl<'a> Values<'a> {
    pub fn parse(cursor: &mut Cursor<'a>) -> Result<Self, BadMessage> {
        let count = cursor.u16()?;
        let check = |cursor: &mut Cursor<'a>| cursor.value().map(|_| ());
        let bytes = cursor.span(|cursor| (0..count).try_for_each(|_| check(cursor)))?;
        Ok(Self { count, bytes })
    }

    /// How many there are.
    pub fn len(self) -> usize {
        usize::from(self.count)
    }

    pub fn iter(self) -> impl Iterator<Item = Option<&'a [u8]>> {
        let mut cursor = Cursor::new(self.bytes);
        // They have been checked.
        (0..self.count).map(move |_| cursor.value().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl<'a> FormatCodes<'a> {
        pub(crate) fn of(bytes: &'a [u8]) -> Self {
            Self(bytes)
        }
    }

    impl<'a> Values<'a> {
        pub(crate) fn of(count: u16, bytes: &'a [u8]) -> Self {
            Self { count, bytes }
        }
    }

    #[test]
    fn formats_are_those_of_the_message() {
        let codes = FormatCodes::parse(&mut Cursor::new(b"\0\x02\0\0\0\x01")).expect("two codes");
        assert_eq!((codes.len(), codes.iter().collect::<Vec<_>>()), (2, vec![false, true]));
        assert_eq!([0, 1, 2].map(|at| codes.get(at)), [Some(false), Some(true), None]);
        for bad in [&b"\0\x01\0\x02"[..], b"\0\x01\x01\0", b"\0\x02\0\x01", b"\0"] {
            assert!(FormatCodes::parse(&mut Cursor::new(bad)).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn values_are_those_of_the_message() {
        let mut cursor = Cursor::new(b"\0\x03\0\0\0\x02ab\xff\xff\xff\xff\0\0\0\0rest");
        let values = Values::parse(&mut cursor).expect("three values");
        let expected = vec![Some(&b"ab"[..]), None, Some(b"")];
        assert_eq!((values.len(), values.iter().collect::<Vec<_>>()), (3, expected));
        assert_eq!(cursor.rest(), b"rest");
        for bad in [&b"\0\x01\0\0\0\x02a"[..], b"\0\x01\xff\xff\xff\xfe", b"\0\x01\0"] {
            assert!(Values::parse(&mut Cursor::new(bad)).is_err(), "{bad:?}");
        }
    }
}
