//! The types of the crate `jiff`, which ends at the years -9999 and 9999.

use super::{Date, Foreign, Instant, Time, parts_of_keys};
use crate::BadValue;
use crate::parts::SECOND;
use jiff::civil;
use jiff::{SignedDuration, Timestamp};

/// Seconds of a day.
const DAY_SECONDS: i64 = 86_400;

impl Foreign for Timestamp {
    type Plain = Instant;

    fn to_plain(&self) -> Instant {
        // Both are rounded towards 1970.
        let (seconds, nanoseconds) = (self.as_second(), self.subsec_nanosecond());
        match u32::try_from(nanoseconds) {
            Ok(nanoseconds) => Instant::new(seconds, nanoseconds),
            Err(_) => Instant::new(seconds - 1, SECOND - nanoseconds.unsigned_abs()),
        }
    }

    fn of_plain(plain: Instant) -> Result<Self, BadValue> {
        let nanoseconds = i32::try_from(plain.nanoseconds()).unwrap_or(i32::MAX);
        Self::new(plain.seconds(), nanoseconds)
            .map_err(|_| BadValue::new("an instant that jiff does not have"))
    }
}

/// Days are counted from it.
const FIRST_DAY: civil::Date = civil::Date::constant(1970, 1, 1);

impl Foreign for civil::Date {
    type Plain = Date;

    fn to_plain(&self) -> Date {
        let days = self.duration_since(FIRST_DAY).as_secs() / DAY_SECONDS;
        Date(i32::try_from(days).expect("fewer than 20,000 years"))
    }

    fn of_plain(plain: Date) -> Result<Self, BadValue> {
        FIRST_DAY
            .checked_add(SignedDuration::from_secs(i64::from(plain.0) * DAY_SECONDS))
            .map_err(|_| BadValue::new("a date that jiff does not have"))
    }
}

impl Foreign for civil::Time {
    type Plain = Time;

    fn to_plain(&self) -> Time {
        let number = |part: i8| u32::from(part.unsigned_abs());
        let minutes = number(self.hour()) * 60 + number(self.minute());
        Time::of_second(
            minutes * 60 + number(self.second()),
            self.subsec_nanosecond().unsigned_abs(),
        )
    }

    fn of_plain(plain: Time) -> Result<Self, BadValue> {
        let (seconds, nanoseconds) = plain.second();
        Self::midnight()
            .checked_add(SignedDuration::new(
                seconds.into(),
                i32::try_from(nanoseconds).unwrap_or_default(),
            ))
            .map_err(|_| BadValue::new("a time of day that jiff does not have"))
    }
}

impl Foreign for civil::DateTime {
    type Plain = (Date, Time);

    fn to_plain(&self) -> (Date, Time) {
        (self.date().to_plain(), self.time().to_plain())
    }

    fn of_plain((date, time): (Date, Time)) -> Result<Self, BadValue> {
        Ok(Self::from_parts(civil::Date::of_plain(date)?, civil::Time::of_plain(time)?))
    }
}

parts_of_keys!(Timestamp, civil::Date, civil::Time, civil::DateTime);
