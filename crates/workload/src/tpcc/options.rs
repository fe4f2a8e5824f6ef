//! TPC-C's options, and the sizes that a scale stands for.

use crate::memory::{Estimate, Tables};

/// How large one warehouse is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scale {
    /// The specification's population (clause 4.3.3.1).
    #[default]
    Spec,
    /// A tenth of that, by the same rules: more warehouses for as much memory, as in Yu (2015, 5.6).
    Small,
    /// A handful of rows with the same rules, for simulated runs: duplicate last names, empty
    /// queues of new orders, growing C_DATA and rollbacks come up within a hundred transactions.
    Micro,
}

/// Which transactions, how often.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mix {
    /// The specification's five: 45 new orders, 43 payments, 4 of each other, of a hundred. At
    /// micro scale deliveries are as frequent as the new orders of a district.
    #[default]
    Standard,
    /// New-order and payment, half and half.
    Np,
    /// New-order only.
    NewOrder,
    /// Payment only.
    Payment,
    /// New-order and stock-level, half and half.
    NewOrderStockLevel,
}

impl Mix {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Standard, Self::Np, Self::NewOrder, Self::Payment, Self::NewOrderStockLevel];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Np => "np",
            Self::NewOrder => "new-order",
            Self::Payment => "payment",
            Self::NewOrderStockLevel => "new-order-stock-level",
        }
    }

    /// The mix of this name.
    ///
    /// # Errors
    /// One line that names the flag, the value and what is accepted.
    pub fn parse(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|mix| mix.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|mix| mix.name()).collect();
            format!("--mix {name}: accepted are {}", names.join(", "))
        })
    }

    /// The shares of new-order, payment, order-status, delivery and stock-level, in percent.
    #[must_use]
    pub fn shares(self, scale: Scale) -> [u32; 5] {
        match (self, scale) {
            (Self::Standard, Scale::Spec | Scale::Small) => [45, 43, 4, 4, 4],
            (Self::Standard, Scale::Micro) => [36, 34, 8, 14, 8],
            (Self::Np, _) => [50, 50, 0, 0, 0],
            (Self::NewOrder, _) => [100, 0, 0, 0, 0],
            (Self::Payment, _) => [0, 100, 0, 0, 0],
            (Self::NewOrderStockLevel, _) => [50, 0, 0, 0, 50],
        }
    }
}

/// TPC-C as asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct TpccOptions {
    /// `--warehouses`.
    pub warehouses: u32,
    /// `--mix`.
    pub mix: Mix,
    /// `--remote-item`: the chance in percent that an item comes from another warehouse.
    pub remote_item: f64,
    /// `--snapshot-reads`: order-status and stock-level read a snapshot of the past.
    pub snapshot_reads: bool,
    /// `--scale`.
    pub scale: Scale,
    /// `--read-only-tables`: `item`, which nobody changes, is declared read-only.
    pub read_only_tables: bool,
    /// `--totals-apart`: W_YTD and D_YTD are rows of their own, which payments add to and do not read.
    pub totals_apart: bool,
}

/// The most warehouses: their numbers take two bytes.
pub const WAREHOUSES_MAX: u32 = 65_535;

impl Default for TpccOptions {
    fn default() -> Self {
        Self {
            warehouses: 1,
            mix: Mix::Standard,
            remote_item: 1.0,
            snapshot_reads: true,
            scale: Scale::Spec,
            read_only_tables: true,
            totals_apart: false,
        }
    }
}

/// Rows at first, and the bytes of a customer's C_DATA.
pub(super) struct Amounts {
    pub stock: u64,
    /// As many have an order, and a payment.
    pub customers: u64,
    pub data: u64,
    pub lines: u64,
}

impl TpccOptions {
    /// About what the rows take; of each value only `kept` bytes exist, where that is said.
    #[must_use]
    pub fn memory(&self, kept: Option<usize>) -> Estimate {
        let Amounts { stock, customers, data, lines } = self.amounts();
        Tables::new(kept)
            .rows(stock, 290)
            .rows(customers, 250)
            .rows(customers, data)
            .secondary(customers)
            // Their orders and payments.
            .rows(2 * customers, 48)
            .secondary(customers)
            .rows(lines, 40)
            .estimate("--warehouses")
    }

