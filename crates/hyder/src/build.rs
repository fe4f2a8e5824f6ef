//! The stage that makes intentions ready for their turn: makes their values, and builds their overlays. Any thread may
//! play it, for any batch: verdicts do not depend on the states that overlays are built on, nor on what is paired.

use crate::batch::{Batch, By, Task, Tasks};
use crate::faults::TOO_OLD_BY_MEMORY;
use crate::group::meld_into_one;
use crate::intention::at;
use crate::item::{Item, Refused};
use crate::maker::Maker;
use crate::node::{Key, Tree};
use crate::options::{Certifier, Premeld, RollOptions};
use crate::recent::{Kept, States};
use crate::warm::warm;
use chiliad_api::Reason;
use chiliad_machine::Machine;

/// Intentions whose descents wait for memory together.
pub const OVERLAPPED: usize = 16;

/// Makes the intentions of a batch ready. `states` are those that are kept.
pub fn build<M: Machine>(
    batch: &mut Batch<M>,
    maker: &mut Maker<M>,
    options: &RollOptions,
    states: &States<M>,
) {
    batch.work(|_, mut tasks| {
        for some in tasks.chunks_mut(OVERLAPPED) {
            if options.overlap && options.certifier == Certifier::Meld && !M::explores() {
                warm_bases(some, options, states);
            }
            for (by, task) in some {
                if let Task::Intention(intention, bytes) = task {
                    let intention = core::mem::take(intention);
                    let made = Item::new(maker, by.label, bytes, intention, options.level);
                    let ready = made.and_then(|mut item| {
                        match build_overlays(&mut item, maker, options, states) {
                            Ok(()) => Ok(item),
                            Err(refused) => {
                                item.free(maker);
                                Err(refused)
                            }
                        }
                    });
                    *task = Task::Ready(ready);
                }
            }
        }
        if options.pairs() {
            pair(&mut tasks, maker);
        }
        (tasks, ())
    });
}

/// Group meld of intentions that follow each other.
fn pair<M: Machine>(tasks: &mut Tasks<'_, M>, maker: &mut Maker<M>) {
    let mut at = 0;
    while at < tasks.len() {
        let is_one = match &mut tasks[at..] {
            [(_, Task::Ready(Ok(first))), (_, Task::Ready(Ok(second))), ..] => {
                meld_into_one(maker, first, second)
            }
            _ => false,
        };
        at += if is_one { 2 } else { 1 };
    }
}

/// The newest of the states up to `label`; where none of those is kept any more, the oldest that is: whatever is built
/// on, the verdict is the same.
fn up_to<M: Machine>(states: &States<M>, label: u64) -> Option<&Kept<M>> {
    let newest = states.partition_point(|state| state.label <= label).saturating_sub(1);
    states.get(newest).map(|state| &**state)
}

/// The state that an overlay is built on.
fn base<'s, M: Machine>(
    states: &'s States<M>,
    options: &RollOptions,
    snapshot: u64,
) -> Option<&'s Kept<M>> {
    match options.premeld {
        Premeld::Newest => states.back().map(|state| &**state),
        Premeld::Off | Premeld::Fixed { .. } => up_to(states, snapshot),
    }
}

/// Builds an intention's overlays as the options say: on the state that it has read, and again on a later one; or at
/// once on the newest that is published.
fn build_overlays<M: Machine>(
    item: &mut Item<'_, M>,
    maker: &mut Maker<M>,
    options: &RollOptions,
    states: &States<M>,
) -> Result<(), Refused> {
    if options.certifier != Certifier::Meld {
        return Ok(());
    }
    let snapshot = item.intention.snapshot;
    let forgets = M::fault(&TOO_OLD_BY_MEMORY);
    if forgets && states.front().is_some_and(|oldest| oldest.label > snapshot) {
        return Err(Refused::Because(Reason::TooLate));
    }
    let base = base(states, options, snapshot);
    item.build(maker, |table| base.map_or(Tree::EMPTY, |base| base.tree(table)))?;
    if let Premeld::Fixed { threads, distance } = options.premeld {
        let back = u64::from(threads) * u64::from(distance) + 1;
        let later = up_to(states, item.label.saturating_sub(back));
        if let Some(later) = later.filter(|it| base.is_none_or(|base| it.label > base.label)) {
            item.rebase(maker, |table| later.tree(table))?;
        }
    }
    Ok(())
}

/// Brings the nodes that overlays are built on into the cache.
fn warm_bases<M: Machine>(some: &[(By, Task<'_, M>)], options: &RollOptions, states: &States<M>) {
    let mut keys = Vec::with_capacity(OVERLAPPED * 8);
    for (_, task) in some {
        let Task::Intention(intention, bytes) = task else { continue };
        let Some(base) = base(states, options, intention.snapshot) else { continue };
        let entries = intention.entries.iter();
        keys.extend(entries.map(|it| (base.tree(it.table), Key::new(at(bytes, &it.key)))));
    }
    warm(&keys);
}
