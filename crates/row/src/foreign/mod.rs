//! Types of other crates as columns and parts of keys: each stands for values of one of our types ([`Plain`]), which has
//! the bytes and the order. So what one crate has written another one reads.
//!
//! | feature | types | column |
//! | --- | --- | --- |
//! | `uuid` | `Uuid` | `uuid` |
//! | `jiff` | `Timestamp`, `civil::Date`, `civil::Time`, `civil::DateTime` | `instant`, `date`, `time`, `tuple(date, time)` |
//! | `chrono` | `DateTime<Utc>`, `NaiveDate`, `NaiveTime`, `NaiveDateTime` | the same |
//! | `rust_decimal` | `Decimal` | `decimal` |

#[cfg(feature = "chrono")]
mod chrono;
#[cfg(feature = "rust_decimal")]
mod decimal;
#[cfg(feature = "jiff")]
mod jiff;
mod plain;
#[cfg(feature = "uuid")]
mod uuid;

pub use plain::{Date, Instant, Plain, Time};

use crate::BadValue;

/// A type of another crate that stands for values of a column type.
pub trait Foreign: Sized {
    /// The values.
    type Plain: Plain;

    /// The value that it stands for.
    fn to_plain(&self) -> Self::Plain;

    /// What stands for a value.
    ///
    /// # Errors
    /// When the type has nothing that does: a column may have more values than it.
    fn of_plain(plain: Self::Plain) -> Result<Self, BadValue>;
}

/// Makes types that are [`Foreign`] parts of keys: those of the values that they stand for.
macro_rules! parts_of_keys {
    ($($type:ty),*) => {$(
        impl $crate::key::KeyPart for $type {
            const BYTES_MAX: usize =
                <<$type as $crate::foreign::Foreign>::Plain as $crate::key::KeyPart>::BYTES_MAX;
            type Decoded = Self;

            #[inline]
            fn write<S: $crate::key::Sink>(&self, sink: &mut S) {
                let plain = $crate::foreign::Foreign::to_plain(self);
                $crate::key::KeyPart::write(&plain, sink);
            }

            #[inline]
            fn read(
                source: &mut $crate::key::Source<'_>,
            ) -> Result<Self, $crate::key::BadKey> {
                type Plain = <$type as $crate::foreign::Foreign>::Plain;
                let plain = <Plain as $crate::key::KeyPart>::read(source)?;
                $crate::foreign::Foreign::of_plain(plain).map_err(|_| $crate::key::BadKey)
            }
        }
    )*};
}
use parts_of_keys;
