//! The catalog's names for the types of keys and rows.

use crate::ColumnType;
use crate::key::Desc;

/// A type that columns can have: what the catalog keeps of it, so that a table is not opened with
/// another one.
///
/// Two types whose values are different bytes, or mean something different by them, must not be equal
/// here. A type of the application's own gets a name of its own ([`ColumnType::custom`]); one that
/// returns the type it is made of can be exchanged for it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no name in the catalog",
    note = "types of the application's own implement `chiliad::Typed`"
)]
pub trait Typed {
    /// The catalog's name for it.
    #[must_use]
    fn column_type() -> ColumnType;
}

macro_rules! typed {
    ($($type:ty: $column_type:expr;)*) => {$(
        impl Typed for $type {
            fn column_type() -> ColumnType {
                $column_type
            }
        }
    )*};
}
typed! {
    bool: ColumnType::Bool;
    u8: ColumnType::Unsigned(8);
    u16: ColumnType::Unsigned(16);
    u32: ColumnType::Unsigned(32);
    u64: ColumnType::Unsigned(64);
    u128: ColumnType::Unsigned(128);
    i8: ColumnType::Signed(8);
    i16: ColumnType::Signed(16);
    i32: ColumnType::Signed(32);
    i64: ColumnType::Signed(64);
    i128: ColumnType::Signed(128);
    f32: ColumnType::Float(32);
    f64: ColumnType::Float(64);
    String: ColumnType::String;
}

/// A length as the catalog has it: no value is as long as the greatest.
pub(crate) const fn length(bytes: usize) -> u32 {
    if bytes > u32::MAX as usize { u32::MAX } else { bytes as u32 }
}

impl<T: Typed> Typed for Option<T> {
    fn column_type() -> ColumnType {
        T::column_type().optional()
    }
}

impl<T: Typed> Typed for Desc<T> {
    fn column_type() -> ColumnType {
        T::column_type().descending()
    }
}
