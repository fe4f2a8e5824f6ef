//! The loop of a thread that serves connections.
//!
//! Its members (fibers, see [`chiliad_machine::interleave_idle`]) run what is ready, one connection each at a time. A member whose
//! statement waits, for a lock or for memory, keeps its connection; others go on, so a statement that waits holds up
//! nobody, and whoever holds a lock can be heard. When no member can run, the thread sleeps in the poll of its sockets.
//!
//! ```text
//! poll --> ready connections --> a member: read, run, write --> waits for its client: poll
//!  ^                                     |
//!  +--- durable epochs, jobs, mail       +--> waits in a statement: another member takes the next connection
//! ```

mod moving;

use super::channel::Channel;
use super::connection::{After, Connection};
use super::listener::Listener;
use super::mailbox::{Mail, Mailbox};
use super::nearness::Nearness;
use crate::jobs::JobResult;
use crate::shared::Shared;
use crate::turns;
use chiliad_machine::{
    Idle, Interleaved, MEMBERS_MAX, Machine, WorkerId, interleave_idle, thread_switches,
};
use mio::{Events, Poll, Token};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

/// The token of the waker; listeners and connections have those from the next one on.
const WAKER: Token = Token(0);
/// Tokens of listeners.
const LISTENERS: usize = 64;
const FIRST_CONNECTION: usize = 1 + LISTENERS;

/// How often connections that take too long are looked for.
const ROUND: Duration = Duration::from_secs(1);
/// How often a member looks at the sockets while others wait awake.
const LOOK: Duration = Duration::from_micros(500);
/// How often a statement that takes long lets others have a turn.
const GIVES_WAY: Duration = Duration::from_millis(1);
/// How long the thread looks for something to do before it sleeps: to wake a core takes longer than most statements.
const SPIN: Duration = Duration::from_micros(50);

/// The loop of one thread.
pub(crate) struct EventLoop {
    server: Arc<Shared>,
    mailbox: Arc<Mailbox>,
    waker: Waker,
    /// The mailboxes of all threads, this one's among them.
    all: Vec<Arc<Mailbox>>,
    /// Where in `all` the thread is that is given a connection next.
    next_to: Cell<usize>,
    /// Which connections would be nearer to their clients on other threads.
    nearness: Nearness,
    listeners: RefCell<Vec<Listener>>,
    poll: RefCell<Poll>,
    events: RefCell<Events>,
    slots: RefCell<Vec<Option<Rc<Slot>>>>,
    free: RefCell<Vec<usize>>,
    /// Connections that have something to do.
    ready: RefCell<VecDeque<usize>>,
    /// Members with nothing to do, by number and by whom to wake.
    resting: RefCell<Vec<(usize, WorkerId)>>,
    /// Which of all members are among them.
    rests: Vec<Cell<bool>>,
    /// Members in a connection's turn.
    busy: Cell<usize>,
    /// A member looks at the sockets now and then, since others may wait awake.
    looks: Cell<bool>,
    /// Connections that wait for a commit to become durable.
    gated: RefCell<Vec<usize>>,
    /// The newest epoch that the thread is woken for, and that was asked to end.
    awaited: Cell<u64>,
    hurried: Cell<u64>,
    /// When a statement that takes long looks at the sockets next.
    next_look: Cell<Instant>,
    /// When the next look for connections that take too long is due.
    next_round: Cell<Instant>,
    /// Since when the server goes down.
    draining: Cell<Option<Instant>>,
    over: Cell<bool>,
}

/// A connection's place in a loop.
struct Slot {
    connection: RefCell<Connection>,
    /// The number of the job that its session waits for.
    job: Cell<Option<u64>>,
    is_from_here: bool,
    /// Nothing has been told of it here yet.
    is_new: Cell<bool>,
    /// It is among those that are ready.
    queued: Cell<bool>,
    /// A member is in its turn.
    running: Cell<bool>,
    /// What the system has told meanwhile.
    readable: Cell<bool>,
    writable: Cell<bool>,
    hung_up: Cell<bool>,
    /// How that job has ended meanwhile.
    result: RefCell<Option<JobResult>>,
}

