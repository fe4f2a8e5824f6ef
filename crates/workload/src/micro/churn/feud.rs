//! The feud: two houses of rooms, and requests that look into one house and change the other by what
//! they saw. Two requests that look past each other's change are write skew on a predicate. Each
//! house has a door as well, a row that is always there: who looks into the house looks at it, and to
//! paint it is a change that nobody meets before it is committed.
//!
//! Rooms are such that changes of the index's own shape fall in between. A house is a layer of the
//! ordered index: in the houses of rich feuds a leaf of rooms is taken, so that more divide it or,
//! sharing eight bytes with one that is there, make a layer. Those of poor feuds have two rooms at
//! the end of a long key, and are often left by both, so that layers come and go, a chain of them at
//! a time: the leaf of each is empty for a moment before it leaves the tree, and who looks into one
//! room then looks at that leaf alone. A hash table is made for a few, so that it grows as more are
//! taken. Clients go from feud to feud at about the same pace, so as to meet.

use super::number;
use crate::ClientSeat;
use crate::random::Random;
use chiliad_api::{Get, Range, Result, TableId, Transaction};
use core::ops::Bound;

/// Feuds, of two houses each.
pub(super) const FEUDS: u32 = 16;
/// Requests of a client, whatever their kind, before it turns to the next feud.
const PACE: u32 = 5;
/// A door is large: it takes long to paint.
const DOOR_BYTES: usize = 160;
/// What the keys of a poor house's rooms have in common besides the house.
const CORRIDOR_BYTES: usize = 24;
/// Rooms changed at most.
const FEW: usize = 4;
/// Rooms looked into one by one.
const SEEN: usize = 8;

/// One client's request.
pub(super) struct Feud {
    table: TableId,
    hash: bool,
    requests: u32,
    feud: u32,
    /// The house that is changed; the other one is looked into.
    house: u32,
    look: Look,
    change: Change,
    rooms: [u32; FEW],
    seen: [u32; SEEN],
    count: usize,
    /// Rooms are taken and the door is painted.
    paints: bool,
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
    /// The door is painted, after a look around.
    Paint,
}

/// The rooms of a house, in the order of their keys.
fn rooms(feud: u32, hash: bool) -> u32 {
    match hash {
        true => 12,
        false if is_poor(feud) => 2,
        false => 45,
    }
}

fn is_poor(feud: u32) -> bool {
    feud % 2 == 1
}

