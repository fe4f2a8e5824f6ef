//! The fibers of one thread and whose turn it is.
//!
//! ```text
//!            +--> fiber --> fiber --> fiber --+   await_line, pause: the next in the round runs
//!            |      |                            |   park: out of the round, until it is woken or its
//!            |      | park, return, between,     |         time has come
//!            |      v now and then               |   between: to the gate, if too many are in flight
//!  gate ---> +--- leader <-----------------------+   return, panic: gone
//! ```
//!
//! The leader is the thread's own stack, in [`interleave`]. Fibers hand on to each other without it;
//! it keeps the round, wakes, admits, and sleeps when no fiber can run.
//!
//! At the *gate* are fibers that are not in flight: they have not begun, have nothing in hand, or are about
//! to run again what was refused. So they hold nothing that others wait for, and fibers in flight never
//! wait for them. As many are admitted as a [`Pace`] says; one that sleeps in the middle of a transaction
//! keeps its place for [`PLACE_KEPT`], as what it waits for comes soon as a rule; one that sleeps between
//! two, or says that it waits for long ([`park_for_long`]), has none.

use super::overflow;
use super::pace::{Joined, Pace};
use super::parked::Parked;
use super::stack::{FiberStack, MEMBERS_MAX};
use super::switch::{self, StackPointer};
use crate::sleepers::{self, FiberBell, GroupBell};
use crate::{Idle, Machine, Native, NoRoom, Ticks, Woken, WorkerId};
use core::cell::{Cell, RefCell};
use core::ptr;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, Result};
use std::time::Duration;

/// Turns after which a fiber looks whether somebody is to be woken, while there is somebody.
const TURNS_PER_LOOK: u32 = 32;

/// Transactions, and time, after which a fiber lets the next one at the gate have its place. Both: a fiber
/// that was away finds its memory cold. The time is short beside the age of a snapshot, because a worker at the
/// gate collects none of its garbage: tombstones that stay for whole turns of others are in the way of scans.
const ROW: u32 = 1024;
const TURN: Ticks = 20_000_000;

/// How long a fiber keeps its place that sleeps in the middle of a transaction.
const PLACE_KEPT: Ticks = 1_000_000;

/// A thread whose fibers all sleep stays awake if the first is due within this time, which the system takes to wake it.
const AWAKE: Ticks = 50_000;

/// Ends of transactions between two looks at the clock: at most, and as many as come to this time.
const STRIDE_MAX: u32 = 512;
const STRIDE: Ticks = 60_000;

thread_local! {
    /// The fiber that runs; null on the thread's own stack.
    static RUNNING: Cell<*const Fiber> = const { Cell::new(ptr::null()) };
    /// The fiber that runs, if it hands on while it waits for memory; null where it keeps its turn.
    static AWAITING: Cell<*const Fiber> = const { Cell::new(ptr::null()) };
    /// Sections that the running fiber, or the thread itself, is in. No fiber switches in one, so it is
    /// the count of the one that runs.
    static SECTIONS: Cell<u32> = const { Cell::new(0) };
}

/// A fiber, with all that its siblings need to hand on to it.
#[repr(align(64))]
pub(super) struct Fiber {
    /// Where its stack was left.
    left: Cell<StackPointer>,
    /// The fiber that runs next: itself, if it is alone in the round.
    pub(super) next: Cell<*const Fiber>,
    /// Itself, where it hands on while it waits for memory; null where it keeps its turn.
    awaiting: Cell<*const Fiber>,
    /// It keeps its turn while it waits for memory until its transaction is over.
    pub(super) keeps: Cell<bool>,
    /// Transactions that it has begun and not ended: those inside another one's closure count.
    pub(super) depth: Cell<u32>,
    /// It is at the gate with a transaction in hand that was refused.
    again: Cell<bool>,
    group: *const Group,
    /// Its place among the fibers of the group.
    index: u32,
    /// Why it went back to the leader.
    said: Cell<Said>,
    /// Its number as a worker and the bell to ring for it, once it was asked for.
    registered: RefCell<Option<(WorkerId, Arc<FiberBell>)>>,
    until: Cell<Ticks>,
    woken: Cell<Woken>,
    /// When it went to sleep; 0 where nobody asks.
    slept: Cell<Ticks>,
    /// It keeps a place while it sleeps: it is in the middle of a transaction, and waits for another one.
    holds: Cell<bool>,
    stack: FiberStack,
    body: Cell<Option<Body>>,
}

