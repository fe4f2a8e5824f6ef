//! Functions: which there are, and their values.

use super::arithmetic::power;
use super::compare::sort_order;
use super::{Context, strings, timing};
use crate::codec::shown;
use crate::datum::Datum;
use crate::error::{Result, SqlError};
use crate::numeric::Numeric;
use crate::types::Type;

/// A function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Function {
    Abs,
    Sign,
    Ceil,
    Floor,
    Round,
    Trunc,
    Sqrt,
    Exp,
    Ln,
    Log,
    Power,
    PowerNumeric,
    Mod,
    Pi,
    Random,
    Greatest,
    Least,
    Lower,
    Upper,
    Initcap,
    Length,
    OctetLength,
    Substring,
    Left,
    Right,
    Lpad,
    Rpad,
    Trim,
    LeftTrim,
    RightTrim,
    Replace,
    Reverse,
    Repeat,
    Strpos,
    SplitPart,
    StartsWith,
    Ascii,
    Chr,
    Concat,
    ConcatWs,
    Join,
    TransactionTime,
    StatementTime,
    ClockTime,
    CurrentDate,
    LocalTime,
    LocalTimestamp,
    DateTrunc,
    DatePart,
    Extract,
    Version,
    User,
    Database,
    Schema,
    Setting,
    BackendPid,
    NextValue,
    TypeOf,
    NewUuid,
}

impl Function {
    /// Whether two calls with the same arguments may have different values within a statement.
    pub fn is_volatile(self) -> bool {
        matches!(self, Self::Random | Self::ClockTime | Self::NextValue | Self::NewUuid)
    }

    /// Whether a null as an argument does not make the value null.
    fn takes_null(self) -> bool {
        matches!(self, Self::Greatest | Self::Least | Self::Concat | Self::ConcatWs | Self::TypeOf)
    }
}

use Function as F;
use Type as T;

