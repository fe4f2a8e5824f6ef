//! The copies of the database: those of all servers, and of fresh ones that read the whole log and decide otherwise.

use super::common::{Common, is_left_behind};
use crate::clients::verdicts::Verdicts;
use crate::ways::{ROLLS, roll};
use chiliad_api::{Intent, Running, Store, Transaction};
use chiliad_hyder::{Deviation, Hyder, Oracle, RollOptions};
use chiliad_simulator::{Run, Sim};

/// All servers have read all of the log, and have what must come of it.
pub(super) fn judge_servers(run: &Run, common: &Common, oracle: &Oracle, verdicts: &mut Verdicts) {
    let servers: Vec<Hyder<Sim>> = common.places.iter().map(|place| place.server()).collect();
    run.outside(|| {
        for (number, server) in servers.iter().enumerate() {
            match server.log_failure() {
                None => {}
                // In the last moment.
                Some(failure) if is_left_behind(&failure) => continue,
                Some(failure) => {
                    verdicts.add("failed", || format!("server {number}: {failure}"));
                    continue;
                }
            }
            judge(server, &format!("server {number}"), oracle, verdicts);
        }
        let heads: Vec<(u64, u64)> = servers.iter().map(Hyder::digest).collect();
        if heads.iter().any(|head| head.0 == heads[0].0 && head.1 != heads[0].1) {
            verdicts.add("digest differs", || format!("{heads:x?}"));
        }
    });
}

/// A server that begins with nothing and reads all there ever was, in another way, comes to the same.
pub(super) fn judge_fresh(run: &Run, common: &Common, verdicts: &mut Verdicts) {
    let seed = common.plan.config.seed;
    for way in [seed, seed / ROLLS + 1] {
        let whole = common.log.untrimmed();
        let mut options = common.plan.options(0);
        options.roll = RollOptions { window: common.plan.window, ..roll(way) };
        run.outside(|| match Hyder::<Sim>::join(whole.server(0), options.clone()) {
            Ok(fresh) => {
                fresh.tick();
                let records = whole.contents();
                let records = records.iter().map(|(_, record)| record.as_slice());
                let oracle = Oracle::of(records, common.plan.window);
                let name = format!("a fresh server with {:?}", options.roll);
                judge(&fresh, &name, &oracle, verdicts);
            }
            Err(error) => verdicts.add("verdict differs", || {
                format!("a fresh server with {:?}: {error}", options.roll)
            }),
        });
    }
}

fn judge(server: &Hyder<Sim>, name: &str, oracle: &Oracle, verdicts: &mut Verdicts) {
    match server.deviation(oracle) {
        Ok(None) => {}
        Ok(Some(Deviation::Behind { label })) => verdicts
            .add("stuck", || format!("{name} has read up to number {label} of {}", oracle.label())),
        Ok(Some(Deviation::Verdicts)) => verdicts.add("verdict differs", || {
            let (label, digest) = server.digest();
            let (last, expected) = (oracle.label(), oracle.digest());
            format!(
                "{name} has {digest:x} at number {label}, and the oracle {expected:x} at {last}"
            )
        }),
        Ok(Some(Deviation::Rows { table, key })) => verdicts.add("wrong state", || {
            format!("{name} has another row of table {table} and key {key:02x?} than was written")
        }),
        Err(error) => verdicts.add("failed", || format!("{name}: {error}")),
    }
}

/// The workload's conditions hold on each server.
pub(super) fn judge_conditions(run: &Run, common: &Common, verdicts: &mut Verdicts) {
    for (number, place) in common.places.iter().enumerate() {
        let server = place.server();
        let looked = run.outside_on(Common::host(number), || {
            let mut session = server.session()?;
            let mut look = |body: &mut dyn FnMut(&mut dyn Transaction) -> _| {
                let mut tx = Running::begin(&mut *session, &Intent::read_only())?;
                body(&mut tx)?;
                tx.commit().map(|_| ())
            };
            common.workload.conditions_kept(true, &common.tables, &mut look)
        });
        match looked {
            Ok(conditions) => {
                for condition in conditions {
                    if let Some(failure) = condition.failure {
                        let name = condition.name;
                        verdicts
                            .add("conditions", || format!("server {number}: {name}: {failure}"));
                    }
                }
            }
            Err(error) => verdicts.add("failed", || format!("server {number}: {error}")),
        }
    }
}
