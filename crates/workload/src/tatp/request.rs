//! One client of TATP: how it makes up a transaction, and how it runs one.

use super::load::call_forwarding_row;
use super::schema::{self, BY_NUMBER, Number, STARTS, Tables, key};
use super::schema::{access_info, call_forwarding, special_facility, subscriber};
use super::{
    GET_ACCESS_DATA, GET_NEW_DESTINATION, GET_SUBSCRIBER_DATA, INSERT_CALL_FORWARDING, Tatp,
    UPDATE_LOCATION, UPDATE_SUBSCRIBER_DATA,
};
use crate::random::Random;
use crate::tpcc::random::nurand;
use crate::workload::present;
use crate::{ClientId, Shape};
use chiliad_api::{Error, Get, Range, Result, Row, Transaction};

/// The parameters of a request. Each transaction uses some of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs, reason = "the names are TATP's")]
pub struct Asked {
    pub s_id: u32,
    pub sub_nbr: Number,
    /// AI_TYPE or SF_TYPE.
    pub kind: u8,
    pub start_time: u8,
    pub end_time: u8,
    pub bit_1: bool,
    pub data_a: u8,
    pub vlr_location: u32,
    pub numberx: Number,
}

/// One client: its random numbers and the request in hand.
pub struct Client {
    tables: Tables,
    random: Random,
    /// Its own partition.
    home: u32,
    /// The least and the greatest subscriber that it asks for.
    s_ids: (u32, u32),
    kind: usize,
    asked: Asked,
    /// The last transaction found what it looked for, and could do what it was asked.
    found: bool,
    /// The reads, folded into a number, so that the compiler cannot leave out reading.
    shown: u64,
}

impl Client {
    pub(super) fn new(tatp: &Tatp, tables: Tables, client_id: ClientId) -> Self {
        let home = client_id.home as u32 % tatp.options().partitions;
        let range = tatp.subscribers_of(home);
        Self {
            tables,
            random: Random::new(client_id.seed, 0x7a_0000_0000 + client_id.index as u64),
            home,
            s_ids: (range.start, range.end - 1),
            kind: GET_SUBSCRIBER_DATA,
            asked: Asked::default(),
            found: false,
            shown: 0,
        }
    }

    /// The parameters of the current request.
    #[must_use]
    pub fn asked(&self) -> Asked {
        self.asked
    }

    /// Whether the last transaction found what it looked for, and could do what it was asked.
    #[must_use]
    pub fn found(&self) -> bool {
        self.found
    }

    /// The reads of the last transaction, folded into a number.
    #[must_use]
    pub fn shown(&self) -> u64 {
        self.shown
    }

    #[inline]
    pub(super) fn draw(&mut self, tatp: &Tatp, partitions: &mut Vec<u32>) -> Shape {
        let drawn = self.random.below(tatp.mixed);
        self.kind = tatp.shares.iter().filter(|&&sum| sum <= drawn).count();
        let random = &mut self.random;
        // The description's formula is TPC-C's with a constant of zero.
        let s_id = nurand(random, tatp.skew, 0, self.s_ids.0, self.s_ids.1);
        let mut numberx = [0; 15];
        if self.kind == INSERT_CALL_FORWARDING {
            random.digits(&mut numberx);
        }
        self.asked = Asked {
            s_id,
            sub_nbr: schema::number(s_id),
            kind: random.range(1, 4) as u8,
            start_time: STARTS[random.below(3) as usize],
            end_time: random.range(1, 24) as u8,
            bit_1: random.below(2) == 1,
            data_a: random.below(256) as u8,
            vlr_location: random.range(1, u32::MAX - 1),
            numberx,
        };
        partitions.push(self.home);
        let read_only = self.kind <= GET_ACCESS_DATA;
        let snapshot = read_only && tatp.options().snapshot_reads;
        Shape { kind: self.kind, read_only, snapshot }
    }

