//! Where values are decoded from.

use crate::BadValue;

/// The rest of some bytes that are being decoded.
#[derive(Clone, Debug)]
pub struct ValueSource<'a> {
    rest: &'a [u8],
}

impl<'a> ValueSource<'a> {
    /// The beginning of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// How many bytes are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// Takes `N` bytes.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn take<const N: usize>(&mut self) -> Result<[u8; N], BadValue> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or_else(BadValue::cut_short)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// Takes `length` bytes.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn slice(&mut self, length: usize) -> Result<&'a [u8], BadValue> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(BadValue::cut_short)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Takes all that is left.
    pub fn all(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.rest)
    }

    /// Takes a length (`u32`) and as many bytes.
    ///
    /// # Errors
    /// When fewer are left.
    pub fn blob(&mut self) -> Result<&'a [u8], BadValue> {
        let length = u32::from_le_bytes(self.take()?);
        self.slice(length as usize)
    }
}
