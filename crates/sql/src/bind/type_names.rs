//! Types by their names in SQL.

use super::folded_names;
use crate::error::{Result, SqlError};
use crate::types::Type;
use sqlparser::ast::{CharacterLength, DataType, ExactNumberInfo, TimezoneInfo, TypeModifier};

/// The longest text that a length says.
const LENGTH_MAX: u64 = 10_485_760;

/// The type of a name, and its modifier.
pub(crate) fn of_data_type(data_type: &DataType) -> Result<(Type, i32)> {
    use DataType as D;
    Ok(match data_type {
        D::Bool | D::Boolean => (Type::Bool, -1),
        D::SmallInt(None) | D::Int2(None) => (Type::Int2, -1),
        D::Int(None) | D::Integer(None) | D::Int4(None) => (Type::Int4, -1),
        D::BigInt(None) | D::Int8(None) => (Type::Int8, -1),
        D::Real | D::Float4 => (Type::Float4, -1),
        D::DoublePrecision | D::Float8 | D::Float(ExactNumberInfo::None) => (Type::Float8, -1),
        D::Double(ExactNumberInfo::None) => (Type::Float8, -1),
        D::Float(ExactNumberInfo::Precision(bits)) => match bits {
            1..=24 => (Type::Float4, -1),
            25..=53 => (Type::Float8, -1),
            _ => {
                return Err(SqlError::invalid_parameter(
                    "precision for type float must be 1 to 53",
                ));
            }
        },
        D::Numeric(info) | D::Decimal(info) | D::Dec(info) => (Type::Numeric, precision(*info)?),
        D::Text => (Type::Text, -1),
        D::Varchar(length) | D::CharacterVarying(length) | D::CharVarying(length) => {
            (Type::Varchar, length_of(*length, None)?)
        }
        D::Char(length) | D::Character(length) => (Type::Bpchar, length_of(*length, Some(1))?),
        D::Bytea => (Type::Bytea, -1),
        D::Date => (Type::Date, -1),
        D::Time(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => (Type::Time, -1),
        D::Timestamp(places, zone) => {
            let places = places.map_or(Ok(-1), |it| {
                i32::try_from(it.min(6)).map_err(|_| SqlError::internal("a precision"))
            })?;
            let with = matches!(zone, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz);
            (if with { Type::Timestamptz } else { Type::Timestamp }, places)
        }
        D::Uuid => (Type::Uuid, -1),
        D::JSON => (Type::Json, -1),
        D::JSONB => (Type::Jsonb, -1),
        D::Custom(name, modifiers) => return custom(data_type, name, modifiers),
        _ => return Err(unsupported(data_type)),
    })
}

fn unsupported(data_type: &DataType) -> SqlError {
    SqlError::feature_not_supported(format!("the type {data_type}"))
}

/// Types that the parser does not know.
fn custom(
    data_type: &DataType,
    name: &sqlparser::ast::ObjectName,
    modifiers: &[TypeModifier],
) -> Result<(Type, i32)> {
    let names = folded_names(name);
    let name = names.last().map_or("", |it| it.value.as_str());
    let found = match name {
        "bpchar" => Type::Bpchar,
        "name" => Type::Name,
        "oid" => Type::Oid,
        "int2" => Type::Int2,
        "int4" => Type::Int4,
        "int8" => Type::Int8,
        "float4" => Type::Float4,
        "float8" => Type::Float8,
        "bool" => Type::Bool,
        "text" => Type::Text,
        "varchar" => Type::Varchar,
        "numeric" => Type::Numeric,
        "timestamptz" => Type::Timestamptz,
        "timestamp" => Type::Timestamp,
        "date" => Type::Date,
        "uuid" => Type::Uuid,
        "void" => Type::Void,
        "unknown" => Type::Unknown,
        "json" => Type::Json,
        "jsonb" => Type::Jsonb,
        "bytea" => Type::Bytea,
        "serial" | "serial4" => Type::Int4,
        "bigserial" | "serial8" => Type::Int8,
        "smallserial" | "serial2" => Type::Int2,
        _ => {
            return Err(SqlError::undefined_object(format!("type \"{name}\" does not exist")));
        }
    };
    if modifiers.is_empty() { Ok((found, -1)) } else { Err(unsupported(data_type)) }
}

/// Whether the type is a whole number with a sequence.
pub(crate) fn is_serial(data_type: &DataType) -> bool {
    let DataType::Custom(name, _) = data_type else { return false };
    let names = folded_names(name);
    names.last().is_some_and(|it| it.value.contains("serial"))
}

fn precision(info: ExactNumberInfo) -> Result<i32> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => return Ok(-1),
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
    };
    if !(1..=1000).contains(&precision) {
        return Err(SqlError::invalid_parameter(format!(
            "NUMERIC precision {precision} must be between 1 and 1000"
        )));
    }
    let fits = (0..=38).contains(&scale) && precision <= 38;
    if !fits {
        return Err(SqlError::feature_not_supported(format!(
            "numeric({precision}, {scale}): at most 38 digits are supported"
        )));
    }
    let precision = i32::try_from(precision).unwrap_or(38);
    Ok((precision << 16 | i32::try_from(scale).unwrap_or(0)) + 4)
}

fn length_of(length: Option<CharacterLength>, otherwise: Option<u64>) -> Result<i32> {
    let length = match length {
        Some(CharacterLength::IntegerLength { length, .. }) => Some(length),
        Some(CharacterLength::Max) => None,
        None => otherwise,
    };
    match length {
        None => Ok(-1),
        Some(length @ 1..=LENGTH_MAX) => Ok(i32::try_from(length).unwrap_or(0) + 4),
        Some(0) => Err(SqlError::invalid_parameter("length for type must be at least 1")),
        Some(_) => {
            Err(SqlError::invalid_parameter(format!("length for type cannot exceed {LENGTH_MAX}")))
        }
    }
}
