//! Primary keys: values whose encoded bytes sort as the values do.
//!
//! A key is one [`Part`], or a tuple or derived struct of parts, compared from the first to the
//! last. [`Lookup`] lets a borrowed value stand for an owned one in a look-up (`"ann"` for a
//! `String`), and [`Prefix`] names the leading parts of a composite key.

mod part;
mod tuple;

pub use chiliad_engine::key::{BadKey, Desc, KeyPart, Sink, Source};
#[allow(unused_imports, reason = "for the types of other crates, which features bring")]
pub(crate) use part::parts;
#[doc(hidden)]
pub use part::{Calls, calls};
pub use part::{Part, PartOf};

use crate::error::malformed;
use crate::{Column, Error, Result};

/// A type that can be the primary key of a table.
///
/// These are keys: numbers, `bool`, `char`, `String`, `Vec<u8>`, arrays, [`Text`](crate::Text), `Duration`, `SystemTime`,
/// `IpAddr`, the types of `uuid`, `jiff`, `chrono` and `rust_decimal` [by their features](crate#types-of-other-crates), enums
/// and structs with `#[derive(Stored)]` of such, an `Option` of them, any of them in reverse order ([`Desc`]), tuples of up to
/// six of them, and structs of them with the derive macro:
///
/// ```
/// use chiliad::{Database, Key, Table};
///
/// #[derive(Key, Clone, Debug, PartialEq)]
/// struct Seat {
///     flight: u32,
///     row: u8,
///     place: String,
/// }
///
/// let db = Database::in_memory()?;
/// let seats: Table<Seat, u64> = db.create_table("seats")?;
/// db.run(|tx| {
///     tx.insert(&seats, &Seat { flight: 9, row: 2, place: "A".into() }, &1)?;
///     tx.insert(&seats, &Seat { flight: 9, row: 1, place: "F".into() }, &2)?;
///     tx.insert(&seats, &Seat { flight: 8, row: 7, place: "C".into() }, &3)?;
///     let flight = tx.scan_prefix(&seats, &(9,)).rows()?;
///     assert_eq!(flight[0].0, Seat { flight: 9, row: 1, place: "F".into() });
///     assert_eq!(flight.len(), 2);
///     Ok(())
/// })?;
/// # Ok::<(), chiliad::Error>(())
/// ```
///
/// A field that is no key part does not compile:
///
/// ```compile_fail
/// #[derive(chiliad::Key)]
/// struct Tagged {
///     tags: Vec<String>,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key",
    note = "keys are numbers, `bool`, `char`, `String`, `Vec<u8>`, arrays, `Text<N>`, `Option`, times and addresses, types \
            with `#[derive(chiliad::Stored)]` of such, tuples of them and structs with `#[derive(chiliad::Key)]`; with the \
            features `uuid`, `jiff`, `chrono` and `rust_decimal` their types"
)]
pub trait Key: Lookup<Self> + Sized {
    /// Its columns, most significant first: what the catalog keeps of the type. A table is opened only
    /// with a key type that has the same columns as the one that it was created with.
    #[must_use]
    fn columns() -> Vec<Column>;

    /// The key that the bytes stand for.
    ///
    /// # Errors
    /// When they stand for none of this type.
    fn decode(key: &[u8]) -> Result<Self>;
}

/// A value that stands for a key of type `K` in a look-up: the key itself, or one with `&str` in
/// place of `String` or `Text`, and `&[u8]` in place of `Vec<u8>`.
#[diagnostic::on_unimplemented(message = "`{Self}` does not stand for a key of type `{K}`")]
pub trait Lookup<K> {
    /// Appends the encoded key.
    fn encode(&self, key: &mut Vec<u8>);
}

/// A tuple that stands for the leading parts of a composite key of type `K`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a prefix of a key of type `{K}`",
    note = "a prefix is a tuple of the key's leading parts: `(part,)` for the first one alone"
)]
pub trait Prefix<K> {
    /// Appends the encoded parts.
    fn encode_prefix(&self, key: &mut Vec<u8>);
}

impl<T: Part> Key for T {
    fn columns() -> Vec<Column> {
        vec![Column::new("0", T::column_type())]
    }

    fn decode(key: &[u8]) -> Result<Self> {
        decode::<T>(key)
    }
}

impl<T: Part, P: PartOf<T> + ?Sized> Lookup<T> for P {
    fn encode(&self, key: &mut Vec<u8>) {
        self.write(key);
    }
}

