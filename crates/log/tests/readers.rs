//! Files of any content through every reader: an error or what they hold, never a panic, never the
//! same place twice.

mod damage;
#[path = "damage/readers.rs"]
mod reading;

use chiliad_log::{LogError, Promise, SegmentId, Sought, tail};
use chiliad_machine::Native;
use chiliad_simulator::{DiskFaults, FaultyDisk};
use damage::{Script, change};
use proptest::prelude::*;

/// Changes of a sound script: bytes turned, numbers put in, the end cut off or grown.
fn damaged(sound: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut bytes = sound.to_vec();
    let mut changes = Script::new(changes);
    while !changes.is_empty() {
        change(&mut bytes, &mut changes);
    }
    bytes
}

#[test]
fn sound_files_are_read() {
    let sound = reading::sound_segments();
    let files = damage::spread(&mut Script::new(&sound[1..]));
    assert_eq!(files.len(), 2);
    assert_eq!(damage::compact(&files), sound[1..]);
    reading::segments(&sound);
    reading::parts(&reading::sound_part());
    reading::manifests(&reading::sound_manifest());
}

#[test]
fn a_part_whose_rows_do_not_parse_is_damaged() {
    let mut part = reading::part_with(&[1, 2, 3]);
    assert!(matches!(part.next_rows(), Ok(Some([]))), "the first frame is sound");
    assert!(matches!(part.next_rows(), Err(LogError::Damaged { offset: 4096, .. })));
}

#[test]
fn a_segment_may_have_the_last_of_all_numbers() {
    let disk = FaultyDisk::new(1, DiskFaults::default());
    let last = SegmentId { incarnation: 1, writer: 0, sequence: u32::MAX };
    damage::put(&disk, &last.to_string(), &[]);
    let sought = Sought { database: 7, first: last, present: &[last], promise: Promise::Nothing };
    assert!(tail::<Native>(&disk, sought, Some(&mut Vec::new())).is_ok());
    assert!(tail::<Native>(&disk, sought, None).is_err());
}

fn cases() -> ProptestConfig {
    ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn segments_may_hold_anything(changes in proptest::collection::vec(any::<u8>(), 0..60)) {
        reading::segments(&damaged(&reading::sound_segments(), &changes));
        reading::segments(&changes);
    }

    #[test]
    fn parts_may_hold_anything(changes in proptest::collection::vec(any::<u8>(), 0..60)) {
        reading::parts(&damaged(&reading::sound_part(), &changes));
        reading::parts(&changes);
    }

    #[test]
    fn manifests_may_hold_anything(changes in proptest::collection::vec(any::<u8>(), 0..60)) {
        reading::manifests(&damaged(&reading::sound_manifest(), &changes));
        reading::manifests(&changes);
    }
}
