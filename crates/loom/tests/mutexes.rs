//! loom models of the mutexes: every execution that the memory model allows.
//!
//! Parking is yielding here, and a sleeper goes on only when it has been told that it is awake: a wake-up
//! that is lost is a model without an end, which loom refuses.

use chiliad_loom::{Loom, LoomWord, Model, thread};
use chiliad_machine::{FAULTS, Mutex, MutexKind, Ordering, Place, Word};
use std::rc::Rc;

/// Two words that only the holder touches.
struct World {
    mutex: Mutex<Loom>,
    words: [LoomWord; 2],
}

impl World {
    fn new(kind: MutexKind) -> Rc<Self> {
        Rc::new(Self { mutex: Mutex::new(kind), words: [LoomWord::new(0), LoomWord::new(0)] })
    }

    fn count_up(&self, place: &mut Place<Loom>, awake: bool) {
        let body = || {
            let [first, second] = [0, 1].map(|at: usize| self.words[at].load(Ordering::Relaxed));
            assert_eq!(first, second, "somebody else is inside");
            for word in &self.words {
                word.store(first + 1, Ordering::Relaxed);
            }
        };
        if awake { self.mutex.hold_awake(place, body) } else { self.mutex.hold(place, body) }
    }
}

/// So many peers, each going in so many times; the last of them never asleep, if `awake`.
fn check(model: &Model, kind: MutexKind, peers: usize, times: u64, awake: bool) {
    model.check(
        move || World::new(kind),
        move |world| {
            let peers: Vec<_> = (1..=peers)
                .map(|peer| {
                    let (world, awake) = (Rc::clone(&world), awake && peer == peers);
                    thread::spawn(move || {
                        let mut place = Place::new();
                        (0..times).for_each(|_| world.count_up(&mut place, awake));
                    })
                })
                .collect();
            let expected = peers.len() as u64 * times;
            for peer in peers {
                peer.join().expect("no panic");
            }
            assert_eq!(world.words[0].load(Ordering::Relaxed), expected);
        },
    );
}

#[test]
fn two_exclude_each_other() {
    for kind in MutexKind::ALL {
        check(&Model::new().preemptions(2), kind, 2, 2, false);
    }
}

#[test]
fn three_come_in_one_after_the_other() {
    for kind in MutexKind::ALL {
        check(&Model::new().preemptions(1), kind, 3, 1, false);
    }
}

#[test]
fn who_waits_awake_forgets_no_sleeper() {
    check(&Model::new().preemptions(2), MutexKind::Sleep, 2, 2, true);
    check(&Model::new().preemptions(1), MutexKind::Sleep, 3, 1, true);
}

#[test]
#[should_panic(expected = "exceeded maximum number of branches")]
fn to_fall_asleep_unseen_is_caught() {
    let model = Model::new().preemptions(2).plant(FAULTS[0]);
    check(&model, MutexKind::Sleep, 2, 1, false);
}
