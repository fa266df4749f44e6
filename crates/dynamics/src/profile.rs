//! When in its period a source changes: a rate for every part of the hour, the day or the week.
//!
//! ```text
//! λ(t) = λ_k        t in bin k of the period; changes are a Poisson process with that rate
//! quiet (a, b]      −Λ                 Λ = ∫ₐᵇ λ
//! changed (a, b]    ln(1 − e^(−Λ))     polls tell no more: at least one change, somewhere between them
//! change at b       −Λ + ln λ(b)       a log of change times tells this: silence, then a change
//! ```
//!
//! Fitted by expectation and maximisation: a change known only to lie in (a, b] is spread over the bins as λ says
//! (λ_k w_k / (1 − e^(−Λ)) in bin k, w_k of it in the interval), then λ_k = changes / time watched, both smoothed round
//! the circle by a Gaussian kernel. How much to smooth is decided by *held-out periods*: fitted on every other period,
//! judged by the likelihood of the rest; all the way to a constant rate, so that a source without rhythm gets none.
//!
//! | question | file |
//! | --- | --- |
//! | is it periodic at all, and with which period? | [`rhythm`] |
//!
//! Paper: CR-20; B9 (`docs/papers/polling-times.md`).

pub mod rhythm;

/// What is known about a stretch of time, (from, to].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// After this moment.
    pub from: f64,
    /// Up to and with this one.
    pub to: f64,
    /// What happened in it.
    pub found: Found,
}

/// What a stretch of time brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// No change.
    Nothing,
    /// At least one change, nobody knows when.
    Something,
    /// One change, at its very end.
    AtTheEnd,
}

impl Evidence {
    /// A log of all changes since `start`, in order.
    pub fn log(start: f64, changes: &[f64]) -> Vec<Self> {
        let before = std::iter::once(start).chain(changes.iter().copied());
        before.zip(changes).map(|(from, &to)| Self { from, to, found: Found::AtTheEnd }).collect()
    }
}

/// Rates over the bins of a period.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    period: f64,
    /// Per unit of time.
    rates: Vec<f64>,
    /// Stretches of time behind it.
    pub observations: usize,
    /// Of those, with a change.
    pub changes: usize,
    /// Width of the kernel in bins; infinite: a constant rate.
    pub smoothing: f64,
}

/// Kernel widths that are tried, in bins.
const WIDTHS: [f64; 6] = [f64::INFINITY, 8.0, 4.0, 2.0, 1.0, 0.5];
/// Rounds of expectation and maximisation; smoothing makes them converge fast.
const ROUNDS: u32 = 60;

impl Profile {
    /// With the smoothing under which held-out periods are likeliest; and how much likelier than at a constant rate, in
    /// nats.
    pub fn fit(period: f64, bins: usize, evidence: &[Evidence]) -> (Self, f64) {
        let (odd, even): (Vec<Evidence>, Vec<Evidence>) =
            evidence.iter().partition(|e| (e.to / period).floor().rem_euclid(2.0) >= 1.0);
        let held_out = |width: f64| {
            let score = |past: &[Evidence], rest: &[Evidence]| {
                let profile = Self::smoothed(period, bins, past, width);
                rest.iter().map(|e| profile.likelihood(e)).sum::<f64>()
            };
            score(&odd, &even) + score(&even, &odd)
        };
        let constant = held_out(WIDTHS[0]);
        let best = WIDTHS[1..].iter().map(|&width| (held_out(width), width)).fold(
            (constant, WIDTHS[0]),
            |best, next| {
                if next.0 > best.0 { next } else { best }
            },
        );
        (Self::smoothed(period, bins, evidence, best.1), best.0 - constant)
    }