impl EventLoop {
    /// A loop and its mailbox.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new(server: Arc<Shared>) -> io::Result<Self> {
        let poll = Poll::new()?;
        let mailbox = Mailbox::new(mio::Waker::new(poll.registry(), WAKER)?);
        Ok(Self {
            server,
            waker: mailbox.as_waker(),
            mailbox,
            all: Vec::new(),
            next_to: Cell::new(0),
            nearness: Nearness::new(),
            listeners: RefCell::default(),
            poll: RefCell::new(poll),
            events: RefCell::new(Events::with_capacity(256)),
            slots: RefCell::default(),
            free: RefCell::default(),
            ready: RefCell::default(),
            resting: RefCell::default(),
            rests: vec![Cell::new(false); MEMBERS_MAX],
            busy: Cell::new(0),
            looks: Cell::new(false),
            gated: RefCell::default(),
            awaited: Cell::new(0),
            hurried: Cell::new(0),
            next_look: Cell::new(Instant::now()),
            next_round: Cell::new(Instant::now()),
            draining: Cell::new(None),
            over: Cell::new(false),
        })
    }

    pub fn mailbox(&self) -> Arc<Mailbox> {
        Arc::clone(&self.mailbox)
    }

    /// Makes it one of these loops, and the one that accepts what comes to these listeners.
    ///
    /// # Errors
    /// Those of the system.
    pub fn join(&mut self, all: Vec<Arc<Mailbox>>, mut listeners: Vec<Listener>) -> io::Result<()> {
        debug_assert!(listeners.len() <= LISTENERS, "each has a token");
        for (at, listener) in listeners.iter_mut().enumerate() {
            listener.register(self.poll.borrow().registry(), Token(1 + at))?;
        }
        self.next_to.set(all.iter().position(|it| Arc::ptr_eq(it, &self.mailbox)).unwrap_or(0));
        (self.all, self.listeners) = (all, RefCell::new(listeners));
        Ok(())
    }

    /// Serves until the server has gone down.
    ///
    /// # Errors
    /// The system has no room for the members' stacks.
    pub fn run(self) -> Result<(), chiliad_machine::NoRoom> {
        let event_loop = Rc::new(self);
        let gives_way = Rc::clone(&event_loop);
        turns::set(Some(Rc::new(move || gives_way.give_way())));
        let served = interleave_idle(MEMBERS_MAX, &*event_loop, |number| event_loop.member(number));
        turns::set(None);
        served.map(|_| ())
    }

    /// A statement takes long.
    fn give_way(&self) {
        let now = Instant::now();
        if now < self.next_look.get() {
            return;
        }
        self.next_look.set(now + GIVES_WAY);
        self.look(Some(Duration::ZERO));
        if self.has_work() {
            self.wake_member();
        }
        Interleaved::yield_now();
    }

    fn member(&self, number: usize) {
        while !self.over.get() {
            let next = self.ready.borrow_mut().pop_front();
            match next {
                Some(at) => {
                    // The statement may wait, and this member may be the one that has looked at the sockets: another one
                    // takes its place, since waiting statements can keep the thread from ever sleeping in the poll.
                    if self.busy.get() > 0 && !self.looks.get() {
                        self.wake_member();
                    }
                    self.serve(at);
                }
                None => {
                    self.end_round();
                    self.rest(number);
                }
            }
        }
        // The next one sees it, too.
        self.wake_member();
    }

    /// Waits until there is something to do.
    fn rest(&self, number: usize) {
        if self.busy.get() == 0 && !self.looks.get() {
            // No other member has anything in hand for which it could be woken, or is to look at the sockets at its time.
            // So the thread may sleep here, without a switch to its own stack and another one to a member.
            return self.await_work(None);
        }
        self.rests[number].set(true);
        self.resting.borrow_mut().push((number, Interleaved::worker()));
        if self.looks.replace(true) {
            Interleaved::park();
        } else {
            // One that waits awake leaves the thread no time to sleep in the poll.
            _ = Interleaved::park_until(Interleaved::now() + Interleaved::ticks(LOOK));
            self.looks.set(false);
            self.look(Some(Duration::ZERO));
        }
        // Nobody has called it: its time has come.
        if self.rests[number].take() {
            self.resting.borrow_mut().retain(|it| it.0 != number);
        }
    }

    fn wake_member(&self) {
        if let Some((number, member)) = self.resting.borrow_mut().pop() {
            self.rests[number].set(false);
            Interleaved::unpark(member);
        }
    }

    /// One turn of a connection.
    fn serve(&self, at: usize) {
        let slot = self.slots.borrow().get(at).cloned().flatten();
        let Some(slot) = slot else { return };
        slot.queued.set(false);
        if slot.running.replace(true) {
            // Told again while it runs: it looks once more afterwards.
            return;
        }
        self.busy.set(self.busy.get() + 1);
        let (after, again) = {
            let mut connection = slot.connection.borrow_mut();
            connection.told(slot.readable.take(), slot.writable.take(), slot.hung_up.get());
            if let Some(result) = slot.result.take() {
                connection.job_done(result);
            }
            let mut after = connection.serve();
            let token = Token(FIRST_CONNECTION + at);
            if connection.watch(self.poll.borrow().registry(), token).is_err() {
                after = After::Over;
            }
            slot.job.set(connection.job());
            (after, self.await_commit(at, &mut connection))
        };
        self.busy.set(self.busy.get() - 1);
        slot.running.set(false);
        match after {
            After::Over => self.remove(at),
            After::Yields => self.enqueue(at, &slot),
            After::Waits => {
                let told = slot.readable.get() || slot.writable.get();
                if again || told || slot.result.borrow().is_some() {
                    self.enqueue(at, &slot);
                } else if self.server.restless && self.all.len() > 1 && !slot.is_new.take() {
                    drop(slot);
                    self.choose_next();
                    self.give_away(at);
                }
            }
        }
    }

    fn enqueue(&self, at: usize, slot: &Slot) {
        if !slot.queued.replace(true) {
            self.ready.borrow_mut().push_back(at);
        }
    }

    /// Has the thread woken when the commit is durable that a connection waits for: once for each epoch. Whether it is
    /// by now.
    fn await_commit(&self, at: usize, connection: &mut Connection) -> bool {
        let Some(pending) = connection.gate() else { return false };
        let mut gated = self.gated.borrow_mut();
        if !gated.contains(&at) {
            gated.push(at);
        }
        if pending.epoch() > self.awaited.get() {
            self.awaited.set(pending.epoch());
            return !matches!(pending.wake_when_durable(&self.waker), Ok(false));
        }
        // The waker of its epoch may have been called before.
        !matches!(pending.is_durable(), Ok(false))
    }

    fn remove(&self, at: usize) {
        let slot = self.slots.borrow_mut().get_mut(at).and_then(Option::take);
        if let Some(slot) = slot {
            slot.connection.borrow_mut().deregister(self.poll.borrow().registry());
            self.free.borrow_mut().push(at);
            self.mailbox.remove_connection();
        }
        self.gated.borrow_mut().retain(|it| *it != at);
    }

    fn add(&self, stream: super::stream::Stream, origin: crate::session::Origin) {
        self.adopt(Connection::new(Arc::clone(&self.server), Channel::new(stream), origin));
    }

    /// Has a connection, to which nothing has been told here yet.
    fn adopt(&self, mut connection: Connection) {
        let at = self.free.borrow_mut().pop().unwrap_or_else(|| {
            self.slots.borrow_mut().push(None);
            self.slots.borrow().len() - 1
        });
        let token = Token(FIRST_CONNECTION + at);
        if connection.register(self.poll.borrow().registry(), token).is_err() {
            // The system has no room for it: its client sees it closed.
            self.free.borrow_mut().push(at);
            self.mailbox.remove_connection();
            return;
        }
        let slot = Rc::new(Slot {
            is_from_here: connection.is_from_here(),
            is_new: Cell::new(true),
            connection: RefCell::new(connection),
            queued: Cell::new(false),
            running: Cell::new(false),
            readable: Cell::new(true),
            writable: Cell::new(true),
            hung_up: Cell::new(false),
            job: Cell::new(None),
            result: RefCell::default(),
        });
        self.slots.borrow_mut()[at] = Some(Rc::clone(&slot));
        self.enqueue(at, &slot);
    }

    /// Looks at sockets, mail and commits, for at most this long, and at the clock, whose time it returns.
    fn look(&self, at_most: Option<Duration>) -> Instant {
        let polled = self.poll.borrow_mut().poll(&mut self.events.borrow_mut(), at_most);
        let now = Instant::now();
        if polled.is_err() {
            // Interrupted by a signal.
            return now;
        }
        let far = if self.all.len() > 1 { self.nearness.look(thread_switches) } else { None };
        let mut accepts = false;
        let mut mail = false;
        for event in &*self.events.borrow() {
            match event.token() {
                WAKER => mail = true,
                Token(listener) if listener < FIRST_CONNECTION => accepts = true,
                Token(token) => {
                    let at = token - FIRST_CONNECTION;
                    if let Some(Some(slot)) = self.slots.borrow().get(at) {
                        if let Some(far) = far.filter(|_| slot.is_from_here) {
                            self.nearness.see(at, far);
                        }
                        slot.readable.set(slot.readable.get() | event.is_readable());
                        slot.writable.set(slot.writable.get() | event.is_writable());
                        slot.hung_up.set(slot.hung_up.get() | event.is_read_closed());
                        if !slot.running.get() {
                            self.enqueue(at, slot);
                        }
                    }
                }
            }
        }
        if accepts {
            self.accept();
        }
        if mail {
            self.take_mail();
            self.look_at_commits();
        }
        self.look_at_times(now);
        now
    }

    fn accept(&self) {
        for listener in &*self.listeners.borrow() {
            // Until the system has no more; also where it cannot give one now.
            while let Ok((stream, origin)) = listener.accept() {
                let Some(fewest) = self.all.iter().min_by_key(|it| it.connections()) else {
                    return;
                };
                fewest.add_connection();
                match Arc::ptr_eq(fewest, &self.mailbox) {
                    true => self.add(stream, origin),
                    // A thread that goes down serves nobody new.
                    false => _ = fewest.send(Mail::Connection(stream, origin)),
                }
            }
        }
    }

    fn take_mail(&self) {
        for mail in self.mailbox.take() {
            match mail {
                Mail::Connection(stream, origin) => self.add(stream, origin),
                Mail::Moved(connection) => self.adopt_moved(*connection),
                Mail::JobDone((job, result)) => {
                    let slots = self.slots.borrow();
                    let mut slots = slots.iter().enumerate();
                    let of = |slot: &Rc<Slot>| slot.job.get() == Some(job);
                    let found =
                        slots.find_map(|(at, slot)| Some((at, slot.as_ref().filter(|it| of(it))?)));
                    if let Some((at, slot)) = found {
                        *slot.result.borrow_mut() = Some(result);
                        self.enqueue(at, slot);
                    }
                }
                Mail::Drain => {
                    self.draining.set(self.draining.get().or_else(|| Some(Instant::now())));
                    self.listeners.borrow_mut().clear();
                    self.next_round.set(Instant::now());
                }
            }
        }
    }

    /// Gives connections a turn whose commits are durable by now.
    fn look_at_commits(&self) {
        let slots = self.slots.borrow();
        self.gated.borrow_mut().retain(|&at| {
            let Some(Some(slot)) = slots.get(at) else { return false };
            let Ok(mut connection) = slot.connection.try_borrow_mut() else { return true };
            let Some(pending) = connection.gate() else { return false };
            let waits = matches!(pending.is_durable(), Ok(false));
            if !waits {
                self.enqueue(at, slot);
            }
            waits
        });
    }

    /// Once in a while: ends connections that take too long, and those that may go while the server goes down.
    fn look_at_times(&self, now: Instant) {
        if now < self.next_round.get() {
            return;
        }
        // Those that the system had no room for are accepted now, perhaps.
        self.accept();
        let round = if self.draining.get().is_some() { Duration::from_millis(20) } else { ROUND };
        self.next_round.set(now + round);
        let waited = self.draining.get().map(|since| now.duration_since(since));
        if waited.is_some_and(|waited| waited > self.server.limits.drain_for) {
            // Statements that are still running, or wait for a lock, keep their connections from being ended.
            self.server.sessions.cancel_all();
        }
        let slots = self.slots.borrow().clone();
        let mut left = 0;
        for (at, slot) in slots.iter().enumerate() {
            let Some(slot) = slot else { continue };
            left += 1;
            let Ok(mut connection) = slot.connection.try_borrow_mut() else { continue };
            if waited.is_some_and(|waited| connection.may_be_cut(waited)) {
                drop(connection);
                self.remove(at);
                continue;
            }
            let ends = connection.end_if_overdue(now);
            if ends | waited.is_some_and(|waited| connection.drain(waited)) {
                self.enqueue(at, slot);
            }
        }
        if self.draining.get().is_some() && left == 0 && self.mailbox.close() {
            self.over.set(true);
        }
    }

    /// Asks that the epochs end that connections wait for.
    fn hurry(&self) {
        if self.awaited.get() <= self.hurried.get() {
            return;
        }
        let slots = self.slots.borrow();
        for &at in &*self.gated.borrow() {
            let Some(Some(slot)) = slots.get(at) else { continue };
            let Ok(mut connection) = slot.connection.try_borrow_mut() else { continue };
            if let Some(pending) = connection.gate().filter(|it| it.epoch() > self.hurried.get()) {
                self.hurried.set(pending.epoch());
                pending.hurry();
            }
        }
    }

    /// Sleeps until a member has something to do, and at most for this time.
    fn await_work(&self, at_most: Option<Duration>) {
        if !self.has_work() {
            // Commits of one round share a write to the disk.
            self.hurry();
            let begun = self.look(Some(Duration::ZERO));
            let mut now = begun;
            while !self.has_work() && now.duration_since(begun) < SPIN {
                // Where the core is wanted by a client, that is what brings something to do.
                std::thread::yield_now();
                now = self.look(Some(Duration::ZERO));
            }
            if !self.has_work() {
                let round = self.next_round.get().saturating_duration_since(now);
                self.look(Some(at_most.map_or(round, |most| most.min(round))));
            }
        }
    }

    /// Whether a member has something to do.
    fn has_work(&self) -> bool {
        !self.ready.borrow().is_empty() || self.over.get()
    }
}

impl Idle for EventLoop {
    fn sleep(&self, at_most: Option<Duration>) {
        self.await_work(at_most);
        if self.has_work() {
            self.wake_member();
        }
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }
}