/// The body of a fiber, its borrows erased: see [`interleave`].
type Body = Box<dyn FnOnce()>;

/// Why a fiber went back to the leader.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    /// It is time to look for fibers to wake.
    Look,
    /// It has nothing in hand, or only what was refused.
    Between,
    Park,
    Over,
}

/// The state that a thread's fibers share.
pub(super) struct Group {
    /// Where the leader's stack was left.
    leader: Cell<StackPointer>,
    /// Turns until the next look for fibers to wake.
    pub(super) turns: Cell<u32>,
    /// Only one is in the round, and none asleep: it never hands on.
    pub(super) alone: Cell<bool>,
    /// Fibers to admit, as it was when the leader looked last.
    limit: Cell<usize>,
    /// More are in flight.
    crowded: Cell<bool>,
    /// Transactions until the one in the round asks whether its turn is over.
    row: Cell<u32>,
    /// When the first of those that sleep is to be woken.
    due: Cell<Ticks>,
    /// Ends of transactions until the next look at the clock, between two such looks, and the last one.
    left: Cell<u32>,
    stride: Cell<u32>,
    looked: Cell<Ticks>,
    /// Rung when a fiber is woken.
    pub(super) bell: Arc<GroupBell>,
    /// Says how many to admit, and counts what the fibers finish; `None`: all are admitted, nothing is counted.
    joined: Option<Joined>,
}

/// The running fiber; `None` on a thread's own stack.
#[inline]
pub(super) fn running<'a>() -> Option<&'a Fiber> {
    // SAFETY: set while a fiber runs, which the leader's frame outlives.
    unsafe { RUNNING.get().as_ref() }
}

/// The running fiber's number as a worker.
pub(super) fn worker() -> Option<WorkerId> {
    running().map(Fiber::number)
}

/// Puts the running fiber to sleep.
pub(super) fn park(until: Option<Ticks>) -> Option<Woken> {
    running().map(|fiber| fiber.park(until, fiber.depth.get() > 0))
}

/// Sleeps as [`Machine::park`] or [`Machine::park_until`] do, and a fiber gives up its place among those in
/// flight meanwhile: for what takes long, as a device does and a transaction does not.
pub fn park_for_long(until: Option<Ticks>) {
    match (running(), until) {
        (Some(fiber), _) => _ = fiber.park(until, false),
        (None, Some(time)) => _ = Native::park_until(time),
        (None, None) => Native::park(),
    }
}

/// Asks for memory, and lets a sibling run until it has come.
#[inline(always)]
pub(super) fn await_line(start: *const u8, lines: u32) {
    // SAFETY: null, or the running fiber, which lives in its group until the group is over.
    if let Some(fiber) = unsafe { AWAITING.get().as_ref() } {
        Native::prefetch(start, lines);
        fiber.hand_on();
    }
}

/// Lets a sibling run; whether there was any.
#[inline]
pub(super) fn hand_on() -> bool {
    running().is_some_and(|fiber| match fiber.group().bell.is_rung() {
        true => fiber.look(),
        false => fiber.hand_on(),
    })
}

/// Lets the running fiber keep its turn while it waits for memory, or not; whether it has until now.
#[inline]
pub(super) fn keep_turn(keep: bool) -> bool {
    running().is_none_or(|fiber| fiber.keep(keep))
}

/// The running fiber begins a transaction, or does so `again`.
#[inline]
pub(super) fn begun(again: bool) {
    if let Some(fiber) = running() {
        if again {
            fiber.begin_again();
        }
        fiber.depth.set(fiber.depth.get() + 1);
    }
}

/// The running fiber's transaction is over, and `finished` if it will not be run again.
#[inline]
pub(super) fn ended(finished: bool) {
    if let Some(fiber) = running() {
        fiber.ended(finished);
    }
}

/// The running fiber leaves a transaction in progress, which any fiber may take up.
#[inline]
pub(super) fn suspended() {
    if let Some(fiber) = running() {
        fiber.depth.set(fiber.depth.get().saturating_sub(1));
        fiber.keep(false);
    }
}

