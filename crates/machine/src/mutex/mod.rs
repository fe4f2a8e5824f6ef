//! A mutex whose kind is chosen at run time: for critical sections that many workers want at once, and
//! for measuring what that costs (Yu, 2015, 4.1.3).
//!
//! | kind | a waiter | what a change of hands costs |
//! | --- | --- | --- |
//! | `spin` | reads the word until it is free, then tries | all waiters read the line again, and try at once |
//! | `ticket` | draws a number, reads until it is served | all waiters read the line again |
//! | `mcs` | queues, reads a word of its own | one line, however many wait |
//! | `sleep` | sleeps; the holder wakes one when it leaves | a call into the system on either side |
//!
//! All of them exclude, and a waiter gets in once all others have left. `ticket` and `mcs` serve in the
//! order of arrival.
//!
//! A queue is made of nodes, one for each waiter, in the machine's memory. A node is in one queue at a
//! time: to hold two mutexes at once takes a [`Place`] for each, which the borrow checker sees to.
//! Smaller things are guarded by a [`crate::Latch`].

mod mcs;
mod sleep;
mod ticket;

use crate::{Line, Machine, Ordering, Shared, Spin, Word};
use mcs::Mcs;
pub use sleep::FAULTS;
use sleep::Sleep;
use ticket::Ticket;

/// How a mutex is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum MutexKind {
    /// By reading its word.
    Spin,
    /// By reading which number is served.
    Ticket,
    /// In a queue, by reading a word of one's own (Mellor-Crummey and Scott).
    Mcs,
    /// Asleep, as the mutexes of operating systems have it.
    #[default]
    Sleep,
}

impl MutexKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Spin, Self::Ticket, Self::Mcs, Self::Sleep];

    /// The name on command lines and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Spin => "spin",
            Self::Ticket => "ticket",
            Self::Mcs => "mcs",
            Self::Sleep => "sleep",
        }
    }
}

/// A worker's node in the queue.
#[repr(C, align(64))]
struct Node<M: Machine> {
    /// The successor in the queue of `mcs`.
    next: M::Link<Node<M>>,
    /// It is this one's turn there.
    called: M::Word,
    /// The next sleeper, under `sleep`.
    behind: M::Link<Node<M>>,
    /// The sleeper.
    worker: M::Word,
    /// It sleeps no more.
    woken: M::Word,
}

/// A worker's place in queues: in one at a time.
pub struct Place<M: Machine>(Shared<M, Node<M>>);

impl<M: Machine> Place<M> {
    /// One in no queue.
    ///
    /// # Panics
    /// When the machine has no memory for it.
    #[must_use]
    pub fn new() -> Self {
        Self(Shared::new(Node {
            next: crate::Link::new(crate::Tagged::null()),
            called: M::Word::new(0),
            behind: crate::Link::new(crate::Tagged::null()),
            worker: M::Word::new(0),
            woken: M::Word::new(0),
        }))
    }
}

impl<M: Machine> Default for Place<M> {
    fn default() -> Self {
        Self::new()
    }
}

/// Mutual exclusion. Lives in the machine's memory.
pub struct Mutex<M: Machine>(Way<M>);

enum Way<M: Machine> {
    Spin(Line<M::Word>),
    Ticket(Ticket<M>),
    Mcs(Mcs<M>),
    Sleep(Sleep<M>),
}

impl<M: Machine> Mutex<M> {
    /// A free one.
    #[must_use]
    pub fn new(kind: MutexKind) -> Self {
        Self(match kind {
            MutexKind::Spin => Way::Spin(Line(M::Word::new(0))),
            MutexKind::Ticket => Way::Ticket(Ticket::new()),
            MutexKind::Mcs => Way::Mcs(Mcs::new()),
            MutexKind::Sleep => Way::Sleep(Sleep::new()),
        })
    }

    /// Waits until nobody else is in, and runs `body`, a section.
    ///
    /// The caller is in no section: it may have to sleep.
    pub fn hold<R>(&self, place: &mut Place<M>, body: impl FnOnce() -> R) -> R {
        self.hold_as(place, true, body)
    }

    /// As [`Mutex::hold`] in a section, where sleeping is not allowed: it waits awake.
    pub fn hold_awake<R>(&self, place: &mut Place<M>, body: impl FnOnce() -> R) -> R {
        self.hold_as(place, false, body)
    }

    fn hold_as<R>(&self, place: &mut Place<M>, sleeps: bool, body: impl FnOnce() -> R) -> R {
        /// Leaves, whether the body returns or panics.
        struct Inside<'a, M: Machine>(&'a Way<M>, &'a Node<M>, u64);
        impl<M: Machine> Drop for Inside<'_, M> {
            fn drop(&mut self) {
                match self.0 {
                    Way::Spin(word) => leave_spinning::<M>(&word.0),
                    Way::Ticket(ticket) => ticket.leave(self.2),
                    Way::Mcs(mcs) => mcs.leave(self.1),
                    Way::Sleep(sleep) => sleep.leave(self.1),
                }
            }
        }
        let node: &Node<M> = &place.0;
        let number = match &self.0 {
            Way::Spin(word) => enter_spinning::<M>(&word.0),
            Way::Ticket(ticket) => ticket.enter(),
            Way::Mcs(mcs) => mcs.enter(node),
            Way::Sleep(sleep) => sleep.enter(node, sleeps),
        };
        let _inside = Inside(&self.0, node, number);
        body()
    }
}

/// Enters a section when `word` is free and ours; returns nothing of interest.
fn enter_spinning<M: Machine>(word: &M::Word) -> u64 {
    let mut spin = Spin::<M>::new();
    // Acquire pairs with the release in `leave_spinning`.
    while word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
        // Relaxed: a hint; the exchange decides.
        while word.load(Ordering::Relaxed) != 0 {
            spin.wait();
        }
    }
    M::enter_section();
    0
}

fn leave_spinning<M: Machine>(word: &M::Word) {
    // Release pairs with the acquire of the next holder in `enter_spinning`.
    word.store(0, Ordering::Release);
    M::leave_section();
}
