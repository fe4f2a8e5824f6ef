//! One district: its orders, new orders and order lines side by side (conditions 2 to 7), then its
//! customers (10 to 12).

use super::{CHUNK, Findings, Line, Piece, Rows};
use crate::RunReadOnly;
use crate::tpcc::rules::Rules;
use chiliad_api::Result;

/// The walk over a district so far.
pub(super) struct Walk<'a> {
    rows: &'a dyn Rows,
    w: u16,
    d: u8,
    next_order: u32,
    /// Orders delivered before the run.
    delivered_before: u64,
    orders: u64,
    /// The greatest order number.
    last: Option<u32>,
    new_orders: u64,
    /// The least and the greatest new order.
    queue: Option<(u32, u32)>,
    lines: u64,
    /// The sum of O_OL_CNT.
    lines_stated: u64,
    /// The sum of OL_AMOUNT of delivered lines, by customer.
    delivered: Vec<i64>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        rules: &Rules,
        rows: &'a dyn Rows,
        (w, d): (u16, u8),
        next_order: u32,
    ) -> Self {
        let customers = rules.sizes.customers;
        Self {
            rows,
            w,
            d,
            next_order,
            delivered_before: u64::from(u32::from(customers) - rules.sizes.undelivered),
            orders: 0,
            last: None,
            new_orders: 0,
            queue: None,
            lines: 0,
            lines_stated: 0,
            delivered: vec![0; usize::from(customers)],
        }
    }

    /// Walks through the orders; then conditions 2 to 4.
    pub(super) fn orders(
        &mut self,
        run: &mut RunReadOnly<'_>,
        findings: &mut Findings,
    ) -> Result<()> {
        let mut low = Some(0);
        let mut piece = Piece::default();
        while let Some(from) = low {
            run(&mut |tx| self.rows.piece(tx, (self.w, self.d), from, &mut piece))?;
            self.compare(&piece, findings);
            // The last piece reaches to the end of the key space.
            let end = piece.orders.last().map(|order| order.o);
            low = end.filter(|_| piece.orders.len() == CHUNK).and_then(|o| o.checked_add(1));
        }
        let Self { w, d, next_order, last, queue, new_orders, lines, lines_stated, .. } = *self;
        let place = || format!("district {d} of warehouse {w}");
        let newest = next_order.checked_sub(1);
        findings.demand(2, newest == last, || {
            format!("{}: D_NEXT_O_ID is {next_order}, the greatest O_ID {last:?}", place())
        });
        if let Some((oldest, greatest)) = queue {
            findings.demand(2, newest == Some(greatest), || {
                format!("{}: D_NEXT_O_ID is {next_order}, the last NO_O_ID {greatest}", place())
            });
            let span = u64::from(greatest.abs_diff(oldest)) + 1;
            findings.demand(3, span == new_orders, || {
                format!("{}: NO_O_ID from {oldest} to {greatest}, {new_orders} rows", place())
            });
        }
        findings.demand(4, lines_stated == lines, || {
            format!("{}: the sum of O_OL_CNT is {lines_stated}, order lines {lines}", place())
        });
        Ok(())
    }

    /// Conditions 5 to 7 of a piece, row by row; adds its sums.
    fn compare(&mut self, piece: &Piece, findings: &mut Findings) {
        let (w, d) = (self.w, self.d);
        let mut new_orders = piece.new_orders.iter().copied().peekable();
        let mut lines = piece.lines.iter().peekable();
        for order in &piece.orders {
            let o = order.o;
            let place = || format!("order {o} of district {d} of warehouse {w}");
            // What lies below the order belongs to none.
            while let Some(stray) = new_orders.next_if(|&number| number < o) {
                self.stray_new_order(stray, findings);
            }
            while let Some(stray) = lines.next_if(|line| line.o < o) {
                self.stray_line(stray, findings);
            }
            let is_new = new_orders.next_if(|&number| number == o).is_some();
            findings.demand(5, (order.carrier == 0) == is_new, || {
                format!("{}: O_CARRIER_ID is {}, new: {is_new}", place(), order.carrier)
            });
            let (mut count, mut amount) = (0u64, 0);
            while let Some(line) = lines.next_if(|line| line.o == o) {
                findings.demand(7, line.is_delivered == (order.carrier != 0), || {
                    let delivered = line.is_delivered;
                    format!("{}: O_CARRIER_ID {}, line out: {delivered}", place(), order.carrier)
                });
                count += 1;
                amount += if line.is_delivered { i64::from(line.amount) } else { 0 };
            }
            findings.demand(6, count == u64::from(order.lines), || {
                format!("{}: O_OL_CNT is {}, order lines {count}", place(), order.lines)
            });
            match self.delivered.get_mut(usize::from(order.c).wrapping_sub(1)) {
                Some(sum) => *sum += amount,
                None => findings.demand(10, false, || format!("{}: no such customer", place())),
            }
            self.orders += 1;
            self.lines += count;
            self.lines_stated += u64::from(order.lines);
            self.last = Some(o);
        }
        new_orders.for_each(|stray| self.stray_new_order(stray, findings));
        lines.for_each(|stray| self.stray_line(stray, findings));
        for &number in &piece.new_orders {
            self.new_orders += 1;
            self.queue = Some((self.queue.map_or(number, |(oldest, _)| oldest), number));
        }
    }

    fn stray_new_order(&self, o: u32, findings: &mut Findings) {
        let (w, d) = (self.w, self.d);
        findings.demand(5, false, || {
            format!("new order {o} of district {d} of warehouse {w}: there is no such order")
        });
    }

    fn stray_line(&mut self, line: &Line, findings: &mut Findings) {
        let (w, d, o) = (self.w, self.d, line.o);
        self.lines += 1;
        findings.demand(6, false, || {
            format!("a line of order {o} of district {d} of warehouse {w}: there is no such order")
        });
    }

    /// Conditions 10 to 12. `paid` holds the sums of H_AMOUNT by customer.
    pub(super) fn customers(
        &self,
        run: &mut RunReadOnly<'_>,
        paid: &[i64],
        findings: &mut Findings,
    ) -> Result<()> {
        let (w, d) = (self.w, self.d);
        let mut deliveries = 0;
        for (chunk, sums) in paid.chunks(CHUNK).enumerate() {
            let first = chunk * CHUNK;
            let mut rows = Vec::new();
            run(&mut |tx| {
                rows = self.rows.customers(tx, (w, d), first, sums.len())?;
                Ok(())
            })?;
            for (at, row) in rows.into_iter().enumerate() {
                let c = first + at + 1;
                let place = || format!("customer {c} of district {d} of warehouse {w}");
                let Some((balance, ytd, count)) = row else {
                    findings.demand(10, false, || format!("{}: is missing", place()));
                    continue;
                };
                let (bought, paid) = (self.delivered[c - 1], sums[at]);
                findings.demand(10, balance == bought - paid, || {
                    let place = place();
                    format!("{place}: C_BALANCE {balance}, OL_AMOUNT {bought}, H_AMOUNT {paid}")
                });
                findings.demand(12, balance + ytd == bought, || {
                    let place = place();
                    format!("{place}: C_BALANCE {balance}, C_YTD_PAYMENT {ytd}, bought {bought}")
                });
                deliveries += u64::from(count);
            }
        }
        let Self { orders, new_orders, delivered_before: before, .. } = *self;
        findings.demand(11, orders == new_orders + before + deliveries, || {
            format!(
                "district {d} of warehouse {w}: {orders} orders, {new_orders} new; {before} were \
                 delivered before and {deliveries} since"
            )
        });
        Ok(())
    }
}
