//! Both indexes and their transactions beside a sorted map, with random statements: what is read, what scans find both
//! ways, what a rollback leaves, and that memory comes back.

use chiliad_api::{
    Error, IndexKind, Intent, KeyPart, PartType, Range, Running, SecondarySpec, Session, Source,
    Store, TableId, TableSpec, Transaction,
};
use chiliad_machine::Plain;
use chiliad_swarm::Swarm;
use std::collections::BTreeMap;
use std::ops::Bound;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// Xorshift (Marsaglia, 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// Where keys come from.
#[derive(Clone, Copy, Debug)]
enum Keys {
    /// Numbers that follow each other.
    Near,
    /// Numbers with equal ends, which all belong on one line of a leaf.
    Alike,
    /// Of all lengths, long ones with long common beginnings, and zeroes at ends.
    Texts,
}

impl Keys {
    fn draw(self, random: &mut Random, of: u64) -> Vec<u8> {
        let number = random.below(of);
        match self {
            Self::Near => number.to_be_bytes()[1..].to_vec(),
            Self::Alike => [number.to_be_bytes(), [0; 8]].concat(),
            Self::Texts => {
                let mut key = vec![b'a'; (number % 7) as usize * 13];
                key.extend_from_slice(&number.to_be_bytes()[4 + (number % 3) as usize..]);
                key.extend(vec![0; (number % 4) as usize]);
                key
            }
        }
    }
}

fn open(spec: TableSpec) -> (Swarm<Plain>, TableId) {
    let swarm = Swarm::new();
    let table = swarm.create_table(spec).unwrap();
    (swarm, table)
}

fn ordered() -> TableSpec {
    TableSpec::ordered("t")
}

fn hash() -> TableSpec {
    TableSpec::hash("t", 4)
}

/// One random statement, on both.
fn step(
    random: &mut Random,
    keys: Keys,
    of: u64,
    grows: bool,
    tx: &mut dyn Transaction,
    map: &mut Map,
) {
    let table = TableId(0);
    let key = keys.draw(random, of);
    let value = vec![random.below(256) as u8; random.below(120) as usize];
    match random.below(if grows { 6 } else { 8 }) {
        0 | 1 | 5 => match tx.insert(table, &key, &value) {
            Ok(()) => assert!(map.insert(key, value).is_none()),
            Err(Error::DuplicateKey(_)) => assert!(map.contains_key(&key)),
            Err(error) => panic!("{error}"),
        },
        2 => {
            tx.put(table, &key, &value).unwrap();
            map.insert(key, value);
        }
        3 => {
            let row = tx.get(table, &key).unwrap();
            assert_eq!(row.map(|row| tx.bytes(row).unwrap()), map.get(&key).map(Vec::as_slice));
        }
        4 => {
            if let Some(row) = tx.get_for_update(table, &key).unwrap() {
                tx.modify(row).unwrap().fill(7);
                map.get_mut(&key).expect("read").fill(7);
            }
        }
        _ => assert_eq!(tx.remove(table, &key).unwrap(), map.remove(&key).is_some()),
    }
}

fn found(tx: &mut dyn Transaction, range: Range<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let scanned = tx.scan(TableId(0), range).unwrap();
    let entries = tx.entries(scanned).unwrap();
    let copy = |it: &chiliad_api::Entry| {
        (tx.key(*it).unwrap().to_vec(), tx.bytes(it.row).unwrap().to_vec())
    };
    entries.iter().map(copy).collect()
}

/// A random range, both ways, with and without a limit.
fn scan(random: &mut Random, keys: Keys, of: u64, tx: &mut dyn Transaction, map: &Map) {
    let (one, two) = (keys.draw(random, of), keys.draw(random, of));
    let (low, high) = if one < two { (one, two) } else { (two, one) };
    let bound = |random: &mut Random, key| match random.below(3) {
        0 => Bound::Included(key),
        1 => Bound::Excluded(key),
        _ => Bound::Unbounded,
    };
    if low == high {
        return;
    }
    let bounds = (bound(random, &low[..]), bound(random, &high[..]));
    let expected: Vec<_> =
        map.range::<[u8], _>(bounds).map(|(key, value)| (key.clone(), value.clone())).collect();
    let range = Range { low: bounds.0, high: bounds.1, ..Range::all() };
    assert_eq!(found(tx, range), expected);
    let backwards: Vec<_> = expected.iter().rev().take(5).cloned().collect();
    assert_eq!(found(tx, range.reverse().limit(5)), backwards);
    let first: Vec<_> = expected.into_iter().take(3).collect();
    assert_eq!(found(tx, range.limit(3)), first);
}

