//! Every store against a map: one client, seeded transactions, all operations, rollbacks.

use super::CANDIDATES;
use crate::directory::Directory;
use crate::random::Random;
use crate::store::{Candidate, Durability, Kind, Needs, Result, Setup, Tx, Verdict};
use std::collections::BTreeMap;

const TABLES: usize = 3;

type Model = BTreeMap<(usize, Vec<u8>), Vec<u8>>;

/// Short keys, so that they meet often and one is a prefix of another.
fn key(random: &mut Random) -> Vec<u8> {
    let length = 1 + random.below(3) as usize;
    (0..length).map(|_| [0, 1, 0x7F, 0xFF][random.below(4) as usize]).collect()
}

fn value(random: &mut Random) -> Vec<u8> {
    let mut value = vec![0; random.below(40) as usize];
    random.letters(&mut value);
    value
}

/// What is asked of a store whose updates have ranges.
const RANGES: Needs = Needs { reads_many: false, ranges_in_updates: true };

/// One operation on both, which have to agree; the last of the `kinds` is a range.
fn step(tx: &mut dyn Tx, model: &mut Model, random: &mut Random, kinds: u64) -> Result<()> {
    let (table, key_bytes) = (random.below(TABLES as u64) as usize, key(random));
    let slot = (table, key_bytes.clone());
    match random.below(kinds) {
        0 | 1 => {
            let mut found = Vec::new();
            let there = tx.get(table, &key_bytes, &mut found)?;
            assert_eq!(there.then_some(&found), model.get(&slot), "{slot:?}");
        }
        2 => {
            let value = value(random);
            tx.put(table, &key_bytes, &value)?;
            model.insert(slot, value);
        }
        3 if !model.contains_key(&slot) => {
            let value = value(random);
            tx.insert(table, &key_bytes, &value)?;
            model.insert(slot, value);
        }
        3 | 4 => {
            let there = tx.update(table, &key_bytes, &mut |bytes| bytes.reverse())?;
            let expected = model.get_mut(&slot);
            assert_eq!(there, expected.is_some(), "{slot:?}");
            if let Some(bytes) = expected {
                bytes.reverse();
            }
        }
        _ => scan(tx, model, random, table)?,
    }
    Ok(())
}

fn scan(tx: &mut dyn Tx, model: &Model, random: &mut Random, table: usize) -> Result<()> {
    let (one, other) = (key(random), key(random));
    let (low, high) = if one < other { (one, other) } else { (other, one) };
    if low == high {
        return Ok(());
    }
    let limit = 1 + random.below(8) as usize;
    let mut found = Vec::new();
    tx.scan(table, &low, &high, limit, &mut |key, value| {
        found.push(((table, key.to_vec()), value.to_vec()));
    })?;
    let range = model.range((table, low.clone())..(table, high.clone())).take(limit);
    let expected = range.map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>();
    assert_eq!(found, expected, "{low:?} to {high:?}");
    Ok(())
}

fn run(candidate: &Candidate, durability: Durability, transactions: u64) {
    let name = format!("model-{}-{}-{}", candidate.name, durability.name(), std::process::id());
    let directory = Directory::new(&std::env::temp_dir(), &name).unwrap();
    let setup = Setup { directory: directory.path(), tables: TABLES, items: false, durability };
    let store = (candidate.open)(&setup).unwrap();
    let mut client = store.client().unwrap();
    let kinds = if candidate.can(durability, RANGES) { 6 } else { 5 };
    let mut model = Model::new();
    let mut rolled_back = 0;
    for seed in 0..transactions {
        if seed == transactions / 2 {
            store.settle().unwrap();
        }
        let read_only = seed % 8 == 7;
        let mut after = model.clone();
        let kind = if read_only { Kind::ReadOnly } else { Kind::Update };
        client
            .run(kind, &mut |tx| {
                after.clone_from(&model);
                let mut random = Random::new(seed, 1);
                if read_only {
                    scan(tx, &model, &mut random, 0)?;
                    return Ok(Verdict::Commit);
                }
                for _ in 0..1 + random.below(12) {
                    step(tx, &mut after, &mut random, kinds)?;
                }
                Ok(if seed % 5 == 4 { Verdict::RollBack } else { Verdict::Commit })
            })
            .unwrap();
        if seed % 5 == 4 || read_only {
            rolled_back += 1;
        } else {
            model = after;
        }
    }
    assert!(model.len() > 100, "{} keys", model.len());
    assert!(rolled_back > transactions / 8);
}

#[test]
fn every_store_does_as_a_map_does() {
    for candidate in CANDIDATES {
        run(candidate, Durability::None, 1_000);
    }
}

#[test]
fn every_durable_store_does_as_a_map_does() {
    for candidate in CANDIDATES {
        for &durability in candidate.durabilities {
            if durability != Durability::None {
                run(candidate, durability, 200);
            }
        }
    }
}
