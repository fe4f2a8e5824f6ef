//! The column that says until when a row is there.

use crate::Result;
#[cfg(any(feature = "chrono", feature = "jiff"))]
use chiliad_api::row::{
    foreign::{self, Foreign},
    parts,
};
use std::time::SystemTime;

/// A column that can say until when its row is there: what `#[row(expires = "column")]` asks of it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say when a row expires",
    note = "the column is a `SystemTime`, or with their features a `jiff::Timestamp` or a `chrono::DateTime<Utc>`, or an `Option` \
            of one"
)]
pub trait Expires {
    /// The instant from which on the row is absent; `None`: it stays.
    fn instant(&self) -> Option<SystemTime>;
}

macro_rules! expires {
    ($($type:ty: $instant:expr;)*) => {$(
        impl Expires for $type {
            fn instant(&self) -> Option<SystemTime> {
                $instant(self)
            }
        }

        impl Expires for Option<$type> {
            fn instant(&self) -> Option<SystemTime> {
                self.as_ref().and_then($instant)
            }
        }
    )*};
}
expires! { SystemTime: |instant: &SystemTime| Some(*instant); }
#[cfg(feature = "jiff")]
expires! { jiff::Timestamp: of_foreign; }
#[cfg(feature = "chrono")]
expires! { chrono::DateTime<chrono::Utc>: of_foreign; }

/// The instant of another crate's type. One that the system does not have is further than any at which a row is looked at.
#[cfg(any(feature = "chrono", feature = "jiff"))]
fn of_foreign<T>(instant: &T) -> Option<SystemTime>
where
    T: Foreign<Plain = foreign::Instant>,
{
    let instant = instant.to_plain();
    parts::to_instant(instant.seconds(), instant.nanoseconds()).ok()
}

/// The column of a row type that says when rows expire: its place, and how it is read from the body of a row. For the
/// derive macro.
#[derive(Clone, Copy, Debug)]
pub struct Expiry {
    place: usize,
    read: fn(&[u8]) -> Result<Option<SystemTime>>,
}

impl Expiry {
    /// The column at `place`, which `read` reads.
    #[must_use]
    pub const fn of(place: usize, read: fn(&[u8]) -> Result<Option<SystemTime>>) -> Self {
        Self { place, read }
    }

    /// The place of the column.
    #[must_use]
    pub const fn place(self) -> usize {
        self.place
    }
}

impl Expiry {
    /// The instant from which on the row of a body is absent; `None`: it stays.
    pub(crate) fn of_body(self, body: &[u8]) -> Result<Option<SystemTime>> {
        (self.read)(body)
    }
}
