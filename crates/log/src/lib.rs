//! The durable log: bytes to disk by epochs, and back.
//!
//! Value logging with group commit by epoch, as in SiloR (Zheng et al., OSDI 2014). Workers encode
//! what they commit into buffers of their own ([`Buffer`]); a few writers ([`LogWriter`]) drain them
//! into segment files; when all writers have synced through an epoch, that epoch is durable
//! ([`Log::durable`]). What a log means is not known here: keys, values and tables are bytes and
//! numbers, and the catalog in the [`Manifest`] is a blob.
//!
//! | to see | look into |
//! | --- | --- |
//! | the formats, byte by byte | `docs/format.md`; `codec`, `frame`, `entry`, `manifest`, `names` |
//! | from commit to disk | `buffer`, `shared`, `writer`, `segment` |
//! | checkpoint parts | `part` |
//! | what is durable, said elsewhere than in frames | `marks`, `claims`, `manifest` |
//! | from disk back | `read`, `inspect` |
//! | changes in the order of their commits | `feed`, `position`; what is kept for it: `kept` |
//!
//! Invariants:
//!
//! - a frame is written once, at the place that its checksum names, and nothing that was synced is
//!   ever written over, but with the same bytes, and in a file that has been given a new name and
//!   with it a new identity;
//! - a writer claims an epoch only after everything of it that is its to write is synced;
//! - how far each log is durable is noted in its head (`marks`) after the sync that made it so, never before;
//! - after the first failed write or sync a log claims nothing more, for ever: what a later sync
//!   would say about earlier writes is worth nothing.

mod buffer;
mod claims;
pub mod codec;
pub mod entry;
mod error;
mod faults;
mod feed;
pub mod frame;
mod inspect;
mod kept;
mod manifest;
mod marks;
#[cfg(test)]
mod models;
mod names;
mod part;
mod position;
mod read;
mod retired;
mod segment;
mod shared;
mod writer;

pub use buffer::{Buffer, BufferRef};
pub use claims::{Promise, newest_generation, read_marks};
pub use error::{LogError, Result};
pub use faults::FAULTS;
pub use feed::{ChangeReader, EpochChanges, Readable, Stopped, WriteOf};
pub use inspect::{Sought, Tail, tail};
pub use kept::{EndedLog, KeptLog};
pub use manifest::{CheckpointInfo, FORMAT_VERSION, Incarnation, Manifest};
pub use marks::{LogEnd, Mark};
pub use names::{MANIFEST_NAME, Name, SegmentId};
pub use part::{PartReader, PartWriter};
pub use position::{BadPosition, Position};
pub use read::{Damage, SegmentReader};
pub use retired::Retired;
pub use segment::Spares;
pub use shared::{Log, LogOptions};
pub use writer::{LogWriter, Stepped};
