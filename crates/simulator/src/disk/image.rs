//! A file's content after power was lost: of its pending writes as much as their fates say.
//!
//! Where the file is long enough and nothing arrived, it holds zeros, noise, or what a file that is
//! gone held at that place: a log's old segment under the name of a new one.

use super::content::Content;
use super::fates::{Fates, apply, below};
use super::faults::DiskLosses;
use super::sector::{SECTOR_BYTES, Sector};
use crate::random::Generator;

/// The content after power was lost: all of it is durable. `gone` is what files held that are no
/// more.
pub(super) fn crash(
    content: &Content,
    gone: &[Vec<Sector>],
    tear: bool,
    random: &mut Generator,
    losses: &mut DiskLosses,
) -> Content {
    let mut durable = content.durable.clone();
    let changes = content.pending.all();
    let mut fates = Fates::new(changes, tear, random);
    apply(&mut durable, changes, &mut fates);
    losses.add(&fates.losses);
    let all = fates.keep_all();
    let (needed, whole) = (durable.len(), content.cached.len().max(durable.len()));
    let length = match random.below(3) {
        _ if all => whole,
        0 => needed,
        1 => whole,
        _ => needed + below(random, whole - needed + 1),
    };
    durable.resize(length, Sector::Hole);
    fill(&mut durable, gone, random);
    Content { cached: durable.clone(), durable, ..Content::default() }
}

/// Gives holes the content that they keep from now on.
fn fill(sectors: &mut [Sector], gone: &[Vec<Sector>], random: &mut Generator) {
    let style = random.below(3);
    let stale = if gone.is_empty() { &[] } else { &*gone[below(random, gone.len())] };
    for (at, sector) in sectors.iter_mut().enumerate() {
        if *sector != Sector::Hole {
            continue;
        }
        *sector = match (style, stale.get(at)) {
            (0, _) => Sector::Zeros,
            (1, Some(stale)) if *stale != Sector::Hole => stale.clone(),
            _ => {
                let mut noise = [0; SECTOR_BYTES];
                noise.fill_with(|| random.next() as u8);
                Sector::from_bytes(noise)
            }
        };
    }
}
