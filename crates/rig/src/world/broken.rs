//! The log breaks its promises: how, and which servers must notice.
//!
//! A server must notice what it was shown: another identity, another record at a position that it had read, or for a
//! while none where it had read one. What has changed and changed back between two of its looks is not demanded. Where
//! servers were shown different records, a witness appends, and somebody must learn that they differ.

use super::common::{Common, Place};
use super::plan::Break;
use chiliad_machine::Machine;
use chiliad_simulator::{LogLooks, Sim};

/// Looks after which a server has compared what it had read before them, and has stopped or gone on.
const LOOKS_MIN: u64 = 3;

/// Looks in a row at which a log may show less than was read: more than servers have patience for.
const SHORTER_MAX: u64 = 16;

/// Breaks a promise of the log.
pub(super) fn perform(common: &Common, how: Break) {
    let extent = common.log.extent();
    let kept = |percent: u64| extent.start + (extent.end - extent.start) * percent / 100;
    match how {
        Break::Deceive { server } => {
            if let Some((_, record)) = common.log.contents().pop() {
                common.log.deceive(server as u32, extent.end, &record);
            }
        }
        Break::Flip { bit } => {
            let newest = common.log.contents().pop().unwrap_or_default();
            let bits = 8 * newest.1.len().max(1) as u64;
            let _ = common.log.flip(newest.0, bit % bits);
        }
        Break::Empty { anew: true } => common.log.recreate(),
        Break::Empty { anew: false } => common.log.empty(),
        Break::Copy => common.log.copy(),
        Break::RollBack { percent } => common.log.roll_back(kept(percent)),
        Break::Overwrite { percent } => common.log.overwrite(kept(percent)),
    }
    Sim::mark(match how {
        Break::Deceive { .. } => "server deceived",
        Break::Flip { .. } => "record damaged",
        Break::Empty { anew: false } => "log emptied",
        Break::Empty { anew: true } => "log made anew",
        Break::Copy => "log replaced by a copy",
        Break::RollBack { .. } => "log rolled back",
        Break::Overwrite { .. } => "log overwritten",
    });
    common.is_broken.set(true);
}

/// Whether nothing is to be expected of a server any more by itself: it has failed, or is down, or has looked at the log
/// often enough since its looks were `before`, and was shown nothing that it has still to think about.
pub(super) fn is_settled(common: &Common, server: usize, before: u64) -> bool {
    let place = &common.places[server];
    let looks = common.log.looks(server as u32);
    let is_down = !place.is_up.get() && place.busy.get() == 0 && !place.is_left_behind.get();
    // A server that has joined since then has begun to count anew.
    let before = if looks.begun < before { 0 } else { before };
    let has_looked = looks.begun >= before + LOOKS_MIN && looks.shorter == 0;
    let has_gone_on = goes_on(&looks);
    place.has_failed.get() || is_down || has_gone_on || has_looked && looks.since_another.is_none()
}

/// Whether a server looks again that should have stopped by what it was shown.
fn goes_on(looks: &LogLooks) -> bool {
    looks.since_another.is_some_and(|looks| looks > 0) || looks.shorter_most > SHORTER_MAX
}

/// A server that goes on with what it was shown is wrong.
pub(super) fn judge_looks(common: &Common, server: usize) {
    let looks = common.log.looks(server as u32);
    if common.is_broken.get() && goes_on(&looks) {
        let (how, has) = (common.plan.breaks(), common.log.extent());
        let next = common.places[server].next.get();
        common.verdicts.borrow_mut().add("unnoticed", || {
            format!(
                "{how:?}: server {server} goes on; the log has {has:?}, it has read to {next}, and was shown {looks:?}"
            )
        });
    }
}

/// Servers that have read the witness's last record, and had not come further than it, are of its opinion, or somebody has
/// noticed.
pub(super) fn judge_heads(common: &Common) {
    let Some((label, _)) = common.witnessed.get() else { return };
    let heard = common.places.iter().filter(|place| has_heard(common, place));
    let heads: Vec<_> = heard.map(|place| place.head.get()).filter(|it| it.0 <= label).collect();
    let differ = |one: &(u64, u64)| heads.iter().any(|it| it.0 == one.0 && it.1 != one.1);
    if !common.is_noticed.get() && heads.iter().any(differ) {
        let mut verdicts = common.verdicts.borrow_mut();
        verdicts.add("digest differs", || format!("unnoticed: {heads:x?}"));
    }
}

/// Whether a server goes on and has read a record of the witness.
pub(super) fn has_heard(common: &Common, place: &Place) -> bool {
    let is_read = common.witnessed.get().is_some_and(|(_, next)| place.next.get() >= next);
    place.is_up.get() && !place.has_failed.get() && is_read
}
