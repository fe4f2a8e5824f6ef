//! A request that is refused says why, and leaves nothing behind; neither does a client that disappears, nor
//! a transaction that stalls.

use chiliad_lock::{
    Answer, Latched, LatchedOptions, LatchedSession, Locks, Manager, Mode, Name, Options, Reclaim,
    Refused, Session, Until,
};
use chiliad_machine::{Machine, Native, Shared};
use std::sync::Arc;
use std::thread;

type Table = Arc<Shared<Native, Manager<Native>>>;
type Behind = Arc<Shared<Native, Latched<Native>>>;

const ROW: Name = Name::record(1, 7);

fn table(options: Options) -> Table {
    Arc::new(Shared::new(Manager::new(&options)))
}

fn behind(options: LatchedOptions) -> Behind {
    Arc::new(Shared::new(Latched::new(&options)))
}

fn session<L: Locks<Native>>(manager: &Arc<Shared<Native, L::Manager>>) -> L {
    L::session(manager).expect("an agent")
}

/// A request that has waited for a moment is denied, and the holder keeps the lock.
fn a_wait_ends<L: Locks<Native>>(manager: &Arc<Shared<Native, L::Manager>>) {
    let (mut holder, mut other) = (session::<L>(manager), session::<L>(manager));
    holder.acquire(ROW, Mode::X, None).expect("free");
    let soon = Native::now() + 1_000_000;
    assert_eq!(other.acquire(ROW, Mode::S, Some(soon)), Err(Refused::Timeout));
    assert_eq!((other.count(), other.mode_of(ROW)), (0, None));
    assert_eq!(holder.mode_of(ROW), Some(Mode::X));
    holder.release_all();
    other.acquire(ROW, Mode::S, Some(soon)).expect("free again");
}

/// Two that share and both want it alone: one is told so, and the other gets it when that one goes.
fn an_upgrade_ends<L: Locks<Native> + Send>(manager: &Arc<Shared<Native, L::Manager>>)
where
    Arc<Shared<Native, L::Manager>>: Send + Sync,
{
    let upgrade = |mut session: L| {
        let upgraded = session.acquire(ROW, Mode::X, None);
        if upgraded.is_ok() {
            assert_eq!(session.mode_of(ROW), Some(Mode::X));
        } else {
            assert_eq!(session.mode_of(ROW), Some(Mode::S), "what it held it holds");
        }
        upgraded
    };
    let sharing = || {
        let mut session = session::<L>(manager);
        session.acquire(ROW, Mode::S, None).expect("shared");
        session
    };
    let (one, two) = (sharing(), sharing());
    let (one, two) = thread::scope(|scope| {
        let other = scope.spawn(move || upgrade(two));
        (upgrade(one), other.join().expect("no panic"))
    });
    // Both may find the circle when they look at once.
    for refused in [one, two].into_iter().filter_map(Result::err) {
        assert_eq!(refused, Refused::UpgradeDeadlock);
    }
    assert!(one.is_err() || two.is_err());
}

/// As many locks as there may be, and as many again when they are released and the background has been at
/// work.
fn memory_ends<L: Locks<Native>>(
    manager: &Arc<Shared<Native, L::Manager>>,
    background: impl Fn(&L::Manager),
) {
    let mut session = session::<L>(manager);
    for round in 0..3 {
        session.begin();
        let refused = (0..100_000).find_map(|row| {
            session.acquire(Name::record(1, row), Mode::X, None).err().map(|why| (row, why))
        });
        let (row, why) = refused.expect("an end");
        assert_eq!(why, Refused::Exhausted);
        assert!(row >= 512, "round {round}: {row}");
        assert_eq!(session.count(), row as usize);
        session.release_all();
        background(manager);
    }
}

/// A client that is gone while its request stands in line leaves the line.
fn a_client_disappears<L: Locks<Native>>(manager: &Arc<Shared<Native, L::Manager>>) {
    let (mut holder, mut gone) = (session::<L>(manager), session::<L>(manager));
    holder.acquire(ROW, Mode::S, None).expect("free");
    assert_eq!(gone.ask(ROW, Mode::X), Ok(Answer::Waits));
    drop(gone);
    let mut other = session::<L>(manager);
    assert_eq!(other.ask(ROW, Mode::S), Ok(Answer::Granted), "nobody is in line");
}

/// A waiter can be told to stop, and is not granted anything before it is told that it may go on.
fn a_wait_is_cancelled<L: Locks<Native> + Send>(manager: &Arc<Shared<Native, L::Manager>>)
where
    Arc<Shared<Native, L::Manager>>: Send + Sync,
{
    let (mut holder, mut waiter) = (session::<L>(manager), session::<L>(manager));
    holder.acquire(ROW, Mode::X, None).expect("free");
    let cancel = waiter.cancel_handle();
    let refused = thread::scope(|scope| {
        let waiting = scope.spawn(|| waiter.acquire(ROW, Mode::S, None));
        // Once, before it waits or while it does.
        thread::yield_now();
        cancel.cancel();
        waiting.join().expect("no panic")
    });
    assert_eq!(refused, Err(Refused::Cancelled));
    assert_eq!(waiter.acquire(ROW, Mode::S, None), Err(Refused::Cancelled));
    waiter.clear_cancel();
    holder.release_all();
    assert_eq!(waiter.acquire(ROW, Mode::S, None), Ok(()));
}

/// A handle ends the waits of its session alone, not of the next that has the same agent.
fn a_handle_outlives_its_session<L: Locks<Native>>(manager: &Arc<Shared<Native, L::Manager>>) {
    let mut holder = session::<L>(manager);
    holder.acquire(ROW, Mode::X, None).expect("free");
    let gone = session::<L>(manager);
    let cancel = gone.cancel_handle();
    drop(gone);
    let mut next = session::<L>(manager);
    cancel.cancel();
    let soon = Native::now() + 1_000_000;
    assert_eq!(next.acquire(ROW, Mode::S, Some(soon)), Err(Refused::Timeout));
    next.cancel_handle().cancel();
    assert_eq!(next.acquire(ROW, Mode::S, None), Err(Refused::Cancelled));
}

