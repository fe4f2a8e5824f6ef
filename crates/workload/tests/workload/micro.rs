//! The small loads: every kind of transaction comes up, the conditions hold, and fail when the rows
//! do not agree.

use crate::model::{Model, Outcome};
use chiliad_api::TableId;
use chiliad_workload::Workload;
use chiliad_workload::micro::{
    Bank, BankOptions, ByColumn, ByColumnOptions, Counters, CountersOptions, InsertDelete,
    InsertDeleteOptions,
};
use std::collections::BTreeSet;

fn insert_delete(hash: bool) -> (InsertDelete, Model) {
    let workload =
        InsertDelete::new(InsertDeleteOptions { hash, ..InsertDeleteOptions::default() }).unwrap();
    let model = Model::load(&workload, 3);
    (workload, model)
}

#[test]
fn insert_delete_uses_everything_and_keeps_its_conditions() {
    for hash in [false, true] {
        let (workload, mut model) = insert_delete(hash);
        assert_eq!(workload.name(), if hash { "hash" } else { "scan" });
        let mut clients = model.clients(&workload, 4, 1);
        let mut kinds = [0; 6];
        let (mut longest, mut fewest, mut most) = (0, usize::MAX, 0);
        for at in 0..40_000 {
            let (kind, _) = model.step(&workload, &mut clients[at % 4]);
            kinds[kind] += 1;
            let items = model.rows("items");
            longest = items.values().map(Vec::len).max().unwrap_or(0).max(longest);
            (fewest, most) = (fewest.min(items.len()), most.max(items.len()));
        }
        assert!(kinds.iter().all(|&count| count > 500), "{kinds:?}");
        assert!(longest > 250 && fewest < 9 && most > 22, "{longest} {fewest} {most}");
        let counts = model.counts;
        assert!(counts.inserts > 1000 && counts.removes > 1000, "{counts:?}");
        assert_eq!(counts.scans > 0, !hash);
        assert_eq!(model.broken(&workload), Vec::<String>::new());
    }
}

#[test]
fn insert_delete_keys_differ_in_length_and_share_prefixes() {
    let (_, model) = insert_delete(false);
    let keys: BTreeSet<&Vec<u8>> = model.rows("items").keys().collect();
    let lengths: BTreeSet<usize> = keys.iter().map(|key| key.len()).collect();
    assert_eq!(lengths, BTreeSet::from([2, 12, 28, 33]));
    let layered = keys.iter().filter(|key| key.starts_with(b"churning and churning an"));
    assert!(layered.count() > 5);
}

#[test]
fn insert_delete_conditions_can_fail() {
    for hash in [false, true] {
        let (workload, mut model) = insert_delete(hash);
        let slot = 3u32.to_be_bytes();
        model.tamper("pool", &slot, |row| *row = None);
        assert_eq!(model.broken(&workload), ["tokens"]);
        model.tamper("pool", &slot, |row| *row = Some(0u64.to_le_bytes().to_vec()));
        assert_eq!(model.broken(&workload), ["tokens"]);
        model.tamper("pool", &slot, |row| *row = Some(1u64.to_le_bytes().to_vec()));
        assert_eq!(model.broken(&workload), Vec::<String>::new());
        model.tamper("pairs", &[0, 0, 0, 1, 1], |row| {
            *row = Some((-6i64).to_le_bytes().to_vec());
        });
        assert_eq!(model.broken(&workload), ["pairs"]);
    }
}

#[test]
fn the_bank_uses_everything_and_keeps_its_conditions() {
    let bank = Bank::new(BankOptions::default()).unwrap();
    let mut model = Model::load(&bank, 3);
    let mut clients = model.clients(&bank, 4, 1);
    let (mut kinds, mut refused, mut fewest) = ([0; 6], 0, usize::MAX);
    for at in 0..10_000 {
        let (kind, outcome) = model.step(&bank, &mut clients[at % 4]);
        kinds[kind] += 1;
        refused += u32::from(outcome == Outcome::RolledBack);
        fewest = fewest.min(model.rows("accounts").len());
        if at % 1000 == 0 {
            assert_eq!(model.broken(&bank), Vec::<String>::new());
        }
    }
    assert!(kinds.iter().all(|&count| count > 500), "{kinds:?}");
    assert!(refused > 300 && fewest < 9, "{refused} {fewest}");
    assert_eq!(model.broken(&bank), Vec::<String>::new());
}

#[test]
fn the_bank_s_conditions_can_fail() {
    let bank = Bank::new(BankOptions::default()).unwrap();
    let mut model = Model::load(&bank, 3);
    let key = 5u32.to_be_bytes();
    model.tamper("accounts", &key, |row| row.as_mut().unwrap()[0] += 1);
    assert_eq!(model.broken(&bank), ["sum"]);
    model.tamper("accounts", &key, |row| row.as_mut().unwrap()[0] -= 1);
    // An index row that leads to a row that says otherwise, and one too few.
    model.tamper_index("accounts", 0, |index| {
        let (entry, _) = index.pop_last().unwrap();
        let other = index.first_key_value().unwrap().1.clone();
        index.insert(entry, other);
    });
    assert_eq!(model.broken(&bank), ["cards"]);
    model.tamper_index("accounts", 1, |index| {
        index.pop_first();
    });
    assert_eq!(model.broken(&bank), ["cards", "owners"]);
}