/// The number of a column of type `T` as a part of an index, which takes a type that has an order in keys. For the derive
/// macro.
#[must_use]
pub const fn in_keys<T: Part>(number: u32) -> u32 {
    number
}

/// Decodes a whole key.
fn decode<T: KeyPart>(key: &[u8]) -> Result<T::Decoded> {
    chiliad_engine::key::decode::<T>(key).map_err(|_| other_parts())
}

/// Refuses what is left of a key after its parts. For the derive macro.
///
/// # Errors
/// When there is something.
pub fn end(source: &Source<'_>) -> Result<()> {
    if source.is_empty() { Ok(()) } else { Err(other_parts()) }
}

#[cold]
fn other_parts() -> Error {
    malformed("a key of other parts, or of values that its type does not have")
}

#[cfg(test)]
mod tests {
    use super::{Desc, Key, Lookup, Prefix};
    use crate::Text;
    use core::fmt::Debug;

    fn encoded<K: Key>(key: &K) -> Vec<u8> {
        let mut bytes = Vec::new();
        key.encode(&mut bytes);
        bytes
    }

    /// The keys, given in order, come back, and their encodings are in the same order.
    fn in_order<K: Key + PartialEq + Debug>(keys: &[K]) {
        for key in keys {
            assert_eq!(&K::decode(&encoded(key)).unwrap(), key);
        }
        for pair in keys.windows(2) {
            assert!(encoded(&pair[0]) < encoded(&pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn parts_keep_their_order() {
        in_order(&[0u8, 1, 255]);
        in_order(&[0u64, 1, 255, 256, 1 << 40, u64::MAX]);
        in_order(&[i32::MIN, -300, -1, 0, 1, 300, i32::MAX]);
        in_order(&[false, true]);
        in_order(&[None, Some(0u16), Some(9)]);
        in_order(&["", "\0", "\0\0", "\0a", "a", "a\0", "a\0b", "aa", "b"].map(String::from));
        in_order(&[vec![], vec![0], vec![0, 0xff], vec![1], vec![0xff], vec![0xff, 0xff]]);
        in_order(&[[0u8, 9], [1, 0]]);
        in_order(&["", "a", "aa", "b"].map(|text| Text::<3>::new(text).unwrap()));
        in_order(&[Desc(5u32), Desc(4), Desc(0)]);
        in_order(&["b", "aa", "a", ""].map(|text| Desc(String::from(text))));
    }

    #[test]
    fn tuples_compare_part_by_part() {
        in_order(&[
            (String::from("a"), 9u32),
            (String::from("a\0"), 0),
            (String::from("aa"), 0),
            (String::from("b"), 0),
            (String::from("b"), 1),
        ]);
        in_order(&[
            (1u8, Desc(String::from("b")), true),
            (1, Desc(String::from("a")), false),
            (1, Desc(String::new()), false),
            (2, Desc(String::from("z")), false),
        ]);
    }

    #[test]
    fn borrowed_values_stand_for_owned_ones() {
        let owned = encoded(&(String::from("ann"), Text::<4>::new("x").unwrap(), 7u16));
        let mut borrowed = Vec::new();
        Lookup::<(String, Text<4>, u16)>::encode(&("ann", "x", 7), &mut borrowed);
        assert_eq!(owned, borrowed);
    }

    #[test]
    fn prefixes_are_prefixes() {
        let whole = encoded(&(3u16, Desc(String::from("ann")), 7u16));
        for prefix in [
            {
                let mut key = Vec::new();
                Prefix::<(u16, Desc<String>, u16)>::encode_prefix(&(3,), &mut key);
                key
            },
            {
                let mut key = Vec::new();
                Prefix::<(u16, Desc<String>, u16)>::encode_prefix(&(3, Desc("ann")), &mut key);
                key
            },
        ] {
            assert!(whole.starts_with(&prefix));
        }
    }

    #[test]
    fn foreign_bytes_are_refused() {
        assert!(u32::decode(&[1, 2, 3]).is_err());
        assert!(u32::decode(&[1, 2, 3, 4, 5]).is_err());
        assert!(String::decode(b"abc").is_err());
        assert!(Text::<2>::decode(&encoded(&String::from("abc"))).is_err());
        assert!(<(u8, u8)>::decode(&[1]).is_err());
        assert!(bool::decode(&[7]).is_err());
    }
}
