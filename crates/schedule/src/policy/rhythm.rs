//! The hours of a site: when in a period its sources change, learned from the polls of all of them together.
//!
//! ```text
//! f(t)   λ(t) over its mean, λ the profile of what the site's polls showed ([`dynamics::profile`])
//! π(t)   1 − (1 − π)^f(t)
//! ```
//!
//! One source shows too little of its hours in a few days of polls; a site shows them sooner. Only differences between
//! sites move a choice: where all sources keep the same hours, each instant's order stays what it was. The profile decides
//! by held-out periods how much of it to believe, down to none. It is fitted anew whenever there is a quarter more to go
//! by, and remembers the newest [`MOST`] polls.
//!
//! Paper: CR-20 (`docs/papers/polling-times.md`), WC-26 (`docs/papers/pandey-dhamdhere-olston-2004.md`).

use std::collections::VecDeque;

use dynamics::profile::{Evidence, Found, Profile};
use serde::{Deserialize, Serialize};

use crate::{Observation, Span, Time, Verdict};

/// When in a period changes come.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Rhythm {
    period: Span,
    /// From, to, changed.
    polls: VecDeque<(Time, Time, bool)>,
    heard: usize,
    fit_at: usize,
    /// f, bin by bin; empty: no rhythm known.
    factors: Vec<f64>,
}

/// Polls that are remembered.
const MOST: usize = 2_000;
/// Polls before the first fit.
const FEWEST: usize = 100;
/// Parts of the period that are told apart.
const BINS: usize = 48;

impl Rhythm {
    pub(super) fn new(period: Span) -> Self {
        Self { period, polls: VecDeque::new(), heard: 0, fit_at: FEWEST, factors: Vec::new() }
    }

    pub(super) fn heard(&mut self, heard: &Observation) {
        let changed = match heard.verdict {
            Verdict::Same => false,
            Verdict::Changed => true,
            Verdict::First | Verdict::Unreadable | Verdict::Lost => return,
        };
        let Some(since) = heard.since else { return };
        if self.polls.len() == MOST {
            self.polls.pop_front();
        }
        self.polls.push_back((since, heard.sent, changed));
        self.heard += 1;
        if self.heard >= self.fit_at {
            self.fit_at = self.heard + (self.polls.len() / 4).max(1);
            self.fit();
        }
    }

    fn fit(&mut self) {
        let secs = |time: Time| time.micros() as f64 / 1e6;
        let evidence = |&(from, to, changed): &(Time, Time, bool)| Evidence {
            from: secs(from),
            to: secs(to),
            found: if changed { Found::Something } else { Found::Nothing },
        };
        let evidence: Vec<Evidence> = self.polls.iter().map(evidence).collect();
        let (profile, gain) = Profile::fit(self.period.secs(), BINS, &evidence);
        let rates = profile.by_slot(BINS);
        let mean = rates.iter().sum::<f64>() / BINS as f64;
        self.factors = if gain > 0.0 && mean > 0.0 {
            rates.iter().map(|rate| rate / mean).collect()
        } else {
            Vec::new()
        };
    }

    /// The chance of a change up to `to`, when the hour is taken into account.
    pub(super) fn bend(&self, chance: f64, to: Time) -> f64 {
        if self.factors.is_empty() {
            return chance;
        }
        let period = self.period.micros().max(1);
        let place = to.micros().rem_euclid(period) as f64 / period as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a part of BINS"
        )]
        let bin = ((place * BINS as f64) as usize).min(BINS - 1);
        -(self.factors[bin] * (-chance).ln_1p()).exp_m1()
    }
}
