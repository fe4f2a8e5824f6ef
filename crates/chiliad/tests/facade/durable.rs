//! A database in a directory, by way of the facade: what was promised is there after the next
//! opening.

use crate::common;
use crate::common::{Scratch, block_on};
use chiliad::raw::TableSpec;
use chiliad::{
    Database, Durability, Error, LogError, Options, Pending, Row, RunOptions, Scheme, Table,
};
use std::path::Path;
use std::time::Duration;

#[derive(Row, Debug, PartialEq, Clone)]
#[index(by_group(group))]
struct Item {
    group: u32,
    count: u64,
}

fn all(db: &Database, table: &Table<u64, Item>) -> Vec<(u64, Item)> {
    db.run(|tx| tx.scan(table, ..).rows()).unwrap()
}

#[test]
fn what_has_returned_is_there_again() {
    let path = Scratch::new();
    let mut expected = Vec::new();
    for round in 0..4_u64 {
        let scheme = common::serializable()[round as usize % 3];
        let options = Options::default().scheme(scheme).log_writers(1 + round as u32 % 2);
        let db = Database::open_with(&path, options).unwrap();
        let table: Table<u64, Item> = match round {
            0 => db.create_table("items").unwrap(),
            _ => db.table("items").unwrap(),
        };
        assert_eq!(all(&db, &table), expected);
        let found = db.run(|tx| tx.find(&table, Item::BY_GROUP, &(1,)).values()).unwrap();
        assert_eq!(found.len(), expected.iter().filter(|(_, item)| item.group == 1).count());
        for number in 0..20 {
            let item = Item { group: number % 3, count: round };
            let key = round * 10 + u64::from(number);
            db.run(|tx| tx.put(&table, &key, &item)).unwrap();
            expected.retain(|(other, _)| *other != key);
            expected.push((key, item));
        }
        expected.sort_by_key(|(key, _)| *key);
        db.run(|tx| tx.remove(&table, &(round * 10))).unwrap();
        expected.retain(|(key, _)| *key != round * 10);
        if round == 2 {
            assert_eq!(db.checkpoint().unwrap().rows, expected.len() as u64);
        }
    }
}

#[test]
fn many_results_wait_for_the_disk_together() {
    let path = Scratch::new();
    let options = Options::default().durability(Durability::Epoch);
    let db = Database::open_with(&path, options).unwrap();
    let counters = common::counters(&db, 10);
    let pending: Vec<Pending<u64>> = (0..1000)
        .map(|number| {
            db.submit(|tx| {
                tx.update(&counters, &(number % 10), |count| *count += 1)?;
                Ok(number)
            })
            .unwrap()
        })
        .collect();
    let durable = db.storage().unwrap().durable_epoch;
    for (number, one) in pending.into_iter().enumerate() {
        assert!(one.epoch() > 0);
        assert_eq!(one.wait().unwrap(), number as u64);
    }
    assert!(db.storage().unwrap().durable_epoch > durable);
    let last = db.submit(|tx| tx.get(&counters, &0)).unwrap();
    let epoch = last.epoch();
    db.sync().unwrap();
    assert!(last.is_durable().unwrap(), "{epoch} {:?}", db.storage());
}

