//! The stages on threads of their own: the last one on the calling thread, the others on further ones.

use super::ahead::{Ahead, Batch, Decided, Ready, Short};
use super::deciding::Deciding;
use super::states::States;
use crate::maker::Maker;
use chiliad_machine::Interleaved;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, scope};

/// Batches that a thread may have ready before the last stage takes them.
pub const DEPTH: usize = 8;

/// A thread's part of the stages before the last one, and what it makes nodes with.
pub type Player<'p> = (Ahead<'p, Interleaved>, Maker<Interleaved>);

/// The way of a thread's batches to the last stage, and back.
struct Way<'b> {
    to_last: SyncSender<Ready<'b, Interleaved>>,
    from_last: Receiver<Decided<'b, Interleaved>>,
}

/// The same, from the last stage's side.
type Back<'b> = (Receiver<Ready<'b, Interleaved>>, Sender<Decided<'b, Interleaved>>);

/// Takes batches through all stages. The players take them in turn.
pub fn play<'b>(
    players: &mut [Player<'_>],
    deciding: &mut Deciding<Interleaved>,
    states: &States<Interleaved>,
    batches: &[Batch<'b>],
) -> Result<(), Short> {
    let number = players.len();
    scope(|scope| {
        let (mut threads, mut ways) = (Vec::new(), Vec::new());
        for (at, player) in players.iter_mut().enumerate() {
            let (to_last, from_player) = sync_channel(DEPTH);
            let (to_player, from_last) = channel();
            let way = Way { to_last, from_last };
            let own = batches.iter().skip(at).step_by(number).copied();
            let task = move || prepare(player, states, own, way);
            threads.push(Builder::new().spawn_scoped(scope, task).map_err(|_| Short));
            ways.push((from_player, to_player));
        }
        let decided = decide(deciding, states, &ways, batches.len());
        // Those that wait for a state, or for what is left of their batches, find out that nothing comes any more.
        drop(ways);
        if decided.is_err() {
            states.close();
        }
        let ended = threads.into_iter().try_for_each(|thread| thread?.join().map_err(|_| Short)?);
        decided.and(ended)
    })
}

/// Plays the stages before the last one, and clears away after it.
fn prepare<'b>(
    (ahead, maker): &mut Player<'_>,
    states: &States<Interleaved>,
    batches: impl Iterator<Item = Batch<'b>>,
    Way { to_last, from_last }: Way<'b>,
) -> Result<(), Short> {
    for batch in batches {
        for decided in from_last.try_iter() {
            ahead.clear_away(maker, states, decided);
        }
        let ready = ahead.prepare(maker, states, batch)?;
        to_last.send(ready).map_err(|_| Short)?;
    }
    drop(to_last);
    for decided in from_last {
        ahead.clear_away(maker, states, decided);
    }
    Ok(())
}

/// Plays the last stage.
fn decide<'b>(
    deciding: &mut Deciding<Interleaved>,
    states: &States<Interleaved>,
    ways: &[Back<'b>],
    batches: usize,
) -> Result<(), Short> {
    for (from_player, to_player) in ways.iter().cycle().take(batches) {
        let ready = from_player.recv().map_err(|_| Short)?;
        let decided = deciding.decide(states, ready)?;
        to_player.send(decided).map_err(|_| Short)?;
    }
    Ok(())
}
