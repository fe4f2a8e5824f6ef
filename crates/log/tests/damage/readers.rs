//! Every reader of the log bears any bytes at all.

#![allow(dead_code, reason = "each user takes a part of it")]

use crate::damage::{Script, compact, manifest_file, put, reseal, spread};
use chiliad_log::frame::{Framer, Identity, Kind};
use chiliad_log::{
    CheckpointInfo, Damage, FORMAT_VERSION, KeptLog, LogEnd, LogError, Manifest, Name, PartReader,
    PartWriter, Promise, SegmentId, SegmentReader, Sought, entry, tail,
};
use chiliad_machine::Native;
use chiliad_machine::disk::{Blocks, Disk};
use chiliad_simulator::{DiskFaults, FaultyDisk};

const DATABASE: u128 = 7;

fn disk() -> FaultyDisk {
    FaultyDisk::new(1, DiskFaults::default())
}

fn segment(sequence: u32) -> SegmentId {
    SegmentId { incarnation: 1, writer: 0, sequence }
}

fn part() -> Identity {
    let info = CheckpointInfo { number: 1, parts: 1, incarnation: 1, redo_after: 0, end: 0 };
    info.part_identity(DATABASE, 0)
}

/// Errors of these readers that are no fault of theirs are about the file.
fn told(error: &LogError) {
    assert!(matches!(error, LogError::Damaged { .. }), "{error}");
}

/// Reads the segments that the script describes, resealed if its first byte is odd.
pub fn segments(script: &[u8]) {
    let mut script = Script::new(script);
    let sealed = script.byte() % 2 == 1;
    let disk = disk();
    let mut present = Vec::new();
    for (sequence, mut file) in (0..).zip(spread(&mut script)) {
        let id = segment(sequence);
        if sealed {
            reseal(&mut file, &id.identity(DATABASE));
        }
        put(&disk, &id.to_string(), &file);
        read_segment(&disk, id, file.len() as u64);
        present.push(id);
    }
    for first in [0, 1, 9] {
        let promised = LogEnd { sequence: first, bytes: 8192, epoch: 1 };
        for promise in [Promise::Nothing, Promise::AtLeast(promised), Promise::Exactly(promised)] {
            let first = segment(first);
            let sought = Sought { database: DATABASE, first, present: &present, promise };
            let strict = tail::<Native>(&disk, sought, None);
            let lenient = tail::<Native>(&disk, sought, Some(&mut Vec::new()));
            let lenient = lenient.expect("whatever there is");
            match strict {
                Ok(strict) => assert_eq!(strict, lenient),
                Err(error) => told(&error),
            }
        }
    }
}

/// Reads to the end, over every damage, and never the same place twice.
fn read_segment(disk: &dyn Disk, id: SegmentId, bytes: u64) {
    let name = id.to_string();
    let mut reader =
        SegmentReader::<Native>::open(disk, &name, id.identity(DATABASE)).expect("there");
    loop {
        let before = reader.offset();
        if let Some(frame) = reader.next_frame().expect("no error of the disk's") {
            let sound = entry::transactions(frame.payload).flatten();
            let writes: usize = sound.map(|it| it.writes().flatten().count()).sum();
            assert!(writes <= frame.payload.len());
            assert!(reader.offset() > before && reader.offset() < bytes + 4096);
            continue;
        }
        match reader.judge().expect("no error of the disk's") {
            Damage::Lost { resumes_at } => {
                assert!(resumes_at > before && resumes_at < bytes);
                reader.seek(resumes_at);
            }
            Damage::End { .. } => break,
        }
    }
}

/// Reads the part of a checkpoint that the script describes, resealed if its first byte is odd.
pub fn parts(script: &[u8]) {
    let mut script = Script::new(script);
    let sealed = script.byte() % 2 == 1;
    let disk = disk();
    let mut file = spread(&mut script).swap_remove(0);
    if sealed {
        reseal(&mut file, &part());
    }
    put(&disk, &Name::Part { checkpoint: 1, part: 0 }.to_string(), &file);
    let mut reader = PartReader::<Native>::open(&disk, DATABASE, 1, 0).expect("there");
    loop {
        let before = reader.offset();
        match reader.next_rows() {
            Ok(Some(payload)) => {
                assert!(
                    entry::rows(payload).all(|row| row.is_some()),
                    "what is given out is sound"
                );
                assert!(reader.offset() > before);
            }
            Ok(None) => break,
            Err(error) => return told(&error),
        }
    }
}

