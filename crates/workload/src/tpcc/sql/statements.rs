//! TPC-C's tables and statements, as SQL (clauses 1.3 and 2.4 to 2.8).
//!
//! Statements over a list, such as the items of an order, have a text for each length of it.

use crate::sql::plans::statements;

/// The tables. An index has no columns of a primary key, so the customers of a district are found by `c_district`, which is its
/// warehouse and its number in one, and the orders of a customer by `o_customer`, made likewise. A row of HISTORY has the
/// numbers of its client and of the payment among those of the client.
pub(super) const TABLES: &str = "
CREATE TABLE warehouse (
    w_id integer PRIMARY KEY, w_name varchar(10) NOT NULL, w_street_1 varchar(20) NOT NULL,
    w_street_2 varchar(20) NOT NULL, w_city varchar(20) NOT NULL, w_state char(2) NOT NULL,
    w_zip char(9) NOT NULL, w_tax numeric(4, 4) NOT NULL, w_ytd numeric(14, 2) NOT NULL
);
CREATE TABLE district (
    d_w_id integer, d_id integer, d_name varchar(10) NOT NULL, d_street_1 varchar(20) NOT NULL,
    d_street_2 varchar(20) NOT NULL, d_city varchar(20) NOT NULL, d_state char(2) NOT NULL,
    d_zip char(9) NOT NULL, d_tax numeric(4, 4) NOT NULL, d_ytd numeric(14, 2) NOT NULL,
    d_next_o_id integer NOT NULL, PRIMARY KEY (d_w_id, d_id)
);
CREATE TABLE customer (
    c_w_id integer, c_d_id integer, c_id integer, c_district integer NOT NULL,
    c_first varchar(16) NOT NULL, c_middle char(2) NOT NULL, c_last varchar(16) NOT NULL,
    c_street_1 varchar(20) NOT NULL, c_street_2 varchar(20) NOT NULL, c_city varchar(20) NOT NULL,
    c_state char(2) NOT NULL, c_zip char(9) NOT NULL, c_phone char(16) NOT NULL,
    c_since timestamp NOT NULL, c_credit char(2) NOT NULL, c_credit_lim numeric(12, 2) NOT NULL,
    c_discount numeric(4, 4) NOT NULL, c_balance numeric(14, 2) NOT NULL,
    c_ytd_payment numeric(14, 2) NOT NULL, c_payment_cnt integer NOT NULL,
    c_delivery_cnt integer NOT NULL, c_data varchar(500) NOT NULL, PRIMARY KEY (c_w_id, c_d_id, c_id)
);
CREATE INDEX customer_by_name ON customer (c_district, c_last, c_first);
CREATE TABLE history (
    h_client bigint, h_number bigint, h_c_id integer NOT NULL, h_c_d_id integer NOT NULL,
    h_c_w_id integer NOT NULL, h_d_id integer NOT NULL, h_w_id integer NOT NULL,
    h_date timestamp NOT NULL, h_amount numeric(6, 2) NOT NULL, h_data varchar(24) NOT NULL,
    PRIMARY KEY (h_client, h_number)
);
CREATE TABLE new_order (
    no_w_id integer, no_d_id integer, no_o_id integer, PRIMARY KEY (no_w_id, no_d_id, no_o_id)
);
CREATE TABLE orders (
    o_w_id integer, o_d_id integer, o_id integer, o_c_id integer NOT NULL,
    o_entry_d timestamp NOT NULL, o_carrier_id integer, o_ol_cnt integer NOT NULL,
    o_all_local integer NOT NULL, o_customer bigint NOT NULL, PRIMARY KEY (o_w_id, o_d_id, o_id)
);
CREATE INDEX orders_of_customer ON orders (o_customer);
CREATE TABLE order_line (
    ol_w_id integer, ol_d_id integer, ol_o_id integer, ol_number integer, ol_i_id integer NOT NULL,
    ol_supply_w_id integer NOT NULL, ol_delivery_d timestamp, ol_quantity integer NOT NULL,
    ol_amount numeric(6, 2) NOT NULL, ol_dist_info char(24) NOT NULL,
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)
);
CREATE TABLE item (
    i_id integer PRIMARY KEY, i_im_id integer NOT NULL, i_name varchar(24) NOT NULL,
    i_price numeric(5, 2) NOT NULL, i_data varchar(50) NOT NULL
);
CREATE TABLE stock (
    s_w_id integer, s_i_id integer, s_quantity integer NOT NULL, s_dist_01 char(24) NOT NULL,
    s_dist_02 char(24) NOT NULL, s_dist_03 char(24) NOT NULL, s_dist_04 char(24) NOT NULL,
    s_dist_05 char(24) NOT NULL, s_dist_06 char(24) NOT NULL, s_dist_07 char(24) NOT NULL,
    s_dist_08 char(24) NOT NULL, s_dist_09 char(24) NOT NULL, s_dist_10 char(24) NOT NULL,
    s_ytd integer NOT NULL, s_order_cnt integer NOT NULL, s_remote_cnt integer NOT NULL,
    s_data varchar(50) NOT NULL, PRIMARY KEY (s_w_id, s_i_id)
)";

