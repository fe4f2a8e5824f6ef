//! The simulated disk as a value in memory: what a loss of power leaves, and every fault.

use chiliad_machine::disk::{Access, BLOCK_BYTES, Blocks, Disk, DiskFile};
use chiliad_simulator::{DiskFaults, FaultyDisk};
use std::collections::BTreeSet;
use std::io::ErrorKind;

const BLOCK: u64 = BLOCK_BYTES as u64;
const SECTOR: usize = 512;

fn disk() -> FaultyDisk {
    FaultyDisk::new(1, DiskFaults::default())
}

/// Blocks full of one byte.
fn blocks(count: usize, byte: u8) -> Blocks {
    let mut blocks = Blocks::new();
    blocks.push(&vec![byte; count * BLOCK_BYTES]);
    blocks
}

/// A file of zeros, durable with its name.
fn durable_file(disk: &FaultyDisk, name: &str, count: u64) -> Box<dyn DiskFile> {
    let file = disk.create(name, count * BLOCK).unwrap();
    file.sync().unwrap();
    disk.sync_names().unwrap();
    file
}

fn contents(disk: &FaultyDisk, name: &str) -> Vec<u8> {
    disk.contents(name).expect("a file of that name")
}

/// Whether every sector of the bytes has `byte` alone; a torn one or a mixture answers no.
fn all(bytes: &[u8], byte: u8) -> bool {
    bytes.iter().all(|&it| it == byte)
}

