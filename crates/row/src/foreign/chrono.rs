//! The types of the crate `chrono`. It counts the nanoseconds of a leap second on from those of the second before: all of
//! them become the last nanosecond of that second.

use super::{Date, Foreign, Instant, Time, parts_of_keys};
use crate::BadValue;
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Timelike, Utc};

impl Foreign for DateTime<Utc> {
    type Plain = Instant;

    fn to_plain(&self) -> Instant {
        Instant::new(self.timestamp(), self.timestamp_subsec_nanos())
    }

    fn of_plain(plain: Instant) -> Result<Self, BadValue> {
        Self::from_timestamp(plain.seconds(), plain.nanoseconds())
            .ok_or_else(|| BadValue::new("an instant that chrono does not have"))
    }
}

impl Foreign for NaiveDate {
    type Plain = Date;

    fn to_plain(&self) -> Date {
        Date(self.to_epoch_days())
    }

    fn of_plain(plain: Date) -> Result<Self, BadValue> {
        Self::from_epoch_days(plain.0)
            .ok_or_else(|| BadValue::new("a date that chrono does not have"))
    }
}

impl Foreign for NaiveTime {
    type Plain = Time;

    fn to_plain(&self) -> Time {
        Time::of_second(self.num_seconds_from_midnight(), self.nanosecond())
    }

    fn of_plain(plain: Time) -> Result<Self, BadValue> {
        let (seconds, nanoseconds) = plain.second();
        Self::from_num_seconds_from_midnight_opt(seconds, nanoseconds)
            .ok_or_else(|| BadValue::new("a time of day that chrono does not have"))
    }
}

impl Foreign for NaiveDateTime {
    type Plain = (Date, Time);

    fn to_plain(&self) -> (Date, Time) {
        (self.date().to_plain(), self.time().to_plain())
    }

    fn of_plain((date, time): (Date, Time)) -> Result<Self, BadValue> {
        Ok(Self::new(NaiveDate::of_plain(date)?, NaiveTime::of_plain(time)?))
    }
}

parts_of_keys!(DateTime<Utc>, NaiveDate, NaiveTime, NaiveDateTime);
