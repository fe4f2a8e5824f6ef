//! The part of a checkpoint.

#![no_main]

use chiliad_fuzz::{plant, readers};

libfuzzer_sys::fuzz_target!(
    init: plant(&[readers::sound_part()]),
    |data: &[u8]| readers::parts(data)
);