    #[inline]
    pub(super) fn run<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        self.found = match self.kind {
            GET_SUBSCRIBER_DATA => self.get_subscriber_data(tx)?,
            GET_NEW_DESTINATION => self.get_new_destination(tx)?,
            GET_ACCESS_DATA => self.get_access_data(tx)?,
            UPDATE_SUBSCRIBER_DATA => self.update_subscriber_data(tx)?,
            UPDATE_LOCATION => self.update_location(tx)?,
            INSERT_CALL_FORWARDING => self.insert_call_forwarding(tx)?,
            _ => self.delete_call_forwarding(tx)?,
        };
        Ok(())
    }

    fn get_subscriber_data<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<bool> {
        let key = key::subscriber(self.asked.s_id);
        let row = present(tx.get(self.tables.subscriber, &key)?)?;
        self.shown = fold(tx.bytes(row)?);
        Ok(true)
    }

    /// The numbers to which calls go that arrive between the hours asked for, if the facility is
    /// active.
    fn get_new_destination<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<bool> {
        let Asked { s_id, kind, start_time, end_time, .. } = self.asked;
        self.shown = 0;
        let facility = tx.get(self.tables.special_facility, &key::typed(s_id, kind))?;
        let is_active = match facility {
            Some(row) => special_facility::IS_ACTIVE.get(tx.bytes(row)?) == 1,
            None => false,
        };
        if !is_active {
            return Ok(false);
        }
        let low = key::call_forwarding(s_id, kind, 0);
        let high = key::call_forwarding(s_id, kind, start_time);
        let scanned = tx.scan(self.tables.call_forwarding, Range::closed(&low, &high))?;
        let mut found = false;
        for entry in tx.entries(scanned)? {
            let row = tx.bytes(entry.row)?;
            if end_time < call_forwarding::END_TIME.get(row) {
                self.shown ^= fold(call_forwarding::NUMBERX.get(row));
                found = true;
            }
        }
        Ok(found)
    }

    fn get_access_data<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<bool> {
        let key = key::typed(self.asked.s_id, self.asked.kind);
        let row = tx.get(self.tables.access_info, &key)?;
        self.shown = match row {
            Some(row) => {
                let row = tx.bytes(row)?;
                u64::from(access_info::DATA1.get(row)) ^ fold(row)
            }
            None => 0,
        };
        Ok(row.is_some())
    }

    fn update_subscriber_data<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<bool> {
        let Asked { s_id, kind, bit_1, data_a, .. } = self.asked;
        let (subscriber, facility) = (key::subscriber(s_id), key::typed(s_id, kind));
        let gets = [
            Get::update(self.tables.subscriber, &subscriber),
            Get::update(self.tables.special_facility, &facility),
        ];
        let mut rows = [None; 2];
        tx.get_many(&gets, &mut rows)?;
        let subscriber = present(rows[0])?;
        let Some(facility) = rows[1] else { return Ok(false) };
        let row = tx.modify(subscriber)?;
        let others = subscriber::BITS.get(row) & !subscriber::BIT_1;
        subscriber::BITS.set(row, others | if bit_1 { subscriber::BIT_1 } else { 0 });
        special_facility::DATA_A.set(tx.modify(facility)?, data_a);
        Ok(true)
    }

    fn update_location<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<bool> {
        let row = self.by_number(tx)?;
        subscriber::VLR_LOCATION.set(tx.modify(row)?, self.asked.vlr_location);
        Ok(true)
    }

    /// Fails where the subscriber lacks the facility, or has a call forwarding from that hour on.
    fn insert_call_forwarding<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<bool> {
        let Asked { kind, start_time, end_time, numberx, .. } = self.asked;
        let row = self.by_number(tx)?;
        let s_id = subscriber::S_ID.get(tx.bytes(row)?);
        let (low, high) = (key::typed(s_id, 0), key::typed(s_id, u8::MAX));
        let facilities = tx.scan(self.tables.special_facility, Range::closed(&low, &high))?;
        let mut has_it = false;
        for &entry in tx.entries(facilities)? {
            has_it |= key::parts(tx.key(entry)?).1 == kind;
        }
        if !has_it {
            return Ok(false);
        }
        let key = key::call_forwarding(s_id, kind, start_time);
        let row = call_forwarding_row(end_time, &numberx);
        match tx.insert(self.tables.call_forwarding, &key, &row) {
            Ok(()) => Ok(true),
            Err(Error::DuplicateKey(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn delete_call_forwarding<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<bool> {
        let Asked { kind, start_time, .. } = self.asked;
        let row = self.by_number(tx)?;
        let s_id = subscriber::S_ID.get(tx.bytes(row)?);
        let key = key::call_forwarding(s_id, kind, start_time);
        let Some(row) = tx.get_for_update(self.tables.call_forwarding, &key)? else {
            return Ok(false);
        };
        tx.remove_row(row)?;
        Ok(true)
    }

    /// The subscriber of the number asked for.
    #[inline]
    fn by_number<T: Transaction + ?Sized>(&self, tx: &mut T) -> Result<Row> {
        let number = &self.asked.sub_nbr;
        let range = Range::closed(number, number);
        let found = tx.scan_index(self.tables.subscriber, BY_NUMBER, range)?;
        Ok(present(tx.entries(found)?.first())?.row)
    }
}

/// All bytes of a row, as a number.
#[inline]
fn fold(row: &[u8]) -> u64 {
    row.iter().fold(0, |sum, &byte| sum.rotate_left(8) ^ u64::from(byte))
}
