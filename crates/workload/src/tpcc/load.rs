//! The initial population (clause 4.3.3.1).
//!
//! Parts, each with random numbers of its own, so that they can be made side by side: the items;
//! then for each warehouse its row and stock, and each of its districts with customers, history and
//! orders.

use super::random::{C_LAST_LOAD, LastName, ORIGINAL, nurand};
use super::rules::{DATE_OF_LOAD, Rules};
use super::schema::{self, Tables};
use super::schema::{
    customer, customer_info, district, history, item, order, order_line, stock, stock_info,
    warehouse,
};
use crate::InsertRow;
use crate::random::{Chance, Random};
use crate::row::{Column, Text};
use chiliad_api::{Result, TableId};

/// Every customer has paid this once, in cents.
const FIRST_PAYMENT: u32 = 1000;

pub(super) fn parts(rules: &Rules) -> usize {
    1 + rules.warehouses as usize * parts_per_warehouse(rules)
}

fn parts_per_warehouse(rules: &Rules) -> usize {
    1 + usize::from(rules.sizes.districts)
}

pub(super) fn part(
    rules: &Rules,
    tables: Tables,
    part: usize,
    seed: u64,
    insert: &mut InsertRow<'_>,
) -> Result<()> {
    let random = Random::new(seed, 0x10ad_0000_0000 + part as u64);
    let mut loader = Loader { rules, tables, random, insert, row: vec![0; 1024] };
    let Some(part) = part.checked_sub(1) else { return loader.items() };
    let w = 1 + (part / parts_per_warehouse(rules)) as u16;
    match (part % parts_per_warehouse(rules)) as u8 {
        0 => {
            loader.warehouse(w)?;
            loader.stocks(w)
        }
        d => {
            loader.district(w, d)?;
            loader.customers(w, d)?;
            loader.orders(w, d)
        }
    }
}

struct Loader<'a> {
    rules: &'a Rules,
    tables: Tables,
    random: Random,
    insert: &'a mut InsertRow<'a>,
    /// The row in the making.
    row: Vec<u8>,
}

