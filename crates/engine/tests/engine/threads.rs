//! The engine on real threads: money is conserved, snapshots included; memory stays bounded; more
//! threads than cores make progress; handles end in any order.

use crate::kit::Dice;
use chiliad_engine::Session;
use chiliad_engine::names::NativeScheme;
use chiliad_engine::{
    Database, Error, GlobalTid, Intent, Options, Range, Reason, Result, Silo, Snapshots, TableId,
    TableSpec, Transaction, WaitDie, Worker,
};
use chiliad_machine::{Interleaved, Machine};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

const ACCOUNTS: u64 = 40;
const DEPOSIT: u64 = 1_000;

/// Accounts that all begin with the same deposit.
struct Bank<S: NativeScheme> {
    db: Database<Interleaved, S>,
    accounts: TableId,
    stop: AtomicBool,
}

impl<S: NativeScheme> Bank<S> {
    fn open(spec: TableSpec, options: Options) -> Self {
        let db = Database::open(options).expect("opens");
        let accounts = db.create_table(spec).expect("created");
        let mut worker = db.worker().expect("a slot");
        for account in 0..ACCOUNTS {
            let (key, value) = (account.to_be_bytes(), DEPOSIT.to_le_bytes());
            worker.load(accounts, &key, &value).expect("loads");
        }
        drop(worker);
        // Until the newest snapshot contains what was loaded.
        for _ in 0..=db.options().snapshot_every {
            db.tick();
        }
        Self { db, accounts, stop: AtomicBool::new(false) }
    }

    /// Advances the epochs until the bank closes.
    fn tick(&self) {
        while !self.stop.load(Relaxed) {
            thread::sleep(Duration::from_millis(1));
            self.db.tick();
        }
    }

