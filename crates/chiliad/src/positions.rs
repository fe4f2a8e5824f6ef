//! Which index of a table each index of a row type is.
//!
//! A type numbers its indexes as it declares them, a table as they came. They differ where indexes were added or dropped.

use std::sync::{Arc, PoisonError, RwLock};

/// The numberings of a database that are not the usual one. Handles are copied, and name one of them.
#[derive(Clone, Default)]
pub(crate) struct Positions(Arc<RwLock<Vec<Vec<usize>>>>);

/// A numbering: the n-th index of the type is the n-th of the table, or as the list of this number says.
#[derive(Clone, Copy)]
pub(crate) struct Numbering(Option<u32>);

impl Numbering {
    /// That of a type by which the table was created.
    pub const USUAL: Self = Self(None);
}

impl Positions {
    /// The numbering by which the n-th index of a type is this one of its table.
    pub fn numbering(&self, of_table: Vec<usize>) -> Numbering {
        if of_table.iter().enumerate().all(|(of_type, of_table)| of_type == *of_table) {
            return Numbering::USUAL;
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().position(|it| *it == of_table).unwrap_or(known.len());
        if found == known.len() {
            known.push(of_table);
        }
        Numbering(u32::try_from(found).ok())
    }

    /// The index of the table that an index of the type is.
    pub fn of_table(&self, numbering: Numbering, of_type: usize) -> usize {
        let Some(number) = numbering.0 else { return of_type };
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.get(number as usize).and_then(|it| it.get(of_type)).copied().unwrap_or(of_type)
    }
}
