//! TPC-E's options.

use super::rules::{MICRO, Rules, SPEC, Sizes};
use crate::memory::{Estimate, Tables};
use crate::ranges::within;

/// Which transactions, and how often each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mix {
    /// The specification's proportions among the six; at micro scale those that write are frequent.
    #[default]
    Standard,
    /// Yan's, as it names them (2015, 5.2.2): 25, 35, 15, 15 and 10 percent, the last one trade-update.
    Thesis,
    /// The same with trade-result as the last one, which its text speaks of.
    ThesisResult,
}

impl Mix {
    /// All, by their names on the command line.
    pub const ALL: [Self; 3] = [Self::Standard, Self::Thesis, Self::ThesisResult];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Thesis => "thesis",
            Self::ThesisResult => "thesis-result",
        }
    }

    /// Of a thousand transactions so many are of each kind.
    pub(super) fn shares(self, micro: bool) -> [u32; 6] {
        match self {
            // 13, 18, 19, 10.1, 2 and 10 of the 72.1 percent that these six have (clause 6.2.2).
            Self::Standard if !micro => [180, 250, 263, 140, 28, 139],
            Self::Standard => [120, 120, 120, 270, 150, 220],
            Self::Thesis => [250, 350, 150, 150, 100, 0],
            Self::ThesisResult => [250, 350, 150, 150, 0, 100],
        }
    }
}

/// TPC-E as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TpceOptions {
    /// `--customers`: a multiple of the load unit.
    pub customers: u32,
    /// `--trade-days`: days of trading that the initial trades are of.
    pub trade_days: u32,
    /// `--mix`.
    pub mix: Mix,
    /// `--partitions`: brokers are divided into so many ranges, each with its customers and securities.
    pub partitions: u32,
    /// `--snapshot-reads`: the three transactions that only read do so in a snapshot of the past.
    pub snapshot_reads: bool,
    /// `--scale micro`: a handful of rows of everything.
    pub micro: bool,
}

/// The most customers.
pub const CUSTOMERS_MAX: u32 = 1_000_000;

/// The most days of initial trades.
pub const TRADE_DAYS_MAX: u32 = 300;

impl Default for TpceOptions {
    fn default() -> Self {
        Self {
            customers: SPEC.load_unit,
            trade_days: 5,
            mix: Mix::Standard,
            partitions: 1,
            snapshot_reads: false,
            micro: false,
        }
    }
}

impl TpceOptions {
    /// About what the rows take; of each value only `kept` bytes exist, where that is said.
    #[must_use]
    pub fn memory(&self, kept: Option<usize>) -> Estimate {
        let rules = self.rules();
        let trades = u64::from(rules.brokers()) * rules.trades_of_broker();
        let customers = u64::from(self.customers);
        let securities = u64::from(rules.securities());
        Tables::new(kept)
            .rows(trades, 110)
            // Two or three states, and two ways to find it.
            .rows(trades * 22 / 5, 8)
            .rows(trades, 35)
            .rows(trades * 4 / 5, 75)
            .rows(trades * 3 / 2, 16)
            .rows(customers * 20, 50)
            .rows(customers * 100, 8)
            .rows(securities * u64::from(rules.sizes.days), 20)
            .estimate("--customers")
    }

    /// A handful of customers, so that transactions meet.
    #[must_use]
    pub fn micro() -> Self {
        Self {
            customers: MICRO.load_unit,
            trade_days: 1,
            snapshot_reads: true,
            micro: true,
            ..Self::default()
        }
    }

    fn sizes(&self) -> Sizes {
        if self.micro { MICRO } else { SPEC }
    }

    /// The numbers of rows, and who has which.
    pub(super) fn rules(&self) -> Rules {
        let Self { customers, trade_days, partitions, .. } = *self;
        Rules { customers, trade_days, partitions, sizes: self.sizes() }
    }

    /// The most partitions of so many customers.
    #[must_use]
    pub fn partitions_max(&self) -> u32 {
        (self.customers / self.sizes().customers_per_broker).clamp(1, 65_536)
    }

    /// Whether the values are in range.
    ///
    /// # Errors
    /// One line that names the flag, the value and what is accepted.
    pub fn validate(&self) -> Result<(), String> {
        let unit = self.sizes().load_unit;
        if self.customers == 0
            || self.customers > CUSTOMERS_MAX
            || !self.customers.is_multiple_of(unit)
        {
            let most = CUSTOMERS_MAX / unit * unit;
            let customers = self.customers;
            return Err(format!(
                "--customers {customers}: accepted are multiples of the load unit, {unit}, to {most}"
            ));
        }
        within("--trade-days", u64::from(self.trade_days), 1, u64::from(TRADE_DAYS_MAX))?;
        let most = u64::from(self.partitions_max());
        within("--partitions", u64::from(self.partitions), 1, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_values_are_named_with_what_is_accepted() {
        let (fine, micro) = (TpceOptions::default(), TpceOptions::micro());
        assert_eq!((fine.validate(), micro.validate()), (Ok(()), Ok(())));
        for (options, message) in [
            (
                TpceOptions { customers: 1500, ..fine.clone() },
                "--customers 1500: accepted are multiples of the load unit, 1000, to 1000000",
            ),
            (
                TpceOptions { customers: 0, ..micro.clone() },
                "--customers 0: accepted are multiples of the load unit, 6, to 999996",
            ),
            (TpceOptions { trade_days: 0, ..fine }, "--trade-days 0: accepted is 1 to 300"),
            (TpceOptions { partitions: 4, ..micro }, "--partitions 4: accepted is 1 to 3"),
        ] {
            assert_eq!(options.validate(), Err(message.to_owned()));
        }
    }

    #[test]
    fn shares_are_of_a_thousand() {
        for mix in Mix::ALL {
            for micro in [false, true] {
                assert_eq!(mix.shares(micro).iter().sum::<u32>(), 1000);
            }
        }
    }
}
