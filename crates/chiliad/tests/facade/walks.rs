//! Scans and look-ups row by row, with the keys of what they find, against a plain ordered map.

use crate::common::{Dice, OPTIMISTIC, open};
use chiliad::raw::Transaction as _;
use chiliad::{Database, Error, Options, Result, Row, RunOptions, Scheme, Table, Text};
use std::collections::BTreeMap;
use std::ops::Bound;

#[derive(Row, Clone, Debug, PartialEq)]
#[index(by_team(team, points desc))]
#[index(by_badge(badge), unique)]
struct Player {
    team: u8,
    points: i16,
    badge: u32,
}

type Key = (String, u16);
type Model = BTreeMap<Key, Player>;

const NAMES: [&str; 6] = ["", "a", "a\0", "a\u{1}b", "ab", "é"];

fn any_key(dice: &mut Dice) -> (&'static str, u16) {
    (NAMES[dice.below(6) as usize], dice.below(60) as u16)
}

fn owned((name, number): (&str, u16)) -> Key {
    (name.to_owned(), number)
}

/// A database and its model, of rows enough for several pieces.
fn filled(db: &Database, dice: &mut Dice) -> (Table<Key, Player>, Model) {
    let players = db.create_table("players").unwrap();
    let mut model = Model::new();
    for badge in 0..400 {
        let key = any_key(dice);
        let (team, points) = (dice.below(3) as u8, dice.below(9) as i16 - 4);
        model.insert(owned(key), Player { team, points, badge });
    }
    db.bulk_load(&players, model.clone()).unwrap();
    (players, model)
}

fn of_iterator(
    rows: impl IntoIterator<Item = Result<(Key, Player)>>,
) -> Result<Vec<(Key, Player)>> {
    rows.into_iter().collect()
}

#[test]
fn rows_one_by_one_are_those_of_the_model() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let mut dice = Dice::new(3);
        let (players, mut model) = filled(&db, &mut dice);
        for round in 0..100 {
            let (low, high) = (any_key(&mut dice), any_key(&mut dice));
            let limit = [0, 1, 63, 64, 65, 128, 129, usize::MAX][dice.below(8) as usize];
            let (reverse, key) = (dice.below(2) == 0, any_key(&mut dice));
            let player = Player { team: 9, points: 0, badge: 1_000 + round };
            db.run(|tx| {
                // Its own writes are among the rows.
                tx.remove(&players, &low)?;
                tx.put(&players, &key, &player)
            })
            .unwrap();
            model.remove(&owned(low));
            model.insert(owned(key), player);
            let mut expected: Vec<_> = match low <= high {
                true => model.range(owned(low)..owned(high)),
                false => model.range(owned(high)..owned(high)),
            }
            .map(|(key, player)| (key.clone(), player.clone()))
            .collect();
            if reverse {
                expected.reverse();
            }
            expected.truncate(limit);
            let found = db.run(|tx| {
                let scan = tx.scan(&players, low..high).limit(limit);
                of_iterator(if reverse { scan.rev() } else { scan })
            });
            assert_eq!(found.unwrap(), expected, "{scheme}: {low:?} to {high:?}, {limit}");
        }
        // A transaction's own writes, on both sides of the end of a piece.
        let found = db.run(|tx| {
            let keys: Vec<Key> = model.keys().cloned().collect();
            for key in &keys[60..70] {
                tx.remove(&players, &(&*key.0, key.1))?;
            }
            let found = of_iterator(tx.scan(&players, ..))?;
            if found.len() == keys.len() - 10 { Err(Error::RolledBack) } else { Ok(()) }
        });
        assert_eq!(found, Err(Error::RolledBack), "{scheme}");
    }
}

#[test]
fn look_ups_tell_which_rows_they_have_found() {
    for scheme in Scheme::ALL.into_iter().filter(|scheme| *scheme != Scheme::KeyValue) {
        let db = open(scheme);
        let (players, model) = filled(&db, &mut Dice::new(4));
        finds_agree(&db, players, &model).unwrap_or_else(|error| panic!("{scheme}: {error}"));
    }
}

