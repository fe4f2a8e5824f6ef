//! Memory that a thread's statements use one after another: most need as much as the last one, and for little.

use crate::datum::OwnedDatum;
use std::cell::Cell;

/// The items for which a list keeps its memory between two uses, at most.
const LENGTH_MAX: usize = 1024;

thread_local! {
    static SPARE: Spare = const {
        Spare {
            key: Cell::new(Vec::new()),
            bytes: Cell::new(Vec::new()),
            row: Cell::new(Vec::new()),
            values: Cell::new(Vec::new()),
        }
    };
}

/// Empty lists. One that is in use is not there, and whoever asks for it meanwhile has fresh memory.
pub(crate) struct Spare {
    /// Of a key that is looked up or written.
    pub key: Cell<Vec<u8>>,
    /// Of the bytes of a row that is written.
    pub bytes: Cell<Vec<u8>>,
    /// Of the values of a row that is changed.
    pub row: Cell<Vec<OwnedDatum>>,
    /// Of values on their way into a row.
    pub values: Cell<Vec<OwnedDatum>>,
}

/// One of the thread's lists, empty.
#[inline]
pub(crate) fn take<T>(which: impl FnOnce(&Spare) -> &Cell<Vec<T>>) -> Vec<T> {
    SPARE.with(|spare| which(spare).take())
}

/// Gives a list back, for the next one who takes it.
#[inline]
pub(crate) fn give_back<T>(which: impl FnOnce(&Spare) -> &Cell<Vec<T>>, mut list: Vec<T>) {
    list.clear();
    if list.capacity() <= LENGTH_MAX {
        SPARE.with(|spare| which(spare).set(list));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datum::Datum;

    #[test]
    fn a_list_comes_again_without_its_items_if_it_is_short() {
        give_back(|it| &it.row, vec![Datum::text("of a client"); 3]);
        let row = take(|it| &it.row);
        assert!(row.is_empty() && row.capacity() >= 3, "its memory");
        assert_eq!(take(|it| &it.row).capacity(), 0, "one at a time has it");
        give_back(|it| &it.bytes, vec![7; LENGTH_MAX + 1]);
        assert_eq!(take(|it| &it.bytes).capacity(), 0, "a long one is gone");
    }
}
