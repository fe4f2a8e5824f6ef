//! The parts of keys.

use crate::error::malformed;
use crate::{Result, Text};
use core::cmp::Ordering;

/// One part of a key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key part",
    note = "key parts are integers, `bool`, `String`, `Vec<u8>`, `[u8; N]`, `Text<N>`, and `Desc` \
            of them"
)]
pub trait Part: PartOf<Self> + Sized {
    /// Takes the part off the front of an encoded key.
    ///
    /// # Errors
    /// When the key does not begin with such a part.
    fn take(key: &mut &[u8]) -> Result<Self>;
}

/// A value that stands for a key part of type `T`: the part itself, or a borrowed form of it.
#[diagnostic::on_unimplemented(message = "`{Self}` does not stand for a key part of type `{T}`")]
pub trait PartOf<T> {
    /// Appends the encoded part.
    fn append(&self, key: &mut Vec<u8>);
}

/// A key part in reverse order: greater values come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct Desc<T>(pub T);

impl<T: Ord> PartialOrd for Desc<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> Ord for Desc<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.cmp(&self.0)
    }
}

/// The first `bytes` bytes of the key, which loses them.
fn split<'a>(key: &mut &'a [u8], bytes: usize) -> Result<&'a [u8]> {
    let split = key.split_at_checked(bytes);
    let (part, rest) = split.ok_or_else(|| malformed("a key that ends within a part"))?;
    *key = rest;
    Ok(part)
}

/// As [`split`], as an array.
fn split_array<const N: usize>(key: &mut &[u8]) -> Result<[u8; N]> {
    split(key, N)?.try_into().map_err(|_| malformed("a key part of other length"))
}

macro_rules! integers {
    ($($type:ty, $sign:expr;)*) => {$(
        impl PartOf<$type> for $type {
            fn append(&self, key: &mut Vec<u8>) {
                key.extend_from_slice(&(self ^ $sign).to_be_bytes());
            }
        }

        impl Part for $type {
            fn take(key: &mut &[u8]) -> Result<Self> {
                Ok(<$type>::from_be_bytes(split_array(key)?) ^ $sign)
            }
        }
    )*};
}
integers! {
    u8, 0; u16, 0; u32, 0; u64, 0; u128, 0;
    i8, i8::MIN; i16, i16::MIN; i32, i32::MIN; i64, i64::MIN; i128, i128::MIN;
}

impl PartOf<bool> for bool {
    fn append(&self, key: &mut Vec<u8>) {
        key.push(u8::from(*self));
    }
}

impl Part for bool {
    fn take(key: &mut &[u8]) -> Result<Self> {
        match split(key, 1)? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(malformed("a truth value that is neither 0 nor 1")),
        }
    }
}

impl<const N: usize> PartOf<[u8; N]> for [u8; N] {
    fn append(&self, key: &mut Vec<u8>) {
        key.extend_from_slice(self);
    }
}

impl<const N: usize> Part for [u8; N] {
    fn take(key: &mut &[u8]) -> Result<Self> {
        split_array(key)
    }
}

/// Appends bytes of variable length so that a shorter one sorts first whatever follows.
fn append_bytes(bytes: &[u8], key: &mut Vec<u8>) {
    for &byte in bytes {
        key.push(byte);
        if byte == 0 {
            key.push(0xff);
        }
    }
    key.extend_from_slice(&[0, 0]);
}

/// Takes off what [`append_bytes`] appended.
fn take_bytes(key: &mut &[u8]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        match split(key, 1)?[0] {
            0 if split(key, 1)?[0] == 0 => return Ok(bytes),
            byte => bytes.push(byte),
        }
    }
}

fn take_text(key: &mut &[u8]) -> Result<String> {
    String::from_utf8(take_bytes(key)?).map_err(|_| malformed("text is not UTF-8"))
}

macro_rules! variable {
    ($([$($generic:tt)*] $borrowed:ty => $part:ty;)*) => {$(
        impl<$($generic)*> PartOf<$part> for $borrowed {
            fn append(&self, key: &mut Vec<u8>) {
                append_bytes(self.as_ref(), key);
            }
        }
    )*};
}
variable! {
    [] Vec<u8> => Vec<u8>;
    [] [u8] => Vec<u8>;
    [] &[u8] => Vec<u8>;
    [] String => String;
    [] str => String;
    [] &str => String;
}

macro_rules! text {
    ($($borrowed:ty),*) => {$(
        impl<const N: usize> PartOf<Text<N>> for $borrowed {
            fn append(&self, key: &mut Vec<u8>) {
                let text: &str = self;
                append_bytes(text.as_bytes(), key);
            }
        }
    )*};
}
text!(Text<N>, String, str, &str);

impl Part for Vec<u8> {
    fn take(key: &mut &[u8]) -> Result<Self> {
        take_bytes(key)
    }
}

impl Part for String {
    fn take(key: &mut &[u8]) -> Result<Self> {
        take_text(key)
    }
}

impl<const N: usize> Part for Text<N> {
    fn take(key: &mut &[u8]) -> Result<Self> {
        Text::new(&take_text(key)?)
    }
}

impl<T, P: PartOf<T>> PartOf<Desc<T>> for Desc<P> {
    fn append(&self, key: &mut Vec<u8>) {
        let start = key.len();
        self.0.append(key);
        key[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

impl<T: Part> Part for Desc<T> {
    fn take(key: &mut &[u8]) -> Result<Self> {
        let turned: Vec<u8> = key.iter().map(|byte| !byte).collect();
        let mut rest = &turned[..];
        let part = T::take(&mut rest)?;
        *key = &key[key.len() - rest.len()..];
        Ok(Self(part))
    }
}