/// Functions by name, with the types of their arguments and of their value. Of several the first one that accepts the
/// arguments is called.
const FUNCTIONS: &[(&str, F, &[T], T)] = &[
    ("abs", F::Abs, &[T::Int2], T::Int2),
    ("abs", F::Abs, &[T::Int4], T::Int4),
    ("abs", F::Abs, &[T::Int8], T::Int8),
    ("abs", F::Abs, &[T::Numeric], T::Numeric),
    ("abs", F::Abs, &[T::Float4], T::Float4),
    ("abs", F::Abs, &[T::Float8], T::Float8),
    ("sign", F::Sign, &[T::Numeric], T::Numeric),
    ("sign", F::Sign, &[T::Float8], T::Float8),
    ("ceil", F::Ceil, &[T::Numeric], T::Numeric),
    ("ceil", F::Ceil, &[T::Float8], T::Float8),
    ("ceiling", F::Ceil, &[T::Numeric], T::Numeric),
    ("ceiling", F::Ceil, &[T::Float8], T::Float8),
    ("floor", F::Floor, &[T::Numeric], T::Numeric),
    ("floor", F::Floor, &[T::Float8], T::Float8),
    ("round", F::Round, &[T::Numeric, T::Int4], T::Numeric),
    ("round", F::Round, &[T::Numeric], T::Numeric),
    ("round", F::Round, &[T::Float8], T::Float8),
    ("trunc", F::Trunc, &[T::Numeric, T::Int4], T::Numeric),
    ("trunc", F::Trunc, &[T::Numeric], T::Numeric),
    ("trunc", F::Trunc, &[T::Float8], T::Float8),
    ("sqrt", F::Sqrt, &[T::Float8], T::Float8),
    ("exp", F::Exp, &[T::Float8], T::Float8),
    ("ln", F::Ln, &[T::Float8], T::Float8),
    ("log", F::Log, &[T::Float8], T::Float8),
    ("log10", F::Log, &[T::Float8], T::Float8),
    ("power", F::Power, &[T::Float8, T::Float8], T::Float8),
    ("pow", F::Power, &[T::Float8, T::Float8], T::Float8),
    ("power", F::PowerNumeric, &[T::Numeric, T::Numeric], T::Numeric),
    ("pow", F::PowerNumeric, &[T::Numeric, T::Numeric], T::Numeric),
    ("mod", F::Mod, &[T::Int2, T::Int2], T::Int2),
    ("mod", F::Mod, &[T::Int4, T::Int4], T::Int4),
    ("mod", F::Mod, &[T::Int8, T::Int8], T::Int8),
    ("mod", F::Mod, &[T::Numeric, T::Numeric], T::Numeric),
    ("pi", F::Pi, &[], T::Float8),
    ("random", F::Random, &[], T::Float8),
    ("lower", F::Lower, &[T::Text], T::Text),
    ("upper", F::Upper, &[T::Text], T::Text),
    ("initcap", F::Initcap, &[T::Text], T::Text),
    ("length", F::Length, &[T::Text], T::Int4),
    ("length", F::OctetLength, &[T::Bytea], T::Int4),
    ("char_length", F::Length, &[T::Text], T::Int4),
    ("character_length", F::Length, &[T::Text], T::Int4),
    ("octet_length", F::OctetLength, &[T::Text], T::Int4),
    ("octet_length", F::OctetLength, &[T::Bytea], T::Int4),
    ("substr", F::Substring, &[T::Text, T::Int4, T::Int4], T::Text),
    ("substr", F::Substring, &[T::Text, T::Int4], T::Text),
    ("substring", F::Substring, &[T::Text, T::Int4, T::Int4], T::Text),
    ("substring", F::Substring, &[T::Text, T::Int4], T::Text),
    ("left", F::Left, &[T::Text, T::Int4], T::Text),
    ("right", F::Right, &[T::Text, T::Int4], T::Text),
    ("lpad", F::Lpad, &[T::Text, T::Int4, T::Text], T::Text),
    ("lpad", F::Lpad, &[T::Text, T::Int4], T::Text),
    ("rpad", F::Rpad, &[T::Text, T::Int4, T::Text], T::Text),
    ("rpad", F::Rpad, &[T::Text, T::Int4], T::Text),
    ("btrim", F::Trim, &[T::Text, T::Text], T::Text),
    ("btrim", F::Trim, &[T::Text], T::Text),
    ("ltrim", F::LeftTrim, &[T::Text, T::Text], T::Text),
    ("ltrim", F::LeftTrim, &[T::Text], T::Text),
    ("rtrim", F::RightTrim, &[T::Text, T::Text], T::Text),
    ("rtrim", F::RightTrim, &[T::Text], T::Text),
    ("replace", F::Replace, &[T::Text, T::Text, T::Text], T::Text),
    ("reverse", F::Reverse, &[T::Text], T::Text),
    ("repeat", F::Repeat, &[T::Text, T::Int4], T::Text),
    ("strpos", F::Strpos, &[T::Text, T::Text], T::Int4),
    ("split_part", F::SplitPart, &[T::Text, T::Text, T::Int4], T::Text),
    ("starts_with", F::StartsWith, &[T::Text, T::Text], T::Bool),
    ("ascii", F::Ascii, &[T::Text], T::Int4),
    ("chr", F::Chr, &[T::Int4], T::Text),
    ("now", F::TransactionTime, &[], T::Timestamptz),
    ("current_timestamp", F::TransactionTime, &[], T::Timestamptz),
    ("transaction_timestamp", F::TransactionTime, &[], T::Timestamptz),
    ("statement_timestamp", F::StatementTime, &[], T::Timestamptz),
    ("clock_timestamp", F::ClockTime, &[], T::Timestamptz),
    ("current_date", F::CurrentDate, &[], T::Date),
    ("localtime", F::LocalTime, &[], T::Time),
    ("current_time", F::LocalTime, &[], T::Time),
    ("localtimestamp", F::LocalTimestamp, &[], T::Timestamp),
    ("date_trunc", F::DateTrunc, &[T::Text, T::Timestamp], T::Timestamp),
    ("date_trunc", F::DateTrunc, &[T::Text, T::Timestamptz], T::Timestamptz),
    ("date_part", F::DatePart, &[T::Text, T::Timestamptz], T::Float8),
    ("extract", F::Extract, &[T::Text, T::Timestamptz], T::Numeric),
    ("version", F::Version, &[], T::Text),
    ("current_user", F::User, &[], T::Name),
    ("session_user", F::User, &[], T::Name),
    ("user", F::User, &[], T::Name),
    ("current_role", F::User, &[], T::Name),
    ("current_database", F::Database, &[], T::Name),
    ("current_catalog", F::Database, &[], T::Name),
    ("current_schema", F::Schema, &[], T::Name),
    ("current_setting", F::Setting, &[T::Text], T::Text),
    ("pg_backend_pid", F::BackendPid, &[], T::Int4),
    ("nextval", F::NextValue, &[T::Text], T::Int8),
    ("gen_random_uuid", F::NewUuid, &[], T::Uuid),
];

