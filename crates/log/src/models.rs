//! loom model of the way from a commit window to a writer: every execution that the memory model
//! allows.

use crate::buffer::Buffer;
use crate::entry::Write;
use chiliad_loom::{Loom, LoomWord, Model, thread};
use chiliad_machine::{Ordering, Word};
use std::rc::Rc;

/// A worker in its window of epoch 1, and what the ticker has told the log.
struct World {
    buffer: Buffer<Loom>,
    window: LoomWord,
    stable: LoomWord,
}

fn world() -> Rc<World> {
    let (window, stable) = (LoomWord::new(1), LoomWord::new(0));
    Rc::new(World { buffer: Buffer::new(), window, stable })
}

fn spawn(world: &Rc<World>, run: impl FnOnce(&World) + 'static) -> thread::JoinHandle<()> {
    let world = Rc::clone(world);
    thread::spawn(move || run(&world))
}

/// Once the writer knows that an epoch is stable, it takes all of it.
fn stable_is_complete(looks_first: bool) {
    Model::new().check(world, move |world| {
        let worker = spawn(&world, |world| {
            let write = Write { table: 1, removed: false, key: b"k", value: b"v" };
            world.buffer.append(1, 8, [write].into_iter());
            // As `Epochs::close_window`.
            world.window.store(0, Ordering::Release);
        });
        let ticker = spawn(&world, |world| {
            // As `Epochs::tick`, then `Log::advance`.
            if world.window.load(Ordering::Acquire) == 0 {
                world.stable.fetch_max(1, Ordering::Release);
            }
        });
        let mut taken = Vec::new();
        if !looks_first {
            world.buffer.take(&mut taken);
        }
        // As `LogWriter::step`.
        let stable = world.stable.load(Ordering::Acquire);
        if looks_first {
            world.buffer.take(&mut taken);
        }
        assert!(stable == 0 || !taken.is_empty(), "something of a stable epoch was not taken");
        for thread in [worker, ticker] {
            thread.join().expect("no panic");
        }
    });
}

#[test]
fn a_stable_epoch_is_taken_whole() {
    stable_is_complete(true);
}

#[test]
#[should_panic(expected = "was not taken")]
fn to_take_before_looking_is_caught() {
    stable_is_complete(false);
}

/// The words that a caller of `Log::hurry` and the writer, as it ends its rest, both access.
struct Rest {
    urgent: LoomWord,
    resting: LoomWord,
    wakes: LoomWord,
}

/// A call that does not wake a writer is seen by it after its rest.
fn calls_are_seen(both_change: bool) {
    let rest = || {
        let (urgent, resting, wakes) = (LoomWord::new(0), LoomWord::new(4), LoomWord::new(0));
        Rc::new(Rest { urgent, resting, wakes })
    };
    Model::new().check(rest, move |rest| {
        let shared = Rc::clone(&rest);
        // As `Log::hurry`.
        let caller = thread::spawn(move || {
            shared.urgent.fetch_max(1, Ordering::AcqRel);
            let resting = match both_change {
                true => shared.resting.fetch_or(0, Ordering::AcqRel),
                false => shared.resting.load(Ordering::Acquire),
            };
            if resting == 0 {
                shared.wakes.store(1, Ordering::Relaxed);
            }
        });
        // As `Log::rest_while_open`, then `Log::is_urgent`.
        if both_change {
            rest.resting.swap(0, Ordering::AcqRel);
        } else {
            rest.resting.store(0, Ordering::Release);
        }
        let sees = rest.urgent.load(Ordering::Acquire) > 0;
        caller.join().expect("no panic");
        let woken = rest.wakes.load(Ordering::Relaxed) > 0;
        assert!(sees || woken, "a call was missed");
    });
}

#[test]
fn who_hurries_at_the_end_of_a_rest_is_seen() {
    calls_are_seen(true);
}

#[test]
#[should_panic(expected = "was missed")]
fn to_look_without_a_change_is_caught() {
    calls_are_seen(false);
}
