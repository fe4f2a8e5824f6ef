//! The feud: two houses of rooms, and requests that look into one house and change the other by what
//! they saw. Two requests that look past each other's change are write skew on a predicate.
//!
//! Rooms are such that changes of the index's own shape fall in between. A house is a layer of the
//! ordered index: in the houses of even feuds there is about a leaf of rooms, so that new ones divide
//! it or, sharing eight bytes with one that is there, make a layer; those of odd feuds have hardly
//! one, so that layers come and go. A hash table is made for a few, so that it grows as more are
//! taken. Clients go from feud to feud at about the same pace, so as to meet.

use super::number;
use crate::ClientSeat;
use crate::random::Random;
use chiliad_engine::{Get, Range, Result, TableId, Transaction};
use core::ops::Bound;

/// Feuds, of two houses each.
pub(super) const FEUDS: u32 = 8;
/// Requests of a client, whatever their kind, before it turns to the next feud.
const PACE: u32 = 3;
/// Rooms looked into one by one, or changed, at most.
const FEW: usize = 4;

/// One client's request.
pub(super) struct Feud {
    table: TableId,
    /// Of a house, in the order of their keys.
    all_rooms: u32,
    requests: u32,
    feud: u32,
    /// The house that is changed; the other one is looked into.
    house: u32,
    look: Look,
    change: Change,
    rooms: [u32; FEW],
    seen: [u32; FEW],
    count: usize,
    key: Vec<u8>,
    other_key: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Look {
    /// At all rooms.
    House { reverse: bool },
    /// At those between two rooms.
    Wing { reverse: bool },
    /// At a few of them by name.
    Rooms,
}

#[derive(Clone, Copy)]
enum Change {
    /// Rooms are taken, whoever had them.
    Take,
    /// Rooms are left.
    Leave,
    /// All rooms are left.
    Clear,
}

fn rooms(hash: bool) -> u32 {
    if hash { 12 } else { 40 }
}

/// The key of a room: 12 bytes, or 17 of which two rooms share 16; 8 for all of a house.
fn room_key(feud: u32, house: u32, room: u32, key: &mut Vec<u8>) {
    house_key(feud, house, key);
    key.extend_from_slice(&(room / 4).to_be_bytes());
    match room % 4 {
        0 => {}
        1 => key.extend_from_slice(b"a"),
        other => {
            key.extend_from_slice(b"room");
            key.push(other as u8);
        }
    }
}

fn house_key(feud: u32, house: u32, key: &mut Vec<u8>) {
    key.clear();
    key.extend_from_slice(b"feud");
    key.extend_from_slice(&(2 * feud + house).to_be_bytes());
}

/// Calls `insert` with the rooms that are taken at first.
pub(super) fn load(
    random: &mut Random,
    hash: bool,
    mut insert: impl FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    let mut key = vec![];
    for feud in 0..FEUDS {
        for house in 0..2 {
            // Of a full house: every third, about as many as fit into a leaf.
            let step = if feud % 2 == 0 && !hash { 3 } else { 40 };
            for room in (random.below(3)..rooms(hash)).step_by(step) {
                room_key(feud, house, room, &mut key);
                insert(&key, &u64::from(room).to_le_bytes())?;
            }
        }
    }
    Ok(())
}

impl Feud {
    pub(super) fn new(table: TableId, hash: bool, seat: ClientSeat) -> Self {
        Self {
            table,
            all_rooms: rooms(hash),
            // The first feud is another one from run to run.
            requests: PACE * (seat.seed % u64::from(FEUDS)) as u32,
            feud: 0,
            house: 0,
            look: Look::Rooms,
            change: Change::Take,
            rooms: [0; FEW],
            seen: [0; FEW],
            count: 0,
            key: vec![],
            other_key: vec![],
        }
    }

    /// Counts a request of any kind: the pace at which clients move on.
    pub(super) fn pass(&mut self) {
        self.requests += 1;
    }

