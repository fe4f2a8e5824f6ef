//! The conditions of an auction house at rest, checked in pieces, each in a transaction of its own:
//!
//! - `bids`: each user has made as many bids as it has counted, numbered without a gap, and nobody else has made any;
//! - `maxima`: each product, and nothing else, has the highest amount of its bids; zero where there are none.

use super::BiddingOptions;
use super::schema::{Tables, bid, bidmax, biduser};
use crate::each_row::each_row;
use crate::{Condition, RunReadOnly};
use chiliad_api::Result;

/// Looks at both.
///
/// # Errors
/// Those of the transactions.
pub(super) fn check(
    options: &BiddingOptions,
    tables: &Tables,
    run: &mut RunReadOnly<'_>,
) -> Result<Vec<Condition>> {
    let mut highest = vec![0; options.products as usize];
    // Of each user the number that its next bid has, if none is missing.
    let mut made = vec![0u32; options.users as usize];
    let (mut miscounted, mut wrong) = (None, None);
    each_row(tables.bid, run, &mut |key, row| {
        let (user, number) = (part(key, 0), part(key, 4));
        let (product, amount) = (bid::PRODUCT.get(row), bid::AMOUNT.get(row));
        match made.get_mut(user as usize) {
            Some(next) if *next == number => *next += 1,
            _ => {
                miscounted.get_or_insert(format!("user {user} has a bid {number} out of turn"));
            }
        }
        match highest.get_mut(product as usize) {
            Some(highest) => *highest = amount.max(*highest),
            None => {
                wrong.get_or_insert(format!("there is a bid for product {product}"));
            }
        }
    })?;
    let mut users = 0;
    each_row(tables.biduser, run, &mut |key, row| {
        let (user, counted) = (part(key, 0), biduser::BIDS.get(row));
        let made = made.get(user as usize);
        if made != Some(&counted) {
            miscounted.get_or_insert(format!("user {user} counts {counted} bids, made {made:?}"));
        }
        users += 1;
    })?;
    if users != options.users {
        miscounted.get_or_insert(format!("there are {users} users, not {}", options.users));
    }
    let mut products = 0;
    each_row(tables.bidmax, run, &mut |key, row| {
        let (product, kept) = (part(key, 0), bidmax::AMOUNT.get(row));
        let highest = highest.get(product as usize);
        if highest != Some(&kept) {
            let message =
                format!("product {product} has {kept} as its highest bid, not {highest:?}");
            wrong.get_or_insert(message);
        }
        products += 1;
    })?;
    if products != options.products {
        wrong.get_or_insert(format!("there are {products} products, not {}", options.products));
    }
    let named = [("bids", miscounted), ("maxima", wrong)];
    Ok(named.map(|(name, failure)| Condition { name: name.into(), failure }).into())
}

/// The number that begins at byte `at` of a key.
fn part(key: &[u8], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&key[at..at + 4]);
    u32::from_be_bytes(bytes)
}
