//! loom models of the small protocols: the chain, the flags of a segment, waiting and waking; in every
//! execution that the memory model allows.

use crate::agents::Agents;
use crate::chain::{Bucket, Walk};
use crate::epoch_guard::{Along, Epoch};
use crate::faults;
use crate::ground::Grounds;
use crate::lock::{Leaf, Lock, State, Status};
use crate::mode::Mode;
use crate::name::Name;
use crate::stack::Stack;
use crate::valid::Valid;
use crate::{Manager, Options, Session};
use chiliad_loom::{Loom, Model, thread};
use chiliad_machine::{Fault, Machine, Ordering, Shared};
use std::rc::Rc;
use std::sync::Arc;

const NAME: Name = Name::record(1, 1);

/// A chain, and locks to put into it.
struct Chain {
    bucket: Bucket<Loom>,
    locks: [Lock<Loom>; 3],
}

impl Chain {
    fn new() -> Self {
        let lock = |at| Lock::new(Leaf::new(0, 0).place(at));
        Self { bucket: Bucket::new(), locks: [lock(0), lock(1), lock(2)] }
    }

    /// Lock number `at` comes in, and claims `mode`.
    fn insert(&self, at: u32, mode: Mode) -> &Lock<Loom> {
        let lock = &self.locks[at as usize];
        lock.prepare(NAME, State::new(at, Status::Active, None, mode));
        if self.bucket.insert(lock) {
            Loom::fence(Ordering::SeqCst);
        }
        lock
    }

    /// How many locks ahead of `own` exclude `mode`.
    fn excluded_by(&self, own: &Lock<Loom>, mode: Mode) -> usize {
        let mut count = 0;
        self.bucket.ahead(own, |other| {
            count += usize::from(other.state().toward_behind().meets(mode.conflicts()));
            Walk::On
        });
        count
    }
}

fn check(fault: Option<&Fault>, run: impl Fn(Rc<Chain>) + Send + Sync + 'static) {
    let model = || Model::new().preemptions(2);
    let model = fault.map_or_else(model, |fault| model().plant(fault));
    model.check(|| Rc::new(Chain::new()), run);
}

/// Of two that come in, one finds the other ahead.
fn two_come_in(fault: Option<&Fault>) {
    check(fault, |chain| {
        let peer = Rc::clone(&chain);
        let other = thread::spawn(move || peer.excluded_by(peer.insert(1, Mode::X), Mode::X));
        let here = chain.excluded_by(chain.insert(0, Mode::X), Mode::X);
        assert_eq!(
            here + other.join().expect("no panic"),
            1,
            "each is ahead of the other, or none"
        );
    });
}

#[test]
fn one_of_two_is_first() {
    two_come_in(None);
}

#[test]
#[should_panic(expected = "each is ahead of the other, or none")]
fn who_does_not_wait_for_a_link_is_caught() {
    two_come_in(Some(&faults::UNLINKED_PASSED_OVER));
}

/// The last lock is unlinked while others come in.
fn last_goes(fault: Option<&Fault>) {
    check(fault, |chain| {
        chain.insert(2, Mode::X).set(State::new(2, Status::Obsolete, None, Mode::X));
        let (first, peer) = (Rc::clone(&chain), Rc::clone(&chain));
        let ahead = thread::spawn(move || {
            first.insert(0, Mode::X);
        });
        let behind = thread::spawn(move || peer.excluded_by(peer.insert(1, Mode::X), Mode::X));
        let mut retired = 0;
        chain.bucket.sweep(|_| retired += 1);
        assert!(retired <= 1, "unlinked twice");
        ahead.join().expect("no panic");
        assert!(behind.join().expect("no panic") <= 1, "nobody else is there");
        let mut linked = 0;
        chain.bucket.each(|lock| {
            linked = lock.map_or(0, |lock| linked + u32::from(lock.place.at() < 2));
            Walk::On
        });
        assert_eq!(linked, 2, "who came in is there");
    });
}

#[test]
fn the_last_goes_while_others_come() {
    last_goes(None);
}

#[test]
#[should_panic]
fn who_waits_behind_one_that_has_gone_is_caught() {
    last_goes(Some(&faults::WAITED_THERE));
}

/// The owner of a lock releases it as the only one, while another comes in behind it, and stays.
#[test]
fn nobody_waits_for_the_only_one() {
    check(None, |chain| {
        let own = chain.insert(0, Mode::X);
        let peer = Rc::clone(&chain);
        let other = thread::spawn(move || peer.excluded_by(peer.insert(1, Mode::X), Mode::X));
        let alone = chain.bucket.remove_only(own);
        let waits = other.join().expect("no panic") > 0;
        assert!(!(alone && waits), "it waits for one that has gone");
    });
}

