//! The initial population: that of the procedures, row for row, in the tables that SQL declares.

use super::statements::NAMES;
use super::values::{Money, customer_number, district_number};
use crate::InsertRow;
use crate::sql::connection::{int, load};
use crate::sql::plans::Plans;
use crate::tpcc::rules::Rules;
use crate::tpcc::schema::{
    self, Tables, customer, customer_info, district, history, item, order, order_line, stock,
    stock_info, warehouse,
};
use chiliad_api::{GROUPS_MAX, Result, TableId};
use chiliad_sql::Datum;

/// Loads a part of the rows.
///
/// # Errors
/// Those of `insert`.
pub(super) fn part(
    rules: &Rules,
    plans: &Plans,
    numbers: &[TableId],
    part: usize,
    seed: u64,
    insert: &mut InsertRow<'_>,
) -> Result<()> {
    // The procedures' tables, under numbers of our own, with room for their groups.
    let own: Vec<TableId> = (0..10).map(|table| TableId(table * ROOM)).collect();
    let tables = Tables::new(&own, false);
    let mut target =
        Target { plans, numbers, insert, tables, first: Vec::new(), second: Vec::new() };
    crate::tpcc::load::part(rules, tables, part, seed, &mut |table, key, row| {
        target.row(table, key, row)
    })
}

/// More numbers than a table and its groups take.
const ROOM: u32 = 1 + GROUPS_MAX as u32;

/// Takes the procedures' rows.
struct Target<'a, 'i> {
    plans: &'a Plans,
    numbers: &'a [TableId],
    insert: &'a mut InsertRow<'i>,
    tables: Tables,
    /// The first parts of a customer or of a stock, whose last one has not come yet.
    first: Vec<u8>,
    second: Vec<u8>,
}

fn text(bytes: &[u8]) -> Datum<'_> {
    // Letters and digits, all of them.
    Datum::Text(String::from_utf8_lossy(bytes))
}

fn time(seconds: u64) -> Datum<'static> {
    Datum::Timestamp(seconds.cast_signed() * 1_000_000)
}

/// Two streets, a city, a state and a zip code.
macro_rules! address {
    ($of:ident, $row:expr, $($column:ident)*) => {
        [$(text($of::$column.get($row))),*]
    };
}

