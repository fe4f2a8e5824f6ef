//! loom models of the lock word (`row_lock.rs`) and the queue (`queue.rs`): workers at one record, in every execution that
//! the memory model allows.

use super::faults;
use super::queue::{Answer, Locked, Queues};
use super::row_lock::{self, Claim};
use super::waiter::{self, IDLE};
use super::word::Mode;
use chiliad_loom::{Loom, LoomWord, Model, thread};
use chiliad_machine::{Fault, Machine, Ordering, Word};
use std::rc::Rc;

/// Its number, where lists are looked for.
const ADDRESS: u64 = 64;

/// A record's lock, and two words of it that belong together.
struct World {
    queues: Queues<Loom>,
    lock: LoomWord,
    value: [LoomWord; 2],
}

/// Workers, as many as `ages` has numbers for; by age or first come, first served.
fn world(by_age: bool) -> Rc<World> {
    let queues = Queues::<Loom>::new(by_age.then_some(0));
    for slot in 0..3 {
        queues.waiters.make(slot).timestamp.store(age_of(slot), Ordering::Relaxed);
    }
    let zero = || LoomWord::new(0);
    Rc::new(World { queues, lock: zero(), value: [zero(), zero()] })
}

/// The worker in the last slot is the oldest.
fn age_of(slot: u32) -> u64 {
    9 - u64::from(slot)
}

impl World {
    fn claim(&self, slot: u32, mode: Mode) -> Claim {
        Claim { slot, mode, age: self.queues.age(age_of(slot)) }
    }

