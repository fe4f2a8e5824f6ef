//! Fibers of one thread: whose turn it is, who sleeps, and what one's end does to the others.
#![cfg(target_arch = "x86_64")]

use chiliad_machine::{
    Interleaved, Machine, Pace, Patience, Woken, WorkerId, interleave, park_for_long,
};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// The results of fibers who do not panic.
fn run<T>(fibers: usize, body: impl Fn(usize) -> T) -> Vec<T> {
    let results = interleave(fibers, body).expect("room for stacks");
    results.into_iter().map(|result| result.expect("no panic")).collect()
}

/// The same with as many in flight as pay.
fn run_paced<T>(pace: &Pace, fibers: usize, body: impl Fn(usize) -> T) -> Vec<T> {
    let results = pace.interleave(fibers, body).expect("room for stacks");
    results.into_iter().map(|result| result.expect("no panic")).collect()
}

/// A transaction, with `body` in its middle.
fn transaction<T>(body: impl FnOnce() -> T) -> T {
    Interleaved::begun(false);
    let result = body();
    Interleaved::ended(true);
    Interleaved::between();
    result
}

fn await_any_line() {
    Interleaved::await_line((&raw const *Box::new(0_u64)).cast(), 1);
}

#[test]
fn fibers_take_turns_where_they_wait_for_memory() {
    let order = RefCell::new(Vec::new());
    let results = run(3, |fiber| {
        for turn in 0..2 {
            order.borrow_mut().push((turn, fiber));
            await_any_line();
        }
        // Through the formatting of a float: the stack is aligned.
        format!("{:.1}", fiber as f64)
    });
    assert_eq!(results, ["0.0", "1.0", "2.0"]);
    assert_eq!(order.into_inner(), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
}

#[test]
fn what_is_live_across_a_switch_stays() {
    let sums = run(16, |fiber| {
        let mut words: [u64; 24] = std::array::from_fn(|at| (fiber * 100 + at) as u64);
        let mut float = fiber as f64;
        for turn in 0..1000 {
            let at = turn % words.len();
            words[at] = words[at].wrapping_mul(31).wrapping_add(words[(at + 7) % 24]);
            float += 0.5;
            await_any_line();
        }
        (words, float)
    });
    let alone = |fiber: usize| run(1, |_| fiber).pop();
    for (fiber, (words, float)) in sums.into_iter().enumerate() {
        let mut expected: [u64; 24] = std::array::from_fn(|at| (fiber * 100 + at) as u64);
        for turn in 0..1000 {
            let at = turn % 24;
            expected[at] = expected[at].wrapping_mul(31).wrapping_add(expected[(at + 7) % 24]);
        }
        assert_eq!((words, float), (expected, fiber as f64 + 500.0));
        assert_eq!(alone(fiber), Some(fiber));
    }
}

#[test]
fn who_keeps_its_turn_waits_for_memory_alone_and_gives_way_to_transactions() {
    let order = RefCell::new(Vec::new());
    run(2, |fiber| {
        assert!(!Interleaved::keep_turn(true));
        assert!(Interleaved::keep_turn(true));
        for turn in 0..3 {
            order.borrow_mut().push((fiber, turn));
            await_any_line();
        }
        Interleaved::pause();
        Interleaved::yield_now();
        order.borrow_mut().push((fiber, 3));
    });
    let expected = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];
    assert_eq!(order.into_inner(), expected);
}

#[test]
fn who_keeps_its_turn_lets_a_sibling_in_a_transaction_run() {
    let order = RefCell::new(Vec::new());
    run(2, |fiber| {
        if fiber == 0 {
            return transaction(|| {
                await_any_line();
                order.borrow_mut().push("holder");
            });
        }
        Interleaved::keep_turn(true);
        Interleaved::pause();
        order.borrow_mut().push("waiter");
    });
    assert_eq!(order.into_inner(), ["holder", "waiter"]);
}