/// The names of the tables, in their order.
pub(super) const NAMES: [&str; 9] = [
    "warehouse",
    "district",
    "customer",
    "history",
    "new_order",
    "orders",
    "order_line",
    "item",
    "stock",
];

statements! {
    /// New-order: a customer's terms. Warehouse, district, customer.
    Terms = "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse \
             WHERE w_id = $1 AND c_w_id = w_id AND c_d_id = $2 AND c_id = $3";
    /// The next order of a district. Warehouse, district.
    Next = "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = $1 AND d_id = $2 FOR UPDATE";
    /// It is taken. Warehouse, district.
    Take = "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2";
    /// The order. Warehouse, district, order, customer, lines, whether all is local, the customer in one number.
    Order = "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_ol_cnt, o_all_local, o_customer, o_entry_d) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, current_timestamp)";
    /// Its entry among the new ones. Warehouse, district, order.
    NewOrder = "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES ($1, $2, $3)";
    /// A line is taken out of a stock, which is refilled when it runs low. Quantity, one if it is remote, warehouse, item.
    Supply = "UPDATE stock SET s_quantity = s_quantity - $1 + CASE WHEN s_quantity >= $1 + 10 THEN 0 ELSE 91 END, \
              s_ytd = s_ytd + $1, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + $2 \
              WHERE s_w_id = $3 AND s_i_id = $4";
    /// Payment: what the warehouse got. Amount, warehouse.
    PayWarehouse = "UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2";
    /// The warehouse. Its number.
    Warehouse = "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = $1";
    /// What the district got. Amount, warehouse, district.
    PayDistrict = "UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3";
    /// The district. Warehouse, district.
    District = "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district \
                WHERE d_w_id = $1 AND d_id = $2";
    /// Customers by last name, for payment and order-status. The district in one number, name.
    ByName = "SELECT c_id FROM customer WHERE c_district = $1 AND c_last = $2 ORDER BY c_first";
    /// The customer. Warehouse, district, customer.
    Payer = "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_credit, \
             c_credit_lim, c_discount, c_balance, c_since FROM customer \
             WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 FOR UPDATE";
    /// The customer pays. Amount, warehouse, district, customer.
    Pay = "UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $1, \
           c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4";
    /// So does one with bad credit. As before; then the note, and the letters that C_DATA may have.
    PayNoted = "UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $1, \
                c_payment_cnt = c_payment_cnt + 1, c_data = left($5 || c_data, $6) \
                WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4";
    /// The row of HISTORY. Client, number, customer with its district and warehouse, district, warehouse, amount, data.
    History = "INSERT INTO history (h_client, h_number, h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_amount, h_data, \
               h_date) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, current_timestamp) ON CONFLICT DO NOTHING";
    /// The last number of a client.
    LastNumber = "SELECT h_number FROM history WHERE h_client = $1 ORDER BY h_number DESC LIMIT 1";
    /// Order-status: the customer. Warehouse, district, customer.
    Customer = "SELECT c_balance, c_first, c_middle, c_last FROM customer \
                WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3";
    /// The customer's last order. The customer in one number.
    LastOrder = "SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_customer = $1 ORDER BY o_id DESC LIMIT 1";
    /// The lines of an order. Warehouse, district, order.
    OrderLines = "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
                  WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3";
    /// Delivery: the oldest new order of a district. Warehouse, district.
    Oldest = "SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1 FOR UPDATE";
    /// Its lines are delivered. Warehouse, district, order.
    Deliver = "UPDATE order_line SET ol_delivery_d = current_timestamp \
               WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3";
    /// What they cost. Warehouse, district, order.
    Total = "SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3";
    /// The customer gets them. Total, warehouse, district, customer.
    Deliveree = "UPDATE customer SET c_balance = c_balance + $1, c_delivery_cnt = c_delivery_cnt + 1 \
                 WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4";
    /// Stock-level: the next order. Warehouse, district.
    NextRead = "SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2";
    /// Items of the last 20 orders of which there are few. Warehouse, district, next order, threshold.
    Low = "SELECT count(DISTINCT (s_i_id)) FROM order_line, stock \
           WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id < $3 AND ol_o_id >= $3 - 20 \
           AND s_w_id = $1 AND s_i_id = ol_i_id AND s_quantity < $4";
    /// The conditions: the next client in HISTORY.
    NextClient = "SELECT h_client FROM history WHERE h_client > $1 ORDER BY h_client LIMIT 1";
    /// A client's payments. Client, number before them.
    Payments = "SELECT h_number, h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_amount FROM history \
                WHERE h_client = $1 AND h_number > $2 ORDER BY h_number LIMIT 4096";
    /// Districts beside their warehouse.
    Districts = "SELECT w_ytd, d_next_o_id, d_ytd FROM warehouse JOIN district ON d_w_id = w_id \
                 WHERE w_id = $1 ORDER BY d_id";
    /// Orders of a district from a number on. Warehouse, district, order.
    Orders = "SELECT o_id, o_c_id, coalesce(o_carrier_id, 0), o_ol_cnt FROM orders \
              WHERE o_w_id = $1 AND o_d_id = $2 AND o_id >= $3 ORDER BY o_id LIMIT 500";
    /// New orders with numbers in a range. Warehouse, district, first, last.
    NewOrders = "SELECT no_o_id FROM new_order \
                 WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id BETWEEN $3 AND $4 ORDER BY no_o_id";
    /// Lines of these orders.
    Lines = "SELECT ol_o_id, ol_amount, CASE WHEN ol_delivery_d IS NULL THEN 0 ELSE 1 END FROM order_line \
             WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id BETWEEN $3 AND $4 ORDER BY ol_o_id";
    /// Customers with numbers in a range. Warehouse, district, first, last.
    Customers = "SELECT c_id, c_balance, c_ytd_payment, c_delivery_cnt FROM customer \
                 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id BETWEEN $3 AND $4";
}

