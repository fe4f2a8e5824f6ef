//! The schemes, and what they share. Each is compiled if its Cargo feature is on, as its row in `list.rs` says.

#[cfg(test)]
mod alone;
#[cfg(feature = "central-lock")]
mod central_lock;
mod list;
pub mod names;
#[cfg(feature = "occ")]
mod occ;
#[cfg(feature = "occ")]
mod occ_serial;
#[cfg(feature = "partition")]
mod partition;
mod parts;
#[cfg(feature = "silo")]
mod silo;
#[cfg(feature = "timestamp")]
mod timestamp;
#[cfg(feature = "two-phase")]
mod two_phase;

pub use list::SchemeName;

use chiliad_machine::Fault;
use list::for_each_scheme;

macro_rules! export {
    ($($family:ident, $feature:literal { $($(#[$meta:meta])* $scheme:ident: $info:expr;)* })*) => {
        $(#[cfg(feature = $feature)] pub use $family::{$($scheme),*};)*

        /// The planted bugs of all schemes.
        pub(crate) fn faults() -> impl Iterator<Item = &'static Fault> {
            let shared = [
                parts::min_insert_tid::FAULTS,
                parts::versioned_read::FAULTS,
                parts::install::FAULTS,
                parts::oldest_active::FAULTS,
            ];
            let own = vec![$(#[cfg(feature = $feature)] $family::FAULTS),*];
            shared.into_iter().chain(own).flatten().copied()
        }
    };
}

for_each_scheme!(export);
