//! TPC-E's tables, keys and columns, as far as the six transactions need them.
//!
//! Keys are big-endian numbers. A trade has the number of its partition in front of its own, which counts from one. Money is in
//! whole cents, rates are in ten-thousandths, taxes in hundred-thousandths, dates in seconds. Columns of which no
//! transaction here makes use are left out. `trade_account`, `trade_security` and `trade_queue` are ways to find trades, kept
//! by the procedures as tables of their own.

use super::rules::{ACCOUNTS_MAX, Rules};
use chiliad_api::{KeyPart, PartType, SecondarySpec, Source, TableId, TableSpec};
use core::ops::Range;

macro_rules! tables {
    ($($name:ident: $spec:expr),+ $(,)?) => {
        /// The tables by name, once a database has numbered them.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs, reason = "the names are TPC-E's")]
        pub struct Tables {
            $(pub $name: TableId,)+
        }

        impl Tables {
            /// Names the tables that were created in the order of their declarations.
            ///
            /// # Panics
            /// When there are not as many.
            #[must_use]
            pub fn new(tables: &[TableId]) -> Self {
                let mut tables = tables.iter().copied();
                let this = Self { $($name: tables.next().expect("all tables of TPC-E"),)+ };
                assert_eq!(tables.next(), None, "the tables of TPC-E and no others");
                this
            }
        }

        /// The declarations, in the order of [`Tables`].
        pub(super) fn specs(rules: &Rules) -> Vec<TableSpec> {
            let rows = Rows::new(rules);
            vec![$($spec(stringify!($name), &rows)),+]
        }
    };
}

tables! {
    customer: |name, rows: &Rows| TableSpec::hash(name, rows.customers).with_index(by_tax()),
    customer_account: ordered,
    account_permission: |name, rows: &Rows| TableSpec::hash(name, rows.accounts),
    customer_taxrate: |name, rows: &Rows| TableSpec::hash(name, 2 * rows.customers),
    taxrate: |name, _: &Rows| TableSpec::hash(name, usize::from(TAX_RATES)),
    holding_summary: ordered,
    holding: present,
    holding_history: present,
    watch_item: ordered,
    broker: |name, rows: &Rows| TableSpec::hash(name, rows.brokers),
    charge: |name, _: &Rows| TableSpec::hash(name, 15).read_only(),
    commission_rate: |name, _: &Rows| TableSpec::ordered(name).read_only(),
    cash_transaction: present,
    settlement: present,
    trade: ordered,
    trade_account: ordered,
    trade_security: present,
    trade_history: ordered,
    trade_request: present,
    trade_queue: present,
    trade_type: |name, _: &Rows| TableSpec::hash(name, 5).read_only(),
    status_type: |name, _: &Rows| TableSpec::hash(name, 3).read_only(),
    exchange: |name, _: &Rows| TableSpec::hash(name, usize::from(EXCHANGES)),
    company: company,
    security: |name, rows: &Rows| TableSpec::hash(name, rows.securities).with_index(by_company()),
    last_trade: |name, rows: &Rows| TableSpec::hash(name, rows.securities),
    daily_market: |name, rows: &Rows| TableSpec::hash(name, rows.prices),
}

/// Exchanges.
pub const EXCHANGES: u8 = 4;

/// Rows of TAXRATE.
pub const TAX_RATES: u16 = 320;

/// The index of CUSTOMER by C_TAX_ID.
pub const BY_TAX: usize = 0;

/// The index of COMPANY by CO_NAME.
pub const BY_NAME: usize = 0;

/// The index of COMPANY by CO_IN_ID.
pub const BY_INDUSTRY: usize = 1;

/// The index of SECURITY by S_CO_ID and S_ISSUE.
pub const BY_COMPANY: usize = 0;

/// How many rows there will be of what never grows.
struct Rows {
    customers: usize,
    accounts: usize,
    brokers: usize,
    companies: usize,
    securities: usize,
    prices: usize,
}

impl Rows {
    fn new(rules: &Rules) -> Self {
        let customers = rules.customers as usize;
        let securities = rules.securities() as usize;
        Self {
            customers,
            accounts: customers * ACCOUNTS_MAX as usize / 2,
            brokers: rules.brokers() as usize,
            companies: rules.companies() as usize,
            securities,
            prices: securities * rules.sizes.days as usize,
        }
    }
}

fn ordered(name: &str, _: &Rows) -> TableSpec {
    TableSpec::ordered(name)
}

