//! What the tables hold before the first transaction.

use super::layout::{
    self, CUSTOMER, CUSTOMER_BY_NAME, DISTRICT, HISTORY, ITEM, NAME_BYTES, NEW_ORDER, ORDER,
    ORDER_LINE, STOCK, WAREHOUSE, key,
};
use super::{DISTRICTS, Scale, last_name, names, nurand};
use crate::random::Random;
use crate::store::Result;
use crate::workload::Loader;

/// Hands out all rows, table by table within a warehouse, keys ascending where they can.
pub fn load(scale: Scale, rows: &mut Loader<'_>) -> Result<()> {
    let mut random = Random::new(0, 0);
    for number in 1..=scale.items {
        let mut row = [0; layout::item::BYTES];
        random.letters(&mut row);
        layout::item::PRICE.set(&mut row, random.between(100, 10_000));
        rows.row(ITEM, &key::<1, 4>([number]), &row)?;
    }
    for warehouse in 1..=scale.warehouses {
        let mut row = [0; layout::warehouse::BYTES];
        random.letters(&mut row);
        layout::warehouse::YTD.set(&mut row, 3_000_000 * i64::from(DISTRICTS));
        layout::warehouse::TAX.set(&mut row, random.between(0, 2_000));
        rows.row(WAREHOUSE, &key::<1, 4>([warehouse]), &row)?;
        load_stock(scale, rows, &mut random, warehouse)?;
        for district in 1..=DISTRICTS {
            let mut row = [0; layout::district::BYTES];
            random.letters(&mut row);
            layout::district::YTD.set(&mut row, 3_000_000);
            layout::district::TAX.set(&mut row, random.between(0, 2_000));
            layout::district::NEXT_ORDER.set(&mut row, scale.customers + 1);
            rows.row(DISTRICT, &key::<2, 8>([warehouse, district]), &row)?;
            load_customers(scale, rows, &mut random, [warehouse, district])?;
            load_orders(scale, rows, &mut random, [warehouse, district])?;
        }
    }
    Ok(())
}

fn load_stock(
    scale: Scale,
    rows: &mut Loader<'_>,
    random: &mut Random,
    warehouse: u32,
) -> Result<()> {
    for item in 1..=scale.items {
        let mut row = [0; layout::stock::BYTES];
        random.letters(&mut row);
        layout::stock::YTD.set(&mut row, 0);
        layout::stock::QUANTITY.set(&mut row, random.between(10, 100));
        layout::stock::ORDERS.set(&mut row, 0);
        layout::stock::REMOTE_ORDERS.set(&mut row, 0);
        rows.row(STOCK, &key::<2, 8>([warehouse, item]), &row)?;
    }
    Ok(())
}

fn load_customers(
    scale: Scale,
    rows: &mut Loader<'_>,
    random: &mut Random,
    [warehouse, district]: [u32; 2],
) -> Result<()> {
    use layout::customer;
    for number in 1..=scale.customers {
        let name =
            if number <= names(scale) { number - 1 } else { nurand(random, 255, names(scale)) - 1 };
        let last = last_name(name);
        let mut first = [0; NAME_BYTES];
        random.letters(&mut first);
        let mut row = [0; customer::BYTES];
        random.letters(&mut row);
        customer::BALANCE.set(&mut row, -1_000);
        customer::YTD_PAYMENT.set(&mut row, 1_000);
        customer::PAYMENTS.set(&mut row, 1);
        customer::DISCOUNT.set(&mut row, random.between(0, 5_000));
        row[customer::BAD_CREDIT] = u8::from(random.percent(10));
        row[customer::LAST..customer::LAST + NAME_BYTES].copy_from_slice(&last);
        row[customer::FIRST..customer::FIRST + NAME_BYTES].copy_from_slice(&first);
        rows.row(CUSTOMER, &key::<3, 12>([warehouse, district, number]), &row)?;
        let by_name = layout::by_name([warehouse, district], &last, &first, number);
        rows.row(CUSTOMER_BY_NAME, &by_name, &[])?;
        let mut row = [0; layout::history::BYTES];
        layout::history::AMOUNT.set(&mut row, 1_000);
        layout::history::CUSTOMER.set(&mut row, number);
        rows.row(HISTORY, &key::<4, 16>([0, warehouse, district, number]), &row)?;
    }
    Ok(())
}

/// One order of each customer, in a random order; the last three in ten are not delivered yet.
fn load_orders(
    scale: Scale,
    rows: &mut Loader<'_>,
    random: &mut Random,
    [warehouse, district]: [u32; 2],
) -> Result<()> {
    use layout::{order, order_line};
    let mut customers = (1..=scale.customers).collect::<Vec<_>>();
    for last in (1..customers.len()).rev() {
        customers.swap(last, random.below(last as u64 + 1) as usize);
    }
    for (number, customer) in (1..).zip(customers) {
        let delivered = number <= scale.customers / 10 * 7;
        let lines = random.between(5, 15);
        let mut row = [0; order::BYTES];
        order::CUSTOMER.set(&mut row, customer);
        order::CARRIER.set(&mut row, if delivered { random.between(1, 10) } else { 0 });
        order::LINES.set(&mut row, lines);
        order::ALL_LOCAL.set(&mut row, 1);
        let key_of_order = key::<3, 12>([warehouse, district, number]);
        rows.row(ORDER, &key_of_order, &row)?;
        if !delivered {
            rows.row(NEW_ORDER, &key_of_order, &[])?;
        }
        for line in 1..=lines {
            let mut row = [0; order_line::BYTES];
            random.letters(&mut row);
            order_line::DELIVERED.set(&mut row, i64::from(delivered));
            order_line::AMOUNT.set(&mut row, i64::from(random.between(1, 999_999)));
            order_line::ITEM.set(&mut row, random.between(1, scale.items));
            order_line::SUPPLIER.set(&mut row, warehouse);
            order_line::QUANTITY.set(&mut row, 5);
            rows.row(ORDER_LINE, &key::<4, 16>([warehouse, district, number, line]), &row)?;
        }
    }
    Ok(())
}