/// The longest list.
pub(super) const LIST_MAX: usize = 15;

/// A statement over a list.
#[derive(Clone, Copy)]
pub(super) enum List {
    /// New-order: items. Their numbers.
    Items,
    /// Their stocks, to be written. District; then warehouse and item of each.
    Stocks,
    /// The lines. Warehouse, district, order; then number, item, supplier, quantity, amount and text of each.
    Lines,
    /// Delivery: new orders go. Warehouse; then district and order of each.
    Remove,
    /// The orders have a carrier. Warehouse, carrier; then district and order of each.
    Carry,
    /// Their customers. Warehouse; then district and order of each.
    Buyers,
}

impl List {
    const ALL: [Self; 6] =
        [Self::Items, Self::Stocks, Self::Lines, Self::Remove, Self::Carry, Self::Buyers];

    /// The place of the statement for a list of this length, from one.
    pub fn of(self, length: usize) -> usize {
        TEXTS.len() + self as usize * LIST_MAX + length - 1
    }

    fn text(self, length: usize) -> String {
        // Parameters from number `first` on, `each` for an item, in parentheses.
        let rows = |first: usize, each: usize, fixed: &str| {
            let row = |at: usize| {
                let own = (0..each).map(|part| format!("${}", first + at * each + part));
                format!("({fixed}{})", own.collect::<Vec<_>>().join(", "))
            };
            (0..length).map(row).collect::<Vec<_>>().join(", ")
        };
        match self {
            Self::Items => {
                let numbers = (1..=length).map(|at| format!("${at}")).collect::<Vec<_>>();
                let numbers = numbers.join(", ");
                format!("SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id IN ({numbers})")
            }
            Self::Stocks => {
                let cases = (1..=10).map(|d| format!("WHEN {d} THEN s_dist_{d:02} "));
                let (cases, rows) = (cases.collect::<String>(), rows(2, 2, ""));
                format!(
                    "SELECT s_w_id, s_i_id, s_data, CASE $1::integer {cases}END FROM stock \
                     WHERE (s_w_id, s_i_id) IN ({rows}) FOR UPDATE"
                )
            }
            Self::Lines => format!(
                "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, \
                 ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) VALUES {}",
                rows(4, 6, "$1, $2, $3, ")
            ),
            Self::Remove => format!(
                "DELETE FROM new_order WHERE (no_w_id, no_d_id, no_o_id) IN ({})",
                rows(2, 2, "$1, ")
            ),
            Self::Carry => format!(
                "UPDATE orders SET o_carrier_id = $2 WHERE (o_w_id, o_d_id, o_id) IN ({})",
                rows(3, 2, "$1, ")
            ),
            Self::Buyers => format!(
                "SELECT o_d_id, o_c_id FROM orders WHERE (o_w_id, o_d_id, o_id) IN ({})",
                rows(2, 2, "$1, ")
            ),
        }
    }
}

/// All texts, each in its place.
pub(super) fn texts() -> Vec<String> {
    let fixed = TEXTS.iter().map(|&text| text.to_owned());
    let lists = List::ALL.into_iter();
    let lists = lists.flat_map(|list| (1..=LIST_MAX).map(move |length| list.text(length)));
    fixed.chain(lists).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::plans::Program;

    /// Transactions look up keys, and go through ranges; those that go through tables are named.
    #[test]
    fn rows_are_found_by_keys_and_indexes() {
        let program = Program::new(TABLES, texts()).expect("statements");
        for (text, steps) in program.explained() {
            assert!(!steps.contains("Seq Scan"), "{text}\n{steps}");
        }
        let steps = |text: &str| {
            let found = program.explained().into_iter().find(|(of, _)| of == text);
            found.expect("a statement").1
        };
        let of = |statement: Statement| steps(TEXTS[usize::from(statement)]);
        assert_eq!(of(Statement::ByName), "Index Scan using customer_by_name on customer");
        assert_eq!(
            of(Statement::Oldest),
            "Limit\n->  Index Scan using the primary key on new_order"
        );
        assert_eq!(
            of(Statement::Low),
            "Aggregate\n->  Nested Loop\n      ->  Index Scan using the primary key on order_line\n      \
             ->  Key Lookup on stock"
        );
        assert_eq!(steps(&List::Stocks.text(3)), "Key Lookup of 3 on stock");
    }
}
