//! As `types.rs`, of types that are accepted: a library with which this compiles has all features.

use chiliad::{Database, Json, Key, Row, Stored};

#[derive(Row)]
#[index(by_both(id, words))]
pub struct Columns {
    id: u64,
    words: [String; 2],
    json: Json<u8>,
    parts: Parts,
}

#[derive(Stored)]
pub struct Parts {
    id: u8,
}

#[derive(Key)]
pub struct Parted {
    id: u8,
    name: String,
}

/// Opens a table of them.
pub fn open(db: &Database) -> bool {
    db.create_table::<Parted, Columns>("rows").is_ok()
}
