//! Timestamps are given out once, are never zero, fit in their bits, and grow for each worker: on
//! threads, on simulated cores, for every kind.

use chiliad_engine::{
    Clock, Database, Error, Options, Silo, TIMESTAMP_BITS, TimestampSource, Timestamps,
};
use chiliad_machine::{Machine, MutexKind, Native, Shared};
use chiliad_simulator::description::Description;
use chiliad_simulator::{Config, MemoryModel, Run, Schedule, Sim};
use chiliad_storage::{Heap, LocalHeap};
use std::cell::RefCell;
use std::fmt::Debug;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

/// What workers share.
struct World<M: Machine> {
    source: Shared<M, TimestampSource<M>>,
    heap: Arc<Shared<M, Heap<M>>>,
}

impl<M: Machine> World<M> {
    fn new(kind: Timestamps) -> Self {
        Self::with(&Options { timestamps: kind, ..Options::default() })
    }

    fn with(options: &Options) -> Self {
        Self { source: Shared::new(TimestampSource::new(options)), heap: Heap::new(u64::MAX) }
    }

    /// What so many workers draw, one after the other, the later ones in the slot of the first.
    fn draw(&self, workers: usize, each: usize) -> Vec<Vec<u64>> {
        let worker = |_| {
            let heap = LocalHeap::new(&self.heap).expect("a slot");
            let mut clock = Clock::new();
            (0..each).map(|_| clock.draw(&self.source, &heap)).collect()
        };
        (0..workers).map(worker).collect()
    }
}

/// What holds of the timestamps of all workers.
fn check(workers: &[Vec<u64>], kind: impl Debug) {
    for drawn in workers {
        assert!(drawn.is_sorted_by(|a, b| a < b), "{kind:?}: a worker's timestamps grow");
    }
    let mut all: Vec<u64> = workers.iter().flatten().copied().collect();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count, "{kind:?}: each is given out once");
    assert!(all[0] > 0 && all[count - 1] < 1 << TIMESTAMP_BITS, "{kind:?}");
}

#[test]
fn threads_share_no_timestamp() {
    for kind in Timestamps::ALL.into_iter().filter(|kind| *kind != Timestamps::Hardware) {
        let world = World::<Native>::new(kind);
        let drawn: Vec<Vec<u64>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| world.draw(3, 20_000))).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
        });
        check(&drawn, kind);
    }
}

#[test]
fn threads_share_no_timestamp_under_a_mutex_of_any_kind() {
    for mutex in MutexKind::ALL {
        let options = Options { timestamps: Timestamps::Latched, mutex, ..Options::default() };
        let world = World::<Native>::with(&options);
        let drawn: Vec<Vec<u64>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| world.draw(2, 5_000))).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
        });
        check(&drawn, mutex);
        assert_eq!(drawn.iter().flatten().max(), Some(&40_000), "{mutex:?}: without gaps");
    }
}

#[test]
fn batches_are_as_large_as_asked_for() {
    for timestamp_batch in [1, 3, 100] {
        let timestamps = Timestamps::Batched;
        let options = Options { timestamps, timestamp_batch, ..Options::default() };
        let world = World::<Native>::with(&options);
        let heaps = [(); 2].map(|()| LocalHeap::new(&world.heap).expect("a slot"));
        let mut clocks = [Clock::new(), Clock::new()];
        let mut draw = |worker: usize| clocks[worker].draw(&world.source, &heaps[worker]);
        assert_eq!((draw(0), draw(1)), (1, u64::from(timestamp_batch) + 1));
    }
}

