//! Where the columns of a schema lie in the bytes of a row.
//!
//! ```text
//! u16 version of the schema | body:
//!   null bits, one for each column that may have no value, in the order of columns, lowest bit first; whole bytes
//!   the columns of fixed size, in order, without padding; zeros where there is no value
//!   u32 end of each column of variable size, in order, counted from the end of these numbers
//!   the bytes of the columns of variable size, in order; none where there is no value
//! ```
//!
//! All numbers are little-endian. The offset of a column of fixed size, of a null bit and of an end depends on the schema
//! alone: one column is read without a look at the others.

use crate::{BadRow, ColumnType};
use core::convert::Infallible;

/// Bytes of a row before its body: the version of the schema under which it was written.
pub const VERSION_BYTES: usize = 2;

/// A row's version and body.
///
/// # Errors
/// [`BadRow::TooShort`] for a row that has no room for a version.
#[inline]
pub fn split(row: &[u8]) -> Result<(u16, &[u8]), BadRow> {
    match row.split_first_chunk() {
        Some((version, body)) => Ok((u16::from_le_bytes(*version), body)),
        None => Err(BadRow::TooShort { bytes: row.len(), needed: VERSION_BYTES }),
    }
}

/// Begins a row of `version` in `row`; its body follows.
#[inline]
pub fn with_version(version: u16, row: &mut Vec<u8>) {
    row.extend_from_slice(&version.to_le_bytes());
}

/// The place of a column in a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The byte and the bit that are set where there is no value, if that can be.
    pub null: Option<(usize, u8)>,
    /// Where the value lies.
    pub at: At,
}

/// Where a column's bytes lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// At an offset, as many bytes as its type has.
    Fixed {
        /// Bytes of the body before it.
        offset: usize,
        /// Bytes of it.
        bytes: usize,
    },
    /// Among the columns of variable size, this one by number from 0.
    Variable(usize),
}

/// The sizes by which all columns of a body are found: learned at run time from a schema, or when a program is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Head {
    /// Null bits that have a column.
    nulls: usize,
    /// Bytes of null bits and columns of fixed size.
    fixed: usize,
    /// Columns of variable size.
    variable: usize,
}

impl Head {
    /// Bytes of the end of a column of variable size.
    pub const END_BYTES: usize = 4;

    /// That of a body without columns yet, of which so many may have no value.
    #[must_use]
    pub const fn new(nullable: usize) -> Self {
        Self { nulls: 0, fixed: nullable.div_ceil(8), variable: 0 }
    }

    /// Adds the next column, which takes so many bytes if it always takes as many, and returns its place. Sizes beyond the
    /// address space saturate: no schema has them.
    pub const fn add(&mut self, bytes: Option<usize>, nullable: bool) -> Place {
        let null = if nullable { Some((self.nulls / 8, 1 << (self.nulls % 8))) } else { None };
        self.nulls += nullable as usize;
        let at = match bytes {
            Some(bytes) => {
                let offset = self.fixed;
                self.fixed = offset.saturating_add(bytes);
                At::Fixed { offset, bytes }
            }
            None => {
                self.variable += 1;
                At::Variable(self.variable - 1)
            }
        };
        Place { null, at }
    }

    /// Bytes of a body before the columns of variable size: the least that a body has.
    #[must_use]
    #[inline]
    pub const fn bytes(&self) -> usize {
        self.fixed.saturating_add(Self::END_BYTES * self.variable)
    }

    /// The offset of the end of a column of variable size.
    #[must_use]
    #[inline]
    pub const fn end_offset(&self, number: usize) -> usize {
        self.fixed + Self::END_BYTES * number
    }

    /// Refuses a body whose length or ends are those of no row with this head.
    ///
    /// # Errors
    /// [`BadRow::TooShort`], [`BadRow::Ends`].
    #[inline]
    pub fn check(&self, body: &[u8]) -> Result<(), BadRow> {
        let Some(tail) = body.len().checked_sub(self.bytes()) else {
            return Err(self.too_short(body));
        };
        let mut last = 0;
        for number in 0..self.variable {
            let end = self.end(body, number)?;
            if end < last {
                return Err(BadRow::Ends);
            }
            last = end;
        }
        if last == tail { Ok(()) } else { Err(BadRow::Ends) }
    }

