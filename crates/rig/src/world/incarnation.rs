//! A server from its start to its crash: it joins on a core of its host, which then has the others begin.

use super::client;
use super::common::{Common, is_full, is_left_behind, sleep};
use chiliad_api::{Alone, Error, LogTask, Result, Store};
use chiliad_hyder::Hyder;
use chiliad_machine::Machine;
use chiliad_machine::disk::Disk;
use chiliad_simulator::{FaultyDisk, Sim, spawn_daemon_during, spawn_during, stopping};
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::sync::Arc;

/// How often a server tries to join a log that shows less than its checkpoint has seen.
const JOINS_MAX: usize = 60;

/// Time between two of them.
const NAP: u64 = 50;

/// Transactions that a client of a new incarnation runs at least.
const LEFT_MIN: u32 = 4;

/// Joins the servers of the log, with what is on `disk`.
pub(super) fn join(common: &Common, server: usize, disk: &FaultyDisk) -> Result<Hyder<Sim>> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let log = common.log.server(server as u32);
    Hyder::join_with(log, Some(disk), common.plan.options(server))
}

/// Begins another incarnation, on a core of the server's host.
pub(super) fn begin_again(common: &Rc<Common>, server: usize) {
    let place = &common.places[server];
    match join_somehow(common, server, &place.disk) {
        Ok(hyder) => {
            for left in place.left.borrow_mut().iter_mut() {
                *left = (*left).max(LEFT_MIN);
            }
            place.hyder.replace(Some(ManuallyDrop::new(hyder)));
            place.is_up.set(true);
            for (name, body) in cores(common, server) {
                spawn_during(Common::host(server), name, body);
            }
            for (name, body) in daemons(common, server) {
                spawn_daemon_during(Common::host(server), name, body);
            }
        }
        Err(error) => common.complain(server, "joining", &error),
    }
    place.busy.set(place.busy.get() - 1);
}

/// Joins with the checkpoints on the server's `disk`; where the log was trimmed beyond these, with a copy of another
/// server's, which it has from then on.
pub(super) fn join_somehow(
    common: &Common,
    server: usize,
    disk: &RefCell<FaultyDisk>,
) -> Result<Hyder<Sim>> {
    let mut refused = None;
    let mut tries = 0;
    while tries < JOINS_MAX && !stopping() {
        tries += 1;
        let own = disk.borrow().clone();
        if own.file_names().iter().any(|name| !name.ends_with("new")) {
            Sim::mark("began with a checkpoint");
        }
        match join(common, server, &own) {
            // It may show more in a moment.
            Err(error @ (Error::LogRefused { .. } | Error::Data(_))) => refused = Some(error),
            // It has been trimmed since it was looked at.
            Err(error) if is_left_behind(&error) => refused = Some(error),
            // It is given room in the end.
            Err(error) if is_full(&error) => tries -= 1,
            joined => return joined,
        }
        let needed = common.log.extent().start;
        if needed > 1 {
            let others = common.places.iter().enumerate().filter(|(other, _)| *other != server);
            for (_, other) in others {
                let copy = other.disk.borrow().fork();
                if let Ok(hyder) = join(common, server, &copy) {
                    Sim::mark("began with another server's checkpoint");
                    disk.replace(copy);
                    return Ok(hyder);
                }
            }
        }
        sleep(NAP);
    }
    Err(refused.unwrap_or(Error::Canceled))
}

/// The prefix of the names of cores that make checkpoints.
pub(super) const CHECKPOINTER: &str = "checkpoints";

type Core = (String, Box<dyn FnOnce()>);

/// The cores of a server's clients and of its checkpointer.
pub(super) fn cores(common: &Rc<Common>, server: usize) -> Vec<Core> {
    let place = &common.places[server];
    let mut cores: Vec<Core> = Vec::new();
    for number in 0..common.plan.clients {
        place.busy.set(place.busy.get() + 1);
        let common = Rc::clone(common);
        let body = move || {
            if let Err(error) = client::run(&common, server, number) {
                if is_full(&error)
                    && let Err(error) = client::read(&common, server)
                {
                    common.complain(server, "a read while the log is full", &error);
                }
                if !common.was_left_behind(server, &error) {
                    common.complain(server, "a client", &error);
                }
            }
            let busy = &common.places[server].busy;
            busy.set(busy.get() - 1);
        };
        cores.push((format!("client {server}.{number}"), Box::new(body)));
    }
    let (maker, common) = (Rc::clone(common), Rc::clone(common));
    let body = move || {
        while !common.is_over.get() && make_checkpoint(&common, server) {
            sleep(common.plan.checkpoints);
        }
    };
    let checkpointer: Core = (format!("{CHECKPOINTER} {server}"), Box::new(body));
    cores.push(noted(&maker, server, checkpointer));
    cores
}

/// Makes a checkpoint; whether the server goes on.
fn make_checkpoint(common: &Common, server: usize) -> bool {
    let hyder = common.places[server].server();
    match hyder.checkpoint(&Alone) {
        Ok(_) => true,
        // The one before still counts.
        Err(Error::Data(_)) if common.plan.disks_fail() => true,
        Err(error) => {
            if !common.was_left_behind(server, &error) {
                common.complain(server, "a checkpoint", &error);
            }
            false
        }
    }
}

/// The background cores of a server.
pub(super) fn daemons(common: &Rc<Common>, server: usize) -> Vec<Core> {
    let cores = background(common, server).into_iter();
    cores.map(|core| noted(common, server, core)).collect()
}

/// The same core, which says when it begins and returns.
fn noted(common: &Rc<Common>, server: usize, (name, body): Core) -> Core {
    let (common, entry) = (Rc::clone(common), (server, name.clone()));
    let body = move || {
        common.at_work.borrow_mut().insert(entry.clone());
        body();
        common.at_work.borrow_mut().remove(&entry);
    };
    (name, Box::new(body))
}

fn background(common: &Rc<Common>, server: usize) -> Vec<Core> {
    let hyder = common.places[server].server();
    let mut daemons: Vec<Core> = Vec::new();
    if common.plan.threads {
        for (number, task) in hyder.tasks().into_iter().enumerate() {
            let common = Rc::clone(common);
            let over = move || common.is_closing.get() || stopping();
            let body = move || Box::new(task).run(&over, &|| ());
            daemons.push((format!("thread {number} of server {server}"), Box::new(body)));
        }
    }
    let common = Rc::clone(common);
    let body = move || {
        while !common.is_closing.get() && !stopping() {
            Sim::park_until(Sim::now() + common.plan.tick);
            hyder.tick();
            let (place, next, head) = (&common.places[server], hyder.position(), hyder.digest());
            if let Some(error) = hyder.log_failure() {
                place.has_failed.set(true);
                if !common.was_left_behind(server, &error) {
                    common.complain(server, "its failure", &error);
                }
            }
            // Last: whoever sees these knows whether the server has failed by what it has read.
            place.head.set(head);
            place.next.set(next);
        }
    };
    daemons.push((format!("ticks {server}"), Box::new(body)));
    daemons
}