/// Time passes while a simulated machine is loaded: whoever comes later, or runs on its cores, is not older
/// than what was.
#[test]
fn who_comes_after_a_loader_is_younger() {
    let mesh = Config { machine: Some(Description::mesh()), ..Config::new(1) };
    for config in [mesh, Config::new(1)] {
        let mut run = Run::new(config);
        let (world, loaded) = run.outside(|| {
            let world = World::<Sim>::new(Timestamps::Clock);
            let heaps = [(); 2].map(|()| LocalHeap::new(&world.heap).expect("a slot"));
            let mut clocks = [Clock::new(), Clock::new()];
            let mut draw = |worker: usize| clocks[worker].draw(&world.source, &heaps[worker]);
            let loaded = (0..10_000).map(|_| draw(0)).max().expect("some");
            let next = draw(1);
            assert!(next > loaded, "{next} after {loaded}");
            (Rc::new(world), next)
        });
        let theirs = world.clone();
        run.spawn("core", move || {
            let heap = LocalHeap::new(&theirs.heap).expect("a slot");
            let next = Clock::new().draw(&theirs.source, &heap);
            assert!(next > loaded, "{next} after {loaded}");
        });
        assert!(run.go().verdict.is_completed());
        run.outside(|| drop(world));
    }
}

#[test]
fn simulated_cores_share_no_timestamp() {
    for (seed, kind) in (0..200).zip(Timestamps::ALL.into_iter().cycle()) {
        let mutex = MutexKind::ALL[seed as usize / 5 % 4];
        let mut config = Config::new(seed);
        if seed % 2 == 1 {
            config.memory_model = MemoryModel::Tso;
        }
        if seed / 2 % 2 == 1 {
            config.schedule = Schedule::few_preemptions();
        }
        let mut run = Run::new(config);
        let options = Options { timestamps: kind, mutex, ..Options::default() };
        let world = Rc::new(run.outside(|| World::<Sim>::with(&options)));
        let drawn = Rc::new(RefCell::new(Vec::new()));
        for core in 0..4 {
            let (world, drawn) = (world.clone(), drawn.clone());
            run.spawn(format!("core {core}"), move || {
                let mine = world.draw(2, 40);
                drawn.borrow_mut().extend(mine);
            });
        }
        assert!(run.go().verdict.is_completed(), "seed {seed}");
        run.outside(|| drop(world));
        check(&drawn.borrow(), kind);
    }
}

#[test]
fn a_restarted_transaction_stays_older_than_the_batch_of_another() {
    let world = World::<Native>::new(Timestamps::Batched);
    let heaps = [(); 2].map(|()| LocalHeap::new(&world.heap).expect("a slot"));
    let mut clocks = [Clock::new(), Clock::new()];
    let mut draw = |worker: usize| clocks[worker].draw(&world.source, &heaps[worker]);
    let (mine, winner) = (draw(0), draw(1));
    assert!(mine < winner);
    let restarts = (0..).take_while(|_| draw(0) < winner).count();
    assert_eq!(restarts, 15, "until the batch is used up");
}

#[test]
fn what_the_machine_lacks_is_refused() {
    let options = Options { timestamps: Timestamps::Hardware, ..Options::default() };
    let refused = Database::<Native, Silo<Native>>::open(options.clone()).map(|_| ());
    let Err(Error::InvalidOption(what)) = refused else { panic!("{refused:?}") };
    assert!(what.contains("hardware") && what.contains("mutex, atomic, batched, clock"), "{what}");
    let run = Run::new(Config::new(1));
    run.outside(|| assert!(Database::<Sim, Silo<Sim>>::open(options.clone()).is_ok()));
    // A described machine has what its description says.
    for (timestamps, counter, clocks, accepted) in [
        (Timestamps::Hardware, false, true, "mutex, atomic, batched, clock are accepted"),
        (Timestamps::Clock, true, false, "mutex, atomic, batched, hardware are accepted"),
        (Timestamps::Clock, false, false, "mutex, atomic, batched are accepted"),
    ] {
        let machine = Some(Description { counter, clocks, ..Description::mesh() });
        let run = Run::new(Config { machine, ..Config::new(1) });
        let options = Options { timestamps, ..Options::default() };
        let refused = run.outside(|| Database::<Sim, Silo<Sim>>::open(options).map(|_| ()));
        let Err(Error::InvalidOption(what)) = refused else { panic!("{refused:?}") };
        assert!(what.starts_with("timestamps ") && what.ends_with(accepted), "{what}");
    }
}
