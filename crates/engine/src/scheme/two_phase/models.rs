//! loom models of the list of requests (`queue.rs`): two workers at one record, in every execution
//! that the memory model allows.

use super::queue::{self, Answer, Rules, Verdict};
use super::waiter::{Request, RequestId, Waiters};
use super::word::Mode;
use chiliad_loom::{Loom, LoomWord, Model, thread};
use chiliad_machine::{Machine, Ordering, Word};
use std::rc::Rc;

/// Everybody waits, first come first served.
struct Always;

impl Rules<Loom> for Always {
    fn judge(&mut self, _: &Waiters<Loom>, _: &Request<Loom>, _: &[RequestId]) -> Verdict {
        Verdict::Wait
    }

    fn goes_before(&self, _: &Request<Loom>, _: &Request<Loom>) -> bool {
        true
    }
}

/// A record's lock, and two words of it that belong together.
struct World {
    waiters: Waiters<Loom>,
    lock: LoomWord,
    value: [LoomWord; 2],
}

fn world() -> Rc<World> {
    let waiters = Waiters::new();
    for slot in [0, 1] {
        waiters.make(slot);
    }
    Rc::new(World { waiters, lock: LoomWord::new(0), value: [LoomWord::new(0), LoomWord::new(0)] })
}

impl World {
    fn lock(&self, slot: u32, mode: Mode) -> RequestId {
        let id = RequestId::new(slot, 0);
        let answer = queue::lock(&self.waiters, &self.lock, id, mode, 0, &mut Always);
        self.await_grant(id, answer)
    }

    fn await_grant(&self, id: RequestId, answer: Answer) -> RequestId {
        if answer == Answer::Waiting {
            while !queue::is_granted(self.waiters.request(id)) {
                Loom::yield_now();
            }
        }
        id
    }

    fn unlock(&self, id: RequestId) {
        queue::unlock(&self.waiters, &self.lock, id);
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
}

#[test]
fn no_write_is_lost() {
    Model::new().preemptions(2).check(world, |world| {
        let peer = Rc::clone(&world);
        let other = thread::spawn(move || {
            let id = peer.lock(1, Mode::Owned);
            peer.add();
            peer.unlock(id);
        });
        let id = world.lock(0, Mode::Owned);
        world.add();
        world.unlock(id);
        other.join().expect("no panic");
        assert_eq!(world.read(), [2, 2]);
        assert_eq!(world.lock.load(Ordering::Relaxed), 0, "nothing is left of the list");
    });
}

/// A reader beside a transaction that reads first and then writes, and may forget to ask.
fn a_reader_sees_no_half(asks: bool) {
    Model::new().preemptions(2).check(world, move |world| {
        let peer = Rc::clone(&world);
        let other = thread::spawn(move || {
            let id = peer.lock(1, Mode::Shared);
            if asks {
                let answer = queue::upgrade(&peer.waiters, &peer.lock, id, &mut Always);
                peer.await_grant(id, answer);
            }
            peer.add();
            peer.unlock(id);
        });
        let id = world.lock(0, Mode::Shared);
        let [first, second] = world.read();
        assert_eq!(first, second, "half a write was read");
        world.unlock(id);
        other.join().expect("no panic");
        assert_eq!(world.read(), [1, 1]);
    });
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
