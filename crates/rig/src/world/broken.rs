//! The log breaks its promises: how, and which servers must notice.
//!
//! A server that has read what is not there any more is to say so, by name, before it does anything else that its clients
//! see. Where the log breaks a promise in a way that a running server need not come across, somebody must learn that two
//! servers differ, if they do.

use super::common::{Common, Place};
use super::plan::Break;
use chiliad_machine::{Machine, Ticks};
use chiliad_simulator::Sim;

/// A server looks at its log as often as this, however idle it is and whatever it is cut off from.
const LOOKED_BY: Ticks = 80_000;

/// Breaks a promise of the log.
pub(super) fn perform(common: &Common, how: Break) {
    let extent = common.log.extent();
    let kept = |percent: u64| extent.start + (extent.end - extent.start) * percent / 100;
    // Servers that have read to this position notice.
    let read = match how {
        Break::Deceive { server } => {
            if let Some((_, record)) = common.log.contents().pop() {
                common.log.deceive(server as u32, extent.end, &record);
            }
            None
        }
        Break::Flip { bit } => {
            let newest = common.log.contents().pop().unwrap_or_default();
            let bits = 8 * newest.1.len().max(1) as u64;
            let _ = common.log.flip(newest.0, bit % bits);
            None
        }
        Break::Empty { anew } => {
            if anew {
                common.log.recreate()
            } else {
                common.log.empty()
            }
            Some(2)
        }
        Break::Copy => {
            common.log.copy();
            Some(1)
        }
        Break::RollBack { percent } => {
            common.log.roll_back(kept(percent));
            Some(kept(percent) + 1)
        }
        Break::Overwrite { percent } => {
            common.log.overwrite(kept(percent));
            Some(kept(percent) + 1)
        }
    };
    Sim::mark(match how {
        Break::Deceive { .. } => "server deceived",
        Break::Flip { .. } => "record damaged",
        Break::Empty { anew: false } => "log emptied",
        Break::Empty { anew: true } => "log made anew",
        Break::Copy => "log replaced by a copy",
        Break::RollBack { .. } => "log rolled back",
        Break::Overwrite { .. } => "log overwritten",
    });
    // Records are compared with one that was read some time ago.
    let has_read = |place: &Place| match how {
        Break::Overwrite { .. } => place.read_by(Sim::now().saturating_sub(LOOKED_BY)),
        _ => place.next.get(),
    };
    let notices =
        |place: &Place| place.is_up.get() && read.is_some_and(|read| has_read(place) >= read);
    let places = common.places.iter().enumerate();
    let notice = places.filter(|(_, place)| notices(place)).map(|(server, _)| server);
    common.must_notice.borrow_mut().extend(notice);
    common.is_broken.set(true);
    let is_another = matches!(how, Break::Empty { anew: true } | Break::Copy);
    common.broken_at.set((!is_another).then(Sim::now));
}

/// Whether the log has lost what a server could notice by: it has grown again between two looks, and what the server knew
/// of it at the first was trimmed before the second.
pub(super) fn is_trimmed(common: &Common, place: &Place) -> bool {
    let first = common.log.extent().start;
    let knew = |at: Ticks| place.read_by(at.saturating_sub(LOOKED_BY));
    first > 1 && common.broken_at.get().is_some_and(|at| first >= knew(at))
}
