//! Savepoints: parts of a transaction that are undone alone, against a model that is copied at each of them.

use crate::common::{Dice, open};
use chiliad::raw::{Range, Transaction as _};
use chiliad::{Database, Error, Result, Row, RunOptions, Scheme, Table, Transaction};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Row, Clone, Debug, PartialEq)]
#[index(by_team(team))]
#[index(by_badge(badge), unique)]
struct Player {
    team: u8,
    badge: u32,
    name: String,
}

type Model = BTreeMap<u64, Player>;
type Players = Table<u64, Player>;

fn any_player(dice: &mut Dice) -> Player {
    let name = "n".repeat(dice.below(40) as usize);
    Player { team: dice.below(3) as u8, badge: dice.below(30) as u32, name }
}

fn badge_is_free(model: &Model, key: u64, badge: u32) -> bool {
    model.iter().all(|(&other, player)| other == key || player.badge != badge)
}

/// One write, of both; what a unique index refuses leaves the model as it was.
fn write(
    tx: &mut Transaction<'_>,
    table: &Players,
    model: &mut Model,
    dice: &mut Dice,
) -> Result<()> {
    let (key, player) = (dice.below(20), any_player(dice));
    let free = badge_is_free(model, key, player.badge);
    match dice.below(6) {
        0 => match tx.insert(table, &key, &player) {
            Ok(()) => {
                assert!(free && !model.contains_key(&key));
                model.insert(key, player);
            }
            Err(Error::DuplicateKey(_)) => assert!(model.contains_key(&key)),
            Err(Error::UniqueViolation { .. }) => assert!(!free),
            Err(other) => return Err(other),
        },
        1 if free => {
            tx.put(table, &key, &player)?;
            model.insert(key, player);
        }
        2 if free => {
            let changed = tx.update(table, &key, |row| *row = player.clone())?;
            assert_eq!(changed.is_some(), model.contains_key(&key));
            model.entry(key).and_modify(|row| *row = player);
        }
        3 => assert_eq!(tx.remove(table, &key)?, model.remove(&key).is_some()),
        4 => {
            // By a handle, in place: the team is the first byte of its fixed columns.
            if let Some(mut row) = tx.fetch_for_update(table, &key)? {
                row.team = player.team;
                tx.store(&row)?;
                model.entry(key).and_modify(|row| row.team = player.team);
            }
        }
        _ => {
            let gone = tx.retain(table, key..key + 3, |_, row| row.team != player.team)?;
            let before = model.len();
            model.retain(|it, row| !(key..key + 3).contains(it) || row.team != player.team);
            assert_eq!(gone, before - model.len());
        }
    }
    Ok(())
}

fn compare(tx: &mut Transaction<'_>, table: &Players, model: &Model) -> Result<()> {
    let rows = tx.scan(table, ..).rows()?;
    assert_eq!(rows, model.clone().into_iter().collect::<Vec<_>>());
    for team in 0..3 {
        let mut found = tx.find(table, Player::BY_TEAM, &(team,)).rows()?;
        found.sort_by_key(|(key, _)| *key);
        let expected = model.iter().filter(|(_, row)| row.team == team);
        assert_eq!(found, expected.map(|(&key, row)| (key, row.clone())).collect::<Vec<_>>());
    }
    let badges = tx.find_range(table, Player::BY_BADGE, ..).rows()?;
    assert_eq!(badges.len(), model.len());
    Ok(())
}

/// Writes, with savepoints among them, some of which are undone.
fn part(
    tx: &mut Transaction<'_>,
    table: &Players,
    model: &mut Model,
    dice: &mut Dice,
    depth: u32,
) -> Result<()> {
    for _ in 0..dice.below(6) + 1 {
        if depth > 0 && dice.below(3) == 0 {
            let mut inner = model.clone();
            let keeps = dice.below(2) == 0;
            let done = tx.savepoint(|tx| {
                part(tx, table, &mut inner, dice, depth - 1)?;
                if keeps { Ok(()) } else { Err(Error::RolledBack) }
            });
            match done {
                Ok(()) => *model = inner,
                Err(Error::RolledBack) => {}
                Err(other) => return Err(other),
            }
            compare(tx, table, model)?;
        } else {
            write(tx, table, model, dice)?;
        }
    }
    Ok(())
}

#[test]
fn what_is_undone_is_as_it_was_before() {
    for scheme in Scheme::ALL {
        for seed in 0..30 {
            let db = open(scheme);
            let players: Players = db.create_table("players").unwrap();
            let mut model = Model::new();
            for round in 0..4 {
                let seed = seed * 100 + round;
                let after = db.run(|tx| {
                    let mut after = model.clone();
                    part(tx, &players, &mut after, &mut Dice::new(seed), 3)?;
                    compare(tx, &players, &after)?;
                    Ok(after)
                });
                model = after.unwrap_or_else(|error| panic!("{scheme}, {seed}: {error}"));
                db.run(|tx| compare(tx, &players, &model)).unwrap();
            }
        }
    }
}

