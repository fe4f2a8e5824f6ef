//! The types of columns, as data.

mod parse;
mod show;
mod sizes;
mod widen;

pub use parse::NoColumnType;
pub(crate) use sizes::DAY;

/// Types within types, at most.
pub const DEPTH_MAX: usize = 16;

/// The type of a column, of a part of a key or of a part of either. Its text form, by which it is stored, is that of the
/// variants' examples; the bytes of its values are those of [`Value::encode`](crate::Value::encode).
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum ColumnType {
    /// `unit`: no bytes; there is one value.
    Unit,
    /// `bool`.
    Bool,
    /// `u8`, `u16`, `u32`, `u64`, `u128`: an unsigned integer of so many bits.
    Unsigned(u16),
    /// `i8`, `i16`, `i32`, `i64`, `i128`: a signed one.
    Signed(u16),
    /// `f32`, `f64`: a floating-point number.
    Float(u16),
    /// `decimal`: an integer of at most 38 digits, and how many of them are decimal places.
    Decimal,
    /// `char`: a Unicode scalar value.
    Char,
    /// `bytes(16)`: as many bytes, always.
    Bytes(u32),
    /// `text(16)`: UTF-8 of at most as many bytes, of which there are at most 255.
    Text(u32),
    /// `blob`: bytes, as many as there are.
    Blob,
    /// `string`: UTF-8 of any length.
    String,
    /// `json`: UTF-8 that is a JSON value.
    Json,
    /// `duration`: seconds and nanoseconds, not negative.
    Duration,
    /// `instant`: an instant, by seconds and nanoseconds from 1970-01-01 00:00 UTC.
    Instant,
    /// `date`: days from 1970-01-01.
    Date,
    /// `time`: nanoseconds from midnight.
    Time,
    /// `ip`: an address of version 4 or 6.
    Ip,
    /// `uuid`: its 16 bytes.
    Uuid,
    /// `option(u32)`: that, or nothing.
    Optional(Box<Self>),
    /// `desc(u32)`: in reverse order; in keys alone.
    Descending(Box<Self>),
    /// `array(u32, 4)`: as many of them, always.
    Array(Box<Self>, u32),
    /// `list(u32)`: as many as there are.
    List(Box<Self>),
    /// `tuple(u32, string)`.
    Tuple(Vec<Self>),
    /// `struct(street string, number u32)`.
    Struct(Vec<Member>),
    /// `enum(0 Red, 1 Gray(u8), 2 Mixed(red u8, blue u8))`: one of several, by number.
    Enum(Vec<Variant>),
    /// `custom(money)`, `custom(money, 8)`: a type of the application's own, and its bytes where they are
    /// always as many.
    Custom {
        /// Its name.
        name: String,
        /// How many bytes it has.
        bytes: Option<u32>,
    },
}

/// A named part of a struct, or of a variant.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its type.
    pub column_type: ColumnType,
}

/// A variant of an enum.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Variant {
    /// The number that stands for it in a row.
    pub number: u16,
    /// Its name.
    pub name: String,
    /// What it carries.
    pub fields: Fields,
}

/// The values that a variant carries.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub enum Fields {
    /// Nothing.
    None,
    /// Values by position.
    Tuple(Vec<ColumnType>),
    /// Values by name.
    Struct(Vec<Member>),
}

impl ColumnType {
    /// A type of the application's own, whose values have so many bytes, if they always do.
    #[must_use]
    pub fn custom(name: &str, bytes: Option<u32>) -> Self {
        Self::Custom { name: name.into(), bytes }
    }

    /// This type, or nothing.
    #[must_use]
    pub fn optional(self) -> Self {
        Self::Optional(Box::new(self))
    }

    /// This type as a part of a key in reverse order.
    #[must_use]
    pub fn descending(self) -> Self {
        Self::Descending(Box::new(self))
    }

    /// As many of this type as there are.
    #[must_use]
    pub fn list(self) -> Self {
        Self::List(Box::new(self))
    }

    /// `length` of this type.
    #[must_use]
    pub fn array(self, length: u32) -> Self {
        Self::Array(Box::new(self), length)
    }

    /// Whether the values have an order that keys and indexes can keep.
    #[must_use]
    pub fn has_order(&self) -> bool {
        match self {
            Self::Json | Self::Custom { .. } => false,
            Self::Optional(of) | Self::Descending(of) | Self::Array(of, _) | Self::List(of) => {
                of.has_order()
            }
            Self::Tuple(of) => of.iter().all(Self::has_order),
            Self::Struct(of) => of.iter().all(|member| member.column_type.has_order()),
            Self::Enum(of) => of.iter().all(|variant| variant.fields.types().all(Self::has_order)),
            _ => true,
        }
    }
}

impl Fields {
    /// The types of what a variant carries, in order.
    pub fn types(&self) -> impl Iterator<Item = &ColumnType> {
        let (tuple, named): (&[ColumnType], &[Member]) = match self {
            Self::None => (&[], &[]),
            Self::Tuple(types) => (types, &[]),
            Self::Struct(members) => (&[], members),
        };
        tuple.iter().chain(named.iter().map(|member| &member.column_type))
    }
}

/// Whether a name may have this letter.
pub(crate) fn is_of_name(letter: char) -> bool {
    !letter.is_whitespace() && !letter.is_control() && !matches!(letter, ',' | '(' | ')')
}

/// Whether a column, member or variant may have this name.
#[must_use]
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_of_name)
}