/// As before, but the other comes and goes, as a sweeper.
#[test]
fn the_only_one_goes_beside_a_sweeper() {
    check(None, |chain| {
        let own = chain.insert(0, Mode::X);
        let peer = Rc::clone(&chain);
        let other = thread::spawn(move || {
            peer.insert(1, Mode::X).set(State::RELEASED);
            let mut retired = 0;
            peer.bucket.sweep(|_| retired += 1);
            retired
        });
        let alone = chain.bucket.remove_only(own);
        own.set(State::RELEASED);
        let mut retired = u32::from(alone);
        if !alone {
            chain.bucket.sweep(|_| retired += 1);
        }
        let others = other.join().expect("no panic");
        chain.bucket.sweep(|_| retired += 1);
        assert_eq!(retired + others, 2, "each is unlinked once");
        let mut left = 0;
        chain.bucket.each(|lock| {
            left = if lock.is_some() { left + 1 } else { 0 };
            Walk::On
        });
        assert_eq!(left, 0);
    });
}

/// One releases its lock while two come in behind it: the first, for something else, may have been cut off before it
/// is linked, and the second waits.
fn releases_beside_a_gap(fault: Option<&Fault>) {
    check(fault, |chain| {
        let own = chain.insert(0, Mode::X);
        let (first, second) = (Rc::clone(&chain), Rc::clone(&chain));
        let between = thread::spawn(move || {
            first.insert(1, Mode::Is);
        });
        let behind = thread::spawn(move || {
            let lock = second.insert(2, Mode::Is);
            let is_excluded = || {
                let mut excluded = false;
                second.bucket.ahead(lock, |other| {
                    excluded = other.state().toward_behind().meets(Mode::Is.conflicts());
                    if excluded { Walk::Enough } else { Walk::On }
                });
                excluded
            };
            is_excluded() && {
                lock.set(State::new(2, Status::Waiting, None, Mode::Is));
                Loom::fence(Ordering::SeqCst);
                is_excluded()
            }
        });
        own.set(State::RELEASED);
        Loom::fence(Ordering::SeqCst);
        let mut sees = false;
        chain.bucket.each(|lock| {
            sees |= lock.is_some_and(|lock| lock.state().status() == Status::Waiting);
            Walk::On
        });
        let sleeps = behind.join().expect("no panic");
        assert!(sees || !sleeps, "it sleeps, and nobody has seen it");
        between.join().expect("no panic");
    });
}

#[test]
fn who_waits_behind_a_gap_is_seen() {
    releases_beside_a_gap(None);
}

#[test]
#[should_panic(expected = "it sleeps, and nobody has seen it")]
fn who_passes_a_gap_over_is_caught() {
    releases_beside_a_gap(Some(&faults::GAP_PASSED_OVER));
}

/// One goes along the chain while another unlinks a lock, and looks whether its memory may be used again.
fn reads_beside_a_reclaimer(fault: Option<&'static Fault>) {
    let model = || Model::new().preemptions(2);
    let model = fault.map_or_else(model, |fault| model().plant(fault));
    let setup = || {
        let agents = Agents::<Loom>::new();
        _ = agents.acquire();
        Rc::new((Epoch::<Loom>::new(), agents, Chain::new()))
    };
    model.check(setup, |shared| {
        let (epoch, agents, chain) = &*shared;
        chain.insert(0, Mode::X);
        let peer = Rc::clone(&shared);
        let reader = thread::spawn(move || {
            let (epoch, agents, chain) = &*peer;
            epoch.enter(&agents.get(0).guard, Along::bucket(0));
            let mut count = 0;
            chain.bucket.each(|lock| {
                count += usize::from(lock.is_some());
                Walk::On
            });
            count
        });
        assert!(chain.bucket.remove_only(&chain.locks[0]), "it is the only one");
        let noticed = epoch.step();
        let is_reused = epoch.readers(agents).are_younger(noticed);
        let sees = reader.join().expect("no panic");
        assert!(!(is_reused && sees > 0), "used again in sight of a reader");
    });
}

#[test]
fn what_a_reader_can_see_is_not_used_again() {
    reads_beside_a_reclaimer(None);
}

#[test]
#[should_panic(expected = "used again in sight of a reader")]
fn a_guard_without_fence_is_caught() {
    reads_beside_a_reclaimer(Some(&faults::GUARD_UNFENCED));
}

/// Exactly one of the sessions that clear flags is told that the segment is empty: the one that clears the last.
#[test]
fn flags_that_two_clear_are_clear() {
    for (leaves, locks) in [(1, 2), (2, 1)] {
        let setup = move || Rc::new(Valid::<Loom>::new(leaves, locks));
        Model::new().check(setup, move |valid| {
            let peer = Rc::clone(&valid);
            let flag = move |at: u32| (at / locks, 1 << (at % locks));
            let other = thread::spawn(move || peer.clear(flag(1).0, flag(1).1));
            let own = valid.clear(flag(0).0, flag(0).1);
            let others = other.join().expect("no panic");
            assert!(own != others, "all are clear, and one has noticed");
        });
    }
}

