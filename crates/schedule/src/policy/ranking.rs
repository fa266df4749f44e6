//! Sites in order of worth, best first, equals in random order; moved one at a time. No paper.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::SiteIx;
use crate::source::grow;

/// Which site is best?
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ranking {
    order: BTreeSet<(Reverse<u64>, u64, SiteIx)>,
    places: Vec<Option<(u64, u64)>>,
}

impl Ranking {
    /// Puts the site at a worth of 0 or more (ties by `tie`), or takes it off the list.
    pub fn set(&mut self, site: SiteIx, place: Option<(f64, u64)>) {
        // the bits of a non-negative float sort as the number does
        let place = place.map(|(worth, tie)| (worth.max(0.0).to_bits(), tie));
        let before = std::mem::replace(grow(&mut self.places, site.ix(), || None), place);
        if before != place {
            before.map(|(worth, tie)| self.order.remove(&(Reverse(worth), tie, site)));
            place.map(|(worth, tie)| self.order.insert((Reverse(worth), tie, site)));
        }
    }

    /// The best site.
    pub fn first(&self) -> Option<SiteIx> {
        self.order.first().map(|&(_, _, site)| site)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_comes_first_and_moves() {
        let mut ranking = Ranking::default();
        let site = SiteIx::new;
        ranking.set(site(0), Some((0.2, 1)));
        ranking.set(site(1), Some((0.7, 9)));
        ranking.set(site(2), Some((0.7, 3)));
        assert_eq!(ranking.first(), Some(site(2)));
        ranking.set(site(2), None);
        assert_eq!(ranking.first(), Some(site(1)));
        ranking.set(site(0), Some((1.0, 1)));
        assert_eq!(ranking.first(), Some(site(0)));
    }
}