impl Target<'_, '_> {
    fn put(&mut self, table: usize, row: &[Datum<'_>]) -> Result<()> {
        load(self.plans, (NAMES[table], self.numbers[table]), row, self.insert)
    }

    fn row(&mut self, table: TableId, key: &[u8], row: &[u8]) -> Result<()> {
        let tables = self.tables;
        if table == tables.customer_info || table == tables.stock {
            self.first = row.to_vec();
            return Ok(());
        }
        if table == tables.customer {
            self.second = row.to_vec();
            return Ok(());
        }
        let key = &Key(key);
        if table == tables.warehouse {
            self.warehouse(key, row)
        } else if table == tables.district {
            self.district(key, row)
        } else if table == tables.customer_data {
            self.customer(key, row)
        } else if table == tables.history {
            self.history(key, row)
        } else if table == tables.new_order {
            self.put(4, &[key.w(), key.d(), key.order()])
        } else if table == tables.order {
            self.order(key, row)
        } else if table == tables.order_line {
            self.order_line(key, row)
        } else if table == tables.item {
            self.item(key, row)
        } else if table == tables.stock_info {
            self.stock(key, row)
        } else {
            // The index of orders by customer is one of SQL.
            Ok(())
        }
    }

    fn warehouse(&mut self, key: &Key<'_>, row: &[u8]) -> Result<()> {
        let [street_1, street_2, city, state, zip] =
            address!(warehouse, row, W_STREET_1 W_STREET_2 W_CITY W_STATE W_ZIP);
        let name = text(warehouse::W_NAME.get(row));
        let tax = Money::rate(warehouse::W_TAX.get(row));
        let ytd = Money::cents(warehouse::W_YTD.get(row).cast_signed());
        self.put(0, &[key.w(), name, street_1, street_2, city, state, zip, tax, ytd])
    }

    fn district(&mut self, key: &Key<'_>, row: &[u8]) -> Result<()> {
        let [street_1, street_2, city, state, zip] =
            address!(district, row, D_STREET_1 D_STREET_2 D_CITY D_STATE D_ZIP);
        let name = text(district::D_NAME.get(row));
        let tax = Money::rate(district::D_TAX.get(row));
        let ytd = Money::cents(district::D_YTD.get(row).cast_signed());
        let next = int(district::D_NEXT_O_ID.get(row));
        let row = [key.w(), key.d(), name, street_1, street_2, city, state, zip, tax, ytd, next];
        self.put(1, &row)
    }

    fn customer(&mut self, key: &Key<'_>, data: &[u8]) -> Result<()> {
        use customer_info::{C_CREDIT, C_CREDIT_LIM, C_DISCOUNT, C_FIRST, C_LAST, C_MIDDLE};
        use customer_info::{C_PHONE, C_SINCE};
        let (first, second) = (core::mem::take(&mut self.first), core::mem::take(&mut self.second));
        let (info, row) = (&first[..], &second[..]);
        let [street_1, street_2, city, state, zip] =
            address!(customer_info, info, C_STREET_1 C_STREET_2 C_CITY C_STATE C_ZIP);
        let row = [
            key.w(),
            key.d(),
            key.customer(),
            int(district_number(key.warehouse_number(), key.0[2])),
            text(C_FIRST.get(info)),
            text(C_MIDDLE.get(info)),
            text(C_LAST.get(info)),
            street_1,
            street_2,
            city,
            state,
            zip,
            text(C_PHONE.get(info)),
            time(C_SINCE.get(info)),
            text(C_CREDIT.get(info)),
            Money::cents(C_CREDIT_LIM.get(info).cast_signed()),
            Money::rate(C_DISCOUNT.get(info)),
            Money::cents(customer::C_BALANCE.get(row)),
            Money::cents(customer::C_YTD_PAYMENT.get(row).cast_signed()),
            int(customer::C_PAYMENT_CNT.get(row)),
            int(customer::C_DELIVERY_CNT.get(row)),
            text(data),
        ];
        self.put(2, &row)
    }

    fn history(&mut self, key: &Key<'_>, row: &[u8]) -> Result<()> {
        use history::{H_AMOUNT, H_C_D_ID, H_C_ID, H_C_W_ID, H_D_ID, H_DATA, H_DATE, H_W_ID};
        let row = [
            int(schema::key::history_writer(key.0)),
            int(schema::key::history_sequence(key.0)),
            int(H_C_ID.get(row)),
            int(H_C_D_ID.get(row)),
            int(H_C_W_ID.get(row)),
            int(H_D_ID.get(row)),
            int(H_W_ID.get(row)),
            time(H_DATE.get(row)),
            Money::cents(H_AMOUNT.get(row).into()),
            text(H_DATA.get(row)),
        ];
        self.put(3, &row)
    }

    fn order(&mut self, key: &Key<'_>, row: &[u8]) -> Result<()> {
        let customer = order::O_C_ID.get(row);
        let carrier = match order::O_CARRIER_ID.get(row) {
            0 => Datum::Null,
            carrier => int(carrier),
        };
        let row = [
            key.w(),
            key.d(),
            key.order(),
            int(customer),
            time(order::O_ENTRY_D.get(row)),
            carrier,
            int(order::O_OL_CNT.get(row)),
            int(order::O_ALL_LOCAL.get(row)),
            int(customer_number(key.warehouse_number(), key.0[2], customer)),
        ];
        self.put(5, &row)
    }

    fn order_line(&mut self, key: &Key<'_>, row: &[u8]) -> Result<()> {
        use order_line::{OL_AMOUNT, OL_DELIVERY_D, OL_DIST_INFO, OL_I_ID, OL_QUANTITY};
        let delivered = match OL_DELIVERY_D.get(row) {
            0 => Datum::Null,
            seconds => time(seconds),
        };
        let row = [
            key.w(),
            key.d(),
            key.order(),
            int(key.0[7]),
            int(OL_I_ID.get(row)),
            int(order_line::OL_SUPPLY_W_ID.get(row)),
            delivered,
            int(OL_QUANTITY.get(row)),
            Money::cents(OL_AMOUNT.get(row).into()),
            text(OL_DIST_INFO.get(row)),
        ];
        self.put(6, &row)
    }

    fn item(&mut self, key: &Key<'_>, row: &[u8]) -> Result<()> {
        let row = [
            key.item(0),
            int(item::I_IM_ID.get(row)),
            text(item::I_NAME.get(row)),
            Money::cents(item::I_PRICE.get(row).into()),
            text(item::I_DATA.get(row)),
        ];
        self.put(7, &row)
    }

    fn stock(&mut self, key: &Key<'_>, info: &[u8]) -> Result<()> {
        let first = core::mem::take(&mut self.first);
        let row = &first[..];
        let mut values = vec![key.w(), key.item(2), int(stock::S_QUANTITY.get(row))];
        values.extend((1..=10).map(|d| text(stock_info::s_dist(d).get(info))));
        values.push(int(stock::S_YTD.get(row)));
        values.push(int(stock::S_ORDER_CNT.get(row)));
        values.push(int(stock::S_REMOTE_CNT.get(row)));
        values.push(text(stock_info::S_DATA.get(info)));
        self.put(8, &values)
    }
}

/// A key of the procedures.
struct Key<'k>(&'k [u8]);

impl Key<'_> {
    /// A number of so many bytes.
    fn number(&self, at: usize, bytes: usize) -> u32 {
        self.0[at..at + bytes].iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
    }

    fn warehouse_number(&self) -> u16 {
        self.number(0, 2) as u16
    }

    fn w(&self) -> Datum<'static> {
        int(self.number(0, 2))
    }

    fn d(&self) -> Datum<'static> {
        int(self.number(2, 1))
    }

    fn customer(&self) -> Datum<'static> {
        int(self.number(3, 2))
    }

    fn order(&self) -> Datum<'static> {
        int(self.number(3, 4))
    }

    fn item(&self, at: usize) -> Datum<'static> {
        int(self.number(at, 4))
    }
}
