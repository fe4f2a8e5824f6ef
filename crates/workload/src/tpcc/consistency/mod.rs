//! The twelve consistency conditions (clause 3.3.2), looked at in a database at rest.
//!
//! Tables are walked in pieces, each in a read-only transaction of its own, and every row once:
//! HISTORY from one end to the other, then district by district ORDER, NEW-ORDER and ORDER-LINE side
//! by side, and the customers. Sums are of whole cents and compared exactly.
//!
//! Two conditions need a word. In 2 and 3 a district whose queue of new orders is empty has no
//! greatest and least new order: what speaks of them is passed over. Condition 11 as it is written
//! (orders less new orders are 2,100 in each district) holds for the initial population; each
//! delivery takes one more order out of NEW-ORDER and counts it in C_DELIVERY_CNT, so what is
//! compared is 2,100 plus the sum of the district's C_DELIVERY_CNT.

mod orders;
mod rows;
mod stored;

use super::rules::Rules;
use crate::{Condition, RunReadOnly};
use chiliad_api::Result;
use orders::Walk;
pub(super) use rows::{Balances, CHUNK, HISTORY_CHUNK, Line, Order, Payment, Piece, Rows};
pub(super) use stored::Stored;

/// Looks at all twelve.
///
/// # Errors
/// Those of the transactions.
pub(super) fn check(
    rules: &Rules,
    rows: &dyn Rows,
    run: &mut RunReadOnly<'_>,
) -> Result<Vec<Condition>> {
    let mut findings = Findings::default();
    let paid = paid(rules, rows, run, &mut findings)?;
    for w in 1..=rules.warehouses as u16 {
        let next_orders = check_warehouse(rows, run, &paid, w, &mut findings)?;
        for (d, next_order) in (1..).zip(next_orders) {
            let mut walk = Walk::new(rules, rows, (w, d), next_order);
            walk.orders(run, &mut findings)?;
            walk.customers(run, paid.customers_of(w, d), &mut findings)?;
        }
    }
    Ok(findings.into_conditions())
}

/// The first violation of each of the conditions, and their number.
#[derive(Default)]
struct Findings {
    first: [Option<String>; 12],
    count: [u64; 12],
}

impl Findings {
    /// Condition `number` must hold; `what` says what is wrong if it does not.
    fn demand(&mut self, number: usize, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.count[number - 1] += 1;
            self.first[number - 1].get_or_insert_with(what);
        }
    }

    fn into_conditions(self) -> Vec<Condition> {
        let both = self.first.into_iter().zip(self.count);
        (1..)
            .zip(both)
            .map(|(number, (first, count))| Condition {
                name: format!("3.3.2.{number}"),
                failure: first.map(|first| match count {
                    1 => first,
                    _ => format!("{first} (and {} more)", count - 1),
                }),
            })
            .collect()
    }
}

/// The sums of H_AMOUNT.
struct Paid {
    customers_per_district: usize,
    districts_per_warehouse: usize,
    /// By the customer that has paid.
    customers: Vec<i64>,
    /// By where it was paid.
    districts: Vec<u64>,
}

impl Paid {
    fn district(&self, w: u16, d: u8) -> usize {
        (usize::from(w) - 1) * self.districts_per_warehouse + usize::from(d) - 1
    }

    fn customers_of(&self, w: u16, d: u8) -> &[i64] {
        let start = self.district(w, d) * self.customers_per_district;
        &self.customers[start..start + self.customers_per_district]
    }

    /// Adds a payment, if the customer and the district it names can be.
    fn add(&mut self, row: &Payment) -> bool {
        let c = usize::from(row.customer.2);
        let is_district = |w: u16, d: u8| {
            let warehouses = self.districts.len() / self.districts_per_warehouse;
            (1..=warehouses).contains(&usize::from(w))
                && (1..=self.districts_per_warehouse).contains(&usize::from(d))
        };
        let known = is_district(row.customer.0, row.customer.1)
            && is_district(row.paid_in.0, row.paid_in.1)
            && (1..=self.customers_per_district).contains(&c);
        if known {
            let district = self.district(row.paid_in.0, row.paid_in.1);
            self.districts[district] += u64::from(row.amount);
            let home = self.district(row.customer.0, row.customer.1);
            self.customers[home * self.customers_per_district + c - 1] += i64::from(row.amount);
        }
        known
    }
}

/// Sums up HISTORY.
fn paid(
    rules: &Rules,
    rows: &dyn Rows,
    run: &mut RunReadOnly<'_>,
    findings: &mut Findings,
) -> Result<Paid> {
    let districts_per_warehouse = usize::from(rules.sizes.districts);
    let customers_per_district = usize::from(rules.sizes.customers);
    let districts = rules.warehouses as usize * districts_per_warehouse;
    let mut paid = Paid {
        customers_per_district,
        districts_per_warehouse,
        customers: vec![0; districts * customers_per_district],
        districts: vec![0; districts],
    };
    let mut payments = Vec::new();
    let mut last = None;
    loop {
        let mut end = None;
        run(&mut |tx| {
            payments.clear();
            end = rows.payments(tx, last, &mut payments)?;
            Ok(())
        })?;
        for row in &payments {
            let (w, d, c) = row.customer;
            findings.demand(8, paid.add(row), || {
                format!("a row of HISTORY names customer {c} of district {d} of warehouse {w}")
            });
        }
        if end.is_none() {
            return Ok(paid);
        }
        last = end;
    }
}

/// Conditions 1, 8 and 9 of one warehouse. Returns D_NEXT_O_ID of its districts.
fn check_warehouse(
    rows: &dyn Rows,
    run: &mut RunReadOnly<'_>,
    paid: &Paid,
    w: u16,
    findings: &mut Findings,
) -> Result<Vec<u32>> {
    let mut w_ytd = 0;
    let mut districts: Vec<(u32, u64)> = Vec::new();
    run(&mut |tx| {
        (w_ytd, districts) = rows.warehouse(tx, w)?;
        Ok(())
    })?;
    let sum: u64 = districts.iter().map(|&(_, d_ytd)| d_ytd).sum();
    findings.demand(1, w_ytd == sum, || {
        format!("warehouse {w}: W_YTD is {w_ytd}, the sum of D_YTD {sum}")
    });
    let start = paid.district(w, 1);
    let paid = &paid.districts[start..start + districts.len()];
    let sum: u64 = paid.iter().sum();
    findings.demand(8, w_ytd == sum, || {
        format!("warehouse {w}: W_YTD is {w_ytd}, the sum of H_AMOUNT {sum}")
    });
    for (d, (&(_, d_ytd), &sum)) in (1..).zip(districts.iter().zip(paid)) {
        let d: u8 = d;
        findings.demand(9, d_ytd == sum, || {
            format!("district {d} of warehouse {w}: D_YTD is {d_ytd}, the sum of H_AMOUNT {sum}")
        });
    }
    Ok(districts.into_iter().map(|(next, _)| next).collect())
}
