//! Opening a directory: what it holds becomes a database, and a new incarnation begins.
//!
//! Until everything was read and found sound nothing in the directory is changed. Then, in this
//! order, so that it may be cut short anywhere and begun again:
//!
//! 1. the ends of the logs that were read are written again and synced: what was seen in them stays,
//!    even if it came from memory of the system that a failed sync has left behind;
//! 2. the claims and segments of the new incarnation are made, durable with their names;
//! 3. the manifest names the new incarnation, and pins where the logs of the one before end;
//! 4. what nothing needs is removed.

use crate::contract::Scheme;
use crate::database::Database;
use crate::durable::directory::number::random_number;
use crate::durable::directory::plan::Plan;
use crate::durable::recover::recovery::Replay;
use crate::durable::recover::target::Target;
use crate::durable::runner::LogRunner;
use crate::durable::{CatalogBlob, Durable, DurableOptions};
use crate::options::Options;
use crate::shared::Inner;
use crate::tables::catalog::Catalog;
use chiliad_api::{Error, Host, Recovered, Result};
use chiliad_log::{
    EndedLog, FORMAT_VERSION, Incarnation, KeptLog, Log, LogError, LogWriter, Manifest, Name,
    Retired, Tail,
};
use chiliad_machine::disk::Disk;
use chiliad_machine::{Latch, Machine, Shared, Word};
use chiliad_storage::Heap;
use std::sync::Arc;

/// The purpose of an opening.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// To go on with it.
    Write,
    /// To look at it: nothing is changed, and nothing can be.
    Read,
    /// To save what can be saved: damage is listed instead of reported, nothing is changed.
    Salvage,
}

/// A database that was opened on a disk.
pub struct Opened<M: Machine, S: Scheme<M>> {
    /// The database.
    pub database: Database<M, S>,
    /// The writers of its log, which somebody has to run.
    pub runners: Vec<LogRunner<M, S>>,
    /// The results of recovery.
    pub recovered: Recovered,
}

impl<M: Machine, S: Scheme<M>> Database<M, S> {
    /// Opens the database in a directory, or makes one if the directory is empty.
    ///
    /// # Errors
    /// [`crate::Error::Data`] when the directory cannot be used or is not sound;
    /// [`crate::Error::InvalidOption`]; [`crate::Error::OutOfMemory`].
    pub fn open_on(
        disk: Arc<dyn Disk>,
        mode: Mode,
        options: Options,
        durable: DurableOptions,
        host: &dyn Host<M>,
    ) -> Result<Opened<M, S>> {
        let needs = (S::NEEDS.record_words, S::NEEDS.copies_rows);
        let prepared = prepare(disk, mode, options, durable, host, needs)?;
        let Prepared { options, heap, catalog, recovered, durable, writers } = prepared;
        let inner = Inner::assemble(options, heap, catalog, durable);
        let runners =
            writers.into_iter().map(|it| LogRunner::new(Arc::clone(&inner), it)).collect();
        Ok(Opened { database: Self::from_inner(inner), runners, recovered })
    }
}

/// The contents of a directory, ready to become a database of any scheme.
struct Prepared<M: Machine> {
    options: Options,
    heap: Arc<Shared<M, Heap<M>>>,
    catalog: Catalog<M>,
    recovered: Recovered,
    /// The lock on it and the writers of its log, unless it is only read.
    durable: Option<Durable<M>>,
    writers: Vec<LogWriter<M>>,
}

/// Reads the directory and begins a new incarnation. The scheme needs so many further words in each record, and
/// rows copied or not.
fn prepare<M: Machine>(
    disk: Arc<dyn Disk>,
    mode: Mode,
    mut options: Options,
    durable: DurableOptions,
    host: &dyn Host<M>,
    (record_words, copies_rows): (usize, bool),
) -> Result<Prepared<M>> {
    options.validate::<M>()?;
    durable.validate()?;
    if let Some(kept) = options.kept_payload {
        let what = "a directory keeps all of each value; none is accepted";
        return Err(Error::InvalidOption(format!("kept_payload {kept}: {what}")));
    }
    let plan = Plan::make(&*disk, mode == Mode::Salvage, host)?;
    if plan.is_none() && mode != Mode::Write {
        return Err(LogError::Missing { place: disk.place() }.into());
    }
    options.read_only = mode == Mode::Read;
    let heap = options.heap::<M>(record_words, copies_rows)?;
    let empty = CatalogBlob::default();
    let blob = plan.as_ref().map_or(&empty, |plan| &plan.blob);
    let tables = Catalog::restore(&heap, blob, options.verify)?;
    let (mut recovered, mut segments) = (Recovered::default(), Vec::new());
    if let Some(plan) = &plan {
        let target = Target { tables: &tables, heap: &heap };
        let lenient = mode == Mode::Salvage;
        let replay = Replay::new(&*disk, plan, host).into_tables(target, lenient);
        recovered = replay.run()?;
        segments = core::mem::take(&mut *replay.counts.segments.lock());
    }
    let catalog = Catalog::new(tables, blob);
    if mode != Mode::Write {
        let (durable, writers) = (None, Vec::new());
        return Ok(Prepared { options, heap, catalog, recovered, durable, writers });
    }
    let (durable, writers) = begin::<M>(disk, plan, segments, durable)?;
    recovered.incarnation = durable.log.incarnation();
    debug_assert!(recovered.incarnation > 0, "incarnations count from one");
    let durable = Some(durable);
    Ok(Prepared { options, heap, catalog, recovered, durable, writers })
}

