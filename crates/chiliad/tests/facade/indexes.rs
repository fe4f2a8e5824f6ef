//! Secondary indexes agree with their rows, against a model and between threads.

use crate::common::{Dice, open, others_can_write, serializable};
use chiliad::raw::TableSpec;
use chiliad::{Database, Error, Row, RunOptions, Scheme, Table, Text};
use std::cmp::Reverse;
use std::collections::BTreeMap;

#[derive(Row, Clone, Debug, PartialEq)]
#[index(by_city(city, born desc))]
#[index(by_badge(badge), unique)]
#[index(by_debt(debt))]
struct Person {
    city: Text<6>,
    born: u16,
    badge: u32,
    debt: i32,
    note: String,
}

const CITIES: [&str; 5] = ["", "a", "a\0b", "ab", "zürch"];

fn anybody(dice: &mut Dice) -> Person {
    Person {
        city: Text::new(CITIES[dice.below(5) as usize]).unwrap(),
        born: dice.below(4) as u16 * 100,
        badge: dice.below(60) as u32,
        debt: dice.below(7) as i32 - 3,
        note: "x".repeat(dice.below(300) as usize),
    }
}

type Model = BTreeMap<u64, Person>;

/// Whether a unique index forbids `person` under `key`.
fn violates(model: &Model, key: u64, person: &Person) -> bool {
    model.iter().any(|(&other, row)| other != key && row.badge == person.badge)
}

/// One random operation on the table and on the model.
fn step(db: &Database, people: Table<u64, Person>, model: &mut Model, dice: &mut Dice) {
    let key = dice.below(40);
    let person = anybody(dice);
    let unique = Error::UniqueViolation { index: "by_badge".into() };
    let violates = violates(model, key, &person);
    match dice.below(6) {
        0 | 1 => {
            let expected = match (model.contains_key(&key), violates) {
                (true, _) => Err(Error::duplicate_key("people", &key.to_be_bytes())),
                (false, true) => Err(unique),
                (false, false) => Ok(()),
            };
            assert_eq!(db.run(|tx| tx.insert(&people, &key, &person)), expected);
            if expected.is_ok() {
                model.insert(key, person);
            }
        }
        2 => {
            let expected = if violates { Err(unique) } else { Ok(()) };
            assert_eq!(db.run(|tx| tx.put(&people, &key, &person)), expected);
            if expected.is_ok() {
                model.insert(key, person);
            }
        }
        3 => {
            let result = db.run(|tx| tx.update(&people, &key, |row| *row = person.clone()));
            match (model.contains_key(&key), violates) {
                (false, _) => assert_eq!(result, Ok(None)),
                (true, true) => assert_eq!(result, Err(unique)),
                (true, false) => {
                    assert_eq!(result, Ok(Some(())));
                    model.insert(key, person);
                }
            }
        }
        4 => {
            let removed = db.run(|tx| tx.remove(&people, &key)).unwrap();
            assert_eq!(removed, model.remove(&key).is_some());
        }
        _ => several(db, people, model, dice),
    }
}

/// Several operations in one transaction, which rolls back or commits.
fn several(db: &Database, people: Table<u64, Person>, model: &mut Model, dice: &mut Dice) {
    let steps: Vec<(u64, u64, Person)> =
        (0..4).map(|_| (dice.below(3), dice.below(40), anybody(dice))).collect();
    let commit = dice.below(3) > 0;
    let result = db.run(|tx| {
        let mut next = model.clone();
        for (what, key, person) in &steps {
            let fits = !violates(&next, *key, person);
            match what {
                0 if fits => {
                    tx.put(&people, key, person)?;
                    next.insert(*key, person.clone());
                }
                1 => {
                    if let Some(row) = tx.fetch(&people, key)? {
                        tx.delete(row)?;
                    }
                    next.remove(key);
                }
                _ => {
                    if let Some(mut row) = tx.fetch(&people, key)? {
                        row.debt += 1;
                        tx.store(&row)?;
                        next.entry(*key).and_modify(|row| row.debt += 1);
                    }
                }
            }
            // The transaction sees its own changes through the indexes.
            let debtors = tx.find_range(&people, Person::BY_DEBT, (1,)..).count()?;
            assert_eq!(debtors, next.values().filter(|row| row.debt >= 1).count());
        }
        if commit { Ok(next) } else { Err(Error::RolledBack) }
    });
    match result {
        Ok(next) => *model = next,
        Err(error) => assert_eq!(error, Error::RolledBack),
    }
}

