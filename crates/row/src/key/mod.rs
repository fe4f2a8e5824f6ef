//! Order-preserving encoding of composite keys: bytes that compare as the tuples they stand for.
//!
//! ```
//! use chiliad_row::key::{Desc, decode, encode, encode_into};
//!
//! let key = encode(&(7_u32, 3_u8, -5_i64));
//! assert!(key < encode(&(7_u32, 3_u8, 12_i64)));
//! assert_eq!(decode::<(u32, u8, i64)>(&key), Ok((7, 3, -5)));
//!
//! // What has no bound goes to a buffer that its owner reuses.
//! let mut buffer = Vec::new();
//! encode_into(&(7_u32, "BARBARBAR", Desc(2024_u16)), &mut buffer);
//! let decoded = decode::<(u32, &str, Desc<u16>)>(&buffer);
//! assert_eq!(decoded, Ok((7, "BARBARBAR".to_owned(), Desc(2024))));
//! ```
//!
//! | part | encoding |
//! | --- | --- |
//! | unsigned integers | big-endian |
//! | signed integers | big-endian with the sign bit flipped |
//! | `bool` | 0 or 1 |
//! | `[u8; N]` | the bytes |
//! | byte strings, text | the bytes, 00 as 01 01 and 01 as 01 02, then 00 |
//! | `Option` | 0, or 1 and the value: `None` comes first |
//! | [`Desc`] | the complement of the part's encoding: the order is reversed |
//! | tuples | their parts one after the other |
//!
//! Invariant: no encoding of a type is a proper prefix of another one of the same type. So parts
//! need no separators, complements reverse the order, and whatever begins with the encoding of the
//! first parts of a tuple has these parts: see [`prefix_end`].

mod more;
mod part;
mod source;

pub use part::{Desc, KeyPart, Sink};
pub use source::{BadKey, Source};

use core::fmt;
use core::ops::Deref;

/// The longest key that [`encode`] makes.
pub const INLINE_BYTES_MAX: usize = 64;

/// An encoded key on the stack.
#[derive(Clone, Copy)]
pub struct Key {
    length: usize,
    bytes: [u8; INLINE_BYTES_MAX],
}

impl Key {
    /// The encoded bytes.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Sink for Key {
    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes[self.length..self.length + N].copy_from_slice(&bytes);
        self.length += N;
    }
}

impl Sink for Vec<u8> {
    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.extend_from_slice(&bytes);
    }
}

impl Deref for Key {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl core::hash::Hash for Key {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key:")?;
        self.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Encodes a key of bounded size. A key that might be longer than [`INLINE_BYTES_MAX`] does not
/// compile: that is what [`encode_into`] is for.
#[must_use]
#[inline]
pub fn encode<T: KeyPart>(key: &T) -> Key {
    const { assert!(T::BYTES_MAX <= INLINE_BYTES_MAX, "the key may be too long for the stack") }
    let mut target = Key { length: 0, bytes: [0; INLINE_BYTES_MAX] };
    key.write(&mut target);
    target
}

/// Encodes any key in place of what `buffer` held.
#[inline]
pub fn encode_into<T: KeyPart>(key: &T, buffer: &mut Vec<u8>) {
    buffer.clear();
    key.write(buffer);
}

/// Decodes a whole key.
///
/// # Errors
/// When the bytes are not the encoding of a `T`.
pub fn decode<T: KeyPart>(key: &[u8]) -> Result<T::Decoded, BadKey> {
    let mut source = Source::new(key);
    let decoded = T::read(&mut source)?;
    if source.is_empty() { Ok(decoded) } else { Err(BadKey) }
}

/// The least key greater than all that begin with `prefix`; `None` when there is none, that is,
/// when such keys reach to the end of the key space.
#[must_use]
pub fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}
