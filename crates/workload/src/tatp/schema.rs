//! TATP's four tables, their keys and their columns.
//!
//! | table | index | key | rows |
//! | --- | --- | --- | --- |
//! | `subscriber` | hash, and unique [`BY_NUMBER`] | s_id | one each |
//! | `access_info` | ordered | s_id, ai_type | 1 to 4 of a subscriber |
//! | `special_facility` | ordered | s_id, sf_type | 1 to 4 of a subscriber |
//! | `call_forwarding` | ordered | s_id, sf_type, start_time | 0 to 3 of a special facility |
//!
//! Keys are big-endian, an s_id four bytes, the others one: one slice of the trie. The number of a
//! subscriber, SUB_NBR, is a unique secondary index of `subscriber`. Columns of a key are not
//! repeated in the row, but for S_ID, which look-ups by number need.

use chiliad_api::{KeyPart, PartType, SecondarySpec, Source, TableId, TableSpec};

/// The position of the index by SUB_NBR in `subscriber`.
pub const BY_NUMBER: usize = 0;

/// The types that access info and special facilities can have.
pub const TYPES: [u8; 4] = [1, 2, 3, 4];

/// The hours at which a call forwarding can start.
pub const STARTS: [u8; 3] = [0, 8, 16];

/// A number of a telephone: 15 digits.
pub type Number = [u8; 15];

/// The tables by name, once a database has numbered them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are TATP's")]
pub struct Tables {
    pub subscriber: TableId,
    pub access_info: TableId,
    pub special_facility: TableId,
    pub call_forwarding: TableId,
}

impl Tables {
    /// Names the tables that were created in the order of [`specs`].
    ///
    /// # Panics
    /// When there are not as many.
    #[must_use]
    pub fn new(tables: &[TableId]) -> Self {
        let &[subscriber, access_info, special_facility, call_forwarding] = tables else {
            panic!("TATP has 4 tables, not {}", tables.len())
        };
        Self { subscriber, access_info, special_facility, call_forwarding }
    }
}

/// The declarations, in the order of [`Tables`], for so many subscribers.
#[must_use]
pub fn specs(subscribers: usize) -> Vec<TableSpec> {
    use subscriber::SUB_NBR;
    let part = KeyPart {
        source: Source::Value,
        offset: SUB_NBR.offset(),
        length: SUB_NBR.bytes(),
        part_type: PartType::Bytes,
        descending: false,
    };
    let by_number =
        SecondarySpec { name: "by_number".into(), parts: vec![part].into(), unique: true };
    vec![
        TableSpec::hash("subscriber", subscribers).with_index(by_number),
        TableSpec::ordered("access_info"),
        TableSpec::ordered("special_facility"),
        TableSpec::ordered("call_forwarding"),
    ]
}

/// The number of a subscriber: s_id in 15 digits.
#[inline]
#[must_use]
pub fn number(s_id: u32) -> Number {
    let mut digits = [b'0'; 15];
    let mut rest = s_id;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    digits
}

/// The primary keys.
pub mod key {
    /// SUBSCRIBER.
    #[inline]
    #[must_use]
    pub fn subscriber(s_id: u32) -> [u8; 4] {
        s_id.to_be_bytes()
    }

    /// ACCESS_INFO and SPECIAL_FACILITY.
    #[inline]
    #[must_use]
    pub fn typed(s_id: u32, kind: u8) -> [u8; 5] {
        let [a, b, c, d] = s_id.to_be_bytes();
        [a, b, c, d, kind]
    }

    /// CALL_FORWARDING.
    #[inline]
    #[must_use]
    pub fn call_forwarding(s_id: u32, sf_type: u8, start_time: u8) -> [u8; 6] {
        let [a, b, c, d] = s_id.to_be_bytes();
        [a, b, c, d, sf_type, start_time]
    }

    /// The s_id that a key begins with, and what follows it; zeros where there is nothing.
    #[inline]
    #[must_use]
    pub fn parts(key: &[u8]) -> (u32, u8, u8) {
        let byte = |at: usize| key.get(at).copied().unwrap_or(0);
        (u32::from_be_bytes([byte(0), byte(1), byte(2), byte(3)]), byte(4), byte(5))
    }
}

/// SUBSCRIBER.
pub mod subscriber {
    use crate::row::Chars;
    crate::row::columns! {
        S_ID: u32, SUB_NBR: Chars<15>, BITS: u16, HEXES: Chars<5>, BYTES2: Chars<10>,
        MSC_LOCATION: u32, VLR_LOCATION: u32,
    }
    /// BIT_1 in `BITS`; BIT_2 to BIT_10 follow upwards. `HEXES` holds HEX_1 to HEX_10, two a byte.
    pub const BIT_1: u16 = 1;
}

/// ACCESS_INFO.
pub mod access_info {
    use crate::row::Chars;
    crate::row::columns! {
        DATA1: u8, DATA2: u8, DATA3: Chars<3>, DATA4: Chars<5>,
    }
}

/// SPECIAL_FACILITY.
pub mod special_facility {
    use crate::row::Chars;
    crate::row::columns! {
        IS_ACTIVE: u8, ERROR_CNTRL: u8, DATA_A: u8, DATA_B: Chars<5>,
    }
}

/// CALL_FORWARDING.
pub mod call_forwarding {
    use crate::row::Chars;
    crate::row::columns! {
        END_TIME: u8, NUMBERX: Chars<15>,
    }
}

#[cfg(test)]
mod tests {
    use super::{key, number};

    #[test]
    fn numbers_and_keys() {
        assert_eq!(&number(1_234_567_890), b"000001234567890");
        assert_eq!(&number(1), b"000000000000001");
        assert_eq!(key::parts(&key::call_forwarding(70_000, 3, 16)), (70_000, 3, 16));
        assert_eq!(key::parts(&key::typed(9, 4)), (9, 4, 0));
    }
}
