//! Rows and keys under types that are read from text.

#![no_main]

use chiliad_fuzz::{plant, rows};

libfuzzer_sys::fuzz_target!(
    init: plant(&rows::seeds()),
    |data: &[u8]| rows::check(data)
);
