//! All that the derive macros ask of the type of a field.

use super::places::{BodyReader, BodyWriter, ColumnShape};
use super::{BadValue, Stored, ValueSource};
use crate::{ColumnType, Error};
use chiliad_api::row::Place;

/// The calls of a type.
#[derive(Clone, Copy)]
pub struct Calls<T> {
    /// Its column type.
    pub column_type: fn() -> ColumnType,
    /// Bytes of a value within another one, where they are always as many.
    pub value_bytes: Option<usize>,
    /// What the place of a column depends on.
    pub shape: ColumnShape,
    /// Appends a value within another one.
    pub write: fn(&T, &mut Vec<u8>),
    /// Takes a value from within another one.
    pub read: fn(&mut ValueSource<'_>) -> Result<T, BadValue>,
    /// Writes a column.
    pub put: fn(&mut BodyWriter<'_>, Place, &T),
    /// Reads a column.
    pub get: fn(&BodyReader<'_>, Place, &'static str) -> Result<T, Error>,
}

/// The calls of a type. The derive macros reach a type by this function alone: of a field whose type is no column the
/// compiler then says one thing, however often it is met, and at the field. It sees through the pointers, which are constant.
#[must_use]
#[inline(always)]
pub const fn calls<T: Stored>() -> Calls<T> {
    Calls {
        column_type: T::column_type,
        value_bytes: T::VALUE_BYTES,
        shape: ColumnShape::of::<T>(),
        write: T::write_value,
        read: T::read_value,
        put,
        get,
    }
}

/// Inlined, as [`get`] is: a place is constant, and what is left of it then is a store.
#[inline(always)]
fn put<T: Stored>(body: &mut BodyWriter<'_>, place: Place, value: &T) {
    body.put(place, value);
}

#[inline(always)]
fn get<T: Stored>(body: &BodyReader<'_>, place: Place, name: &'static str) -> Result<T, Error> {
    body.get(place, name)
}
