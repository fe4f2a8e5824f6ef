//! One client of Bidding: how it makes up a bid, and how it makes it.

use super::schema::{Tables, bid, bidmax, biduser, key};
use super::{Bidding, BiddingOptions};
use crate::random::Random;
use crate::workload::{free, present};
use crate::{ClientId, Shape};
use chiliad_api::{Result, Transaction};

/// Amounts are below this many cents: 10,000.00.
const AMOUNT_END: u32 = 1_000_000;

/// A bid as it is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bid {
    /// The bidder.
    pub user: u32,
    /// The product.
    pub product: u32,
    /// The amount in cents.
    pub amount: u32,
}

/// The answer to a bid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shown {
    /// Its number among the user's bids, from zero.
    pub number: u32,
    /// The highest amount of the product before.
    pub highest: u32,
}

impl Shown {
    /// Both as one number.
    #[must_use]
    pub fn number_of_both(self) -> u64 {
        u64::from(self.number) << 32 | u64::from(self.highest)
    }
}

/// One client: its random numbers and the request in hand.
pub struct Client {
    pub(super) tables: Tables,
    random: Random,
    /// Its own partition.
    home: u32,
    bid: Bid,
    shown: Shown,
}

impl Client {
    pub(super) fn new(options: &BiddingOptions, tables: Tables, client_id: ClientId) -> Self {
        Self {
            tables,
            random: Random::new(client_id.seed, 0xb1d_0000_0000 + client_id.index as u64),
            home: client_id.home as u32 % options.partitions,
            bid: Bid::default(),
            shown: Shown::default(),
        }
    }

    /// The request in hand.
    #[must_use]
    pub fn bid(&self) -> Bid {
        self.bid
    }

    /// The answer to the last request.
    #[must_use]
    pub fn shown(&self) -> Shown {
        self.shown
    }

    #[inline]
    pub(super) fn draw(&mut self, bidding: &Bidding, partitions: &mut Vec<u32>) -> Shape {
        let random = &mut self.random;
        let of = bidding.options().partitions;
        let elsewhere = if of == 1 { self.home } else { random.below(of) };
        let (users, products) = (bidding.users_of(self.home), bidding.products_of(elsewhere));
        self.bid = Bid {
            user: users.start + random.below(users.len() as u32),
            product: products.start + random.below(products.len() as u32),
            amount: random.below(AMOUNT_END),
        };
        partitions.push(self.home.min(elsewhere));
        if self.home != elsewhere {
            partitions.push(self.home.max(elsewhere));
        }
        Shape::default()
    }

    #[inline]
    pub(super) fn run<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        let Bid { user, product, amount } = self.bid;
        let counted = present(tx.get_for_update(self.tables.biduser, &key::user(user))?)?;
        let counted = tx.modify(counted)?;
        let number = biduser::BIDS.get(counted);
        // A reader of a state that never was may find any number.
        biduser::BIDS.set(counted, number.wrapping_add(1));
        let mut row = [0; bid::BYTES];
        bid::PRODUCT.set(&mut row, product);
        bid::AMOUNT.set(&mut row, amount);
        free(tx.insert(self.tables.bid, &key::bid(user, number), &row))?;
        let best = present(tx.get(self.tables.bidmax, &key::product(product))?)?;
        let highest = bidmax::AMOUNT.get(tx.bytes(best)?);
        if amount > highest {
            bidmax::AMOUNT.set(tx.modify(best)?, amount);
        }
        self.shown = Shown { number, highest };
        Ok(())
    }
}
