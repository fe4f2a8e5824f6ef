//! The members of one thread and whose turn it is.
//!
//! ```text
//!            +--> member --> member --> member --+   await_line, pause: the next in the round runs
//!            |      |                            |   park: out of the round, until it is woken or its
//!            |      | park, return, now and then |         time has come
//!            |      v                            |   return, panic: gone
//!            +--- leader <-----------------------+
//! ```
//!
//! The leader is the thread's own stack, in [`interleave`]. Members hand on to each other without it;
//! it keeps the round, wakes, and sleeps when nobody can run.

use super::overflow;
use super::pace::{Pace, Way};
use super::stack::MemberStack;
use super::switch::{self, StackPointer};
use crate::sleepers::{self, MemberBell};
use crate::{Machine, Native, NoRoom, Ticks, Woken, WorkerId};
use core::cell::{Cell, RefCell};
use core::ptr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, Result, Thread};
use std::time::Duration;

/// The greatest number of members that a thread can have.
pub const MEMBERS_MAX: usize = 256;

/// Turns after which the leader looks whether somebody is to be woken, while there is somebody.
const TURNS_PER_LOOK: u32 = 64;

thread_local! {
    /// The member that runs; null on the thread's own stack.
    static RUNNING: Cell<*const Member> = const { Cell::new(ptr::null()) };
    /// The same where it hands on while it waits for memory; null where it keeps its turn.
    static AWAITING: Cell<*const Member> = const { Cell::new(ptr::null()) };
    /// Sections that the running member, or the thread itself, is in. Nobody switches in one, so it is
    /// the count of whoever runs.
    static SECTIONS: Cell<u32> = const { Cell::new(0) };
}

/// A member, with all that its siblings need to hand on to it.
#[repr(align(64))]
struct Member {
    /// Where its stack was left.
    left: Cell<StackPointer>,
    /// Who runs next: itself, if it is alone in the round.
    next: Cell<*const Member>,
    /// Itself, where it hands on while it waits for memory; null where it keeps its turn.
    awaiting: Cell<*const Member>,
    /// It keeps its turn while it waits for memory until its transaction is over.
    keeps: Cell<bool>,
    crew: *const Crew,
    /// Why it went back to the leader.
    said: Cell<Said>,
    /// Its number as a worker and the bell to ring for it, once it was asked for.
    registered: RefCell<Option<(WorkerId, Arc<MemberBell>)>>,
    until: Cell<Ticks>,
    woken: Cell<Woken>,
    stack: MemberStack,
    body: Cell<Option<Body>>,
}

/// What a member runs, its borrows forgotten: see [`interleave`].
type Body = Box<dyn FnOnce()>;

/// Why a member went back to the leader.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    /// It is time to look who is to be woken.
    Look,
    Park,
    Over,
}

/// What a thread's members share.
struct Crew {
    /// Where the leader's stack was left.
    leader: Cell<StackPointer>,
    /// Turns until a look at who is to be woken.
    turns: Cell<u32>,
    pace: RefCell<Pace>,
    members: Cell<*const [Member]>,
    /// The thread, to wake it when a member is.
    thread: Thread,
}

/// The running member; `None` on a thread's own stack.
#[inline]
fn running<'a>() -> Option<&'a Member> {
    // SAFETY: set while a member runs, which the leader's frame outlives.
    unsafe { RUNNING.get().as_ref() }
}

/// The running member's number as a worker.
pub(super) fn worker() -> Option<WorkerId> {
    running().map(Member::number)
}

/// Puts the running member to sleep.
pub(super) fn park(until: Option<Ticks>) -> Option<Woken> {
    running().map(|member| member.park(until))
}

/// Asks for memory, and lets a sibling run until it has come.
#[inline(always)]
pub(super) fn await_line(start: *const u8, lines: u32) {
    // SAFETY: as in `running`.
    if let Some(member) = unsafe { AWAITING.get().as_ref() } {
        Native::prefetch(start, lines);
        member.hand_on();
    }
}

/// Lets a sibling run, unless the running member keeps its turn: siblings are then between transactions,
/// most likely, and whoever is waited for is on another thread. Whether one ran.
#[inline]
pub(super) fn give_way() -> bool {
    // SAFETY: as in `running`.
    unsafe { AWAITING.get().as_ref() }.is_some_and(Member::hand_on)
}

/// Lets a sibling run; whether there was any.
#[inline]
pub(super) fn hand_on() -> bool {
    running().is_some_and(Member::hand_on)
}

/// Lets the running member keep its turn while it waits for memory, or not.
#[inline]
pub(super) fn keep_turn(keep: bool) {
    // Every transaction ends with a call of this, and few have kept their turn.
    if let Some(member) = running().filter(|member| member.keeps.get() != keep) {
        member.keeps.set(keep);
        AWAITING.set(member.aim(member.crew().pace.borrow().way()));
    }
}

/// The running member has finished a transaction.
#[inline]
pub(super) fn finished() {
    if let Some(member) = running() {
        member.finished();
    }
}

