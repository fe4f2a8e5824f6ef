//! Positions in the changes of a database: kept, passed, unknown; and what a change says of itself.

use crate::common::Scratch;
use chiliad::changes::Position;
use chiliad::raw::TableSpec;
use chiliad::row::Value;
use chiliad::shared_log::MemoryLog;
use chiliad::{Cancel, Database, Durability, Error, Options, Row, RunOptions, Table};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn options() -> Options {
    Options::default()
        .durability(Durability::Epoch)
        .epoch(Duration::from_millis(2))
        .log_segment_bytes(64 << 10)
}

fn open(place: &Path) -> (Database, Table<u64, Vec<u8>>) {
    let db = Database::open_with(place, options()).unwrap();
    let table = db.open_or_create_table("rows").unwrap();
    (db, table)
}

/// Several files of the log full of changes.
fn fill(db: &Database, table: &Table<u64, Vec<u8>>) {
    for key in 0..300 {
        db.run(|tx| tx.put(table, &key, &vec![7; 2000])).unwrap();
        if key % 20 == 0 {
            db.sync().unwrap();
        }
    }
    db.sync().unwrap();
}

#[test]
fn a_position_that_was_passed_names_both() {
    let place = Scratch::new();
    let (db, table) = open(&place);
    fill(&db, &table);
    let mut slow = db.changes(Position::START).unwrap();
    slow.try_next().unwrap().unwrap();
    db.checkpoint().unwrap();
    let error = db.changes(Position::START).unwrap_err();
    let Error::PositionPassed(passed) = &error else { panic!("{error}") };
    assert_eq!((passed.position, passed.oldest), (Position::START, db.oldest_position().unwrap()));
    let text = error.to_string();
    assert!(text.contains(&Position::START.to_string()), "{text}");
    assert!(text.contains(&passed.oldest.to_string()), "{text}");
    // One that has begun is told so too, and not given something else.
    let overtaken = slow.find_map(Result::err).unwrap();
    assert!(matches!(overtaken, Error::PositionPassed(_)), "{overtaken}");
    // The database goes on, and so does who begins where changes are.
    let mut changes = db.changes(passed.oldest).unwrap();
    db.run(|tx| tx.put(&table, &1, &vec![8])).unwrap();
    db.sync().unwrap();
    let last = changes.by_ref().map(Result::unwrap).last().unwrap();
    assert_eq!(last.of(&table).unwrap(), Some((1, Some(vec![8]))));
}

#[test]
fn who_has_met_everything_goes_on_after_restarts_and_checkpoints() {
    let place = Scratch::new();
    let mut position = Position::START;
    let mut met = 0;
    for round in 0..4 {
        let (db, table) = open(&place);
        let mut changes = db.changes(position).unwrap();
        db.checkpoint().unwrap();
        if round == 1 {
            // An opening in which nothing happens, and its log goes.
            continue;
        }
        fill(&db, &table);
        met += changes.by_ref().map(Result::unwrap).count();
        position = changes.position();
        db.checkpoint().unwrap();
        // Nothing is kept for it, and nothing is missing.
        assert_eq!(db.changes(position).unwrap().count(), 0);
        drop(changes);
        db.close().unwrap();
    }
    assert_eq!(met, 900);
}

#[test]
fn so_much_log_is_kept_as_was_asked_for() {
    let place = Scratch::new();
    let keeping = options().change_log_bytes(200 << 10);
    let db = Database::open_with(&*place, keeping).unwrap();
    let table: Table<u64, Vec<u8>> = db.create_table("rows").unwrap();
    fill(&db, &table);
    db.checkpoint().unwrap();
    let oldest = db.oldest_position().unwrap();
    assert!(oldest > Position::START);
    let count = db.changes(oldest).unwrap().map(Result::unwrap).count();
    assert!(
        (20..250).contains(&count),
        "{count} changes of 2,000 bytes in 200 KiB and an open file"
    );
    drop(db);
    // Kept beyond a restart, and beyond the checkpoint of another opening, which has begun a file of its own.
    let db = Database::open_with(&*place, options().change_log_bytes((200 + 64) << 10)).unwrap();
    assert_eq!(db.oldest_position().unwrap(), oldest);
    db.checkpoint().unwrap();
    let kept = db.changes(db.oldest_position().unwrap()).unwrap().map(Result::unwrap).count();
    assert!((20..=count).contains(&kept), "{kept} of {count}");
}

