//! Writes that tell what was there, and removals of many rows, against a plain ordered map.

use crate::common::{Dice, OPTIMISTIC, counters, open, others_can_write};
use chiliad::raw::TableSpec;
use chiliad::{Database, Error, Options, Result, Scheme, Table, Transaction};
use std::collections::BTreeMap;

type Model = BTreeMap<u16, String>;
type Rows = Table<u16, String>;

/// One random call in a transaction and on the model: both tell the same.
fn step(tx: &mut Transaction<'_>, rows: &Rows, model: &mut Model, dice: &mut Dice) -> Result<()> {
    let (key, row) = (dice.below(300) as u16, "x".repeat(dice.below(20) as usize));
    let (low, high) = (key, key.saturating_add(dice.below(20) as u16));
    match dice.below(9) {
        0 => assert_eq!(tx.replace(rows, &key, &row)?, model.insert(key, row)),
        1 => assert_eq!(tx.take(rows, &key)?, model.remove(&key)),
        2 => {
            let expected = model.get(&key).cloned();
            assert_eq!(tx.insert_if_absent(rows, &key, &row)?, expected);
            model.entry(key).or_insert(row);
        }
        3 => {
            let make = |before: Option<String>| before.map_or(row.clone(), |before| before + "y");
            let before = model.get(&key).cloned();
            assert_eq!(tx.upsert(rows, &key, make)?, before.is_some());
            model.insert(key, make(before));
        }
        4 => {
            let length = tx.update(rows, &key, |row| {
                row.push('z');
                row.len()
            })?;
            let expected = model.get_mut(&key).map(|row| {
                row.push('z');
                row.len()
            });
            assert_eq!(length, expected);
        }
        5 => assert_eq!(tx.pop_first(rows)?, model.pop_first()),
        6 => assert_eq!(tx.pop_last(rows)?, model.pop_last()),
        7 => {
            let before = model.len();
            let removed = tx.remove_range(rows, low..high)?;
            model.retain(|key, _| !(low..high).contains(key));
            assert_eq!(removed, before - model.len());
        }
        _ => {
            let before = model.len();
            let keep = |key: &u16, row: &String| !key.is_multiple_of(3) || row.len() < 5;
            let removed = tx.retain(rows, low..=high, |key, row| keep(key, row))?;
            model.retain(|key, row| !(low..=high).contains(key) || keep(key, row));
            assert_eq!(removed, before - model.len());
        }
    }
    Ok(())
}

fn agrees_with_a_model(db: &Database, rows: &Rows, what: &str) {
    let mut dice = Dice::new(11);
    let mut model: Model = (0..300).map(|key| (key, "start".into())).collect();
    db.run(|tx| model.iter().try_for_each(|(key, row)| tx.insert(rows, key, row))).unwrap();
    for _ in 0..150 {
        let (calls, commits) = (dice.below(12), dice.below(3) > 0);
        let seed = dice.below(u64::MAX);
        let result = db.run(|tx| {
            let (mut next, mut dice) = (model.clone(), Dice::new(seed));
            for _ in 0..calls {
                step(tx, rows, &mut next, &mut dice)?;
            }
            if commits { Ok(next) } else { Err(Error::RolledBack) }
        });
        match result {
            Ok(next) => model = next,
            Err(error) => assert_eq!(error, Error::RolledBack, "{what}"),
        }
        let expected: Vec<_> = model.iter().map(|(key, row)| (*key, row.clone())).collect();
        assert_eq!(db.run(|tx| tx.scan(rows, ..).rows()).unwrap(), expected, "{what}");
    }
    // All of it, in several pieces.
    db.run(|tx| (0..300).try_for_each(|key| tx.put(rows, &key, &"end".into()))).unwrap();
    assert_eq!(db.run(|tx| tx.retain(rows, .., |key, _| key % 2 == 0)).unwrap(), 150);
    assert_eq!(db.run(|tx| tx.remove_range(rows, ..)).unwrap(), 150);
    assert_eq!(db.run(|tx| tx.pop_first(rows)).unwrap(), None);
    assert_eq!(db.run(|tx| tx.pop_last(rows)).unwrap(), None);
}

