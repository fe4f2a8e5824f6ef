//! From slots to bytes, in the order of timestamps.
//!
//! ```text
//!   bytes of the entry (4 bytes) | timestamp (8) | entry | checksum of all that (8)
//! ```

use super::area::TaskLog;
use super::faults;
use crate::memory::Memory;
use crate::record::Place;
use crate::tasks::Bodies;
use chiliad_machine::tasks::LinePool;
use chiliad_machine::{Line, Machine, Ordering, Tagged};
use chiliad_machine::{Link as _, Word as _};

/// Bytes of a record before its entry, and after it.
pub(super) const HEAD_BYTES: usize = 12;
pub(super) const CHECK_BYTES: usize = 8;

impl<M: Machine, G> Bodies<'_, M, G> {
    /// Drains a log of these bodies: appends its entries with timestamps below `passed` to `target`, in order, and frees
    /// their slots. Whoever drains runs beside the cores: virtual time has passed these entries, so no task touches them.
    pub fn drain(&self, log: &TaskLog<M>, passed: u64, target: &mut Vec<u8>) {
        log.drain(self.pool(), passed, target);
    }
}

impl<M: Machine> TaskLog<M> {
    fn drain(&self, pool: &LinePool<M>, passed: u64, target: &mut Vec<u8>) {
        let early = M::fault(&faults::EARLY);
        let taken = |Line(slot): &Line<_>| -> u64 { taken::<M>(slot) };
        let slots = (0..self.slots.count()).map(|at| (taken(self.slots.get(at)), at));
        let mut due: Vec<(u64, usize)> =
            slots.filter(|&(taken, _)| taken != 0 && (taken <= passed || early)).collect();
        if !M::fault(&faults::UNSORTED) {
            due.sort_unstable();
        }
        for (taken, at) in due {
            let Line(slot) = self.slots.get(at);
            let entry = Place::from_pointer(slot.entry.load(Ordering::Relaxed).pointer());
            let from = target.len();
            let bytes = entry.map_or(0, Place::value_bytes);
            target.extend_from_slice(&(bytes as u32).to_le_bytes());
            target.extend_from_slice(&(taken - 1).to_le_bytes());
            target.resize(target.len() + bytes, 0);
            if let Some(entry) = entry {
                let is_read = entry.read(0, &mut target[from + HEAD_BYTES..]);
                debug_assert!(is_read.is_some(), "the whole entry");
            }
            let check = checksum(&target[from..]);
            target.extend_from_slice(&check.to_le_bytes());
            // The planted bug leaves to tasks what is theirs.
            if taken > passed {
                continue;
            }
            if let Some(entry) = entry {
                slot.entry.store(Tagged::null(), Ordering::Relaxed);
                // SAFETY: the slot led to it, and does no more. The line in which its maker left it is read by one task, which
                // virtual time has passed.
                unsafe { entry.free(&Memory(pool)) };
            }
            slot.taken.store(0, Ordering::Relaxed);
        }
    }
}

fn taken<M: Machine>(slot: &super::area::Slot<M>) -> u64 {
    slot.taken.load(Ordering::Relaxed)
}

/// A checksum (FNV-1a: Fowler, Noll, Vo, 1991).
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    let mix = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}
