//! Auctions: real bids, or made-up ones of their kind, and a day of thousands of auctions drawn from them (WC-25).

use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;
use schedule::{HostIx, SiteIx, Time};

use crate::trace::Error;
use crate::trace::table::Table;
use crate::world::{Place, World};

/// One auction: how long it ran and when bids came, in seconds from its start.
#[derive(Clone, Debug, PartialEq)]
pub struct Auction {
    /// Seconds from start to end.
    pub lasts: i64,
    /// In order.
    pub bids: Vec<i64>,
}

const DAY: i64 = 86_400;

/// Reads `ebay_bids` (auction_id, duration_days, t_rel) of a trace directory; `None` if it has none.
pub fn read(dir: &Path) -> Result<Option<Vec<Auction>>, Error> {
    let Some(mut table) =
        Table::open(dir, "ebay_bids", &["auction_id", "duration_days", "t_rel"], &[])?
    else {
        return Ok(None);
    };
    let (ids, days, times) =
        (table.required("auction_id")?, table.required("duration_days")?, table.required("t_rel")?);
    let mut auctions: std::collections::BTreeMap<i64, Auction> = std::collections::BTreeMap::new();
    for row in 0..ids.len() {
        if days[row] <= 0 || times[row] < 0 {
            return Err(table.row(
                "t_rel",
                row,
                "a bid must come within an auction that lasts at least a day",
            ));
        }
        let auction = auctions
            .entry(ids[row])
            .or_insert(Auction { lasts: days[row] * DAY, bids: Vec::new() });
        auction.bids.push(times[row]);
    }
    let mut auctions: Vec<Auction> = auctions.into_values().collect();
    auctions.iter_mut().for_each(|auction| auction.bids.sort_unstable());
    Ok(Some(auctions))
}

/// Auctions of 3, 5 or 7 days with about 17 bids each: half of them at any time, half in the rush at the end.
pub fn made_up(count: usize, seed: u64) -> Vec<Auction> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..count)
        .map(|_| {
            let lasts = [3, 5, 7][rng.random_range(0..3)] * DAY;
            let bids = rng.random_range(4..=30);
            let mut bids: Vec<i64> = (0..bids)
                .map(|bid| {
                    if bid % 2 == 0 {
                        return rng.random_range(0..lasts);
                    }
                    let wait: f64 = Exp1.sample(&mut rng);
                    #[expect(clippy::cast_possible_truncation, reason = "hours in seconds")]
                    let before = (wait * 7_200.0) as i64;
                    (lasts - 1 - before).max(0)
                })
                .collect();
            bids.sort_unstable();
            Auction { lasts, bids }
        })
        .collect()
}

/// A day of `pages` auctions drawn with replacement, each started at any moment that lets some of it fall into the day.
pub fn epoch_day(auctions: &[Auction], pages: usize, seed: u64) -> World {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut world = World::new(Time::ZERO, Time::from_secs(DAY));
    for page in 0..pages {
        let auction = &auctions[rng.random_range(0..auctions.len())];
        let start = rng.random_range(-auction.lasts..DAY);
        let place = Place {
            site: SiteIx::new(page % 100),
            host: HostIx::new(page % 100),
            importance: 1.0,
            enters: Time::MIN,
            leaves: Time::MAX,
        };
        let mut times: Vec<Time> =
            auction.bids.iter().map(|bid| Time::from_secs(start + bid)).collect();
        times.dedup();
        world.add(place, times);
    }
    world
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wc_25_a_day_holds_its_share_of_the_bids() {
        let auctions = made_up(100, 1);
        let per_auction =
            auctions.iter().map(|auction| auction.bids.len()).sum::<usize>() as f64 / 100.0;
        let world = epoch_day(&auctions, 4_000, 2);
        assert_eq!(world.len(), 4_000);
        // an auction of d days falls into the day with 1/(d + 1) of its bids
        let expected: f64 = auctions
            .iter()
            .map(|a| a.bids.len() as f64 / (1.0 + a.lasts as f64 / DAY as f64))
            .sum::<f64>()
            / 100.0;
        let share = world.total_changes() as f64 / 4_000.0;
        assert!((share / expected - 1.0).abs() < 0.05, "{share} {expected} of {per_auction}");
    }
}
