//! A loom model of the catalog version of a transaction and a drop: every execution that the memory model allows.

use super::{
    RUIN_WITHOUT_FENCE, oldest_catalog_version, pin_catalog_version, unpin_catalog_version,
};
use chiliad_loom::{Loom, LoomWord, Model, thread};
use chiliad_machine::{Ordering, Shared, Word};
use chiliad_storage::Heap;
use std::rc::Rc;
use std::sync::Arc;

/// The version by which the table is not seen any more.
const DROPPED: u64 = 2;

/// A catalog with one table, and the slot of one worker.
struct World {
    heap: Arc<Shared<Loom, Heap<Loom>>>,
    version: LoomWord,
    /// Whether the table is taken apart.
    ruined: LoomWord,
}

fn world() -> Rc<World> {
    let heap = Heap::new(u64::MAX);
    assert_eq!(heap.slots.acquire(), Some(0));
    Rc::new(World { heap, version: LoomWord::new(DROPPED - 1), ruined: LoomWord::new(0) })
}

/// While a transaction sees the table, the table stands; once it has ended, it does not.
fn pin_holds_the_table(model: Model) {
    model.check(world, |world| {
        let dropper = {
            let world = Rc::clone(&world);
            thread::spawn(move || {
                // Release pairs with the acquire in `pin_catalog_version`.
                world.version.fetch_add(1, Ordering::Release);
                for _ in 0..2 {
                    if oldest_catalog_version(&world.heap.slots) >= DROPPED {
                        world.ruined.store(1, Ordering::Relaxed);
                    }
                }
            })
        };
        let slot = world.heap.slots.get(0);
        if pin_catalog_version(slot, &world.version, DROPPED - 1) < DROPPED {
            let ruined = world.ruined.load(Ordering::Relaxed);
            assert_eq!(ruined, 0, "a table in use is taken apart");
        }
        unpin_catalog_version(slot);
        dropper.join().expect("no panic");
        assert_eq!(
            oldest_catalog_version(&world.heap.slots),
            u64::MAX,
            "a pin that has ended is waited for"
        );
    });
}

#[test]
fn a_pinned_version_holds_its_tables() {
    pin_holds_the_table(Model::new());
}

#[test]
#[should_panic(expected = "is taken apart")]
fn a_pin_without_its_fence_is_caught() {
    pin_holds_the_table(Model::new().without_light_fences());
}

#[test]
#[should_panic(expected = "is taken apart")]
fn a_demolition_without_its_fence_is_caught() {
    pin_holds_the_table(Model::new().plant(&RUIN_WITHOUT_FENCE));
}
