//! Meld without clients: intentions made up with an exact conflict zone, through the stages that decide them, each
//! stage timed.
//!
//! One thread plays all stages in turns, so the time of each is its own: a batch of intentions goes through one stage after
//! the other. Or the last stage has a thread of its own, and so caches of its own, and the others play the rest. The
//! conflict zone is exact: intention n has read the state after intention n - zone.

mod ahead;
mod deciding;
mod drawn;
mod plan;
mod states;
mod threads;
mod watch;

use crate::judge::Judge;
use crate::maker::Maker;
use crate::node::Tree;
use crate::options::Premeld;
use ahead::{Ahead, Batch, Short};
use chiliad_api::{Error, Result};
use chiliad_machine::{Interleaved, Machine};
use chiliad_storage::{Heap, LocalHeap};
use deciding::Deciding;
use drawn::{Draw, load, make_up};
use plan::BATCH;
pub use plan::{MeldPlan, MeldReport, MeldSetting, Stage};
use states::States;
use threads::{DEPTH, Player, play};

/// Intentions that are made up before any are timed.
const MADE_AHEAD: u64 = 4096;

/// Runs intentions through the stages, and says what each has cost.
///
/// # Errors
/// [`Error::OutOfMemory`]; [`Error::InvalidOption`] for a plan that makes no sense.
pub fn run_meld(
    plan: &MeldPlan,
    setting: MeldSetting,
    memory_bytes_max: u64,
) -> Result<MeldReport> {
    check(plan, setting)?;
    let out = |Short| Error::OutOfMemory { limit_bytes: memory_bytes_max };
    let heap = Heap::<Interleaved>::new(memory_bytes_max);
    let maker = || LocalHeap::new(&heap).map(Maker::new).ok_or(Error::NO_SLOT);
    let row = vec![7; plan.record_bytes];
    let mut first = maker()?;
    let tree = load(&mut first, 0..plan.records, &row).map_err(|_| out(Short))?;
    let mut judge = Judge::new(first, setting.roll);
    judge.roots = vec![Some(tree)];
    let (mut deciding, states) = (Deciding::new(judge), States::new(tree));
    let ahead = u64::from(setting.roll.pipeline.saturating_sub(1));
    let in_flight = BATCH * (2 + ahead * (DEPTH as u64 + 2));
    let players = (0..ahead).map(|_| Ok((Ahead::new(plan, setting, in_flight), maker()?)));
    let mut players = players.collect::<Result<Vec<Player<'_>>>>()?;
    let mut alone = Ahead::new(plan, setting, in_flight);
    let mut draw = Draw::new(plan);
    // Until the zone is as long as it will be, and its nodes lie where later ones do.
    let begin = (2 * plan.zone).next_multiple_of(BATCH);
    let end = begin + plan.intentions.next_multiple_of(BATCH);
    let (mut label, mut elapsed) = (0, 0);
    while label < end {
        let is_timed = label >= begin;
        let some = MADE_AHEAD.min(if is_timed { end } else { begin } - label);
        let made: Vec<_> =
            (label + 1..=label + some).map(|label| make_up(&mut draw, plan, label, &row)).collect();
        let batches = (label..).step_by(BATCH as usize).zip(made.chunks(BATCH as usize));
        let batches = batches.map(|(before, bytes)| Batch { before, bytes, is_timed });
        let start = Interleaved::now();
        match &mut players[..] {
            [] => batches.into_iter().try_for_each(|batch| {
                let ready = alone.prepare(&mut deciding.judge.maker, &states, batch)?;
                let decided = deciding.decide(&states, ready)?;
                alone.clear_away(&mut deciding.judge.maker, &states, decided);
                Ok(())
            }),
            players => play(players, &mut deciding, &states, &batches.collect::<Vec<_>>()),
        }
        .map_err(out)?;
        elapsed += if is_timed { Interleaved::now().saturating_sub(start) } else { 0 };
        label += some;
    }
    let mut report =
        MeldReport { elapsed, state_digest: state_digest(deciding.tree()), ..deciding.report };
    report.add(&alone.report);
    players.iter().for_each(|(ahead, _)| report.add(&ahead.report));
    Ok(report)
}

fn check(plan: &MeldPlan, setting: MeldSetting) -> Result<()> {
    let refuse = |what: &str| Err(Error::InvalidOption(what.into()));
    if plan.operations > plan.records || plan.writes > plan.operations {
        return refuse("an intention writes at most the keys that it has, and these are rows");
    }
    if let Premeld::Fixed { threads, distance } = setting.roll.premeld
        && u64::from(threads) * u64::from(distance) < BATCH
    {
        return refuse("premeld: threads x distance of 32 or more are accepted");
    }
    Ok(())
}