/// The running fiber takes up a transaction that was left.
#[inline]
pub(super) fn resumed() {
    if let Some(fiber) = running() {
        fiber.depth.set(fiber.depth.get() + 1);
    }
}

/// The running fiber has nothing in hand: its turn may end here.
#[inline]
pub(super) fn between() {
    if let Some(fiber) = running() {
        fiber.between();
    }
}

/// From here on nobody may switch.
#[inline]
pub(super) fn enter_section() {
    if cfg!(debug_assertions) {
        SECTIONS.set(SECTIONS.get() + 1);
    }
}

/// The end of what [`enter_section`] began.
#[inline]
pub(super) fn leave_section() {
    if cfg!(debug_assertions) {
        debug_assert!(SECTIONS.get() > 0, "a section ends that has not begun");
        SECTIONS.set(SECTIONS.get() - 1);
    }
}

impl Fiber {
    fn new(group: &Group, index: u32, stack: FiberStack, body: Body) -> Self {
        Self {
            left: Cell::new(ptr::null_mut()),
            next: Cell::new(ptr::null()),
            awaiting: Cell::new(ptr::null()),
            keeps: Cell::new(false),
            depth: Cell::new(0),
            again: Cell::new(false),
            group,
            index,
            said: Cell::new(Said::Look),
            registered: RefCell::new(None),
            until: Cell::new(Ticks::MAX),
            woken: Cell::new(Woken::ByPeer),
            slept: Cell::new(0),
            holds: Cell::new(false),
            stack,
            body: Cell::new(Some(body)),
        }
    }

    pub(super) fn group(&self) -> &Group {
        // SAFETY: the group is in the leader's frame, which outlives the fibers.
        unsafe { &*self.group }
    }

    /// The running fiber's turn ends, if anybody else can run. Whether anybody could.
    #[inline(always)]
    pub(super) fn hand_on(&self) -> bool {
        debug_assert!(SECTIONS.get() == 0, "a switch under a latch or in a commit window");
        let turns = &self.group().turns;
        turns.set(turns.get().wrapping_sub(1));
        if turns.get() == 0 {
            return self.look();
        }
        self.pass_on()
    }

    #[inline(always)]
    fn pass_on(&self) -> bool {
        let next = self.next.get();
        if ptr::eq(next, self) || thread::panicking() {
            return false;
        }
        RUNNING.set(next);
        // SAFETY: the fibers of the round live as long as the group.
        AWAITING.set(unsafe { (*next).awaiting.get() });
        // SAFETY: a fiber of the round lies suspended on a stack of this thread, or runs.
        unsafe { switch::switch(self.left.as_ptr(), (*next).left.get()) };
        true
    }

    /// Goes to the leader, which hands on, if a fiber is to be woken; else hands on itself.
    #[cold]
    #[inline(never)]
    fn look(&self) -> bool {
        let group = self.group();
        if thread::panicking() {
            return false;
        }
        if group.bell.is_rung() || group.is_due() {
            self.report(Said::Look);
            return true;
        }
        group.turns.set(TURNS_PER_LOOK);
        self.pass_on()
    }

    #[inline(never)]
    fn report(&self, what: Said) {
        self.said.set(what);
        // SAFETY: the leader lies suspended in `Leader::run` while a fiber runs.
        unsafe { switch::switch(self.left.as_ptr(), self.group().leader.get()) };
    }

    /// Whether it hands on while it waits for memory.
    fn aim(&self) -> *const Self {
        let keeps = self.keeps.get() || self.group().alone.get();
        self.awaiting.set(if keeps { ptr::null() } else { self });
        self.awaiting.get()
    }

    /// Keeps its turn while it waits for memory, or not; most calls change nothing.
    #[inline]
    fn keep(&self, keep: bool) -> bool {
        let kept = self.keeps.replace(keep);
        if kept != keep {
            AWAITING.set(self.aim());
        }
        kept
    }

    /// Is about to run again what was refused, as if alone, once there is room for that.
    #[cold]
    fn begin_again(&self) {
        let group = self.group();
        if self.depth.get() == 0 && (group.crowded.get() || group.has_new_limit()) {
            self.again.set(true);
            self.step_aside();
            self.again.set(false);
        }
        self.keep(true);
    }

