//! Typed tables: scans, look-ups of many keys and derived keys, against a plain ordered map.

use crate::common::{Dice, open};
use chiliad::raw::TableSpec;
use chiliad::{Database, Desc, Error, Key, Row, Scheme, Table, Text};
use std::collections::BTreeMap;
use std::ops::Bound;

type LineKey = (u8, Text<3>, Desc<i16>);

fn any_key(dice: &mut Dice) -> LineKey {
    let texts = ["", "a", "a\0", "a\u{1}", "ab", "b"];
    let text = Text::new(texts[dice.below(6) as usize]).unwrap();
    (dice.below(3) as u8, text, Desc(dice.below(5) as i16 - 2))
}

fn any_bound(dice: &mut Dice) -> Bound<LineKey> {
    match dice.below(3) {
        0 => Bound::Unbounded,
        1 => Bound::Included(any_key(dice)),
        _ => Bound::Excluded(any_key(dice)),
    }
}

/// Whether a plain ordered map would take such a range.
fn is_ordered(low: Bound<LineKey>, high: Bound<LineKey>) -> bool {
    match (low, high) {
        (Bound::Excluded(low), Bound::Excluded(high)) => low < high,
        (
            Bound::Included(low) | Bound::Excluded(low),
            Bound::Included(high) | Bound::Excluded(high),
        ) => low <= high,
        _ => true,
    }
}

#[test]
fn scans_agree_with_a_model() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let lines: Table<LineKey, u32> = db.create_table("lines").unwrap();
        let mut model = BTreeMap::new();
        let mut dice = Dice::new(5);
        for round in 0..3_000 {
            let key = any_key(&mut dice);
            if dice.below(3) == 0 {
                let removed = db.run(|tx| tx.remove(&lines, &key)).unwrap();
                assert_eq!(removed, model.remove(&key).is_some());
            } else {
                db.run(|tx| tx.put(&lines, &key, &round)).unwrap();
                model.insert(key, round);
            }
            let (low, high) = (any_bound(&mut dice), any_bound(&mut dice));
            let mut expected: Vec<(LineKey, u32)> = match is_ordered(low, high) {
                true => model.range((low, high)).map(|(key, row)| (*key, *row)).collect(),
                false => Vec::new(),
            };
            let limit = dice.below(8) as usize;
            let reverse = dice.below(2) == 0;
            let (all, some) = db
                .run(|tx| {
                    let all = tx.scan(&lines, (low, high)).rows()?;
                    let scan = tx.scan(&lines, (low, high)).limit(limit);
                    Ok((all, if reverse { scan.rev().rows()? } else { scan.rows()? }))
                })
                .unwrap();
            assert_eq!(all, expected, "{scheme}: {low:?} to {high:?}");
            if reverse {
                expected.reverse();
            }
            expected.truncate(limit);
            assert_eq!(some, expected);
        }
    }
}

