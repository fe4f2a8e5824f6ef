//! A row of a result.

use crate::datum::{Datum, OwnedDatum};

/// A row of a result: all of some values, or those at some of their places, without a copy of them.
#[derive(Clone, Copy, Debug)]
pub struct ResultRow<'r> {
    values: &'r [Datum<'r>],
    places: Option<&'r [usize]>,
}

impl<'r> ResultRow<'r> {
    /// The row of all these values.
    #[must_use]
    pub fn all(values: &'r [Datum<'r>]) -> Self {
        Self { values, places: None }
    }

    /// The row of the values at these places, in this order.
    pub(crate) fn picked(values: &'r [Datum<'r>], places: &'r [usize]) -> Self {
        Self { values, places: Some(places) }
    }

    /// Its values.
    pub fn iter(self) -> impl ExactSizeIterator<Item = &'r Datum<'r>> {
        let count = self.places.map_or(self.values.len(), <[usize]>::len);
        (0..count).map(move |at| &self.values[self.places.map_or(at, |places| places[at])])
    }

    /// Its values, where they are a slice as they lie.
    pub(crate) fn as_slice(self) -> Option<&'r [Datum<'r>]> {
        self.places.is_none().then_some(self.values)
    }

    /// Its values, borrowing nothing.
    #[must_use]
    pub fn into_owned(self) -> Vec<OwnedDatum> {
        self.iter().map(|datum| datum.borrowed().into_owned()).collect()
    }
}