/// A table that no transaction reads in a snapshot.
fn present(name: &str, _: &Rows) -> TableSpec {
    TableSpec::ordered(name).present_only()
}

fn company(name: &str, rows: &Rows) -> TableSpec {
    let name_part = part(company::CO_NAME.offset()..company::CO_NAME.end(), PartType::Text);
    let industry = part(company::CO_IN_ID.offset()..company::CO_IN_ID.end(), PartType::Unsigned);
    TableSpec::hash(name, rows.companies)
        .with_index(index("by_name", vec![name_part], true))
        .with_index(index("by_industry", vec![industry], false))
}

fn by_tax() -> SecondarySpec {
    let tax_id = part(customer::C_TAX_ID.offset()..customer::C_TAX_ID.end(), PartType::Bytes);
    index("by_tax", vec![tax_id], true)
}

fn by_company() -> SecondarySpec {
    let company = part(security::S_CO_ID.offset()..security::S_CO_ID.end(), PartType::Unsigned);
    let issue = part(security::S_ISSUE.offset()..security::S_ISSUE.end(), PartType::Bytes);
    index("by_company", vec![company, issue], true)
}

fn part(bytes: Range<usize>, part_type: PartType) -> KeyPart {
    KeyPart {
        source: Source::Value,
        offset: bytes.start,
        length: bytes.len(),
        part_type,
        descending: false,
    }
}

fn index(name: &str, parts: Vec<KeyPart>, unique: bool) -> SecondarySpec {
    SecondarySpec { name: name.into(), parts: parts.into(), unique }
}

/// The primary keys, and bounds of scans.
pub mod key {
    /// Bits of a trade's own number.
    const OWN_BITS: u32 = 40;

    /// CUSTOMER, BROKER, COMPANY, SECURITY, LAST_TRADE and CUSTOMER_ACCOUNT.
    #[inline]
    #[must_use]
    pub fn one(number: u32) -> [u8; 4] {
        number.to_be_bytes()
    }

    /// HOLDING_SUMMARY (account, security), WATCH_ITEM (customer, security), DAILY_MARKET (security, day).
    #[inline]
    #[must_use]
    pub fn two(first: u32, second: u32) -> [u8; 8] {
        (u64::from(first) << 32 | u64::from(second)).to_be_bytes()
    }

    /// The number that a key begins with.
    #[inline]
    #[must_use]
    pub fn first(key: &[u8]) -> u32 {
        u32::from_be_bytes(at(key, 0))
    }

    /// The trade that a key begins with.
    #[inline]
    #[must_use]
    pub fn first_trade(key: &[u8]) -> u64 {
        u64::from_be_bytes(at(key, 0))
    }

    /// The second number of such a key.
    #[inline]
    #[must_use]
    pub fn second(key: &[u8]) -> u32 {
        u32::from_be_bytes(at(key, 4))
    }

    /// The number of the trade that is the own-th of a partition.
    #[inline]
    #[must_use]
    pub fn trade_of(partition: u32, own: u64) -> u64 {
        u64::from(partition) << OWN_BITS | own
    }

    /// Which trade of its partition a trade is.
    #[inline]
    #[must_use]
    pub fn own(trade: u64) -> u64 {
        trade & ((1 << OWN_BITS) - 1)
    }

    /// The partition of a trade.
    #[inline]
    #[must_use]
    pub fn partition(trade: u64) -> u32 {
        (trade >> OWN_BITS) as u32
    }

    /// TRADE, TRADE_REQUEST, SETTLEMENT and CASH_TRANSACTION.
    #[inline]
    #[must_use]
    pub fn trade(trade: u64) -> [u8; 8] {
        trade.to_be_bytes()
    }

    /// TRADE_HISTORY: the state in the last two bits, so that those of trades which follow each other end differently.
    #[inline]
    #[must_use]
    pub fn state(trade: u64, status: u8) -> [u8; 8] {
        (trade << 2 | u64::from(status & 3)).to_be_bytes()
    }

    /// The trade and the state of such a key.
    #[inline]
    #[must_use]
    pub fn state_of(key: &[u8]) -> (u64, u8) {
        let both = u64::from_be_bytes(at(key, 0));
        (both >> 2, (both & 3) as u8)
    }

    /// TRADE_ACCOUNT, TRADE_SECURITY and TRADE_QUEUE: a trade of an account, of a security, of a broker.
    #[inline]
    #[must_use]
    pub fn trade_by(of: u32, trade: u64) -> [u8; 12] {
        join(&of.to_be_bytes(), &trade.to_be_bytes())
    }

