//! The rows that the conditions are about, wherever they are read from.

use chiliad_api::{Result, Transaction};

/// Orders, or customers, read in one transaction.
pub(crate) const CHUNK: usize = 500;

/// Rows of HISTORY read in one transaction.
pub(crate) const HISTORY_CHUNK: usize = 4096;

/// Where the rows are read from. Money is in cents.
pub(crate) trait Rows {
    /// Reads at most [`HISTORY_CHUNK`] rows of HISTORY after that of this writer and number, and returns the last one's, where
    /// there may be more.
    ///
    /// # Errors
    /// Those of the transaction, here and below.
    fn payments(
        &self,
        tx: &mut dyn Transaction,
        after: Option<(u32, u32)>,
        rows: &mut Vec<Payment>,
    ) -> Result<Option<(u32, u32)>>;

    /// W_YTD of a warehouse, and D_NEXT_O_ID and D_YTD of its districts.
    fn warehouse(&self, tx: &mut dyn Transaction, w: u16) -> Result<(u64, Vec<(u32, u64)>)>;

    /// Reads [`CHUNK`] orders of a district from a number on, fewer at its end, with the new orders and lines of the
    /// same numbers.
    fn piece(
        &self,
        tx: &mut dyn Transaction,
        district: (u16, u8),
        from: u32,
        piece: &mut Piece,
    ) -> Result<()>;

    /// What so many customers of a district have, after the first `first`.
    fn customers(
        &self,
        tx: &mut dyn Transaction,
        district: (u16, u8),
        first: usize,
        count: usize,
    ) -> Result<Vec<Option<Balances>>>;
}

/// C_BALANCE, C_YTD_PAYMENT and C_DELIVERY_CNT.
pub(crate) type Balances = (i64, i64, u32);

/// A row of HISTORY.
pub(crate) struct Payment {
    pub customer: (u16, u8, u16),
    pub paid_in: (u16, u8),
    pub amount: u32,
}

/// A row of ORDER.
pub(crate) struct Order {
    pub o: u32,
    pub c: u16,
    /// Zero for null.
    pub carrier: u8,
    pub lines: u8,
}

/// A row of ORDER-LINE.
pub(crate) struct Line {
    pub o: u32,
    pub amount: u32,
    pub is_delivered: bool,
}

/// The rows of a range of order numbers.
#[derive(Default)]
pub(crate) struct Piece {
    pub orders: Vec<Order>,
    pub new_orders: Vec<u32>,
    pub lines: Vec<Line>,
}
