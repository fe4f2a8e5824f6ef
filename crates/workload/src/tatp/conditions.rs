//! The conditions of a register at rest, checked by ranges of subscribers, each in a transaction
//! of its own:
//!
//! - `subscribers`: all are there, each with its number;
//! - `numbers`: the index by number has exactly them;
//! - `access_info`, `special_facility`: each row is of a subscriber, which has 1 to 4 of them, with
//!   types and values as specified;
//! - `call_forwarding`: each row is of a special facility, with hours and number as specified.
//!
//! The first range is open below and the last one above, so that rows of nobody are met too.

use super::schema::{self, BY_NUMBER, Number, STARTS, TYPES, Tables, key};
use super::schema::{access_info, call_forwarding, special_facility, subscriber};
use crate::{Condition, RunReadOnly};
use chiliad_api::{Get, Range, Result, Row, TableId, Transaction};
use core::ops::Bound;
use std::collections::BTreeSet;

/// Subscribers looked at in one transaction.
const CHUNK: u32 = 256;

const NAMES: [&str; 5] =
    ["subscribers", "numbers", "access_info", "special_facility", "call_forwarding"];

/// The first violation of each condition.
#[derive(Default)]
struct Findings([Option<String>; 5]);

impl Findings {
    /// A condition must hold; `what` says what is wrong if it does not.
    fn demand(&mut self, number: usize, holds: bool, what: impl FnOnce() -> String) {
        if !holds && self.0[number].is_none() {
            self.0[number] = Some(what());
        }
    }
}

/// Looks at all five.
///
/// # Errors
/// Those of the transactions.
pub(super) fn check(
    subscribers: u32,
    tables: &Tables,
    run: &mut RunReadOnly<'_>,
) -> Result<Vec<Condition>> {
    let mut findings = Findings::default();
    let mut first = 1;
    while first <= subscribers {
        let last = subscribers.min(first + CHUNK - 1);
        let bounds =
            Bounds { first, last, open_below: first == 1, open_above: last == subscribers };
        let mut piece = Piece::default();
        run(&mut |tx| {
            piece = Piece::read(tables, tx, &bounds)?;
            Ok(())
        })?;
        piece.judge(&bounds, &mut findings);
        first = last + 1;
    }
    let named = NAMES.into_iter().zip(findings.0);
    Ok(named.map(|(name, failure)| Condition { name: name.into(), failure }).collect())
}

/// A range of subscribers.
struct Bounds {
    first: u32,
    last: u32,
    /// Rows of subscribers before the first belong here too.
    open_below: bool,
    /// Rows of subscribers after the last belong here too.
    open_above: bool,
}

impl Bounds {
    fn range<'a>(&self, low: &'a [u8], high: &'a [u8]) -> Range<'a> {
        let low = if self.open_below { Bound::Unbounded } else { Bound::Included(low) };
        let high = if self.open_above { Bound::Unbounded } else { Bound::Excluded(high) };
        Range { low, high, ..Range::all() }
    }
}

/// A key, and what a condition asks of the row.
type Found<V> = Vec<(Vec<u8>, V)>;

/// The rows of a range of subscribers.
#[derive(Default)]
struct Piece {
    /// S_ID and SUB_NBR of each, by s_id.
    subscribers: Vec<Option<(u32, Number)>>,
    /// The first violation by number.
    numbers: Found<(u32, Number)>,
    access_info: Found<bool>,
    special_facility: Found<bool>,
    call_forwarding: Found<bool>,
}

impl Piece {
    fn read(tables: &Tables, tx: &mut dyn Transaction, bounds: &Bounds) -> Result<Self> {
        let s_ids = bounds.first..=bounds.last;
        let keys: Vec<[u8; 4]> = s_ids.map(key::subscriber).collect();
        let gets: Vec<Get<'_>> = keys.iter().map(|key| Get::read(tables.subscriber, key)).collect();
        let mut rows = vec![None; gets.len()];
        tx.get_many(&gets, &mut rows)?;
        let subscriber = |row: &Option<Row>| row.map(|row| tx.bytes(row).map(identity)).transpose();
        let subscribers = rows.iter().map(subscriber).collect::<Result<_>>()?;
        let (low, high) = (schema::number(bounds.first), schema::number(bounds.last + 1));
        let scanned = tx.scan_index(tables.subscriber, BY_NUMBER, bounds.range(&low, &high))?;
        let numbers = tx.entries(scanned)?.iter();
        let numbers = numbers
            .map(|&entry| Ok((tx.key(entry)?.to_vec(), identity(tx.bytes(entry.row)?))))
            .collect::<Result<_>>()?;
        Ok(Self {
            subscribers,
            numbers,
            access_info: dependents(tables.access_info, tx, bounds, &access_info_is_good)?,
            special_facility: dependents(tables.special_facility, tx, bounds, &facility_is_good)?,
            call_forwarding: dependents(tables.call_forwarding, tx, bounds, &forwarding_is_good)?,
        })
    }

