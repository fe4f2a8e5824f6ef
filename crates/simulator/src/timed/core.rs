//! The state of one core of a timed run: its clock's next event, its request, how it spins.

use super::spin::Spin;
use super::tags::Right;
use chiliad_machine::{Machine, Native};

/// Lines of a core's stack that the host is asked for before the core goes on.
const STACK_LINES: u32 = 8;

/// No core.
pub(super) const NOBODY: u32 = u32::MAX;

/// The demand of an access on its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// To see it.
    Read,
    /// To overwrite some of it.
    Write,
    /// To change it by what it holds.
    Modify,
}

impl Access {
    /// Whether a core with this right needs to ask nobody.
    #[inline]
    pub(crate) fn is_answered_by(self, right: Right) -> bool {
        if self == Self::Read { right != Right::None } else { right.may_write() }
    }
}

/// The role of a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Post {
    /// The host's own stack, or an observer.
    Outside,
    /// The program.
    Tile,
    /// Background work.
    Background,
}

/// The meaning of a core's event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    /// It goes on.
    Resume,
    /// Its request has reached the home.
    Arrive,
    /// Its request is the next of its queue.
    Turn,
    /// Its request has reached the counter in the middle.
    Count,
    /// Its program has died: nothing happens, or its place in a queue is passed on.
    Nothing,
    Pass,
}

/// The request that a core waits for.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) line: u64,
    pub(crate) mix: u64,
    pub(crate) home: u32,
    pub(crate) access: Access,
    /// It is a task's, and so what it conflicts with is looked for before it is performed.
    pub(crate) tracked: Option<Tracked>,
    /// Performs it; the core that waits owns what this points to.
    pub(crate) effect: Option<Effect>,
    /// The line that it goes on with when it has been answered.
    pub(super) further: Option<u64>,
}

/// An access of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tracked {
    /// Where it begins, on the host, and how many words of the line may change.
    pub(crate) host: usize,
    pub(crate) words: u32,
    /// The tile has the line already and asks for the check alone.
    pub(crate) check_only: bool,
    /// Others may have used the line: a read does not make it the tile's own, or a write would not be checked.
    pub(crate) shared: bool,
}

/// The effect of an access on memory when its time has come. Returns the line that the same access goes on
/// with, if it is of several.
pub(crate) type Effect = *mut dyn FnMut() -> Option<u64>;

/// A core.
pub(crate) struct Core {
    pub(super) chip: u16,
    pub(crate) tile: u32,
    /// It is not part of the machine: nothing that it does takes time.
    pub(super) free: bool,
    /// Background work: the core whose time it takes.
    pub(super) guest_of: Option<u32>,
    /// Background work may take its time at any moment.
    pub(super) has_guests: bool,
    /// Cycles that guests have taken.
    pub(super) owed: u64,
    pub(super) resumed: u64,
    pub(super) event: Event,
    pub(crate) request: Request,
    /// The next core in the queue of its line.
    pub(super) behind: u32,
    pub(super) spin: Spin,
    /// The value that the counter in the middle held for it.
    pub(super) counted: u64,
    pub(super) stack: Stack,
    /// Lines asked for ahead of use and when they arrive, the oldest first.
    pub(super) ahead: Vec<(u64, u64)>,
}

/// The place where a core goes on: its stack's addresses when it last gave way, only ever prefetched.
#[derive(Clone, Copy)]
pub(super) struct Stack {
    /// Where the frames end that it returns to first.
    pub(super) end: *const u8,
    /// Where it is noted that they do.
    pub(super) root: *const u8,
}

impl Stack {
    /// Asks the host for it.
    pub(super) fn prefetch(self) {
        Native::prefetch(self.end, STACK_LINES);
        Native::prefetch(self.root, 1);
    }
}

/// Does what an access does.
pub(crate) fn perform(effect: Effect) -> Option<u64> {
    // SAFETY: the core that asked is suspended until its access is over, and the closure lives on its
    // stack.
    unsafe { (*effect)() }
}

impl Core {
    pub(super) fn new(chip: u16, tile: u32, free: bool) -> Self {
        Self {
            chip,
            tile,
            free,
            guest_of: None,
            has_guests: false,
            owed: 0,
            resumed: 0,
            event: Event::Resume,
            request: Request {
                line: 0,
                mix: 0,
                home: 0,
                access: Access::Read,
                tracked: None,
                effect: None,
                further: None,
            },
            behind: NOBODY,
            spin: Spin::default(),
            counted: 0,
            stack: Stack { end: std::ptr::null(), root: std::ptr::null() },
            ahead: Vec::new(),
        }
    }

    /// Drops its request.
    pub(super) fn forget_request(&mut self) {
        self.request.effect = None;
        self.request.further = None;
    }

    /// A program begins on it at `time`; what its caches hold it finds there.
    pub(super) fn begin(&mut self, time: u64, post: Post) {
        self.free = post == Post::Outside;
        (self.resumed, self.owed) = (time, 0);
        self.spin = Spin::default();
    }
}
