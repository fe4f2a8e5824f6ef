//! Directories with damage of every kind: refused or opened, never a panic, and what can be saved is.

#[path = "damage/directories.rs"]
mod directories;

use crate::damage;
use chiliad_engine::{Alone, Error, LogError, Mode, inspect};
use chiliad_log::{MANIFEST_NAME, Manifest};
use chiliad_machine::Native;
use chiliad_simulator::{DiskFaults, FaultyDisk};
use directories::{catalogs, check, directories as any_damage, sound, sound_catalog};

/// Bytes from a seed.
fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut random = seed | 1;
    let mut next = || {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as u8
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn a_sound_directory_is_the_same_each_time_and_opens() {
    for compress in [false, true] {
        let files = sound(compress);
        assert_eq!(files, sound(compress));
        assert!(files.keys().any(|name| name.starts_with("checkpoint")), "{:?}", files.keys());
        check(&files);
    }
}

/// A directory whose manifest was changed, and says so under a sound checksum.
fn with_manifest(change: impl FnOnce(&mut Manifest)) -> directories::Files {
    let mut files = sound(false);
    let mut manifest = Manifest::parse(&files[MANIFEST_NAME]).expect("sound");
    change(&mut manifest);
    let disk = FaultyDisk::new(1, DiskFaults::default());
    manifest.write::<Native>(&disk).expect("written");
    files.insert(MANIFEST_NAME.into(), disk.contents(MANIFEST_NAME).expect("there"));
    files
}

#[test]
fn more_parts_than_there_are_files_are_one_loss() {
    let files = with_manifest(|manifest| {
        manifest.checkpoint.as_mut().expect("there").parts = u32::MAX;
    });
    check(&files);
    let disk = directories::disk_of(&files);
    match inspect::<Native>(&disk, &Alone) {
        Err(Error::Data(LogError::Damaged { file, what, .. })) => {
            assert_eq!(
                (file.as_str(), what.as_str()),
                ("checkpoint-00000001-0001", "the file is missing")
            );
        }
        other => panic!("{other:?}"),
    }
    let saved = directories::open(&disk, Mode::Salvage, false).expect("what there is");
    assert_eq!(saved.recovered.losses.len(), 1, "{:?}", saved.recovered);
}

#[test]
fn the_last_numbers_that_names_can_have_do_no_harm() {
    let mut files = sound(false);
    files.insert("spare-ffffffff".into(), vec![0; 64 << 10]);
    files.insert("log-00000003-0000-ffffffff".into(), Vec::new());
    files.insert("checkpoint-ffffffff-ffffffff".into(), Vec::new());
    check(&files);
}

#[test]
fn segments_of_an_opening_that_no_manifest_knows_are_not_taken_for_the_next_one() {
    for sequence in 0..3 {
        let mut files = sound(false);
        let left = files["log-00000003-0000-00000000"].clone();
        files.insert(format!("log-00000004-0001-{sequence:08x}"), left);
        check(&files);
    }
}

#[test]
fn a_table_that_memory_cannot_hold_is_refused() {
    for rows in [1 << 30, 1 << 62, usize::MAX] {
        let mut catalog = sound_catalog();
        let at = catalog.windows(8).rposition(|it| it == 50_u64.to_le_bytes()).expect("there");
        catalog[at..at + 8].copy_from_slice(&rows.to_le_bytes());
        catalogs(&catalog);
    }
}

#[test]
fn a_damaged_directory_is_refused_or_opened() {
    let bases = [sound(false), sound(true)];
    for seed in 0..2000 {
        any_damage(&bases, &bytes(seed << 8, 4 + seed as usize % 40));
    }
}

#[test]
fn a_damaged_catalog_is_refused_or_opened() {
    let sound = sound_catalog();
    for seed in 0..1000 {
        let mut catalog = sound.clone();
        let script = bytes(seed << 8, 40);
        let mut script = damage::Script::new(&script);
        for _ in 0..1 + seed % 3 {
            damage::change(&mut catalog, &mut script);
        }
        catalogs(&catalog);
    }
}