fn transaction<R>(
    session: &mut dyn Session<Plain>,
    keep: bool,
    body: impl FnOnce(&mut dyn Transaction) -> R,
) -> R {
    let mut running = Running::begin(session, &Intent::update()).unwrap();
    let result = body(&mut running);
    if keep {
        running.commit().unwrap();
    } else {
        running.rollback();
    }
    result
}

fn beside_a_map(spec: TableSpec, keys: Keys, seed: u64, of: u64, transactions: u64) {
    let random = &mut Random(seed * 2 + 1);
    let index = spec.index;
    let (swarm, table) = open(spec);
    let empty = swarm.lines();
    let mut map = Map::new();
    let mut session = swarm.session().unwrap();
    for number in 0..transactions {
        let (keep, before) = (random.below(4) > 0, map.clone());
        // At first more comes than goes, then the other way.
        let grows = number < transactions / 2;
        transaction(&mut *session, keep, |tx| {
            for _ in 0..random.below(40) {
                step(random, keys, of, grows, tx, &mut map);
            }
            if index == IndexKind::Ordered {
                scan(random, keys, of, tx, &map);
            }
        });
        if !keep {
            map = before;
        }
        if number % 8 == 0 {
            assert!(swarm.rows(table).unwrap().into_iter().eq(map.clone()), "after {number}");
        }
    }
    assert!(swarm.rows(table).unwrap().into_iter().eq(map.clone()));
    transaction(&mut *session, true, |tx| {
        for key in map.keys() {
            assert!(tx.remove(table, key).unwrap());
        }
    });
    assert!(swarm.rows(table).unwrap().is_empty());
    if index == IndexKind::Ordered {
        assert_eq!(swarm.lines(), empty, "each tree is a leaf again");
    }
}

/// How often under Miri, and how often else.
fn times(miri: u64, else_: u64) -> u64 {
    if cfg!(miri) { miri } else { else_ }
}

#[test]
fn the_ordered_index_is_a_sorted_map() {
    for keys in [Keys::Near, Keys::Alike, Keys::Texts] {
        for seed in 0..times(1, 8) {
            let of = [60, 400, 3000][seed as usize % 3];
            beside_a_map(ordered(), keys, seed, of, times(8, 300));
        }
    }
}

#[test]
fn the_hash_index_is_a_map() {
    for keys in [Keys::Near, Keys::Texts] {
        for seed in 0..times(1, 8) {
            let of = [60, 400, 3000][seed as usize % 3];
            beside_a_map(hash(), keys, seed, of, times(8, 300));
        }
    }
}

/// Advice about where rows lie changes no answer. Values are up to 120 bytes: of some all is together.
#[test]
fn tables_that_are_spread_or_have_columns_apart_answer_as_others() {
    for keys in [Keys::Near, Keys::Alike, Keys::Texts] {
        for seed in 0..times(1, 4) {
            let of = [60, 400][seed as usize % 2];
            let transactions = times(4, 100);
            beside_a_map(ordered().spread(), keys, seed, of, transactions);
            beside_a_map(ordered().spread().apart_from(50), keys, seed, of, transactions);
            beside_a_map(hash().apart_from(1), keys, seed, of, transactions);
        }
    }
}

#[test]
fn keys_that_ascend_and_go_from_the_front_leave_nothing() {
    let (swarm, table) = open(ordered());
    let empty = swarm.lines();
    let mut session = swarm.session().unwrap();
    let count = times(200, 20_000);
    let mut most = 0;
    for number in 0..count + 50 {
        transaction(&mut *session, true, |tx| {
            if number < count {
                tx.insert(table, &number.to_be_bytes(), b"").unwrap();
            }
            if let Some(old) = number.checked_sub(50) {
                let oldest = found(tx, Range::all().limit(1));
                assert_eq!(oldest, [(old.to_be_bytes().to_vec(), vec![])]);
                assert!(tx.remove(table, &old.to_be_bytes()).unwrap());
            }
        });
        most = most.max(swarm.lines() - empty);
    }
    assert_eq!(swarm.lines(), empty);
    // 50 rows, leaves at least half full but for the ends, and their parent.
    assert!(most < 50 + 6 * 16 + 6 + 6, "{most} lines");
}