#[test]
fn who_is_woken_in_a_transaction_runs_next() {
    let sleeper = Cell::new(None);
    let order = RefCell::new(Vec::new());
    run(5, |fiber| {
        if fiber == 0 {
            return transaction(|| {
                sleeper.set(Some(Interleaved::worker()));
                Interleaved::park();
                order.borrow_mut().push(0);
            });
        }
        if fiber == 2 {
            Interleaved::unpark(sleeper.get().expect("it sleeps"));
        }
        await_any_line();
        order.borrow_mut().push(fiber);
    });
    assert_eq!(order.into_inner(), [0, 1, 2, 3, 4]);
}

#[test]
fn who_rests_takes_no_turns() {
    let turns = Cell::new(0);
    run(2, |fiber| {
        if fiber == 0 {
            Interleaved::rest(10_000_000);
            return assert_eq!(turns.get(), 1000, "it came back early");
        }
        for turn in 0..1000 {
            await_any_line();
            turns.set(turn + 1);
        }
    });
}

#[test]
fn a_lock_that_a_sibling_holds_is_waited_for_without_a_deadlock() {
    let held = Cell::new(false);
    let turns = Cell::new(0);
    run(4, |_| {
        let mut patience = Patience::<Interleaved>::new();
        while held.replace(true) {
            patience.wait();
        }
        for _ in 0..10 {
            await_any_line();
        }
        turns.set(turns.get() + 1);
        held.set(false);
    });
    assert_eq!(turns.get(), 4);
}

#[test]
fn siblings_wake_each_other() {
    let workers = [Cell::new(None), Cell::new(None)];
    let passes = Cell::new(0);
    run(2, |fiber| {
        workers[fiber].set(Some(Interleaved::worker()));
        let other = loop {
            match workers[1 - fiber].get() {
                Some(other) => break other,
                None => Interleaved::pause(),
            }
        };
        assert_ne!(other, Interleaved::worker());
        for turn in 0..100 {
            while passes.get() % 2 != fiber as u64 {
                Interleaved::park();
            }
            assert_eq!(passes.replace(passes.get() + 1), 2 * turn + fiber as u64);
            Interleaved::unpark(other);
        }
    });
    assert_eq!(passes.get(), 200);
}

#[test]
fn a_permit_given_before_the_park_is_not_lost() {
    run(2, |_| {
        Interleaved::unpark(Interleaved::worker());
        Interleaved::park();
    });
}

#[test]
fn another_thread_wakes_a_fiber_while_all_sleep() {
    let sleeper = AtomicU64::new(u64::MAX);
    let turns = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            run(3, |fiber| {
                if fiber == 1 {
                    sleeper.store(u64::from(Interleaved::worker().0), Ordering::SeqCst);
                }
                while turns.load(Ordering::SeqCst) == 0 {
                    // The others look from time to time; the one is woken.
                    if fiber == 1 {
                        Interleaved::park();
                    } else {
                        Interleaved::park_until(Interleaved::now() + 1_000_000);
                    }
                }
                turns.fetch_add(1, Ordering::SeqCst);
            });
        });
        while sleeper.load(Ordering::SeqCst) == u64::MAX {
            thread::yield_now();
        }
        turns.store(1, Ordering::SeqCst);
        Interleaved::unpark(WorkerId(sleeper.load(Ordering::SeqCst) as u32));
    });
    assert_eq!(turns.load(Ordering::SeqCst), 4);
}

#[test]
fn a_fiber_sleeps_until_its_time_while_siblings_run() {
    let ran = Cell::new(0_u64);
    let over = Cell::new(false);
    let ends = run(2, |fiber| {
        if fiber == 0 {
            let until = Interleaved::now() + 2_000_000;
            while Interleaved::park_until(until) == Woken::ByPeer {}
            over.set(true);
            return Interleaved::now() >= until;
        }
        while !over.get() {
            ran.set(ran.get() + 1);
            Interleaved::pause();
        }
        true
    });
    assert_eq!(ends, [true, true]);
    assert!(ran.get() > 1);
}

/// However often others come back from sleep, one that has had its turn has another.
#[test]
fn who_can_run_does_so_although_others_keep_waking() {
    let over = Cell::new(false);
    let most = run(8, |fiber| {
        let mut turns = 0;
        if fiber == 0 {
            (0..100).for_each(|_| Interleaved::yield_now());
            over.set(true);
        }
        while !over.get() && turns < 100_000 {
            turns += 1;
            Interleaved::park_until(Interleaved::now());
        }
        turns
    });
    assert!(most.iter().all(|&turns| turns < 10_000), "{most:?}");
}