#[test]
fn look_ups_of_a_joined_database_tell_which_rows_they_have_found() {
    let db = Database::join("memory:walks", Options::default()).unwrap();
    let (players, model) = filled(&db, &mut Dice::new(5));
    db.run_with(&RunOptions::default().linearizable(), |_| Ok::<_, Error>(())).unwrap();
    finds_agree(&db, players, &model).unwrap();
}

fn finds_agree(db: &Database, players: Table<Key, Player>, model: &Model) -> Result<()> {
    let of_team = |team| {
        let players = model.iter().filter(|(_, player)| player.team == team);
        let mut players: Vec<_> = players.map(|(key, row)| (key.clone(), row.clone())).collect();
        players.sort_by_key(|(key, player)| (-player.points, key.clone()));
        players
    };
    db.run(|tx| {
        for team in 0..4 {
            let mut expected = of_team(team);
            assert_eq!(tx.find(&players, Player::BY_TEAM, &(team,)).rows()?, expected);
            assert_eq!(of_iterator(tx.find(&players, Player::BY_TEAM, &(team,)))?, expected);
            let keys: Vec<_> = expected.iter().map(|(key, _)| key.clone()).collect();
            assert_eq!(tx.find(&players, Player::BY_TEAM, &(team,)).keys()?, keys);
            let mut visited = Vec::new();
            tx.find(&players, Player::BY_TEAM, &(team,)).for_each(|key, player| {
                visited.push((key, player));
                Ok(())
            })?;
            assert_eq!(visited, expected);
            expected.reverse();
            let last = tx.find(&players, Player::BY_TEAM, &(team,)).rev().first()?;
            assert_eq!(last.as_ref(), expected.first());
            expected.truncate(65);
            let found = tx.find(&players, Player::BY_TEAM, &(team,)).rev().limit(65);
            assert_eq!(of_iterator(found)?, expected);
        }
        let low = tx.find_range(&players, Player::BY_BADGE, (50,)..(200,));
        let mut expected: Vec<_> =
            model.iter().map(|(key, row)| (row.badge, key.clone())).collect();
        expected.retain(|(badge, _)| (50..200).contains(badge));
        expected.sort_unstable();
        let expected: Vec<_> = expected.into_iter().map(|(_, key)| key).collect();
        let found: Result<Vec<_>> = low.into_iter().map(|row| row.map(|(key, _)| key)).collect();
        assert_eq!(found?, expected);
        for (key, player) in model {
            let found = tx.find(&players, Player::BY_BADGE, &(player.badge,)).first_fetch()?;
            let (at, held) = found.unwrap();
            assert_eq!((&at, &held.value), (key, player));
        }
        Ok(())
    })
}

#[test]
fn an_iterator_that_is_dropped_has_read_no_further() {
    for scheme in OPTIMISTIC {
        let db = open(scheme);
        let rows: Table<u64, u64> = db.create_table("rows").unwrap();
        db.bulk_load(&rows, (0..1_000).map(|key| (2 * key, key))).unwrap();
        // Beyond what was read it is nobody's business, and before that it is.
        for (change, expected) in [(1_801, 1), (3, 2)] {
            let mut attempts = 0;
            db.run(|tx| {
                attempts += 1;
                let mut sum = 0;
                for row in tx.scan(&rows, ..).into_iter().take(5) {
                    sum += row?.1;
                }
                if attempts == 1 {
                    db.run(|other| other.insert(&rows, &change, &0))?;
                }
                tx.put(&rows, &1_000_000, &sum)
            })
            .unwrap();
            assert_eq!(attempts, expected, "{scheme}: {change}");
        }
    }
}