/// Look-ups of all kinds give what the model gives.
fn compare(db: &Database, people: Table<u64, Person>, model: &Model) {
    db.run(|tx| {
        let rows: Vec<_> = model.iter().map(|(key, row)| (*key, row.clone())).collect();
        assert_eq!(tx.scan(&people, ..).rows()?, rows);
        let in_order = |keep: &dyn Fn(&Person) -> bool| {
            let mut kept: Vec<_> = rows.iter().filter(|(_, row)| keep(row)).collect();
            kept.sort_by_key(|(key, row)| (&*row.city, Reverse(row.born), *key));
            kept.into_iter().map(|(_, row)| row.clone()).collect::<Vec<_>>()
        };
        for city in CITIES {
            let expected = in_order(&|row| row.city == city);
            assert_eq!(tx.find(&people, Person::BY_CITY, &(city,)).values()?, expected);
            let mut backwards = expected.clone();
            backwards.reverse();
            backwards.truncate(3);
            let found = tx.find(&people, Person::BY_CITY, &(city,)).rev().limit(3).values()?;
            assert_eq!(found, backwards);
        }
        for badge in 0..60 {
            let found = tx.find(&people, Person::BY_BADGE, &(badge,)).first()?;
            let expected = rows.iter().find(|(_, row)| row.badge == badge);
            assert_eq!(found.as_ref(), expected);
        }
        let between = tx.find_range(&people, Person::BY_DEBT, (-2,)..=(1,)).values()?;
        let mut debts: Vec<i32> =
            rows.iter().map(|(_, row)| row.debt).filter(|debt| (-2..=1).contains(debt)).collect();
        debts.sort_unstable();
        assert_eq!(between.iter().map(|row| row.debt).collect::<Vec<_>>(), debts);
        use std::ops::Bound::{Excluded, Unbounded};
        let above = (Excluded((0,)), Unbounded);
        let above = tx.find_range(&people, Person::BY_DEBT, above).count()?;
        assert_eq!(above, rows.iter().filter(|(_, row)| row.debt > 0).count());
        Ok(())
    })
    .unwrap();
}

#[test]
fn indexes_agree_with_a_model() {
    for scheme in Scheme::ALL.into_iter().filter(|scheme| *scheme != Scheme::KeyValue) {
        for (seed, hash) in [(1, false), (2, false), (3, true)] {
            let db = open(scheme);
            let people = match hash {
                true => db.create_table_with(TableSpec::hash("people", 8)),
                false => db.create_table("people"),
            };
            let people: Table<u64, Person> = people.unwrap();
            let mut model = Model::new();
            let mut dice = Dice::new(seed);
            for round in 0..1_500 {
                step(&db, people, &mut model, &mut dice);
                if !hash && round % 50 == 0 {
                    compare(&db, people, &model);
                }
            }
            let person = anybody(&mut dice);
            model.retain(|_, row| row.badge == person.badge);
            if model.is_empty() {
                others_can_write(&db, people, [(999, person)]);
            }
        }
    }
}

