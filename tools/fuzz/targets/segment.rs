//! Segments of the log, through everything that reads them.

#![no_main]

use chiliad_fuzz::{plant, readers};

libfuzzer_sys::fuzz_target!(
    init: plant(&[readers::sound_segments()]),
    |data: &[u8]| readers::segments(data)
);
