//! Payment: a customer, by number or by last name, pays at a warehouse and one of its districts.

use super::layout::{
    self, BY_NAME_BYTES, CUSTOMER, CUSTOMER_BY_NAME, DISTRICT, HISTORY, NAME_BYTES, WAREHOUSE, key,
};
use super::new_order::other;
use super::{DISTRICTS, Scale, draw_customer, last_name, names, nurand};
use crate::random::Random;
use crate::store::{Result, Tx, Verdict};
use crate::workload::found;

enum Who {
    Number(u32),
    Name([u8; NAME_BYTES]),
}

/// What the terminal asks for.
pub struct Input {
    warehouse: u32,
    district: u32,
    customer_warehouse: u32,
    customer_district: u32,
    who: Who,
    amount: u32,
    /// The client, counted from 1, and its payments so far: the key in the history.
    history: (u64, u64),
}

impl Input {
    pub fn draw(scale: Scale, random: &mut Random, warehouse: u32, history: (u64, u64)) -> Self {
        let district = random.between(1, DISTRICTS);
        let (mut customer_warehouse, mut customer_district) = (warehouse, district);
        if scale.warehouses > 1 && random.percent(15) {
            customer_warehouse = other(random, scale, warehouse);
            customer_district = random.between(1, DISTRICTS);
        }
        let who = if random.percent(60) {
            Who::Name(last_name(nurand(random, 255, names(scale)) - 1))
        } else {
            Who::Number(draw_customer(random, scale))
        };
        let amount = random.between(100, 500_000);
        Self { warehouse, district, customer_warehouse, customer_district, who, amount, history }
    }

    pub fn run(&self, tx: &mut dyn Tx, keys: &mut Vec<u8>) -> Result<Verdict> {
        let &Self { warehouse, district, amount, .. } = self;
        let there = tx.update(WAREHOUSE, &key::<1, 4>([warehouse]), &mut |row| {
            layout::warehouse::YTD.add(row, i64::from(amount));
        })?;
        found(there, "a warehouse")?;
        let there = tx.update(DISTRICT, &key::<2, 8>([warehouse, district]), &mut |row| {
            layout::district::YTD.add(row, i64::from(amount));
        })?;
        found(there, "a district")?;
        let customer = match &self.who {
            Who::Number(number) => *number,
            Who::Name(last) => self.middle(tx, last, keys)?,
        };
        self.pay(tx, customer)?;

        use layout::history;
        let mut row = [0; history::BYTES];
        history::DATE.set(&mut row, self.history.1 as i64);
        history::AMOUNT.set(&mut row, i64::from(amount));
        history::WAREHOUSE.set(&mut row, warehouse);
        history::DISTRICT.set(&mut row, district);
        history::CUSTOMER.set(&mut row, customer);
        history::CUSTOMER_WAREHOUSE.set(&mut row, self.customer_warehouse);
        history::CUSTOMER_DISTRICT.set(&mut row, self.customer_district);
        let mut key_of_history = [0; 16];
        key_of_history[..8].copy_from_slice(&self.history.0.to_be_bytes());
        key_of_history[8..].copy_from_slice(&self.history.1.to_be_bytes());
        tx.insert(HISTORY, &key_of_history, &row)?;
        Ok(Verdict::Commit)
    }

    /// The customer in the middle of those with this last name, ordered by first name.
    fn middle(&self, tx: &mut dyn Tx, last: &[u8; NAME_BYTES], keys: &mut Vec<u8>) -> Result<u32> {
        let district = [self.customer_warehouse, self.customer_district];
        let low = layout::by_name(district, last, &[0; NAME_BYTES], 0);
        let high = layout::by_name(district, last, &[0xFF; NAME_BYTES], u32::MAX);
        keys.clear();
        tx.scan(CUSTOMER_BY_NAME, &low, &high, usize::MAX, &mut |key, _| {
            keys.extend_from_slice(key);
        })?;
        let count = keys.len() / BY_NAME_BYTES;
        found(count > 0, "the customers of a name")?;
        let number = &keys[count.div_ceil(2) * BY_NAME_BYTES - 4..][..4];
        Ok(u32::from_be_bytes(number.try_into().expect("four bytes")))
    }

    fn pay(&self, tx: &mut dyn Tx, customer: u32) -> Result<()> {
        use layout::customer;
        let key_of_customer =
            key::<3, 12>([self.customer_warehouse, self.customer_district, customer]);
        let there = tx.update(CUSTOMER, &key_of_customer, &mut |row| {
            customer::BALANCE.add(row, -i64::from(self.amount));
            customer::YTD_PAYMENT.add(row, i64::from(self.amount));
            customer::PAYMENTS.add(row, 1);
            if row[customer::BAD_CREDIT] != 0 {
                let note = [
                    customer,
                    self.customer_district,
                    self.customer_warehouse,
                    self.district,
                    self.warehouse,
                    self.amount,
                ];
                let note = key::<6, 24>(note);
                row.copy_within(
                    customer::DATA..customer::BYTES - note.len(),
                    customer::DATA + note.len(),
                );
                row[customer::DATA..customer::DATA + note.len()].copy_from_slice(&note);
            }
        })?;
        found(there, "a customer")
    }
}
