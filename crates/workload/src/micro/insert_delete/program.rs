//! One client of insert-delete: it draws a small program, and runs it.

use super::predicate_skew::PredicateSkew;
use super::{
    BALANCE, FOUND, InsertDelete, TOKEN, copy, item_key, item_value, number, side_key, slot_key,
};
use crate::random::Random;
use crate::workload::{free, present};
use crate::{ClientId, Shape};
use chiliad_api::{Get, Range, Result, TableId, Transaction};
use core::ops::{Bound, ControlFlow};

const OPS_MAX: usize = 5;
/// Keys that stand for a range where there is no order.
const GROUP: usize = 6;

const MIX: usize = 0;
const SCAN: usize = 1;
const MOVE: usize = 2;
const SKEW: usize = 3;
const PREDICATE_SKEW: usize = 4;
const AUDIT: usize = 5;

/// The change of a key of `items`.
#[derive(Clone, Copy, Default)]
enum Action {
    #[default]
    Get,
    /// Inserted if it was found absent.
    Insert,
    /// Written unseen.
    Put,
    /// Replaced by a value of another length if it is present.
    Update,
    /// Its number is raised if it is present.
    Modify,
    Remove,
}

#[derive(Clone, Copy, Default)]
struct Op {
    action: Action,
    key: u32,
    /// The length of the value, if there is one.
    length: usize,
}

/// One client: its random numbers, the program in hand, and room to work in.
pub struct InsertDeleteClient {
    items: TableId,
    pool: TableId,
    pairs: TableId,
    random: Random,
    /// Goes into values, so that each is another.
    number: u64,
    kind: usize,
    /// It runs hardly anything but predicate skew.
    mostly_skew: bool,
    ops: [Op; OPS_MAX],
    count: usize,
    /// A range of keys of `items` (any two, the lower first), or a slot and where to move to, or a
    /// pair and a side.
    from: u32,
    to: u32,
    reverse: bool,
    limit: usize,
    amount: i64,
    predicate_skew: PredicateSkew,
    key: Vec<u8>,
    other_key: Vec<u8>,
    value: Vec<u8>,
    shown: u64,
}

impl InsertDeleteClient {
    pub(super) fn new(tables: &[TableId], hash: bool, client_id: ClientId) -> Self {
        Self {
            items: tables[0],
            pool: tables[1],
            pairs: tables[2],
            random: Random::new(client_id.seed, 0xc4_0000_0000 + client_id.index as u64),
            number: (client_id.index as u64 + 1) << 32,
            kind: MIX,
            mostly_skew: client_id.seed / 3 % 2 == 1,
            ops: [Op::default(); OPS_MAX],
            count: 0,
            from: 0,
            to: 0,
            reverse: false,
            limit: 0,
            amount: 0,
            predicate_skew: PredicateSkew::new(tables[3], hash, client_id),
            key: vec![],
            other_key: vec![],
            value: vec![],
            shown: 0,
        }
    }

    /// The reads of the last transaction, folded into a number.
    #[must_use]
    pub fn shown(&self) -> u64 {
        self.shown
    }

    pub(super) fn draw(&mut self, workload: &InsertDelete) -> Shape {
        let options = &workload.options;
        let random = &mut self.random;
        self.number += 1;
        // In every other run there is hardly anything else than predicate skew.
        let least = if self.mostly_skew { 45 } else { 0 };
        self.kind = match random.range(least, 99) {
            0..24 => MIX,
            24..36 => SCAN,
            36..44 => MOVE,
            44..52 => SKEW,
            52..88 => PREDICATE_SKEW,
            _ => AUDIT,
        };
        let (from, to) = match self.kind {
            MOVE => (options.slots, options.slots),
            SKEW => (options.pairs, 2),
            _ => (options.keys, options.keys),
        };
        (self.from, self.to) = (random.below(from), random.below(to));
        self.reverse = random.below(2) == 0;
        self.limit = if random.below(3) == 0 { usize::MAX } else { random.range(1, 6) as usize };
        self.amount = i64::from(random.range(1, 9));
        self.predicate_skew.count_request();
        if matches!(self.kind, PREDICATE_SKEW | AUDIT) {
            self.predicate_skew.draw(random);
        }
        self.count = random.range(1, OPS_MAX as u32) as usize;
        for op in &mut self.ops[..self.count] {
            op.action = match random.below(10) {
                0 | 1 => Action::Get,
                2 | 3 => Action::Insert,
                4 => Action::Put,
                5 => Action::Update,
                6 | 7 => Action::Modify,
                _ => Action::Remove,
            };
            op.key = random.below(options.keys);
            // Mostly short, sometimes as long as it may be.
            let longest = options.record_bytes as u32 >> random.below(5);
            op.length = random.range(8, longest.max(8)) as usize;
        }
        let read_only = self.kind == AUDIT;
        Shape { kind: self.kind, read_only, snapshot: read_only && options.snapshot_reads }
    }