/// Two pick up and put down numbers: each has one that the other has not.
fn numbers_go_round(fault: Option<&'static Fault>) {
    let model = || Model::new().preemptions(3);
    let model = fault.map_or_else(model, |fault| model().plant(fault));
    let setup = || Rc::new(Stack::<Loom>::of(3));
    model.check(setup, |shared| {
        let peer = Rc::clone(&shared);
        let other = thread::spawn(move || peer.0.pop(&peer.1));
        let (stack, below) = &*shared;
        // The one on top comes back with another below it.
        let mut own = vec![stack.pop(below), stack.pop(below)];
        stack.push(below, own.remove(0).expect("three were there"));
        own.extend([other.join().expect("no panic"), stack.pop(below), stack.pop(below)]);
        own.retain(Option::is_some);
        own.sort_unstable();
        assert_eq!(own, [Some(0), Some(1), Some(2)], "picked up twice");
    });
}

#[test]
fn a_number_is_picked_up_by_one() {
    numbers_go_round(None);
}

#[test]
#[should_panic(expected = "picked up twice")]
fn a_number_picked_up_uncounted_is_caught() {
    numbers_go_round(Some(&faults::PICKED_UP_UNCOUNTED));
}

/// One waits for what the other releases.
fn waits_and_is_woken(fault: Option<&'static Fault>) {
    // No memory is given back here.
    let model = || Model::new().preemptions(2).without_light_fences();
    let model = fault.map_or_else(model, |fault| model().plant(fault));
    let setup = || {
        let options = Options { buckets: 1, locks_max: 8, segment_locks: 4, ..Options::default() };
        let manager = Arc::new(Shared::<Loom, _>::new(Manager::new(&options)));
        let mut sessions = [(); 2].map(|()| Session::new(&manager).expect("an agent"));
        for session in &mut sessions {
            // They have fresh locks at hand then.
            session.acquire(Name::DATABASE, Mode::Is, None).expect("free");
            session.release_all();
        }
        let [mut holder, waiter] = sessions;
        holder.acquire(NAME, Mode::X, None).expect("free");
        (holder, waiter)
    };
    model.check(setup, |(mut holder, mut waiter): (Session<Loom>, Session<Loom>)| {
        let other = thread::spawn(move || {
            waiter.acquire(NAME, Mode::X, None).expect("released at last");
        });
        holder.release_all();
        other.join().expect("no panic");
    });
}

#[test]
fn who_waits_is_woken() {
    waits_and_is_woken(None);
}

#[test]
#[should_panic]
fn a_release_without_fence_is_caught() {
    waits_and_is_woken(Some(&faults::RELEASE_UNFENCED));
}

#[test]
#[should_panic]
fn a_sleep_without_fence_is_caught() {
    waits_and_is_woken(Some(&faults::SLEEP_UNFENCED));
}

/// One is told to give up its second wait, while a slow searcher still tells it to give up its first.
fn told_by_two(fault: Option<&'static Fault>) {
    let model = fault.map_or_else(Model::new, |fault| Model::new().plant(fault));
    let setup = || {
        let agents = Agents::<Loom>::new();
        let number = agents.acquire().expect("none is in use");
        let lock = Lock::new(Leaf::new(0, 0).place(0));
        for _ in 0..2 {
            agents.get(number).waits_by(&lock);
        }
        Arc::new(agents)
    };
    model.check(setup, |agents| {
        let peer = Arc::clone(&agents);
        let late = thread::spawn(move || peer.get(0).tell_to_abort(1));
        agents.get(0).tell_to_abort(2);
        late.join().expect("no panic");
        assert!(agents.get(0).must_abort(), "it waits on, and has been told");
    });
}

#[test]
fn who_was_told_to_give_up_stays_told() {
    told_by_two(None);
}

#[test]
#[should_panic(expected = "it waits on, and has been told")]
fn who_tells_late_and_takes_it_back_is_caught() {
    told_by_two(Some(&faults::VICTIM_TAKEN_BACK));
}

/// One counts itself in, the other is strong.
fn an_intention_beside_a_strong_request(light_fences: bool) {
    let model = Model::new();
    let model = if light_fences { model } else { model.without_light_fences() };
    let setup = || {
        let grounds = Grounds::<Loom>::new();
        _ = grounds.of(Name::DATABASE);
        Rc::new(grounds)
    };
    model.check(setup, |grounds| {
        let peer = Rc::clone(&grounds);
        let other = thread::spawn(move || {
            let ground = peer.of(Name::DATABASE).expect("a ground");
            ground.enter(0, Mode::Ix)
        });
        let ground = grounds.of(Name::DATABASE).expect("a ground");
        ground.come();
        let waits = ground.counted(None).contains(Mode::Ix);
        let is_in = other.join().expect("no panic");
        assert!(waits || !is_in, "neither sees the other");
    });
}

#[test]
fn who_counts_or_who_is_strong_sees_the_other() {
    an_intention_beside_a_strong_request(true);
}

#[test]
#[should_panic(expected = "neither sees the other")]
fn who_counts_without_a_fence_is_caught() {
    an_intention_beside_a_strong_request(false);
}