#[test]
fn positions_of_another_database_and_of_the_future_are_refused() {
    let (one, other) = (Scratch::new(), Scratch::new());
    let (one, _) = open(&one);
    let (other, _) = open(&other);
    let position = other.newest_position().unwrap();
    assert!(matches!(one.changes(position), Err(Error::UnknownPosition(_))));
    let newest = one.newest_position().unwrap();
    let ahead = Position { epoch: newest.epoch + 1_000_000, ..newest };
    let error = one.changes(ahead).unwrap_err();
    assert_eq!(error, Error::UnknownPosition(Box::new(ahead)));
    assert!(error.to_string().contains(&ahead.to_string()));
    let later = Position { incarnation: newest.incarnation + 1, epoch: 0, ..newest };
    assert!(matches!(one.changes(later), Err(Error::UnknownPosition(_))));
    assert_eq!(one.changes(newest).unwrap().count(), 0);
}

#[test]
fn without_a_log_of_its_own_a_database_has_no_changes() {
    let memory = Database::in_memory().unwrap();
    assert!(matches!(memory.changes(Position::START), Err(Error::InvalidOption(_))));
    let joined = Database::join_log(Arc::new(MemoryLog::new()), Options::default()).unwrap();
    assert!(matches!(joined.changes(Position::START), Err(Error::InvalidOption(_))));
    let place = Scratch::new();
    drop(open(&place));
    let looking = Database::open_with(&*place, options().read_only(true)).unwrap();
    assert!(matches!(looking.changes(Position::START), Err(Error::InvalidOption(_))));
    assert!(matches!(looking.newest_position(), Err(Error::InvalidOption(_))));
}

#[test]
fn a_backup_begins_without_the_log_that_is_kept() {
    let (place, copy) = (Scratch::new(), Scratch::new());
    let db = Database::open_with(&*place, options().change_log_bytes(u64::MAX)).unwrap();
    let table: Table<u64, Vec<u8>> = db.create_table("rows").unwrap();
    fill(&db, &table);
    db.checkpoint().unwrap();
    db.backup(&*copy).unwrap();
    assert_eq!(db.changes(Position::START).unwrap().count(), 300);
    let (copied, _) = open(&copy);
    let refused = copied.changes(Position::START);
    assert!(matches!(refused, Err(Error::PositionPassed(_))), "{refused:?}");
    copied.changes(copied.oldest_position().unwrap()).unwrap();
}

#[test]
fn damage_to_kept_log_is_told_and_the_database_goes_on() {
    let place = Scratch::new();
    let keeping = options().change_log_bytes(u64::MAX);
    let db = Database::open_with(&*place, keeping.clone()).unwrap();
    let table: Table<u64, Vec<u8>> = db.create_table("rows").unwrap();
    fill(&db, &table);
    db.checkpoint().unwrap();
    drop(db);
    let first = place.join("log-00000001-0000-00000000");
    let mut bytes = std::fs::read(&first).unwrap();
    bytes[16_500..16_600].fill(0xee);
    std::fs::write(&first, bytes).unwrap();
    let db = Database::open_with(&*place, keeping).unwrap();
    let error = db.changes(Position::START).unwrap_err();
    assert!(matches!(error, Error::Data(_)), "{error}");
    assert!(error.to_string().contains("log-00000001-0000-00000000"), "{error}");
    // A follower that begins after the damage goes on.
    assert_eq!(db.changes(db.newest_position().unwrap()).unwrap().count(), 0);
    let table: Table<u64, Vec<u8>> = db.table("rows").unwrap();
    db.run(|tx| tx.put(&table, &1, &vec![9])).unwrap();
}

#[derive(Row, Debug, PartialEq)]
struct Before {
    name: String,
}

#[derive(Row, Debug, PartialEq)]
struct After {
    name: String,
    #[row(default = 18)]
    age: u8,
}

