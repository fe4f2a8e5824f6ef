//! The lock of one partition by itself: its grants, on simulated cores, and what its holder sees, in every execution
//! that the memory model allows.

use super::super::faults::TAKEN_IN_TWO_STEPS;
use super::super::partitioned::Policy;
use super::Queueing;
use super::lock::Partition;
use crate::Options;
use crate::wait::Limits;
use chiliad_loom::{Loom, LoomWord, Model, thread};
use chiliad_machine::{Machine, Ordering, Shared, Word};
use chiliad_simulator::{Config, MemoryModel, Run, Sim};
use std::cell::RefCell;
use std::rc::Rc;

/// Waiters of the partition.
const WAITERS: u64 = 5;

#[test]
fn the_oldest_is_next() {
    for seed in 0..200 {
        let mut config = Config::new(seed);
        if seed % 2 == 1 {
            config.memory_model = MemoryModel::Tso;
        }
        let mut run = Run::new(config);
        let lock = Rc::new(run.outside(|| Shared::<Sim, _>::new(Partition::<Sim>::new())));
        let granted = Rc::new(RefCell::new(Vec::new()));
        run.outside(|| lock.lock(99, &Limits::new())).expect("free");
        for waiter in 1..=WAITERS {
            // The schedule chooses which one begins first.
            let (lock, granted) = (lock.clone(), granted.clone());
            run.spawn(format!("waiter {waiter}"), move || {
                lock.lock(waiter, &Limits::new()).expect("no limit");
                granted.borrow_mut().push(waiter);
                Sim::pause();
                assert_eq!(granted.borrow().last(), Some(&waiter), "alone, seed {seed}");
                lock.unlock(waiter);
            });
        }
        let holder = lock.clone();
        run.spawn("holder", move || {
            while holder.queue.0.lock().waiters.len() < WAITERS as usize {
                Sim::pause();
            }
            holder.unlock(99);
        });
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "seed {seed}: {}", outcome.verdict);
        assert!(granted.borrow().is_sorted() && granted.borrow().len() == WAITERS as usize);
        assert_eq!(run.outside(|| lock.word.0.load(Ordering::Relaxed)), 0, "free, seed {seed}");
        run.outside(|| drop(lock));
    }
}

#[test]
fn all_partitions_have_their_own_lock() {
    let run = Run::new(Config::new(1));
    run.outside(|| {
        let options = Options { partitions: 3, ..Options::default() };
        let shared = <Queueing<Sim> as Policy<Sim>>::shared(&options);
        for partition in 0..3 {
            shared.partitions.get(partition).lock(7, &Limits::new()).expect("free");
        }
        let words = [0, 1, 2].map(|it| shared.partitions.get(it).word.0.load(Ordering::Relaxed));
        assert_eq!(words, [14; 3]);
        for partition in 0..3 {
            shared.partitions.get(partition).unlock(7);
        }
    });
}

/// Two threads add one each, under the lock.
fn additions_are_kept(model: &Model) {
    let setup = || Rc::new((Partition::<Loom>::new(), LoomWord::new(0)));
    model.check(setup, |shared| {
        let other = Rc::clone(&shared);
        let add = |shared: &(Partition<Loom>, LoomWord), timestamp| {
            shared.0.lock(timestamp, &Limits::new()).expect("no limit");
            let seen = shared.1.load(Ordering::Relaxed);
            shared.1.store(seen + 1, Ordering::Relaxed);
            shared.0.unlock(timestamp);
        };
        let thread = thread::spawn(move || add(&other, 1));
        add(&shared, 2);
        thread.join().expect("no panic");
        assert_eq!(shared.1.load(Ordering::Relaxed), 2, "no addition is lost");
    });
}

#[test]
fn a_holder_sees_what_the_last_one_wrote() {
    additions_are_kept(&Model::new().preemptions(2));
}

#[test]
#[should_panic(expected = "no addition is lost")]
fn two_holders_lose_an_addition() {
    additions_are_kept(&Model::new().preemptions(2).plant(&TAKEN_IN_TWO_STEPS));
}
