//! Chaos, a core on a host of its own: what goes wrong, at its time; and what is done about it.

use super::common::{Common, sleep};
use super::life;
use super::plan::Act;
use super::witness;
use chiliad_machine::{Machine, Ticks};
use chiliad_simulator::{LogFaults, Sim, crash, pause, spawn_during, stopping};
use std::collections::BTreeMap;
use std::rc::Rc;

/// How often it is looked whether all have done.
const LOOK: Ticks = 100;

/// How long it may take, once the world is healed, until it is noticed that the log broke its promises.
const PATIENCE: Ticks = 100_000;

/// Something to be done at a time.
#[derive(Clone, Copy)]
enum Deed {
    Do(Act),
    /// A host starts, in the life of this number.
    Start(usize, u32),
    Heal(usize),
}

/// Things to be done, in the order of their times.
#[derive(Default)]
struct Agenda {
    deeds: BTreeMap<(Ticks, u64), Deed>,
    added: u64,
}

impl Agenda {
    fn add(&mut self, at: Ticks, deed: Deed) {
        self.added += 1;
        self.deeds.insert((at, self.added), deed);
    }
}

/// Does all that the plan has, mends it, and returns when all clients have done their share.
pub(super) fn run(common: &Rc<Common>) {
    let mut agenda = Agenda::default();
    let mut at = Sim::now();
    for (after, act) in &common.plan.acts {
        at += after;
        agenda.add(at, Deed::Do(*act));
    }
    while let Some(((at, _), deed)) = agenda.deeds.pop_first() {
        while Sim::now() < at && !is_done(common) {
            sleep(LOOK.min(at.saturating_sub(Sim::now())));
        }
        start_those_left_behind(common, &mut agenda);
        // Hosts that are down start again; clients that are done are left alone.
        if !matches!(deed, Deed::Do(_)) || !is_done(common) {
            perform(common, deed, &mut agenda);
        }
    }
    common.log.set_faults(LogFaults::default());
    let others = Rc::clone(common);
    let host = Common::host(common.plan.servers);
    if common.plan.deceives() {
        spawn_during(host, "witness", move || witness::run(&others));
    }
    // The world is healed: all get on.
    let patience = Sim::now() + PATIENCE;
    while !is_done(common) && !stopping() {
        if common.plan.deceives() && Sim::now() > patience {
            break;
        }
        start_those_left_behind(common, &mut agenda);
        while let Some((_, deed)) = agenda.deeds.pop_first() {
            perform(common, deed, &mut agenda);
        }
        sleep(LOOK);
    }
    common.is_over.set(true);
    if common.plan.deceives() {
        // Until all have looked once more.
        sleep(2 * common.plan.tick);
        give_up(common);
    } else {
        close(common);
    }
}

/// All cores return: who makes checkpoints first, as others work for that.
fn close(common: &Common) {
    let works = |name: &str| common.at_work.borrow().iter().any(|it| it.1.starts_with(name));
    while works(life::CHECKPOINTER) && !stopping() {
        sleep(LOOK);
    }
    common.is_closing.set(true);
    while works("") && !stopping() {
        sleep(LOOK);
    }
}

/// The log has broken its promises, which somebody has noticed, or which have changed nothing: who has missed a record may
/// wait for it for ever.
fn give_up(common: &Common) {
    common.is_given_up.set(true);
    (0..=common.plan.servers).for_each(|server| crash(Common::host(server)));
    let heads: Vec<_> = common.places.iter().map(|place| place.head.get()).collect();
    let differ = |one: &(u64, u64)| heads.iter().any(|it| it.0 == one.0 && it.1 != one.1);
    if !common.is_noticed.get() && heads.iter().any(differ) {
        common.verdicts.borrow_mut().add("digest differs", || format!("unnoticed: {heads:x?}"));
    }
}

fn is_done(common: &Common) -> bool {
    common.places.iter().all(|place| place.busy.get() == 0 && !place.is_left_behind.get())
        || !common.verdicts.borrow().is_empty()
        || common.is_noticed.get()
}

fn perform(common: &Rc<Common>, deed: Deed, agenda: &mut Agenda) {
    match deed {
        Deed::Do(Act::Crash { server, power, down }) => {
            stop(common, server, power);
            let life = common.places[server].life.get();
            agenda.add(Sim::now() + down, Deed::Start(server, life));
        }
        Deed::Do(Act::Pause { server, ticks }) => pause(Common::host(server), ticks),
        Deed::Do(Act::Cut { server, appends, reads, ticks }) => {
            Sim::mark("server cut off");
            common.log.cut(server as u32, appends, reads);
            agenda.add(Sim::now() + ticks, Deed::Heal(server));
        }
        Deed::Do(Act::LoseLeader { calls }) => {
            Sim::mark("log's leader lost");
            common.log.lose_leader(calls);
        }
        Deed::Do(Act::Deceive { server }) => {
            let again = common.log.contents().pop();
            if let Some((_, record)) = again {
                Sim::mark("server deceived");
                let next = common.log.extent().end;
                common.log.deceive(server as u32, next, &record);
            }
        }
        Deed::Start(server, life) => start(common, server, life),
        Deed::Heal(server) => common.log.heal(server as u32),
    }
}

/// A server's host crashes.
fn stop(common: &Common, server: usize, power: bool) {
    let place = &common.places[server];
    crash(Common::host(server));
    common.log.crash_server(server as u32);
    common.at_work.borrow_mut().retain(|(other, _)| *other != server);
    place.life.set(place.life.get() + 1);
    place.busy.set(0);
    place.is_left_behind.set(false);
    let before = place.disk.borrow().clone();
    let seed = common.plan.config.seed.wrapping_add(place.life.get().into());
    let after = if power { before.crash(seed) } else { before.kill() };
    after.set_faults(common.plan.disk_faults);
    place.disk.replace(after);
}

/// A host starts, unless it has crashed again since.
fn start(common: &Rc<Common>, server: usize, life: u32) {
    let place = &common.places[server];
    if place.life.get() != life {
        return;
    }
    place.busy.set(1);
    let common = Rc::clone(common);
    let body = move || life::begin_again(&common, server);
    spawn_during(Common::host(server), format!("server {server}, life {life}"), body);
}

fn start_those_left_behind(common: &Rc<Common>, agenda: &mut Agenda) {
    for server in 0..common.places.len() {
        if common.places[server].is_left_behind.get() {
            stop(common, server, false);
            agenda.add(Sim::now(), Deed::Start(server, common.places[server].life.get()));
        }
    }
}