    fn judge(&self, bounds: &Bounds, findings: &mut Findings) {
        for (s_id, row) in (bounds.first..).zip(&self.subscribers) {
            findings.demand(0, *row == Some((s_id, schema::number(s_id))), || {
                format!("subscriber {s_id} is {row:?}")
            });
        }
        for (number, (s_id, own)) in &self.numbers {
            let agrees = number[..] == own[..] && *own == schema::number(*s_id);
            findings.demand(1, agrees, || {
                format!("{} leads to subscriber {s_id} of number {own:?}", number.escape_ascii())
            });
        }
        let (indexed, there) = (self.numbers.len(), self.subscribers.len());
        findings.demand(1, indexed == there, || {
            format!("{indexed} numbers for the {there} subscribers from {} on", bounds.first)
        });
        for (condition, rows) in [(2, &self.access_info), (3, &self.special_facility)] {
            for (s_id, row) in (bounds.first..).zip(&self.subscribers) {
                let count = rows.iter().filter(|(key, _)| key::parts(key).0 == s_id).count();
                let is_possible = row.is_none() || (1..=TYPES.len()).contains(&count);
                findings.demand(condition, is_possible, || {
                    format!("subscriber {s_id} has {count} rows")
                });
            }
            for (key, is_good) in rows {
                let (s_id, kind, _) = key::parts(key);
                let has_owner = self.has_subscriber(bounds, s_id);
                findings.demand(condition, has_owner && *is_good && TYPES.contains(&kind), || {
                    format!("a row of subscriber {s_id} and type {kind} is of nobody or bad")
                });
            }
        }
        let facilities: BTreeSet<&[u8]> =
            self.special_facility.iter().map(|(key, _)| &key[..]).collect();
        for (key, is_good) in &self.call_forwarding {
            let (s_id, kind, start) = key::parts(key);
            let has_owner = facilities.contains(&key::typed(s_id, kind)[..]);
            findings.demand(4, has_owner && *is_good && STARTS.contains(&start), || {
                format!(
                    "the row of facility {kind} of subscriber {s_id} from {start} on is of \
                         nobody or bad"
                )
            });
        }
    }

    fn has_subscriber(&self, bounds: &Bounds, s_id: u32) -> bool {
        let at = s_id.checked_sub(bounds.first).and_then(|at| self.subscribers.get(at as usize));
        at.is_some_and(Option::is_some)
    }
}

fn identity(row: &[u8]) -> (u32, Number) {
    let mut number = [0; 15];
    number.copy_from_slice(subscriber::SUB_NBR.get(row));
    (subscriber::S_ID.get(row), number)
}

/// The rows of a table that belong to a range of subscribers, each with what `judge` says of it.
fn dependents(
    table: TableId,
    tx: &mut dyn Transaction,
    bounds: &Bounds,
    judge: &dyn Fn(&[u8]) -> bool,
) -> Result<Found<bool>> {
    let (low, high) = (key::subscriber(bounds.first), key::subscriber(bounds.last + 1));
    let scanned = tx.scan(table, bounds.range(&low, &high))?;
    let entries = tx.entries(scanned)?.iter();
    entries.map(|&entry| Ok((tx.key(entry)?.to_vec(), judge(tx.bytes(entry.row)?)))).collect()
}

fn access_info_is_good(row: &[u8]) -> bool {
    let letters = [access_info::DATA3.get(row), access_info::DATA4.get(row)].concat();
    letters.iter().all(u8::is_ascii_uppercase)
}

fn facility_is_good(row: &[u8]) -> bool {
    let letters = special_facility::DATA_B.get(row);
    special_facility::IS_ACTIVE.get(row) <= 1 && letters.iter().all(u8::is_ascii_uppercase)
}

fn forwarding_is_good(row: &[u8]) -> bool {
    let digits = call_forwarding::NUMBERX.get(row);
    let end = call_forwarding::END_TIME.get(row);
    (1..=24).contains(&end) && digits.iter().all(u8::is_ascii_digit)
}
