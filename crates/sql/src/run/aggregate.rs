//! Groups of rows and their aggregates.

use super::{Flow, by_order, keys, value_of};
use crate::datum::{Datum, OwnedDatum};
use crate::error::{Result, SqlError};
use crate::expr::{Context, compare, is_true};
use crate::faults::FIRST_MISSED;
use crate::numeric::Numeric;
use crate::plan::{Aggregate, AggregateFunction, Group};
use std::collections::{HashMap, HashSet};

/// The groups of a query.
pub(super) struct Groups<'g, 'c> {
    group: &'g Group,
    cx: &'g Context<'c>,
    places: HashMap<Vec<u8>, usize>,
    /// Keys and states, in the order in which they came.
    groups: Vec<(Vec<OwnedDatum>, Vec<State>)>,
    /// The keys of the row in hand, as values and as bytes.
    values: Vec<OwnedDatum>,
    key: Vec<u8>,
}

/// What an aggregate knows of the rows so far.
#[derive(Default)]
struct State {
    count: i64,
    sum: i128,
    float: f64,
    numeric: Option<Numeric>,
    best: OwnedDatum,
    /// Values that were counted already, for `DISTINCT`.
    seen: HashSet<Vec<u8>>,
    /// Keys of the order and values, of `string_agg`.
    texts: Vec<(Vec<OwnedDatum>, String, String)>,
}

impl<'g, 'c> Groups<'g, 'c> {
    pub fn new(group: &'g Group, cx: &'g Context<'c>) -> Self {
        let mut groups = Self {
            group,
            cx,
            places: HashMap::new(),
            groups: Vec::new(),
            values: Vec::new(),
            key: Vec::new(),
        };
        if group.single {
            groups.open();
        }
        groups
    }

    /// Begins the group of the keys in hand.
    fn open(&mut self) -> usize {
        let states = self.group.aggregates.iter().map(|_| State::default()).collect();
        let place = self.groups.len();
        self.groups.push((core::mem::take(&mut self.values), states));
        self.places.insert(self.key.clone(), place);
        place
    }

