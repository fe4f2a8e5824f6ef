//! Whole transactions as tasks, one task each: procedures of statements, as any engine runs them.
//!
//! Procedures work on the host: a client that has the request in hand, and room for statements. Hardware may abandon an
//! execution at any access, without a destructor, and begin the task again. So no guard lends room, which an abandoned
//! execution would never give back: each execution takes the room of its request as the one before has left it.

use crate::attempt::Attempt;
use crate::transaction::Statements;
use crate::view::View;
use chiliad_api::{Error, Result};
use chiliad_machine::tasks::Lines;
use core::cell::{Cell, RefCell, UnsafeCell};

/// The transactions of so many requests, each of which one task runs: by clients `C`, with answers `A`.
pub struct Whole<C, A> {
    rooms: Vec<UnsafeCell<Room<C>>>,
    answers: Vec<Cell<Option<A>>>,
    /// Attempts that no execution uses.
    spare: RefCell<Vec<Attempt>>,
}

/// What the executions of a request use, one after another.
struct Room<C> {
    client: C,
    /// That of the execution under way, or of one that was abandoned.
    attempt: Option<Attempt>,
}

impl<C, A: Copy> Whole<C, A> {
    /// One transaction for each client.
    #[must_use]
    pub fn new(clients: impl IntoIterator<Item = C>) -> Self {
        let room = |client| UnsafeCell::new(Room { client, attempt: None });
        let rooms: Vec<_> = clients.into_iter().map(room).collect();
        let answers = rooms.iter().map(|_| Cell::new(None)).collect();
        Self { rooms, answers, spare: RefCell::default() }
    }

    /// The answer to a request whose task has finished; `None` where it was rolled back.
    ///
    /// # Panics
    /// When there is no such request.
    #[must_use]
    pub fn answer(&self, request: usize) -> Option<A> {
        self.answers[request].get()
    }

    /// Runs the transaction of a request in the calling task, which is the only one of that request: `procedure` gives the
    /// answer. A failure that no finished run would have shown is a trap.
    pub fn run<T: Lines>(
        &self,
        view: &mut View<'_, T>,
        request: usize,
        procedure: impl FnOnce(&mut C, &mut Statements<'_, '_, T>) -> Result<A>,
    ) {
        let Some(room) = self.rooms.get(request) else { view.trap("a request that nobody made") };
        // SAFETY: a graph has one task for a request. Runtimes execute a task once at a time, and never resume an execution
        // that they have abandoned: nothing else uses the room from here on. What was abandoned has left the room's values
        // valid, since it stopped in a call of safe code, as one that has forgotten what it borrowed.
        let room = unsafe { &mut *room.get() };
        let spare = || self.spare.borrow_mut().pop().unwrap_or_default();
        let mut statements = Statements::begin(view, room.attempt.get_or_insert_with(spare));
        let ended = match procedure(&mut room.client, &mut statements) {
            Ok(answer) => statements.commit().map(|()| answer),
            Err(error) => {
                statements.rollback();
                Err(error)
            }
        };
        let answer = match ended {
            Ok(answer) => Some(Some(answer)),
            Err(Error::RolledBack) => Some(None),
            Err(_) => None,
        };
        match answer {
            Some(answer) => self.answers[request].set(answer),
            None => view.trap("a statement failed"),
        }
        self.spare.borrow_mut().extend(room.attempt.take());
    }
}