#[test]
fn keys_by_an_index_are_read_without_the_rows() {
    for scheme in OPTIMISTIC {
        let db = open(scheme);
        let (players, model) = filled(&db, &mut Dice::new(5));
        moves_alone_are_in_the_way(&db, &scheme.to_string(), players, &model);
    }
    let db = Database::join("memory:keys", Options::default()).unwrap();
    let (players, model) = filled(&db, &mut Dice::new(5));
    db.run_with(&RunOptions::default().linearizable(), |_| Ok::<_, Error>(())).unwrap();
    moves_alone_are_in_the_way(&db, "joined", players, &model);
}

/// A transaction that has read keys by an index commits beside one that changes other columns of the rows, and runs again
/// beside one that moves a row in the index.
fn moves_alone_are_in_the_way(
    db: &Database,
    how: &str,
    players: Table<Key, Player>,
    model: &Model,
) {
    let (key, player) = model.first_key_value().unwrap();
    let mates = model.values().filter(|it| it.team == player.team).count();
    let badge = Player { badge: 1_000, ..player.clone() };
    let points = Player { points: 99, ..badge.clone() };
    for (change, expected) in [(&badge, 1), (&points, 2)] {
        let (mut attempts, team) = (0, (player.team,));
        db.run(|tx| {
            attempts += 1;
            assert_eq!(tx.find(&players, Player::BY_TEAM, &team).keys()?.len(), mates);
            assert_eq!(tx.find(&players, Player::BY_TEAM, &team).count()?, mates);
            if attempts == 1 {
                db.run(|other| other.put(&players, key, change))?;
            }
            let other = Player { team: 9, badge: 2_000, ..player.clone() };
            tx.put(&players, &("elsewhere".to_owned(), 1), &other)
        })
        .unwrap();
        assert_eq!(attempts, expected, "{how}: {change:?}");
    }
}

#[test]
fn an_iterator_ends_with_its_first_error() {
    let db = open(Scheme::Silo);
    let rows: Table<u64, u64> = db.create_table("rows").unwrap();
    db.drop_table("rows").unwrap();
    let other = open(Scheme::Silo);
    let foreign: Table<u64, u64> = other.create_table("rows").unwrap();
    db.run(|tx| {
        for table in [rows, foreign] {
            let mut scan = tx.scan(&table, ..).into_iter();
            assert!(matches!(scan.next(), Some(Err(Error::UnknownTable(_)))));
            assert!(scan.next().is_none() && scan.next().is_none());
        }
        Ok(())
    })
    .unwrap();
    // Bytes that are no rows of the type.
    let raw: Table<u64, u64> = db.create_table("raw").unwrap();
    db.bulk_load(&raw, [(1, 1)]).unwrap();
    db.bulk_load_raw(raw.id(), [(2_u64.to_be_bytes(), [9; 3])]).unwrap();
    db.run(|tx| {
        let mut scan = tx.scan(&raw, ..).into_iter();
        assert_eq!(scan.next(), Some(Ok((1, 1))));
        assert!(matches!(scan.next(), Some(Err(Error::BadRow(_)))));
        assert!(scan.next().is_none());
        Ok(())
    })
    .unwrap();
}

#[test]
fn bounds_may_be_borrowed() {
    let db = open(Scheme::Silo);
    let words: Table<String, u64> = db.create_table("words").unwrap();
    let model: BTreeMap<String, u64> = ["", "a", "a\0", "a\0b", "ab", "abc", "b", "é"]
        .map(String::from)
        .into_iter()
        .zip(0..)
        .collect();
    db.bulk_load(&words, model.clone()).unwrap();
    let bounds = |word| [Bound::Unbounded, Bound::Included(word), Bound::Excluded(word)];
    db.run(|tx| {
        for (low, high) in model.keys().flat_map(|low| model.keys().map(move |high| (low, high))) {
            for (low, high) in
                bounds(low).into_iter().flat_map(|low| bounds(high).map(|high| (low, high)))
            {
                let range = (low.map(String::as_str), high.map(String::as_str));
                let is_within = |word: &str| contains_word(range, word);
                let expected: Vec<_> =
                    model.keys().filter(|word| is_within(word)).cloned().collect();
                assert_eq!(tx.scan(&words, range).keys()?, expected, "{range:?}");
            }
        }
        assert_eq!(tx.scan(&words, "a".."ab").count()?, 3);
        assert_eq!(tx.scan(&words, "a"..="ab").count()?, 4);
        assert_eq!(tx.scan(&words, "ab"..).count()?, 4);
        assert_eq!(tx.scan(&words, .."a").count()?, 1);
        assert_eq!(tx.scan(&words, ..="a").count()?, 2);
        assert_eq!(tx.scan(&words, String::from("b")..).count()?, 2);
        assert_eq!(tx.scan(&words, "b".."a").count()?, 0);
        Ok(())
    })
    .unwrap();
}

