//! Records in memory and the indexes that find them.
//!
//! This room knows no scheme, no transaction and no log: it is generic over the machine only. What
//! it offers the engine above:
//!
//! - [`Heap`] and [`LocalHeap`]: slots of memory in size classes, type-stable where a transaction
//!   may look at them again after its pin has ended, reclaimed by epochs;
//! - [`RecordRef`]: a record, that is the header a scheme owns, a length and the payload words;
//! - [`OrderedIndex`] (a Masstree) and [`HashIndex`], whose leaves and buckets carry a [`Guard`]
//!   each, so that a scheme can protect what is *not* there;

mod budget;
mod chunks;
mod classes;
mod guard;
mod heap;
pub mod index;
mod limbo;
mod mates;
mod pool;
mod record;
mod segments;
mod slots;
mod sparse;
mod supply;

pub use budget::OutOfMemory;
pub use classes::{SCHEME_WORDS_MAX, slot_bytes_for};
pub use guard::{Guard, Header, Seen};
pub use heap::{FAULTS, Heap, Home, Kind, LocalHeap, Usage};
pub use index::{
    Change, Changes, Cursor, Direction, Finger, Found, HashIndex, Hooks, Index, IndexMemory,
    LookupBatch, Measuring, Teardown,
};
pub use index::{Inserted, KEY_BYTES_MAX, LeafRun, NoHooks, OrderedIndex, Probe, Run};
pub use record::{Record, RecordRef, VALUE_BYTES_MAX};
pub use segments::{Plan as SegmentPlan, SEGMENT_FREED_EARLY, Segments};
pub use slots::{Slot, Slots, WORKERS_MAX};
pub use sparse::Kept;
pub use supply::Supply;