    pub fn add(&mut self, row: &[Datum<'_>]) -> Result<Flow> {
        let place = self.place(row)?;
        let (group, cx) = (self.group, self.cx);
        let Some((_, states)) = self.groups.get_mut(place) else { return Ok(Flow::More) };
        for (aggregate, state) in group.aggregates.iter().zip(states) {
            state.add(aggregate, row, cx)?;
        }
        Ok(Flow::More)
    }

    /// The place of a row's group.
    fn place(&mut self, row: &[Datum<'_>]) -> Result<usize> {
        if self.group.single && self.group.keys.is_empty() {
            // The only one, which is open.
            return Ok(0);
        }
        self.values.clear();
        for key in &self.group.keys {
            self.values.push(value_of(key, row, self.cx)?);
        }
        self.key.clear();
        keys::append(&self.values, &mut self.key);
        match self.places.get(&self.key) {
            Some(place) => Ok(*place),
            None => {
                self.cx.keep(&self.values)?;
                Ok(self.open())
            }
        }
    }

    /// Gives the rows of the groups to `emit`.
    pub fn finish(
        self,
        outer: &[Datum<'_>],
        emit: &mut dyn FnMut(&[Datum<'_>]) -> Result<Flow>,
    ) -> Result<()> {
        for (keys, states) in self.groups {
            let mut row: Vec<Datum<'_>> = outer.iter().map(Datum::borrowed).collect();
            row.resize(self.group.outer.max(row.len()), Datum::Null);
            row.extend(keys);
            for (aggregate, state) in self.group.aggregates.iter().zip(states) {
                row.push(state.value(aggregate)?);
            }
            if let Some(having) = &self.group.having
                && !is_true(having, &row, self.cx)?
            {
                continue;
            }
            if emit(&row)? == Flow::Enough {
                break;
            }
        }
        Ok(())
    }
}

impl State {
    fn add(&mut self, aggregate: &Aggregate, row: &[Datum<'_>], cx: &Context<'_>) -> Result<()> {
        if let Some(filter) = &aggregate.filter
            && !is_true(filter, row, cx)?
        {
            return Ok(());
        }
        let Some(argument) = &aggregate.argument else {
            self.count += 1;
            return Ok(());
        };
        let datum = value_of(argument, row, cx)?;
        if datum.is_null() {
            return Ok(());
        }
        if aggregate.distinct {
            let one = core::slice::from_ref(&datum);
            if !self.seen.insert(keys::of(one)) {
                return Ok(());
            }
            cx.keep(one)?;
        }
        self.count += 1;
        if self.count == 1 && cx.fault(&FIRST_MISSED) {
            return Ok(());
        }
        match (aggregate.function, datum) {
            (AggregateFunction::Count, _) => {}
            (AggregateFunction::SumInt, Datum::Int(value)) => self.sum += i128::from(value),
            (
                AggregateFunction::SumNumeric | AggregateFunction::AvgNumeric,
                Datum::Numeric(value),
            ) => {
                let sum = self.numeric.unwrap_or(Numeric::ZERO);
                self.numeric = Some(sum.add(value)?);
            }
            (AggregateFunction::SumFloat | AggregateFunction::AvgFloat, Datum::Float(value)) => {
                self.float += value;
            }
            (AggregateFunction::Min | AggregateFunction::Max, datum) => {
                let order = compare(&datum, &self.best);
                let is_better = match aggregate.function {
                    AggregateFunction::Min => order.is_none_or(core::cmp::Ordering::is_lt),
                    _ => order.is_none_or(core::cmp::Ordering::is_gt),
                };
                if is_better {
                    self.best = datum;
                }
            }
            (function, Datum::Bool(value)) => {
                let decisive = function == AggregateFunction::BoolOr;
                if self.best.is_null() || value == decisive {
                    self.best = Datum::Bool(value);
                }
            }
            (AggregateFunction::StringAgg, Datum::Text(text)) => {
                let separator = match &aggregate.separator {
                    Some(separator) => value_of(separator, row, cx)?,
                    None => Datum::Null,
                };
                let separator = match separator {
                    Datum::Text(text) => text.into_owned(),
                    _ => String::new(),
                };
                let by = aggregate.order.iter().map(|it| value_of(&it.key, row, cx));
                let by = by.collect::<Result<Vec<_>>>()?;
                cx.keep(&[Datum::Text(text.clone())])?;
                self.texts.push((by, separator, text.into_owned()));
            }
            _ => return Err(SqlError::internal("an aggregate of another type")),
        }
        Ok(())
    }

    fn value(mut self, aggregate: &Aggregate) -> Result<OwnedDatum> {
        if aggregate.function == AggregateFunction::Count {
            return Ok(Datum::Int(self.count));
        }
        if self.count == 0 {
            return Ok(Datum::Null);
        }
        Ok(match aggregate.function {
            AggregateFunction::Count => Datum::Int(self.count),
            AggregateFunction::SumInt => Datum::Int(
                i64::try_from(self.sum)
                    .map_err(|_| SqlError::numeric_out_of_range("bigint out of range"))?,
            ),
            AggregateFunction::SumNumeric => self.numeric.map_or(Datum::Null, Datum::Numeric),
            AggregateFunction::AvgNumeric => {
                let sum = self.numeric.unwrap_or(Numeric::ZERO);
                Datum::Numeric(sum.div(Numeric::of_int(self.count))?)
            }
            AggregateFunction::SumFloat => Datum::Float(self.float),
            #[expect(clippy::cast_precision_loss, reason = "as PostgreSQL counts")]
            AggregateFunction::AvgFloat => Datum::Float(self.float / self.count as f64),
            AggregateFunction::StringAgg => {
                self.texts.sort_by(|(one, ..), (two, ..)| by_order(&aggregate.order, one, two));
                let mut joined = String::new();
                for (at, (_, separator, text)) in self.texts.iter().enumerate() {
                    joined.push_str(if at == 0 { "" } else { separator });
                    joined.push_str(text);
                }
                Datum::text(joined)
            }
            AggregateFunction::Min
            | AggregateFunction::Max
            | AggregateFunction::BoolAnd
            | AggregateFunction::BoolOr => self.best,
        })
    }
}