    #[inline]
    fn ended(&self, finished: bool) {
        self.depth.set(self.depth.get().saturating_sub(1));
        self.keep(false);
        let group = self.group();
        if let Some(joined) = &group.joined {
            if finished {
                joined.finished();
            }
            group.left.set(group.left.get() - 1);
            if group.left.get() == 0 {
                group.look_at_clock(joined);
            }
        }
    }

    #[inline]
    fn between(&self) {
        let group = self.group();
        if group.joined.is_none() {
            return;
        }
        let row = group.row.get();
        if row == 0 || group.bell.is_rung() || group.has_new_limit() {
            self.between_turns();
        } else {
            group.row.set(row - 1);
        }
    }

    #[cold]
    #[inline(never)]
    fn between_turns(&self) {
        let group = self.group();
        let asked = group.crowded.get() || group.bell.is_rung() || group.has_new_limit();
        if self.depth.get() == 0 && (asked || group.is_due() || group.row.get() == 0) {
            self.step_aside();
        }
    }

    /// Lets the leader say whether it goes on.
    fn step_aside(&self) {
        if !thread::panicking() {
            self.report(Said::Between);
        }
    }

    fn number(&self) -> WorkerId {
        let known = self.registered.borrow().as_ref().map(|registered| registered.0);
        known.unwrap_or_else(|| self.registration().0)
    }

    fn registration(&self) -> (WorkerId, Arc<FiberBell>) {
        let mut registered = self.registered.borrow_mut();
        registered
            .get_or_insert_with(|| sleepers::enter_fiber(&self.group().bell, self.index))
            .clone()
    }

    /// Sleeps until it is woken or until a time.
    #[cold]
    pub(super) fn park(&self, until: Option<Ticks>, holds: bool) -> Woken {
        debug_assert!(SECTIONS.get() == 0, "a park under a latch or in a commit window");
        let bell = self.registration().1;
        if bell.take_permit() {
            return Woken::ByPeer;
        }
        if thread::panicking() {
            // A fiber that unwinds only releases; should it wait all the same, the thread waits with it.
            return Native::park_until(until.unwrap_or(0));
        }
        self.until.set(until.unwrap_or(Ticks::MAX));
        self.holds.set(holds);
        self.report(Said::Park);
        self.woken.get()
    }

    /// Takes the permit that a waker has left.
    fn take_permit(&self) -> bool {
        self.registered.borrow().as_ref().is_some_and(|(_, bell)| bell.take_permit())
    }
}

impl Group {
    fn new(joined: Option<Joined>, bell: GroupBell) -> Self {
        Self {
            leader: Cell::new(ptr::null_mut()),
            turns: Cell::new(0),
            alone: Cell::new(false),
            limit: Cell::new(0),
            crowded: Cell::new(false),
            row: Cell::new(0),
            due: Cell::new(Ticks::MAX),
            left: Cell::new(1),
            stride: Cell::new(1),
            looked: Cell::new(0),
            bell: Arc::new(bell),
            joined,
        }
    }

    #[inline]
    fn has_new_limit(&self) -> bool {
        self.joined.as_ref().is_some_and(|joined| joined.limit() != self.limit.get())
    }

    /// Whether the time of one that sleeps has come.
    fn is_due(&self) -> bool {
        self.due.get() < Ticks::MAX && self.due.get() <= Native::now()
    }

    #[cold]
    #[inline(never)]
    fn look_at_clock(&self, joined: &Joined) {
        let now = Native::now();
        joined.look(now);
        let stride = self.stride.get();
        let passed = now.saturating_sub(self.looked.replace(now)).max(1);
        let wanted = (Ticks::from(stride) * STRIDE / passed).min(Ticks::from(stride) * 4);
        self.stride.set((wanted as u32).clamp(1, STRIDE_MAX));
        self.left.set(self.stride.get());
    }
}

/// The first and only call on a fiber's stack.
extern "sysv64" fn begin(fiber: *const ()) -> ! {
    // SAFETY: prepared by `interleave` with the fiber itself, which outlives its stack.
    let fiber = unsafe { &*fiber.cast::<Fiber>() };
    if let Some(body) = fiber.body.take() {
        // It catches its own panics.
        body();
    }
    fiber.report(Said::Over);
    unreachable!("nobody goes on with a fiber that is over")
}