#[test]
fn a_panic_ends_one_fiber_and_leaves_its_siblings_alone() {
    /// Looks, while its fiber unwinds, whether anybody else runs.
    struct Witness<'a>(&'a Cell<u32>);
    impl Drop for Witness<'_> {
        fn drop(&mut self) {
            let before = self.0.get();
            await_any_line();
            Interleaved::pause();
            assert_eq!(self.0.get(), before, "a sibling ran while this one unwound");
        }
    }
    let turns = Cell::new(0);
    let results = interleave(4, |fiber| {
        for turn in 0..10 {
            turns.set(turns.get() + 1);
            await_any_line();
            if fiber == 2 && turn == 5 {
                let _witness = Witness(&turns);
                std::panic::panic_any(fiber);
            }
        }
        fiber
    })
    .expect("room for stacks");
    let panicked = results.iter().filter(|result| result.is_err()).count();
    assert_eq!((panicked, turns.get()), (1, 36));
    for (fiber, result) in results.into_iter().enumerate() {
        match result {
            Ok(returned) => assert_eq!(returned, fiber),
            Err(payload) => assert_eq!(payload.downcast_ref(), Some(&2_usize)),
        }
    }
}

#[test]
fn a_group_within_a_fiber_is_that_fiber() {
    let order = RefCell::new(Vec::new());
    run(2, |outer| {
        run(2, |inner| {
            order.borrow_mut().push((outer, inner));
            await_any_line();
        });
    });
    assert_eq!(order.into_inner(), [(0, 0), (1, 0), (0, 1), (1, 1)]);
}

#[test]
#[cfg(debug_assertions)]
fn a_switch_in_a_section_is_caught() {
    let results = interleave(2, |fiber| {
        if fiber == 0 {
            Interleaved::enter_section();
            let waits = std::panic::catch_unwind(await_any_line);
            Interleaved::leave_section();
            return waits.is_err();
        }
        true
    })
    .expect("room for stacks");
    assert!(results.into_iter().all(|result| result.is_ok_and(|caught| caught)));
}

#[test]
fn stacks_are_used_again() {
    for _ in 0..200 {
        run(64, |_| await_any_line());
    }
}

#[test]
fn a_pace_that_knows_nothing_admits_one_after_the_other() {
    let order = RefCell::new(Vec::new());
    let results = run_paced(&Pace::new(), 3, |fiber| {
        for turn in 0..3 {
            transaction(|| {
                order.borrow_mut().push((fiber, turn));
                await_any_line();
                Interleaved::pause();
            });
        }
        fiber
    });
    assert_eq!(results, [0, 1, 2]);
    let expected: Vec<(usize, i32)> = (0..3).flat_map(|it| (0..3).map(move |n| (it, n))).collect();
    assert_eq!(order.into_inner(), expected);
}