#[test]
fn prefixes_find_what_begins_with_them() {
    let db = open(Scheme::Silo);
    let lines: Table<LineKey, u32> = db.create_table("lines").unwrap();
    let mut dice = Dice::new(6);
    let rows: BTreeMap<LineKey, u32> = (0..60).map(|row| (any_key(&mut dice), row)).collect();
    db.bulk_load(&lines, rows.clone()).unwrap();
    db.run(|tx| {
        for number in 0..4_u8 {
            let expected: Vec<u32> =
                rows.iter().filter(|(key, _)| key.0 == number).map(|(_, row)| *row).collect();
            assert_eq!(tx.scan_prefix(&lines, &(number,)).values()?, expected);
            assert_eq!(tx.scan_prefix(&lines, &(number,)).count()?, expected.len());
            for text in ["", "a", "a\0", "ab", "x"] {
                let keys: Vec<LineKey> =
                    rows.keys().filter(|key| key.0 == number && key.1 == text).copied().collect();
                let prefix = (number, text);
                assert_eq!(tx.scan_prefix(&lines, &prefix).keys()?, keys);
                let first = tx.scan_prefix(&lines, &prefix).rev().first()?;
                assert_eq!(first.map(|(key, _)| key), keys.last().copied());
            }
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn many_look_ups_at_once() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let ordered: Table<u32, u32> = db.create_table("ordered").unwrap();
        let hashed: Table<u32, u32> = db.create_table_with(TableSpec::hash("hashed", 9)).unwrap();
        for table in [ordered, hashed] {
            db.bulk_load(&table, (0..500).map(|key| (key * 2, key))).unwrap();
            for count in [0, 1, 15, 16, 17, 100] {
                let mut dice = Dice::new(count);
                let keys: Vec<u32> = (0..count).map(|_| dice.below(1_100) as u32).collect();
                let expected: Vec<Option<u32>> = keys
                    .iter()
                    .map(|key| (key % 2 == 0 && *key < 1_000).then_some(key / 2))
                    .collect();
                assert_eq!(db.run(|tx| tx.get_many(&table, &keys)).unwrap(), expected);
            }
        }
        // A transaction's own writes are among them.
        db.run(|tx| {
            tx.put(&ordered, &0, &99)?;
            tx.remove(&ordered, &2)?;
            tx.insert(&ordered, &3, &7)?;
            assert_eq!(tx.get_many(&ordered, &[0, 2, 3, 4])?, [Some(99), None, Some(7), Some(2)]);
            assert!(tx.contains(&ordered, &3)? && !tx.contains(&ordered, &2)?);
            Ok(())
        })
        .unwrap();
    }
}

/// More parts than the longest tuple has.
#[derive(Key, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Long {
    a: u8,
    b: String,
    c: i8,
    d: Vec<u8>,
    e: bool,
    f: Desc<u16>,
    g: Option<u32>,
    h: [u8; 2],
    i: i64,
    j: Text<2>,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Note {
    at: i64,
    weight: f64,
    text: String,
}

#[test]
fn derived_keys_and_rows_come_back() {
    let db = Database::in_memory().unwrap();
    let notes: Table<Long, Note> = db.create_table("notes").unwrap();
    let mut dice = Dice::new(8);
    let mut model = BTreeMap::new();
    for at in 0..300 {
        let key = Long {
            a: dice.below(2) as u8,
            b: ["", "x", "x\0"][dice.below(3) as usize].into(),
            c: dice.below(3) as i8 - 1,
            d: vec![dice.below(2) as u8; dice.below(3) as usize],
            e: dice.below(2) == 0,
            f: Desc(dice.below(300) as u16),
            g: [None, Some(0), Some(7)][dice.below(3) as usize],
            h: [dice.below(2) as u8, 255],
            i: dice.below(5) as i64 - 2,
            j: Text::new(["", "é"][dice.below(2) as usize]).unwrap(),
        };
        let text = "é".repeat(dice.below(40) as usize);
        let note = Note { at, weight: at as f64 / 3.0, text };
        db.run(|tx| tx.put(&notes, &key, &note)).unwrap();
        model.insert(key, note);
    }
    db.run(|tx| {
        assert_eq!(tx.scan(&notes, ..).rows()?, model.clone().into_iter().collect::<Vec<_>>());
        let some = tx.scan_prefix(&notes, &(1, "x", -1)).keys()?;
        let begins = |key: &&Long| key.a == 1 && key.b == "x" && key.c == -1;
        assert_eq!(some, model.keys().filter(begins).cloned().collect::<Vec<_>>());
        for (key, note) in &model {
            assert_eq!(tx.get(&notes, key)?.as_ref(), Some(note));
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_scan_visits_until_it_is_told_to_stop() {
    let db = Database::in_memory().unwrap();
    let rows: Table<u32, u32> = db.create_table("rows").unwrap();
    db.bulk_load(&rows, (0..100).map(|key| (key, key))).unwrap();
    let mut seen = Vec::new();
    let stopped = db.run(|tx| {
        seen.clear();
        tx.scan(&rows, 10..).for_each(|key, _| {
            seen.push(key);
            if key == 12 { Err(Error::RolledBack) } else { Ok(()) }
        })
    });
    assert_eq!((stopped, seen), (Err(Error::RolledBack), vec![10, 11, 12]));
    // Rows fetched by a scan are changed without another look-up.
    db.run(|tx| {
        for (key, mut row) in tx.scan(&rows, 50..).fetch()? {
            if key % 2 == 0 {
                tx.delete(row)?;
            } else {
                *row += 1;
                tx.store(&row)?;
            }
        }
        Ok(())
    })
    .unwrap();
    let rest = db.run(|tx| tx.scan(&rows, 50..).rows()).unwrap();
    assert_eq!(rest, (25..50).map(|half| (2 * half + 1, 2 * half + 2)).collect::<Vec<_>>());
}
