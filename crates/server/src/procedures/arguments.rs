//! The arguments of procedures in Rust.

use chiliad_sql::{Argument, Numeric, OwnedDatum, SqlError, Type, converted};

/// What a procedure in Rust takes: a tuple of up to eight values of types that are an [`ArgumentType`], or a `Vec` of whatever
/// values the call gives.
pub trait Arguments: Sized {
    /// The values of a call of `name`.
    ///
    /// # Errors
    /// 42883 where the call gives others; 22004 for a null where there must be a value; those of converting a value.
    fn take(name: &str, arguments: Vec<Argument>) -> Result<Self, SqlError>;
}

/// A value that a procedure in Rust takes.
pub trait ArgumentType: Sized {
    /// Its type in SQL.
    const TYPE: Type;

    /// The value of a datum of that type; `None` for a null that it cannot be.
    fn of(value: OwnedDatum) -> Option<Self>;
}

impl Arguments for Vec<OwnedDatum> {
    fn take(_: &str, arguments: Vec<Argument>) -> Result<Self, SqlError> {
        Ok(arguments.into_iter().map(|it| it.value).collect())
    }
}

macro_rules! argument_types {
    ($($type:ty: $sql:ident, $value:ident => $from:expr;)*) => {$(
        impl ArgumentType for $type {
            const TYPE: Type = Type::$sql;

            fn of($value: OwnedDatum) -> Option<Self> {
                $from
            }
        }
    )*};
}

/// The number of a datum of an integer type.
fn integer<T: TryFrom<i64>>(value: &OwnedDatum) -> Option<T> {
    match value {
        OwnedDatum::Int(value) => T::try_from(*value).ok(),
        _ => None,
    }
}

argument_types! {
    bool: Bool, value => if let OwnedDatum::Bool(value) = value { Some(value) } else { None };
    i16: Int2, value => integer(&value);
    i32: Int4, value => integer(&value);
    i64: Int8, value => integer(&value);
    f64: Float8, value => if let OwnedDatum::Float(value) = value { Some(value) } else { None };
    Numeric: Numeric, value => if let OwnedDatum::Numeric(value) = value { Some(value) } else { None };
    String: Text, value => if let OwnedDatum::Text(text) = value { Some(text.into_owned()) } else { None };
    Vec<u8>: Bytea, value => if let OwnedDatum::Bytes(bytes) = value { Some(bytes.into_owned()) } else { None };
}

impl<T: ArgumentType> ArgumentType for Option<T> {
    const TYPE: Type = T::TYPE;

    fn of(value: OwnedDatum) -> Option<Self> {
        if value.is_null() { Some(None) } else { T::of(value).map(Some) }
    }
}

macro_rules! tuples {
    ($(($($name:ident),*))*) => {$(
        impl<$($name: ArgumentType),*> Arguments for ($($name,)*) {
            fn take(name: &str, arguments: Vec<Argument>) -> Result<Self, SqlError> {
                let types: &[Type] = &[$($name::TYPE),*];
                #[allow(unused_mut, unused_variables, reason = "there may be none")]
                let mut values = converted(name, arguments, types.iter().copied())?.into_iter().enumerate();
                Ok(($(next::<$name>(name, values.next())?,)*))
            }
        }
    )*};
}

tuples! {
    ()
    (A)
    (A, B)
    (A, B, C)
    (A, B, C, D)
    (A, B, C, D, E)
    (A, B, C, D, E, F)
    (A, B, C, D, E, F, G)
    (A, B, C, D, E, F, G, H)
}

fn next<T: ArgumentType>(name: &str, value: Option<(usize, OwnedDatum)>) -> Result<T, SqlError> {
    let (at, value) = value.unwrap_or_default();
    T::of(value).ok_or_else(|| {
        SqlError::new("22004", format!("argument {} of procedure {name} is null", at + 1))
    })
}