    /// With a kernel of this width, in bins.
    pub fn smoothed(period: f64, bins: usize, evidence: &[Evidence], width: f64) -> Self {
        let bins = bins.max(1);
        let kernel = kernel(bins, width);
        let length = period / bins as f64;
        let mut watched = vec![0.0; bins];
        evidence.iter().for_each(|e| overlaps(period, bins, e, |bin, time| watched[bin] += time));
        let exposure = convolve(&kernel, &watched);
        let total: f64 = watched.iter().sum();
        let changes = evidence.iter().filter(|e| e.found != Found::Nothing).count();
        // a change more than was seen in twice the time: never zero, never infinite
        let floor = 0.5 / (total + period).max(f64::MIN_POSITIVE);
        let mut profile = Self {
            period,
            rates: vec![((changes as f64) / total.max(f64::MIN_POSITIVE)).max(floor); bins],
            observations: evidence.len(),
            changes,
            smoothing: width,
        };
        let mut known = vec![0.0; bins];
        let at_end = |e: &&Evidence| e.found == Found::AtTheEnd;
        evidence.iter().filter(at_end).for_each(|e| known[profile.bin_up_to(e.to)] += 1.0);
        let vague: Vec<&Evidence> =
            evidence.iter().filter(|e| e.found == Found::Something).collect();
        for _ in 0..if vague.is_empty() { 1 } else { ROUNDS } {
            let mut counts = known.clone();
            for e in &vague {
                let some = -(-profile.expected(e.from, e.to)).exp_m1();
                let scale = 1.0 / some.max(1e-12);
                overlaps(period, bins, e, |bin, time| {
                    counts[bin] += scale * profile.rates[bin] * time;
                });
            }
            let smooth = convolve(&kernel, &counts);
            let rate = |(count, time): (&f64, &f64)| {
                // a bin hardly watched leans on the mean
                let lean = 0.01 * length;
                (count + lean * changes as f64 / total.max(length)) / (time + lean)
            };
            let next: Vec<f64> =
                smooth.iter().zip(&exposure).map(rate).map(|rate| rate.max(floor * 1e-3)).collect();
            let moved =
                next.iter().zip(&profile.rates).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            let most = next.iter().copied().fold(0.0, f64::max);
            profile.rates = next;
            if moved < 1e-6 * most {
                break;
            }
        }
        profile
    }

    /// The period.
    pub fn period(&self) -> f64 {
        self.period
    }

    /// λ of every bin, per unit of time.
    pub fn rates(&self) -> &[f64] {
        &self.rates
    }

    /// The bin (from, to] that holds `t`: one that ends at `t` does.
    fn bin_up_to(&self, t: f64) -> usize {
        let bins = self.rates.len();
        let at = bin(self.period, bins, t);
        let start = (t / self.period).floor() + at as f64 / bins as f64;
        let past_the_edge = (t / self.period - start) * bins as f64;
        if past_the_edge < 1e-9 * (1.0 + start.abs()) { (at + bins - 1) % bins } else { at }
    }

    /// Λ: changes to be expected in (from, to].
    pub fn expected(&self, from: f64, to: f64) -> f64 {
        let mut sum = 0.0;
        let stretch = Evidence { from, to, found: Found::Nothing };
        overlaps(self.period, self.rates.len(), &stretch, |bin, time| {
            sum += self.rates[bin] * time;
        });
        sum
    }

    /// ∫ (to − t) λ(t) dt over (from, to]: how long its changes wait for its end, all together.
    pub fn waiting(&self, from: f64, to: f64) -> f64 {
        if to - from > self.period / 2.0 {
            let middle = f64::midpoint(from, to);
            let carried = self.expected(from, middle) * (to - middle);
            return self.waiting(from, middle) + carried + self.waiting(middle, to);
        }
        let (mut sum, mut left) = (0.0, to - from);
        let stretch = Evidence { from, to, found: Found::Nothing };
        overlaps(self.period, self.rates.len(), &stretch, |bin, time| {
            sum += self.rates[bin] * time * (left - time / 2.0);
            left -= time;
        });
        sum
    }

    /// The logarithm of the chance of what was found.
    pub fn likelihood(&self, e: &Evidence) -> f64 {
        let expected = self.expected(e.from, e.to);
        match e.found {
            Found::Nothing => -expected,
            Found::Something => (-(-expected).exp_m1()).max(f64::MIN_POSITIVE).ln(),
            Found::AtTheEnd => self.rates[self.bin_up_to(e.to)].ln() - expected,
        }
    }