#[test]
fn secondary_indexes_follow_their_rows() {
    let part = |offset| KeyPart {
        source: Source::Value,
        offset,
        length: 2,
        part_type: PartType::Bytes,
        descending: false,
    };
    let index = |name: &str, offset, unique| SecondarySpec {
        name: name.into(),
        parts: vec![part(offset)].into(),
        unique,
    };
    let swarm = Swarm::<Plain>::new();
    let spec = TableSpec::hash("t", 10)
        .with_index(index("one", 0, true))
        .with_index(index("two", 2, false));
    let table = swarm.create_table(spec).unwrap();
    let mut session = swarm.session().unwrap();
    let names = |tx: &mut dyn Transaction, index: usize| -> Vec<(Vec<u8>, Vec<u8>)> {
        let scanned = tx.scan_index(table, index, Range::all()).unwrap();
        let entries = tx.entries(scanned).unwrap();
        let copy = |it: &chiliad_api::Entry| {
            (tx.key(*it).unwrap().to_vec(), tx.bytes(it.row).unwrap().to_vec())
        };
        entries.iter().map(copy).collect()
    };
    let pair = |key: &[u8], row: &[u8]| (key.to_vec(), row.to_vec());
    transaction(&mut *session, true, |tx| {
        tx.insert(table, b"1", b"aaxx").unwrap();
        tx.insert(table, b"2", b"bbxx").unwrap();
    });
    let mut running = Running::begin(&mut *session, &Intent::update()).unwrap();
    running.insert(table, b"4", b"ddxx").unwrap();
    let taken = Error::UniqueViolation { index: "one".into() };
    assert_eq!(running.insert(table, b"3", b"aayy"), Err(taken.clone()));
    assert_eq!(running.commit(), Err(taken.clone()), "it is lost, whether its caller cares or not");
    for keep in [false, true] {
        transaction(&mut *session, keep, |tx| {
            let row = tx.get_for_update(table, b"1").unwrap().unwrap();
            tx.modify(row).unwrap().copy_from_slice(b"ccyy");
            assert_eq!(names(tx, 0), [pair(b"bb", b"bbxx"), pair(b"cc", b"ccyy")]);
            assert_eq!(names(tx, 1), [pair(b"xx2", b"bbxx"), pair(b"yy1", b"ccyy")]);
            tx.insert(table, b"3", b"aaxx").unwrap();
            assert!(tx.remove(table, b"2").unwrap());
        });
        let expected = match keep {
            false => [pair(b"aa", b"aaxx"), pair(b"bb", b"bbxx")],
            true => [pair(b"aa", b"aaxx"), pair(b"cc", b"ccyy")],
        };
        transaction(&mut *session, true, |tx| assert_eq!(names(tx, 0), expected));
    }
    // A change in place shows what it breaks at the commit, and all of it is taken back.
    let mut running = Running::begin(&mut *session, &Intent::update()).unwrap();
    running.insert(table, b"4", b"ddxx").unwrap();
    let row = running.get_for_update(table, b"3").unwrap().unwrap();
    running.modify(row).unwrap().copy_from_slice(b"ccxx");
    assert_eq!(running.commit(), Err(taken));
    assert_eq!(swarm.rows(table).unwrap(), [pair(b"1", b"ccyy"), pair(b"3", b"aaxx")]);
}

#[test]
fn one_session_at_a_time() {
    let (mut swarm, table) = open(hash());
    let mut session = swarm.session().unwrap();
    assert!(matches!(swarm.session(), Err(Error::TooManyWorkers { workers_max: 1 })));
    assert!(swarm.bodies(()).is_err());
    session.load(table, b"k", b"v").unwrap();
    assert!(session.get(table, b"k").is_err(), "no transaction");
    drop(session);
    assert!(swarm.bodies(()).is_ok() && swarm.session().is_ok());
}