    /// Makes up a request.
    pub(super) fn draw(&mut self, random: &mut Random, ordered: bool) {
        self.feud = self.requests / PACE % FEUDS;
        self.house = random.below(2);
        let reverse = random.below(2) == 0;
        self.look = match random.below(6) {
            0 | 1 if ordered => Look::House { reverse },
            2 | 3 if ordered => Look::Wing { reverse },
            _ => Look::Rooms,
        };
        self.change = match random.below(8) {
            0 => Change::Clear,
            1 | 2 => Change::Leave,
            _ => Change::Take,
        };
        self.count = random.range(1, FEW as u32) as usize;
        for room in self.rooms.iter_mut().chain(&mut self.seen) {
            *room = random.below(self.all_rooms);
        }
    }

    /// Runs it; what was seen, folded into a number.
    pub(super) fn run<T: Transaction + ?Sized>(
        &mut self,
        ordered: bool,
        tx: &mut T,
    ) -> Result<u64> {
        let seen = self.look_into(1 - self.house, self.look, tx)?;
        match self.change {
            Change::Take => {
                for at in 0..self.count {
                    room_key(self.feud, self.house, self.rooms[at], &mut self.key);
                    tx.put(self.table, &self.key, &seen.to_le_bytes())?;
                }
            }
            Change::Clear if ordered => self.clear(tx)?,
            Change::Clear | Change::Leave => {
                for at in 0..self.count {
                    room_key(self.feud, self.house, self.rooms[at], &mut self.key);
                    tx.remove(self.table, &self.key)?;
                }
            }
        }
        Ok(seen)
    }

    /// Looks into some rooms of both houses.
    pub(super) fn audit<T: Transaction + ?Sized>(
        &mut self,
        ordered: bool,
        tx: &mut T,
    ) -> Result<u64> {
        let look = if ordered { Look::House { reverse: false } } else { Look::Rooms };
        Ok(self.look_into(0, look, tx)? ^ self.look_into(1, look, tx)?.rotate_left(32))
    }

    fn look_into<T: Transaction + ?Sized>(
        &mut self,
        house: u32,
        look: Look,
        tx: &mut T,
    ) -> Result<u64> {
        let reverse = match look {
            Look::Rooms => return self.look_into_rooms(house, tx),
            Look::House { reverse } => {
                house_key(self.feud, house, &mut self.key);
                house_key(self.feud, house + 1, &mut self.other_key);
                reverse
            }
            Look::Wing { reverse } => {
                let [one, other, ..] = self.seen;
                room_key(self.feud, house, one.min(other), &mut self.key);
                room_key(self.feud, house, one.max(other), &mut self.other_key);
                reverse
            }
        };
        let (low, high) = (Bound::Included(&self.key[..]), Bound::Excluded(&self.other_key[..]));
        let scanned = tx.scan(self.table, Range { low, high, reverse, ..Range::all() })?;
        let mut seen = scanned.len() as u64;
        for &entry in tx.entries(scanned) {
            seen = seen.rotate_left(7) ^ number(tx.bytes(entry.row));
        }
        Ok(seen)
    }

    fn look_into_rooms<T: Transaction + ?Sized>(&self, house: u32, tx: &mut T) -> Result<u64> {
        let mut keys: [Vec<u8>; FEW] = core::array::from_fn(|_| Vec::new());
        for (&room, key) in self.seen.iter().zip(&mut keys) {
            room_key(self.feud, house, room, key);
        }
        let gets = keys.each_ref().map(|key| Get { table: self.table, key });
        let mut rows = [None; FEW];
        tx.get_many(&gets, &mut rows)?;
        let seen = rows.iter().flatten().map(|&row| number(tx.bytes(row)));
        Ok(seen.fold(0, |seen, one| seen.rotate_left(7) ^ one ^ 1))
    }

    fn clear<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        house_key(self.feud, self.house, &mut self.key);
        house_key(self.feud, self.house + 1, &mut self.other_key);
        let (low, high) = (Bound::Included(&self.key[..]), Bound::Excluded(&self.other_key[..]));
        let scanned = tx.scan(self.table, Range { low, high, ..Range::all() })?;
        for at in 0..scanned.len() {
            tx.remove_row(tx.entries(scanned)[at].row)?;
        }
        Ok(())
    }
}
