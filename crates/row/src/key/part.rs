//! How each type is encoded.

use super::{BadKey, Source};
use core::cmp::Reverse;

/// Where an encoding goes.
pub trait Sink {
    /// Appends `bytes`.
    fn put<const N: usize>(&mut self, bytes: [u8; N]);
}

/// A part of a key. See [the module](super) for the encodings and their invariant, which
/// implementations elsewhere keep too.
pub trait KeyPart {
    /// The longest encoding; `usize::MAX` where there is no bound.
    const BYTES_MAX: usize;
    /// The result of decoding: the owned form of the type.
    type Decoded;
    /// Appends the encoding.
    fn write<S: Sink>(&self, sink: &mut S);
    /// Decodes the value at the head of `source`.
    ///
    /// # Errors
    /// When there is none.
    fn read(source: &mut Source<'_>) -> Result<Self::Decoded, BadKey>;
}

macro_rules! integers {
    ($($unsigned:ty, $signed:ty;)*) => {$(
        impl KeyPart for $unsigned {
            const BYTES_MAX: usize = size_of::<Self>();
            type Decoded = Self;
            #[inline]
            fn write<S: Sink>(&self, sink: &mut S) {
                sink.put(self.to_be_bytes());
            }
            #[inline]
            fn read(source: &mut Source<'_>) -> Result<Self, BadKey> {
                source.take().map(Self::from_be_bytes)
            }
        }

        impl KeyPart for $signed {
            const BYTES_MAX: usize = size_of::<Self>();
            type Decoded = Self;
            #[inline]
            fn write<S: Sink>(&self, sink: &mut S) {
                sink.put((*self ^ Self::MIN).to_be_bytes());
            }
            #[inline]
            fn read(source: &mut Source<'_>) -> Result<Self, BadKey> {
                source.take().map(|bytes| Self::from_be_bytes(bytes) ^ Self::MIN)
            }
        }
    )*};
}

integers! { u8, i8; u16, i16; u32, i32; u64, i64; u128, i128; }

impl KeyPart for bool {
    const BYTES_MAX: usize = 1;
    type Decoded = Self;
    #[inline]
    fn write<S: Sink>(&self, sink: &mut S) {
        sink.put([u8::from(*self)]);
    }
    fn read(source: &mut Source<'_>) -> Result<Self, BadKey> {
        match source.take()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(BadKey),
        }
    }
}

/// Their items in order; of bytes, the bytes.
impl<T: KeyPart, const N: usize> KeyPart for [T; N] {
    const BYTES_MAX: usize = T::BYTES_MAX.saturating_mul(N);
    type Decoded = [T::Decoded; N];
    #[inline]
    fn write<S: Sink>(&self, sink: &mut S) {
        self.iter().for_each(|item| item.write(sink));
    }
    #[inline]
    fn read(source: &mut Source<'_>) -> Result<Self::Decoded, BadKey> {
        let items = (0..N).map(|_| T::read(source)).collect::<Result<Vec<_>, _>>()?;
        items.try_into().map_err(|_| BadKey)
    }
}

/// Ends a byte string; the least byte, so that a string comes before its continuations.
const END: u8 = 0;
/// Comes before what stands for a byte that is [`END`] or itself.
const ESCAPE: u8 = 1;
const ESCAPED_END: u8 = 1;
const ESCAPED_ESCAPE: u8 = 2;

fn write_string<S: Sink>(bytes: &[u8], sink: &mut S) {
    for &byte in bytes {
        match byte {
            END => sink.put([ESCAPE, ESCAPED_END]),
            ESCAPE => sink.put([ESCAPE, ESCAPED_ESCAPE]),
            _ => sink.put([byte]),
        }
    }
    sink.put([END]);
}

