//! New-Order: takes the district's next number, takes 5 to 15 items from stock, writes the order.

use super::layout::{
    self, CUSTOMER, DISTRICT, ITEM, NEW_ORDER, ORDER, ORDER_LINE, STOCK, WAREHOUSE, key,
};
use super::{DISTRICTS, Scale, draw_customer, nurand};
use crate::random::Random;
use crate::store::{Result, Tx, Verdict};
use crate::workload::found;

struct Line {
    item: u32,
    supplier: u32,
    quantity: u32,
}

/// What the terminal asks for.
pub struct Input {
    warehouse: u32,
    district: u32,
    customer: u32,
    lines: Vec<Line>,
}

impl Input {
    pub fn draw(scale: Scale, random: &mut Random, warehouse: u32) -> Self {
        let district = random.between(1, DISTRICTS);
        let customer = draw_customer(random, scale);
        let count = random.between(5, 15) as usize;
        let mut lines = Vec::<Line>::with_capacity(count);
        while lines.len() < count {
            let item = nurand(random, 8191, scale.items);
            // Distinct, as workloads of this kind have them: one stock row is taken from once.
            if lines.iter().any(|line| line.item == item) {
                continue;
            }
            let mut supplier = warehouse;
            if scale.warehouses > 1 && random.percent(1) {
                supplier = other(random, scale, warehouse);
            }
            lines.push(Line { item, supplier, quantity: random.between(1, 10) });
        }
        if random.percent(1) {
            // No such item: the transaction finds out at its end and rolls back.
            lines[count - 1].item = scale.items + 1;
        }
        Self { warehouse, district, customer, lines }
    }

    pub fn run(&self, tx: &mut dyn Tx, row: &mut Vec<u8>) -> Result<Verdict> {
        let &Self { warehouse, district, customer, .. } = self;
        found(tx.get(WAREHOUSE, &key::<1, 4>([warehouse]), row)?, "a warehouse")?;
        let warehouse_tax = layout::warehouse::TAX.of(row);
        let (mut number, mut district_tax) = (0, 0);
        let there = tx.update(DISTRICT, &key::<2, 8>([warehouse, district]), &mut |row| {
            district_tax = layout::district::TAX.of(row);
            number = layout::district::NEXT_ORDER.of(row);
            layout::district::NEXT_ORDER.add(row, 1);
        })?;
        found(there, "a district")?;
        let key_of_customer = key::<3, 12>([warehouse, district, customer]);
        found(tx.get(CUSTOMER, &key_of_customer, row)?, "a customer")?;
        let discount = layout::customer::DISCOUNT.of(row);

        let mut order = [0; layout::order::BYTES];
        layout::order::ENTERED.set(&mut order, i64::from(number));
        layout::order::CUSTOMER.set(&mut order, customer);
        layout::order::LINES.set(&mut order, self.lines.len() as u32);
        let local = self.lines.iter().all(|line| line.supplier == warehouse);
        layout::order::ALL_LOCAL.set(&mut order, u32::from(local));
        let key_of_order = key::<3, 12>([warehouse, district, number]);
        tx.insert(ORDER, &key_of_order, &order)?;
        tx.insert(NEW_ORDER, &key_of_order, &[])?;

        let mut total = 0;
        for (at, line) in (1..).zip(&self.lines) {
            if !tx.get(ITEM, &key::<1, 4>([line.item]), row)? {
                return Ok(Verdict::RollBack);
            }
            let price = layout::item::PRICE.of(row);
            let amount = i64::from(price) * i64::from(line.quantity);
            total += amount;
            let mut row = [0; layout::order_line::BYTES];
            self.take_stock(tx, line, &mut row)?;
            layout::order_line::AMOUNT.set(&mut row, amount);
            layout::order_line::ITEM.set(&mut row, line.item);
            layout::order_line::SUPPLIER.set(&mut row, line.supplier);
            layout::order_line::QUANTITY.set(&mut row, line.quantity);
            tx.insert(ORDER_LINE, &key::<4, 16>([warehouse, district, number, at]), &row)?;
        }
        let taxed = i64::from(10_000 + warehouse_tax + district_tax);
        std::hint::black_box(total * i64::from(10_000 - discount) * taxed);
        Ok(Verdict::Commit)
    }

    /// Takes a line's items from stock and copies the district's text to the order line.
    fn take_stock(&self, tx: &mut dyn Tx, line: &Line, order_line: &mut [u8]) -> Result<()> {
        use layout::stock;
        let there = tx.update(STOCK, &key::<2, 8>([line.supplier, line.item]), &mut |row| {
            let quantity = stock::QUANTITY.of(row);
            let refill = if quantity >= line.quantity + 10 { 0 } else { 91 };
            stock::QUANTITY.set(row, quantity + refill - line.quantity);
            stock::YTD.add(row, i64::from(line.quantity));
            stock::ORDERS.add(row, 1);
            stock::REMOTE_ORDERS.add(row, u32::from(line.supplier != self.warehouse));
            let at = stock::DISTRICTS + (self.district as usize - 1) * stock::DISTRICT_BYTES;
            order_line[layout::order_line::DISTRICT..]
                .copy_from_slice(&row[at..at + stock::DISTRICT_BYTES]);
        })?;
        found(there, "a stock row")
    }
}

/// Some warehouse but `than`.
pub fn other(random: &mut Random, scale: Scale, than: u32) -> u32 {
    let drawn = random.between(1, scale.warehouses - 1);
    if drawn < than { drawn } else { drawn + 1 }
}
