//! The contents of a directory, and the order in which recovery reads them. Changes nothing.

use crate::durable::directory::shape::Shapes;
use chiliad_api::catalog::Blob;
use chiliad_api::{Host, Phase, Recovered, Result};
use chiliad_log::{
    Incarnation, LogError, MANIFEST_NAME, Manifest, Name, Promise, SegmentId, Sought, Tail,
    newest_generation, read_marks, tail,
};
use chiliad_machine::Machine;
use chiliad_machine::disk::Disk;

/// The parts of one incarnation that recovery reads.
pub struct IncarnationPlan {
    pub number: u32,
    /// Transactions of this epoch and before are in the checkpoint.
    pub redo_after: u64,
    /// Transactions above this epoch never became durable.
    pub durable: u64,
    /// One for each writer.
    pub tails: Vec<Tail>,
    /// Whether the database was closed, or the end pinned by the next opening.
    pub closed: bool,
    /// Whether its writers kept claims.
    pub claims: bool,
}

/// A directory, looked at.
pub struct Plan {
    pub manifest: Manifest,
    pub blob: Blob,
    /// The possible rows of each table.
    pub shapes: Shapes,
    /// The parts of the checkpoint that are there, and the first that is missing, so that somebody
    /// notices.
    pub parts: Vec<u32>,
    /// In order, from that of the checkpoint on.
    pub incarnations: Vec<IncarnationPlan>,
    /// Losses that will not be met again, where salvage was asked for.
    pub losses: Vec<LogError>,
    /// Files of ours that nothing needs.
    pub leftovers: Vec<String>,
    /// The numbers of spare files.
    pub spares: Vec<u32>,
}

impl Plan {
    /// Looks at a directory; `None` if no database is in it yet.
    pub fn make<M: Machine>(
        disk: &dyn Disk,
        lenient: bool,
        host: &dyn Host<M>,
    ) -> Result<Option<Self>> {
        let Some(manifest) = Manifest::read(disk)? else {
            return Ok(None);
        };
        let blob = catalog(&manifest)?;
        let names = disk.names().map_err(LogError::io(format!("listing {}", disk.place())))?;
        let (shapes, parts) = (Shapes::new(&blob), parts(&manifest, &names));
        let (incarnations, leftovers, spares) = (Vec::new(), Vec::new(), Vec::new());
        let losses = Vec::new();
        let mut plan =
            Self { manifest, blob, shapes, parts, incarnations, losses, leftovers, spares };
        let mut look = Look { disk, names: &names, losses: lenient.then(Vec::new) };
        look.newest(&plan.manifest)?;
        let total = plan.manifest.incarnations.len() as u64;
        for (done, incarnation) in plan.manifest.incarnations.iter().enumerate() {
            host.progress(Phase::Inspect, done as u64, total);
            let planned = look.plan::<M>(&plan.manifest, incarnation)?;
            plan.incarnations.push(planned);
        }
        debug_assert!(plan.incarnations.len() as u64 == total, "each was looked at");
        plan.losses = look.losses.unwrap_or_default();
        plan.leftovers = names.iter().filter(|name| !plan.needs(name)).cloned().collect();
        plan.spares = names.iter().filter_map(|name| Name::spare(name)).collect();
        Ok(Some(plan))
    }

    /// Whether a file is in use, or not ours to remove.
    fn needs(&self, name: &str) -> bool {
        match Name::parse(name) {
            Name::Manifest | Name::Lock | Name::Spare(_) | Name::Foreign => true,
            Name::ManifestNew | Name::Claims(_) => false,
            Name::Part { checkpoint, .. } => {
                self.manifest.checkpoint.is_some_and(|it| it.number == checkpoint)
            }
            Name::Segment(id) => {
                let mut tails = self.incarnations.iter().flat_map(|it| &it.tails);
                tails.any(|it| it.segments.contains(&id))
                    || self.manifest.kept.segments.iter().any(|it| it.id == id)
            }
        }
    }

    /// The names of all files that recovery reads but for the manifest.
    pub fn files(&self) -> Vec<String> {
        let tails = self.incarnations.iter().flat_map(|incarnation| &incarnation.tails);
        let segments = tails.flat_map(|tail| tail.segments.iter().map(ToString::to_string));
        let parts = self.manifest.checkpoint.iter().flat_map(|checkpoint| {
            let name = |&part: &u32| Name::Part { checkpoint: checkpoint.number, part }.to_string();
            self.parts.iter().map(name)
        });
        parts.chain(segments).collect()
    }
}