    /// About how many rows there are at first.
    pub(super) fn amounts(&self) -> Amounts {
        let (sizes, warehouses) = (self.sizes(), u64::from(self.warehouses));
        let customers = warehouses * u64::from(sizes.districts) * u64::from(sizes.customers);
        Amounts {
            stock: warehouses * u64::from(sizes.items),
            customers,
            data: u64::from(u32::midpoint(sizes.data.0, sizes.data.1)),
            lines: customers * u64::from(u32::midpoint(sizes.lines.0, sizes.lines.1)),
        }
    }

    /// Two small warehouses that often sell each other's items.
    #[must_use]
    pub fn micro() -> Self {
        Self { warehouses: 2, remote_item: 20.0, scale: Scale::Micro, ..Self::default() }
    }

    /// Whether the values are in range.
    ///
    /// # Errors
    /// One line that names the flag, the value and what is accepted.
    pub fn validate(&self) -> Result<(), String> {
        if !(1..=WAREHOUSES_MAX).contains(&self.warehouses) {
            let given = self.warehouses;
            return Err(format!("--warehouses {given}: accepted is 1 to {WAREHOUSES_MAX}"));
        }
        if !(0.0..=100.0).contains(&self.remote_item) {
            let given = self.remote_item;
            return Err(format!("--remote-item {given}: accepted is 0 to 100 (percent)"));
        }
        Ok(())
    }

    pub(crate) fn sizes(&self) -> Sizes {
        match self.scale {
            Scale::Spec => Sizes::SPEC,
            Scale::Small => Sizes::SMALL,
            Scale::Micro => Sizes::MICRO,
        }
    }
}

/// The cardinalities of one warehouse, and the chances that depend on them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub districts: u8,
    /// Of a district; as many orders are loaded.
    pub customers: u16,
    pub items: u32,
    /// How many last names there are.
    pub last_names: u32,
    /// The loaded orders of a district that are not delivered yet: the last ones.
    pub undelivered: u32,
    /// The fewest and the most lines of an order.
    pub lines: (u32, u32),
    /// Percent of new orders that end with an unused item.
    pub rollbacks: f64,
    /// Percent of customers with bad credit.
    pub bad_credit: f64,
    /// The shortest and the longest C_DATA that is loaded, and where it is cut when it grows.
    pub data: (u32, u32),
    pub data_max: usize,
}

impl Sizes {
    const SPEC: Self = Self {
        districts: 10,
        customers: 3000,
        items: 100_000,
        last_names: 1000,
        undelivered: 900,
        lines: (5, 15),
        rollbacks: 1.0,
        bad_credit: 10.0,
        data: (300, 500),
        data_max: super::schema::customer_data::C_DATA_MAX,
    };

    const SMALL: Self =
        Self { customers: 300, items: 10_000, last_names: 100, undelivered: 90, ..Self::SPEC };

    const MICRO: Self = Self {
        districts: 3,
        customers: 10,
        items: 20,
        last_names: 4,
        undelivered: 3,
        lines: (2, 5),
        rollbacks: 8.0,
        bad_credit: 50.0,
        data: (4, 30),
        data_max: 160,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_values_are_named_with_what_is_accepted() {
        let check = |options: TpccOptions| options.validate().unwrap_err();
        let given = TpccOptions { warehouses: 0, ..TpccOptions::default() };
        assert_eq!(check(given), "--warehouses 0: accepted is 1 to 65535");
        let given = TpccOptions { remote_item: 101.0, ..TpccOptions::default() };
        assert_eq!(check(given), "--remote-item 101: accepted is 0 to 100 (percent)");
        let given = TpccOptions { remote_item: f64::NAN, ..TpccOptions::default() };
        assert!(given.validate().is_err());
        assert!(Mix::parse("all").unwrap_err().contains("new-order-stock-level"));
        assert_eq!(Mix::parse("np"), Ok(Mix::Np));
        assert!(TpccOptions::default().validate().is_ok());
        assert!(TpccOptions::micro().validate().is_ok());
    }

    #[test]
    fn shares_are_percent() {
        for mix in Mix::ALL {
            for scale in [Scale::Spec, Scale::Small, Scale::Micro] {
                assert_eq!(mix.shares(scale).iter().sum::<u32>(), 100);
            }
        }
    }
}
