//! The kinds of damage to a directory.

use super::base::{Base, Files};
use chiliad_log::{Name, SegmentId};
use chiliad_workload::random::Random;
use std::fs;
use std::path::Path;

/// A block of a file, in bytes.
const BLOCK: usize = 4096;

macro_rules! kinds {
    ($($kind:ident $name:literal,)*) => {
        /// A kind of damage.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Kind {
            $(#[doc = $name] $kind,)*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// Its name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    Nothing "nothing",
    RemoveNewest "remove-newest-segment",
    Remove "remove-file",
    Empty "empty-file",
    CutAtBlock "cut-at-block",
    CutAnywhere "cut-anywhere",
    CutOneByte "cut-one-byte",
    ZeroTail "zero-tail",
    ZeroBlock "zero-block",
    Overwrite "overwrite-bytes",
    Flip "flip-bit",
    Swap "swap-segments",
    CopyOver "copy-over-segment",
    CopyAsNext "copy-as-next-segment",
    Rename "rename-segment",
    RollBack "roll-back-segment",
    RollBackManifest "roll-back-manifest",
    RollBackClaims "roll-back-claims",
    RemovePart "remove-part",
    DamagePart "damage-part",
    DamageManifest "damage-manifest",
    RemoveManifest "remove-manifest",
    ManifestNew "manifest-new-left",
    DamageSpare "damage-spare",
    DamageClaims "damage-claims",
    RemoveClaims "remove-claims",
    Garbage "garbage-file",
    Directory "directory-as-segment",
    Link "link-as-segment",
    Grow "grow-segment",
    TornWrite "torn-write",
}

/// The damage done to a directory.
pub struct Done {
    /// In words.
    pub what: String,
    /// A segment was put back to this time of the base: no telling it from a copy made then, unless the
    /// database was closed.
    pub segment_of: Option<usize>,
}

impl Kind {
    /// The kind of this name, if there is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Whether a directory with it must be taken as it is.
    pub(super) fn is_harmless(self) -> bool {
        matches!(self, Self::Nothing | Self::ManifestNew | Self::DamageSpare | Self::Garbage)
    }

    /// Does it to the files; says what was done, `None` where there is nothing to do it to.
    pub(super) fn apply(self, files: &mut Files, base: &Base, random: &mut Random) -> Option<Done> {
        let wanted = match self {
            Self::RollBack => |name: Name| matches!(name, Name::Segment(_)),
            Self::RollBackManifest => |name| name == Name::Manifest,
            Self::RollBackClaims => |name| matches!(name, Name::Claims(_)),
            _ => {
                let what = self.damage(files, random)?;
                return Some(Done { what, segment_of: None });
            }
        };
        let (what, time) = roll_back(files, base, random, wanted)?;
        Some(Done { what, segment_of: (self == Self::RollBack).then_some(time) })
    }

    /// Does to the files what needs nothing but them.
    fn damage(self, files: &mut Files, random: &mut Random) -> Option<String> {
        match self {
            Self::Nothing => Some("as it is".into()),
            Self::RemoveNewest => remove(files, newest(files, random)?),
            Self::Remove => {
                let name = pick(files, random, |name| {
                    !matches!(name, Name::Lock | Name::Spare(_) | Name::ManifestNew)
                })?;
                remove(files, name)
            }
            Self::Empty => change(files, victim(files, random)?, |bytes| {
                bytes.clear();
                "emptied".into()
            }),
            Self::CutAtBlock | Self::CutAnywhere | Self::CutOneByte => cut(self, files, random),
            Self::ZeroTail | Self::ZeroBlock | Self::Overwrite | Self::Flip => {
                let name = victim(files, random)?;
                change(files, name, |bytes| write_over(self, bytes, random))
            }
            Self::Swap | Self::CopyOver | Self::CopyAsNext | Self::Rename => {
                rename(self, files, random)
            }
            Self::RemovePart => remove(files, pick(files, random, is_part)?),
            Self::DamagePart => damage(files, pick(files, random, is_part)?, random),
            Self::DamageManifest => damage(files, "MANIFEST".into(), random),
            Self::RemoveManifest => remove(files, "MANIFEST".into()),
            Self::ManifestNew => {
                let bytes = files["MANIFEST"].clone();
                files.insert("MANIFEST.new".into(), bytes[..random.below(100) as usize].to_vec());
                Some("half a MANIFEST.new".into())
            }
            Self::DamageSpare => {
                let name = pick(files, random, |it| matches!(it, Name::Spare(_)))?;
                damage(files, name, random)
            }
            Self::DamageClaims => {
                damage(files, pick(files, random, |it| matches!(it, Name::Claims(_)))?, random)
            }
            Self::RemoveClaims => {
                remove(files, pick(files, random, |it| matches!(it, Name::Claims(_)))?)
            }
            Self::Garbage => {
                files.insert("notes.txt".into(), vec![7; random.below(9000) as usize]);
                Some("notes.txt".into())
            }
            // Done to the directory itself.
            Self::Directory | Self::Link => Some("log-000000ff-0000-00000000".into()),
            Self::RollBack | Self::RollBackManifest | Self::RollBackClaims => None,
            Self::Grow => change(files, victim(files, random)?, |bytes| {
                let more = random.range(1, 9000) as usize;
                bytes.resize(bytes.len() + more, 0x5a);
                format!("{more} bytes more")
            }),
            Self::TornWrite => change(files, newest(files, random)?, tear),
        }
    }

    /// The rest of it, which is not about what files hold.
    pub(super) fn finish(self, path: &Path) -> std::io::Result<()> {
        let strange = path.join("log-000000ff-0000-00000000");
        match self {
            Self::Directory => fs::create_dir(strange),
            Self::Link => std::os::unix::fs::symlink("MANIFEST", strange),
            _ => Ok(()),
        }
    }
}

fn is_part(name: Name) -> bool {
    matches!(name, Name::Part { .. })
}

/// One of the files that are wanted.
fn pick(files: &Files, random: &mut Random, wanted: impl Fn(Name) -> bool) -> Option<String> {
    let names: Vec<&String> = files.keys().filter(|name| wanted(Name::parse(name))).collect();
    match names.len() {
        0 => None,
        count => Some(names[random.below(count as u32) as usize].clone()),
    }
}

/// The newest segment of a writer in the newest incarnation.
fn newest(files: &Files, random: &mut Random) -> Option<String> {
    let ids = files.keys().filter_map(|name| match Name::parse(name) {
        Name::Segment(id) => Some(id),
        _ => None,
    });
    let ids: Vec<_> = ids.collect();
    let incarnation = ids.iter().map(|id| id.incarnation).max()?;
    let writers =
        ids.iter().filter(|id| id.incarnation == incarnation).map(|id| id.writer).max()?;
    let writer = random.below(writers + 1);
    let own = ids.iter().filter(|id| (id.incarnation, id.writer) == (incarnation, writer));
    own.max().map(ToString::to_string)
}

/// A segment: mostly a newest one.
fn victim(files: &Files, random: &mut Random) -> Option<String> {
    match random.below(3) {
        0 => pick(files, random, |name| matches!(name, Name::Segment(_))),
        _ => newest(files, random),
    }
}

fn remove(files: &mut Files, name: String) -> Option<String> {
    files.remove(&name)?;
    Some(format!("{name} removed"))
}

fn change(
    files: &mut Files,
    name: String,
    change: impl FnOnce(&mut Vec<u8>) -> String,
) -> Option<String> {
    let what = change(files.get_mut(&name)?);
    Some(format!("{name}: {what}"))
}

/// Segments under the names of others.
fn rename(kind: Kind, files: &mut Files, random: &mut Random) -> Option<String> {
    if matches!(kind, Kind::Swap | Kind::CopyOver) {
        let (one, two) = (victim(files, random)?, victim(files, random)?);
        let (first, second) = (files[&one].clone(), files[&two].clone());
        let what = format!("{one} and {two}");
        files.insert(two, first);
        if kind == Kind::Swap {
            files.insert(one, second);
        }
        return Some(what);
    }
    let name = newest(files, random)?;
    let Name::Segment(id) = Name::parse(&name) else { return None };
    let next = SegmentId { sequence: id.sequence + 1, ..id }.to_string();
    let bytes = files[&name].clone();
    if kind == Kind::Rename {
        files.remove(&name);
    }
    files.insert(next.clone(), bytes);
    Some(format!("{name} as {next}"))
}

fn cut(kind: Kind, files: &mut Files, random: &mut Random) -> Option<String> {
    change(files, victim(files, random)?, |bytes| {
        let used = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        let to = match kind {
            Kind::CutAtBlock => random.below(used.div_ceil(BLOCK) as u32 + 1) as usize * BLOCK,
            Kind::CutOneByte => bytes.len().saturating_sub(1),
            _ => random.below(used as u32 + 1) as usize,
        };
        bytes.truncate(to);
        format!("cut to {to} bytes")
    })
}

fn write_over(kind: Kind, bytes: &mut [u8], random: &mut Random) -> String {
    let used = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let blocks = used.div_ceil(BLOCK).max(1) as u32;
    let at = random.below(blocks) as usize * BLOCK;
    match kind {
        Kind::ZeroTail => {
            bytes.iter_mut().skip(at).for_each(|byte| *byte = 0);
            format!("zeros from {at} on")
        }
        Kind::ZeroBlock => {
            bytes.iter_mut().skip(at).take(BLOCK).for_each(|byte| *byte = 0);
            format!("zeros in the block at {at}")
        }
        Kind::Overwrite => {
            let at = random.below(used.max(1) as u32) as usize;
            let count = random.range(1, 600) as usize;
            bytes.iter_mut().skip(at).take(count).for_each(|byte| *byte = random.bits() as u8);
            format!("{count} bytes written over at {at}")
        }
        _ => flip(bytes, used, random),
    }
}

fn flip(bytes: &mut [u8], used: usize, random: &mut Random) -> String {
    let (at, bit) = (random.below(used.max(1) as u32) as usize, random.below(8));
    bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << bit);
    format!("bit {bit} of byte {at} turned over")
}

/// Damage of any kind to what a file holds.
fn damage(files: &mut Files, name: String, random: &mut Random) -> Option<String> {
    change(files, name, |bytes| match random.below(4) {
        0 => {
            let to = random.below(bytes.len() as u32 + 1) as usize;
            bytes.truncate(to);
            format!("cut to {to} bytes")
        }
        1 => write_over(Kind::ZeroBlock, bytes, random),
        2 => write_over(Kind::Overwrite, bytes, random),
        _ => write_over(Kind::Flip, bytes, random),
    })
}

/// Half a frame behind what was written to a file.
fn tear(bytes: &mut Vec<u8>) -> String {
    // What follows the last byte that is not zero was never written to.
    let used = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let at = used.next_multiple_of(BLOCK);
    bytes.truncate(at);
    bytes.extend_from_slice(b"CHLF");
    bytes.resize(at + 700, 0x33);
    format!("half a frame at {at}")
}

/// Puts a file back to what it was at a time before; says so, and which time.
fn roll_back(
    files: &mut Files,
    base: &Base,
    random: &mut Random,
    wanted: impl Fn(Name) -> bool,
) -> Option<(String, usize)> {
    if base.before.is_empty() {
        return None;
    }
    let time = random.below(base.before.len() as u32) as usize;
    let before = &base.before[time].files;
    let name = pick(before, random, wanted)?;
    if !files.contains_key(&name) {
        return None;
    }
    files.insert(name.clone(), before[&name].clone());
    Some((format!("{name} of time {time}"), time))
}
