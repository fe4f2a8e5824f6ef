//! The types of other crates as columns: the bytes are those of the values that they stand for.

use super::Stored;
use super::whole::whole;
use crate::key::parts;
use crate::{ColumnType, Typed};
use chiliad_api::row::foreign::{Foreign, Plain};
use chiliad_api::row::{BadValue, ValueSource};

macro_rules! columns {
    ($($type:ty),*) => {$(
        impl Typed for $type {
            fn column_type() -> ColumnType {
                <<Self as Foreign>::Plain as Plain>::column_type()
            }
        }

        impl Stored for $type {
            const VALUE_BYTES: Option<usize> =
                Some(<<Self as Foreign>::Plain as Plain>::VALUE_BYTES);

            #[inline]
            fn write_value(&self, out: &mut Vec<u8>) {
                Plain::write_value(&self.to_plain(), out);
            }

            #[inline]
            fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue> {
                Self::of_plain(Plain::read_value(source)?)
            }
        }

        parts! { [] $type; }
        whole! { [] $type; }
    )*};
}

#[cfg(feature = "uuid")]
columns!(uuid::Uuid);
#[cfg(feature = "jiff")]
columns!(jiff::Timestamp, jiff::civil::Date, jiff::civil::Time, jiff::civil::DateTime);
#[cfg(feature = "chrono")]
columns!(
    chrono::DateTime<chrono::Utc>,
    chrono::NaiveDate,
    chrono::NaiveTime,
    chrono::NaiveDateTime
);
#[cfg(feature = "rust_decimal")]
columns!(rust_decimal::Decimal);
