//! The declarations of TPC-C's tables.

use super::TpccOptions;
use super::schema::customer_info;
use super::schema::district::D_YTD;
use super::schema::warehouse::W_YTD;
use crate::row::Column;
use chiliad_api::{GroupSpec, KeyPart, PartType, SecondarySpec, Source, TableSpec};

/// The declarations, in the order of [`Tables`](super::schema::Tables).
pub(super) fn specs(options: &TpccOptions) -> Vec<TableSpec> {
    let sizes = options.sizes();
    let warehouses = options.warehouses as usize;
    let districts = warehouses * usize::from(sizes.districts);
    let customers = districts * usize::from(sizes.customers);
    let items = sizes.items as usize;
    let stocks = warehouses * items;
    let item = TableSpec::hash("item", items);
    let mut specs = vec![
        TableSpec::hash("warehouse", warehouses).present_only().apart_from(paid_apart(W_YTD)),
        TableSpec::hash("district", districts).apart_from(paid_apart(D_YTD)),
        TableSpec::hash("customer", customers)
            .with_index(by_name())
            .with_group(GroupSpec::new("account"))
            .with_group(GroupSpec::new("data").present_only()),
        TableSpec::ordered("history").present_only().spread(),
        TableSpec::ordered("new_order").present_only(),
        TableSpec::ordered("order"),
        TableSpec::ordered("order_customer"),
        TableSpec::ordered("order_line"),
        if options.read_only_tables { item.read_only() } else { item },
        TableSpec::hash("stock", stocks).with_group(GroupSpec::new("texts")),
    ];
    if options.totals_apart {
        for spec in &mut specs[..2] {
            spec.groups.push(GroupSpec::new("total").present_only());
        }
    }
    specs
}

/// What is before the totals of WAREHOUSE and DISTRICT nobody changes; payments change the totals, and new orders what is after them.
fn paid_apart(total: Column<u64>) -> u16 {
    total.offset() as u16
}

fn by_name() -> SecondarySpec {
    use customer_info::{C_FIRST, C_LAST};
    let part = |source, offset, length, part_type| KeyPart {
        source,
        offset,
        length,
        part_type,
        descending: false,
    };
    SecondarySpec {
        name: "by_name".into(),
        parts: vec![
            part(Source::Key, 0, 3, PartType::Bytes),
            part(Source::Value, C_LAST.offset(), C_LAST.bytes(), PartType::Text),
            part(Source::Value, C_FIRST.offset(), C_FIRST.bytes(), PartType::Text),
        ]
        .into(),
        unique: false,
    }
}