/// The parts of the checkpoint to be read. The manifest's count is not believed before there are as
/// many files.
fn parts(manifest: &Manifest, names: &[String]) -> Vec<u32> {
    let Some(published) = manifest.checkpoint else { return Vec::new() };
    let mut parts: Vec<u32> = names
        .iter()
        .filter_map(|name| match Name::parse(name) {
            Name::Part { checkpoint, part } if checkpoint == published.number => Some(part),
            _ => None,
        })
        .filter(|&part| part < published.parts)
        .collect();
    parts.sort_unstable();
    let missing = (0..published.parts).zip(&parts).find(|(wanted, found)| wanted != *found);
    let missing = missing.map_or(parts.len() as u32, |(wanted, _)| wanted);
    parts.extend((missing < published.parts).then_some(missing));
    debug_assert!(parts.iter().all(|&part| part < published.parts), "parts of the checkpoint");
    parts
}

/// A look at the logs of a directory.
struct Look<'a> {
    disk: &'a dyn Disk,
    names: &'a [String],
    /// Losses, where they are not to be reported.
    losses: Option<Vec<LogError>>,
}

impl Look<'_> {
    /// Reports damage, or takes it as a loss.
    fn lose(&mut self, error: LogError) -> Result<()> {
        match &mut self.losses {
            Some(losses) => losses.push(error),
            None => return Err(error.into()),
        }
        Ok(())
    }

    /// Refuses a manifest that is not the newest one: something in the directory is of a later one.
    fn newest(&mut self, manifest: &Manifest) -> Result<()> {
        let incarnation = manifest.incarnation();
        for name in self.names {
            let later = match Name::parse(name) {
                // Where a manifest names an incarnation, its writers note so.
                Name::Claims(number) if number > incarnation => {
                    newest_generation(self.disk, name)? > manifest.generation
                }
                // An opening that is cut short leaves what has the next number.
                Name::Segment(id) => id.incarnation > incarnation + 1,
                _ => false,
            };
            if later {
                return self.lose(of_a_later_manifest(name));
            }
        }
        Ok(())
    }

    /// Finds where the logs of one incarnation end.
    fn plan<M: Machine>(
        &mut self,
        manifest: &Manifest,
        incarnation: &Incarnation,
    ) -> Result<IncarnationPlan> {
        let number = incarnation.number;
        let promises = self.promises(manifest, incarnation)?;
        let mut tails = Vec::new();
        for ((writer, &first), promise) in (0..).zip(&incarnation.first_segments).zip(promises) {
            let mut present: Vec<SegmentId> = self
                .names
                .iter()
                .filter_map(|name| match Name::parse(name) {
                    Name::Segment(id) if (id.incarnation, id.writer) == (number, writer) => {
                        Some(id)
                    }
                    _ => None,
                })
                .collect();
            present.sort();
            let first = SegmentId { incarnation: number, writer, sequence: first };
            let sought = Sought { database: manifest.database, first, present: &present, promise };
            let tail = tail::<M>(self.disk, sought, self.losses.as_mut())?;
            if tail.generation > manifest.generation {
                let name = tail.segments.last().map(ToString::to_string).unwrap_or_default();
                self.lose(of_a_later_manifest(&name))?;
            }
            tails.push(tail);
        }
        debug_assert!(tails.len() == incarnation.first_segments.len(), "an end for each writer");
        let reached = tails.iter().map(|tail| tail.epoch).min().unwrap_or(0);
        let durable = incarnation.ended.unwrap_or(reached);
        let strict = self.losses.is_none();
        if reached < durable && strict {
            let short = tails.iter().find(|tail| tail.epoch < durable);
            let name = short.and_then(|tail| tail.segments.last()).map(ToString::to_string);
            let offset = short.map_or(0, |tail| tail.sound_bytes);
            let what = format!("the log ends before epoch {durable}, which was durable");
            return Err(LogError::damaged(&name.unwrap_or_default(), offset, what).into());
        }
        let checkpoint = manifest.checkpoint.filter(|it| it.incarnation == number);
        if let Some(checkpoint) = checkpoint.filter(|it| durable < it.end && strict) {
            let what = format!(
                "the log is durable through epoch {durable}, and the checkpoint needs {}",
                checkpoint.end
            );
            return Err(LogError::damaged(MANIFEST_NAME, 0, what).into());
        }
        let redo_after = checkpoint.map_or(0, |it| it.redo_after);
        let closed = !incarnation.ends.is_empty();
        let claims = incarnation.claims;
        Ok(IncarnationPlan { number, redo_after, durable, tails, closed, claims })
    }

    /// The ends of an incarnation's logs, as far as other files promise them.
    fn promises(&mut self, manifest: &Manifest, incarnation: &Incarnation) -> Result<Vec<Promise>> {
        let writers = incarnation.first_segments.len();
        if !incarnation.ends.is_empty() {
            return Ok(incarnation.ends.iter().copied().map(Promise::Exactly).collect());
        }
        let nothing = vec![Promise::Nothing; writers];
        if !incarnation.claims || incarnation.ended.is_some() {
            return Ok(nothing);
        }
        let (database, number) = (manifest.database, incarnation.number);
        let marks = match read_marks(self.disk, database, number, writers as u32) {
            Ok(marks) => marks,
            Err(error @ LogError::Damaged { .. }) => {
                self.lose(error)?;
                return Ok(nothing);
            }
            Err(error) => return Err(error.into()),
        };
        debug_assert!(marks.len() == writers, "a mark for each writer");
        if marks.iter().any(|mark| mark.generation > manifest.generation) {
            self.lose(of_a_later_manifest(&Name::Claims(number).to_string()))?;
        }
        Ok(marks.into_iter().map(|mark| Promise::AtLeast(mark.end)).collect())
    }
}