/// The running member has nothing in hand: its turn may end here.
#[inline]
pub(super) fn between() {
    if let Some(member) = running() {
        let ends = member.crew().pace.borrow_mut().turn_ends();
        if ends {
            member.hand_on();
        }
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

impl Member {
    fn crew(&self) -> &Crew {
        // SAFETY: the crew is in the leader's frame, which outlives the members.
        unsafe { &*self.crew }
    }

    /// The running member's turn ends, if anybody else can run. Whether anybody could.
    #[inline(always)]
    fn hand_on(&self) -> bool {
        debug_assert!(SECTIONS.get() == 0, "a switch under a latch or in a commit window");
        let turns = &self.crew().turns;
        turns.set(turns.get().wrapping_sub(1));
        if turns.get() == 0 {
            return self.look();
        }
        let next = self.next.get();
        if ptr::eq(next, self) || thread::panicking() {
            return false;
        }
        RUNNING.set(next);
        // SAFETY: whoever is in the round lives as long as the crew.
        AWAITING.set(unsafe { (*next).awaiting.get() });
        // SAFETY: whoever is in the round lies suspended on a stack of this thread, or runs.
        unsafe { switch::switch(self.left.as_ptr(), (*next).left.get()) };
        true
    }

    /// Goes to the leader, who looks who is to be woken and hands on.
    #[cold]
    fn look(&self) -> bool {
        if thread::panicking() {
            return false;
        }
        self.report(Said::Look);
        true
    }

    #[inline(never)]
    fn report(&self, what: Said) {
        self.said.set(what);
        // SAFETY: the leader lies suspended in `Leader::run` while a member runs.
        unsafe { switch::switch(self.left.as_ptr(), self.crew().leader.get()) };
    }

    /// Whether it hands on while it waits for memory, where the crew goes this way.
    fn aim(&self, way: Way) -> *const Self {
        let keeps = self.keeps.get() || way == Way::OneByOne;
        self.awaiting.set(if keeps { ptr::null() } else { self });
        self.awaiting.get()
    }

    #[inline]
    fn finished(&self) {
        let crew = self.crew();
        // SAFETY: the members live as long as their crew.
        let members = unsafe { &*crew.members.get() };
        let mut pace = crew.pace.borrow_mut();
        if pace.finished(members.len()) {
            members.iter().for_each(|member| _ = member.aim(pace.way()));
            AWAITING.set(self.awaiting.get());
        }
    }

    fn number(&self) -> WorkerId {
        let known = self.registered.borrow().as_ref().map(|registered| registered.0);
        known.unwrap_or_else(|| self.registration().0)
    }

    fn registration(&self) -> (WorkerId, Arc<MemberBell>) {
        let mut registered = self.registered.borrow_mut();
        registered.get_or_insert_with(|| sleepers::enter_member(&self.crew().thread)).clone()
    }

    /// Sleeps until it is woken or until a time.
    #[cold]
    fn park(&self, until: Option<Ticks>) -> Woken {
        debug_assert!(SECTIONS.get() == 0, "a park under a latch or in a commit window");
        let bell = self.registration().1;
        if bell.take_permit() {
            return Woken::ByPeer;
        }
        if thread::panicking() {
            // Whoever unwinds only releases; should it wait all the same, it does so by itself.
            return Native::park_until(until.unwrap_or(0));
        }
        self.until.set(until.unwrap_or(Ticks::MAX));
        self.report(Said::Park);
        self.woken.get()
    }

    /// Whether it is to run again, and why.
    fn is_due(&self, now: Ticks) -> Option<Woken> {
        let registered = self.registered.borrow();
        if registered.as_ref().is_some_and(|(_, bell)| bell.take_permit()) {
            return Some(Woken::ByPeer);
        }
        (self.until.get() <= now).then_some(Woken::ByTime)
    }
}

/// The first and only call on a member's stack.
extern "sysv64" fn begin(member: *const ()) -> ! {
    // SAFETY: prepared by `interleave` with the member itself, which outlives its stack.
    let member = unsafe { &*member.cast::<Member>() };
    if let Some(body) = member.body.take() {
        // It catches its own panics.
        body();
    }
    member.report(Said::Over);
    unreachable!("nobody goes on with a member that is over")
}

/// The leader's part.
struct Leader<'a> {
    crew: &'a Crew,
    /// Members that can run, in the order of their turns.
    round: Vec<&'a Member>,
    parked: Vec<&'a Member>,
}

impl Leader<'_> {
    /// Lets the members run until all are over.
    fn run(&mut self) {
        let mut place = 0;
        loop {
            if !self.parked.is_empty() {
                self.admit();
            }
            if self.round.is_empty() {
                return;
            }
            self.link();
            let member = self.resume(self.round[place % self.round.len()]);
            place = self.round.iter().position(|&it| ptr::eq(it, member)).unwrap_or(0);
            match member.said.get() {
                Said::Look => place += 1,
                Said::Park => self.parked.push(self.round.remove(place)),
                Said::Over => {
                    self.round.remove(place);
                    if let Some((worker, _)) = member.registered.take() {
                        sleepers::leave(worker);
                    }
                }
            }
        }
    }

    /// Lets `member` run, and those behind it, until one of them comes back: that one.
    fn resume<'m>(&self, member: &Member) -> &'m Member {
        RUNNING.set(member);
        AWAITING.set(member.awaiting.get());
        // SAFETY: the member lies suspended on its stack, on this thread.
        unsafe { switch::switch(self.crew.leader.as_ptr(), member.left.get()) };
        AWAITING.set(ptr::null());
        // SAFETY: a member came back, and it lives as long as the crew.
        unsafe { &*RUNNING.replace(ptr::null()) }
    }

    /// Puts the round into a ring.
    fn link(&self) {
        let after = self.round.iter().cycle().skip(1);
        self.round.iter().zip(after).for_each(|(member, next)| member.next.set(*next));
        // With everybody in the round there is nobody to look for.
        self.crew.turns.set(if self.parked.is_empty() { u32::MAX } else { TURNS_PER_LOOK });
    }

    /// Takes back into the round who was woken or whose time has come; sleeps while nobody can run.
    fn admit(&mut self) {
        loop {
            let due = self.parked.iter().map(|member| member.until.get()).min();
            let due = due.unwrap_or(Ticks::MAX);
            let now = if due < Ticks::MAX { Native::now() } else { 0 };
            let round = &mut self.round;
            self.parked.retain(|member| {
                let woken = member.is_due(now);
                woken.inspect(|&woken| {
                    member.woken.set(woken);
                    round.push(member);
                });
                woken.is_none()
            });
            if !self.round.is_empty() || self.parked.is_empty() {
                return;
            }
            if due == Ticks::MAX {
                thread::park();
            } else if due > now {
                thread::park_timeout(Duration::from_nanos(due - now));
            }
        }
    }
}

