//! From what the driver reports of a native run to its result.

use super::deliveries;
use super::files::Files;
use super::place::Place;
use super::verify::{judgement, verify};
use crate::result::{Consistency, Counts, DeferredResult, DiskUse, RunResult};
use crate::spec::RunSpec;
use chiliad_driver::{NativeReport, Sample, Target};
use chiliad_host::Stop;
use std::io::{self, Write};

/// Judges what has come of a run.
pub fn judge(
    spec: &RunSpec,
    target: &dyn Target,
    mut report: NativeReport,
    place: Option<&Place>,
    files: &mut Files,
) -> Result<RunResult, Stop> {
    let recorders = std::mem::take(&mut report.recorders);
    let judgement = judgement(target, report.complete)?;
    let verified = verify(spec, &judgement, recorders, files)?;
    if let Some(file) = files.series.take() {
        file.finish(|file| write_series(&report.series, file))?;
    }
    deliveries::write(report.deferrals.as_ref(), files)?;
    let (build, host_cpu) = RunResult::host();
    let breakdown = report.tally.breakdown();
    let mut counts = Counts::new(&report.tally, target.kinds(), Some(report.seconds), breakdown);
    counts.set_breakdown_cost(report.following_cost);
    Ok(RunResult {
        workload: target.workload().into(),
        scheme: spec.scheme.name.into(),
        machine: "native",
        threads: spec.plan.cores,
        clients: spec.plan.clients,
        seed: spec.plan.seed,
        seconds: report.seconds,
        interrupted: report.interrupted,
        counts,
        verified,
        consistency: report.conditions.as_deref().and_then(Consistency::new),
        deferred: report.deferrals.as_ref().map(|it| DeferredResult::new(it, true)),
        differences: std::mem::take(&mut report.differences),
        disk: place.map(|place| DiskUse::new(&report, &place.disk.times())),
        versions: report.versions,
        simulation: None,
        options: spec.options(),
        build,
        host_memory_bytes: report.memory_bytes,
        host_cpu,
    })
}

fn write_series(samples: &[Sample], file: &mut dyn Write) -> io::Result<()> {
    writeln!(file, "seconds,throughput_tps,memory_bytes")?;
    for sample in samples {
        let Sample { seconds, throughput_tps, memory_bytes } = sample;
        writeln!(file, "{seconds:.3},{throughput_tps:.1},{memory_bytes}")?;
    }
    Ok(())
}
