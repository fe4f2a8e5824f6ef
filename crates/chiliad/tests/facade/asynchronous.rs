//! Transactions as futures: what they promise to a runtime that is not known.

use crate::common::{Scratch, block_on, counters, killed, serializable};
use chiliad::{Database, Error, Options, RunAsync, RunOptions, Table};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

/// A runtime of one thread: polls each future that was woken.
fn all<T>(futures: impl IntoIterator<Item = RunAsync<T>>) -> Vec<Result<T, Error>> {
    struct Bell(mpsc::Sender<usize>, usize);
    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            _ = self.0.send(self.1);
        }
    }
    let (sender, woken) = mpsc::channel();
    let mut futures: Vec<_> = futures.into_iter().map(Some).collect();
    let wakers: Vec<Waker> =
        (0..futures.len()).map(|at| Waker::from(Arc::new(Bell(sender.clone(), at)))).collect();
    let mut results: Vec<Option<Result<T, Error>>> = futures.iter().map(|_| None).collect();
    (0..futures.len()).for_each(|at| sender.send(at).unwrap());
    let mut open = futures.len();
    while open > 0 {
        let at = woken.recv().unwrap();
        let Some(future) = &mut futures[at] else { continue };
        if let Poll::Ready(result) = Pin::new(future).poll(&mut Context::from_waker(&wakers[at])) {
            results[at] = Some(result);
            futures[at] = None;
            open -= 1;
        }
    }
    results.into_iter().map(Option::unwrap).collect()
}

fn poll<T>(future: &mut RunAsync<T>) -> Poll<Result<T, Error>> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn open(threads: usize) -> Database {
    Database::in_memory_with(Options::default().async_threads(threads)).unwrap()
}

/// Keeps the only thread busy until it is told to go on.
fn busy(db: &Database) -> (RunAsync<()>, mpsc::Sender<()>) {
    let (go_on, waits) = mpsc::channel();
    let (begun, has_begun) = mpsc::channel();
    let mut future = db.run_async(move |_| {
        begun.send(()).unwrap();
        waits.recv().unwrap();
        Ok(())
    });
    assert!(poll(&mut future).is_pending());
    has_begun.recv().unwrap();
    (future, go_on)
}

#[test]
fn all_of_many_at_once_are_counted() {
    for scheme in serializable() {
        let options = Options::default().scheme(scheme).async_threads(2);
        let db = Database::in_memory_with(options).unwrap();
        let table = counters(&db, 4);
        let count = |key| db.run_async(move |tx| tx.update(&table, &key, |count| *count += 1));
        let done = all((0..1_000).map(|at| count(at % 4)));
        assert!(done.iter().all(|done| *done == Ok(Some(()))), "{scheme}");
        let sum = db.snapshot_async(|_| Ok(()));
        assert_eq!(block_on(sum).0, Ok(()));
        let counts = db.run(|tx| tx.scan(&table, ..).values()).unwrap();
        assert_eq!(counts, [250; 4], "{scheme}");
    }
}

#[test]
fn a_poll_never_waits_however_many_there_are() {
    let db = open(1);
    let table = counters(&db, 1);
    let (first, go_on) = busy(&db);
    // More than the queue takes.
    let count = || db.run_async(move |tx| tx.update(&table, &0, |count| *count += 1));
    let mut futures: Vec<_> = (0..20_000).map(|_| count()).collect();
    assert!(futures.iter_mut().all(|future| poll(future).is_pending()));
    go_on.send(()).unwrap();
    assert_eq!(block_on(first).0, Ok(()));
    assert!(all(futures).iter().all(Result::is_ok));
    assert_eq!(db.run(|tx| tx.get(&table, &0)), Ok(Some(20_000)));
}