/// The function of this name for arguments of these types, the types that they are given, and the type of its value.
pub(crate) fn resolve(name: &str, arguments: &[Type]) -> Option<(Function, Vec<Type>, Type)> {
    let variadic = match name {
        "concat" => Some(F::Concat),
        "concat_ws" if !arguments.is_empty() => Some(F::ConcatWs),
        _ => None,
    };
    if let Some(function) = variadic {
        return Some((function, vec![T::Text; arguments.len()], T::Text));
    }
    if name == "pg_typeof" && arguments.len() == 1 {
        return Some((F::TypeOf, arguments.to_vec(), T::Text));
    }
    let named =
        FUNCTIONS.iter().filter(|(it, _, types, _)| *it == name && types.len() == arguments.len());
    let exact = |types: &[T]| arguments.iter().zip(types).all(|(from, to)| from == to);
    let accepted = |types: &[T]| arguments.iter().zip(types).all(|(from, to)| implicit(*from, *to));
    let mut found = named.clone().find(|(_, _, types, _)| exact(types));
    // What only literals are given to is a call with the last one, as of numbers the double precision.
    let all_unknown = !arguments.is_empty() && arguments.iter().all(|it| *it == T::Unknown);
    if found.is_none() && all_unknown {
        found = named.clone().next_back();
    }
    let found = found.or_else(|| named.clone().find(|(_, _, types, _)| accepted(types)));
    found.map(|(_, function, types, result)| (*function, types.to_vec(), *result))
}

/// Whether a value of the one type is taken for the other without being told.
pub(crate) fn implicit(from: Type, to: Type) -> bool {
    let rank = |of: Type| match of {
        T::Int2 => 1,
        T::Int4 => 2,
        T::Int8 => 3,
        T::Numeric => 4,
        T::Float4 => 5,
        T::Float8 => 6,
        _ => 0,
    };
    from == to
        || from == T::Unknown
        || (from.is_number() && to.is_number() && rank(from) <= rank(to))
        || (from.is_text() && to.is_text())
        || matches!(
            (from, to),
            (T::Date, T::Timestamp | T::Timestamptz) | (T::Timestamp, T::Timestamptz)
        )
}