/// The digest of all rows that were written since the tree was loaded: no others are looked at.
fn state_digest<M: Machine>(tree: Tree<M>) -> u64 {
    let Some(node) = tree.root.filter(|_| tree.newest > 0) else { return 0 };
    let below = state_digest(node.left()).wrapping_add(state_digest(node.right()));
    let content = node.content();
    if content.version == 0 {
        return below;
    }
    let mut bytes = Vec::new();
    node.append_key(&mut bytes);
    content.value.into_iter().for_each(|value| value.append(&mut bytes));
    let row = u64::from(crc32fast::hash(&bytes)) << 32 | content.version << 1;
    let row = (row | u64::from(content.tombstone)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    below.wrapping_add(row ^ row >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Certifier, Group, RollOptions};

    const PLAN: MeldPlan = MeldPlan {
        records: 2_000,
        record_bytes: 20,
        operations: 8,
        writes: 3,
        zone: 200,
        theta: 0.6,
        intentions: 2_000,
        seed: 5,
    };

    /// All settings with which verdicts are exact.
    fn settings() -> Vec<MeldSetting> {
        let mut settings = Vec::new();
        let premelds = [Premeld::Off, Premeld::Newest, Premeld::Fixed { threads: 5, distance: 10 }];
        for certifier in [Certifier::Plain, Certifier::Meld, Certifier::Window] {
            for premeld in premelds {
                for (group, fused, overlap) in [
                    (Group::Off, false, false),
                    (Group::Exact, false, true),
                    (Group::Exact, true, false),
                ] {
                    let roll =
                        RollOptions { certifier, premeld, group, overlap, ..Default::default() };
                    settings.push(MeldSetting { roll, fused });
                }
            }
        }
        settings
    }

    fn outcome(report: &MeldReport) -> (u64, u64, u64, u64) {
        (report.intentions, report.committed, report.digest, report.state_digest)
    }

    #[test]
    fn all_settings_come_to_the_same_verdicts_and_rows() {
        let run = |setting| run_meld(&PLAN, setting, u64::MAX).expect("a report");
        let first = outcome(&run(settings()[0]));
        assert!((200..1_990).contains(&first.1), "{first:?}");
        for setting in settings() {
            assert_eq!(outcome(&run(setting)), first, "{setting:?}");
        }
        let other = run_meld(&MeldPlan { seed: 6, ..PLAN }, settings()[0], u64::MAX);
        let other = outcome(&other.expect("a report"));
        assert!(other.2 != first.2 && other.3 != first.3, "{other:?} {first:?}");
    }

    #[test]
    fn threads_come_to_the_same_verdicts_and_rows() {
        // The shorter the zone, the sooner states are forgotten that something on its way was built on.
        for zone in [1, 40, 200] {
            let plan = MeldPlan { zone, ..PLAN };
            let first = run_meld(&plan, settings()[0], u64::MAX).expect("a report");
            let is_melded = |it: &MeldSetting| it.roll.certifier == Certifier::Meld;
            for mut setting in settings().into_iter().filter(is_melded) {
                for pipeline in [2, 4] {
                    setting.roll.pipeline = pipeline;
                    let report = run_meld(&plan, setting, u64::MAX);
                    let report = report.expect("a report");
                    assert_eq!(outcome(&report), outcome(&first), "zone {zone}: {setting:?}");
                }
            }
        }
    }

    #[test]
    fn memory_that_does_not_suffice_ends_all_threads() {
        for pipeline in [1, 2, 4] {
            let roll = RollOptions { certifier: Certifier::Meld, pipeline, ..Default::default() };
            let setting = MeldSetting { roll, fused: false };
            // Enough for the rows, and not for what the zone keeps: it ends on the way.
            let plan = MeldPlan { records: 100_000, zone: 50_000, theta: 0.0, ..PLAN };
            let ended = run_meld(&plan, setting, 32 << 20);
            assert!(matches!(ended, Err(Error::OutOfMemory { .. })), "{ended:?}");
        }
    }

    #[test]
    fn those_that_share_their_fate_commit_less_unless_nothing_conflicts() {
        let commits = |premeld, group| {
            let roll =
                RollOptions { certifier: Certifier::Meld, premeld, group, ..Default::default() };
            let (plan, setting) =
                (MeldPlan { seed: 7, ..PLAN }, MeldSetting { roll, fused: false });
            run_meld(&plan, setting, u64::MAX).expect("a report").committed
        };
        let fixed = Premeld::Fixed { threads: 5, distance: 10 };
        let [exact, fate, fate_after_premeld] = [
            commits(Premeld::Off, Group::Exact),
            commits(Premeld::Off, Group::Fate),
            commits(fixed, Group::Fate),
        ];
        // Most conflicts are found by premeld, before anybody is paired.
        assert!(
            fate < fate_after_premeld && fate_after_premeld < exact,
            "{fate} {fate_after_premeld} {exact}"
        );
    }
}
