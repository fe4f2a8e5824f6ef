//! Which sectors of pending writes reach the disk, when power is lost or a sync fails.
//!
//! A style is drawn per file, because even chances for every sector would never show that all of it
//! is lost, or all but the first write. A sector may also be torn: then a part of its bytes is new
//! and the rest is old.

use super::change::{Change, put};
use super::faults::DiskLosses;
use super::sector::{SECTOR_BYTES, Sector};
use crate::random::Generator;

/// The fate of one sector of a write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    Lost,
    Torn,
}

/// How fates are dealt out in one file.
#[derive(Clone, Copy)]
enum Style {
    All,
    None,
    /// In the order of writing, so many sectors are kept and the next one may be torn.
    Prefix(u64),
    /// So many are lost and later ones are kept.
    Suffix(u64),
    /// Each write is kept or lost as a whole: a later one is kept where an earlier one is not.
    Writes,
    /// Each sector by itself, so many in eight kept.
    Sectors(u64),
}

/// Deals out fates, and counts them.
pub(super) struct Fates<'a> {
    style: Style,
    tear: bool,
    random: &'a mut Generator,
    /// Sectors that have their fate.
    dealt: u64,
    pub(super) losses: DiskLosses,
}

impl<'a> Fates<'a> {
    pub(super) fn new(changes: &[Change], tear: bool, random: &'a mut Generator) -> Self {
        let sectors = changes.iter().map(|change| match change {
            Change::Truncate => 0,
            Change::Write(_, sectors) => sectors.len() as u64,
        });
        let bound = sectors.sum::<u64>() + 1;
        let style = match random.below(6) {
            0 => Style::All,
            1 => Style::None,
            2 => Style::Prefix(random.below(bound)),
            3 => Style::Suffix(random.below(bound)),
            4 => Style::Writes,
            _ => Style::Sectors(1 + random.below(7)),
        };
        let tear = tear && random.below(2) == 0;
        Self { style, tear, random, dealt: 0, losses: DiskLosses::default() }
    }

    /// Whether everything is kept.
    pub(super) fn keep_all(&self) -> bool {
        matches!(self.style, Style::All)
    }

    /// The fate of a change that has no sectors, or of all sectors together where the style says so.
    fn change(&mut self) -> bool {
        match self.style {
            Style::All => true,
            Style::None => false,
            Style::Prefix(kept) => self.dealt < kept,
            Style::Suffix(lost) => self.dealt >= lost,
            Style::Writes | Style::Sectors(_) => self.random.below(2) == 0,
        }
    }

    fn sector(&mut self, change_kept: bool) -> Fate {
        let at = self.dealt;
        self.dealt += 1;
        let kept = match self.style {
            Style::All => true,
            Style::None => false,
            Style::Prefix(kept) if at == kept && self.tear => return Fate::Torn,
            Style::Prefix(kept) => at < kept,
            Style::Suffix(lost) => at >= lost,
            Style::Writes => change_kept,
            Style::Sectors(_) if self.tear && self.random.below(8) == 0 => return Fate::Torn,
            Style::Sectors(kept) => self.random.below(8) < kept,
        };
        if kept { Fate::Kept } else { Fate::Lost }
    }
}

/// Applies to `durable` what of the changes is kept.
pub(super) fn apply(durable: &mut Vec<Sector>, changes: &[Change], fates: &mut Fates<'_>) {
    for change in changes {
        let change_kept = fates.change();
        let Change::Write(first, sectors) = change else {
            if change_kept {
                durable.clear();
            }
            continue;
        };
        let (mut kept, mut lost) = (0, 0);
        for (at, sector) in (*first..).zip(sectors) {
            match fates.sector(change_kept) {
                Fate::Kept => {
                    kept += 1;
                    put(durable, at, std::slice::from_ref(sector));
                }
                Fate::Lost => lost += 1,
                Fate::Torn => {
                    kept += 1;
                    fates.losses.sectors_torn += 1;
                    let old = durable.get(at).unwrap_or(&Sector::Hole);
                    let torn = tear(old, sector, fates.random);
                    put(durable, at, &[torn]);
                }
            }
        }
        fates.losses.sectors_lost += lost;
        fates.losses.writes_torn += u64::from(kept > 0 && lost > 0);
    }
}

/// New bytes on one side of a random place and old ones on the other.
fn tear(old: &Sector, new: &Sector, random: &mut Generator) -> Sector {
    let (mut first, mut second) = (new.to_bytes(), old.to_bytes());
    if random.below(2) == 0 {
        std::mem::swap(&mut first, &mut second);
    }
    let cut = 1 + below(random, SECTOR_BYTES - 1);
    first[cut..].copy_from_slice(&second[cut..]);
    Sector::from_bytes(first)
}

/// A number below `bound`, which is not zero.
pub(super) fn below(random: &mut Generator, bound: usize) -> usize {
    usize::try_from(random.below(bound as u64)).unwrap_or(0)
}
