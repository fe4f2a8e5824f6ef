//! Numbers and byte strings, little-endian, and a reader that never reads beyond the end.

/// Reads from the front of a slice; `None` once it is too short.
#[derive(Clone, Copy, Debug)]
pub struct Decoder<'a> {
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    /// Reads `bytes` from their start.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Bytes not yet read.
    #[must_use]
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// The bytes not yet read.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether everything was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `count` bytes.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(head)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*head)
    }

    /// A byte.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    /// Two bytes.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Sixteen bytes.
    #[inline]
    pub fn u128(&mut self) -> Option<u128> {
        self.array().map(u128::from_le_bytes)
    }

    /// A length in four bytes, and as many bytes.
    #[inline]
    pub fn blob(&mut self) -> Option<&'a [u8]> {
        let bytes = self.u32()?;
        self.bytes(bytes as usize)
    }

    /// The next bytes of this length, as text.
    pub fn text(&mut self) -> Option<&'a str> {
        core::str::from_utf8(self.blob()?).ok()
    }
}

/// Appends a length in four bytes, and the bytes.
///
/// # Panics
/// When there are more than 4 GiB.
pub fn put_blob(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("below 4 GiB");
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_read_and_nothing_beyond() {
        let mut out = 7_u16.to_le_bytes().to_vec();
        put_blob(&mut out, b"abc");
        let mut decoder = Decoder::new(&out);
        assert_eq!(decoder.u16(), Some(7));
        assert_eq!(decoder.text(), Some("abc"));
        assert!(decoder.is_empty() && decoder.u8().is_none());
        let mut short = Decoder::new(&out[..out.len() - 1]);
        assert!(short.u16().is_some() && short.blob().is_none());
    }
}
