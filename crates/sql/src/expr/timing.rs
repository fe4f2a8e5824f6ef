//! Functions of dates and times.

use super::Context;
use super::functions::Function as F;
use crate::codec::times::{DAY, civil, days_of};
use crate::datum::Datum;
use crate::error::{Result, SqlError};
use crate::numeric::Numeric;

pub(super) fn call<'r>(
    function: F,
    arguments: &[Datum<'_>],
    cx: &Context<'_>,
) -> Result<Datum<'r>> {
    let environment = cx.environment.borrow();
    Ok(match (function, arguments) {
        (F::TransactionTime | F::LocalTimestamp, _) => {
            Datum::Timestamp(environment.transaction_time())
        }
        (F::StatementTime, _) => Datum::Timestamp(environment.statement_time()),
        (F::ClockTime, _) => Datum::Timestamp(environment.clock_time()),
        (F::CurrentDate, _) => {
            let days = environment.transaction_time().div_euclid(DAY);
            Datum::Date(i32::try_from(days).unwrap_or(0))
        }
        (F::LocalTime, _) => Datum::Time(environment.transaction_time().rem_euclid(DAY)),
        (F::DateTrunc, [Datum::Text(field), Datum::Timestamp(time)]) => {
            Datum::Timestamp(truncated(&field.to_lowercase(), *time)?)
        }
        (F::DatePart, [Datum::Text(field), Datum::Timestamp(time)]) => {
            Datum::Float(part(&field.to_lowercase(), *time)?.to_float())
        }
        (F::Extract, [Datum::Text(field), Datum::Timestamp(time)]) => {
            Datum::Numeric(part(&field.to_lowercase(), *time)?)
        }
        _ => return Err(SqlError::internal("a function of other arguments")),
    })
}

fn unknown(field: &str) -> SqlError {
    SqlError::invalid_parameter(format!("unit \"{field}\" not recognized for type timestamp"))
}

fn truncated(field: &str, time: i64) -> Result<i64> {
    let (year, month, _) = civil(time.div_euclid(DAY));
    let first = |year: i64, month: u32| {
        let days = days_of(year, month, 1).and_then(|days| days.checked_mul(DAY));
        days.ok_or_else(|| SqlError::datetime_out_of_range("timestamp out of range"))
    };
    let unit = match field {
        "microseconds" => 1,
        "milliseconds" => 1_000,
        "second" => 1_000_000,
        "minute" => 60_000_000,
        "hour" => 3_600_000_000,
        "day" => DAY,
        "week" => {
            let days = time.div_euclid(DAY);
            // 1970-01-01 was a Thursday.
            return Ok((days - (days + 3).rem_euclid(7)) * DAY);
        }
        "month" => return first(year, month),
        "quarter" => return first(year, (month - 1) / 3 * 3 + 1),
        "year" => return first(year, 1),
        "decade" => return first(year.div_euclid(10) * 10, 1),
        _ => return Err(unknown(field)),
    };
    Ok(time.div_euclid(unit) * unit)
}

fn part(field: &str, time: i64) -> Result<Numeric> {
    let days = time.div_euclid(DAY);
    let (year, month, day) = civil(days);
    let below = time.rem_euclid(DAY);
    let minute = below % 3_600_000_000;
    let whole = |value: i64| Ok(Numeric::of_int(value));
    match field {
        "year" => whole(if year > 0 { year } else { year - 1 }),
        "month" => whole(month.into()),
        "day" => whole(day.into()),
        "hour" => whole(below / 3_600_000_000),
        "minute" => whole(minute / 60_000_000),
        "second" => Numeric::new((minute % 60_000_000).into(), 6),
        "milliseconds" | "millisecond" => Numeric::new((minute % 60_000_000).into(), 3),
        "microseconds" | "microsecond" => whole(minute % 60_000_000),
        "epoch" => Numeric::new(time.into(), 6),
        "dow" => whole((days + 4).rem_euclid(7)),
        "isodow" => whole((days + 3).rem_euclid(7) + 1),
        "doy" => whole(days - days_of(year, 1, 1).unwrap_or(days) + 1),
        "quarter" => whole(i64::from(month - 1) / 3 + 1),
        "decade" => whole(year.div_euclid(10)),
        "century" => whole(if year > 0 { (year + 99) / 100 } else { -((99 - year) / 100) }),
        _ => Err(unknown(field)),
    }
}