/// Of a circle the session that was never aborted is the victim, whichever closes it; once it has committed, the
/// aborted one is as young as any.
fn the_oldest_goes_on<L: Locks<Native>>(manager: &Arc<Shared<Native, L::Manager>>) {
    let (one, two) = (Name::record(3, 1), Name::record(3, 2));
    let (mut old, mut young) = (session::<L>(manager), session::<L>(manager));
    let circle = |first: &mut L, last: &mut L| {
        first.acquire(one, Mode::X, None).expect("free");
        last.acquire(two, Mode::X, None).expect("free");
        assert_eq!(first.ask(two, Mode::S), Ok(Answer::Waits));
        last.ask(one, Mode::S)
    };
    assert_eq!(
        circle(&mut young, &mut old),
        Err(Refused::Deadlock),
        "of two without age, the last"
    );
    old.release_all();
    assert_eq!(young.wait(Until::time(None)), Ok(()));
    young.release_all();
    assert_eq!(circle(&mut young, &mut old), Ok(Answer::Waits), "the other is told to");
    assert_eq!(young.wait(Until::time(None)), Err(Refused::Deadlock));
    young.release_all();
    assert_eq!(old.wait(Until::time(None)), Ok(()));
    old.renew();
    old.release_all();
    assert_eq!(
        circle(&mut young, &mut old),
        Err(Refused::Deadlock),
        "it has committed, and is young"
    );
    old.release_all();
    assert_eq!(young.wait(Until::time(None)), Ok(()));
    young.release_all();
}

/// A session that only tries stands in nobody's way, and tells nobody to abort.
fn who_tries_waits_for_nobody<L: Locks<Native>>(manager: &Arc<Shared<Native, L::Manager>>) {
    let (mut holder, mut other) = (session::<L>(manager), session::<L>(manager));
    holder.acquire(ROW, Mode::S, None).expect("free");
    other.acquire(ROW, Mode::S, None).expect("shared");
    assert!(!other.try_lock(ROW, Mode::X) && !other.try_lock(ROW, Mode::X));
    assert_eq!(other.mode_of(ROW), Some(Mode::S));
    holder.release_all();
    assert!(other.try_lock(ROW, Mode::X));
    assert!(!holder.try_lock(ROW, Mode::S));
    assert_eq!((holder.count(), other.mode_of(ROW)), (0, Some(Mode::X)));
}

#[test]
fn without_latches() {
    let small = Options { locks_max: 1024, segment_locks: 64, ..Options::default() };
    for reclaim in [Reclaim::EpochGuards, Reclaim::OldestTransaction] {
        let manager = table(Options { reclaim, ..small });
        a_wait_ends::<Session<Native>>(&manager);
        an_upgrade_ends::<Session<Native>>(&manager);
        a_client_disappears::<Session<Native>>(&manager);
        the_oldest_goes_on::<Session<Native>>(&manager);
        who_tries_waits_for_nobody::<Session<Native>>(&manager);
        for _ in 0..100 {
            a_wait_is_cancelled::<Session<Native>>(&manager);
        }
        a_handle_outlives_its_session::<Session<Native>>(&manager);
        memory_ends::<Session<Native>>(&manager, |manager| manager.supply());
        manager.supply();
        let usage = manager.usage();
        assert_eq!((usage.locks, usage.obsolete), (0, 0));
    }
}

#[test]
fn behind_mutexes() {
    for (by_bucket, inherits) in [(false, false), (true, false), (true, true)] {
        let options = LatchedOptions { by_bucket, inherits, locks_max: 1024, ..Default::default() };
        let manager = behind(LatchedOptions { buckets: 8, ..options });
        a_wait_ends::<LatchedSession<Native>>(&manager);
        an_upgrade_ends::<LatchedSession<Native>>(&manager);
        a_client_disappears::<LatchedSession<Native>>(&manager);
        the_oldest_goes_on::<LatchedSession<Native>>(&manager);
        who_tries_waits_for_nobody::<LatchedSession<Native>>(&manager);
        for _ in 0..100 {
            a_wait_is_cancelled::<LatchedSession<Native>>(&manager);
        }
        a_handle_outlives_its_session::<LatchedSession<Native>>(&manager);
        memory_ends::<LatchedSession<Native>>(&manager, |_| {});
        assert_eq!(manager.locks(), 0);
    }
}

/// A transaction that never ends holds back what it holds, and nothing else (4.1, Theorem 4.2); where the
/// oldest transaction does, memory grows with all that others release.
#[test]
fn who_stalls_holds_back_nothing() {
    let bytes = |reclaim| {
        let manager = table(Options { reclaim, segment_locks: 64, ..Options::default() });
        let mut stalled: Session<Native> = session(&manager);
        stalled.begin();
        stalled.acquire(ROW, Mode::S, None).expect("free");
        let mut other: Session<Native> = session(&manager);
        for round in 0..2_000 {
            other.begin();
            for row in 0..10 {
                other.acquire(Name::record(2, round * 10 + row), Mode::X, None).expect("free");
            }
            other.release_all();
            if round % 100 == 0 {
                manager.supply();
            }
        }
        manager.usage().stock.bytes
    };
    let (guards, oldest) = (bytes(Reclaim::EpochGuards), bytes(Reclaim::OldestTransaction));
    assert!(oldest >= 20_000 * 64, "{oldest}");
    assert!(guards * 4 <= oldest, "{guards} of {oldest}");
}
