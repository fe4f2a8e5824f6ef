//! A manifest as a file, its body under a sound checksum, and the catalog within a sound one.

#![no_main]

use chiliad_fuzz::{directories, plant, readers};

libfuzzer_sys::fuzz_target!(
    init: {
        let catalog = [&[CATALOGUE], &directories::sound_catalog()[..]].concat();
        plant(&[readers::sound_manifest(), catalog]);
    },
    |data: &[u8]| match data.split_first() {
        Some((&CATALOGUE, catalog)) => directories::catalogs(catalog),
        _ => readers::manifests(data),
    }
);

/// The first byte of an input that is a catalog.
const CATALOGUE: u8 = 2;
