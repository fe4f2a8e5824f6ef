//! Insertions and deletions: rows that come, go and come back under a few keys.
//!
//! Four tables, ordered (`scan`) or hashed (`hash`):
//!
//! - `items`: anything goes; what transactions did to it is for a checker to judge. Its keys are of
//!   very different lengths and share long prefixes, its values grow from 8 bytes to hundreds;
//! - `pool`: a few tokens on many slots. A token moves to a slot that was found empty: two that move
//!   to one slot, or one that moves twice, break the condition `tokens`. The group `copy` of the row holds its number
//!   once more, and how often somebody found the slot taken: half of a row breaks the condition, too;
//! - `pairs`: two balances whose sum must not be negative, though one of them may be. Two
//!   transactions that each see enough and each take from another side break the condition `pairs`:
//!   write skew;
//! - `feuds`: see [`predicate_skew`]: what transactions see decides what they add where others look.

mod predicate_skew;
mod program;

use crate::memory::{Estimate, Tables};
use crate::random::Random;
use crate::row::Column;
use crate::workload::present;
use crate::{ClientId, Condition, InsertRow, RunReadOnly, Shape, Workload};
use chiliad_api::{Get, GroupSpec, Result, TableId, TableSpec, Transaction};
pub use program::InsertDeleteClient;

const KINDS: [&str; 6] = ["mix", "scan", "move", "skew", "feud", "audit"];
/// The condition that is there for write skew.
const PAIRS: &str = "pairs";
/// The initial balance of each side of a pair.
const FIRST_BALANCE: i64 = 5;
/// The balance of one side of a pair.
const BALANCE: Column<i64> = Column::at(0);
/// Which token it is.
const TOKEN: Column<u64> = Column::at(0);
/// Of a token's copy, how often somebody found the slot taken.
const FOUND: Column<u64> = Column::at(8);

/// The workload as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsertDeleteOptions {
    /// Hash tables, and look-ups where there would be scans.
    pub hash: bool,
    /// `--keys`: of `items`.
    pub keys: u32,
    /// `--slots`: of `pool`, for a third as many tokens.
    pub slots: u32,
    /// `--pairs`.
    pub pairs: u32,
    /// `--record-bytes`: the greatest length of a value of `items`.
    pub record_bytes: usize,
    /// `--snapshot-reads`: audits read a snapshot of the past.
    pub snapshot_reads: bool,
}

impl Default for InsertDeleteOptions {
    fn default() -> Self {
        Self { hash: false, keys: 40, slots: 18, pairs: 3, record_bytes: 300, snapshot_reads: true }
    }
}

impl InsertDeleteOptions {
    /// About what the rows take; of each value only `kept` bytes exist, where that is said.
    #[must_use]
    pub fn memory(&self, kept: Option<usize>) -> Estimate {
        // Half of the keys have a row, of half the greatest length; a third of the slots have a token.
        Tables::new(kept)
            .rows(u64::from(self.keys) / 2, self.record_bytes as u64 / 2)
            .rows(u64::from(self.slots) / 3, 8)
            .rows(2 * u64::from(self.pairs), 8)
            .estimate("--keys")
    }

    /// Whether the values are in range.
    ///
    /// # Errors
    /// One line that names the flag, the value and what is accepted.
    pub fn validate(&self) -> core::result::Result<(), String> {
        let within = |flag: &str, given: u64, low: u64, high: u64| match given {
            _ if (low..=high).contains(&given) => Ok(()),
            _ => Err(format!("{flag} {given}: accepted is {low} to {high}")),
        };
        within("--keys", self.keys.into(), 8, 65_536)?;
        within("--slots", self.slots.into(), 3, 1_000_000)?;
        within("--pairs", self.pairs.into(), 1, 1_000_000)?;
        within("--record-bytes", self.record_bytes as u64, 8, 65_536)
    }
}

/// The workload.
#[derive(Debug)]
pub struct InsertDelete {
    options: InsertDeleteOptions,
}

