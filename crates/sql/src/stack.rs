//! Room on the stack for statements that are nested deep.
//!
//! The parser, the binder and the evaluation of expressions go down a tree by calls, and a fiber of a server has 512 KiB. Most
//! statements need a few of them. The others are parsed, prepared and run on a stack that is made for them, which takes
//! some ten microseconds.

/// Bytes of such a stack; those that are not touched take no memory.
const ROOM_BYTES: usize = 32 << 20;

/// How deep a statement is nested.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Nesting {
    /// Parentheses within parentheses.
    pub parentheses: usize,
    /// Levels of the tree of its operators, at most.
    pub operators: usize,
}

impl Nesting {
    /// Whether a fiber may have too little room for it.
    pub fn is_deep(self) -> bool {
        self.parentheses > 5 || self.operators > 12
    }

    /// Whether it is too deep for what tables are declared with, which belongs to every statement that writes them.
    pub fn is_too_deep_to_declare(self) -> bool {
        self.parentheses > 8 || self.operators > 40
    }
}

/// As [`with_room`], for what parses or prepares a statement or says a part of it in words: without optimisation that needs
/// all of a fiber's stack for the plainest expression.
pub(crate) fn with_room_to_prepare<T>(is_deep: bool, run: impl FnOnce() -> T) -> T {
    with_room(is_deep || cfg!(debug_assertions), run)
}

/// Runs something on a stack with room, if it `is_deep`.
pub(crate) fn with_room<T>(is_deep: bool, run: impl FnOnce() -> T) -> T {
    if is_deep { stacker::grow(ROOM_BYTES, run) } else { run() }
}
