//! What the targets feed, and what they start from.
//!
//! The checks themselves are the tests' own (`crates/log/tests/damage`, `crates/engine/tests/engine/damage`,
//! `crates/row/tests/rows/foreign.rs`):
//! what a fuzzer finds is a script of bytes that a test can repeat.

#[path = "../../../crates/log/tests/damage/mod.rs"]
pub mod damage;
#[path = "../../../crates/engine/tests/engine/damage/directories.rs"]
pub mod directories;
#[path = "../../../crates/log/tests/damage/readers.rs"]
pub mod readers;
#[path = "../../../crates/row/tests/rows/foreign.rs"]
pub mod rows;

use std::path::Path;

/// Puts seeds into the first directory that the command line names, where the corpus is kept. Called
/// before the fuzzer reads it.
pub fn plant(seeds: &[Vec<u8>]) {
    let named = std::env::args().skip(1).find(|argument| Path::new(argument).is_dir());
    let Some(corpus) = named else { return };
    for (number, seed) in seeds.iter().enumerate() {
        let path = Path::new(&corpus).join(format!("seed-{number}"));
        std::fs::write(&path, seed).expect("the corpus can be written to");
    }
}