/// The leader's part.
struct Leader<'a> {
    group: &'a Group,
    fibers: &'a [Fiber],
    /// Fibers that can run, in the order of their turns.
    round: Vec<&'a Fiber>,
    parked: Parked,
    /// Scratch: fibers that were woken.
    woken: Vec<u32>,
    /// Fibers that wait to be admitted, those first that run a transaction again.
    gate: VecDeque<&'a Fiber>,
    /// When the turn began of those in the round.
    turn: Ticks,
    /// The one in the round that runs next.
    place: usize,
    /// How the thread sleeps while no fiber can run; `None`: until one is woken.
    idle: Option<&'a dyn Idle>,
}

impl<'a> Leader<'a> {
    /// Lets the fibers run until all are over.
    fn run(&mut self) {
        loop {
            self.fill();
            if self.round.is_empty() {
                return;
            }
            self.link();
            self.place %= self.round.len();
            let fiber = self.resume(self.round[self.place]);
            self.place = self.place_of(fiber);
            match fiber.said.get() {
                Said::Look => self.place += 1,
                Said::Between => {
                    self.wake();
                    if self.steps_aside() {
                        self.round.remove(self.place_of(fiber));
                        let urgent = self.gate.iter().take_while(|it| it.again.get()).count();
                        let behind = if fiber.again.get() { urgent } else { self.gate.len() };
                        self.gate.insert(behind, fiber);
                    }
                }
                Said::Park => {
                    fiber.slept.set(if self.group.joined.is_some() { Native::now() } else { 0 });
                    self.round.remove(self.place);
                    self.parked.add(fiber.index, fiber.until.get());
                }
                Said::Over => {
                    self.round.remove(self.place);
                    if let Some((worker, _)) = fiber.registered.take() {
                        sleepers::leave(worker);
                    }
                }
            }
        }
    }

    /// Where a fiber stands in the round.
    fn place_of(&self, fiber: &Fiber) -> usize {
        self.round.iter().position(|&it| ptr::eq(it, fiber)).unwrap_or(0)
    }

    /// Lets `fiber` run, and those after it, until one of them comes back: that one.
    fn resume<'m>(&self, fiber: &Fiber) -> &'m Fiber {
        RUNNING.set(fiber);
        AWAITING.set(fiber.awaiting.get());
        // SAFETY: the fiber lies suspended on its stack, on this thread.
        unsafe { switch::switch(self.group.leader.as_ptr(), fiber.left.get()) };
        AWAITING.set(ptr::null());
        // SAFETY: a fiber came back, and it lives as long as the group.
        unsafe { &*RUNNING.replace(ptr::null()) }
    }

    /// Puts the round into a ring, and tells its fibers when to come back.
    fn link(&mut self) {
        let group = self.group;
        let after = self.round.iter().cycle().skip(1);
        self.round.iter().zip(after).for_each(|(fiber, next)| fiber.next.set(*next));
        group.alone.set(self.round.len() == 1 && self.parked.is_empty());
        self.round.iter().for_each(|fiber| _ = fiber.aim());
        // With everybody in the round there is nobody to look for.
        group.turns.set(if self.parked.is_empty() { u32::MAX } else { TURNS_PER_LOOK });
        group.due.set(self.parked.first_time());
        group.crowded.set(self.in_flight() > group.limit.get());
        let asks = group.crowded.get() || group.due.get() < Ticks::MAX || self.is_urgent();
        if asks || group.row.get() == 0 {
            group.row.set(if asks { 0 } else { ROW });
        }
    }

    /// Fibers that keep others at the gate.
    fn in_flight(&self) -> usize {
        // Where there is no limit nobody asks who holds a place.
        let holders = if self.group.joined.is_some() { self.holders().count() } else { 0 };
        self.round.len() + holders
    }

    /// Fibers that sleep and keep their places.
    fn holders(&self) -> impl Iterator<Item = &Fiber> {
        let parked = self.parked.iter().map(|at| &self.fibers[at as usize]);
        let mut asleep = parked.filter(|it| it.holds.get()).peekable();
        let now = if asleep.peek().is_some() { Native::now() } else { 0 };
        asleep.filter(move |fiber| now < fiber.slept.get() + PLACE_KEPT)
    }