    /// Changes to be expected in each of `slots` equal parts of the period; part 0 ends where the period begins.
    pub fn by_slot(&self, slots: usize) -> Vec<f64> {
        let step = self.period / slots as f64;
        (0..slots)
            .map(|slot| self.expected((slot as f64 - 1.0) * step, slot as f64 * step))
            .collect()
    }
}

fn bin(period: f64, bins: usize, t: f64) -> usize {
    let share = (t / period).rem_euclid(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of the bins"
    )]
    let at = (share * bins as f64) as usize;
    at.min(bins - 1)
}

/// How long (from, to] lies in each bin it touches; whole periods go to all bins at once.
fn overlaps(period: f64, bins: usize, e: &Evidence, mut add: impl FnMut(usize, f64)) {
    let length = period / bins as f64;
    let laps = ((e.to - e.from) / period).floor().max(0.0);
    if laps > 0.0 {
        (0..bins).for_each(|bin| add(bin, laps * length));
    }
    let (mut at, end) = (e.from + laps * period, e.to);
    let mut bin = bin(period, bins, at);
    // the end of the bin that holds `at`
    let mut edge = (at / period).floor() * period + (bin as f64 + 1.0) * length;
    for _ in 0..=bins {
        let until = edge.min(end);
        if until > at {
            add(bin, until - at);
            at = until;
        }
        if edge >= end {
            break;
        }
        bin = (bin + 1) % bins;
        edge += length;
    }
}

/// A Gaussian round the circle that sums to 1, beginning at its peak.
fn kernel(bins: usize, width: f64) -> Vec<f64> {
    let distance = |at: usize| at.min(bins - at) as f64;
    let height =
        |at| if width.is_infinite() { 1.0 } else { (-0.5 * (distance(at) / width).powi(2)).exp() };
    let heights: Vec<f64> = (0..bins).map(height).collect();
    let sum: f64 = heights.iter().sum();
    heights.into_iter().map(|height| height / sum).collect()
}

