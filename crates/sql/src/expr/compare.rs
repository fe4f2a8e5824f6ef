//! How values compare.

use crate::datum::Datum;
use core::cmp::Ordering;

/// A comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }

    /// The one that holds for the operands in the other order.
    pub fn swapped(self) -> Self {
        match self {
            Self::Equal | Self::NotEqual => self,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }

    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

/// How two values of one type compare; `None` where one of them is null, within records too.
pub(crate) fn compare(one: &Datum<'_>, two: &Datum<'_>) -> Option<Ordering> {
    Some(match (one, two) {
        (Datum::Null, _) | (_, Datum::Null) => return None,
        (Datum::Bool(one), Datum::Bool(two)) => one.cmp(two),
        (Datum::Int(one), Datum::Int(two)) => one.cmp(two),
        (Datum::Float(one), Datum::Float(two)) => floats(*one, *two),
        (Datum::Numeric(one), Datum::Numeric(two)) => one.compare(*two),
        (Datum::Text(one), Datum::Text(two)) => one.as_bytes().cmp(two.as_bytes()),
        (Datum::Bytes(one), Datum::Bytes(two)) => one.cmp(two),
        (Datum::Date(one), Datum::Date(two)) => one.cmp(two),
        (Datum::Time(one), Datum::Time(two)) | (Datum::Timestamp(one), Datum::Timestamp(two)) => {
            one.cmp(two)
        }
        (Datum::Uuid(one), Datum::Uuid(two)) => one.cmp(two),
        (Datum::Record(one), Datum::Record(two)) => {
            for (one, two) in one.iter().zip(two.iter()) {
                match compare(one, two)? {
                    Ordering::Equal => {}
                    order => return Some(order),
                }
            }
            one.len().cmp(&two.len())
        }
        // The binder gives both sides one type.
        (one, two) => rank(one).cmp(&rank(two)),
    })
}

fn rank(datum: &Datum<'_>) -> usize {
    match datum {
        Datum::Null => 0,
        Datum::Bool(_) => 1,
        Datum::Int(_) => 2,
        Datum::Float(_) => 3,
        Datum::Numeric(_) => 4,
        Datum::Text(_) => 5,
        Datum::Bytes(_) => 6,
        Datum::Date(_) => 7,
        Datum::Time(_) => 8,
        Datum::Timestamp(_) => 9,
        Datum::Uuid(_) => 10,
        Datum::Record(_) => 11,
    }
}

/// What is no number equals itself and is the greatest.
fn floats(one: f64, two: f64) -> Ordering {
    one.partial_cmp(&two).unwrap_or_else(|| one.is_nan().cmp(&two.is_nan()))
}

/// Whether two values are equal, nulls among them.
pub(crate) fn equals(one: &Datum<'_>, two: &Datum<'_>) -> bool {
    match (one, two) {
        (Datum::Null, Datum::Null) => true,
        (Datum::Record(one), Datum::Record(two)) => {
            one.len() == two.len() && one.iter().zip(two.iter()).all(|(one, two)| equals(one, two))
        }
        _ => compare(one, two) == Some(Ordering::Equal),
    }
}

/// How two values stand in an order.
pub(crate) fn sort_order(
    one: &Datum<'_>,
    two: &Datum<'_>,
    descending: bool,
    nulls_first: bool,
) -> Ordering {
    match (one.is_null(), two.is_null()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return if nulls_first { Ordering::Less } else { Ordering::Greater },
        (false, true) => return if nulls_first { Ordering::Greater } else { Ordering::Less },
        (false, false) => {}
    }
    let order = compare(one, two).unwrap_or(Ordering::Equal);
    if descending { order.reverse() } else { order }
}
