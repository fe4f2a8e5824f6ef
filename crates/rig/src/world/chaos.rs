//! Chaos, a core on a host of its own: what goes wrong, at its time; and what is done about it.

use super::broken;
use super::common::{Common, Place, sleep};
use super::incarnation;
use super::plan::Act;
use super::witness;
use chiliad_machine::{Machine, Ticks};
use chiliad_simulator::{LogFaults, Sim, crash, pause, spawn_during, stopping};
use std::collections::BTreeMap;
use std::rc::Rc;

/// How often it is looked whether all have done.
const LOOK: Ticks = 100;

/// How long servers are waited for that do not look at the broken log, or read what the witness says.
const PATIENCE: Ticks = 400_000;

/// Something to be done at a time.
#[derive(Clone, Copy)]
enum Deed {
    Do(Act),
    /// A host starts, in the incarnation of this number.
    Start(usize, u32),
    Heal(usize),
    MakeRoom,
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
    // The world is healed: all get on.
    if common.is_broken.get() {
        await_notice(common, &mut agenda);
        common.is_over.set(true);
        give_up(common);
        return;
    }
    while !is_done(common) && !stopping() {
        go_on(common, &mut agenda);
    }
    common.is_over.set(true);
    close(common);
}

/// Does what is to be done by now, and lets some time pass.
fn go_on(common: &Rc<Common>, agenda: &mut Agenda) {
    start_those_left_behind(common, agenda);
    while let Some((_, deed)) = agenda.deeds.pop_first() {
        perform(common, deed, agenda);
    }
    sleep(LOOK);
}

/// Waits until all servers have looked at the broken log, and somebody has noticed, or all that go on have read what a
/// witness says.
fn await_notice(common: &Rc<Common>, agenda: &mut Agenda) {
    let servers = 0..common.plan.servers;
    let looks = |server: usize| common.log.looks(server as u32).begun;
    let before: Vec<u64> = servers.clone().map(looks).collect();
    let tells_itself = common.plan.breaks().is_some_and(|how| !how.has_witness());
    let mut has_witness = false;
    let patience = Sim::now() + PATIENCE;
    while !stopping() && Sim::now() < patience && common.verdicts.borrow().is_empty() {
        let settled = |server| broken::is_settled(common, server, before[server]);
        let are_settled = servers.clone().all(settled);
        let goes_on = |place: &&Place| place.is_up.get() && !place.has_failed.get();
        let mut going_on = common.places.iter().filter(goes_on);
        let is_heard = has_witness && going_on.all(|place| broken::has_heard(common, place));
        if are_settled && (common.is_noticed.get() || is_heard) {
            break;
        }
        if !has_witness && (are_settled || !tells_itself) {
            has_witness = true;
            let (others, host) = (Rc::clone(common), Common::host(common.plan.servers));
            spawn_during(host, "witness", move || witness::run(&others));
        }
        go_on(common, agenda);
    }
}

/// All cores return: who makes checkpoints first, as others work for that.
fn close(common: &Common) {
    let works = |name: &str| common.at_work.borrow().iter().any(|it| it.1.starts_with(name));
    while works(incarnation::CHECKPOINTER) && !stopping() {
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
    (0..common.plan.servers).for_each(|server| broken::judge_looks(common, server));
    broken::judge_heads(common);
}

fn is_done(common: &Common) -> bool {
    let is_idle = |place: &Place| place.busy.get() == 0 && !place.is_left_behind.get();
    !common.verdicts.borrow().is_empty()
        || common.is_noticed.get()
        || common.places.iter().all(is_idle)
}

fn perform(common: &Rc<Common>, deed: Deed, agenda: &mut Agenda) {
    match deed {
        Deed::Do(Act::Crash { server, power, down }) => {
            stop(common, server, power);
            let incarnation = common.places[server].incarnation.get();
            agenda.add(Sim::now() + down, Deed::Start(server, incarnation));
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
        Deed::Do(Act::Fill { ticks }) => {
            common.log.fill();
            agenda.add(Sim::now() + ticks, Deed::MakeRoom);
        }
        Deed::Do(Act::Break(how)) => broken::perform(common, how),
        Deed::MakeRoom => common.log.make_room(),
        Deed::Start(server, incarnation) => start(common, server, incarnation),
        Deed::Heal(server) => common.log.heal(server as u32),
    }
}

/// A server's host crashes.
fn stop(common: &Common, server: usize, power: bool) {
    let place = &common.places[server];
    crash(Common::host(server));
    broken::judge_looks(common, server);
    common.log.crash_server(server as u32);
    common.at_work.borrow_mut().retain(|(other, _)| *other != server);
    place.incarnation.set(place.incarnation.get() + 1);
    place.busy.set(0);
    place.is_up.set(false);
    place.has_failed.set(false);
    place.is_left_behind.set(false);
    let before = place.disk.borrow().clone();
    let seed = common.plan.config.seed.wrapping_add(place.incarnation.get().into());
    let after = if power { before.crash(seed) } else { before.kill() };
    after.set_faults(common.plan.disk_faults);
    place.disk.replace(after);
}

/// A host starts, unless it has crashed again since.
fn start(common: &Rc<Common>, server: usize, incarnation: u32) {
    let place = &common.places[server];
    if place.incarnation.get() != incarnation {
        return;
    }
    place.busy.set(1);
    let common = Rc::clone(common);
    let body = move || incarnation::begin_again(&common, server);
    spawn_during(Common::host(server), format!("server {server}, incarnation {incarnation}"), body);
}

fn start_those_left_behind(common: &Rc<Common>, agenda: &mut Agenda) {
    for server in 0..common.places.len() {
        if common.places[server].is_left_behind.get() {
            stop(common, server, false);
            agenda.add(Sim::now(), Deed::Start(server, common.places[server].incarnation.get()));
        }
    }
}