    pub(super) fn run<T: Transaction + ?Sized>(
        &mut self,
        workload: &InsertDelete,
        tx: &mut T,
    ) -> Result<()> {
        self.shown = 0;
        match self.kind {
            MIX => {
                for at in 0..self.count {
                    self.act(tx, self.ops[at])?;
                }
                Ok(())
            }
            SCAN => {
                // What is written depends on how many rows there were: phantoms tell. Now and then
                // they are all removed, so that whole leaves and layers become empty.
                let found = self.look_at_range(workload, tx, self.amount <= 3)?;
                self.number = self.number >> 8 << 8 | found & 0xff;
                let op = self.ops[0];
                self.act(tx, Op { action: Action::Put, ..op })
            }
            MOVE => self.move_token(workload, tx),
            SKEW => self.take_from_pair(tx),
            PREDICATE_SKEW => {
                self.shown = self.predicate_skew.run(tx)?;
                Ok(())
            }
            _ => self.audit(workload, tx),
        }
    }

    fn act<T: Transaction + ?Sized>(&mut self, tx: &mut T, op: Op) -> Result<()> {
        item_key(op.key, &mut self.key);
        item_value(self.number, op.length, &mut self.value);
        match op.action {
            Action::Put => return tx.put(self.items, &self.key, &self.value),
            Action::Remove => {
                self.shown ^= u64::from(tx.remove(self.items, &self.key)?);
                return Ok(());
            }
            _ => {}
        }
        let row = tx.get(self.items, &self.key)?;
        if let Some(row) = row {
            self.shown ^= number(tx.bytes(row)?);
        }
        match (op.action, row) {
            (Action::Insert, None) => free(tx.insert(self.items, &self.key, &self.value)),
            (Action::Update, Some(row)) => tx.update(row, &self.value),
            (Action::Modify, Some(row)) => {
                let value = tx.modify(row)?;
                // Shorter than any that was ever written: a state that never was.
                present((value.len() >= TOKEN.end()).then_some(()))?;
                TOKEN.set(value, TOKEN.get(value).wrapping_add(1));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// How many rows the range in hand has; without an order, how many of a few keys are there.
    /// `sweep`: removes them.
    fn look_at_range<T: Transaction + ?Sized>(
        &mut self,
        workload: &InsertDelete,
        tx: &mut T,
        sweep: bool,
    ) -> Result<u64> {
        if workload.options.hash {
            return self.look_at_group(workload, tx, sweep);
        }
        item_key(self.from, &mut self.key);
        item_key(self.to, &mut self.other_key);
        if self.other_key < self.key {
            core::mem::swap(&mut self.key, &mut self.other_key);
        }
        let low = if self.from.is_multiple_of(5) {
            Bound::Unbounded
        } else {
            Bound::Included(&self.key[..])
        };
        let high = if self.to.is_multiple_of(3) {
            Bound::Unbounded
        } else {
            Bound::Excluded(&self.other_key[..])
        };
        let range = Range { low, high, reverse: self.reverse, limit: self.limit };
        if !sweep && self.to.is_multiple_of(2) {
            // One after another, none of them kept.
            let mut found = 0;
            tx.visit(self.items, range, &mut |_, row| {
                self.shown = self.shown.rotate_left(5) ^ number(row);
                found += 1;
                ControlFlow::Continue(())
            })?;
            return Ok(found);
        }
        let scanned = tx.scan(self.items, range)?;
        for &entry in tx.entries(scanned)? {
            self.shown = self.shown.rotate_left(5) ^ number(tx.bytes(entry.row)?);
        }
        if sweep {
            for at in 0..scanned.len() {
                tx.remove_row(tx.entries(scanned)?[at].row)?;
            }
        }
        Ok(scanned.len() as u64)
    }

    fn look_at_group<T: Transaction + ?Sized>(
        &mut self,
        workload: &InsertDelete,
        tx: &mut T,
        sweep: bool,
    ) -> Result<u64> {
        let mut keys: [Vec<u8>; GROUP] = core::array::from_fn(|_| Vec::new());
        for (number, key) in (self.from..).zip(&mut keys) {
            item_key(number % workload.options.keys, key);
        }
        let gets = keys.each_ref().map(|key| Get::read(self.items, key));
        let mut rows = [None; GROUP];
        tx.get_many(&gets, &mut rows)?;
        let mut found = 0;
        for row in rows.into_iter().flatten() {
            self.shown = self.shown.rotate_left(5) ^ number(tx.bytes(row)?);
            found += 1;
            if sweep {
                tx.remove_row(row)?;
            }
        }
        Ok(found)
    }

    /// Moves the token on a slot (or the next one with a token, where there is an order) to another
    /// slot, if that is empty.
    fn move_token<T: Transaction + ?Sized>(
        &mut self,
        workload: &InsertDelete,
        tx: &mut T,
    ) -> Result<()> {
        let from = slot_key(self.from);
        let token = if workload.options.hash {
            tx.get(self.pool, &from)?
        } else {
            let range = Range { low: Bound::Included(&from), ..Range::all() };
            let range = if self.reverse {
                Range { high: Bound::Included(&from), ..Range::all() }.reverse()
            } else {
                range
            };
            let scanned = tx.scan(self.pool, range.limit(1))?;
            tx.entries(scanned)?.first().map(|entry| entry.row)
        };
        let Some(token) = token else { return Ok(()) };
        let to = slot_key(self.to);
        if let Some(taken) = tx.get_for_update(self.pool.group(0), &to)? {
            let taken = tx.modify(taken)?;
            // A reader of a state that never was may find anything.
            FOUND.set(taken, FOUND.get(taken).wrapping_add(1));
            return Ok(());
        }
        let token_number = number(tx.bytes(token)?);
        let key = tx.row_key(token)?.to_vec();
        let copied = present(tx.get(self.pool.group(0), &key)?)?;
        let copied = number(tx.bytes(copied)?);
        self.shown = token_number;
        tx.remove_row(token)?;
        free(tx.insert_parts(self.pool, &to, &[&token_number.to_le_bytes(), &copy(copied)]))
    }

    /// Takes an amount from one side of a pair if both together have it, else gives it.
    fn take_from_pair<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        let sides = [side_key(self.from, 0), side_key(self.from, 1)];
        let gets = sides.each_ref().map(|key| Get::read(self.pairs, key));
        let mut rows = [None; 2];
        tx.get_many(&gets, &mut rows)?;
        let rows = [present(rows[0])?, present(rows[1])?];
        let sum = BALANCE.get(tx.bytes(rows[0])?) + BALANCE.get(tx.bytes(rows[1])?);
        let change = if sum >= self.amount { -self.amount } else { self.amount };
        let side = tx.modify(rows[self.to as usize])?;
        BALANCE.set(side, BALANCE.get(side) + change);
        self.shown = sum as u64;
        Ok(())
    }

    /// Looks at a pair of groups and, every other time, at everything that has a condition.
    fn audit<T: Transaction + ?Sized>(
        &mut self,
        workload: &InsertDelete,
        tx: &mut T,
    ) -> Result<()> {
        self.shown = self.predicate_skew.audit(tx)?;
        if self.reverse {
            return Ok(());
        }
        self.look_at_range(workload, tx, false)?;
        if workload.options.hash {
            for slot in 0..workload.options.slots {
                if let Some(row) = tx.get(self.pool, &slot_key(slot))? {
                    self.shown ^= number(tx.bytes(row)?) << 32;
                }
            }
            return Ok(());
        }
        for table in [self.pool, self.pairs] {
            tx.visit(table, Range::all(), &mut |_, row| {
                self.shown ^= number(row) << 32;
                ControlFlow::Continue(())
            })?;
        }
        Ok(())
    }
}
