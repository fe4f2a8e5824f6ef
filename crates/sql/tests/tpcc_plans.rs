//! TPC-C as clients write it that have not been written for us: none of its statements looks at every row of a table.

mod common;

use common::Database;

const TABLES: &str = "
CREATE TABLE warehouse (w_id int NOT NULL, w_name varchar(10), w_tax decimal(4, 4), w_ytd decimal(12, 2),
    PRIMARY KEY (w_id));
CREATE TABLE district (d_id int NOT NULL, d_w_id int NOT NULL, d_name varchar(10), d_tax decimal(4, 4),
    d_ytd decimal(12, 2), d_next_o_id int, PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customer (c_id int NOT NULL, c_d_id int NOT NULL, c_w_id int NOT NULL, c_first varchar(16),
    c_last varchar(16), c_credit char(2), c_discount decimal(4, 4), c_balance decimal(12, 2),
    c_delivery_cnt int, c_data varchar(500), PRIMARY KEY (c_w_id, c_d_id, c_id));
CREATE INDEX idx_customer ON customer (c_w_id, c_d_id, c_last, c_first);
CREATE TABLE new_order (no_o_id int NOT NULL, no_d_id int NOT NULL, no_w_id int NOT NULL,
    PRIMARY KEY (no_w_id, no_d_id, no_o_id));
CREATE TABLE orders (o_id int NOT NULL, o_d_id int NOT NULL, o_w_id int NOT NULL, o_c_id int,
    o_entry_d timestamp, o_carrier_id int, PRIMARY KEY (o_w_id, o_d_id, o_id));
CREATE INDEX idx_order ON orders (o_w_id, o_d_id, o_c_id, o_id);
CREATE TABLE order_line (ol_o_id int NOT NULL, ol_d_id int NOT NULL, ol_w_id int NOT NULL, ol_number int NOT NULL,
    ol_i_id int NOT NULL, ol_delivery_d timestamp, ol_amount decimal(6, 2),
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number));
CREATE TABLE stock (s_i_id int NOT NULL, s_w_id int NOT NULL, s_quantity int, s_data varchar(50),
    PRIMARY KEY (s_w_id, s_i_id));
CREATE TABLE item (i_id int NOT NULL, i_name varchar(24), i_price decimal(5, 2), PRIMARY KEY (i_id))";

/// Statements with their plans.
const PLANS: [(&str, &str); 17] = [
    (
        "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse \
         WHERE w_id = $1 AND c_w_id = w_id AND c_d_id = $2 AND c_id = $3",
        "Nested Loop\n->  Key Lookup on warehouse\n->  Key Lookup on customer",
    ),
    (
        "SELECT d_next_o_id, d_tax FROM district WHERE d_id = $1 AND d_w_id = $2 FOR UPDATE",
        "Key Lookup on district",
    ),
    (
        "UPDATE district SET d_next_o_id = $1 + 1 WHERE d_id = $2 AND d_w_id = $3",
        "Update on district\n->  Key Lookup on district",
    ),
    ("SELECT i_price, i_id FROM item WHERE i_id IN ($1, $2, $3)", "Key Lookup of 3 on item"),
    (
        "SELECT s_i_id, s_quantity FROM stock WHERE (s_w_id, s_i_id) IN (($1, $2), ($3, $4)) FOR UPDATE",
        "Key Lookup of 2 on stock",
    ),
    (
        "UPDATE stock SET s_quantity = $1 WHERE s_i_id = $2 AND s_w_id = $3",
        "Update on stock\n->  Key Lookup on stock",
    ),
    (
        "SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first",
        "Sort\n->  Index Scan using idx_customer on customer",
    ),
    (
        "SELECT count(c_id) namecnt FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3",
        "Aggregate\n->  Index Scan using idx_customer on customer",
    ),
    (
        "SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 \
         ORDER BY o_id DESC LIMIT 1",
        "Limit\n->  Index Scan Backward using idx_order on orders",
    ),
    (
        "SELECT ol_i_id, ol_amount FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
        "Index Scan using the primary key on order_line",
    ),
    (
        "SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id ASC LIMIT 1 FOR UPDATE",
        "Limit\n->  Index Scan using the primary key on new_order",
    ),
    (
        "DELETE FROM new_order WHERE (no_w_id, no_d_id, no_o_id) IN (($1, $2, $3), ($4, $5, $6))",
        "Delete on new_order\n->  Key Lookup of 2 on new_order",
    ),
    (
        "UPDATE orders SET o_carrier_id = $1 WHERE (o_w_id, o_d_id, o_id) IN (($2, $3, $4), ($5, $6, $7))",
        "Update on orders\n->  Key Lookup of 2 on orders",
    ),
    (
        "UPDATE order_line SET ol_delivery_d = $1 \
         WHERE (ol_w_id, ol_d_id, ol_o_id) IN (($2, $3, $4), ($5, $6, $7))",
        "Update on order_line\n->  Index Scan of 2 ranges using the primary key on order_line",
    ),
    (
        "SELECT ol_d_id, sum(ol_amount) FROM order_line \
         WHERE (ol_w_id, ol_d_id, ol_o_id) IN (($1, $2, $3), ($4, $5, $6)) GROUP BY ol_d_id",
        "HashAggregate\n->  Index Scan of 2 ranges using the primary key on order_line",
    ),
    (
        "UPDATE customer SET c_balance = c_balance + $1, c_delivery_cnt = c_delivery_cnt + 1 \
         WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4",
        "Update on customer\n->  Key Lookup on customer",
    ),
    (
        "SELECT /*+ TIDB_INLJ(order_line,stock) */ COUNT(DISTINCT (s_i_id)) stock_count FROM order_line, stock \
         WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id < $3 AND ol_o_id >= $4 - 20 AND s_w_id = $5 \
         AND s_i_id = ol_i_id AND s_quantity < $6",
        "Aggregate\n->  Nested Loop\n      ->  Index Scan using the primary key on order_line\n      \
         ->  Key Lookup on stock",
    ),
];

#[test]
fn no_statement_of_tpcc_looks_at_every_row() {
    let mut database = Database::new();
    database.run(TABLES, &[]).expect("declared");
    for (sql, plan) in PLANS {
        assert_eq!(database.plan(sql), plan, "{sql}");
    }
}