    /// Runs `body` until it commits.
    fn run<T>(
        &self,
        worker: &mut Worker<Interleaved, S>,
        intent: &Intent<'_>,
        mut body: impl FnMut(&mut dyn Transaction) -> Result<T>,
    ) -> T {
        loop {
            let done = worker.begin(intent).and_then(|mut tx| match body(&mut tx) {
                Ok(value) => tx.commit().map(|_| value),
                // A key that was absent and is there now, say: the transaction is lost, not wrong.
                Err(error) => Err(tx.validate().err().unwrap_or(error)),
            });
            match done {
                Ok(value) => return value,
                Err(Error::Conflict(_)) => thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Moves an amount; every now and then an account is closed on the way and opened again by a
    /// later transfer, so that rows come and go.
    fn transfer(&self, worker: &mut Worker<Interleaved, S>, dice: &mut Dice) {
        let from = dice.below(ACCOUNTS);
        let to = (from + 1 + dice.below(ACCOUNTS - 1)) % ACCOUNTS;
        let (all, share) = (dice.below(8) == 0, dice.below(100));
        self.run(worker, &Intent::update(), |tx| {
            let (from, to) = (from.to_be_bytes(), to.to_be_bytes());
            let Some(row) = tx.get(self.accounts, &from)? else {
                return Ok(());
            };
            let balance = amount(tx.bytes(row).expect("its own"));
            let moved = if all { balance } else { balance * share / 100 };
            if all {
                tx.remove_row(row)?;
            } else {
                tx.update(row, &(balance - moved).to_le_bytes())?;
            }
            match tx.get(self.accounts, &to)? {
                Some(row) => {
                    let sum = amount(tx.bytes(row).expect("its own")) + moved;
                    tx.modify(row)?.copy_from_slice(&sum.to_le_bytes());
                }
                None => tx.insert(self.accounts, &to, &moved.to_le_bytes())?,
            }
            Ok(())
        });
    }

    /// What all accounts hold, by a scan or by keys.
    fn total(
        &self,
        worker: &mut Worker<Interleaved, S>,
        intent: &Intent<'_>,
        by_scan: bool,
    ) -> u64 {
        self.run(worker, intent, |tx| {
            if by_scan {
                let scanned = tx.scan(self.accounts, Range::all())?;
                let rows = tx.entries(scanned).expect("its own").iter();
                return Ok(rows.map(|entry| amount(tx.bytes(entry.row).expect("its own"))).sum());
            }
            let mut sum = 0;
            for account in 0..ACCOUNTS {
                let row = tx.get(self.accounts, &account.to_be_bytes())?;
                sum += row.map_or(0, |row| amount(tx.bytes(row).expect("its own")));
            }
            Ok(sum)
        })
    }

    /// Transfers on some threads beside audits on others.
    fn audit_beside_transfers(&self, audit: &Intent<'_>, by_scan: bool, length: Duration) {
        let transfers = AtomicU64::new(0);
        let mut audits = 0;
        thread::scope(|scope| {
            scope.spawn(|| self.tick());
            for seed in 1..=3 {
                let transfers = &transfers;
                scope.spawn(move || {
                    let mut worker = self.db.worker().expect("a slot");
                    let mut dice = Dice(seed * 77);
                    while !self.stop.load(Relaxed) {
                        self.transfer(&mut worker, &mut dice);
                        transfers.fetch_add(1, Relaxed);
                    }
                });
            }
            let mut worker = self.db.worker().expect("a slot");
            let end = Instant::now() + length;
            let mut wrong = None;
            while Instant::now() < end && wrong.is_none() {
                let total = self.total(&mut worker, audit, by_scan);
                wrong = (total != ACCOUNTS * DEPOSIT).then_some(total);
                audits += 1;
            }
            self.stop.store(true, Relaxed);
            assert_eq!(wrong, None, "after {audits} audits");
        });
        assert!(audits > 0 && transfers.into_inner() > 0);
        let mut worker = self.db.worker().expect("a slot");
        let total = self.total(&mut worker, &Intent::read_only(), by_scan);
        assert_eq!(total, ACCOUNTS * DEPOSIT);
    }
}

fn amount(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

const LENGTH: Duration = Duration::from_millis(1500);

fn in_the_present() -> Options {
    Options { snapshots: Snapshots::Off, ..Options::default() }
}

/// Boundaries close together, so that many snapshots and many old versions come and go.
fn with_snapshots(snapshots: Snapshots) -> Options {
    let epoch = Duration::from_millis(1);
    Options { snapshots, epoch, snapshot_every: 3, ..Options::default() }
}

#[test]
fn scans_see_all_the_money() {
    let audit = Intent::read_only();
    let bank = Bank::<Silo<Interleaved>>::open(TableSpec::ordered("a"), in_the_present());
    bank.audit_beside_transfers(&audit, true, LENGTH);
    let bank = Bank::<GlobalTid<Interleaved>>::open(TableSpec::ordered("a"), in_the_present());
    bank.audit_beside_transfers(&audit, true, LENGTH);
}

#[test]
fn look_ups_in_a_hash_table_see_all_the_money() {
    let spec = || TableSpec::hash("a", ACCOUNTS as usize);
    let bank = Bank::<Silo<Interleaved>>::open(spec(), in_the_present());
    bank.audit_beside_transfers(&Intent::read_only(), false, LENGTH);
    let bank = Bank::<GlobalTid<Interleaved>>::open(spec(), in_the_present());
    bank.audit_beside_transfers(&Intent::read_only(), false, LENGTH);
}

#[test]
fn snapshots_see_all_the_money() {
    for snapshots in [Snapshots::Always, Snapshots::OnDemand] {
        let options = with_snapshots(snapshots);
        let bank = Bank::<Silo<Interleaved>>::open(TableSpec::ordered("a"), options.clone());
        bank.audit_beside_transfers(&Intent::snapshot(), true, LENGTH);
        let bank =
            Bank::<Silo<Interleaved>>::open(TableSpec::hash("a", ACCOUNTS as usize), options);
        bank.audit_beside_transfers(&Intent::snapshot(), false, LENGTH);
    }
}

#[test]
fn memory_stays_bounded_while_versions_come_and_go() {
    // Each tick is a boundary, so each changed account leaves an old version behind.
    let options = Options { snapshot_every: 1, ..with_snapshots(Snapshots::Always) };
    let bank = Bank::<Silo<Interleaved>>::open(TableSpec::ordered("a"), options);
    let done = AtomicU64::new(0);
    thread::scope(|scope| {
        for seed in 1..=2 {
            let (bank, done) = (&bank, &done);
            scope.spawn(move || {
                let mut worker = bank.db.worker().expect("a slot");
                let mut dice = Dice(seed * 99);
                while !bank.stop.load(Relaxed) {
                    bank.transfer(&mut worker, &mut dice);
                    // An account has an old version for each boundary at most, so one thread makes many.
                    if done.fetch_add(1, Relaxed) % 16 == 0 && seed == 1 {
                        bank.db.tick();
                    }
                }
            });
        }
        let reserved_after = |transfers: u64| {
            while done.load(Relaxed) < transfers {
                thread::sleep(Duration::from_millis(1));
            }
            bank.db.stats().memory.reserved_bytes
        };
        let warm = reserved_after(20_000);
        let after = reserved_after(1_600_000);
        bank.stop.store(true, Relaxed);
        // A thread that is kept waiting keeps what the other has removed since, so there is room for
        // that. The old versions alone take 30 megabytes if nobody frees them.
        assert!(after <= warm + (4 << 20), "{warm} bytes grew to {after}");
    });
}

#[test]
fn many_threads_on_few_cores_make_progress() {
    let bank = Bank::<Silo<Interleaved>>::open(TableSpec::ordered("a"), in_the_present());
    thread::scope(|scope| {
        for seed in 1..=64 {
            let bank = &bank;
            scope.spawn(move || {
                let mut worker = bank.db.worker().expect("a slot");
                let mut dice = Dice(seed * 1234);
                for _ in 0..200 {
                    bank.transfer(&mut worker, &mut dice);
                }
            });
        }
    });
    let mut worker = bank.db.worker().expect("a slot");
    assert_eq!(bank.total(&mut worker, &Intent::read_only(), true), ACCOUNTS * DEPOSIT);
    drop(worker);
    assert!(bank.db.stats().committed >= 64 * 200);
    assert!(bank.db.stats().holds.is_empty());
}

/// What comes of an older transaction that asks for a row which a younger one holds for long, again and again.
fn asks_in_vain(wait_limit: Option<u64>) -> Vec<Result<bool>> {
    const TURNS: usize = 20;
    let bank = &Bank::<WaitDie<Interleaved>>::open(TableSpec::ordered("a"), in_the_present());
    let (begun, held) = (&Barrier::new(2), &Barrier::new(2));
    let row = &0u64.to_be_bytes();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut worker = bank.db.worker().expect("a slot");
            for _ in 0..TURNS {
                begun.wait();
                let mut tx = worker.begin(&Intent::update()).expect("begins");
                assert!(tx.get_for_update(bank.accounts, row).expect("free").is_some());
                held.wait();
                thread::sleep(Duration::from_millis(20));
                tx.rollback();
            }
        });
        let mut worker = bank.db.worker().expect("a slot");
        let mut turn = || {
            let mut tx = worker.begin(&Intent { wait_limit, ..Intent::update() }).expect("begins");
            begun.wait();
            held.wait();
            let found = tx.get_for_update(bank.accounts, row).map(|it| it.is_some());
            tx.rollback();
            found
        };
        (0..TURNS).map(|_| turn()).collect()
    })
}

