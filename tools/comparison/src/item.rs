//! The rows of the workload `rows`: ten columns, two of them strings.

use crate::random::Random;
use serde::{Deserialize, Serialize};

/// A row. Chiliad keeps it as columns, by its own derive; the other stores keep bytes, so for them it is encoded by serde
/// and postcard, as an application would.
#[derive(chiliad::Row, Serialize, Deserialize, Clone, PartialEq, Debug)]
pub struct Item {
    pub name: String,
    pub note: String,
    pub stock: u64,
    pub sold: u64,
    pub price: i64,
    pub weight: f64,
    pub supplier: u32,
    pub shelf: u16,
    pub rating: u8,
    pub listed: bool,
}

impl Item {
    /// The row of a key: strings of 8 to 24 and 20 to 60 bytes, numbers that use most of their bytes.
    pub fn new(key: u64, random: &mut Random) -> Self {
        Self {
            name: letters(random, 8, 24),
            note: letters(random, 20, 60),
            stock: random.below(1 << 40),
            sold: random.below(1 << 40),
            price: random.below(1 << 30) as i64,
            weight: random.below(1_000_000) as f64 / 1_000.0,
            supplier: supplier(key),
            shelf: random.below(1 << 16) as u16,
            rating: random.below(100) as u8,
            listed: random.below(2) == 0,
        }
    }

    /// The same for another key.
    pub fn move_to(&mut self, key: u64) {
        self.supplier = supplier(key);
    }

    /// Whether it can be the row of a key: one column tells.
    pub fn fits(&self, key: u64) -> bool {
        self.supplier == supplier(key)
    }

    /// As bytes, for stores of bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("any row can be encoded")
    }

    /// From bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        postcard::from_bytes(bytes).expect("the store returns what it was given")
    }
}

/// The column that follows from the key.
fn supplier(key: u64) -> u32 {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
}

fn letters(random: &mut Random, least: u64, most: u64) -> String {
    let mut bytes = vec![0; (least + random.below(most - least + 1)) as usize];
    random.letters(&mut bytes);
    String::from_utf8(bytes).expect("letters")
}