    fn locked(&self) -> Locked<'_, Loom> {
        Locked { word: &self.lock, address: ADDRESS }
    }

    /// Asks for the lock once.
    fn ask(&self, claim: Claim) -> Answer {
        match row_lock::try_lock::<Loom>(&self.lock, claim) {
            Ok(()) => Answer::Granted,
            Err(_) => self.queues.lock(&self.locked(), claim),
        }
    }

    /// Locks, again and again if it is refused.
    fn lock(&self, slot: u32, mode: Mode) -> Claim {
        let claim = self.claim(slot, mode);
        while !self.await_grant(slot, self.ask(claim)) {
            Loom::yield_now();
        }
        claim
    }

    /// A reader becomes the writer; whether it did.
    fn upgrade(&self, slot: u32) -> bool {
        let claim = self.claim(slot, Mode::Owned);
        let answer = match row_lock::try_upgrade::<Loom>(&self.lock, claim) {
            Ok(()) => Answer::Granted,
            Err(_) => self.queues.upgrade(&self.locked(), claim),
        };
        self.await_grant(slot, answer)
    }

    fn await_grant(&self, slot: u32, answer: Answer) -> bool {
        let own = self.queues.waiters.get(slot);
        if answer == Answer::Waiting {
            while !waiter::is_granted(own) {
                Loom::yield_now();
            }
            own.state.store(IDLE, Ordering::Relaxed);
        }
        answer != Answer::Denied
    }

    fn unlock(&self, claim: Claim) {
        self.queues.unlock(&self.locked(), claim);
    }

    fn read(&self) -> [u64; 2] {
        [0, 1].map(|at| self.value[at].load(Ordering::Relaxed))
    }

    /// Adds one to both words, one after the other.
    fn add(&self) {
        for word in &self.value {
            word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    fn write(&self, slot: u32) {
        let claim = self.lock(slot, Mode::Owned);
        self.add();
        self.unlock(claim);
    }

    fn is_free(&self) -> bool {
        self.lock.load(Ordering::Relaxed) == 0
    }
}

/// Two writers, of whom one may have to wait.
fn writers(by_age: bool, plant: Option<&'static Fault>) {
    let model = Model::new().preemptions(2);
    let model = plant.into_iter().fold(model, Model::plant);
    model.check(
        move || world(by_age),
        |world| {
            let peer = Rc::clone(&world);
            let other = thread::spawn(move || peer.write(1));
            world.write(0);
            other.join().expect("no panic");
            assert_eq!(world.read(), [2, 2], "a write was lost");
            assert!(world.is_free(), "somebody is left");
        },
    );
}

#[test]
fn no_write_is_lost() {
    writers(false, None);
}

#[test]
fn no_write_is_lost_by_age() {
    writers(true, None);
}

// A model that never ends is one in which somebody waits for ever: loom stops it.
#[test]
#[should_panic]
fn a_forgotten_hand_over_is_caught() {
    writers(false, Some(&faults::HAND_OVER_FORGOTTEN));
}

#[test]
#[should_panic]
fn a_lost_queue_bit_is_caught() {
    writers(false, Some(&faults::QUEUE_BIT_LOST));
}

/// A reader beside a transaction that reads first and then writes, and may forget to ask.
fn a_reader_sees_no_half(asks: bool) {
    Model::new().preemptions(2).check(
        || world(false),
        move |world| {
            let peer = Rc::clone(&world);
            let other = thread::spawn(move || {
                let claim = peer.lock(1, Mode::Shared);
                let mode = if asks { Mode::Owned } else { Mode::Shared };
                assert!(!asks || peer.upgrade(1), "it waits");
                peer.add();
                peer.unlock(Claim { mode, ..claim });
            });
            let claim = world.lock(0, Mode::Shared);
            let [first, second] = world.read();
            assert_eq!(first, second, "half a write was read");
            world.unlock(claim);
            other.join().expect("no panic");
            assert_eq!(world.read(), [1, 1]);
            assert!(world.is_free(), "somebody is left");
        },
    );
}

#[test]
fn a_reader_becomes_the_writer_alone() {
    a_reader_sees_no_half(true);
}

#[test]
#[should_panic(expected = "half a write was read")]
fn a_writer_beside_readers_is_caught() {
    a_reader_sees_no_half(false);
}

/// A writer waits for a reader and gives up, while another reader comes.
#[test]
fn who_gives_up_leaves_nothing() {
    Model::new().preemptions(2).check(
        || world(false),
        |world| {
            let peer = Rc::clone(&world);
            let other = thread::spawn(move || {
                let claim = peer.claim(1, Mode::Owned);
                let answer = peer.ask(claim);
                if answer == Answer::Waiting && peer.queues.cancel(&peer.locked(), 1) {
                    return;
                }
                peer.add();
                peer.unlock(claim);
            });
            for _ in 0..2 {
                let claim = world.lock(0, Mode::Shared);
                let [first, second] = world.read();
                assert_eq!(first, second, "half a write was read");
                world.unlock(claim);
            }
            other.join().expect("no panic");
            assert!(world.is_free(), "somebody is left");
        },
    );
}

/// Two readers, one of whom wants to write, gives up and reads no more.
fn who_gives_up_writing_is_gone(plant: Option<&'static Fault>) {
    let model = Model::new().preemptions(2);
    let model = plant.into_iter().fold(model, Model::plant);
    model.check(
        || world(false),
        |world| {
            let peer = Rc::clone(&world);
            let other = thread::spawn(move || {
                let claim = peer.lock(1, Mode::Shared);
                let wants = Claim { mode: Mode::Owned, ..claim };
                let at_once = row_lock::try_upgrade::<Loom>(&peer.lock, wants).is_ok();
                let waits = !at_once
                    && peer.queues.upgrade(&peer.locked(), wants) == Answer::Waiting
                    && peer.queues.cancel(&peer.locked(), 1);
                peer.unlock(if waits { claim } else { wants });
            });
            let claim = world.lock(0, Mode::Shared);
            world.unlock(claim);
            other.join().expect("no panic");
            assert!(world.is_free(), "somebody is left");
        },
    );
}

#[test]
fn who_gives_up_writing_leaves_nothing() {
    who_gives_up_writing_is_gone(None);
}

#[test]
#[should_panic(expected = "somebody is left")]
fn a_reader_counted_twice_is_caught() {
    who_gives_up_writing_is_gone(Some(&faults::COUNT_KEPT));
}

/// A reader, a writer that waits for it, and a reader behind both.
#[test]
fn three_are_served_in_turn() {
    Model::new().preemptions(1).check(
        || world(false),
        |world| {
            let (writer, reader) = (Rc::clone(&world), Rc::clone(&world));
            let writes = thread::spawn(move || writer.write(1));
            let reads = thread::spawn(move || {
                let claim = reader.lock(2, Mode::Shared);
                let [first, second] = reader.read();
                assert_eq!(first, second, "half a write was read");
                reader.unlock(claim);
            });
            let claim = world.lock(0, Mode::Shared);
            let [first, second] = world.read();
            assert_eq!(first, second, "half a write was read");
            world.unlock(claim);
            writes.join().expect("no panic");
            reads.join().expect("no panic");
            assert_eq!(world.read(), [1, 1]);
            assert!(world.is_free(), "somebody is left");
        },
    );
}