#[test]
fn what_is_written_is_read_and_misuse_is_refused() {
    let disk = disk();
    let file = disk.create("a", 2 * BLOCK).unwrap();
    file.write_at(BLOCK, &blocks(1, 7)).unwrap();
    assert_eq!(file.bytes().unwrap(), 2 * BLOCK);
    let reader = disk.open("a", Access::Read).unwrap();
    let mut read = Blocks::new();
    reader.read_at(BLOCK, BLOCK_BYTES, &mut read).unwrap();
    reader.read_at(0, 4 * BLOCK_BYTES, &mut read).unwrap();
    assert_eq!(read.len(), 3 * BLOCK_BYTES, "the file has two");
    let (first, rest) = read.bytes().split_at(BLOCK_BYTES);
    assert!(all(first, 7) && all(&rest[..BLOCK_BYTES], 0) && all(&rest[BLOCK_BYTES..], 7));
    reader.read_at(8 * BLOCK, BLOCK_BYTES, &mut read).unwrap();
    assert_eq!(read.len(), 3 * BLOCK_BYTES, "there is nothing behind the end");
    for (offset, bytes) in [(SECTOR as u64, BLOCK_BYTES), (0, SECTOR)] {
        let kind = reader.read_at(offset, bytes, &mut read).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::InvalidInput);
    }
    file.write_at(4 * BLOCK, &blocks(1, 9)).unwrap();
    assert!(all(&contents(&disk, "a")[2 * BLOCK_BYTES..4 * BLOCK_BYTES], 0), "a gap is zeros");
    assert!(file.read_at(0, BLOCK_BYTES, &mut read).is_err(), "opened for writing");
    assert!(reader.write_at(0, &blocks(1, 1)).is_err(), "opened for reading");
    assert_eq!(
        file.write_at(SECTOR as u64, &blocks(1, 1)).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    let far = file.write_at(u64::MAX / BLOCK * BLOCK, &blocks(1, 1)).unwrap_err();
    assert_eq!(far.kind(), ErrorKind::FileTooLarge);
    assert_eq!(disk.open("b", Access::Read).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(disk.rename("b", "c").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(disk.remove("b").unwrap_err().kind(), ErrorKind::NotFound);
    disk.create("a", BLOCK).unwrap();
    assert!(all(&contents(&disk, "a"), 0) && file.bytes().unwrap() == BLOCK, "emptied");
}

#[test]
fn what_is_synced_survives_every_loss_of_power() {
    let disk = disk();
    let file = durable_file(&disk, "a", 8);
    file.write_at(0, &blocks(8, 1)).unwrap();
    file.sync().unwrap();
    file.write_at(2 * BLOCK, &blocks(1, 2)).unwrap();
    file.sync().unwrap();
    // Behind and beside it: none of the synced sectors is written again.
    file.write_at(6 * BLOCK, &blocks(4, 3)).unwrap();
    for seed in 0..500 {
        let found = contents(&disk.crash(seed), "a");
        let (first, rest) = found.split_at(2 * BLOCK_BYTES);
        assert!(all(first, 1), "seed {seed}");
        assert!(all(&rest[..BLOCK_BYTES], 2), "seed {seed}");
        assert!(all(&rest[BLOCK_BYTES..4 * BLOCK_BYTES], 1), "seed {seed}");
    }
}

#[test]
fn a_durable_write_survives_and_takes_nothing_else_along() {
    let disk = disk();
    let file = durable_file(&disk, "a", 8);
    file.write_at(0, &blocks(2, 1)).unwrap();
    file.write_at(4 * BLOCK, &blocks(1, 1)).unwrap();
    file.write_durably_at(4 * BLOCK, &blocks(2, 2)).unwrap();
    file.write_at(6 * BLOCK, &blocks(1, 3)).unwrap();
    let mut kept = BTreeSet::new();
    for seed in 0..500 {
        let found = contents(&disk.crash(seed), "a");
        assert!(all(&found[4 * BLOCK_BYTES..6 * BLOCK_BYTES], 2), "seed {seed}");
        kept.insert((found[0], found[6 * BLOCK_BYTES]));
    }
    let others = BTreeSet::from([(0, 0), (0, 3), (1, 0), (1, 3)]);
    assert_eq!(kept, others, "what was written before and after may be there or not");
    // A file that was emptied is durable as a whole: its length is.
    let disk = self::disk();
    drop(durable_file(&disk, "a", 8));
    let file = disk.create("a", BLOCK).unwrap();
    file.write_durably_at(BLOCK, &blocks(1, 5)).unwrap();
    for seed in 0..100 {
        let found = contents(&disk.crash(seed), "a");
        assert!(found.len() == 2 * BLOCK_BYTES && all(&found[BLOCK_BYTES..], 5), "seed {seed}");
    }
}

#[test]
fn a_durable_write_that_fails_leaves_the_rest_to_others() {
    let disk = disk();
    let file = durable_file(&disk, "a", 2);
    file.write_at(0, &blocks(1, 1)).unwrap();
    disk.set_faults(DiskFaults { sync_errors_one_in: 1, ..DiskFaults::default() });
    assert!(file.write_durably_at(BLOCK, &blocks(1, 2)).is_err());
    disk.set_faults(DiskFaults::default());
    file.sync().unwrap();
    for seed in 0..100 {
        assert!(all(&contents(&disk.crash(seed), "a")[..BLOCK_BYTES], 1), "seed {seed}");
    }
}

#[test]
fn what_is_not_synced_is_kept_lost_and_torn() {
    let disk = disk();
    let file = durable_file(&disk, "a", 4);
    file.write_at(0, &blocks(4, 1)).unwrap();
    let (mut kept, mut lost, mut mixed, mut torn) = (0, 0, 0, 0);
    let (mut beginning, mut end) = (0, 0);
    for seed in 0..300 {
        let after = disk.crash(seed);
        let found = contents(&after, "a");
        let counts = |byte| found.chunks(SECTOR).filter(|sector| all(sector, byte)).count() as u64;
        let losses = after.losses();
        assert_eq!(counts(0), losses.sectors_lost, "seed {seed}");
        assert_eq!(32 - counts(0) - counts(1), losses.sectors_torn, "seed {seed}");
        kept += u64::from(counts(1) == 32);
        lost += u64::from(counts(0) == 32);
        mixed += losses.writes_torn;
        torn += u64::from(losses.sectors_torn > 0);
        let bytes_new = counts(1) as usize * SECTOR;
        let parted = losses.writes_torn > 0 && losses.sectors_torn == 0;
        beginning += u64::from(parted && all(&found[..bytes_new], 1));
        end += u64::from(parted && all(&found[found.len() - bytes_new..], 1));
    }
    for (what, seeds) in [
        ("kept", kept),
        ("lost", lost),
        ("mixed", mixed),
        ("torn", torn),
        ("the beginning kept", beginning),
        ("the end kept", end),
    ] {
        assert!(seeds > 15, "{what} in {seeds} of 300 seeds");
    }
}

#[test]
fn sectors_stay_whole_where_that_is_promised() {
    let disk = FaultyDisk::new(1, DiskFaults { whole_sectors: true, ..DiskFaults::default() });
    let file = durable_file(&disk, "a", 4);
    file.write_at(0, &blocks(4, 1)).unwrap();
    for seed in 0..300 {
        let found = contents(&disk.crash(seed), "a");
        assert!(found.chunks(SECTOR).all(|it| all(it, 0) || all(it, 1)), "seed {seed}");
    }
}

#[test]
fn a_later_write_is_kept_where_an_earlier_one_is_lost() {
    let disk = disk();
    let file = durable_file(&disk, "a", 3);
    file.write_at(0, &blocks(2, 1)).unwrap();
    file.write_at(BLOCK, &blocks(2, 2)).unwrap();
    let (mut reordered, mut overtaken) = (0, 0);
    for seed in 0..300 {
        let found = contents(&disk.crash(seed), "a");
        let block = |at: usize| &found[at * BLOCK_BYTES..(at + 1) * BLOCK_BYTES];
        reordered += u64::from(all(block(0), 0) && all(block(1), 2) && all(block(2), 2));
        // Of both writes to the block the first alone arrived, and so it stays.
        overtaken += u64::from(all(block(1), 1) && all(block(2), 0));
    }
    assert!(reordered > 5, "{reordered}");
    assert!(overtaken > 5, "{overtaken}");
}

#[test]
fn names_are_lost_until_they_are_synced() {
    let mut found = BTreeSet::new();
    let disk = disk();
    durable_file(&disk, "a", 1);
    disk.create("b", BLOCK).unwrap().sync().unwrap();
    disk.create("c", BLOCK).unwrap().sync().unwrap();
    disk.remove("a").unwrap();
    for seed in 0..200 {
        let after = disk.crash(seed);
        let names = after.file_names();
        let lost = 3
            - u64::from(!names.contains(&"a".into()))
            - ["b", "c"].iter().filter(|name| names.contains(&(**name).into())).count() as u64;
        assert_eq!(after.losses().names_lost, lost, "seed {seed}");
        found.insert(names.concat());
    }
    let every = ["", "a", "ab", "abc", "ac", "b", "bc", "c"].map(String::from);
    assert_eq!(found, BTreeSet::from(every));
    disk.sync_names().unwrap_err();

    let disk = FaultyDisk::new(1, DiskFaults::default());
    durable_file(&disk, "a", 1);
    disk.rename("a", "b").unwrap();
    disk.sync_names().unwrap();
    assert!((0..200).all(|seed| disk.crash(seed).file_names() == ["b"]));
}

#[test]
fn a_rename_is_done_or_not() {
    let disk = disk();
    durable_file(&disk, "current", 1).write_at(0, &blocks(1, 1)).unwrap();
    disk.open("current", Access::Write).unwrap().sync().unwrap();
    let file = disk.create("new", BLOCK).unwrap();
    file.write_at(0, &blocks(1, 2)).unwrap();
    file.sync().unwrap();
    disk.rename("new", "current").unwrap();
    let (mut old, mut new) = (0, 0);
    for seed in 0..200 {
        let after = disk.crash(seed);
        let found = contents(&after, "current");
        assert!(all(&found, 1) || all(&found, 2), "seed {seed}");
        if all(&found, 2) {
            assert_eq!(after.file_names(), ["current"], "seed {seed}");
            new += 1;
        } else {
            old += 1;
        }
    }
    assert!(old > 20 && new > 20, "{old} {new}");
}

#[test]
fn a_file_that_was_never_removed_keeps_a_name() {
    let disk = disk();
    let file = durable_file(&disk, "log", 1);
    file.write_at(0, &blocks(1, 1)).unwrap();
    file.sync().unwrap();
    disk.rename("log", "old").unwrap();
    disk.create("log", BLOCK).unwrap().sync().unwrap();
    let mut places = BTreeSet::new();
    for seed in 0..200 {
        let after = disk.crash(seed);
        let names = after.file_names();
        let place = names.iter().find(|name| all(&contents(&after, name), 1));
        places.insert(place.expect("the name depends on the rename").clone());
    }
    assert_eq!(places, BTreeSet::from(["log", "old"].map(String::from)));
}

#[test]
fn a_name_without_its_content_leads_to_anything() {
    let disk = disk();
    // A file that is gone: its bytes may show up in a new one.
    let gone = durable_file(&disk, "gone", 4);
    gone.write_at(0, &blocks(4, 5)).unwrap();
    gone.sync().unwrap();
    drop(gone);
    disk.remove("gone").unwrap();
    disk.sync_names().unwrap();
    let file = disk.create("a", 4 * BLOCK).unwrap();
    file.write_at(0, &blocks(4, 1)).unwrap();
    disk.sync_names().unwrap();
    let (mut short, mut zeros, mut stale, mut noise) = (0, 0, 0, 0);
    for seed in 0..400 {
        let found = contents(&disk.crash(seed), "a");
        short += u64::from(found.len() < 4 * BLOCK_BYTES);
        for sector in found.chunks(SECTOR) {
            zeros += u64::from(all(sector, 0));
            stale += u64::from(all(sector, 5));
            noise += u64::from(sector.iter().collect::<BTreeSet<_>>().len() > 100);
        }
    }
    for (what, count) in [("short", short), ("zeros", zeros), ("stale", stale), ("noise", noise)] {
        assert!(count > 20, "{what}: {count}");
    }
}

#[test]
fn no_later_sync_covers_what_a_failed_one_did() {
    let (mut survived, mut lost) = (0, 0);
    for seed in 0..100 {
        let disk = FaultyDisk::new(seed, DiskFaults::default());
        let file = durable_file(&disk, "a", 2);
        let other = disk.open("a", Access::Write).unwrap();
        file.write_at(0, &blocks(1, 1)).unwrap();
        disk.set_faults(DiskFaults { sync_errors_one_in: 1, ..DiskFaults::default() });
        file.sync().unwrap_err();
        disk.set_faults(DiskFaults::default());
        other.sync().expect_err("the other handle has not been told");
        other.sync().unwrap();
        disk.open("a", Access::Write).unwrap().sync().unwrap();
        file.write_at(BLOCK, &blocks(1, 2)).unwrap();
        file.sync().expect("the failed one has been told of");
        assert!(all(&contents(&disk, "a")[..BLOCK_BYTES], 1), "reads see it");
        assert!(
            all(&contents(&disk.kill(), "a")[..BLOCK_BYTES], 1),
            "the cache outlives a process"
        );
        let found = contents(&disk.crash(seed), "a");
        assert!(all(&found[BLOCK_BYTES..], 2), "seed {seed}: what the later sync covers");
        survived += u64::from(all(&found[..BLOCK_BYTES], 1));
        lost += u64::from(all(&found[..BLOCK_BYTES], 0));
        let again = contents(&disk.crash(seed + 1), "a");
        assert_eq!(found, again, "seed {seed}: decided when the sync failed");
    }
    assert!(survived > 10 && lost > 10, "{survived} {lost}");
}

#[test]
fn the_length_goes_with_the_sync_after_one_that_failed() {
    for seed in 0..50 {
        let disk = FaultyDisk::new(seed, DiskFaults::default());
        let file = durable_file(&disk, "a", 4);
        disk.create("a", BLOCK).unwrap();
        disk.set_faults(DiskFaults { sync_errors_one_in: 1, ..DiskFaults::default() });
        file.sync().unwrap_err();
        disk.set_faults(DiskFaults::default());
        file.sync().unwrap();
        assert_eq!(contents(&disk.crash(seed), "a").len(), BLOCK_BYTES, "seed {seed}");
    }
}

#[test]
fn names_whose_sync_failed_are_durable_after_the_next_mount_at_best() {
    let (mut kept, mut lost) = (0, 0);
    for seed in 0..100 {
        let disk = FaultyDisk::new(seed, DiskFaults::default());
        disk.create("a", 0).unwrap();
        disk.set_faults(DiskFaults { sync_errors_one_in: 1, ..DiskFaults::default() });
        disk.sync_names().unwrap_err();
        disk.set_faults(DiskFaults::default());
        disk.sync_names().expect_err("it fails until the disk is mounted again");
        let killed = disk.kill();
        killed.create("b", 0).unwrap();
        killed.sync_names().unwrap();
        assert_eq!(killed.file_names(), ["a", "b"]);
        match killed.crash(seed).file_names().concat().as_str() {
            "ab" => kept += 1,
            "b" => lost += 1,
            other => panic!("seed {seed}: {other}"),
        }
    }
    assert!(kept > 10 && lost > 10, "{kept} {lost}");
}

#[test]
fn a_write_that_fails_has_written_a_part() {
    let mut lengths = BTreeSet::new();
    for seed in 0..50 {
        let disk = FaultyDisk::new(seed, DiskFaults::default());
        let file = durable_file(&disk, "a", 2);
        disk.set_faults(DiskFaults { short_writes_one_in: 1, ..DiskFaults::default() });
        file.write_at(0, &blocks(2, 1)).unwrap_err();
        let found = contents(&disk, "a");
        let written = found.chunks(SECTOR).take_while(|sector| all(sector, 1)).count();
        assert!(all(&found[written * SECTOR..], 0) && written < 16, "seed {seed}");
        assert_eq!(disk.counters().short_writes, 1);
        lengths.insert(written);
    }
    assert!(lengths.len() > 8, "{lengths:?}");
}

#[test]
fn a_full_disk_takes_what_fits_and_room_comes_back() {
    let faults = DiskFaults { full_after_bytes: Some(4 * BLOCK), ..DiskFaults::default() };
    let disk = FaultyDisk::new(1, faults);
    let file = disk.create("a", 3 * BLOCK).unwrap();
    let kind = disk.create("b", 2 * BLOCK).unwrap_err().kind();
    assert_eq!(kind, ErrorKind::StorageFull);
    assert_eq!(contents(&disk, "b").len(), BLOCK_BYTES, "created in part");
    file.write_at(0, &blocks(3, 1)).expect("within the file nothing is allocated");
    assert_eq!(file.write_at(2 * BLOCK, &blocks(2, 2)).unwrap_err().kind(), ErrorKind::StorageFull);
    assert!(all(&contents(&disk, "a")[2 * BLOCK_BYTES..], 2));
    let held = disk.open("b", Access::Write).unwrap();
    disk.remove("b").unwrap();
    held.write_at(0, &blocks(1, 3)).expect("an open file is there without a name");
    assert!(file.write_at(2 * BLOCK, &blocks(2, 2)).is_err(), "and takes room");
    drop(held);
    file.write_at(2 * BLOCK, &blocks(2, 2)).unwrap();
    assert_eq!(disk.counters().full, 3);
    let after = disk.kill();
    after.remove("a").unwrap();
    after.create("c", 4 * BLOCK).expect("files that the killed process had open take no room");
}

#[test]
fn bits_flip_for_good_or_for_one_read() {
    let disk = disk();
    let file = durable_file(&disk, "a", 1);
    file.write_at(0, &blocks(1, 1)).unwrap();
    file.sync().unwrap();
    disk.flip("a", 600, 7).unwrap();
    assert_eq!(disk.flip("a", BLOCK, 0).unwrap_err().kind(), ErrorKind::InvalidInput);
    for found in [contents(&disk, "a"), contents(&disk.crash(1), "a")] {
        assert_eq!(found[600], 0x81);
        assert!(all(&found[..600], 1) && all(&found[601..], 1));
    }
    let disk = FaultyDisk::new(1, DiskFaults { read_flips_one_in: 2, ..DiskFaults::default() });
    durable_file(&disk, "a", 1);
    let file = disk.open("a", Access::Read).unwrap();
    let mut read = Blocks::new();
    let mut ones = 0;
    for _ in 0..100 {
        read.clear();
        file.read_at(0, BLOCK_BYTES, &mut read).unwrap();
        let flipped = read.bytes().iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
        assert!(flipped <= 1);
        ones += flipped;
    }
    assert!(ones > 20 && ones < 80, "{ones}");
    assert_eq!(disk.counters().read_flips, ones);
}

#[test]
fn what_holds_a_disk_that_is_off_can_do_nothing() {
    for after_kill in [false, true] {
        let disk = disk();
        let file = durable_file(&disk, "a", 1);
        let reader = disk.open("a", Access::Read).unwrap();
        let held = disk.clone();
        let after = if after_kill { disk.kill() } else { disk.crash(3) };
        file.write_at(0, &blocks(1, 1)).unwrap_err();
        file.sync().unwrap_err();
        file.bytes().unwrap_err();
        reader.read_at(0, BLOCK_BYTES, &mut Blocks::new()).unwrap_err();
        held.create("b", BLOCK).unwrap_err();
        held.open("a", Access::Read).unwrap_err();
        held.rename("a", "b").unwrap_err();
        held.remove("a").unwrap_err();
        held.sync_names().unwrap_err();
        held.names().unwrap_err();
        drop((file, reader));
        for disk in [disk.crash(3), after] {
            assert_eq!(disk.names().unwrap(), ["a"]);
            assert!(all(&contents(&disk, "a"), 0));
        }
    }
}

#[test]
fn a_killed_process_loses_nothing_and_its_writes_can_still_be_synced() {
    let disk = disk();
    let file = durable_file(&disk, "a", 1);
    file.write_at(0, &blocks(2, 1)).unwrap();
    disk.create("b", BLOCK).unwrap();
    let after = disk.kill();
    assert!(all(&contents(&after, "a"), 1) && contents(&after, "a").len() == 2 * BLOCK_BYTES);
    assert_eq!(after.file_names(), ["a", "b"]);
    assert!((0..50).any(|seed| after.crash(seed).file_names() == ["a"]), "not durable yet");
    let after = disk.kill();
    after.open("a", Access::Write).unwrap().sync().unwrap();
    assert!((0..50).all(|seed| all(&contents(&after.crash(seed), "a"), 1)));
}

#[test]
fn the_disk_goes_off_at_the_operation_that_was_asked_for() {
    let mut states = BTreeSet::new();
    for operations in 0..7 {
        let faults = DiskFaults { off_after_operations: Some(operations), ..DiskFaults::default() };
        let disk = FaultyDisk::new(1, faults);
        let program = || {
            let file = disk.create("a", BLOCK)?;
            file.write_at(0, &blocks(1, 1))?;
            file.sync()?;
            disk.sync_names()?;
            disk.rename("a", "b")?;
            disk.sync_names()
        };
        assert_eq!(program().is_ok(), operations >= 6);
        assert_eq!(disk.counters().operations, operations.min(6));
        let after = disk.crash(0);
        after.create("c", BLOCK).expect("the disk found is on");
        states.insert(disk.file_names().concat());
    }
    assert_eq!(states, BTreeSet::from(["", "a", "b"].map(String::from)));
}

#[test]
fn equal_seeds_give_equal_disks() {
    let image = |seed: u64, crash: u64| {
        let faults = DiskFaults {
            short_writes_one_in: 4,
            sync_errors_one_in: 4,
            read_flips_one_in: 4,
            full_after_bytes: Some(40 * BLOCK),
            ..DiskFaults::default()
        };
        let disk = FaultyDisk::new(seed, faults);
        let mut said = Vec::new();
        for step in 0..60_u8 {
            let name = ["a", "b", "c", "d"][usize::from(step % 4)];
            let result = disk.create(name, 4 * BLOCK).and_then(|file| {
                file.write_at(u64::from(step % 8) * BLOCK, &blocks(2, step))?;
                file.sync()?;
                disk.rename(name, "e")?;
                disk.sync_names()
            });
            said.push(result.map_err(|error| error.kind()));
        }
        let after = disk.crash(crash);
        let names = after.file_names();
        let files: Vec<_> = names.iter().map(|name| contents(&after, name)).collect();
        (said, disk.counters(), names, files, after.losses())
    };
    for seed in 0..20 {
        assert_eq!(image(seed, 1), image(seed, 1));
    }
    assert_ne!(image(1, 1).0, image(2, 1).0);
    assert!((2..20).any(|crash| image(1, 1).3 != image(1, crash).3));
}
