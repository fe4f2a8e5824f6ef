//! The values that types of other crates stand for, with their bytes and their order in keys.

use crate::column_type::DAY;
use crate::key::{BadKey, KeyPart, Sink, Source};
use crate::parts::below_a_second;
use crate::{BadValue, ColumnType, Decimal, ValueSource};

/// Values of one column type, which have always as many bytes.
pub trait Plain: KeyPart<Decoded = Self> + Sized {
    /// Bytes of a value.
    const VALUE_BYTES: usize;

    /// The type.
    #[must_use]
    fn column_type() -> ColumnType;

    /// Appends the bytes of a value.
    fn write_value(&self, out: &mut Vec<u8>);

    /// Takes a value.
    ///
    /// # Errors
    /// When the bytes are none.
    fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue>;
}

/// Of `uuid`.
impl Plain for [u8; 16] {
    const VALUE_BYTES: usize = 16;

    fn column_type() -> ColumnType {
        ColumnType::Uuid
    }

    #[inline]
    fn write_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    #[inline]
    fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue> {
        source.take()
    }
}

/// Of `decimal`.
impl Plain for Decimal {
    const VALUE_BYTES: usize = 17;

    fn column_type() -> ColumnType {
        ColumnType::Decimal
    }

    fn write_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.mantissa().to_le_bytes());
        out.push(self.scale());
    }

    fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue> {
        let mantissa = i128::from_le_bytes(source.take()?);
        let [scale] = source.take()?;
        Self::new(mantissa, scale)
    }
}

/// Of `instant`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Instant {
    seconds: i64,
    nanoseconds: u32,
}

impl Instant {
    /// Seconds from 1970-01-01 00:00 UTC, rounded down, and nanoseconds after them; of a second of more nanoseconds than
    /// there are, the last.
    #[must_use]
    pub fn new(seconds: i64, nanoseconds: u32) -> Self {
        Self { seconds, nanoseconds: nanoseconds.min(crate::parts::SECOND - 1) }
    }

    /// Whole seconds, rounded down.
    #[must_use]
    pub fn seconds(self) -> i64 {
        self.seconds
    }

    /// Nanoseconds after them, below a second.
    #[must_use]
    pub fn nanoseconds(self) -> u32 {
        self.nanoseconds
    }
}

impl KeyPart for Instant {
    const BYTES_MAX: usize = 12;
    type Decoded = Self;

    #[inline]
    fn write<S: Sink>(&self, sink: &mut S) {
        self.seconds.write(sink);
        self.nanoseconds.write(sink);
    }

    #[inline]
    fn read(source: &mut Source<'_>) -> Result<Self, BadKey> {
        let seconds = i64::read(source)?;
        let nanoseconds = below_a_second(u32::read(source)?).map_err(|_| BadKey)?;
        Ok(Self { seconds, nanoseconds })
    }
}

impl Plain for Instant {
    const VALUE_BYTES: usize = 12;

    fn column_type() -> ColumnType {
        ColumnType::Instant
    }

    #[inline]
    fn write_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.seconds.to_le_bytes());
        out.extend_from_slice(&self.nanoseconds.to_le_bytes());
    }

    #[inline]
    fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue> {
        let seconds = i64::from_le_bytes(source.take()?);
        let nanoseconds = below_a_second(u32::from_le_bytes(source.take()?))?;
        Ok(Self { seconds, nanoseconds })
    }
}

/// Of `date`: days from 1970-01-01.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Date(pub i32);

impl KeyPart for Date {
    const BYTES_MAX: usize = 4;
    type Decoded = Self;

    #[inline]
    fn write<S: Sink>(&self, sink: &mut S) {
        self.0.write(sink);
    }

    #[inline]
    fn read(source: &mut Source<'_>) -> Result<Self, BadKey> {
        i32::read(source).map(Self)
    }
}

impl Plain for Date {
    const VALUE_BYTES: usize = 4;

    fn column_type() -> ColumnType {
        ColumnType::Date
    }

    #[inline]
    fn write_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_le_bytes());
    }

    #[inline]
    fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue> {
        source.take().map(i32::from_le_bytes).map(Self)
    }
}

/// Of `time`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Time(u64);

impl Time {
    /// Nanoseconds from midnight.
    ///
    /// # Errors
    /// For a day or more of them.
    pub fn new(nanoseconds: u64) -> Result<Self, BadValue> {
        if nanoseconds < DAY {
            Ok(Self(nanoseconds))
        } else {
            Err(BadValue::new("a time of day after its end"))
        }
    }

    /// Nanoseconds from midnight; of a second of more than there are, the last.
    ///
    /// # Panics
    /// After the last second of a day.
    #[must_use]
    pub fn of_second(second: u32, nanoseconds: u32) -> Self {
        let below = nanoseconds.min(crate::parts::SECOND - 1);
        Self::new(u64::from(second) * u64::from(crate::parts::SECOND) + u64::from(below))
            .expect("a second of a day")
    }

    /// Whole seconds from midnight, and nanoseconds after them.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a day has fewer seconds, a second fewer nanoseconds"
    )]
    pub fn second(self) -> (u32, u32) {
        let second = u64::from(crate::parts::SECOND);
        ((self.0 / second) as u32, (self.0 % second) as u32)
    }
}

impl KeyPart for Time {
    const BYTES_MAX: usize = 8;
    type Decoded = Self;

    #[inline]
    fn write<S: Sink>(&self, sink: &mut S) {
        self.0.write(sink);
    }

    #[inline]
    fn read(source: &mut Source<'_>) -> Result<Self, BadKey> {
        Self::new(u64::read(source)?).map_err(|_| BadKey)
    }
}

impl Plain for Time {
    const VALUE_BYTES: usize = 8;

    fn column_type() -> ColumnType {
        ColumnType::Time
    }

    #[inline]
    fn write_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_le_bytes());
    }

    #[inline]
    fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue> {
        Self::new(u64::from_le_bytes(source.take()?))
    }
}

/// Of `tuple(date, time)`: a day and a time of it, in no zone.
impl Plain for (Date, Time) {
    const VALUE_BYTES: usize = Date::VALUE_BYTES + Time::VALUE_BYTES;

    fn column_type() -> ColumnType {
        ColumnType::Tuple(vec![Date::column_type(), Time::column_type()])
    }

    fn write_value(&self, out: &mut Vec<u8>) {
        self.0.write_value(out);
        self.1.write_value(out);
    }

    fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue> {
        Ok((Date::read_value(source)?, Time::read_value(source)?))
    }
}