/// Runs `body` for each number below `members` on the calling thread, in turns: see the module's head.
/// Returns what each returned, or the panic that ended it, which leaves the others alone.
///
/// Called by a member, it runs the bodies one after the other as part of that member: what they wait
/// for may be its siblings'.
///
/// A body that runs for long without touching the database, or blocks the thread, keeps its siblings
/// waiting. One that uses more than its stack of 512 KiB ends the process with a line that says so.
///
/// # Errors
/// [`NoRoom`] where the system has none for the stacks: then nothing was run.
///
/// # Panics
/// When `members` is not in 1..=[`MEMBERS_MAX`].
pub fn interleave<T>(
    members: usize,
    body: impl Fn(usize) -> T,
) -> core::result::Result<Vec<Result<T>>, NoRoom> {
    assert!((1..=MEMBERS_MAX).contains(&members), "{members} members: 1 to {MEMBERS_MAX}");
    let run = |index: usize| catch_unwind(AssertUnwindSafe(|| body(index)));
    if members == 1 || running().is_some() {
        return Ok((0..members).map(run).collect());
    }
    overflow::report_from_now_on();
    let results: Vec<Cell<Option<Result<T>>>> = (0..members).map(|_| Cell::new(None)).collect();
    let crew = Crew {
        leader: Cell::new(ptr::null_mut()),
        turns: Cell::new(0),
        pace: RefCell::new(Pace::new()),
        members: Cell::new(ptr::slice_from_raw_parts(ptr::null(), 0)),
        thread: thread::current(),
    };
    let members: core::result::Result<Box<[Member]>, NoRoom> = (0..members)
        .map(|index| {
            let (run, result) = (&run, &results[index]);
            let body: Box<dyn FnOnce() + '_> = Box::new(move || result.set(Some(run(index))));
            // SAFETY: what it borrows outlives this function, which every member is over before.
            let body: Body = unsafe { core::mem::transmute(body) };
            Ok(Member {
                left: Cell::new(ptr::null_mut()),
                next: Cell::new(ptr::null()),
                awaiting: Cell::new(ptr::null()),
                keeps: Cell::new(false),
                crew: &raw const crew,
                said: Cell::new(Said::Look),
                registered: RefCell::new(None),
                until: Cell::new(Ticks::MAX),
                woken: Cell::new(Woken::ByPeer),
                stack: MemberStack::obtain(index)?,
                body: Cell::new(Some(body)),
            })
        })
        .collect();
    let members = members?;
    let _watched = overflow::watch(members.iter().map(|member| member.stack.guard()).collect());
    for member in &members {
        // SAFETY: the stack is fresh, and `begin` never returns.
        let left =
            unsafe { switch::prepare(member.stack.base(), begin, (&raw const *member).cast()) };
        member.left.set(left);
        member.awaiting.set(member);
    }
    crew.members.set(&raw const *members);
    Leader { crew: &crew, round: members.iter().collect(), parked: Vec::new() }.run();
    drop(members);
    Ok(results.into_iter().map(|result| result.into_inner().expect("it is over")).collect())
}
