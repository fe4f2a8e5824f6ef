//! Fields of types that are no columns and no parts of keys. After each of them stands what the compiler says of it.

#![allow(dead_code, reason = "nothing runs")]

use chiliad::{Database, Json, Key, Row, Stored};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::time::Instant;

#[derive(Row)]
struct Columns {
    id: u64,
    name: &'static str, //~ `&'static str` is no column of a row
    map: HashMap<u8, u8>, //~ `HashMap<u8, u8>` is no column of a row
    set: BTreeSet<String>, //~ `BTreeSet<std::string::String>` is no column of a row
    shared: Rc<u8>, //~ `Rc<u8>` is no column of a row
    boxed: Box<u64>, //~ `Box<u64>` is no column of a row
    borrowed: Cow<'static, str>, //~ `Cow<'static, str>` is no column of a row
    pointer: *const u8, //~ `*const u8` is no column of a row
    function: fn(u8) -> u8, //~ `fn(u8) -> u8` is no column of a row
    length: usize, //~ `usize` is no column of a row
    moment: Instant, //~ `std::time::Instant` is no column of a row
    maybe: Option<HashMap<u8, u16>>, //~ `HashMap<u8, u16>` is no column of a row
    list: Vec<Rc<u16>>, //~ `Rc<u16>` is no column of a row
    pair: (u8, Rc<u32>), //~ `Rc<u32>` is no column of a row
    plain: Plain, //~ `Plain` is no column of a row
    last: String,
}

struct Plain {
    it: u8,
}

#[derive(Stored)]
struct Parts {
    id: u8,
    shared: Rc<u8>, //~ `Rc<u8>` is no column of a row
}

#[derive(Stored)]
struct Newtype(Rc<u8>); //~ `Rc<u8>` is no column of a row

#[derive(Stored)]
enum Variants {
    One(*const u8), //~ `*const u8` is no column of a row
    Other {
        length: usize, //~ `usize` is no column of a row
    },
}

#[derive(Key)]
struct Parted {
    id: u8,
    words: Vec<String>, //~ `Vec<std::string::String>` is not a key part
    json: Json<u8>, //~ `chiliad::Json<u8>` is not a key part
    map: HashMap<u8, u8>, //~ `HashMap<u8, u8>` is not a key part
    name: &'static str, //~ `&'static str` is not a key part
    last: String,
}

#[derive(Row)]
#[index(by_words(words))]
#[index(by_both(id, json))]
struct Indexed {
    id: u8,
    words: Vec<String>, //~ `Vec<std::string::String>` is not a key part
    json: Json<u8>, //~ `chiliad::Json<u8>` is not a key part
}

fn keys(db: &Database) {
    let _ = db.create_table::<HashMap<u8, u8>, u8>("map"); //~ `HashMap<u8, u8>` is not a key
    let _ = db.create_table::<Json<u8>, u8>("json"); //~ `chiliad::Json<u8>` is not a key
    let _ = db.create_table::<&'static str, u8>("text"); //~ `&'static str` is not a key
}

#[derive(Stored)]
struct Tagged {
    tags: Vec<String>,
}

#[derive(Row)]
#[index(by_tagged(tagged))]
struct IndexedWithin {
    tagged: Tagged, //~ `Vec<std::string::String>` is not a key part
}