/// The value of a function.
pub(crate) fn call<'r>(
    function: Function,
    arguments: Vec<Datum<'r>>,
    cx: &Context<'_>,
) -> Result<Datum<'r>> {
    if !function.takes_null() && arguments.iter().any(Datum::is_null) {
        return Ok(Datum::Null);
    }
    match function {
        F::Greatest | F::Least => {
            let mut best = Datum::Null;
            for datum in arguments {
                let order = sort_order(&datum, &best, function == F::Greatest, false);
                if !datum.is_null() && order.is_lt() {
                    best = datum;
                }
            }
            Ok(best)
        }
        F::Abs | F::Sign | F::Ceil | F::Floor | F::Round | F::Trunc | F::Mod => {
            number(function, &arguments)
        }
        F::Sqrt | F::Exp | F::Ln | F::Log | F::Power | F::PowerNumeric => {
            float(function, &arguments)
        }
        F::Pi => Ok(Datum::Float(core::f64::consts::PI)),
        F::TypeOf => Ok(Datum::text("unknown")),
        F::TransactionTime
        | F::StatementTime
        | F::ClockTime
        | F::CurrentDate
        | F::LocalTime
        | F::LocalTimestamp
        | F::DateTrunc
        | F::DatePart
        | F::Extract => timing::call(function, &arguments, cx),
        F::Random
        | F::Version
        | F::User
        | F::Database
        | F::Schema
        | F::Setting
        | F::BackendPid
        | F::NextValue
        | F::NewUuid => environment(function, &arguments, cx),
        _ => strings::call(function, &arguments),
    }
}

fn number<'r>(function: Function, arguments: &[Datum<'_>]) -> Result<Datum<'r>> {
    let by_zero = || SqlError::division_by_zero("division by zero");
    Ok(match (function, arguments) {
        (F::Abs, [Datum::Int(value)]) => Datum::Int(
            value
                .checked_abs()
                .ok_or_else(|| SqlError::numeric_out_of_range("bigint out of range"))?,
        ),
        (F::Abs, [Datum::Float(value)]) => Datum::Float(value.abs()),
        (F::Abs, [Datum::Numeric(value)]) => {
            Datum::Numeric(if value.mantissa < 0 { value.negated() } else { *value })
        }
        (F::Sign, [Datum::Float(value)]) => {
            Datum::Float(if *value == 0.0 { 0.0 } else { value.signum() })
        }
        (F::Sign, [Datum::Numeric(value)]) => {
            Datum::Numeric(Numeric { mantissa: value.mantissa.signum(), scale: 0 })
        }
        (F::Ceil, [Datum::Float(value)]) => Datum::Float(value.ceil()),
        (F::Ceil, [Datum::Numeric(value)]) => Datum::Numeric(value.ceil()),
        (F::Floor, [Datum::Float(value)]) => Datum::Float(value.floor()),
        (F::Floor, [Datum::Numeric(value)]) => Datum::Numeric(value.floor()),
        (F::Round, [Datum::Float(value)]) => Datum::Float(value.round_ties_even()),
        (F::Round, [Datum::Numeric(value)]) => Datum::Numeric(value.rounded(0)?),
        (F::Round, [Datum::Numeric(value), Datum::Int(places)]) => {
            Datum::Numeric(value.round_to(*places)?)
        }
        (F::Trunc, [Datum::Float(value)]) => Datum::Float(value.trunc()),
        (F::Trunc, [Datum::Numeric(value)]) => Datum::Numeric(value.trunc(0)),
        (F::Trunc, [Datum::Numeric(value), Datum::Int(places)]) => {
            let scale = u8::try_from((*places).clamp(0, 38)).unwrap_or(0);
            Datum::Numeric(value.trunc(scale).rounded(scale)?)
        }
        (F::Mod, [Datum::Int(_), Datum::Int(0)]) => return Err(by_zero()),
        (F::Mod, [Datum::Int(one), Datum::Int(two)]) => {
            Datum::Int(one.checked_rem(*two).unwrap_or(0))
        }
        (F::Mod, [Datum::Numeric(one), Datum::Numeric(two)]) => Datum::Numeric(one.rem(*two)?),
        _ => return Err(SqlError::internal("a function of other arguments")),
    })
}

