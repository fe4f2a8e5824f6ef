//! The parts of keys, encoded as the engine encodes them.

use crate::{Text, Typed};
use chiliad_engine::key::{BadKey, Desc, KeyPart, Sink, Source};
use core::time::Duration;
use std::net::IpAddr;
use std::time::SystemTime;

/// One part of a key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key part",
    note = "key parts are numbers, `bool`, `char`, `String`, `Vec<u8>`, arrays, `Text<N>`, times and addresses, types with \
            `#[derive(chiliad::Stored)]` of such, `Option` and `Desc` of them"
)]
pub trait Part: PartOf<Self> + KeyPart<Decoded = Self> + Typed + Sized {}

impl<T: PartOf<T> + KeyPart<Decoded = T> + Typed> Part for T {}

/// A value that stands for a key part of type `T`: the part itself, or a borrowed form of it.
///
/// A type of the application's own becomes a key part by implementing this, [`KeyPart`] and [`Typed`]:
///
/// ```
/// use chiliad::key::{BadKey, KeyPart, Sink, Source};
/// use chiliad::{ColumnType, Database, PartOf, Table, Typed};
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
#[diagnostic::on_unimplemented(message = "`{Self}` does not stand for a key part of type `{T}`")]
pub trait PartOf<T>: KeyPart {}

macro_rules! stand_for {
    ($([$($generics:tt)*] $part:ty: $borrowed:ty;)*) => {$(
        impl<$($generics)*> PartOf<$part> for $borrowed {}
    )*};
}
stand_for! {
    [] u8: u8;
    [] u16: u16;
    [] u32: u32;
    [] u64: u64;
    [] u128: u128;
    [] i8: i8;
    [] i16: i16;
    [] i32: i32;
    [] i64: i64;
    [] i128: i128;
    [] bool: bool;
    [] f32: f32;
    [] f64: f64;
    [] char: char;
    [] (): ();
    [] Duration: Duration;
    [] SystemTime: SystemTime;
    [] IpAddr: IpAddr;
    [T, P: PartOf<T>, const N: usize] [T; N]: [P; N];
    [] Vec<u8>: Vec<u8>;
    [] Vec<u8>: [u8];
    [] Vec<u8>: &[u8];
    [] String: String;
    [] String: str;
    [] String: &str;
    [const N: usize] Text<N>: Text<N>;
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

    fn read(source: &mut Source<'_>) -> Result<Self, BadKey> {
        Self::new(&str::read(source)?).map_err(|_| BadKey)
    }
}
