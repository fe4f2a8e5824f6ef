//! A directory with damage: inspected, read, salvaged, gone on with.

#![no_main]

use chiliad_fuzz::{directories, plant};
use directories::Files;
use std::sync::LazyLock;

static SOUND: LazyLock<[Files; 2]> =
    LazyLock::new(|| [directories::sound(false), directories::sound(true)]);

libfuzzer_sys::fuzz_target!(
    init: plant(&seeds()),
    |data: &[u8]| directories::directories(&SOUND, data)
);

/// A change of each kind, without and with a seal, to some file of each directory.
fn seeds() -> Vec<Vec<u8>> {
    let changes = (0..=255_u8).step_by(5);
    changes.map(|kind| vec![kind, kind, kind / 5, 0, 0, kind, 1, 0, 0, 2, 0, 0, 9]).collect()
}
