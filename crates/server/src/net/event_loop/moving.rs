//! Connections that go from one thread to another, between two of their turns.

use super::{Connection, EventLoop, Mail, Slot};
use std::rc::Rc;
use std::sync::Arc;

impl EventLoop {
    /// Ends the round of what was seen of connections if it has lasted long enough: gives those away that are far from here.
    pub(super) fn end_round(&self) {
        let Some(far) = self.nearness.end_round() else { return };
        if far.is_empty() {
            return;
        }
        self.choose_next();
        for at in far {
            // Where one thread had most connections, clients would wait for it.
            if self.all[self.next_to.get()].connections() > self.mailbox.connections() + 1 {
                break;
            }
            self.give_away(at);
        }
    }

    /// Chooses whom connections are given next: one after the other.
    pub(super) fn choose_next(&self) {
        let mut next = (self.next_to.get() + 1) % self.all.len();
        if Arc::ptr_eq(&self.all[next], &self.mailbox) {
            next = (next + 1) % self.all.len();
        }
        self.next_to.set(next);
    }

    /// Has a connection that another thread has had.
    pub(super) fn adopt_moved(&self, connection: Connection) {
        self.adopt(connection);
        self.nearness.begin_round();
    }

    /// Gives the connection at this place to the thread that is next, if it may go.
    pub(super) fn give_away(&self, at: usize) {
        let Some(slot) = self.slots.borrow_mut().get_mut(at).and_then(Option::take) else { return };
        let slot = match Rc::try_unwrap(slot) {
            Ok(slot) if may_move(&slot) => slot,
            Ok(slot) => return self.put_back(at, Rc::new(slot)),
            // A member is in its turn.
            Err(slot) => return self.put_back(at, slot),
        };
        let mut connection = slot.connection.into_inner();
        connection.deregister(self.poll.borrow().registry());
        self.free.borrow_mut().push(at);
        self.gated.borrow_mut().retain(|it| *it != at);
        self.mailbox.remove_connection();
        let to = &self.all[self.next_to.get()];
        to.add_connection();
        if let Err(Mail::Moved(connection)) = to.send(Mail::Moved(Box::new(connection))) {
            // The server goes down, and that thread has gone.
            to.remove_connection();
            self.mailbox.add_connection();
            self.adopt(*connection);
        }
    }

    fn put_back(&self, at: usize, slot: Rc<Slot>) {
        self.slots.borrow_mut()[at] = Some(slot);
    }
}

/// Whether nothing has been told of the connection here that another thread would not know.
fn may_move(slot: &Slot) -> bool {
    let told = slot.readable.get() || slot.writable.get() || slot.hung_up.get();
    // A job is told of where its session was when it began.
    !told && !slot.queued.get() && slot.job.get().is_none()
}