impl InsertDelete {
    /// The workload as asked for.
    ///
    /// # Errors
    /// Those of [`InsertDeleteOptions::validate`].
    pub fn new(options: InsertDeleteOptions) -> core::result::Result<Self, String> {
        options.validate()?;
        Ok(Self { options })
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &InsertDeleteOptions {
        &self.options
    }

    fn tokens(&self) -> u32 {
        self.options.slots / 3
    }
}

/// A key of `items`: 2 bytes, 12, 28 or 33, the longer ones with 8, 24 and 29 bytes in common, so
/// that a trie of 8-byte slices needs layers.
fn item_key(number: u32, key: &mut Vec<u8>) {
    key.clear();
    match number % 4 {
        0 => {}
        1 => key.extend_from_slice(b"churning"),
        _ => key.extend_from_slice(b"churning and churning an"),
    }
    if number % 4 == 3 {
        key.extend_from_slice(b"d on ");
    }
    if number.is_multiple_of(4) {
        key.extend_from_slice(&(number as u16).to_be_bytes());
    } else {
        key.extend_from_slice(&number.to_be_bytes());
    }
}

/// The part in the group `copy` of a token that nobody has found in his way yet.
fn copy(token: u64) -> [u8; 16] {
    let mut copy = [0; 16];
    TOKEN.set(&mut copy, token);
    copy
}

fn slot_key(slot: u32) -> [u8; 4] {
    slot.to_be_bytes()
}

fn side_key(pair: u32, side: u8) -> [u8; 5] {
    let [a, b, c, d] = pair.to_be_bytes();
    [a, b, c, d, side]
}

/// The number that a value begins with. A reader of a state that never was may find fewer bytes.
fn number(value: &[u8]) -> u64 {
    value.iter().take(8).rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// A value of `items`: a number, then as many letters as `length` has room for.
fn item_value(number: u64, length: usize, value: &mut Vec<u8>) {
    value.clear();
    value.extend_from_slice(&number.to_le_bytes());
    value.resize(length.max(8), b'a' + (number % 26) as u8);
}

impl Workload for InsertDelete {
    type Client = InsertDeleteClient;

    fn name(&self) -> &'static str {
        if self.options.hash { "hash" } else { "scan" }
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KINDS
    }

    fn tables(&self) -> Vec<TableSpec> {
        let table = |name, rows: u32| match self.options.hash {
            true => TableSpec::hash(name, rows as usize),
            false => TableSpec::ordered(name),
        };
        vec![
            table("items", self.options.keys),
            table("pool", self.options.slots).with_group(GroupSpec::new("copy")),
            table("pairs", 2 * self.options.pairs),
            table("feuds", predicate_skew::PAIRS),
        ]
    }

    fn load_parts(&self) -> usize {
        1
    }

    fn load(
        &self,
        tables: &[TableId],
        _: usize,
        seed: u64,
        insert: &mut InsertRow<'_>,
    ) -> Result<()> {
        let mut random = Random::new(seed, 0x10ad);
        let (mut key, mut value) = (vec![], vec![]);
        for number in 0..self.options.keys {
            if random.below(2) == 0 {
                item_key(number, &mut key);
                let length = random.range(8, 40).min(self.options.record_bytes as u32);
                item_value(u64::from(number), length as usize, &mut value);
                insert(tables[0], &key, &value)?;
            }
        }
        for token in 0..self.tokens() {
            let (key, number) = (slot_key(3 * token), u64::from(token).to_le_bytes());
            insert(tables[1], &key, &number)?;
            insert(tables[1].group(0), &key, &copy(u64::from(token)))?;
        }
        for pair in 0..self.options.pairs {
            for side in 0..2 {
                insert(tables[2], &side_key(pair, side), &FIRST_BALANCE.to_le_bytes())?;
            }
        }
        predicate_skew::load(self.options.hash, |key, value| insert(tables[3], key, value))
    }

    fn client(&self, tables: &[TableId], client_id: ClientId) -> InsertDeleteClient {
        InsertDeleteClient::new(tables, self.options.hash, client_id)
    }

    fn next(&self, client: &mut InsertDeleteClient, partitions: &mut Vec<u32>) -> Shape {
        partitions.push(0);
        client.draw(self)
    }

    fn execute<T: Transaction + ?Sized>(
        &self,
        client: &mut InsertDeleteClient,
        tx: &mut T,
    ) -> Result<()> {
        client.run(self, tx)
    }

    fn conditions(&self, tables: &[TableId], run: &mut RunReadOnly<'_>) -> Result<Vec<Condition>> {
        let (mut tokens, mut pairs) = (None, None);
        run(&mut |tx| {
            tokens = self.check_tokens(tables[1], tx)?;
            pairs = self.check_pairs(tables[2], tx)?;
            Ok(())
        })?;
        Ok(vec![
            Condition { name: "tokens".into(), failure: tokens },
            Condition { name: PAIRS.into(), failure: pairs },
        ])
    }

    fn broken_by_skew(&self) -> &'static [&'static str] {
        &[PAIRS]
    }
}

impl InsertDelete {
    /// Every token lies on one slot.
    fn check_tokens(&self, pool: TableId, tx: &mut dyn Transaction) -> Result<Option<String>> {
        let mut found = vec![0u32; self.tokens() as usize];
        let keys: Vec<[u8; 4]> = (0..self.options.slots).map(slot_key).collect();
        let copies = look_up(tx, pool.group(0), &keys)?;
        for (row, copy) in look_up(tx, pool, &keys)?.into_iter().zip(copies) {
            let (row, copy) = match (row, copy) {
                (None, None) => continue,
                (Some(row), Some(copy)) => (row, copy),
                _ => return Ok(Some("half of a token lies on a slot".into())),
            };
            let token = TOKEN.get(tx.bytes(row)?);
            if TOKEN.get(tx.bytes(copy)?) != token {
                return Ok(Some(format!("half of token {token} lies with half of another")));
            }
            match found.get_mut(token as usize) {
                Some(count) => *count += 1,
                None => return Ok(Some(format!("token {token} was never there"))),
            }
        }
        let wrong = found.iter().position(|&count| count != 1);
        Ok(wrong.map(|token| format!("token {token} lies on {} slots", found[token])))
    }

    /// No pair is in debt.
    fn check_pairs(&self, pairs: TableId, tx: &mut dyn Transaction) -> Result<Option<String>> {
        for pair in 0..self.options.pairs {
            let rows = look_up(tx, pairs, &[side_key(pair, 0), side_key(pair, 1)])?;
            let mut sides = [0; 2];
            for (side, row) in sides.iter_mut().zip(rows) {
                *side = BALANCE.get(tx.bytes(present(row)?)?);
            }
            if sides[0] + sides[1] < 0 {
                return Ok(Some(format!("pair {pair} holds {} and {}", sides[0], sides[1])));
            }
        }
        Ok(None)
    }
}

fn look_up<const BYTES: usize>(
    tx: &mut dyn Transaction,
    table: TableId,
    keys: &[[u8; BYTES]],
) -> Result<Vec<Option<chiliad_api::Row>>> {
    let gets: Vec<Get<'_>> = keys.iter().map(|key| Get::read(table, key)).collect();
    let mut rows = vec![None; gets.len()];
    tx.get_many(&gets, &mut rows)?;
    Ok(rows)
}
