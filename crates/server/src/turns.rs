//! Turns of a thread: a statement that takes long lets others have theirs.

use std::cell::RefCell;
use std::rc::Rc;

type GiveWay = Rc<dyn Fn()>;

thread_local! {
    /// What the loop of this thread does when a statement gives way.
    static GIVE_WAY: RefCell<Option<GiveWay>> = const { RefCell::new(None) };
}

/// From here on statements of this thread give way so; `None`: they do not.
pub(crate) fn set(give_way: Option<GiveWay>) {
    GIVE_WAY.set(give_way);
}

/// A statement that takes long lets the other connections of its thread have a turn, now and then.
pub(crate) fn give_way() {
    if let Some(give_way) = GIVE_WAY.with_borrow(Clone::clone) {
        give_way();
    }
}
