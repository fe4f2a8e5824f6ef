//! The initial population (TATP description, version 1.0): of each subscriber 1 to 4 rows of access
//! info and 1 to 4 special facilities, of each of those 0 to 3 call forwardings, all numbers equally
//! likely, and types and starting times without repetition.

use super::schema::{self, STARTS, TYPES, Tables, key};
use super::schema::{access_info, call_forwarding, special_facility, subscriber};
use crate::InsertRow;
use crate::random::{Chance, Random};
use chiliad_api::Result;
use core::ops::Range;

/// Special facilities that are active, in percent.
const ACTIVE: f64 = 85.0;

/// Makes up what belongs to the subscribers in `s_ids`.
pub(super) fn subscribers(
    tables: &Tables,
    s_ids: Range<u32>,
    random: &mut Random,
    insert: &mut InsertRow<'_>,
) -> Result<()> {
    for s_id in s_ids {
        insert(tables.subscriber, &key::subscriber(s_id), &subscriber_row(s_id, random))?;
        let (types, count) = some_of(TYPES, 1, random);
        for &ai_type in &types[..count] {
            let mut row = [0; access_info::BYTES];
            access_info::DATA1.set(&mut row, byte(random));
            access_info::DATA2.set(&mut row, byte(random));
            access_info::DATA3.set(&mut row, &capitals::<3>(random));
            access_info::DATA4.set(&mut row, &capitals::<5>(random));
            insert(tables.access_info, &key::typed(s_id, ai_type), &row)?;
        }
        let (types, count) = some_of(TYPES, 1, random);
        for &sf_type in &types[..count] {
            let mut row = [0; special_facility::BYTES];
            let is_active = random.chance(Chance::percent(ACTIVE));
            special_facility::IS_ACTIVE.set(&mut row, u8::from(is_active));
            special_facility::ERROR_CNTRL.set(&mut row, byte(random));
            special_facility::DATA_A.set(&mut row, byte(random));
            special_facility::DATA_B.set(&mut row, &capitals::<5>(random));
            insert(tables.special_facility, &key::typed(s_id, sf_type), &row)?;
            let (starts, count) = some_of(STARTS, 0, random);
            for &start in &starts[..count] {
                let end = start + random.range(1, 8) as u8;
                let mut numberx = [0; 15];
                random.digits(&mut numberx);
                let key = key::call_forwarding(s_id, sf_type, start);
                insert(tables.call_forwarding, &key, &call_forwarding_row(end, &numberx))?;
            }
        }
    }
    Ok(())
}

fn subscriber_row(s_id: u32, random: &mut Random) -> [u8; subscriber::BYTES] {
    let mut row = [0; subscriber::BYTES];
    subscriber::S_ID.set(&mut row, s_id);
    subscriber::SUB_NBR.set(&mut row, &schema::number(s_id));
    subscriber::BITS.set(&mut row, random.below(1 << 10) as u16);
    let mut hexes = [0; 5];
    hexes.fill_with(|| byte(random));
    subscriber::HEXES.set(&mut row, &hexes);
    let mut bytes = [0; 10];
    bytes.fill_with(|| byte(random));
    subscriber::BYTES2.set(&mut row, &bytes);
    subscriber::MSC_LOCATION.set(&mut row, random.range(1, u32::MAX - 1));
    subscriber::VLR_LOCATION.set(&mut row, random.range(1, u32::MAX - 1));
    row
}

/// A row of CALL_FORWARDING.
#[inline]
pub(super) fn call_forwarding_row(
    end: u8,
    numberx: &schema::Number,
) -> [u8; call_forwarding::BYTES] {
    let mut row = [0; call_forwarding::BYTES];
    call_forwarding::END_TIME.set(&mut row, end);
    call_forwarding::NUMBERX.set(&mut row, numberx);
    row
}

fn byte(random: &mut Random) -> u8 {
    random.below(256) as u8
}

fn capitals<const N: usize>(random: &mut Random) -> [u8; N] {
    let mut letters = [0; N];
    letters.fill_with(|| b'A' + random.below(26) as u8);
    letters
}

/// At least `least` of the items, each number of them equally likely: that many in front, sorted.
fn some_of<const N: usize>(
    mut items: [u8; N],
    least: usize,
    random: &mut Random,
) -> ([u8; N], usize) {
    let count = random.range(least as u32, N as u32) as usize;
    random.shuffle(&mut items);
    items[..count].sort_unstable();
    (items, count)
}
