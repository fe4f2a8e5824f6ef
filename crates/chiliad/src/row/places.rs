//! Where the columns of a Rust type lie in a row, known when the program is compiled.

use super::Stored;
use crate::Result;
use crate::error::bad_column;
use chiliad_api::row::{At, BadRow, Place};
use core::ops::Range;

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

/// The places of `N` columns. The same as those of [`chiliad_api::row::RowFormat`], which learns them at run time.
#[derive(Clone, Copy, Debug)]
pub struct Places<const N: usize> {
    places: [Place; N],
    fixed: usize,
    variable: usize,
}

impl<const N: usize> Places<N> {
    /// Bytes of the end of a column of variable size.
    pub(crate) const END_BYTES: usize = 4;

    /// The places of columns of these shapes.
    #[must_use]
    pub const fn of(shapes: [ColumnShape; N]) -> Self {
        let mut nullable = 0;
        let mut at = 0;
        while at < N {
            nullable += shapes[at].nullable as usize;
            at += 1;
        }
        let mut fixed = nullable.div_ceil(8);
        let (mut variable, mut nulls) = (0, 0);
        let mut places = [Place { null: None, at: At::Variable(0) }; N];
        at = 0;
        while at < N {
            let null = if shapes[at].nullable { Some((nulls / 8, 1 << (nulls % 8))) } else { None };
            nulls += shapes[at].nullable as usize;
            let place = match shapes[at].bytes {
                Some(bytes) => {
                    let offset = fixed;
                    fixed += bytes;
                    At::Fixed { offset, bytes }
                }
                None => {
                    variable += 1;
                    At::Variable(variable - 1)
                }
            };
            places[at] = Place { null, at: place };
            at += 1;
        }
        Self { places, fixed, variable }
    }

    /// The place of a column.
    #[must_use]
    pub const fn place(&self, at: usize) -> Place {
        self.places[at]
    }

    /// Bytes before the columns of variable size.
    #[must_use]
    pub const fn head_bytes(&self) -> usize {
        self.fixed + 4 * self.variable
    }

    /// Where the end of the first column of variable size stands.
    #[must_use]
    pub const fn ends(&self) -> usize {
        self.fixed
    }

    /// Begins a body after what `out` holds.
    #[inline]
    pub fn begin<'o>(&self, out: &'o mut Vec<u8>) -> BodyWriter<'o> {
        let start = out.len();
        out.resize(start + self.head_bytes(), 0);
        BodyWriter { start, tail: out.len(), ends: start + self.fixed, out }
    }

    /// Reads a body, whose length and ends are looked at first.
    ///
    /// # Errors
    /// When they are those of no such row.
    #[inline]
    pub fn read<'b>(&self, body: &'b [u8]) -> Result<BodyReader<'b>> {
        let reader = BodyReader { body, ends: self.fixed, head: self.head_bytes() };
        let Some(tail) = body.len().checked_sub(reader.head) else {
            return Err(BadRow::TooShort { bytes: body.len(), needed: reader.head }.into());
        };
        let mut last = 0;
        for number in 0..self.variable {
            let end = reader.end(number)?;
            if end < last {
                return Err(BadRow::Ends.into());
            }
            last = end;
        }
        if last == tail { Ok(reader) } else { Err(BadRow::Ends.into()) }
    }
}

/// A body that is being written, column by column in order.
pub struct BodyWriter<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    /// Where the columns of variable size begin.
    tail: usize,
    ends: usize,
}

impl BodyWriter<'_> {
    /// Writes the column of this place.
    #[inline]
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
                // A row of more bytes than this counts is longer than any that is accepted.
                let end = u32::try_from(self.out.len() - self.tail).unwrap_or(u32::MAX);
                let at = self.ends + 4 * number;
                self.out[at..at + 4].copy_from_slice(&end.to_le_bytes());
            }
        }
    }
}

/// A body whose length and ends are those of its columns.
#[derive(Clone, Copy)]
pub struct BodyReader<'b> {
    body: &'b [u8],
    ends: usize,
    head: usize,
}

impl BodyReader<'_> {
    /// The value of the column of this place and name.
    ///
    /// # Errors
    /// When the bytes are none of type `T`.
    #[inline]
    pub fn get<T: Stored>(&self, place: Place, name: &'static str) -> Result<T> {
        cell(self.body, place, self.ends, self.head).and_then(|cell| value(cell, name))
    }

    #[inline]
    fn end(&self, number: usize) -> Result<usize> {
        end(self.body, self.ends, self.head, number)
    }
}

fn end(body: &[u8], ends: usize, head: usize, number: usize) -> Result<usize> {
    let end = body.get(ends + 4 * number..).and_then(|rest| rest.first_chunk());
    let end = end.ok_or(BadRow::TooShort { bytes: body.len(), needed: head })?;
    Ok(u32::from_le_bytes(*end) as usize)
}

/// The bytes of a column of a body whose ends stand at `ends` and whose columns of variable size begin at `head`.
#[inline]
pub(super) fn cell(body: &[u8], place: Place, ends: usize, head: usize) -> Result<Option<&[u8]>> {
    let too_short = |needed| BadRow::TooShort { bytes: body.len(), needed };
    if let Some((byte, bit)) = place.null
        && body.get(byte).ok_or_else(|| too_short(head))? & bit != 0
    {
        return Ok(None);
    }
    let range: Range<usize> = match place.at {
        At::Fixed { offset, bytes } => offset..offset + bytes,
        At::Variable(number) => {
            let start = if number == 0 { 0 } else { end(body, ends, head, number - 1)? };
            head.saturating_add(start)..head.saturating_add(end(body, ends, head, number)?)
        }
    };
    let needed = range.end;
    Ok(Some(body.get(range).ok_or_else(|| too_short(needed))?))
}

/// The value of a column's bytes.
#[inline]
pub(super) fn value<T: Stored>(cell: Option<&[u8]>, name: &'static str) -> Result<T> {
    match cell {
        Some(cell) => T::read_cell(cell).map_err(|bad| bad_column(name, bad)),
        None => T::none().ok_or_else(|| bad_column(name, "no value where there must be one")),
    }
}