/// Whether a model's range has a word.
fn contains_word(range: (Bound<&str>, Bound<&str>), word: &str) -> bool {
    std::ops::RangeBounds::<str>::contains(&range, word)
}

#[test]
fn the_beginning_of_a_string_is_a_prefix() {
    let db = open(Scheme::Silo);
    let texts = ["", "\0", "\0\0", "\u{1}", "a", "a\0", "a\0b", "ab", "abc", "b", "é", "éa"];
    let words: Table<String, u64> = db.create_table("words").unwrap();
    let short: Table<Text<8>, u64> = db.create_table("short").unwrap();
    let bytes: Table<Vec<u8>, u64> = db.create_table("bytes").unwrap();
    db.bulk_load(&words, texts.map(String::from).into_iter().zip(0..)).unwrap();
    db.bulk_load(&short, texts.map(|text| Text::new(text).unwrap()).into_iter().zip(0..)).unwrap();
    let last = [vec![0xff], vec![0xff, 0xff], vec![0xff, 0]];
    let strings = texts.iter().map(|text| text.as_bytes().to_vec()).chain(last);
    let mut strings: Vec<Vec<u8>> = strings.collect();
    strings.sort_unstable();
    db.bulk_load(&bytes, strings.iter().cloned().zip(0..)).unwrap();
    db.run(|tx| {
        for prefix in texts.into_iter().chain(["x", "a\u{1}"]) {
            let expected: Vec<_> =
                texts.into_iter().filter(|text| text.starts_with(prefix)).collect();
            assert_eq!(tx.scan_prefix(&words, prefix).keys()?, expected, "{prefix:?}");
            assert_eq!(tx.scan_prefix(&words, &prefix.to_owned()).keys()?, expected);
            let found = tx.scan_prefix(&short, prefix).keys()?;
            assert_eq!(found.iter().map(|text| text.as_str()).collect::<Vec<_>>(), expected);
        }
        for prefix in &strings {
            let expected: Vec<_> =
                strings.iter().filter(|string| string.starts_with(prefix)).cloned().collect();
            assert_eq!(tx.scan_prefix(&bytes, prefix.as_slice()).keys()?, expected, "{prefix:?}");
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn the_untyped_interface_tells_primary_keys_too() {
    let db = open(Scheme::Silo);
    let (players, model) = filled(&db, &mut Dice::new(7));
    db.run(|tx| {
        let tx = tx.raw();
        let scanned =
            tx.scan_index(players.id(), Player::BY_BADGE.position(), chiliad::raw::Range::all())?;
        let mut keys = Vec::new();
        for &entry in tx.entries(scanned)? {
            assert_eq!(tx.key(entry)?.len(), 4, "the badge alone");
            keys.push(tx.row_key(entry.row)?.to_vec());
        }
        keys.sort_unstable();
        let scanned = tx.scan(players.id(), chiliad::raw::Range::all())?;
        let primary = tx.entries(scanned)?.iter().map(|&entry| tx.key(entry).map(<[u8]>::to_vec));
        assert_eq!(keys, primary.collect::<Result<Vec<_>>>()?);
        assert_eq!(keys.len(), model.len());
        Ok(())
    })
    .unwrap();
}