/// A part with one frame of rows, whatever they are.
pub fn part_with(payload: &[u8]) -> PartReader<Native> {
    let mut framer = Framer::new(part(), false);
    let mut out = Blocks::new();
    for (payload, kind) in [(&[][..], Kind::Start), (payload, Kind::Data)] {
        let start = Framer::begin(&mut out);
        out.push(payload);
        framer.finish(&mut out, start, kind, 0, 0, start as u64);
    }
    let disk = disk();
    put(&disk, &Name::Part { checkpoint: 1, part: 0 }.to_string(), out.bytes());
    PartReader::open(&disk, DATABASE, 1, 0).expect("there")
}

/// Parses a manifest: a file if the first byte is even, the body of a sound one if it is odd. What
/// parses comes back when it is written.
pub fn manifests(script: &[u8]) {
    let mut script = Script::new(script);
    let sealed = script.byte() % 2 == 1;
    let bytes = script.bytes(usize::MAX);
    let file = if sealed { manifest_file(bytes) } else { bytes.to_vec() };
    match Manifest::parse(&file) {
        Ok(manifest) => {
            let disk = disk();
            manifest.write::<Native>(&disk).expect("written");
            assert_eq!(Manifest::read(&disk), Ok(Some(manifest)));
        }
        Err(LogError::NewerFormat { .. }) => {}
        Err(error) => told(&error),
    }
}

/// Scripts of sound segments: two files, with a frame that is compressed and one that is not.
pub fn sound_segments() -> Vec<u8> {
    let files = [0, 1].map(|sequence| {
        let mut framer = Framer::new(segment(sequence).identity(DATABASE), true);
        let mut out = Blocks::new();
        let payloads = [vec![], transactions(1, 3), transactions(2, 60), vec![]];
        let kinds = [Kind::Start, Kind::Data, Kind::Data, Kind::End];
        for (epoch, (payload, kind)) in payloads.iter().zip(kinds).enumerate() {
            let start = Framer::begin(&mut out);
            out.push(payload);
            framer.finish(&mut out, start, kind, epoch as u64, start as u64, start as u64);
        }
        out.bytes().to_vec()
    });
    [vec![1], compact(&files)].concat()
}

fn transactions(epoch: u64, count: u8) -> Vec<u8> {
    let mut out = Vec::new();
    for number in 0..count {
        let start = entry::begin(&mut out, epoch, u64::from(number) << 3);
        for removed in [false, true] {
            let write = entry::Write { table: 0, removed, key: &[number], value: &[7; 20] };
            write.encode(&mut out);
        }
        entry::end(&mut out, start);
    }
    out
}

/// The script of a sound part.
pub fn sound_part() -> Vec<u8> {
    let disk = disk();
    let mut writer = PartWriter::<Native>::create(&disk, DATABASE, 1, 0, true).expect("created");
    for number in 0..40_u8 {
        let row = entry::Write { table: 0, removed: false, key: &[number], value: &[3; 30] };
        writer.add(u64::from(number) << 3, &row);
    }
    writer.finish().expect("written");
    let name = Name::Part { checkpoint: 1, part: 0 }.to_string();
    let file = disk.contents(&name).expect("there");
    [vec![1], compact(&[file])].concat()
}

/// The script of a sound manifest.
pub fn sound_manifest() -> Vec<u8> {
    let incarnation = |number, ended: Option<u64>| {
        let end = LogEnd { sequence: 4, bytes: 8192, epoch: 40 };
        let ends = ended.map_or(vec![], |_| vec![end; 2]);
        let (first_segments, claims) = (vec![3, 1], true);
        chiliad_log::Incarnation { number, ended, first_segments, ends, claims }
    };
    let manifest = Manifest {
        format: FORMAT_VERSION,
        database: DATABASE,
        generation: 3,
        checkpoint: Some(CheckpointInfo {
            number: 4,
            parts: 2,
            incarnation: 2,
            redo_after: 9,
            end: 11,
        }),
        incarnations: vec![incarnation(2, Some(40)), incarnation(3, None)],
        catalog: b"tables".to_vec(),
        kept: KeptLog::default(),
    };
    let disk = disk();
    manifest.write::<Native>(&disk).expect("written");
    let file = disk.contents(chiliad_log::MANIFEST_NAME).expect("there");
    let bytes = u32::from_le_bytes([file[12], file[13], file[14], file[15]]) as usize;
    [&[1], &file[20..20 + bytes]].concat()
}