    /// The trade at the end of such a key, and of one of [`holding`].
    #[inline]
    #[must_use]
    pub fn last_trade(key: &[u8]) -> u64 {
        u64::from_be_bytes(at(key, key.len().saturating_sub(8)))
    }

    /// HOLDING.
    #[inline]
    #[must_use]
    pub fn holding(account: u32, security: u32, trade: u64) -> [u8; 16] {
        join(&two(account, security), &trade.to_be_bytes())
    }

    /// HOLDING_HISTORY: the holding of trade `first`, changed by trade `by`.
    #[inline]
    #[must_use]
    pub fn change(first: u64, by: u64) -> [u8; 16] {
        join(&first.to_be_bytes(), &by.to_be_bytes())
    }

    /// ACCOUNT_PERMISSION.
    #[inline]
    #[must_use]
    pub fn permission(account: u32, tax_id: &[u8; 10]) -> [u8; 14] {
        join(&account.to_be_bytes(), tax_id)
    }

    /// CUSTOMER_TAXRATE: the first or second tax of a customer.
    #[inline]
    #[must_use]
    pub fn tax_of(customer: u32, which: u8) -> [u8; 5] {
        join(&customer.to_be_bytes(), &[which])
    }

    /// TAXRATE.
    #[inline]
    #[must_use]
    pub fn tax(number: u16) -> [u8; 2] {
        number.to_be_bytes()
    }

    /// CHARGE.
    #[inline]
    #[must_use]
    pub fn charge(trade_type: u8, tier: u8) -> [u8; 2] {
        [trade_type, tier]
    }

    /// COMMISSION_RATE, from a quantity on.
    #[inline]
    #[must_use]
    pub fn commission(tier: u8, trade_type: u8, exchange: u8, from: u32) -> [u8; 7] {
        join(&[tier, trade_type, exchange], &from.to_be_bytes())
    }

    /// The index of COMPANY by industry.
    #[inline]
    #[must_use]
    pub fn industry(industry: u16, company: u32) -> [u8; 6] {
        join(&industry.to_be_bytes(), &company.to_be_bytes())
    }

    /// The index of SECURITY by company.
    #[inline]
    #[must_use]
    pub fn issue(company: u32, issue: &[u8; 6]) -> [u8; 10] {
        join(&company.to_be_bytes(), issue)
    }

    /// The last four bytes of a key, as a number: a primary key at the end of an index's.
    #[inline]
    #[must_use]
    pub fn primary(key: &[u8]) -> u32 {
        u32::from_be_bytes(at(key, key.len().saturating_sub(4)))
    }

    /// `N` bytes of a key; zeroes where it is shorter.
    fn at<const N: usize>(key: &[u8], from: usize) -> [u8; N] {
        let mut bytes = [0; N];
        let found = key.get(from..from + N).unwrap_or(&[]);
        bytes[..found.len()].copy_from_slice(found);
        bytes
    }

    fn join<const N: usize>(first: &[u8], second: &[u8]) -> [u8; N] {
        let mut key = [0; N];
        key[..first.len()].copy_from_slice(first);
        key[first.len()..].copy_from_slice(second);
        key
    }
}

/// CUSTOMER.
pub mod customer {
    use crate::row::{Chars, Date, Text};
    crate::row::columns! {
        C_ID: u32, C_TAX_ID: Chars<10>, C_TIER: u8, C_L_NAME: Text<26>, C_F_NAME: Text<21>,
        C_GENDER: u8, C_DOB: Date, C_PHONE: Chars<12>, C_EMAIL: Text<41>,
    }
}

/// CUSTOMER_ACCOUNT.
pub mod customer_account {
    use crate::row::Text;
    crate::row::columns! {
        CA_BAL: i64, CA_B_ID: u32, CA_C_ID: u32, CA_TAX_ST: u8, CA_NAME: Text<31>,
    }
}

/// ACCOUNT_PERMISSION.
pub mod account_permission {
    use crate::row::{Chars, Text};
    crate::row::columns! {
        AP_ACL: Chars<4>, AP_L_NAME: Text<26>, AP_F_NAME: Text<21>,
    }
}

/// CUSTOMER_TAXRATE.
pub mod customer_taxrate {
    crate::row::columns! {
        CX_TX_ID: u16,
    }
}

