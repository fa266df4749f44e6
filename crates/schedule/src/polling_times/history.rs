//! A source's changes on the grid of its period.
//!
//! Polls happen at whole multiples of the grid g. A change at t is seen by the poll at slot ⌈t/g⌉ or later, so on the
//! grid it *is* that slot: nothing about captures or, but for a constant, delays is lost. Slots are counted from 1970
//! on, so that a stretch that wraps past the period's end runs on into the next period (CR-06).
//!
//! Paper: CR-06 (`docs/papers/polling-times.md`).

use crate::spec::Mistake;
use crate::{Span, Time};

/// The finest grid: a week of seconds, a second of microseconds.
pub const MOST_SLOTS: usize = 604_800;

/// A period cut into slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    period: Span,
    step: Span,
    slots: usize,
}

impl Grid {
    /// Slots of `step` in every `period`, which must be a whole number of them.
    pub fn new(period: Span, step: Span) -> Result<Self, Mistake> {
        if step == Span::ZERO || period < step || period.micros() % step.micros() != 0 {
            return Err(Mistake(format!(
                "a period of {period} is no whole number of steps of {step}; take a grid that divides it, such as {}",
                Self::reasonable(period)
            )));
        }
        let slots = usize::try_from(period.micros() / step.micros()).unwrap_or(usize::MAX);
        if slots > MOST_SLOTS {
            return Err(Mistake(format!(
                "a period of {period} in steps of {step} has {slots} slots, more than {MOST_SLOTS}; take a coarser grid"
            )));
        }
        Ok(Self { period, step, slots })
    }

    /// A grid fine enough for any plan: a second for minutes, a minute for hours and days, five for weeks.
    pub fn reasonable(period: Span) -> Span {
        let steps = [1, 10, 60, 300, 900, 3_600].map(Span::from_secs);
        let most = i64::try_from(MOST_SLOTS).unwrap_or(i64::MAX);
        let fits = |most: i64| {
            let divides = |step: &Span| period.micros() % step.micros() == 0;
            steps.into_iter().find(|step| divides(step) && period.micros() / step.micros() <= most)
        };
        fits(2_016).or_else(|| fits(most)).unwrap_or(period)
    }

    /// T
    pub fn period(&self) -> Span {
        self.period
    }

    /// The distance of two neighbouring slots.
    pub fn step(&self) -> Span {
        self.step
    }

    /// s
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The slot whose poll is the first to see a change at `t`, counted from 1970.
    pub fn slot(&self, t: Time) -> i64 {
        -(t.micros().saturating_neg().div_euclid(self.step.micros()))
    }

    /// A slot within the period as a moment of it.
    pub fn moment(&self, slot: usize) -> Span {
        self.step.times(i64::try_from(slot % self.slots).unwrap_or(0))
    }
}

/// Changes on a grid, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    grid: Grid,
    at: Vec<i64>,
}

impl History {
    /// From change times in any order.
    pub fn new(grid: Grid, changes: &[Time]) -> Self {
        let mut at: Vec<i64> = changes.iter().map(|&t| grid.slot(t)).collect();
        at.sort_unstable();
        Self { grid, at }
    }

    /// The grid it lies on.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// How many changes.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// None at all.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Slots from 1970 on, ascending.
    pub fn at(&self) -> &[i64] {
        &self.at
    }

    /// The slot within its period.
    pub fn phase(&self, at: i64) -> usize {
        let slots = i64::try_from(self.grid.slots).unwrap_or(1);
        usize::try_from(at.rem_euclid(slots)).unwrap_or(0)
    }

    /// The number of the period a slot belongs to. A change in slot 0 is the first thing a period sees.
    pub fn period(&self, at: i64) -> i64 {
        at.div_euclid(i64::try_from(self.grid.slots).unwrap_or(1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{HOUR, MINUTE};
    use super::*;

    #[test]
    fn grids_that_do_not_fit_are_refused() {
        assert!(Grid::new(HOUR, Span::from_secs(7)).unwrap_err().to_string().contains("1h"));
        assert!(Grid::new(HOUR, Span::ZERO).is_err());
        assert!(Grid::new(HOUR, HOUR.times(2)).is_err());
        assert!(
            Grid::new(Span::DAY.times(30), Span::from_secs(1))
                .unwrap_err()
                .to_string()
                .contains("coarser")
        );
    }

    #[test]
    fn the_reasonable_grid_divides_common_periods() {
        let steps: Vec<i64> = ["15m", "1h", "6h", "1d", "1w"]
            .iter()
            .map(|text| Grid::reasonable(text.parse().unwrap()).micros() / 1_000_000)
            .collect();
        assert_eq!(steps, [1, 10, 60, 60, 300]);
        let odd: Span = "47m18s".parse().unwrap();
        assert_eq!(Grid::reasonable(odd), Span::from_secs(1));
    }

    proptest! {
        /// A poll on the grid sees a change if and only if it sees the change's slot.
        #[test]
        fn nothing_is_lost_on_the_grid(t in -10_000_000i64..10_000_000, poll in -100i64..100) {
            let grid = Grid::new(HOUR, MINUTE).unwrap();
            let slot = grid.slot(Time::from_micros(t * 977));
            prop_assert_eq!(t * 977 <= poll * 60_000_000, slot <= poll);
        }
    }
}