#[test]
fn an_older_transaction_gives_up_where_waits_are_long() {
    let gives_up = Err(Error::Conflict(Reason::LockDenied));
    let found = asks_in_vain(None);
    assert_eq!(found[0], Ok(true), "it has not waited before");
    assert!(found.iter().all(|it| *it == Ok(true) || *it == gives_up), "{found:?}");
    assert!(found.contains(&gives_up), "{found:?}");
    let hour = 3600 * Interleaved::ticks_per_second();
    let found = asks_in_vain(Some(hour));
    assert!(found.iter().all(|it| *it == Ok(true)), "it waits as it was told: {found:?}");
}

#[test]
fn handles_end_in_any_order() {
    for turn in 0..6 {
        let bank = Bank::<Silo<Interleaved>>::open(
            TableSpec::ordered("a"),
            with_snapshots(Snapshots::Always),
        );
        let mut workers = [0, 1, 2].map(|_| bank.db.worker().expect("a slot")).map(Some);
        let mut dice = Dice(turn + 1);
        for worker in workers.iter_mut().flatten() {
            for _ in 0..50 {
                bank.transfer(worker, &mut dice);
                bank.db.tick();
            }
        }
        // What the first leaves to collect, the others inherit.
        let first = turn as usize % 3;
        drop(workers[first].take());
        let Bank { db, accounts, .. } = bank;
        let other = db.clone();
        drop(db);
        let mut last = workers[(first + 1) % 3].take().expect("not dropped yet");
        if turn % 2 == 0 {
            drop(other);
        }
        last.maintain();
        let mut tx = last.begin(&Intent::read_only()).expect("begins");
        let scanned = tx.scan(accounts, Range::all()).expect("scans");
        let rows = tx.entries(scanned).expect("its own").iter();
        assert_eq!(
            rows.map(|it| amount(tx.bytes(it.row).expect("its own"))).sum::<u64>(),
            ACCOUNTS * DEPOSIT
        );
        // On another thread than the one that made it, in the middle of a transaction.
        drop(tx);
        thread::spawn(move || drop(last)).join().expect("no panic");
        drop(workers);
    }
}