    /// The bytes of the column of this place; `None` where it has no value.
    ///
    /// # Errors
    /// [`BadRow`] for a body that does not reach as far.
    #[inline(always)]
    pub fn cell<'b>(&self, body: &'b [u8], place: Place) -> Result<Option<&'b [u8]>, BadRow> {
        if let Some((byte, bit)) = place.null
            && body.get(byte).ok_or_else(|| self.too_short(body))? & bit != 0
        {
            return Ok(None);
        }
        match place.at {
            At::Fixed { offset, bytes } => {
                let cell = body.get(offset..offset.saturating_add(bytes));
                cell.ok_or_else(|| self.too_short(body)).map(Some)
            }
            At::Variable(number) => {
                let (start, end) = self.span(body, number)?;
                let tail = body.get(self.bytes()..).ok_or_else(|| self.too_short(body))?;
                tail.get(start..end).ok_or(BadRow::Ends).map(Some)
            }
        }
    }

    /// Where a column of variable size begins and ends, counted from the first one's beginning.
    #[inline(always)]
    fn span(&self, body: &[u8], number: usize) -> Result<(usize, usize), BadRow> {
        let start = if number == 0 { 0 } else { self.end(body, number - 1)? };
        Ok((start, self.end(body, number)?))
    }

    /// Where a column of variable size ends, counted from the first one's beginning.
    #[inline]
    fn end(&self, body: &[u8], number: usize) -> Result<usize, BadRow> {
        let end = body.get(self.end_offset(number)..).and_then(|rest| rest.first_chunk());
        let end = end.ok_or_else(|| self.too_short(body))?;
        Ok(u32::from_le_bytes(*end) as usize)
    }

    #[cold]
    fn too_short(&self, body: &[u8]) -> BadRow {
        BadRow::TooShort { bytes: body.len(), needed: self.bytes() }
    }
}

/// The places of a schema's columns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RowFormat {
    places: Vec<Place>,
    head: Head,
}

impl RowFormat {
    /// The format of rows of these columns.
    pub fn of<'a>(types: impl IntoIterator<Item = &'a ColumnType>) -> Self {
        let types: Vec<_> = types.into_iter().collect();
        let mut head = Head::new(types.iter().filter(|it| it.is_nullable()).count());
        let places = types.iter().map(|it| head.add(it.row_bytes(), it.is_nullable())).collect();
        Self { places, head }
    }

    /// How many columns there are.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.places.len()
    }

    /// The place of column `at`, counted from 0.
    ///
    /// # Panics
    /// When there is no such column.
    #[must_use]
    pub fn place(&self, at: usize) -> Place {
        self.places[at]
    }

    /// The sizes by which the columns are found.
    #[must_use]
    pub fn head(&self) -> Head {
        self.head
    }

    /// Refuses a body whose length or ends are those of no row of this format.
    ///
    /// # Errors
    /// [`BadRow::TooShort`], [`BadRow::Ends`].
    pub fn check(&self, body: &[u8]) -> Result<(), BadRow> {
        self.head.check(body)
    }

    /// The bytes of column `at` of a body; `None` where it has no value.
    ///
    /// # Errors
    /// [`BadRow`] for a body that does not reach as far.
    ///
    /// # Panics
    /// When there is no such column.
    pub fn cell<'b>(&self, body: &'b [u8], at: usize) -> Result<Option<&'b [u8]>, BadRow> {
        self.head.cell(body, self.places[at])
    }

    /// Whether two bodies have the same in these columns.
    ///
    /// # Errors
    /// As for [`RowFormat::cell`].
    ///
    /// # Panics
    /// As for [`RowFormat::cell`].
    pub fn same_cells(
        &self,
        one: &[u8],
        other: &[u8],
        columns: impl IntoIterator<Item = usize>,
    ) -> Result<bool, BadRow> {
        for at in columns {
            if self.cell(one, at)? != self.cell(other, at)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Appends a body of these cells to `out`: for each column its bytes, or none.
    ///
    /// # Panics
    /// When there are not as many cells as columns, a column that must have a value has none, a cell of fixed size has
    /// other bytes, or those of variable size have more than 4 GiB.
    pub fn write<'c>(&self, cells: impl IntoIterator<Item = Option<&'c [u8]>>, out: &mut Vec<u8>) {
        let mut body = self.begin(out);
        for cell in cells {
            let written = body.cell(|out| {
                out.extend_from_slice(cell.unwrap_or_default());
                Ok::<_, Infallible>(cell.is_some())
            });
            match written {
                Ok(()) => {}
            }
        }
        body.end();
    }

    /// Puts another cell in place of that of column `at`, in the body that begins at byte `body` of `out` and goes to its
    /// end: `write` appends its bytes to what it gets, and returns whether there is a value.
    ///
    /// # Errors
    /// That of `write`, and [`BadRow`] for bytes that are no body; they are none afterwards, either.
    ///
    /// # Panics
    /// When there is no such column or `body` lies beyond the end, or as [`RowFormat::write`] for the cell.
    pub fn replace<E: From<BadRow>>(
        &self,
        out: &mut Vec<u8>,
        body: usize,
        at: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>,
    ) -> Result<(), E> {
        let place = self.places[at];
        let end = out.len();
        let is_there = write(out)?;
        if !is_there {
            out.truncate(end);
        }
        let (there, cell) = out.split_at_mut(end);
        let there = &mut there[body..];
        match place.null {
            Some((byte, bit)) => {
                let Some(bits) = there.get_mut(byte) else {
                    return Err(self.head.too_short(there).into());
                };
                *bits = if is_there { *bits & !bit } else { *bits | bit };
            }
            None => assert!(is_there, "a value where there must be one"),
        }
        match place.at {
            At::Fixed { offset, bytes } => {
                let Some(old) = there.get_mut(offset..offset.saturating_add(bytes)) else {
                    return Err(self.head.too_short(there).into());
                };
                match is_there {
                    true => old.copy_from_slice(cell),
                    false => old.fill(0),
                }
                out.truncate(end);
            }
            At::Variable(number) => self.replace_variable(out, body, end, number)?,
        }
        Ok(())
    }

    /// As [`RowFormat::replace`], of the column of variable size of this number; its new bytes follow the body, from byte
    /// `end` on.
    fn replace_variable(
        &self,
        out: &mut Vec<u8>,
        body: usize,
        end: usize,
        number: usize,
    ) -> Result<(), BadRow> {
        let head = self.head;
        let (from, to) = head.span(&out[body..end], number)?;
        let tail = body + head.bytes();
        let reaches = end.checked_sub(tail).is_some_and(|rest| rest >= to);
        if from > to || !reaches {
            return Err(BadRow::Ends);
        }
        let (old, new) = (to - from, out.len() - end);
        if old == new {
            out.copy_within(end.., tail + from);
            out.truncate(end);
            return Ok(());
        }
        out[tail + to..].rotate_right(new);
        out.drain(tail + from..tail + to);
        for number in number..head.variable {
            let moved = (head.end(&out[body..], number)? + new).checked_sub(old);
            let moved = u32::try_from(moved.ok_or(BadRow::Ends)?).expect("at most 4 GiB");
            let at = body + head.end_offset(number);
            out[at..at + Head::END_BYTES].copy_from_slice(&moved.to_le_bytes());
        }
        Ok(())
    }

    /// Begins a body at the end of `out`, whose cells are written one after the other.
    pub fn begin<'w>(&'w self, out: &'w mut Vec<u8>) -> BodyWriter<'w> {
        let body = out.len();
        out.resize(body + self.head.bytes(), 0);
        let tail = out.len();
        BodyWriter { format: self, out, body, tail, next: 0 }
    }
}

