//! loom models of the commit window, the snapshot in use and the arming of snapshots: every
//! execution that the memory model allows.

use super::{COLLECT_TOO_EAGER, Epochs, SNAPSHOT_TOO_NEW, TICK_WITHOUT_FENCE};
use crate::options::Snapshots;
use crate::wait::Limits;
use chiliad_loom::{Loom, LoomWord, Model, thread};
use chiliad_machine::{Ordering, Shared, Word};
use chiliad_storage::{Heap, Slots};
use std::rc::Rc;
use std::sync::Arc;

/// Epochs with a boundary at every one, two workers' slots, and what a transaction installs.
struct World {
    epochs: Epochs<Loom>,
    heap: Arc<Shared<Loom, Heap<Loom>>>,
    installed: LoomWord,
}

const WORKERS: [u32; 2] = [0, 1];

fn world(mode: Snapshots) -> Rc<World> {
    let heap = Heap::new(u64::MAX);
    for worker in WORKERS {
        assert_eq!(heap.slots.acquire(), Some(worker));
    }
    Rc::new(World { heap, epochs: Epochs::new(mode, 1), installed: LoomWord::new(0) })
}

impl World {
    fn slots(&self) -> &Slots<Loom> {
        &self.heap.slots
    }
}

/// A thread of the model.
fn spawn<T: 'static>(
    world: &Rc<World>,
    run: impl FnOnce(&World) -> T + 'static,
) -> thread::JoinHandle<T> {
    let world = Rc::clone(world);
    thread::spawn(move || run(&world))
}

/// One transaction's window; its epoch.
fn commit(world: &World) -> u64 {
    let slot = world.slots().get(WORKERS[0]);
    let epoch = world.epochs.open_window(slot);
    world.installed.store(1, Ordering::Relaxed);
    world.epochs.close_window(slot);
    epoch
}

/// Everything through the epoch that a tick calls stable is installed, and visible to the ticker.
fn stable_is_installed(model: Model) {
    let setup = || world(Snapshots::Always);
    model.check(setup, |world| {
        let ticker = spawn(&world, |world| {
            [(); 2].map(|()| {
                let stable = world.epochs.tick(world.slots());
                (stable, world.installed.load(Ordering::Relaxed) == 1)
            })
        });
        let epoch = commit(&world);
        for (stable, installed) in ticker.join().expect("no panic") {
            assert!(epoch > stable || installed, "a window below the stable epoch is open");
        }
        assert!(world.epochs.tick(world.slots()) >= epoch, "a closed window is waited for");
    });
}

#[test]
fn no_window_is_open_below_the_stable_epoch() {
    stable_is_installed(Model::new());
}

#[test]
#[should_panic(expected = "below the stable epoch")]
fn a_window_without_its_fence_is_caught() {
    stable_is_installed(Model::new().without_light_fences());
}

#[test]
#[should_panic(expected = "below the stable epoch")]
fn a_boundary_that_does_not_wait_is_caught() {
    stable_is_installed(Model::new().plant(&SNAPSHOT_TOO_NEW));
}

#[test]
#[should_panic(expected = "below the stable epoch")]
fn a_tick_without_its_fence_is_caught() {
    stable_is_installed(Model::new().plant(&TICK_WITHOUT_FENCE));
}

/// While a boundary is in use, nothing above it counts as the oldest in use.
fn snapshot_holds_the_oldest(model: Model) {
    let setup = || world(Snapshots::Always);
    model.check(setup, |world| {
        let ticker = spawn(&world, |world| {
            for _ in 0..2 {
                world.epochs.tick(world.slots());
            }
        });
        let slot = world.slots().get(WORKERS[1]);
        let boundary = world
            .epochs
            .acquire_snapshot(world.slots(), slot, 0, &Limits::new())
            .expect("no limit");
        ticker.join().expect("no panic");
        assert!(world.epochs.oldest() <= boundary, "versions in use are collected");
        world.epochs.release_snapshot(slot);
        world.epochs.tick(world.slots());
        assert!(world.epochs.oldest() > boundary, "a snapshot that has ended is waited for");
    });
}

#[test]
fn a_snapshot_holds_the_oldest_boundary() {
    snapshot_holds_the_oldest(Model::new());
}

#[test]
#[should_panic(expected = "versions in use")]
fn a_snapshot_without_its_fence_is_caught() {
    snapshot_holds_the_oldest(Model::new().without_light_fences());
}

#[test]
#[should_panic(expected = "versions in use")]
fn a_collector_that_does_not_look_at_leases_is_caught() {
    snapshot_holds_the_oldest(Model::new().plant(&COLLECT_TOO_EAGER));
}

/// A version that a snapshot reads is kept by the writer that overwrites it, also when snapshots are asked for at
/// that moment: a writer in an epoch at or above the first boundary that may be read at
/// knows, inside its window, that versions are kept.
#[test]
fn who_overwrites_what_a_snapshot_reads_knows() {
    Model::new().check(
        || world(Snapshots::OnDemand),
        |world| {
            let writer = spawn(&world, |world| {
                let slot = world.slots().get(WORKERS[0]);
                let epoch = world.epochs.open_window(slot);
                let keeps = epoch - 1 < world.epochs.kept_below(epoch);
                world.epochs.close_window(slot);
                (epoch, keeps)
            });
            world.epochs.keep_versions();
            for _ in 0..2 {
                world.epochs.tick(world.slots());
            }
            let first = world.epochs.armed.load(Ordering::Relaxed);
            let (epoch, keeps) = writer.join().expect("no panic");
            assert!(epoch < first || keeps, "{epoch} overwrote what {first} reads");
        },
    );
}
