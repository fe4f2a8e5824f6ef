//! Text of bounded length, stored in place.

use super::Stored;
use crate::column::{Typed, length};
use crate::{ColumnType, Error, Result};
use chiliad_api::row::{BadValue, ValueSource};
use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

/// A text of at most `N` bytes (and `N` at most 255), which takes `N + 1` bytes in a row: its
/// length, then the text, then zeros.
///
/// ```
/// use chiliad::Text;
///
/// let city: Text<12> = Text::new("Lund")?;
/// assert_eq!(&*city, "Lund");
/// assert_eq!(city, "Lund");
/// assert!(Text::<3>::new("Lund").is_err());
/// assert_eq!(Text::<3>::truncated("Zürich"), "Zü");
/// # Ok::<(), chiliad::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Text<const N: usize> {
    /// At most `N`, and at a character boundary of the UTF-8 in `bytes`.
    length: u8,
    /// Zeros after the text.
    bytes: [u8; N],
}

impl<const N: usize> Typed for Text<N> {
    fn column_type() -> ColumnType {
        ColumnType::Text(length(N))
    }
}

impl<const N: usize> Text<N> {
    /// The text as a `str`.
    ///
    /// # Errors
    /// [`Error::ValueSize`] when it is longer than `N` bytes.
    pub fn new(text: &str) -> Result<Self> {
        if text.len() > N {
            return Err(Error::ValueSize { bytes: text.len(), accepted: (0, N) });
        }
        Ok(Self::truncated(text))
    }

    /// As much of the text as fits, in whole characters.
    #[must_use]
    pub fn truncated(text: &str) -> Self {
        const { assert!(N <= 255, "the length must fit into a byte") };
        let end = text.floor_char_boundary(N);
        let mut bytes = [0; N];
        bytes[..end].copy_from_slice(&text.as_bytes()[..end]);
        Self { length: u8::try_from(end).unwrap_or(u8::MAX), bytes }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..usize::from(self.length)])
            .expect("checked when it was made")
    }
}

impl<const N: usize> Stored for Text<N> {
    const VALUE_BYTES: Option<usize> = Some(N + 1);

    fn write_value(&self, out: &mut Vec<u8>) {
        out.push(self.length);
        out.extend_from_slice(&self.bytes);
    }

    fn read_value(source: &mut ValueSource<'_>) -> core::result::Result<Self, BadValue> {
        Self::read_cell(source.slice(N + 1)?)
    }

    fn put_cell(&self, cell: &mut [u8]) {
        cell[0] = self.length;
        cell[1..].copy_from_slice(&self.bytes);
    }

    fn read_cell(cell: &[u8]) -> core::result::Result<Self, BadValue> {
        let (length, bytes) = cell.split_first().ok_or_else(|| BadValue::new("an empty field"))?;
        let text = bytes.get(..usize::from(*length));
        let text = text.ok_or_else(|| BadValue::new("a text longer than its column"))?;
        let text = core::str::from_utf8(text).map_err(|_| BadValue::new("text is not UTF-8"))?;
        Self::new(text).map_err(|error| BadValue::new(error.to_string()))
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self::truncated("")
    }
}

impl<const N: usize> Deref for Text<N> {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl<const N: usize> AsRef<str> for Text<N> {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl<const N: usize> Borrow<str> for Text<N> {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl<const N: usize> TryFrom<&str> for Text<N> {
    type Error = Error;

    fn try_from(text: &str) -> Result<Self> {
        Self::new(text)
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl<const N: usize> PartialEq for Text<N> {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl<const N: usize> Eq for Text<N> {}

impl<const N: usize> PartialEq<str> for Text<N> {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl<const N: usize> PartialEq<&str> for Text<N> {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl<const N: usize> PartialOrd for Text<N> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const N: usize> Ord for Text<N> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl<const N: usize> Hash for Text<N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}
