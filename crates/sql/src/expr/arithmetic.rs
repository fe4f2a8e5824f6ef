//! Arithmetic, with the limits of each type.

use crate::codec::times::DAY;
use crate::datum::Datum;
use crate::error::{Result, SqlError};
use crate::types::Type;

/// An operator of two numbers, or of a date and days.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

impl Operator {
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
            Self::Power => "^",
            Self::And => "&",
            Self::Or => "|",
            Self::Xor => "#",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
        }
    }
}

/// The type in which an operation is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Number {
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    Numeric,
    /// A date and days.
    DateDays,
    /// Two dates.
    Dates,
}

impl Number {
    pub fn of(of: Type) -> Option<Self> {
        Some(match of {
            Type::Int2 => Self::Int2,
            Type::Int4 => Self::Int4,
            Type::Int8 | Type::Oid => Self::Int8,
            Type::Float4 => Self::Float4,
            Type::Float8 => Self::Float8,
            Type::Numeric => Self::Numeric,
            _ => return None,
        })
    }

    pub fn result(self) -> Type {
        match self {
            Self::Int2 => Type::Int2,
            Self::Int4 | Self::Dates => Type::Int4,
            Self::Int8 => Type::Int8,
            Self::Float4 => Type::Float4,
            Self::Float8 => Type::Float8,
            Self::Numeric => Type::Numeric,
            Self::DateDays => Type::Date,
        }
    }

    /// Refuses a number that the type does not hold.
    fn check(self, value: Option<i64>) -> Result<Datum<'static>> {
        let of = self.result();
        let (low, high) = match self {
            Self::Int2 => (i16::MIN.into(), i16::MAX.into()),
            Self::Int4 | Self::Dates => (i32::MIN.into(), i32::MAX.into()),
            _ => (i64::MIN, i64::MAX),
        };
        match value {
            Some(value) if (low..=high).contains(&value) => Ok(Datum::Int(value)),
            _ => Err(out_of_range(of)),
        }
    }
}

#[cold]
pub(crate) fn out_of_range(of: Type) -> SqlError {
    SqlError::numeric_out_of_range(format!("{of} out of range"))
}

#[cold]
fn by_zero() -> SqlError {
    SqlError::division_by_zero("division by zero")
}

pub(crate) fn apply<'a>(
    operator: Operator,
    number: Number,
    one: &Datum<'_>,
    two: &Datum<'_>,
) -> Result<Datum<'a>> {
    match (one, two) {
        (Datum::Null, _) | (_, Datum::Null) => Ok(Datum::Null),
        (Datum::Int(one), Datum::Int(two)) => number.check(integers(operator, *one, *two)?),
        (Datum::Float(one), Datum::Float(two)) => floats(operator, number, *one, *two),
        (Datum::Numeric(one), Datum::Numeric(two)) => Ok(Datum::Numeric(match operator {
            Operator::Add => one.add(*two)?,
            Operator::Subtract => one.sub(*two)?,
            Operator::Multiply => one.mul(*two)?,
            Operator::Divide => one.div(*two)?,
            Operator::Modulo => one.rem(*two)?,
            _ => return Err(SqlError::internal("an operator of no numeric")),
        })),
        (Datum::Date(one), Datum::Int(two)) => {
            let days = i64::from(*one);
            let days = match operator {
                Operator::Add => days.checked_add(*two),
                _ => days.checked_sub(*two),
            };
            let days = days.and_then(|it| i32::try_from(it).ok());
            let bounded = days.filter(|it| i64::from(*it).abs() < i64::MAX / DAY * 40);
            bounded
                .map(Datum::Date)
                .ok_or_else(|| SqlError::datetime_out_of_range("date out of range"))
        }
        (Datum::Int(_), Datum::Date(_)) => apply(operator, number, two, one),
        (Datum::Date(one), Datum::Date(two)) => {
            number.check(Some(i64::from(*one) - i64::from(*two)))
        }
        _ => Err(SqlError::internal("operands of other types")),
    }
}

fn integers(operator: Operator, one: i64, two: i64) -> Result<Option<i64>> {
    let shift = u32::try_from(two.rem_euclid(64)).unwrap_or(0);
    Ok(match operator {
        Operator::Add => one.checked_add(two),
        Operator::Subtract => one.checked_sub(two),
        Operator::Multiply => one.checked_mul(two),
        Operator::Divide | Operator::Modulo if two == 0 => return Err(by_zero()),
        Operator::Divide => one.checked_div(two),
        Operator::Modulo => Some(one.checked_rem(two).unwrap_or(0)),
        Operator::And => Some(one & two),
        Operator::Or => Some(one | two),
        Operator::Xor => Some(one ^ two),
        Operator::ShiftLeft => Some(one.wrapping_shl(shift)),
        Operator::ShiftRight => Some(one.wrapping_shr(shift)),
        Operator::Power => return Err(SqlError::internal("a power of integers")),
    })
}

fn floats<'a>(operator: Operator, number: Number, one: f64, two: f64) -> Result<Datum<'a>> {
    let value = match operator {
        Operator::Add => one + two,
        Operator::Subtract => one - two,
        Operator::Multiply => one * two,
        Operator::Divide if two == 0.0 && !one.is_nan() => return Err(by_zero()),
        Operator::Divide => one / two,
        Operator::Power => return power(one, two).map(Datum::Float),
        _ => return Err(SqlError::internal("an operator of no float")),
    };
    checked(value, number, one, two, operator)
}

#[expect(clippy::cast_possible_truncation, reason = "the operation is one of single precision")]
fn checked<'a>(
    value: f64,
    number: Number,
    one: f64,
    two: f64,
    operator: Operator,
) -> Result<Datum<'a>> {
    let value = if number == Number::Float4 { f64::from(value as f32) } else { value };
    if value.is_infinite() && one.is_finite() && two.is_finite() {
        return Err(SqlError::numeric_out_of_range("value out of range: overflow"));
    }
    let product = matches!(operator, Operator::Multiply | Operator::Divide);
    if value == 0.0 && product && one != 0.0 && two.is_finite() && two != 0.0 {
        return Err(SqlError::numeric_out_of_range("value out of range: underflow"));
    }
    Ok(Datum::Float(value))
}

/// A power of floating-point numbers.
pub(crate) fn power(one: f64, two: f64) -> Result<f64> {
    if one == 0.0 && two < 0.0 {
        return Err(SqlError::invalid_power("zero raised to a negative power is undefined"));
    }
    if one < 0.0 && two.is_finite() && two.fract() != 0.0 {
        let message = "a negative number raised to a non-integer power yields a complex result";
        return Err(SqlError::invalid_power(message));
    }
    let value = one.powf(two);
    if value.is_infinite() && one.is_finite() && two.is_finite() {
        return Err(SqlError::numeric_out_of_range("value out of range: overflow"));
    }
    Ok(value)
}

pub(crate) fn negate<'a>(number: Number, of: &Datum<'_>) -> Result<Datum<'a>> {
    match of {
        Datum::Null => Ok(Datum::Null),
        Datum::Int(value) => number.check(value.checked_neg()),
        Datum::Float(value) => Ok(Datum::Float(-value)),
        Datum::Numeric(value) => Ok(Datum::Numeric(value.negated())),
        _ => Err(SqlError::internal("an operand of another type")),
    }
}