fn float<'r>(function: Function, arguments: &[Datum<'_>]) -> Result<Datum<'r>> {
    let value = match (function, arguments) {
        (F::Sqrt, [Datum::Float(value)]) if *value < 0.0 => {
            let message = "cannot take square root of a negative number";
            return Err(SqlError::invalid_power(message));
        }
        (F::Sqrt, [Datum::Float(value)]) => value.sqrt(),
        (F::Exp, [Datum::Float(value)]) => {
            let power = value.exp();
            if power.is_infinite() && value.is_finite() {
                return Err(SqlError::numeric_out_of_range("value out of range: overflow"));
            }
            power
        }
        (F::Ln | F::Log, [Datum::Float(value)]) if *value <= 0.0 => {
            let what = if *value == 0.0 { "zero" } else { "a negative number" };
            return Err(SqlError::invalid_logarithm(format!("cannot take logarithm of {what}")));
        }
        (F::Ln, [Datum::Float(value)]) => value.ln(),
        (F::Log, [Datum::Float(value)]) => value.log10(),
        (F::Power, [Datum::Float(one), Datum::Float(two)]) => power(*one, *two)?,
        (F::PowerNumeric, [Datum::Numeric(one), Datum::Numeric(two)]) => {
            return numeric_power(*one, *two).map(Datum::Numeric);
        }
        _ => return Err(SqlError::internal("a function of other arguments")),
    };
    Ok(Datum::Float(value))
}

/// Whole powers are exact, others as exact as double precision; at least 16 digits are shown.
fn numeric_power(one: Numeric, two: Numeric) -> Result<Numeric> {
    let shown = 16;
    if let (Some(mut exponent @ 0..), true) = (two.to_int(), two.trimmed().scale == 0) {
        let (mut result, mut factor) = (Numeric::of_int(1), one);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = result.mul(factor)?;
            }
            exponent >>= 1;
            if exponent > 0 {
                factor = factor.mul(factor)?;
            }
        }
        // As many places as fit.
        return Ok(result.rounded(shown.max(result.scale)).unwrap_or(result));
    }
    let value = Numeric::of_float(power(one.to_float(), two.to_float())?, false)?;
    Ok(value.rounded(shown).unwrap_or(value))
}

fn environment<'r>(
    function: Function,
    arguments: &[Datum<'_>],
    cx: &Context<'_>,
) -> Result<Datum<'r>> {
    let mut environment = cx.environment.borrow_mut();
    Ok(match (function, arguments) {
        (F::Random, _) => Datum::Float(environment.random()),
        (F::Version, _) => Datum::text(environment.version()),
        (F::User, _) => Datum::text(environment.user().to_owned()),
        (F::Database, _) => Datum::text(environment.database().to_owned()),
        (F::Schema, _) => Datum::text("public"),
        (F::BackendPid, _) => Datum::Int(environment.process().into()),
        (F::NewUuid, _) => {
            let mut bytes = [0; 16];
            for half in bytes.chunks_exact_mut(8) {
                // 53 bits of a number at a time, of which the upper ones are the best.
                let bits = |random: f64| (random * 4_294_967_296.0) as u32;
                let (one, two) = (bits(environment.random()), bits(environment.random()));
                half[..4].copy_from_slice(&one.to_be_bytes());
                half[4..].copy_from_slice(&two.to_be_bytes());
            }
            bytes[6] = bytes[6] & 0x0f | 0x40;
            bytes[8] = bytes[8] & 0x3f | 0x80;
            Datum::Uuid(bytes)
        }
        (F::Setting, [name]) => {
            let name = shown(T::Text, name).to_lowercase();
            match environment.setting(&name) {
                Some(value) => Datum::text(value),
                None => {
                    let message = format!("unrecognized configuration parameter \"{name}\"");
                    return Err(SqlError::undefined_object(message));
                }
            }
        }
        (F::NextValue, [name]) => {
            let name = shown(T::Text, name);
            let bare = name.strip_prefix("public.").unwrap_or(&name).replace('"', "");
            Datum::Int(environment.next_value(&bare)?)
        }
        _ => return Err(SqlError::internal("a function of other arguments")),
    })
}
