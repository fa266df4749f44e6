//! The change rate of a source: what polls let us believe about it.
//!
//! | question | file | needs |
//! | --- | --- | --- |
//! | how often, to a first look? | [`regular`]: naive, bias-reduced | regular polls: n looks, X changes |
//! | how often, whatever the spacing? | [`likelihood`] | the gap before every poll |
//! | how often, if the source tells when it changed? | [`last_modified`] | ages at the polls |
//! | how often, with a prior, never failing? | [`posterior`] | the gap before every poll |
//! | the same, in two numbers per source, as polls come in? | [`belief`] | nothing kept |
//!
//! All assume a Poisson source: a poll after τ sees a change with chance 1 − e^(−λτ). Rates are per unit of the
//! caller's time. Paper: Cho & Garcia-Molina's estimators, CN-14 and CN-X2..X5
//! (`docs/papers/cho-ntoulas-2002.md`).

pub mod belief;
pub mod last_modified;
pub mod likelihood;
pub mod posterior;
pub mod regular;

pub use belief::Belief;

/// A rate with a 95 % interval; the upper end is infinite where the polls cannot bound it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// λ
    pub rate: f64,
    /// Lower and upper end.
    pub ci95: [f64; 2],
}

/// One poll: the gap since the poll before, and whether anything changed in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Poll {
    /// Time since the poll before; positive.
    pub gap: f64,
    /// Did it change in between?
    pub changed: bool,
}

/// Polls with these gaps, the first list changed, the second not.
#[cfg(test)]
fn polls(changed: &[f64], same: &[f64]) -> Vec<Poll> {
    let with = |gaps: &[f64], changed| {
        gaps.iter().map(move |&gap| Poll { gap, changed }).collect::<Vec<_>>()
    };
    [with(changed, true), with(same, false)].concat()
}
