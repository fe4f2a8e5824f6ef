//! The parts of keys, encoded as the engine encodes them.

use super::other_parts;
use crate::{ColumnType, Result, Stored, Text, Typed};
use chiliad_engine::key::{BadKey, Desc, KeyPart, Sink, Source};
use core::time::Duration;
use std::net::IpAddr;
use std::time::SystemTime;

/// One part of a key.
///
/// A type of the application's own becomes one by implementing this, [`PartOf`] itself, [`KeyPart`] and [`Typed`]:
///
/// ```
/// use chiliad::key::{BadKey, KeyPart, Sink, Source};
/// use chiliad::{ColumnType, Database, Part, PartOf, Table, Typed};
///
/// #[derive(Debug, PartialEq)]
/// struct Sku(u32);
///
/// impl KeyPart for Sku {
///     const BYTES_MAX: usize = u32::BYTES_MAX;
///     type Decoded = Self;
///     fn write<S: Sink>(&self, sink: &mut S) {
///         self.0.write(sink);
///     }
///     fn read(source: &mut Source<'_>) -> Result<Self, BadKey> {
///         u32::read(source).map(Sku)
///     }
/// }
/// impl Part for Sku {}
/// impl PartOf<Sku> for Sku {}
/// impl Typed for Sku {
///     fn column_type() -> ColumnType {
///         ColumnType::custom("sku", Some(4))
///     }
/// }
///
/// let db = Database::in_memory()?;
/// let stock: Table<(u16, Sku), u64> = db.create_table("stock")?;
/// db.run(|tx| tx.insert(&stock, &(1, Sku(7)), &12))?;
/// # Ok::<(), chiliad::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key part",
    note = "key parts are numbers, `bool`, `char`, `String`, `Vec<u8>`, arrays, `Text<N>`, times and addresses, types with \
            `#[derive(chiliad::Stored)]` of such, `Option` and `Desc` of them; with the features `uuid`, `jiff`, `chrono` and \
            `rust_decimal` their types"
)]
pub trait Part: PartOf<Self> + KeyPart<Decoded = Self> + Typed + Sized {}

/// All that the derive macro asks of the type of a field.
#[derive(Clone, Copy)]
pub struct Calls<T> {
    /// Its column type.
    pub column_type: fn() -> ColumnType,
    /// Appends an encoded part.
    pub write: fn(&T, &mut Vec<u8>),
    /// Takes a part from the head of a key.
    pub read: fn(&mut Source<'_>) -> Result<T>,
}

/// The calls of a type. The derive macro reaches a type by this function alone, so that one that is no key part is one
/// error, at the field. The compiler sees through the pointers.
#[must_use]
#[inline(always)]
pub const fn calls<T: Part>() -> Calls<T> {
    Calls {
        column_type: T::column_type,
        write: |part, key| part.write(key),
        read: |source| T::read(source).map_err(|_| other_parts()),
    }
}

/// A value that stands for a key part of type `T`: the part itself, or a borrowed form of it.
#[diagnostic::on_unimplemented(message = "`{Self}` does not stand for a key part of type `{T}`")]
pub trait PartOf<T>: KeyPart {}

/// Key parts that stand for themselves.
macro_rules! parts {
    ($([$($generics:tt)*] $part:ty;)*) => {$(
        impl<$($generics)*> $crate::Part for $part {}
        impl<$($generics)*> $crate::PartOf<$part> for $part {}
    )*};
}
#[allow(unused_imports, reason = "for the types of other crates, which features bring")]
pub(crate) use parts;

parts! {
    [] u8;
    [] u16;
    [] u32;
    [] u64;
    [] u128;
    [] i8;
    [] i16;
    [] i32;
    [] i64;
    [] i128;
    [] bool;
    [] f32;
    [] f64;
    [] char;
    [] ();
    [] Duration;
    [] SystemTime;
    [] IpAddr;
    [] Vec<u8>;
    [] String;
    [const N: usize] Text<N>;
}

impl<T: Part + Stored, const N: usize> Part for [T; N] {}
impl<T: Part> Part for Option<T> {}
impl<T: Part> Part for Desc<T> {}

/// Values that stand for a part of another type, or are made of such.
macro_rules! stand_for {
    ($([$($generics:tt)*] $part:ty: $borrowed:ty;)*) => {$(
        impl<$($generics)*> PartOf<$part> for $borrowed {}
    )*};
}
stand_for! {
    [T, P: PartOf<T>, const N: usize] [T; N]: [P; N];
    [] Vec<u8>: [u8];
    [] Vec<u8>: &[u8];
    [] String: str;
    [] String: &str;
    [const N: usize] Text<N>: String;
    [const N: usize] Text<N>: str;
    [const N: usize] Text<N>: &str;
    [T, P: PartOf<T>] Option<T>: Option<P>;
    [T, P: PartOf<T>] Desc<T>: Desc<P>;
}

impl<const N: usize> KeyPart for Text<N> {
    /// Each byte may need two, and one ends them.
    const BYTES_MAX: usize = 2 * N + 1;
    type Decoded = Self;

    fn write<S: Sink>(&self, sink: &mut S) {
        self.as_str().write(sink);
    }

    fn read(source: &mut Source<'_>) -> core::result::Result<Self, BadKey> {
        Self::new(&str::read(source)?).map_err(|_| BadKey)
    }
}
