//! Reads the fields of a message.

use super::BadMessage;

/// The rest of a message's body.
pub(crate) struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    pub fn new(body: &'a [u8]) -> Self {
        Self(body)
    }

    /// The next `count` bytes.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], BadMessage> {
        let Some((bytes, rest)) = self.0.split_at_checked(count) else {
            return Err(BadMessage::new("insufficient data left in message"));
        };
        self.0 = rest;
        Ok(bytes)
    }

    #[inline]
    pub fn u8(&mut self) -> Result<u8, BadMessage> {
        Ok(self.bytes(1)?[0])
    }

    #[inline]
    pub fn u16(&mut self) -> Result<u16, BadMessage> {
        let bytes = self.bytes(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    #[inline]
    pub fn u32(&mut self) -> Result<u32, BadMessage> {
        let bytes = self.bytes(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    #[inline]
    pub fn i32(&mut self) -> Result<i32, BadMessage> {
        self.u32().map(u32::cast_signed)
    }

    /// The bytes of what `read` reads.
    pub fn span(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<(), BadMessage>,
    ) -> Result<&'a [u8], BadMessage> {
        let before = self.0;
        read(self)?;
        Ok(&before[..before.len() - self.0.len()])
    }

    /// A text that ends with a zero byte.
    pub fn text(&mut self) -> Result<&'a str, BadMessage> {
        // Most names are empty.
        if let [0, rest @ ..] = self.0 {
            self.0 = rest;
            return Ok("");
        }
        let Some(end) = self.0.iter().position(|byte| *byte == 0) else {
            return Err(BadMessage::new("invalid string in message"));
        };
        let (text, rest) = self.0.split_at(end);
        self.0 = &rest[1..];
        str::from_utf8(text).map_err(|_| BadMessage::NotUtf8)
    }

    /// A value with its length before it; `None` for a null.
    #[inline]
    pub fn value(&mut self) -> Result<Option<&'a [u8]>, BadMessage> {
        match self.i32()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length);
                let length = length.map_err(|_| BadMessage::new("a value of negative length"))?;
                self.bytes(length).map(Some)
            }
        }
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// Refuses bytes that are left.
    pub fn end(&self) -> Result<(), BadMessage> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(BadMessage::new("invalid message format")),
        }
    }
}
