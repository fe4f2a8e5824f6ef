//! What the tests share.

use chiliad_engine::{KeyPart, PartType, SecondarySpec, Source};

/// A generator whose every run is the same.
pub struct Dice(pub u64);

impl Dice {
    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    }
}

/// An index over bytes of the rows.
pub fn index(name: &str, offset: usize, length: usize, unique: bool) -> SecondarySpec {
    let (source, part_type) = (Source::Value, PartType::Bytes);
    let part = KeyPart { source, offset, length, part_type, descending: false };
    SecondarySpec { name: name.into(), parts: vec![part].into(), unique }
}
