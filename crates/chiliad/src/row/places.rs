//! Where the columns of a Rust type lie in a row, known when the program is compiled.

use super::Stored;
use crate::Result;
use crate::error::bad_column;
use chiliad_api::row::{At, Head, Place};

/// What the place of a column depends on.
#[derive(Clone, Copy)]
pub struct ColumnShape {
    bytes: Option<usize>,
    nullable: bool,
}

impl ColumnShape {
    /// That of columns of type `T`.
    #[must_use]
    pub const fn of<T: Stored>() -> Self {
        Self { bytes: T::CELL_BYTES, nullable: T::NULLABLE }
    }
}

/// The places of `N` columns: those of [`chiliad_api::row::RowFormat`], which learns them at run time.
#[derive(Clone, Copy, Debug)]
pub struct Places<const N: usize> {
    places: [Place; N],
    head: Head,
}

impl<const N: usize> Places<N> {
    /// The places of columns of these shapes.
    #[must_use]
    pub const fn of(shapes: [ColumnShape; N]) -> Self {
        let mut nullable = 0;
        let mut at = 0;
        while at < N {
            nullable += shapes[at].nullable as usize;
            at += 1;
        }
        let mut head = Head::new(nullable);
        let mut places = [Place { null: None, at: At::Variable(0) }; N];
        at = 0;
        while at < N {
            places[at] = head.add(shapes[at].bytes, shapes[at].nullable);
            at += 1;
        }
        Self { places, head }
    }

    /// The place of a column.
    #[must_use]
    pub const fn place(&self, at: usize) -> Place {
        self.places[at]
    }

    /// The sizes by which the columns are found.
    #[must_use]
    pub const fn head(&self) -> Head {
        self.head
    }

    /// Begins a body after what `out` holds.
    #[inline]
    pub fn begin<'o>(&self, out: &'o mut Vec<u8>) -> BodyWriter<'o> {
        let start = out.len();
        out.resize(start + self.head.bytes(), 0);
        BodyWriter { start, head: self.head, out }
    }

    /// Reads a body, whose length and ends are looked at first.
    ///
    /// # Errors
    /// When they are those of no such row.
    #[inline]
    pub fn read<'b>(&self, body: &'b [u8]) -> Result<BodyReader<'b>> {
        self.head.check(body)?;
        Ok(BodyReader { body, head: self.head })
    }
}

/// A body that is being written, column by column in order.
pub struct BodyWriter<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    head: Head,
}

impl BodyWriter<'_> {
    /// Writes the column of this place. A derived row calls it with constant places, of which little is left once it is
    /// inlined.
    #[inline(always)]
    pub fn put<T: Stored>(&mut self, place: Place, value: &T) {
        if let Some((byte, bit)) = place.null
            && !value.has_value()
        {
            self.out[self.start + byte] |= bit;
        }
        match place.at {
            At::Fixed { offset, bytes } => {
                let start = self.start + offset;
                value.put_cell(&mut self.out[start..start + bytes]);
            }
            At::Variable(number) => {
                value.write_cell(self.out);
                let tail = self.start + self.head.bytes();
                // A row of more bytes than this counts is longer than any that is accepted.
                let end = u32::try_from(self.out.len() - tail).unwrap_or(u32::MAX);
                let at = self.start + self.head.end_offset(number);
                self.out[at..at + Head::END_BYTES].copy_from_slice(&end.to_le_bytes());
            }
        }
    }
}

/// A body whose length and ends are those of its columns.
#[derive(Clone, Copy)]
pub struct BodyReader<'b> {
    body: &'b [u8],
    head: Head,
}

impl BodyReader<'_> {
    /// The value of the column of this place and name.
    ///
    /// # Errors
    /// When the bytes are none of type `T`.
    #[inline(always)]
    pub fn get<T: Stored>(&self, place: Place, name: &'static str) -> Result<T> {
        value(self.head.cell(self.body, place)?, name)
    }
}

/// The value of a column's bytes.
#[inline(always)]
pub(super) fn value<T: Stored>(cell: Option<&[u8]>, name: &'static str) -> Result<T> {
    match cell {
        Some(cell) => T::read_cell(cell).map_err(|bad| bad_column(name, bad)),
        None => T::none().ok_or_else(|| bad_column(name, "no value where there must be one")),
    }
}