#[test]
fn one_that_is_dropped_before_it_has_begun_is_never_run() {
    let db = open(1);
    let runs = Arc::new(AtomicUsize::new(0));
    let (first, go_on) = busy(&db);
    let count = || {
        let runs = Arc::clone(&runs);
        db.run_async(move |_| {
            runs.fetch_add(1, Ordering::SeqCst);
            Ok(())
        })
    };
    let mut futures: Vec<_> = (0..10).map(|_| count()).collect();
    assert!(futures.iter_mut().all(|future| poll(future).is_pending()));
    drop(futures);
    drop(count());
    let last = count();
    go_on.send(()).unwrap();
    assert_eq!(block_on(first).0, Ok(()));
    assert_eq!(block_on(last).0, Ok(()));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[test]
fn one_that_is_dropped_while_it_runs_is_not_taken_back() {
    let db = open(1);
    let table = counters(&db, 1);
    let (begun, has_begun) = mpsc::channel();
    let (go_on, waits) = mpsc::channel::<()>();
    let mut future = db.run_async(move |tx| {
        begun.send(()).unwrap();
        waits.recv().unwrap();
        tx.put(&table, &0, &7)
    });
    assert!(poll(&mut future).is_pending());
    has_begun.recv().unwrap();
    drop(future);
    go_on.send(()).unwrap();
    // The thread has ended it before it takes the next one.
    assert_eq!(block_on(db.run_async(move |tx| tx.get(&table, &0))).0, Ok(Some(7)));
}

/// Those that gave up had been promised room: it goes to the next ones.
#[test]
fn those_that_wait_for_room_get_that_of_others_that_gave_up() {
    let db = open(1);
    let (first, go_on) = busy(&db);
    let nothing = || db.run_async(|_| Ok(()));
    let mut queued: Vec<_> = (0..16_384).map(|_| nothing()).collect();
    assert!(queued.iter_mut().all(|future| poll(future).is_pending()));
    let mut waiting: Vec<_> = (0..200).map(|_| nothing()).collect();
    assert!(waiting.iter_mut().all(|future| poll(future).is_pending()));
    let patient = thread::scope(|scope| {
        let patient: Vec<_> = (0..20).map(|_| scope.spawn(|| block_on(nothing()).0)).collect();
        go_on.send(()).unwrap();
        while waiting.pop().is_some() {
            thread::yield_now();
        }
        patient.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(patient, [const { Ok(()) }; 20]);
    assert_eq!(block_on(first).0, Ok(()));
    assert!(all(queued).iter().all(Result::is_ok));
}

#[test]
fn a_panic_goes_to_the_one_that_awaits_and_to_nobody_else() {
    let db = open(1);
    let future = db.run_async(|_| -> chiliad::Result<()> { panic!("for the caller") });
    let panicked = catch_unwind(AssertUnwindSafe(|| block_on(future)));
    assert_eq!(panicked.unwrap_err().downcast_ref::<&str>(), Some(&"for the caller"));
    assert_eq!(block_on(db.run_async(|_| Ok(7))).0, Ok(7));
}

#[test]
fn errors_of_the_application_and_deadlines_come_out() {
    #[derive(Debug, PartialEq)]
    enum Refusal {
        Poor,
        Database(Error),
    }
    impl From<Error> for Refusal {
        fn from(error: Error) -> Self {
            Self::Database(error)
        }
    }
    let db = open(1);
    let options = RunOptions::default();
    let poor = db.run_async_with(&options, |_| Err::<(), _>(Refusal::Poor));
    assert_eq!(block_on(poor).0, Err(Refusal::Poor));
    let (first, go_on) = busy(&db);
    let late = options.deadline(std::time::Duration::ZERO);
    let mut late = db.run_async_with(&late, |_| Ok::<_, Refusal>(()));
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut late).poll(&mut context).is_pending(), "nobody has looked at it yet");
    go_on.send(()).unwrap();
    assert_eq!(block_on(late).0, Err(Refusal::Database(Error::DeadlineExceeded)));
    assert_eq!(block_on(first).0, Ok(()));
}

#[test]
fn the_result_is_durable_when_it_is_given_out() {
    let directory = Scratch::new();
    let db = Database::open(&directory).unwrap();
    let table: Table<u64, u64> = db.create_table("counters").unwrap();
    for value in 1..20 {
        assert_eq!(block_on(db.run_async(move |tx| tx.put(&table, &1, &value))).0, Ok(()));
        if value % 6 == 0 {
            let copy = killed(&directory);
            let copy = Database::open(&copy).unwrap();
            let there: Table<u64, u64> = copy.table("counters").unwrap();
            assert_eq!(copy.run(|tx| tx.get(&there, &1)), Ok(Some(value)));
        }
    }
    let pending = block_on(db.submit_async(move |tx| tx.put(&table, &1, &20))).0.unwrap();
    assert_eq!(db.run(|tx| tx.get(&table, &1)), Ok(Some(20)));
    assert_eq!(block_on(pending).0, Ok(()));
    db.close().unwrap();
}

#[test]
fn a_database_closes_when_no_future_is_left() {
    let db = open(2);
    let future = db.run_async(|_| Ok(()));
    assert_eq!(db.clone().close(), Err(Error::InUse { handles: 2 }));
    assert_eq!(block_on(future).0, Ok(()));
    db.close().unwrap();
}

#[test]
fn futures_wait_for_a_worker_while_others_have_them_all() {
    let options = Options::default().async_threads(1).workers_max(1);
    let db = Database::in_memory_with(options).unwrap();
    let worker = db.worker().unwrap();
    let mut future = db.run_async(|_| Ok(7));
    assert!(poll(&mut future).is_pending());
    drop(worker);
    assert_eq!(block_on(future).0, Ok(7));
}

#[test]
fn a_runtime_may_move_them_between_threads() {
    fn moved<T: Send + 'static>(_: &T) {}
    let db = open(1);
    let future = db.run_async(|_| Ok(()));
    moved(&future);
    moved(&db.submit_async(|_| Ok(())));
    assert_eq!(thread::spawn(|| block_on(future).0).join().unwrap(), Ok(()));
}

#[test]
fn a_number_of_threads_that_cannot_be_is_refused() {
    for threads in [0, 1_025] {
        let refused = Database::in_memory_with(Options::default().async_threads(threads));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(&format!("async_threads {threads}: 1 to 1024")), "{refused}");
    }
}