#[test]
fn what_only_read_waits_for_what_it_saw_and_no_longer() {
    let path = Scratch::new();
    // No epoch ends by itself.
    let hour = Duration::from_secs(3600);
    let options = Options::default().durability(Durability::Epoch).epoch(hour);
    let db = Database::open_with(&path, options).unwrap();
    let rows = common::counters(&db, 100);
    db.sync().unwrap();
    let durable = |pending: Pending<u64>| pending.is_durable().unwrap();
    let get = |key: u64| durable(db.submit(|tx| Ok(tx.get(&rows, &key)?.unwrap_or(0))).unwrap());
    let scan = |keys: std::ops::Range<u64>| {
        durable(
            db.submit(|tx| tx.scan(&rows, keys.clone()).values().map(|it| it.len() as u64))
                .unwrap(),
        )
    };
    assert!(get(3) && get(1_000) && scan(0..100));
    assert!(!durable(db.submit(|tx| tx.put(&rows, &3, &7).map(|()| 0)).unwrap()));
    assert_eq!((get(3), get(4), scan(0..3), scan(0..4)), (false, true, true, false));
    // A row that is gone is seen where it was, also when nothing of it is left there.
    db.run(|tx| tx.remove(&rows, &50)).unwrap();
    for _ in 0..1_000 {
        assert_eq!((get(50), scan(50..51), scan(0..100)), (false, false, false));
    }
    assert_eq!((get(4), get(90)), (true, true));
    db.sync().unwrap();
    assert!(get(3) && get(50) && scan(0..100));
}

#[test]
fn a_pending_result_is_a_future_of_no_runtime() {
    let path = Scratch::new();
    let options = Options::default().durability(Durability::Epoch);
    let db = Database::open_with(&path, options).unwrap();
    let counters = common::counters(&db, 1);
    let (result, polls) = block_on(db.submit(|tx| tx.put(&counters, &0, &7)).unwrap());
    result.unwrap();
    assert!(polls < 100, "woken for nothing {polls} times");
    // In memory there is nothing to wait for.
    let db = Database::in_memory().unwrap();
    let counters = common::counters(&db, 1);
    assert!(db.submit(|tx| tx.get(&counters, &0)).unwrap().is_durable().unwrap());
}

#[test]
fn threads_that_wait_share_their_syncs() {
    let path = Scratch::new();
    let db = Database::open(&path).unwrap();
    let counters = common::counters(&db, 8);
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let (db, counters) = (&db, &counters);
            scope.spawn(move || {
                for _ in 0..50 {
                    db.run(|tx| tx.update(counters, &thread, |count| *count += 1)).unwrap();
                }
            });
        }
    });
    drop(db);
    let db = Database::open(&path).unwrap();
    let counters: Table<u64, u64> = db.table("counters").unwrap();
    let counts = db.run(|tx| tx.scan(&counters, ..).values()).unwrap();
    assert_eq!(counts, [50; 8]);
}

#[test]
fn a_backup_is_a_database_and_a_copy_of_it_too() {
    let (path, backup, restored) = (Scratch::new(), Scratch::new(), Scratch::new());
    let db = Database::open(&path).unwrap();
    let items: Table<u64, Item> = db.create_table("items").unwrap();
    let row = |key: u64| (key, Item { group: key as u32 % 5, count: key });
    db.bulk_load(&items, (0..1000).map(row)).unwrap();
    db.checkpoint().unwrap();
    db.run(|tx| tx.remove(&items, &3)).unwrap();
    assert!(db.backup(&backup).unwrap().files >= 2);
    db.run(|tx| tx.remove(&items, &4)).unwrap();
    assert!(matches!(db.backup(&backup), Err(Error::Data(LogError::NotEmpty { .. }))));
    let contents = chiliad::directory::inspect(&backup, &|_, _, _| {}).unwrap();
    assert_eq!(contents.tables, ["items"]);
    chiliad::directory::copy(&backup, &restored).unwrap();
    let copy = Database::open(&restored).unwrap();
    let expected: Vec<_> = (0..1000).filter(|key| *key != 3).map(row).collect();
    assert_eq!(all(&copy, &copy.table("items").unwrap()), expected);
}

