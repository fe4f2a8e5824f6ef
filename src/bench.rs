//! `chiliad bench`: one native run.

use crate::home::Place;
use crate::progress::Bar;
use crate::result::{Consistency, Counts, DiskUse, RunResult, Verified};
use crate::runs::Files;
use crate::settings::{Settings, Storage, promised_isolation};
use crate::{interleave, threads};
use chiliad_checker::Recorder;
use chiliad_driver::{
    Failure, Home, Judgement, NativeTarget, Plan, Progress, Sample, Target, judge, open_native,
    run_native, write_history,
};
use chiliad_engine::Error;
use chiliad_host::Stop;
use chiliad_machine::disk::Disk;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

/// Runs the workload natively. Where the number of transactions in flight is to be chosen, it is, and
/// stays in `settings`.
pub fn run(settings: &mut Settings, quiet: bool, files: &mut Files) -> Result<RunResult, Stop> {
    let bar = Bar::new(settings.plan.length, quiet);
    let mut place = settings.storage.as_ref().map(|it| place(settings, it)).transpose()?;
    let home = settings.storage.as_ref().zip(place.as_ref()).map(|(storage, place)| Home {
        disk: Arc::clone(&place.disk) as Arc<dyn Disk>,
        options: storage.options,
    });
    let target = open_native(settings.scheme, &settings.workload, settings.engine.clone(), home);
    let target = target.map_err(stop)?;
    if let Some(place) = &mut place {
        place.begin();
    }
    measure(settings, &*target, &bar, place.as_ref(), files)
}

/// Opens a database in memory for runs of its own: see [`again`].
pub fn open(settings: &Settings) -> Result<NativeTarget, Stop> {
    open_native(settings.scheme, &settings.workload, settings.engine.clone(), None).map_err(stop)
}

/// Runs the workload on a database that [`open`] has opened for the same workload, scheme and options;
/// `settings.plan.load` says whether it has its rows.
pub fn again(settings: &mut Settings, target: &NativeTarget) -> Result<RunResult, Stop> {
    let bar = Bar::new(settings.plan.length, true);
    measure(settings, &**target, &bar, None, &mut Files::default())
}

fn measure(
    settings: &mut Settings,
    target: &(dyn Target + Sync),
    bar: &Bar,
    place: Option<&Place>,
    files: &mut Files,
) -> Result<RunResult, Stop> {
    let watch = Watch { bar, place };
    let mut plan = settings.plan.clone();
    if settings.choose_interleave {
        settings.interleave(interleave::choose(&plan, target, &watch)?);
        // The trials have loaded the rows.
        plan = Plan { interleave: settings.plan.interleave, load: false, ..plan };
    }
    let mut report = run_native(target, &plan, &watch).map_err(stop)?;
    bar.checking();
    let recorders = std::mem::take(&mut report.recorders);
    let judgement = judgement(settings, target, report.complete)?;
    let verified = verify(settings, &judgement, recorders, files)?;
    if let Some(file) = files.series.take() {
        file.finish(|file| write_series(&report.series, file))?;
    }
    let (build, host_cpu) = RunResult::host();
    let breakdown = report.tally.breakdown();
    let mut counts = Counts::new(&report.tally, target.kinds(), Some(report.seconds), breakdown);
    counts.set_breakdown_cost(report.following_cost);
    Ok(RunResult {
        workload: target.workload().into(),
        scheme: settings.scheme.name.into(),
        machine: "native",
        threads: settings.plan.cores,
        clients: settings.plan.clients,
        seed: settings.plan.seed,
        seconds: report.seconds,
        interrupted: report.interrupted,
        counts,
        verified,
        consistency: report.conditions.as_deref().and_then(Consistency::new),
        disk: place.map(|place| DiskUse::new(&report, &place.disk.times())),
        versions: report.versions,
        simulation: None,
        options: settings.shown.clone(),
        build,
        host_memory_bytes: report.memory_bytes,
        host_cpu,
    })
}

/// The directory of a run with a log.
fn place(settings: &Settings, storage: &Storage) -> Result<Place, Stop> {
    let refused = |error| stop(Failure::Engine { doing: "making up the workload", error });
    Place::obtain(storage, &settings.workload.tables().map_err(refused)?)
}

/// Passes on what the driver tells, and begins to time the disk with the window.
struct Watch<'a> {
    bar: &'a Bar,
    place: Option<&'a Place>,
}

impl Progress for Watch<'_> {
    fn loading(&self, done: usize, of: usize) {
        self.bar.loading(done, of);
    }
    fn running(&self, measured: Duration, committed: u64) {
        self.bar.running(measured, committed);
    }
    fn interrupted(&self) -> bool {
        self.bar.interrupted()
    }
    fn measuring(&self) {
        self.bar.measuring();
        if let Some(place) = self.place {
            place.disk.forget_times();
        }
    }
    fn checking(&self) {
        self.bar.checking();
    }
}

/// What a history of this run is judged against.
pub fn judgement(
    settings: &Settings,
    target: &dyn Target,
    complete: bool,
) -> Result<Judgement, Stop> {
    let isolation = promised_isolation(settings.scheme)?;
    let order_follows_reads = settings.scheme.order_follows_reads;
    Ok(Judgement { order_follows_reads, ..Judgement::new(target, isolation, complete) })
}

/// Writes and checks what was recorded, as far as it was asked for.
pub fn verify(
    settings: &Settings,
    judgement: &Judgement,
    recorders: Vec<Recorder>,
    files: &mut Files,
) -> Result<Option<Verified>, Stop> {
    if let Some(file) = files.history.take() {
        file.finish(|file| write_history(judgement, &recorders, file))?;
    }
    if !settings.verify {
        return Ok(None);
    }
    let verdict = judge(judgement, recorders)
        .map_err(|error| Stop::Failed(format!("the recorded history: {error}")))?;
    Ok(Some(Verified::new(&verdict)))
}

fn write_series(samples: &[Sample], file: &mut dyn Write) -> io::Result<()> {
    writeln!(file, "seconds,throughput_tps,memory_bytes")?;
    for sample in samples {
        let Sample { seconds, throughput_tps, memory_bytes } = sample;
        writeln!(file, "{seconds:.3},{throughput_tps:.1},{memory_bytes}")?;
    }
    Ok(())
}

/// A driver's failure as a reason to stop: what only other flags mend is bad input.
pub fn stop(failure: Failure) -> Stop {
    match &failure {
        Failure::Interrupted => Stop::Interrupted,
        Failure::Engine { error: Error::InvalidOption(what), .. } => {
            Stop::BadInput(if what.starts_with("--") { what.clone() } else { format!("--{what}") })
        }
        Failure::Engine { error: error @ Error::TooManyWorkers { .. }, .. } => {
            Stop::bad("--clients", format!("{error}; accepted: fewer clients"))
        }
        Failure::Engine { error: error @ Error::HostExhausted(_), .. } => {
            let accepted = "accepted: fewer clients, or fewer transactions in flight";
            Stop::bad("--clients", format!("{error}; {accepted}"))
        }
        Failure::Engine { error: error @ Error::OutOfMemory { .. }, .. } => {
            Stop::bad("memory", format!("{error}; accepted: fewer or smaller rows"))
        }
        Failure::Host(problem) => threads::too_much(problem),
        _ => Stop::Failed(failure.to_string()),
    }
}