#[test]
fn who_sleeps_between_transactions_has_no_place() {
    let pace = Pace::new();
    let asleep = Cell::new(0);
    // As they wait for the disk, all at once; the last one wakes them.
    let workers: RefCell<Vec<WorkerId>> = RefCell::default();
    let most = run_paced(&pace, 8, |_| {
        transaction(|| ());
        asleep.set(asleep.get() + 1);
        let most = asleep.get();
        if most < 8 {
            workers.borrow_mut().push(Interleaved::worker());
            while asleep.get() < 8 {
                Interleaved::park();
            }
        } else {
            workers.borrow().iter().for_each(|&worker| Interleaved::unpark(worker));
        }
        most
    });
    assert_eq!(most, [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn a_long_wait_in_a_transaction_gives_up_the_place_at_once() {
    let (waiting, most) = (Cell::new(0), Cell::new(0));
    let workers: RefCell<Vec<WorkerId>> = RefCell::default();
    run_paced(&Pace::new(), 200, |_| {
        transaction(|| {
            waiting.set(waiting.get() + 1);
            workers.borrow_mut().push(Interleaved::worker());
            // The last one wakes all; the others would be here for long.
            if waiting.get() == 200 {
                workers.borrow().iter().for_each(|&worker| Interleaved::unpark(worker));
            }
            while waiting.get() < 200 {
                park_for_long(None);
            }
            most.set(most.get().max(waiting.get()));
        });
    });
    assert_eq!(most.get(), 200);
}

#[test]
fn who_sleeps_in_a_transaction_does_not_keep_its_siblings_out_for_ever() {
    let sleeper = Cell::new(None);
    let done = Cell::new(0);
    run_paced(&Pace::new(), 4, |fiber| {
        transaction(|| {
            if fiber == 0 {
                sleeper.set(Some(Interleaved::worker()));
                // It waits for what a sibling does that is not in flight yet.
                while done.get() < 3 {
                    Interleaved::park();
                }
            }
            done.set(done.get() + 1);
        });
        sleeper.get().into_iter().for_each(Interleaved::unpark);
    });
    assert_eq!(done.get(), 4);
}

#[test]
fn a_transaction_within_another_one_never_waits_at_the_gate() {
    let held = Cell::new(0);
    run_paced(&Pace::new(), 4, |_| {
        for _ in 0..50 {
            transaction(|| {
                held.set(held.get() + 1);
                // A sibling that were let in here would see that somebody is in the middle.
                transaction(|| Interleaved::begun(true));
                Interleaved::ended(false);
                assert_eq!(held.replace(held.get() - 1), 1);
            });
        }
    });
}

#[test]
fn a_sleeper_is_woken_while_another_fiber_works() {
    let (worker, woken) = (Cell::new(None), Cell::new(false));
    let ended = run_paced(&Pace::new(), 2, |fiber| {
        if fiber == 0 {
            worker.set(Some(Interleaved::worker()));
            Interleaved::park();
            woken.set(true);
            return 0;
        }
        // Woken at once, it has its turn after this transaction.
        worker.get().into_iter().for_each(Interleaved::unpark);
        let mut transactions = 0;
        while !woken.get() {
            transaction(|| transactions += 1);
        }
        transactions
    });
    assert_eq!(ended, [0, 1]);
}

#[test]
fn whose_time_has_come_has_a_turn_though_another_fiber_works() {
    let over = Cell::new(false);
    let turns = run_paced(&Pace::new(), 2, |fiber| {
        if fiber == 0 {
            let until = Interleaved::now() + 1_000_000;
            while Interleaved::park_until(until) == Woken::ByPeer {}
            over.set(true);
        }
        let mut turns = 0_u64;
        while !over.get() {
            transaction(|| turns += 1);
        }
        turns
    });
    assert!(turns[1] > 0);
}

#[test]
fn fibers_that_are_let_in_take_turns() {
    let pace = Pace::new();
    let longest = Cell::new(0_u64);
    // Alone, nobody would come to an end: the turn is over some time.
    let others = Cell::new(0_u64);
    run_paced(&pace, 3, |_| {
        let mut own = 0_u64;
        others.set(others.get() + 1);
        while others.get() < 3 {
            transaction(|| own += 1);
        }
        longest.set(longest.get().max(own));
    });
    assert!(longest.get() > 1);
}

#[test]
fn what_hides_waits_for_memory_is_found_to_pay() {
    // A wait of which siblings see the end: as many finish in its time as are in flight.
    let pace = Pace::new();
    let with_eight = Cell::new(0);
    run_paced(&pace, 8, |_| {
        // Ends only if that is found.
        while with_eight.get() < 5_000 {
            transaction(|| {
                let come = Interleaved::now() + 4_000;
                while Interleaved::now() < come {
                    await_any_line();
                }
            });
            with_eight.set(with_eight.get() + u32::from(pace.in_flight() == 8));
        }
    });
}

#[test]
fn threads_share_a_pace_and_groups_come_and_go() {
    let pace = Pace::new();
    let finished = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for fibers in [1, 2, 8, 3].repeat(20) {
                    run_paced(&pace, fibers, |_| {
                        for _ in 0..20 {
                            transaction(await_any_line);
                            finished.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
            });
        }
    });
    assert_eq!(finished.load(Ordering::Relaxed), 4 * 20 * 14 * 20);
}

#[test]
fn a_panic_leaves_the_others_of_a_paced_group_alone() {
    let results = Pace::new()
        .interleave(4, |fiber| {
            for turn in 0..10 {
                transaction(|| {
                    await_any_line();
                    assert!(fiber != 2 || turn != 5, "it is the third one");
                });
            }
        })
        .expect("room for stacks");
    assert_eq!(results.iter().filter(|result| result.is_err()).count(), 1);
}

/// A thread that sleeps until a message comes, as a server sleeps in the poll of its sockets.
struct Inbox {
    messages: std::sync::mpsc::Receiver<Option<u64>>,
    sender: std::sync::mpsc::Sender<Option<u64>>,
    arrived: RefCell<Vec<u64>>,
    /// Fibers with nothing to do.
    resting: RefCell<Vec<WorkerId>>,
    sleeps: Cell<usize>,
}

struct Rings(std::sync::Mutex<std::sync::mpsc::Sender<Option<u64>>>);

impl std::task::Wake for Rings {
    fn wake(self: std::sync::Arc<Self>) {
        _ = self.0.lock().expect("not poisoned").send(None);
    }
}

impl chiliad_machine::Idle for Inbox {
    fn sleep(&self, at_most: Option<std::time::Duration>) {
        self.sleeps.set(self.sleeps.get() + 1);
        let message = match at_most {
            Some(time) => self.messages.recv_timeout(time).ok(),
            None => self.messages.recv().ok(),
        };
        if let Some(Some(message)) = message {
            self.arrived.borrow_mut().push(message);
            if let Some(fiber) = self.resting.borrow_mut().pop() {
                Interleaved::unpark(fiber);
            }
        }
    }

    fn waker(&self) -> std::task::Waker {
        std::sync::Arc::new(Rings(std::sync::Mutex::new(self.sender.clone()))).into()
    }
}

impl Inbox {
    fn new() -> Self {
        let (sender, messages) = std::sync::mpsc::channel();
        let (arrived, resting, sleeps) = Default::default();
        Self { messages, sender, arrived, resting, sleeps }
    }

    /// The next message, for a fiber.
    fn next(&self) -> u64 {
        loop {
            if let Some(message) = self.arrived.borrow_mut().pop() {
                return message;
            }
            self.resting.borrow_mut().push(Interleaved::worker());
            Interleaved::park();
        }
    }
}

/// Those that wait for a message and those that wait for a peer are all woken, though the thread sleeps by a way of its
/// own; a fiber that waits keeps no other from its message.
#[test]
fn a_group_sleeps_by_a_way_of_its_own() {
    const FIBERS: usize = 100;
    let inbox = Inbox::new();
    let sender = inbox.sender.clone();
    let (waits, waiting) = std::sync::mpsc::channel();
    let (tells, told) = std::sync::mpsc::channel();
    let peer = thread::spawn(move || {
        // The first message's fiber waits for this thread, and all other messages are answered meanwhile.
        sender.send(Some(0)).expect("it listens");
        let waiter: WorkerId = waiting.recv().expect("it waits");
        for message in 1..1_000 {
            sender.send(Some(message)).expect("it listens");
        }
        told.recv().expect("all are served");
        Interleaved::unpark(waiter);
        for _ in 0..FIBERS {
            sender.send(Some(u64::MAX)).expect("it listens");
        }
    });
    let served = Cell::new(0);
    let results = chiliad_machine::interleave_idle(FIBERS, &inbox, |_| {
        loop {
            match inbox.next() {
                u64::MAX => break,
                0 => {
                    waits.send(Interleaved::worker()).expect("the peer listens");
                    Interleaved::park();
                    assert_eq!(served.get(), 999, "all others were served meanwhile");
                    // And by time.
                    let until = Interleaved::now() + 1_000_000;
                    while Interleaved::now() < until {
                        assert!(
                            Interleaved::park_until(until) == Woken::ByTime
                                || Interleaved::now() < until
                        );
                    }
                }
                _ => {
                    served.set(served.get() + 1);
                    if served.get() == 999 {
                        tells.send(()).expect("the peer listens");
                    }
                }
            }
        }
    });
    let ended = results.expect("room for stacks");
    assert!(ended.into_iter().all(|it| it.is_ok()));
    peer.join().expect("no panic");
    assert_eq!(served.get(), 999);
    assert!(inbox.sleeps.get() > 0);
}