/// The key of a room: 12 bytes, 13, or 17 of which two rooms share 16; 8 for all of a house. Without
/// an order every other room has 8 bytes that are its own: a hash index keeps those in the bucket,
/// where they move when another goes.
fn room_key(hash: bool, feud: u32, house: u32, room: u32, key: &mut Vec<u8>) {
    if hash && room.is_multiple_of(2) {
        key.clear();
        key.extend_from_slice(b"room");
        key.extend_from_slice(&((2 * feud + house) << 16 | room).to_be_bytes());
        return;
    }
    house_key(feud, house, key);
    if !hash && is_poor(feud) {
        key.extend_from_slice(&[b'-'; CORRIDOR_BYTES]);
    }
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

fn door_key(feud: u32, house: u32) -> [u8; 8] {
    let [_, _, a, b] = (2 * feud + house).to_be_bytes();
    [b'd', b'o', b'o', b'r', b's', b' ', a, b]
}

/// The first room that is taken at first; so is every third after it.
fn first_room(feud: u32, house: u32) -> u32 {
    (feud + house) % 3
}

fn house_key(feud: u32, house: u32, key: &mut Vec<u8>) {
    key.clear();
    key.extend_from_slice(b"feud");
    key.extend_from_slice(&(2 * feud + house).to_be_bytes());
}

/// Calls `insert` with the rooms that are taken at first.
pub(super) fn load(hash: bool, mut insert: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
    let mut key = vec![];
    for feud in 0..FEUDS {
        for house in 0..2 {
            // Some doors outgrow their records when they are painted, others do not.
            let bytes = if house == 0 { 8 } else { DOOR_BYTES };
            insert(&door_key(feud, house), &[0; DOOR_BYTES][..bytes])?;
            // Of a full house about as many as fit into a leaf.
            let (first, step) = match hash {
                true => (first_room(feud, house), 12),
                false if is_poor(feud) => (0, 1),
                false => (first_room(feud, house), 3),
            };
            for room in (first..rooms(feud, hash)).step_by(step) {
                room_key(hash, feud, house, room, &mut key);
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
            hash,
            // The first feud is another one from run to run.
            requests: PACE * (seat.seed % u64::from(FEUDS)) as u32,
            feud: 0,
            house: 0,
            look: Look::Rooms,
            change: Change::Take,
            rooms: [0; FEW],
            seen: [0; SEEN],
            count: 0,
            paints: false,
            key: vec![],
            other_key: vec![],
        }
    }

    /// Counts a request of any kind: the pace at which clients move on.
    pub(super) fn pass(&mut self) {
        self.requests += 1;
    }

    /// Makes up a request.
    pub(super) fn draw(&mut self, random: &mut Random) {
        self.feud = self.requests / PACE % FEUDS;
        self.house = random.below(2);
        let reverse = random.below(2) == 0;
        self.look = match random.below(6) {
            0 if !self.hash => Look::House { reverse },
            1..=4 if self.is_poor() => Look::Wing { reverse },
            1 if !self.hash => Look::House { reverse },
            2 if !self.hash => Look::Wing { reverse },
            _ => Look::Rooms,
        };
        let poor = self.is_poor();
        self.change = match random.below(8) {
            0 | 1 if poor => Change::Clear,
            2 if poor => Change::Leave,
            3 | 4 => Change::Paint,
            0 if random.below(3) == 0 => Change::Clear,
            1 => Change::Leave,
            _ => Change::Take,
        };
        self.count = random.range(1 + u32::from(poor), FEW as u32) as usize;
        self.paints = random.below(6) == 0;
        let rooms = rooms(self.feud, self.hash);
        for room in self.rooms.iter_mut().chain(&mut self.seen) {
            *room = random.below(rooms);
        }
        if !poor && !self.hash {
            // Mostly rooms that were taken at first: they are missed when they are not found.
            for room in &mut self.seen[2..] {
                *room -= *room % 3;
            }
        }
    }

    /// Runs it; what was seen, folded into a number.
    pub(super) fn run<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<u64> {
        let door = door_key(self.feud, 1 - self.house);
        let door = match tx.get(self.table, &door)? {
            Some(door) => number(tx.bytes(door)?),
            None => 0,
        };
        let mut seen = door ^ self.look_into(1 - self.house, self.look, tx)?;
        if self.is_poor() {
            seen ^= self.look_at_doors(2, tx)?;
        }
        match self.change {
            Change::Take => {
                for at in 0..self.count {
                    room_key(self.hash, self.feud, self.house, self.rooms[at], &mut self.key);
                    tx.put(self.table, &self.key, &seen.to_le_bytes())?;
                }
                if self.paints {
                    self.paint(seen, tx)?;
                }
            }
            Change::Paint => {
                if !self.is_poor() {
                    seen ^= self.look_into_rooms(self.house, tx)?;
                }
                self.paint(seen, tx)?;
            }
            Change::Clear if !self.hash => self.clear(tx)?,
            Change::Clear | Change::Leave => {
                for at in 0..self.count {
                    room_key(self.hash, self.feud, self.house, self.rooms[at], &mut self.key);
                    tx.remove(self.table, &self.key)?;
                }
            }
        }
        Ok(seen)
    }

    /// Looks into some rooms of both houses and then at the doors, so that a change of both that a
    /// snapshot holds by halves shows.
    pub(super) fn audit<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<u64> {
        let look =
            if self.hash || self.count > 2 { Look::Rooms } else { Look::House { reverse: false } };
        let rooms = self.look_into(0, look, tx)? ^ self.look_into(1, look, tx)?.rotate_left(32);
        Ok(rooms ^ self.look_at_doors(0, tx)?)
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
                room_key(self.hash, self.feud, house, one.min(other), &mut self.key);
                room_key(self.hash, self.feud, house, one.max(other), &mut self.other_key);
                reverse
            }
        };
        let (low, high) = (Bound::Included(&self.key[..]), Bound::Included(&self.other_key[..]));
        let scanned = tx.scan(self.table, Range { low, high, reverse, ..Range::all() })?;
        let mut seen = scanned.len() as u64;
        for &entry in tx.entries(scanned)? {
            seen = seen.rotate_left(7) ^ number(tx.bytes(entry.row)?);
        }
        Ok(seen)
    }

    fn look_into_rooms<T: Transaction + ?Sized>(&self, house: u32, tx: &mut T) -> Result<u64> {
        let mut keys: [Vec<u8>; SEEN] = core::array::from_fn(|_| Vec::new());
        for (&room, key) in self.seen.iter().zip(&mut keys) {
            let room =
                if room.is_multiple_of(3) { room + first_room(self.feud, house) } else { room };
            room_key(self.hash, self.feud, house, room, key);
        }
        let gets = keys.each_ref().map(|key| Get::read(self.table, key));
        let mut rows = [None; SEEN];
        tx.get_many(&gets, &mut rows)?;
        let mut seen = 0u64;
        for row in rows.into_iter().flatten() {
            seen = seen.rotate_left(7) ^ number(tx.bytes(row)?) ^ 1;
        }
        Ok(seen)
    }

    fn is_poor(&self) -> bool {
        !self.hash && is_poor(self.feud)
    }

    /// Looks at the doors of a few feuds, from the one so many away.
    fn look_at_doors<T: Transaction + ?Sized>(&self, away: u32, tx: &mut T) -> Result<u64> {
        let doors: [[u8; 8]; SEEN] = core::array::from_fn(|at| {
            let at = at as u32;
            door_key((self.feud + away + at / 2) % FEUDS, at % 2)
        });
        let gets = doors.each_ref().map(|key| Get::read(self.table, key));
        let mut rows = [None; SEEN];
        tx.get_many(&gets, &mut rows)?;
        let mut doors = 0;
        for row in rows.into_iter().flatten() {
            doors ^= number(tx.bytes(row)?);
        }
        Ok(doors)
    }

    fn paint<T: Transaction + ?Sized>(&self, seen: u64, tx: &mut T) -> Result<()> {
        let mut door = [0; DOOR_BYTES];
        door.chunks_mut(8).for_each(|part| part.copy_from_slice(&seen.to_le_bytes()));
        tx.put(self.table, &door_key(self.feud, self.house), &door)
    }

    fn clear<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        house_key(self.feud, self.house, &mut self.key);
        house_key(self.feud, self.house + 1, &mut self.other_key);
        let (low, high) = (Bound::Included(&self.key[..]), Bound::Excluded(&self.other_key[..]));
        let scanned = tx.scan(self.table, Range { low, high, ..Range::all() })?;
        for at in 0..scanned.len() {
            tx.remove_row(tx.entries(scanned)?[at].row)?;
        }
        Ok(())
    }
}