/// TAXRATE.
pub mod taxrate {
    use crate::row::Text;
    crate::row::columns! {
        TX_RATE: u32, TX_NAME: Text<31>,
    }
}

/// HOLDING_SUMMARY.
pub mod holding_summary {
    crate::row::columns! {
        HS_QTY: i64,
    }
}

/// HOLDING.
pub mod holding {
    use crate::row::Date;
    crate::row::columns! {
        H_QTY: i64, H_PRICE: u32, H_DTS: Date,
    }
}

/// HOLDING_HISTORY.
pub mod holding_history {
    crate::row::columns! {
        HH_BEFORE_QTY: i64, HH_AFTER_QTY: i64,
    }
}

/// BROKER.
pub mod broker {
    use crate::row::Text;
    crate::row::columns! {
        B_NUM_TRADES: u64, B_COMM_TOTAL: u64, B_NAME: Text<31>,
    }
}

/// CHARGE.
pub mod charge {
    crate::row::columns! {
        CH_CHRG: u32,
    }
}

/// COMMISSION_RATE.
pub mod commission_rate {
    crate::row::columns! {
        CR_RATE: u32,
    }
}

/// CASH_TRANSACTION.
pub mod cash_transaction {
    use crate::row::{Date, Text};
    crate::row::columns! {
        CT_AMT: i64, CT_DTS: Date, CT_NAME: Text<61>,
    }
}

/// SETTLEMENT.
pub mod settlement {
    use crate::row::{Date, Text};
    crate::row::columns! {
        SE_AMT: i64, SE_CASH_DUE_DATE: Date, SE_CASH_TYPE: Text<16>,
    }
}

/// TRADE.
pub mod trade {
    use crate::row::{Date, Text};
    crate::row::columns! {
        T_DTS: Date, T_ST_ID: u8, T_TT_ID: u8, T_IS_CASH: u8, T_LIFO: u8, T_S_ID: u32, T_CA_ID: u32,
        T_QTY: u32, T_BID_PRICE: u32, T_TRADE_PRICE: u32, T_CHRG: u32, T_COMM: u32, T_TAX: u32,
        T_EXEC_NAME: Text<50>,
    }
}

/// TRADE_HISTORY.
pub mod trade_history {
    use crate::row::Date;
    crate::row::columns! {
        TH_DTS: Date,
    }
}

/// TRADE_REQUEST.
pub mod trade_request {
    crate::row::columns! {
        TR_TT_ID: u8, TR_S_ID: u32, TR_QTY: u32, TR_BID_PRICE: u32, TR_B_ID: u32,
    }
}

/// TRADE_TYPE.
pub mod trade_type {
    use crate::row::Text;
    crate::row::columns! {
        TT_IS_SELL: u8, TT_IS_MRKT: u8, TT_NAME: Text<13>,
    }
}

/// STATUS_TYPE.
pub mod status_type {
    use crate::row::Text;
    crate::row::columns! {
        ST_NAME: Text<11>,
    }
}

/// EXCHANGE.
pub mod exchange {
    use crate::row::Text;
    crate::row::columns! {
        EX_NUM_SYMB: u32, EX_OPEN: u16, EX_CLOSE: u16, EX_NAME: Text<31>,
    }
}

/// COMPANY.
pub mod company {
    use crate::row::{Chars, Text};
    crate::row::columns! {
        CO_ID: u32, CO_IN_ID: u16, CO_NAME: Text<31>, CO_SP_RATE: Chars<4>, CO_CEO: Text<31>,
    }
}

/// SECURITY.
pub mod security {
    use crate::row::{Chars, Date, Text};
    crate::row::columns! {
        S_ID: u32, S_CO_ID: u32, S_NUM_OUT: u64, S_EX_ID: u8, S_SYMB: Chars<8>, S_ISSUE: Chars<6>,
        S_NAME: Text<31>, S_START_DATE: Date, S_52WK_HIGH: u32, S_52WK_LOW: u32, S_DIVIDEND: u32,
    }
}

/// LAST_TRADE.
pub mod last_trade {
    use crate::row::Date;
    crate::row::columns! {
        LT_PRICE: u32, LT_OPEN_PRICE: u32, LT_VOL: u64, LT_DTS: Date,
    }
}

/// DAILY_MARKET.
pub mod daily_market {
    crate::row::columns! {
        DM_CLOSE: u32, DM_HIGH: u32, DM_LOW: u32, DM_VOL: u64,
    }
}