#[test]
fn what_is_damaged_is_not_copied() {
    let (path, backup) = (Scratch::new(), Scratch::new());
    let db = Database::open(&path).unwrap();
    let rows: Table<u64, u64> = db.create_table("rows").unwrap();
    db.bulk_load(&rows, (0..1000).map(|key| (key, key))).unwrap();
    let part = db.checkpoint().unwrap().info.number;
    let part = format!("checkpoint-{part:08x}-0000");
    let sound = std::fs::read(path.join(&part)).unwrap();
    let mut damaged = sound.clone();
    damaged[4096 + 8] ^= 1;
    std::fs::write(path.join(&part), &damaged).unwrap();
    let refused = |result: chiliad::Result<_>| {
        let error = result.expect_err("refused").to_string();
        assert!(error.contains(&part), "{error}");
        assert!(!backup.exists(), "{error}");
    };
    refused(db.backup(&backup));
    std::fs::remove_file(path.join(&part)).unwrap();
    refused(db.backup(&backup));
    drop(db);
    refused(chiliad::directory::copy(&path, &backup));
    std::fs::write(path.join(&part), &damaged).unwrap();
    refused(chiliad::directory::copy(&path, &backup));
    std::fs::write(path.join(&part), &sound).unwrap();
    chiliad::directory::copy(&path, &backup).unwrap();
}

#[test]
fn a_checkpoint_of_an_idle_database_outlives_a_kill() {
    let path = Scratch::new();
    let options = Options::default().epoch(Duration::from_millis(1)).log_writers(2);
    let db = Database::open_with(&path, options).unwrap();
    let items: Table<u64, Item> = db.create_table("items").unwrap();
    for count in 0..2 {
        // Epochs go by in which nothing happens, and of which the log does not tell.
        let durable = || db.storage().unwrap().durable_epoch;
        let later = durable() + 20;
        while durable() < later {
            std::thread::yield_now();
        }
        db.checkpoint().unwrap();
        let copy = common::killed(&path);
        let left = Database::open(&copy).unwrap();
        assert_eq!(all(&left, &left.table("items").unwrap()).len(), count);
        drop(left);
        db.run(|tx| tx.put(&items, &1, &Item { group: 1, count: 1 })).unwrap();
    }
}

#[test]
fn memory_of_removed_rows_knows_no_epochs_of_the_last_opening() {
    let path = Scratch::new();
    let db = Database::open(&path).unwrap();
    let table: Table<u64, u64> = db.create_table("rows").unwrap();
    let opened_at = db.storage().unwrap().epoch;
    while db.storage().unwrap().epoch < opened_at + 1000 {
        db.run(|tx| tx.put(&table, &0, &0)).unwrap();
    }
    db.run(|tx| (1..9_000).try_for_each(|key| tx.insert(&table, &key, &key))).unwrap();
    db.run(|tx| (1..9_000).try_for_each(|key| tx.remove(&table, &key).map(drop))).unwrap();
    drop(db);
    // Epochs begin anew, and new rows live where recovery has taken the removed ones out.
    let options = Options::default().durability(Durability::Epoch).epoch(Duration::from_secs(1));
    let db = Database::open_with(&path, options).unwrap();
    let table: Table<u64, u64> = db.table("rows").unwrap();
    let at_once = RunOptions::default().retries_max(5);
    for key in 10_000..20_000 {
        db.run_with(&at_once, |tx| tx.insert(&table, &key, &key)).unwrap();
    }
}