/// A body in progress.
#[derive(Debug)]
pub struct BodyWriter<'w> {
    format: &'w RowFormat,
    out: &'w mut Vec<u8>,
    /// Where the body begins, and where the columns of variable size do.
    body: usize,
    tail: usize,
    /// The column whose cell comes next.
    next: usize,
}

impl BodyWriter<'_> {
    /// The cell of the next column: `write` appends its bytes to what it gets, and returns whether there is a value.
    ///
    /// # Errors
    /// That of `write`. The bytes are no body then.
    ///
    /// # Panics
    /// When there is no further column, or as [`RowFormat::write`] for the cell.
    #[inline]
    pub fn cell<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>,
    ) -> Result<(), E> {
        let Self { format, out, body, tail, next } = self;
        let place = format.places.get(*next).expect("a column for each cell");
        *next += 1;
        let start = out.len();
        let is_there = write(out)?;
        if !is_there {
            let (byte, bit) = place.null.expect("a value where there must be one");
            out[*body + byte] |= bit;
        }
        match place.at {
            At::Fixed { offset, bytes } => {
                let cell = out.len() - start;
                assert!(cell == if is_there { bytes } else { 0 }, "the bytes of its type");
                out.copy_within(start.., *body + offset);
                out.truncate(start);
            }
            At::Variable(number) => {
                let end = u32::try_from(out.len() - *tail).expect("at most 4 GiB");
                let at = *body + format.head.end_offset(number);
                out[at..at + Head::END_BYTES].copy_from_slice(&end.to_le_bytes());
            }
        }
        Ok(())
    }

    /// All cells are written.
    ///
    /// # Panics
    /// When there are columns without a cell.
    pub fn end(self) {
        assert!(self.next == self.format.places.len(), "a cell for each column");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(types: &[&str]) -> RowFormat {
        let parsed: Vec<ColumnType> = types.iter().map(|text| text.parse().expect(text)).collect();
        RowFormat::of(&parsed)
    }

    /// Puts a cell in place of another.
    fn put(
        format: &RowFormat,
        out: &mut Vec<u8>,
        body: usize,
        at: usize,
        cell: Option<&[u8]>,
    ) -> Result<(), BadRow> {
        format.replace(out, body, at, |out| {
            out.extend_from_slice(cell.unwrap_or_default());
            Ok(cell.is_some())
        })
    }

    #[test]
    fn columns_lie_where_the_drawing_says() {
        let format = format(&["u16", "string", "option(u32)", "option(blob)", "bool"]);
        let mut out = b"before".to_vec();
        let cells: [Option<&[u8]>; 5] =
            [Some(&[1, 2]), Some(b"text"), None, Some(b"xyz"), Some(&[1])];
        format.write(cells, &mut out);
        let body = &out[6..];
        let expected =
            [&[0b01, 1, 2, 0, 0, 0, 0, 1][..], &[4, 0, 0, 0, 7, 0, 0, 0], b"textxyz"].concat();
        assert_eq!(body, expected);
        assert_eq!(format.check(body), Ok(()));
        for (at, cell) in cells.into_iter().enumerate() {
            assert_eq!(format.cell(body, at), Ok(cell), "{at}");
        }
    }

    #[test]
    fn bodies_of_other_lengths_are_refused() {
        let format = format(&["u16", "string", "option(string)"]);
        let mut body = Vec::new();
        format.write([Some(&[1, 2][..]), Some(b"text"), Some(b"xyz")], &mut body);
        for length in 0..body.len() {
            assert!(format.check(&body[..length]).is_err(), "{length}");
            for at in 0..3 {
                let _ = format.cell(&body[..length], at);
            }
        }
        let longer = [&body[..], &[0]].concat();
        assert_eq!(format.check(&longer), Err(BadRow::Ends));
        let mut crossed = body.clone();
        crossed[3] = 9;
        assert_eq!(format.check(&crossed), Err(BadRow::Ends));
        crossed[3..7].fill(0xff);
        assert_eq!(format.check(&crossed), Err(BadRow::Ends));
        assert_eq!(format.cell(&crossed, 1), Err(BadRow::Ends));
        for at in 1..3 {
            let replaced = put(&format, &mut crossed.clone(), 0, at, Some(b"other"));
            assert_eq!(replaced, Err(BadRow::Ends), "{at}");
        }
    }

    #[test]
    fn a_cell_in_place_of_another_leaves_the_body_of_all_cells() {
        let format = format(&["u16", "string", "option(u32)", "option(blob)", "bool", "string"]);
        let fixed: [&[Option<&[u8]>]; 3] =
            [&[Some(&[1, 2])], &[None, Some(&[9, 8, 7, 6])], &[Some(&[1])]];
        let variable: [Option<&[u8]>; 4] = [None, Some(b""), Some(b"abc"), Some(b"longer")];
        let choices: [&[Option<&[u8]>]; 6] =
            [fixed[0], &variable[1..], fixed[1], &variable, fixed[2], &variable[1..]];
        let mut bodies = vec![Vec::new()];
        for column in choices {
            let longer = bodies.iter().flat_map(|cells| {
                column.iter().map(move |cell| [cells.as_slice(), &[*cell]].concat())
            });
            bodies = longer.collect();
        }
        for cells in &bodies {
            for (at, column) in choices.iter().enumerate() {
                for cell in *column {
                    let mut out = b"before".to_vec();
                    format.write(cells.iter().copied(), &mut out);
                    assert_eq!(put(&format, &mut out, 6, at, *cell), Ok(()));
                    let mut expected = b"before".to_vec();
                    let there = |(place, old): (usize, &Option<_>)| {
                        if place == at { *cell } else { *old }
                    };
                    format.write(cells.iter().enumerate().map(there), &mut expected);
                    assert_eq!(out, expected, "{cells:?}, {at}, {cell:?}");
                }
            }
        }
        let mut whole = Vec::new();
        format.write(bodies[0].iter().copied(), &mut whole);
        for length in 0..whole.len() {
            for at in 0..choices.len() {
                let cell = choices[at][choices[at].len() - 1];
                let _ = put(&format, &mut whole[..length].to_vec(), 0, at, cell);
            }
        }
    }

    #[test]
    fn the_ninth_null_is_in_the_second_byte() {
        let format = format(&["option(u8)"; 9]);
        assert_eq!(format.place(8).null, Some((1, 1)));
        assert_eq!(format.place(0).at, At::Fixed { offset: 2, bytes: 1 });
    }
}
