//! The arguments of `CALL`.

use crate::datum::{Datum, OwnedDatum};
use crate::environment::Environment;
use crate::error::{Result, SqlError};
use crate::expr::{Cast, Context, assignable, cast, eval};
use crate::plan::Plan;
use crate::prepared::Prepared;
use crate::stack::with_room;
use crate::types::Type;
use chiliad_api::Transaction;

/// An argument of a call.
#[derive(Clone, PartialEq, Debug)]
pub struct Argument {
    /// Its type; [`Type::Unknown`] of a literal that may be of any: its value is a text.
    pub of: Type,
    /// Its value.
    pub value: OwnedDatum,
}

/// The values of the arguments of `CALL`.
///
/// # Errors
/// Those of its expressions.
pub fn call_arguments(
    prepared: &Prepared,
    parameters: &[Datum<'_>],
    transaction: &mut dyn Transaction,
    environment: &mut dyn Environment,
) -> Result<Vec<Argument>> {
    let Plan::Call(arguments) = &prepared.plan else {
        return Err(SqlError::internal("a statement that calls nothing"));
    };
    let cx = Context::new(parameters, transaction, environment);
    let value = |(expr, of): &(crate::expr::Expr, Type)| {
        eval(expr, &[], &cx).map(|value| Argument { of: *of, value: value.into_owned() })
    };
    with_room(prepared.is_deep, || arguments.iter().map(value).collect())
}

/// The arguments of a call of `name` as values of these types.
///
/// # Errors
/// 42883 where there are others than the procedure takes; those of converting a value.
pub fn converted(
    name: &str,
    arguments: Vec<Argument>,
    wanted: impl ExactSizeIterator<Item = Type>,
) -> Result<Vec<OwnedDatum>> {
    let types: Vec<Type> = arguments.iter().map(|it| it.of).collect();
    let wanted: Vec<Type> = wanted.collect();
    let fits = types.len() == wanted.len()
        && types.iter().zip(&wanted).all(|(from, to)| assignable(*from, *to));
    if !fits {
        return Err(missing(name, &types));
    }
    let convert = |(argument, to): (Argument, Type)| {
        // A literal of no type is a text.
        let from = if argument.of == Type::Unknown { Type::Text } else { argument.of };
        let how = Cast { from, to, modifier: -1, explicit: false };
        cast(argument.value, how).map(Datum::into_owned)
    };
    arguments.into_iter().zip(wanted).map(convert).collect()
}

#[cold]
fn missing(name: &str, types: &[Type]) -> SqlError {
    let types: Vec<String> = types.iter().map(Type::to_string).collect();
    SqlError::undefined_function(format!("procedure {name}({}) does not exist", types.join(", ")))
        .with_hint(
            "No procedure matches the given name and argument types. \
             You might need to add explicit type casts.",
        )
}