#[test]
fn a_directory_is_read_without_being_changed() {
    let path = Scratch::new();
    let db = Database::open(&path).unwrap();
    let items: Table<u64, Item> = db.create_table("items").unwrap();
    db.run(|tx| tx.insert(&items, &1, &Item { group: 1, count: 1 })).unwrap();
    drop(db);
    let names = || {
        let files = std::fs::read_dir(&*path).unwrap();
        let mut names: Vec<_> = files.map(|it| it.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let read_only = Options::default().read_only(true);
    let one = Database::open_with(&path, read_only.clone()).unwrap();
    let two = Database::open_with(&path, read_only).unwrap();
    let items: Table<u64, Item> = one.table("items").unwrap();
    assert_eq!(all(&one, &items).len(), 1);
    let refused = one.run(|tx| tx.remove(&items, &1));
    assert_eq!(refused, Err(Error::OpenedReadOnly));
    assert_eq!(one.create_table::<u64, u64>("more").err(), Some(Error::OpenedReadOnly));
    assert!(matches!(Database::open(&path), Err(Error::Data(LogError::OpenHere { .. }))));
    drop((one, two));
    assert_eq!(names(), before);
}

/// One line, and nothing is touched.
fn refused(path: &Path, options: Options) -> String {
    let error = Database::open_with(path, options).expect_err("refused").to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn bad_directories_are_told_apart() {
    let path = Scratch::new();
    std::fs::create_dir(&*path).unwrap();
    std::fs::write(path.join("notes.txt"), "mine").unwrap();
    assert!(refused(&path, Options::default()).contains("none of them is a Chiliad manifest"));
    let missing = path.join("not").join("there");
    assert!(refused(&missing, Options::default()).contains("No such file"));
    let file = path.join("notes.txt");
    assert!(refused(&file, Options::default()).contains("Not a directory"));
    let read_only = Options::default().read_only(true);
    assert!(refused(&path.join("nothing"), read_only).contains("No such file"));
    let none = Options::default().durability(Durability::None);
    assert!(refused(&missing, none).contains("Epoch and Sync are accepted"));

    let path = Scratch::new();
    let db = Database::open(&path).unwrap();
    assert!(refused(&path, Options::default()).contains("open in this process already"));
    db.create_table_raw(TableSpec::ordered("rows")).unwrap();
    drop(db);
    let manifest = path.join("MANIFEST");
    let sound = std::fs::read(&manifest).unwrap();
    let mut newer = sound.clone();
    newer[8] = 200;
    std::fs::write(&manifest, &newer).unwrap();
    let error = refused(&path, Options::default());
    assert!(error.contains("format version 200; accepted: up to 4"), "{error}");
    let mut damaged = sound.clone();
    damaged[40] ^= 1;
    std::fs::write(&manifest, &damaged).unwrap();
    let error = refused(&path, Options::default());
    assert!(error.contains("MANIFEST is damaged at byte"), "{error}");
    std::fs::write(&manifest, &sound).unwrap();
    let log = path.join("log-00000001-0000-00000000");
    std::fs::remove_file(&log).unwrap();
    let error = refused(&path, Options::default());
    assert!(error.contains("log-00000001-0000-00000000") && error.contains("missing"), "{error}");
}

#[test]
fn schemes_without_transactions_log_too() {
    let path = Scratch::new();
    for round in 0..2 {
        let options = Options::default().scheme(Scheme::KeyValue);
        let db = Database::open_with(&path, options).unwrap();
        if round == 0 {
            let counters = common::counters(&db, 3);
            db.run(|tx| tx.put(&counters, &1, &5)).unwrap();
        } else {
            let counters: Table<u64, u64> = db.table("counters").unwrap();
            let counts = db.run(|tx| tx.scan(&counters, ..).values()).unwrap();
            assert_eq!(counts, [0, 5, 0]);
        }
    }
}

#[test]
fn a_thread_that_ends_may_still_wait_for_the_disk() {
    struct Last(Database, Table<u64, Item>);
    impl Drop for Last {
        fn drop(&mut self) {
            let item = Item { group: 1, count: 1 };
            self.0.run(|tx| tx.insert(&self.1, &u64::from(item.group), &item)).unwrap();
        }
    }
    thread_local! {
        static EARLY: std::cell::RefCell<Option<Last>> = const { std::cell::RefCell::new(None) };
    }
    let path = Scratch::new();
    let db = Database::open(&path).unwrap();
    let items: Table<u64, Item> = db.create_table("items").unwrap();
    let last = Last(db.clone(), items);
    std::thread::spawn(move || EARLY.with_borrow_mut(|early| *early = Some(last))).join().unwrap();
    let copy = common::killed(&path);
    let left = Database::open(&copy).unwrap();
    assert_eq!(all(&left, &left.table("items").unwrap()).len(), 1);
    assert_eq!(all(&db, &items).len(), 1);
}