    /// Whether the first at the gate has a transaction in hand.
    fn is_urgent(&self) -> bool {
        self.gate.front().is_some_and(|fiber| fiber.again.get())
    }

    /// Whether a fiber of the round that asks makes room for others.
    fn steps_aside(&mut self) -> bool {
        self.take_limit();
        if self.in_flight() > self.group.limit.get() || self.is_urgent() {
            return true;
        }
        let now = Native::now();
        let over = self.group.row.get() == 0 && now.saturating_sub(self.turn) >= TURN;
        self.turn = if over { now } else { self.turn };
        over && !self.gate.is_empty()
    }

    fn take_limit(&self) {
        let limit = self.group.joined.as_ref().map_or(usize::MAX, Joined::limit);
        self.group.limit.set(limit);
    }

    /// Takes into the round the fibers that were woken, whose time has come, and for which there is room; sleeps
    /// while none can run.
    fn fill(&mut self) {
        self.take_limit();
        loop {
            let due = self.wake();
            while !self.gate.is_empty() && self.in_flight() < self.group.limit.get() {
                if let Some(fiber) = self.gate.pop_front() {
                    self.line_up(fiber);
                }
            }
            if !self.round.is_empty() || self.parked.is_empty() {
                return;
            }
            self.sleep(due);
        }
    }

    /// Takes a fiber into the round as the last whose turn comes, behind those whose places have passed.
    fn line_up(&mut self, fiber: &'a Fiber) {
        self.round.insert(self.place, fiber);
        self.place += 1;
    }

    /// Takes back into the round the fibers that were woken or whose time has come. Returns when the next one's
    /// will. One that was woken in the middle of a transaction runs next: it holds what others wait for.
    fn wake(&mut self) -> Ticks {
        self.group.bell.hush(&mut self.woken);
        self.woken.reverse();
        let mut urgent = 0;
        while let Some(index) = self.woken.pop() {
            let fiber = &self.fibers[index as usize];
            // One that is awake has taken its permit, or will when it is about to sleep.
            if self.parked.contains(index) && fiber.take_permit() {
                self.parked.remove(index);
                fiber.woken.set(Woken::ByPeer);
                if fiber.holds.get() {
                    self.round.insert(self.place + urgent, fiber);
                    urgent += 1;
                } else {
                    self.line_up(fiber);
                }
            }
        }
        if self.parked.first_time() < Ticks::MAX {
            let now = Native::now();
            while let Some(index) = self.parked.take_due(now) {
                self.fibers[index as usize].woken.set(Woken::ByTime);
                self.line_up(&self.fibers[index as usize]);
            }
        }
        self.parked.first_time()
    }

    /// Sleeps until somebody is woken, at most until the first one's time has come, or one's place is free.
    fn sleep(&self, due: Ticks) {
        let begun = Native::now();
        let Some(joined) = &self.group.joined else {
            return self.sleep_until(due, begun);
        };
        let freed = self.holders().map(|fiber| fiber.slept.get() + PLACE_KEPT);
        let due = freed.filter(|_| !self.gate.is_empty()).fold(due, Ticks::min);
        let idle = !self.parked.iter().any(|at| self.fibers[at as usize].holds.get());
        self.sleep_until(due, begun);
        if idle {
            joined.idle(Native::now().saturating_sub(begun));
        }
    }

    fn sleep_until(&self, due: Ticks, now: Ticks) {
        let at_most = (due < Ticks::MAX).then(|| Duration::from_nanos(due.saturating_sub(now)));
        match (self.idle, at_most) {
            (Some(idle), _) => idle.sleep(at_most),
            (None, None) => thread::park(),
            (None, Some(_)) if due.saturating_sub(now) < AWAKE => Native::yield_now(),
            (None, Some(at_most)) => thread::park_timeout(at_most),
        }
    }
}

/// Runs `body` for each number below `fibers` on the calling thread, in turns: see the module's head.
/// Returns what each returned, or the panic that ended it, which leaves the others alone.
///
/// Called by a fiber, it runs the bodies one after the other as part of that fiber: what they wait
/// for may be its siblings'.
///
/// A body that runs for long without touching the database, or blocks the thread, keeps its siblings
/// waiting. One that uses more than its stack of 512 KiB ends the process with a line that says so.
///
/// # Errors
/// [`NoRoom`] where the system has none for the stacks: then nothing was run.
///
/// # Panics
/// When `fibers` is not in 1..=[`MEMBERS_MAX`].
pub fn interleave<T>(
    fibers: usize,
    body: impl Fn(usize) -> T,
) -> core::result::Result<Vec<Result<T>>, NoRoom> {
    run(fibers, None, None, body)
}