#[test]
fn rows_of_an_earlier_schema_come_as_rows_of_the_newest() {
    let place = Scratch::new();
    let db = Database::open_with(&*place, options()).unwrap();
    let before: Table<u64, Before> = db.create_table("people").unwrap();
    let gone: Table<u64, u64> = db.create_table("gone").unwrap();
    let bytes = db.create_table_raw(TableSpec::ordered("bytes")).unwrap();
    db.run(|tx| {
        use chiliad::raw::Transaction as _;
        tx.insert(&before, &1, &Before { name: "ann".into() })?;
        tx.insert(&gone, &1, &1)?;
        tx.raw().insert(bytes, b"key", b"value")
    })
    .unwrap();
    let after: Table<u64, After> = db.table("people").unwrap();
    db.run(|tx| tx.insert(&after, &2, &After { name: "bob".into(), age: 5 })).unwrap();
    db.run(|tx| tx.remove(&after, &1)).unwrap();
    db.drop_table("gone").unwrap();
    db.sync().unwrap();
    let changes: Vec<_> = db.changes(Position::START).unwrap().map(Result::unwrap).collect();
    let people: Vec<_> = changes.iter().filter_map(|it| it.of(&after).unwrap()).collect();
    let person = |name: &str, age| Some(After { name: name.into(), age });
    assert_eq!(people, [(1, person("ann", 18)), (2, person("bob", 5)), (1, None)]);
    assert_eq!(changes.len(), 4, "without the table that was dropped");
    let (key, row) = changes[0].values().unwrap();
    assert_eq!(key, [Value::Unsigned(1)]);
    assert_eq!(row.unwrap(), [Value::Text("ann".into()), Value::Unsigned(18)]);
    assert_eq!((changes[1].table(), changes[1].key()), ("bytes", &b"key"[..]));
    assert_eq!(changes[1].row(), Some(&b"value"[..]));
    assert_eq!(changes[0].commit(), changes[1].commit());
    assert!(changes[3].is_removal() && changes[3].is_last_of_epoch());
    // A handle from before is told.
    assert!(matches!(changes[2].of(&before), Err(Error::SchemaChanged(_))));
}

#[test]
fn a_table_that_is_rewritten_is_given_once_it_is_in_force() {
    let place = Scratch::new();
    let db = Database::open_with(&*place, options()).unwrap();
    let before: Table<u64, Before> = db.create_table("people").unwrap();
    db.run(|tx| (0..50).try_for_each(|key| tx.insert(&before, &key, &Before { name: "x".into() })))
        .unwrap();
    db.sync().unwrap();
    let mut changes = db.changes(Position::START).unwrap();
    assert_eq!(changes.by_ref().map(Result::unwrap).count(), 50);
    db.change_tables(|made| {
        made.rewrite("people", |key: u64, row: Before| {
            Ok((key + 100, After { name: row.name, age: 1 }))
        })?;
        db.sync()?;
        // The new rows are durable, and not in force.
        assert_eq!(changes.by_ref().map(Result::unwrap).count(), 0);
        Ok(())
    })
    .unwrap();
    db.sync().unwrap();
    let after: Table<u64, After> = db.table("people").unwrap();
    let given: Vec<_> =
        changes.map(|change| change.unwrap().of(&after).unwrap().unwrap()).collect();
    assert_eq!(given.len(), 50);
    assert!(given.iter().all(|(key, row)| *key >= 100 && row.as_ref().unwrap().age == 1));
}

#[test]
fn who_waits_is_woken_and_not_for_longer_than_it_said() {
    let place = Scratch::new();
    let (db, table) = open(&place);
    let mut changes = db.changes(db.newest_position().unwrap()).unwrap();
    assert!(changes.next_within(Duration::from_millis(5)).unwrap().is_none());
    let waited = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            db.run(|tx| tx.put(&table, &7, &vec![1])).unwrap();
        });
        let begun = Instant::now();
        let change = changes.next_within(Duration::from_secs(20)).unwrap().unwrap();
        assert_eq!(change.of(&table).unwrap(), Some((7, Some(vec![1]))));
        begun.elapsed()
    });
    assert!(waited < Duration::from_secs(10), "{waited:?}");
    let cancel = Cancel::new();
    cancel.cancel();
    let canceled = changes.next_with(&RunOptions::default().cancel(&cancel));
    assert_eq!(canceled.unwrap_err(), Error::Canceled);
}
