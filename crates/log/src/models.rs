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