#[test]
fn bad_options_are_named_with_what_is_accepted() {
    let error =
        InsertDelete::new(InsertDeleteOptions { keys: 1, ..InsertDeleteOptions::default() })
            .unwrap_err();
    assert_eq!(error, "--keys 1: accepted is 8 to 65536");
    let error = Bank::new(BankOptions { cards: 12, ..BankOptions::default() }).unwrap_err();
    assert_eq!(error, "--cards 12: accepted is 13 or more");
    let error = Bank::new(BankOptions { accounts: 1, ..BankOptions::default() }).unwrap_err();
    assert_eq!(error, "--accounts 1: accepted is 2 to 10000000");
}

#[test]
fn requests_are_repeatable() {
    for hash in [false, true] {
        let (workload, mut model) = insert_delete(hash);
        let mut client = model.clients(&workload, 1, 4).remove(0);
        for _ in 0..500 {
            workload.next(&mut client, &mut vec![]);
            let mut shown = vec![];
            for refused in [true, false] {
                let _ = model.transaction(false, |tx| {
                    workload.execute(&mut client, tx)?;
                    if refused { Err(chiliad_api::Error::DeadlineExceeded) } else { Ok(()) }
                });
                shown.push(client.shown());
            }
            assert_eq!(shown[0], shown[1]);
        }
        assert_eq!(model.table("items"), TableId(0));
    }
}

#[test]
fn counters_have_what_the_ledgers_have() {
    let workload = Counters::new(CountersOptions::default()).unwrap();
    let mut model = Model::load(&workload, 3);
    let mut clients = model.clients(&workload, 4, 1);
    let (mut kinds, mut fewest) = ([0; 6], usize::MAX);
    for at in 0..10_000 {
        let (kind, _) = model.step(&workload, &mut clients[at % 4]);
        kinds[kind] += 1;
        fewest = fewest.min(model.rows("counters").len());
    }
    assert!(kinds.iter().all(|&count| count > 500), "{kinds:?}");
    assert!(fewest < 4, "{fewest}");
    assert_eq!(model.broken(&workload), Vec::<String>::new());
    let counted = model.rows("ledgers").values().any(|row| row.iter().any(|&byte| byte != 0));
    assert!(counted);
    let first = model.rows("counters").keys().next().cloned().expect("one is open");
    model.tamper("counters", &first, |row| row.as_mut().expect("there")[0] ^= 1);
    assert_eq!(model.broken(&workload), ["sums"]);
    model.tamper("counters", &first, |row| row.as_mut().expect("there")[8] ^= 1);
    assert_eq!(model.broken(&workload), ["sums", "times"]);
    let refused = Counters::new(CountersOptions { counters: 1, ..CountersOptions::default() });
    assert_eq!(refused.err().as_deref(), Some("--counters 1: accepted is 2 to 10000000"));
}

#[test]
fn rows_by_column_keep_their_conditions() {
    let workload = ByColumn::new(ByColumnOptions::default()).unwrap();
    let mut model = Model::load(&workload, 3);
    let mut clients = model.clients(&workload, 4, 1);
    let (mut kinds, mut fewest) = ([0; 6], usize::MAX);
    for at in 0..10_000 {
        let (kind, _) = model.step(&workload, &mut clients[at % 4]);
        kinds[kind] += 1;
        fewest = fewest.min(model.rows("switches").values().filter(|row| row[0] == 1).count());
    }
    assert!(kinds.iter().all(|&count| count > 500), "{kinds:?}");
    assert_eq!(fewest, 4, "one of each pair");
    let copies: BTreeSet<u8> = model.rows("switches").values().map(|row| row[16]).collect();
    assert!(copies.len() > 2 && copies.iter().all(|&copy| copy < 8), "{copies:?}");
    assert_eq!(model.broken(&workload), Vec::<String>::new());
    let pair = [2_u32, 3].map(u32::to_be_bytes);
    for number in &pair {
        model.tamper("switches", number, |row| row.as_mut().expect("there")[0] = 0);
    }
    assert_eq!(model.broken(&workload), ["pairs"]);
    model.tamper("switches", &pair[0], |row| row.as_mut().expect("there")[8] ^= 1);
    assert_eq!(model.broken(&workload), ["pairs", "notes"]);
    for rows in [2, 7] {
        let refused = ByColumn::new(ByColumnOptions { rows, ..ByColumnOptions::default() });
        let line = format!("--rows {rows}: accepted is 4 to 10000000, an even number");
        assert_eq!(refused.err(), Some(line));
    }
}