fn read_string(source: &mut Source<'_>) -> Result<Vec<u8>, BadKey> {
    let mut bytes = Vec::new();
    loop {
        bytes.push(match source.take()? {
            [END] => return Ok(bytes),
            [ESCAPE] => match source.take()? {
                [ESCAPED_END] => END,
                [ESCAPED_ESCAPE] => ESCAPE,
                _ => return Err(BadKey),
            },
            [byte] => byte,
        });
    }
}

impl KeyPart for [u8] {
    const BYTES_MAX: usize = usize::MAX;
    type Decoded = Vec<u8>;
    fn write<S: Sink>(&self, sink: &mut S) {
        write_string(self, sink);
    }
    fn read(source: &mut Source<'_>) -> Result<Vec<u8>, BadKey> {
        read_string(source)
    }
}

impl KeyPart for str {
    const BYTES_MAX: usize = usize::MAX;
    type Decoded = String;
    fn write<S: Sink>(&self, sink: &mut S) {
        write_string(self.as_bytes(), sink);
    }
    fn read(source: &mut Source<'_>) -> Result<String, BadKey> {
        String::from_utf8(read_string(source)?).map_err(|_| BadKey)
    }
}

/// Types that encode as another one does.
macro_rules! like {
    ($([$($generics:tt)*] $type:ty, $as:ty;)*) => {$(
        impl<$($generics)*> KeyPart for $type {
            const BYTES_MAX: usize = <$as>::BYTES_MAX;
            type Decoded = <$as as KeyPart>::Decoded;
            #[inline]
            fn write<S: Sink>(&self, sink: &mut S) {
                <$as>::write(self, sink);
            }
            #[inline]
            fn read(source: &mut Source<'_>) -> Result<Self::Decoded, BadKey> {
                <$as>::read(source)
            }
        }
    )*};
}

like! { [T: KeyPart + ?Sized] &T, T; [] String, str; [] Vec<u8>, [u8]; }

impl<T: KeyPart> KeyPart for Option<T> {
    const BYTES_MAX: usize = T::BYTES_MAX.saturating_add(1);
    type Decoded = Option<T::Decoded>;
    #[inline]
    fn write<S: Sink>(&self, sink: &mut S) {
        self.is_some().write(sink);
        if let Some(value) = self {
            value.write(sink);
        }
    }
    fn read(source: &mut Source<'_>) -> Result<Self::Decoded, BadKey> {
        if bool::read(source)? { T::read(source).map(Some) } else { Ok(None) }
    }
}

/// A part in descending order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Desc<T>(pub T);

impl<T: Ord> PartialOrd for Desc<T> {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> Ord for Desc<T> {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        Reverse(&self.0).cmp(&Reverse(&other.0))
    }
}

/// Complements what goes through it.
struct Complement<'a, S>(&'a mut S);

impl<S: Sink> Sink for Complement<'_, S> {
    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.0.put(bytes.map(|byte| !byte));
    }
}

impl<T: KeyPart> KeyPart for Desc<T> {
    const BYTES_MAX: usize = T::BYTES_MAX;
    type Decoded = Desc<T::Decoded>;
    #[inline]
    fn write<S: Sink>(&self, sink: &mut S) {
        self.0.write(&mut Complement(sink));
    }
    #[inline]
    fn read(source: &mut Source<'_>) -> Result<Self::Decoded, BadKey> {
        source.complemented(T::read).map(Desc)
    }
}

macro_rules! tuples {
    ($(($($part:ident $at:tt),*))*) => {$(
        impl<$($part: KeyPart),*> KeyPart for ($($part,)*) {
            const BYTES_MAX: usize = 0_usize$(.saturating_add($part::BYTES_MAX))*;
            type Decoded = ($($part::Decoded,)*);
            #[inline]
            fn write<S: Sink>(&self, sink: &mut S) {
                $(self.$at.write(sink);)*
            }
            #[inline]
            fn read(source: &mut Source<'_>) -> Result<Self::Decoded, BadKey> {
                Ok(($($part::read(source)?,)*))
            }
        }
    )*};
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}