#[test]
fn a_unique_violation_leaves_nothing_behind() {
    for scheme in serializable() {
        let db = open(scheme);
        let people: Table<u64, Person> = db.create_table("people").unwrap();
        let mut dice = Dice::new(9);
        let one = Person { badge: 1, ..anybody(&mut dice) };
        let two = Person { badge: 2, ..anybody(&mut dice) };
        db.run(|tx| {
            tx.insert(&people, &1, &one)?;
            tx.insert(&people, &2, &two)
        })
        .unwrap();
        let taken = Err(Error::UniqueViolation { index: "by_badge".into() });
        assert_eq!(db.run(|tx| tx.insert(&people, &3, &one)), taken);
        assert_eq!(db.run(|tx| tx.put(&people, &2, &one)), taken);
        // Badges may change hands within a transaction.
        db.run(|tx| {
            tx.remove(&people, &1)?;
            tx.put(&people, &2, &one)?;
            tx.insert(&people, &1, &two)
        })
        .unwrap();
        let model = Model::from([(1, two.clone()), (2, one.clone())]);
        compare(&db, people, &model);
        others_can_write(&db, people, [(1, two), (2, one)]);
    }
}

#[test]
fn a_row_stored_after_its_removal_has_its_entries() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let people: Table<u64, Person> = db.create_table("people").unwrap();
        let mut dice = Dice::new(3);
        let one = Person { badge: 1, ..anybody(&mut dice) };
        let two = Person { badge: 2, ..anybody(&mut dice) };
        for stored in [&one, &two] {
            db.run(|tx| tx.put(&people, &1, &one)).unwrap();
            db.run(|tx| {
                let first = tx.fetch(&people, &1)?.unwrap();
                let mut second = first.clone();
                tx.delete(first)?;
                second.value = stored.clone();
                tx.store(&second)
            })
            .unwrap();
            compare(&db, people, &Model::from([(1, stored.clone())]));
        }
    }
}

#[test]
fn threads_keep_indexes_in_line() {
    for scheme in serializable() {
        let db = open(scheme);
        let people: Table<u64, Person> = db.create_table("people").unwrap();
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let db = &db;
                scope.spawn(move || {
                    let mut dice = Dice::new(100 + thread);
                    for _ in 0..1_500 {
                        let (key, person) = (dice.below(40), anybody(&mut dice));
                        let what = dice.below(3);
                        let result = db.run_with(&RunOptions::default(), |tx| match what {
                            0 => tx.put(&people, &key, &person),
                            1 => tx.remove(&people, &key).map(drop),
                            _ => {
                                let found = tx.find(&people, Person::BY_CITY, &("a",));
                                for (_, mut row) in found.limit(2).fetch()? {
                                    row.debt = -row.debt;
                                    tx.store(&row)?;
                                }
                                Ok(())
                            }
                        });
                        assert!(
                            matches!(result, Ok(()) | Err(Error::UniqueViolation { .. })),
                            "{scheme}: {result:?}"
                        );
                    }
                });
            }
        });
        let rows = db.run(|tx| tx.scan(&people, ..).rows()).unwrap();
        compare(&db, people, &rows.into_iter().collect());
    }
}

#[derive(Row, Debug, PartialEq)]
#[index(by_badge(badge), unique)]
struct Badged {
    badge: u64,
}

/// Each row has a badge of its own, so no state has two rows of one. What looks like it is half of a commit: a reason to run
/// the transaction again, and no error.
#[test]
fn half_a_commit_is_no_violation_of_a_unique_index() {
    for scheme in serializable() {
        let db = open(scheme);
        let rows: Table<u64, Badged> = db.create_table("rows").unwrap();
        std::thread::scope(|scope| {
            for seed in 0..3 {
                let db = &db;
                scope.spawn(move || {
                    let mut dice = Dice::new(seed);
                    for _ in 0..3_000 {
                        let (key, row) = (dice.below(3), |key| Badged { badge: key });
                        let changed = match dice.below(2) {
                            0 => db.run(|tx| tx.remove(&rows, &key).map(|_| ())),
                            _ => db.run(|tx| tx.put(&rows, &key, &row(key))),
                        };
                        assert_eq!(changed, Ok(()), "{scheme}");
                    }
                });
            }
        });
    }
}