fn one_counter(db: &Database) -> Table<u64, u64> {
    let counters = db.create_table("counters").unwrap();
    db.bulk_load(&counters, [(1, 10)]).unwrap();
    counters
}

#[test]
fn a_part_that_panics_is_undone_before_the_panic_goes_on() {
    let db = open(Scheme::Silo);
    let counters = one_counter(&db);
    db.run(|tx| {
        tx.put(&counters, &2, &20)?;
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            tx.savepoint(|tx| -> Result<()> {
                tx.put(&counters, &2, &21)?;
                tx.remove(&counters, &1)?;
                panic!("half-way")
            })
        }));
        assert!(panicked.is_err());
        assert_eq!(tx.scan(&counters, ..).rows()?, [(1, 10), (2, 20)]);
        Ok(())
    })
    .unwrap();
    assert_eq!(db.run(|tx| tx.scan(&counters, ..).rows()).unwrap(), [(1, 10), (2, 20)]);
}

#[test]
fn a_change_that_a_unique_index_has_refused_can_be_undone() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let players: Players = db.create_table("players").unwrap();
        let player = |badge| Player { team: 1, badge, name: "ann".into() };
        db.bulk_load(&players, [(1, player(1)), (2, player(2))]).unwrap();
        let outcome = db.run(|tx| {
            tx.put(&players, &3, &player(3))?;
            let refused = tx.savepoint(|tx| tx.put(&players, &2, &player(1)));
            assert!(matches!(refused, Err(Error::UniqueViolation { .. })), "{scheme}: {refused:?}");
            tx.put(&players, &4, &player(4))
        });
        assert_eq!(outcome, Ok(()), "{scheme}");
        let badges = db.run(|tx| tx.find_range(&players, Player::BY_BADGE, ..).keys()).unwrap();
        assert_eq!(badges, [1, 2, 3, 4], "{scheme}");
    }
}

#[test]
fn a_handle_that_is_older_than_the_savepoint_is_undone_to_the_newest_value() {
    let db = open(Scheme::Silo);
    let counters = one_counter(&db);
    db.run(|tx| {
        // The handle has seen 10, and the row is 11 when the savepoint is set.
        let mut old = tx.fetch(&counters, &1)?.unwrap();
        tx.put(&counters, &1, &11)?;
        let undone = tx.savepoint(|tx| {
            *old = 12;
            tx.store(&old)?;
            Err::<(), _>(Error::RolledBack)
        });
        assert_eq!(undone, Err(Error::RolledBack));
        assert_eq!(tx.get(&counters, &1)?, Some(11));
        Ok(())
    })
    .unwrap();
    assert_eq!(db.run(|tx| tx.get(&counters, &1)).unwrap(), Some(11));
}

#[test]
fn writes_beneath_the_types_are_undone_too() {
    let db = open(Scheme::Silo);
    let counters = one_counter(&db);
    let table = db.table_raw("counters").unwrap().0;
    let key = 1_u64.to_be_bytes();
    db.run(|tx| {
        let undone = tx.savepoint(|tx| {
            let tx = tx.raw();
            let row = tx.get(table, &key)?.expect("it is there");
            tx.modify(row)?.fill(0);
            tx.remove_row(row)?;
            let scanned = tx.scan(table, Range::all())?;
            assert!(scanned.is_empty());
            Err::<(), _>(Error::RolledBack)
        });
        assert_eq!(undone, Err(Error::RolledBack));
        Ok(())
    })
    .unwrap();
    assert_eq!(db.run(|tx| tx.get(&counters, &1)).unwrap(), Some(10));
}

/// Under a scheme that refuses at once, a conflict inside a savepoint ends the whole transaction, which is run again.
#[test]
fn a_conflict_inside_a_savepoint_is_one_of_the_whole_transaction() {
    let db = open(Scheme::NoWait);
    let counters = one_counter(&db);
    let (mut holder, mut other) = (db.worker().unwrap(), db.worker().unwrap());
    let mut held = holder.begin(&RunOptions::default()).unwrap();
    held.put(&counters, &1, &11).unwrap();
    let mut tx = other.begin(&RunOptions::default()).unwrap();
    tx.put(&counters, &2, &20).unwrap();
    let refused = tx.savepoint(|tx| tx.update(&counters, &1, |count| *count += 1));
    assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
    assert!(matches!(tx.commit(), Err(Error::Conflict(_))), "it cannot commit after all");
    held.commit().unwrap();
    assert_eq!(db.run(|tx| tx.scan(&counters, ..).rows()).unwrap(), [(1, 11)]);
}