/// As [`interleave`], for fibers that serve what comes from outside: while none of them can run, the thread sleeps by
/// `idle` and not in a park of its own. A fiber waits for what `idle` brings as it waits for a peer: it parks, and
/// `idle` wakes it ([`Machine::unpark`]).
///
/// # Errors
/// As for [`interleave`].
///
/// # Panics
/// As for [`interleave`]; when a fiber calls it.
pub fn interleave_idle<T>(
    fibers: usize,
    idle: &dyn Idle,
    body: impl Fn(usize) -> T,
) -> core::result::Result<Vec<Result<T>>, NoRoom> {
    assert!(running().is_none(), "a fiber cannot have fibers that sleep in a way of their own");
    run(fibers, None, Some(idle), body)
}

impl Pace {
    /// As [`interleave`], but with only as many fibers in flight as pay: the others wait
    /// where they say that they have nothing in hand ([`Machine::between`]), or begin when there is room for
    /// them. While all that are in flight sleep, more are let in.
    ///
    /// # Errors
    /// As for [`interleave`].
    ///
    /// # Panics
    /// As for [`interleave`].
    pub fn interleave<T>(
        &self,
        fibers: usize,
        body: impl Fn(usize) -> T,
    ) -> core::result::Result<Vec<Result<T>>, NoRoom> {
        run(fibers, Some(self), None, body)
    }
}

/// As [`interleave`], with as many in flight as `pace` says, if there is one; the thread sleeps by `idle`.
fn run<T>(
    fibers: usize,
    pace: Option<&Pace>,
    idle: Option<&dyn Idle>,
    body: impl Fn(usize) -> T,
) -> core::result::Result<Vec<Result<T>>, NoRoom> {
    assert!((1..=MEMBERS_MAX).contains(&fibers), "{fibers} fibers: 1 to {MEMBERS_MAX}");
    let run = |index: usize| catch_unwind(AssertUnwindSafe(|| body(index)));
    if idle.is_none() && (fibers == 1 || running().is_some()) {
        return Ok((0..fibers).map(run).collect());
    }
    overflow::report_from_now_on();
    let results: Vec<Cell<Option<Result<T>>>> = (0..fibers).map(|_| Cell::new(None)).collect();
    let waker = idle.map_or_else(GroupBell::waker_of_thread, Idle::waker);
    let group = Group::new(pace.map(|pace| pace.join(fibers)), GroupBell::new(waker));
    let fibers: core::result::Result<Box<[Fiber]>, NoRoom> = (0..fibers)
        .map(|index| {
            let (run, result) = (&run, &results[index]);
            let body: Box<dyn FnOnce() + '_> = Box::new(move || result.set(Some(run(index))));
            // SAFETY: what it borrows outlives this function, which every fiber is over before.
            let body: Body = unsafe { core::mem::transmute(body) };
            Ok(Fiber::new(&group, index as u32, FiberStack::obtain(index)?, body))
        })
        .collect();
    let fibers = fibers?;
    let _watched = overflow::watch(fibers.iter().map(|fiber| fiber.stack.guard()).collect());
    for fiber in &fibers {
        // SAFETY: the stack is fresh, and `begin` never returns.
        let left =
            unsafe { switch::prepare(fiber.stack.base(), begin, (&raw const *fiber).cast()) };
        fiber.left.set(left);
    }
    // Fibers that share a pace begin when there is room.
    let all = fibers.iter();
    let (round, gate) = match group.joined {
        None => (all.collect(), VecDeque::new()),
        Some(_) => (Vec::new(), all.collect()),
    };
    let parked = Parked::new(fibers.len());
    let woken = Vec::new();
    Leader { group: &group, fibers: &fibers, round, parked, woken, gate, turn: 0, place: 0, idle }
        .run();
    drop(fibers);
    Ok(results.into_iter().map(|result| result.into_inner().expect("it is over")).collect())
}