fn of_a_later_manifest(name: &str) -> LogError {
    let what = format!("{name} is of a later manifest than this one");
    LogError::damaged(MANIFEST_NAME, 0, what)
}

/// The names of the tables in a directory; `None` if no database is in it yet. Reads the manifest only.
///
/// # Errors
/// [`chiliad_api::Error::Data`].
pub fn declared(disk: &dyn Disk) -> Result<Option<Vec<String>>> {
    let Some(manifest) = Manifest::read(disk)? else {
        return Ok(None);
    };
    let blob = catalog(&manifest)?;
    Ok(Some(blob.tables.into_iter().map(|(_, spec)| spec.name).collect()))
}

/// Removes a database: every file of ours, the manifest first.
///
/// # Errors
/// [`chiliad_api::Error::Data`].
pub fn erase(disk: &dyn Disk) -> Result<()> {
    let names = disk.names().map_err(LogError::io(format!("listing {}", disk.place())))?;
    let ours = names.iter().filter(|name| !matches!(Name::parse(name), Name::Foreign | Name::Lock));
    let (manifest, others): (Vec<_>, Vec<_>) = ours.partition(|name| *name == MANIFEST_NAME);
    for name in manifest.into_iter().chain(others) {
        disk.remove(name).map_err(LogError::io(format!("removing {name}")))?;
        if name == MANIFEST_NAME {
            disk.sync_names().map_err(LogError::io(format!("syncing {}", disk.place())))?;
        }
    }
    Ok(())
}

fn catalog(manifest: &Manifest) -> Result<Blob> {
    let broken = || LogError::damaged(MANIFEST_NAME, 0, "its catalog does not parse");
    Ok(Blob::decode(&manifest.catalog).ok_or_else(broken)?)
}

/// The results that are known before anything is replayed.
pub(in crate::durable) fn begin(plan: &Plan) -> Recovered {
    let last = plan.incarnations.last();
    let tails = || plan.incarnations.iter().flat_map(|incarnation| &incarnation.tails);
    let mut recovered = Recovered::default();
    recovered.durable_epoch = last.map_or(0, |incarnation| incarnation.durable);
    recovered.checkpoint = plan.manifest.checkpoint;
    recovered.torn = tails().any(|tail| tail.torn);
    recovered.closed = last.is_some_and(|incarnation| {
        // Of a format in which nobody pinned the ends, the logs say so alone.
        incarnation.tails.iter().all(|tail| tail.closed)
            && (incarnation.closed || !incarnation.claims)
    });
    recovered
}
