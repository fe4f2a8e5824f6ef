//! Values in rows, of fixed and of variable size.

use crate::{ColumnType, Typed};
use chiliad_api::row::{BadValue, ValueSource};

/// A value that a column can have.
///
/// `#[derive(chiliad::Stored)]` makes enums, structs and newtypes columns:
///
/// ```
/// use chiliad::{Database, Row, Stored, Table};
///
/// #[derive(Stored, Debug, Clone, PartialEq)]
/// enum Shape {
///     Point,
///     Circle(f64),
///     Polygon { corners: Vec<(f64, f64)>, filled: bool },
/// }
///
/// #[derive(Row, Debug, PartialEq)]
/// struct Drawing {
///     title: String,
///     shapes: Vec<Shape>,
///     thumbnail: Option<Vec<u8>>,
/// }
///
/// let db = Database::in_memory()?;
/// let drawings: Table<u64, Drawing> = db.create_table("drawings")?;
/// let corners = vec![(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)];
/// let drawing = Drawing {
///     title: "a corner".into(),
///     shapes: vec![Shape::Circle(0.5), Shape::Polygon { corners, filled: true }],
///     thumbnail: None,
/// };
/// db.run(|tx| tx.insert(&drawings, &1, &drawing))?;
/// assert_eq!(db.run(|tx| tx.get(&drawings, &1))?, Some(drawing));
/// # Ok::<(), chiliad::Error>(())
/// ```
///
/// A type of the application's own may also implement it by hand, most simply over a type that is one already:
///
/// ```
/// use chiliad::row::{BadValue, ValueSource};
/// use chiliad::{ColumnType, Row, Stored, Typed};
///
/// #[derive(Debug, PartialEq)]
/// struct Cents(i64);
///
/// impl Stored for Cents {
///     const VALUE_BYTES: Option<usize> = i64::VALUE_BYTES;
///     fn write_value(&self, out: &mut Vec<u8>) {
///         self.0.write_value(out);
///     }
///     fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue> {
///         i64::read_value(source).map(Cents)
///     }
/// }
///
/// impl Typed for Cents {
///     fn column_type() -> ColumnType {
///         ColumnType::custom("cents", Some(8))
///     }
/// }
///
/// #[derive(Row)]
/// struct Price {
///     net: Cents,
///     gross: Cents,
/// }
/// ```
///
/// What it writes must be what its type says: the catalog, indexes and other programs read it by that.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no column of a row",
    note = "columns are numbers, `bool`, `char`, `String`, `Vec`, arrays, tuples, `Option`, `Text<N>`, `Duration`, \
            `SystemTime`, `IpAddr`, and types with `#[derive(chiliad::Stored)]`; with the features `uuid`, `jiff`, `chrono` \
            and `rust_decimal` their types, and with `serde` any type `T` of it as `Json<T>`"
)]
pub trait Stored: Typed + Sized {
    /// Bytes of a value within another one, where they are always as many.
    const VALUE_BYTES: Option<usize>;
    /// Bytes of a column, where they are always as many.
    const CELL_BYTES: Option<usize> = Self::VALUE_BYTES;
    /// Whether a column may have no value.
    const NULLABLE: bool = false;

    /// Appends the bytes of a value within another one.
    fn write_value(&self, out: &mut Vec<u8>);

    /// Takes a value from within another one.
    ///
    /// # Errors
    /// When the bytes are none.
    fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue>;

    /// Writes a column of fixed size; `cell` has [`Stored::CELL_BYTES`]. Without a value nothing is written.
    fn put_cell(&self, cell: &mut [u8]) {
        let mut bytes = Vec::with_capacity(cell.len());
        self.write_cell(&mut bytes);
        if self.has_value() {
            cell.copy_from_slice(&bytes);
        }
    }

    /// Appends the bytes of a column. Without a value there are none.
    fn write_cell(&self, out: &mut Vec<u8>) {
        self.write_value(out);
    }

    /// The value of a column of these bytes.
    ///
    /// # Errors
    /// When the bytes are none.
    fn read_cell(cell: &[u8]) -> Result<Self, BadValue> {
        let mut source = ValueSource::new(cell);
        let value = Self::read_value(&mut source)?;
        if source.is_empty() { Ok(value) } else { Err(BadValue::new("bytes after a value")) }
    }

    /// Whether there is a value.
    #[must_use]
    fn has_value(&self) -> bool {
        true
    }

    /// The value of a column without one.
    #[must_use]
    fn none() -> Option<Self> {
        None
    }

    /// The type of a list of such values.
    #[must_use]
    fn list_type() -> ColumnType {
        Self::column_type().list()
    }

    /// The type of so many such values.
    #[must_use]
    fn array_type(length: u32) -> ColumnType {
        Self::column_type().array(length)
    }

    /// Appends the bytes of a list's column.
    fn write_list_cell(items: &[Self], out: &mut Vec<u8>) {
        Self::write_list(items, out);
    }

    /// The list of a column of these bytes.
    ///
    /// # Errors
    /// When the bytes are none.
    fn read_list_cell(cell: &[u8]) -> Result<Vec<Self>, BadValue> {
        let mut source = ValueSource::new(cell);
        let items = Self::read_list(&mut source)?;
        if source.is_empty() { Ok(items) } else { Err(BadValue::new("bytes after a value")) }
    }

    /// Appends the bytes of a list.
    fn write_list(items: &[Self], out: &mut Vec<u8>) {
        put_count(items.len(), out);
        Self::write_items(items, out);
    }

    /// Appends the bytes of values, one after the other.
    fn write_items(items: &[Self], out: &mut Vec<u8>) {
        items.iter().for_each(|item| item.write_value(out));
    }

    /// Takes `N` values.
    ///
    /// # Errors
    /// When the bytes are none.
    fn read_array<const N: usize>(source: &mut ValueSource<'_>) -> Result<[Self; N], BadValue> {
        let items = (0..N).map(|_| Self::read_value(source)).collect::<Result<Vec<Self>, _>>()?;
        items.try_into().map_err(|_| BadValue::new("an array of another length"))
    }

    /// Takes a list.
    ///
    /// # Errors
    /// When the bytes are none.
    fn read_list(source: &mut ValueSource<'_>) -> Result<Vec<Self>, BadValue> {
        let count = u32::from_le_bytes(source.take()?) as usize;
        // Each item has a byte at least.
        if count > source.left() {
            return Err(BadValue::new("a list of more items than its bytes can tell"));
        }
        (0..count).map(|_| Self::read_value(source)).collect()
    }
}

/// The number of a list's items. A row has no room for as many as have none.
pub(super) fn put_count(count: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

/// Bytes after their number.
pub(super) fn put_blob(bytes: &[u8], out: &mut Vec<u8>) {
    put_count(bytes.len(), out);
    out.extend_from_slice(bytes);
}

/// The sum of sizes, where all are known. For the derive macro.
#[must_use]
pub const fn sum_bytes(sizes: &[Option<usize>]) -> Option<usize> {
    let (mut sum, mut at) = (0, 0);
    while at < sizes.len() {
        match sizes[at] {
            Some(bytes) => sum += bytes,
            None => return None,
        }
        at += 1;
    }
    Some(sum)
}