impl Loader<'_> {
    fn insert(&mut self, table: TableId, key: &[u8], bytes: usize) -> Result<()> {
        (self.insert)(table, key, &self.row[..bytes])
    }

    /// A text of random letters, `low` to `high` of them (an "a-string").
    fn text<const N: usize>(&mut self, column: Column<Text<N>>, low: u32, high: u32) {
        let mut letters = [0; 32];
        let length = self.random.range(low, high) as usize;
        self.random.letters(&mut letters[..length]);
        column.set(&mut self.row, &letters[..length]);
    }

    /// I_DATA or S_DATA at `at`: 26 to 50 letters, with "ORIGINAL" among them in 10 of a hundred.
    /// Returns the end.
    fn data(&mut self, at: usize) -> usize {
        let end = at + self.random.range(26, 50) as usize;
        let data = &mut self.row[at..end];
        self.random.letters(data);
        if self.random.chance(Chance::percent(10.0)) {
            let start = self.random.below(data.len() as u32 - 7) as usize;
            data[start..start + 8].copy_from_slice(ORIGINAL);
        }
        end
    }

    /// Two streets, a city, a state and a zip code (clause 4.3.2.7).
    fn address(
        &mut self,
        texts: [Column<Text<21>>; 3],
        state: Column<crate::row::Chars<2>>,
        zip: Column<crate::row::Chars<9>>,
    ) {
        for text in texts {
            self.text(text, 10, 20);
        }
        let mut letters = [0; 2];
        self.random.letters(&mut letters);
        state.set(&mut self.row, &letters);
        let mut code = *b"000011111";
        self.random.digits(&mut code[..4]);
        zip.set(&mut self.row, &code);
    }

    fn items(&mut self) -> Result<()> {
        for i in 1..=self.rules.sizes.items {
            item::I_PRICE.set(&mut self.row, self.random.range(100, 10_000));
            item::I_IM_ID.set(&mut self.row, self.random.range(1, 10_000) as u16);
            self.text(item::I_NAME, 14, 24);
            let end = self.data(item::BYTES);
            self.insert(self.tables.item, &schema::key::item(i), end)?;
        }
        Ok(())
    }

    fn warehouse(&mut self, w: u16) -> Result<()> {
        use warehouse::{W_CITY, W_NAME, W_STATE, W_STREET_1, W_STREET_2, W_TAX, W_YTD, W_ZIP};
        W_TAX.set(&mut self.row, self.random.range(0, 2000) as u16);
        let paid = u64::from(self.rules.sizes.districts) * self.paid_in_district();
        let totals = self.tables.totals;
        W_YTD.set(&mut self.row, if totals.is_some() { 0 } else { paid });
        self.text(W_NAME, 6, 10);
        self.address([W_STREET_1, W_STREET_2, W_CITY], W_STATE, W_ZIP);
        self.insert(self.tables.warehouse, &schema::key::warehouse(w), warehouse::BYTES)?;
        let total = totals.map(|it| it.warehouse);
        total
            .map_or(Ok(()), |it| (self.insert)(it, &schema::key::warehouse(w), &paid.to_le_bytes()))
    }

    /// The payments of the customers of a district before the run: 30,000.00 at full scale.
    fn paid_in_district(&self) -> u64 {
        u64::from(self.rules.sizes.customers) * u64::from(FIRST_PAYMENT)
    }

    fn stocks(&mut self, w: u16) -> Result<()> {
        for i in 1..=self.rules.sizes.items {
            let key = schema::key::stock(w, i);
            let quantity = self.random.range(10, 100);
            self.row[..stock::BYTES].fill(0);
            stock::S_QUANTITY.set(&mut self.row, quantity);
            self.insert(self.tables.stock, &key, stock::BYTES)?;
            let texts = stock_info::S_DATA.0;
            self.random.letters(&mut self.row[..texts]);
            let end = self.data(texts);
            self.insert(self.tables.stock_info, &key, end)?;
        }
        Ok(())
    }

    fn district(&mut self, w: u16, d: u8) -> Result<()> {
        use district::{D_CITY, D_NAME, D_NEXT_O_ID, D_STATE, D_STREET_1, D_STREET_2};
        use district::{D_TAX, D_YTD, D_ZIP};
        D_TAX.set(&mut self.row, self.random.range(0, 2000) as u16);
        D_NEXT_O_ID.set(&mut self.row, u32::from(self.rules.sizes.customers) + 1);
        let paid = self.paid_in_district();
        let totals = self.tables.totals;
        D_YTD.set(&mut self.row, if totals.is_some() { 0 } else { paid });
        self.text(D_NAME, 6, 10);
        self.address([D_STREET_1, D_STREET_2, D_CITY], D_STATE, D_ZIP);
        self.insert(self.tables.district, &schema::key::district(w, d), district::BYTES)?;
        let total = totals.map(|it| it.district);
        let key = schema::key::district(w, d);
        total.map_or(Ok(()), |it| (self.insert)(it, &key, &paid.to_le_bytes()))
    }

    fn customers(&mut self, w: u16, d: u8) -> Result<()> {
        let sizes = self.rules.sizes;
        for c in 1..=sizes.customers {
            let key = schema::key::customer(w, d, c);
            self.customer_info(c);
            self.insert(self.tables.customer_info, &key, customer_info::BYTES)?;
            customer::C_BALANCE.set(&mut self.row, -i64::from(FIRST_PAYMENT));
            customer::C_YTD_PAYMENT.set(&mut self.row, u64::from(FIRST_PAYMENT));
            customer::C_PAYMENT_CNT.set(&mut self.row, 1);
            customer::C_DELIVERY_CNT.set(&mut self.row, 0);
            self.insert(self.tables.customer, &key, customer::BYTES)?;
            let length = self.random.range(sizes.data.0, sizes.data.1) as usize;
            self.random.letters(&mut self.row[..length]);
            self.insert(self.tables.customer_data, &key, length)?;
            self.history(w, d, c)?;
        }
        Ok(())
    }

    fn customer_info(&mut self, c: u16) {
        use customer_info::{C_CITY, C_CREDIT, C_CREDIT_LIM, C_DISCOUNT, C_FIRST, C_ID, C_LAST};
        use customer_info::{C_MIDDLE, C_PHONE, C_SINCE, C_STATE, C_STREET_1, C_STREET_2, C_ZIP};
        let sizes = self.rules.sizes;
        C_ID.set(&mut self.row, c);
        C_DISCOUNT.set(&mut self.row, self.random.range(0, 5000) as u16);
        let is_bad = self.random.chance(Chance::percent(sizes.bad_credit));
        C_CREDIT.set(&mut self.row, if is_bad { b"BC" } else { b"GC" });
        C_CREDIT_LIM.set(&mut self.row, 5_000_000);
        // The first thousand customers have all the names, so that every name is somebody's.
        let names = sizes.last_names;
        let name = if u32::from(c) <= names {
            u32::from(c) - 1
        } else {
            nurand(&mut self.random, 255, C_LAST_LOAD, 0, names - 1)
        };
        C_LAST.set(&mut self.row, LastName::new(name).as_bytes());
        self.text(C_FIRST, 8, 16);
        C_MIDDLE.set(&mut self.row, b"OE");
        self.address([C_STREET_1, C_STREET_2, C_CITY], C_STATE, C_ZIP);
        let mut digits = [0; 16];
        self.random.digits(&mut digits);
        C_PHONE.set(&mut self.row, &digits);
        C_SINCE.set(&mut self.row, DATE_OF_LOAD);
    }

    fn history(&mut self, w: u16, d: u8, c: u16) -> Result<()> {
        use history::{H_AMOUNT, H_C_D_ID, H_C_ID, H_C_W_ID, H_D_ID, H_DATE, H_W_ID};
        H_C_ID.set(&mut self.row, c);
        H_C_D_ID.set(&mut self.row, d);
        H_C_W_ID.set(&mut self.row, w);
        H_D_ID.set(&mut self.row, d);
        H_W_ID.set(&mut self.row, w);
        H_DATE.set(&mut self.row, DATE_OF_LOAD);
        H_AMOUNT.set(&mut self.row, FIRST_PAYMENT);
        let end = history::BYTES + self.random.range(12, 24) as usize;
        self.random.letters(&mut self.row[history::BYTES..end]);
        // Each district is a writer of its own, beyond the numbers of clients.
        let writer = 1 << 31 | u32::from(w) << 8 | u32::from(d);
        let key = schema::key::history(writer, u32::from(c) - 1);
        self.insert(self.tables.history, &key, end)
    }

    /// One order for each customer, in random order; the last ones are not delivered yet.
    fn orders(&mut self, w: u16, d: u8) -> Result<()> {
        let sizes = self.rules.sizes;
        let mut customers: Vec<u16> = (1..=sizes.customers).collect();
        self.random.shuffle(&mut customers);
        let delivered = u32::from(sizes.customers) - sizes.undelivered;
        for (o, c) in (1..).zip(customers) {
            let is_delivered = o <= delivered;
            let lines = self.random.range(sizes.lines.0, sizes.lines.1) as u8;
            let carrier = if is_delivered { self.random.range(1, 10) as u8 } else { 0 };
            order::O_C_ID.set(&mut self.row, c);
            order::O_ENTRY_D.set(&mut self.row, DATE_OF_LOAD);
            order::O_CARRIER_ID.set(&mut self.row, carrier);
            order::O_OL_CNT.set(&mut self.row, lines);
            order::O_ALL_LOCAL.set(&mut self.row, 1);
            let key = schema::key::order(w, d, o);
            self.insert(self.tables.order, &key, order::BYTES)?;
            let by_customer = schema::key::order_customer(w, d, c, o);
            self.insert(self.tables.order_customer, &by_customer, 0)?;
            if !is_delivered {
                self.insert(self.tables.new_order, &key, 0)?;
            }
            for line in 1..=lines {
                self.order_line(w, is_delivered);
                let key = schema::key::order_line(w, d, o, line);
                self.insert(self.tables.order_line, &key, order_line::BYTES)?;
            }
        }
        Ok(())
    }

    fn order_line(&mut self, w: u16, is_delivered: bool) {
        use order_line::OL_SUPPLY_W_ID;
        use order_line::{OL_AMOUNT, OL_DELIVERY_D, OL_DIST_INFO, OL_I_ID, OL_QUANTITY};
        let amount = if is_delivered { 0 } else { self.random.range(1, 999_999) };
        OL_I_ID.set(&mut self.row, self.random.range(1, self.rules.sizes.items));
        OL_SUPPLY_W_ID.set(&mut self.row, w);
        OL_QUANTITY.set(&mut self.row, 5);
        OL_AMOUNT.set(&mut self.row, amount);
        OL_DELIVERY_D.set(&mut self.row, if is_delivered { DATE_OF_LOAD } else { 0 });
        let mut letters = [0; 24];
        self.random.letters(&mut letters);
        OL_DIST_INFO.set(&mut self.row, &letters);
    }
}