#[test]
fn changes_tell_what_a_model_tells() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let rows = db.create_table("rows").unwrap();
        agrees_with_a_model(&db, &rows, scheme.name());
    }
    let db = Database::join("memory:changes", Options::default()).unwrap();
    let rows = db.create_table("rows").unwrap();
    agrees_with_a_model(&db, &rows, "joined");
}

#[test]
fn hash_tables_have_the_calls_for_one_key() {
    let db = open(Scheme::Silo);
    let rows: Rows = db.create_table_with(TableSpec::hash("rows", 9)).unwrap();
    db.run(|tx| {
        assert_eq!(tx.replace(&rows, &1, &"a".into())?, None);
        assert!(tx.upsert(&rows, &1, |row| row.unwrap() + "b")?);
        assert_eq!(tx.insert_if_absent(&rows, &1, &"c".into())?.as_deref(), Some("ab"));
        assert_eq!(tx.take(&rows, &1)?.as_deref(), Some("ab"));
        assert_eq!(tx.pop_first(&rows), Err(Error::NotOrdered));
        assert_eq!(tx.retain(&rows, .., |_, _| true), Err(Error::NotOrdered));
        Ok(())
    })
    .unwrap();
}

#[test]
fn increments_by_upsert_are_not_lost() {
    for scheme in crate::common::serializable() {
        let db = open(scheme);
        let rows = counters(&db, 0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for turn in 0..200 {
                        // Insertions meet each other too.
                        let add = |count: Option<u64>| count.unwrap_or(0) + 1;
                        db.run(|tx| tx.upsert(&rows, &(turn % 40), add)).unwrap();
                    }
                });
            }
        });
        let sum: u64 = db.run(|tx| tx.scan(&rows, ..).values()).unwrap().iter().sum();
        assert_eq!(sum, 600, "{scheme}");
    }
}

#[test]
fn rows_popped_by_several_threads_come_once() {
    for scheme in crate::common::serializable() {
        let db = open(scheme);
        let rows = counters(&db, 200);
        let mut popped = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        let pop = || db.run(|tx| tx.pop_first(&rows)).unwrap();
                        std::iter::from_fn(pop).map(|(key, _)| key).collect::<Vec<u64>>()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        popped.sort_unstable();
        assert_eq!(popped, (0..200).collect::<Vec<_>>(), "{scheme}");
    }
}

#[derive(Debug, PartialEq)]
enum Refusal {
    /// The message of a conflict, which says no more that it is one.
    Text(String),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Text(error.to_string())
    }
}

#[test]
fn a_conflict_that_has_become_another_error_is_run_again() {
    for scheme in OPTIMISTIC {
        let db = open(scheme);
        let rows = counters(&db, 3);
        let mut worker = db.worker().unwrap();
        let mut attempts = 0;
        let mut body = |tx: &mut Transaction<'_>| -> core::result::Result<u64, Refusal> {
            attempts += 1;
            let seen = tx.get(&rows, &0)?.unwrap_or(0);
            if attempts % 2 == 1 {
                db.run(|other| other.update(&rows, &0, |count| *count += 1))?;
                return Err(Refusal::Text("seen too early".into()));
            }
            tx.put(&rows, &1, &seen)?;
            Ok(seen)
        };
        assert_eq!(db.try_run(&mut body), Ok(1), "{scheme}");
        assert_eq!(worker.try_run(&mut body), Ok(2), "{scheme}");
        assert_eq!(attempts, 4);
        let refused = db.try_run(|tx| -> core::result::Result<(), Refusal> {
            tx.put(&rows, &2, &5)?;
            Err(Refusal::Text("no".into()))
        });
        assert_eq!(refused, Err(Refusal::Text("no".into())));
        assert_eq!(db.run(|tx| tx.get(&rows, &2)), Ok(Some(0)));
        others_can_write(&db, rows, [(0, 7), (2, 7)]);
    }
}
