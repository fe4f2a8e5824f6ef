//! One native run.

use super::files::Files;
use super::interleave;
use super::judged::judge;
use super::place::Place;
use super::progress::Bar;
use super::servers;
use crate::result::RunResult;
use crate::spec::{RunSpec, Storage, Trials};
use chiliad_driver::{
    Failure, Home, NativeTarget, Plan, Progress, Target, open_native, run_native,
};
use chiliad_host::Stop;
use chiliad_machine::disk::Disk;
use std::sync::Arc;
use std::time::Duration;

/// Runs the workload natively. Where the number of transactions in flight is to be chosen, it is, and
/// stays in `spec`.
pub fn run(spec: &mut RunSpec, quiet: bool, files: &mut Files) -> Result<RunResult, Stop> {
    let bar = Bar::new(spec.plan.length, quiet);
    if let Some(shared) = spec.shared_log().cloned() {
        return servers::run(spec, &shared, &bar, files);
    }
    let mut place = spec.storage().map(|storage| place(spec, storage)).transpose()?;
    let home = spec.storage().zip(place.as_ref()).map(|(storage, place)| Home {
        disk: Arc::clone(&place.disk) as Arc<dyn Disk>,
        options: storage.options,
    });
    let target = open_native(spec.scheme, &spec.workload, spec.opening(), home);
    let target = target?;
    if let Some(place) = &mut place {
        place.begin();
    }
    measure(spec, &*target, &bar, place.as_ref(), files)
}

/// Opens a database in memory for runs of its own: see [`measure_again`].
pub fn open(spec: &RunSpec) -> Result<NativeTarget, Stop> {
    open_native(spec.scheme, &spec.workload, spec.opening(), None).map_err(Stop::from)
}

/// Runs the workload on a database that [`open`] has opened for the same workload, scheme and options;
/// `spec.plan.load` says whether it has its rows.
pub fn measure_again(spec: &mut RunSpec, target: &NativeTarget) -> Result<RunResult, Stop> {
    let bar = Bar::new(spec.plan.length, true);
    measure(spec, &**target, &bar, None, &mut Files::default())
}

fn measure(
    spec: &mut RunSpec,
    target: &(dyn Target + Sync),
    bar: &Bar,
    place: Option<&Place>,
    files: &mut Files,
) -> Result<RunResult, Stop> {
    let watch = Watch { bar, place };
    let mut plan = spec.plan.clone();
    if spec.trials() == Trials::Ahead {
        spec.interleave(interleave::choose(&plan, target, &watch)?);
        // The trials have loaded the rows.
        plan = Plan { interleave: spec.plan.interleave, load: false, ..plan };
    }
    let report = run_native(target, &plan, &watch)?;
    bar.checking();
    judge(spec, target, report, place, files)
}

/// The directory of a run with a log.
fn place(spec: &RunSpec, storage: &Storage) -> Result<Place, Stop> {
    let refused = |error| Stop::from(Failure::Engine { doing: "making up the workload", error });
    Place::obtain(storage, &spec.workload.tables().map_err(refused)?)
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