fn convolve(kernel: &[f64], values: &[f64]) -> Vec<f64> {
    let bins = values.len();
    let at = |bin: usize| {
        (0..bins).map(|other| kernel[(bins + bin - other) % bins] * values[other]).sum()
    };
    (0..bins).map(at).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// A change a day at about 9, half an hour to and fro; with a chance of none at all.
    pub(super) fn mornings(days: u32, seed: u64) -> Vec<f64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..days)
            .filter_map(|day| {
                let at = f64::from(day) * 24.0 + 8.5 + rng.random::<f64>();
                (rng.random::<f64>() < 0.8).then_some(at)
            })
            .collect()
    }

    /// Changes of a constant rate.
    pub(super) fn steady(rate: f64, until: f64, seed: u64) -> Vec<f64> {
        let process = crate::process::Process::Exponential { mean: 1.0 / rate };
        process.path(until, &mut Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// What polls at these moments see of changes.
    pub(super) fn polled(changes: &[f64], polls: impl Iterator<Item = f64>) -> Vec<Evidence> {
        let mut from = 0.0;
        polls
            .map(|to| {
                let some = changes.iter().any(|&t| t > from && t <= to);
                let found = if some { Found::Something } else { Found::Nothing };
                Evidence { from: std::mem::replace(&mut from, to), to, found }
            })
            .collect()
    }

    #[test]
    fn a_log_shows_the_hour() {
        let (profile, gain) = Profile::fit(24.0, 24, &Evidence::log(0.0, &mornings(100, 1)));
        let day: f64 = profile.expected(0.0, 24.0);
        let morning = profile.expected(8.0, 10.0);
        assert!((day - 0.8).abs() < 0.1 && morning > 0.85 * day, "{morning} of {day}");
        assert!(gain > 50.0 && profile.smoothing.is_finite());
        assert!(profile.changes > 60 && profile.observations == profile.changes);
    }

    /// Polls at all hours, five a day at moments that wander: the morning shows though no poll knows it.
    #[test]
    fn polls_show_the_hour_too() {
        let changes = mornings(300, 2);
        let polls = (1..1_500).map(|n| f64::from(n) * 4.8 + 1.7 * f64::from(n % 7));
        let mut polls: Vec<f64> = polls.collect();
        polls.sort_by(f64::total_cmp);
        let (profile, gain) = Profile::fit(24.0, 24, &polled(&changes, polls.into_iter()));
        let (day, morning) = (profile.expected(0.0, 24.0), profile.expected(7.5, 10.5));
        assert!(gain > 10.0, "{gain}");
        // four days in five have a change
        assert!((1.0 - (-day).exp() - 0.8).abs() < 0.1, "{day}");
        assert!(morning > 0.7 * day, "{morning} of {day}");
    }

    /// A poll at 9 that hears of a change at 9 sharp: it happened in the hour up to 9, not in the one after.
    #[test]
    fn a_change_on_an_edge_belongs_to_the_bin_it_ends() {
        let days: Vec<f64> = (0..50).map(|day| f64::from(day) * 24.0 + 9.0).collect();
        let profile = Profile::smoothed(24.0, 24, &Evidence::log(0.0, &days), 0.01);
        assert!(profile.rates()[8] > 0.9 && profile.rates()[9] < 0.05, "{:?}", profile.rates());
        let midnights: Vec<f64> = (1..50).map(|day| f64::from(day) * 24.0).collect();
        let profile = Profile::smoothed(24.0, 24, &Evidence::log(0.0, &midnights), 0.01);
        assert!(profile.rates()[23] > 0.9 && profile.rates()[0] < 0.05, "{:?}", profile.rates());
    }

    #[test]
    fn without_rhythm_nothing_is_gained() {
        let (_, gain) = Profile::fit(24.0, 24, &Evidence::log(0.0, &steady(0.2, 2_000.0, 3)));
        assert!(gain < 4.0, "{gain}");
    }

    #[test]
    fn nothing_seen_is_no_trouble() {
        for evidence in [vec![], vec![Evidence { from: 0.0, to: 5.0, found: Found::Nothing }]] {
            let (profile, gain) = Profile::fit(24.0, 24, &evidence);
            assert!(profile.rates().iter().all(|rate| rate.is_finite() && *rate > 0.0));
            assert!(gain.is_finite());
        }
    }

    proptest! {
        /// Bins share out exactly the time there is.
        #[test]
        fn overlaps_add_up(from in -100.0..100.0f64, length in 0.0..80.0f64, bins in 1usize..30) {
            let e = Evidence { from, to: from + length, found: Found::Nothing };
            let mut sum = 0.0;
            overlaps(24.0, bins, &e, |_, time| sum += time);
            prop_assert!((sum - length).abs() < 1e-9, "{sum} of {length}");
        }

        /// Against a sum over many small steps.
        #[test]
        fn waiting_adds_up(seed in 0u64..50, from in -30.0..30.0f64, length in 0.1..60.0f64) {
            let profile = Profile::smoothed(24.0, 12, &Evidence::log(0.0, &mornings(20, seed)), 1.0);
            let (steps, to) = (4_000, from + length);
            let step = length / f64::from(steps);
            let sum: f64 = (0..steps)
                .map(|n| from + step * f64::from(n))
                .map(|t| profile.expected(t, t + step) * (to - t - step / 2.0))
                .sum();
            prop_assert!((profile.waiting(from, to) - sum).abs() < 1e-3 * (1.0 + sum), "{sum}");
        }

        /// Slots share out what the period expects.
        #[test]
        fn slots_add_up(seed in 0u64..50, slots in 1usize..200) {
            let profile = Profile::smoothed(24.0, 12, &Evidence::log(0.0, &mornings(20, seed)), 1.0);
            let sum: f64 = profile.by_slot(slots).iter().sum();
            prop_assert!((sum - profile.expected(0.0, 24.0)).abs() < 1e-9);
        }
    }
}