/// Begins a new incarnation. `segments` are those of the logs that were read.
fn begin<M: Machine>(
    disk: Arc<dyn Disk>,
    plan: Option<Plan>,
    segments: Vec<Retired>,
    options: DurableOptions,
) -> Result<(Durable<M>, Vec<LogWriter<M>>)> {
    let (mut leftovers, mut spares) = (Vec::new(), Vec::new());
    let mut manifest = match plan {
        Some(plan) => {
            keep::<M>(&*disk, &plan)?;
            (leftovers, spares) = (plan.leftovers, plan.spares);
            let mut manifest = plan.manifest;
            debug_assert!(
                manifest.incarnations.len() == plan.incarnations.len(),
                "each was looked at"
            );
            for (incarnation, planned) in manifest.incarnations.iter_mut().zip(&plan.incarnations) {
                incarnation.ended = Some(planned.durable);
                incarnation.ends = planned.tails.iter().filter_map(Tail::end).collect();
            }
            manifest
        }
        None => Manifest {
            format: FORMAT_VERSION,
            database: random_number::<M>(),
            generation: 0,
            checkpoint: None,
            incarnations: Vec::new(),
            catalog: CatalogBlob::default().encode(),
            kept: KeptLog::default(),
        },
    };
    let kept = kept(&manifest, segments);
    let ended = |it: &Incarnation| it.ended.is_some();
    debug_assert!(manifest.incarnations.iter().all(ended), "those before are over");
    let number = manifest.incarnation() + 1;
    // Segments of this number are of an opening that no manifest knows, neither this one nor any
    // before it. They go first: once the manifest names the number they would pass for its own.
    let namesake = |name: &String| match Name::parse(name) {
        Name::Segment(id) => id.incarnation == number,
        Name::Claims(of) => of == number,
        _ => false,
    };
    for name in leftovers.extract_if(.., |name| namesake(name)) {
        disk.remove(&name).map_err(LogError::io(format!("removing {name}")))?;
    }
    let (mut log, writers) =
        Log::begin(Arc::clone(&disk), manifest.database, number, options.log, spares)?;
    debug_assert!(writers.len() == options.log.writers as usize, "a file for each");
    let first_segments = vec![0; options.log.writers as usize];
    let (ends, claims) = (Vec::new(), true);
    manifest.incarnations.push(Incarnation { number, ended: None, first_segments, ends, claims });
    let numbers = manifest.incarnations.iter().map(|it| it.number);
    debug_assert!(numbers.is_sorted_by(|a, b| a < b), "incarnations are in order");
    manifest.generation += 1;
    manifest.write::<M>(&*disk)?;
    log.is_named_by(manifest.generation);
    if !leftovers.is_empty() {
        clear(&*disk, &leftovers)?;
    }
    let durable = Durable {
        disk,
        options,
        log,
        manifest: Latch::new(manifest),
        changing: crate::durable::Turn::new(),
        copying: crate::durable::Turn::new(),
        checkpointed_at: M::Word::new(0),
        canceled: M::Word::new(0),
        finished: Latch::new(vec![None; options.log.writers as usize]),
        checkpoint_bytes: M::Word::new(0),
        kept: Latch::new(kept),
    };
    Ok((durable, writers))
}

/// The logs before the new incarnation that can be read: those that recovery needed, of which `segments` are, and those
/// that are kept beside them.
fn kept(manifest: &Manifest, segments: Vec<Retired>) -> KeptLog {
    let mut kept = manifest.kept.clone();
    kept.keep(segments);
    kept.ended.extend(manifest.incarnations.iter().map(|it| EndedLog {
        incarnation: it.number,
        durable: it.ended.unwrap_or(0),
        ends: it.ends.clone(),
    }));
    debug_assert!(kept.ended.is_sorted_by_key(|it| it.incarnation), "what is kept is older");
    debug_assert!(kept.ended.iter().all(|it| it.incarnation > 0), "incarnations count from one");
    debug_assert!(kept.segments.is_sorted_by_key(|it| it.id), "segments are in order");
    kept
}

/// Makes sure of the logs that were read.
fn keep<M: Machine>(disk: &dyn Disk, plan: &Plan) -> Result<()> {
    for tail in plan.incarnations.last().iter().flat_map(|incarnation| &incarnation.tails) {
        tail.make_certain::<M>(disk)?;
    }
    Ok(())
}

/// Removes what nothing needs. Not before a manifest that does without it is certainly in place: the
/// one that was read may have been on its way there when its process was killed.
fn clear(disk: &dyn Disk, leftovers: &[String]) -> Result<()> {
    // The manifest that was just written has taken that name and left it.
    for name in leftovers.iter().filter(|name| Name::parse(name) != Name::ManifestNew) {
        disk.remove(name).map_err(LogError::io(format!("removing {name}")))?;
    }
    disk.sync_names().map_err(LogError::io(format!("syncing {}", disk.place())))?;
    Ok(())
}
