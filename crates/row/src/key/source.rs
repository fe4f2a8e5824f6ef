//! Where the parts of a key are decoded from.

use core::fmt;

/// The bytes are not the encoding of what was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadKey;

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the key does not encode these types")
    }
}

impl core::error::Error for BadKey {}

/// The rest of a key that is being decoded.
pub struct Source<'a> {
    rest: &'a [u8],
    /// All ones inside of an odd number of [`super::Desc`].
    flip: u8,
}

impl<'a> Source<'a> {
    /// The parts of a key from its first one on.
    #[must_use]
    pub fn new(rest: &'a [u8]) -> Self {
        Self { rest, flip: 0 }
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Takes the next `N` bytes.
    ///
    /// # Errors
    /// When there are fewer.
    #[inline]
    pub fn take<const N: usize>(&mut self) -> Result<[u8; N], BadKey> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(BadKey)?;
        self.rest = rest;
        Ok(taken.map(|byte| byte ^ self.flip))
    }

    /// Reads with every byte complemented.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn complemented<T, E>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        self.flip = !self.flip;
        let value = read(self);
        self.flip = !self.flip;
        value
    }
}
