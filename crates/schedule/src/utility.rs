//! What a captured change is worth: importance × urgency × life.
//!
//! ```text
//! g(p, j) = W Σ_{k=p+1..j} urgency(j − k) · π_k · life(k, j)        what a poll at j earns, the poll before it at p
//! U       = Σ over polls of g(previous poll, this poll)
//! ```
//!
//! π_k is the chance of a change at instant k, urgency(t) what a change is worth t instants late (1 at once, never
//! rising), life(k, j) the chance that what appeared at k is still there at j:
//!
//! ```text
//! append        1
//! for W         1 while j − k ≤ W
//! last Z        Σ_{q<Z} P(q changes in (k, j])          Poisson-binomial; with one π: C(n,q) π^q (1−π)^(n−q), n = j − k
//! overwrite     Π_{q=k+1..j} (1 − π_q)                  = last 1
//! ```
//!
//! People write both in time ([`Urgency`], [`Life`], together [`Worth`]); instants are what a schedule counts in
//! ([`Decay`], [`Stay`], together [`Shape`]). g falls as p grows, and g(a,c) + g(b,d) ≥ g(a,d) + g(b,c) for a ≤ b ≤ c ≤ d
//! (inverse Monge): whatever the pair, v(k, j) = urgency · life only falls in j.
//!
//! Paper: WC-02..WC-06, WC-12, WC-24 (`docs/papers/pandey-dhamdhere-olston-2004.md`). Departure: the printed exponent of
//! the change window, N − 1 − q, must be j − k − q (WC-05).

pub mod index;
pub mod running;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Span;
use crate::spec::Mistake;

/// What waiting does to the worth of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Urgency {
    /// Nothing: late is as good as at once.
    #[default]
    None,
    /// It halves every so often.
    HalfLife(Span),
    /// Full worth this long, then nothing.
    Within(Span),
    /// r: what is left of it after one instant, whatever an instant is (the paper's).
    PerTick(f64),
    /// (1 + t)^(−p), t in instants.
    Polynomial(f64),
}

/// How long what a change brought stays to be found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Life {
    /// Until the next change.
    #[default]
    Overwrite,
    /// For ever.
    Append,
    /// Until this many more changes came.
    Last(u32),
    /// This long.
    For(Span),
}

/// What a change of a source is worth, in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Worth {
    /// What waiting does to it.
    pub urgency: Urgency,
    /// How long it can be found.
    pub life: Life,
}

/// [`Urgency`] in instants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Decay {
    /// r^t with 0⁰ = 1; uniform at r = 1.
    Exponential(f64),
    /// 1 while t is at most this, then 0.
    Window(u32),
    /// (1 + t)^(−p)
    Polynomial(f64),
    /// Instant by instant from 0 on; 0 behind its end.
    Table(Vec<f64>),
}

/// [`Life`] in instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stay {
    /// Always.
    Append,
    /// While j − k is at most this.
    Window(u32),
    /// Until so many more changes; one: overwrite.
    Changes(u32),
}

/// [`Worth`] in instants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// What waiting does to it.
    pub decay: Decay,
    /// How long it can be found.
    pub stay: Stay,
}

/// The longest change window: beyond it `append` says nearly the same.
pub const MOST_CHANGES: u32 = 10_000;

impl Decay {
    /// urgency(t)
    pub fn at(&self, late: u32) -> f64 {
        match self {
            Self::Exponential(r) => power(*r, late),
            Self::Window(last) => f64::from(u8::from(late <= *last)),
            Self::Polynomial(p) => (1.0 + f64::from(late)).powf(-p),
            Self::Table(table) => table.get(late as usize).copied().unwrap_or(0.0),
        }
    }

    /// a = max_t urgency(t+1)/urgency(t), 0/0 := 0, over an epoch of so many instants: greedy earns at least 1/(1+a) of
    /// what can be earned (WC-11).
    pub fn steepness(&self, instants: u32) -> f64 {
        let ratio = |t: u32| {
            let now = self.at(t);
            if now > 0.0 { self.at(t + 1) / now } else { 0.0 }
        };
        (0..instants).map(ratio).fold(0.0, f64::max)
    }

    /// A table from 1 down, checked.
    pub fn table(values: Vec<f64>) -> Result<Self, Mistake> {
        let falls = values.windows(2).all(|pair| pair[1] <= pair[0]);
        let starts = values.first().is_some_and(|first| (first - 1.0).abs() < 1e-12);
        if starts && falls && values.iter().all(|value| (0.0..=1.0).contains(value)) {
            return Ok(Self::Table(values));
        }
        Err(Mistake(
            "an urgency table starts at 1, never rises and stays within 0 and 1: one value for each tick of delay".to_owned(),
        ))
    }
}

/// r^t with 0⁰ = 1.
fn power(r: f64, t: u32) -> f64 {
    i32::try_from(t).map_or(0.0, |t| r.powi(t))
}

impl Stay {
    /// life(k, j) when every instant changes with chance π.
    pub fn at(self, chance: f64, later: u32) -> f64 {
        let mut kept = Kept::new(self);
        (0..later).for_each(|_| kept.step(chance));
        kept.life(later)
    }
}

impl Urgency {
    /// In instants of `tick`.
    pub fn per(self, tick: Span) -> Decay {
        match self {
            Self::None => Decay::Exponential(1.0),
            Self::HalfLife(half) => {
                let ticks = tick.secs() / half.secs().max(f64::MIN_POSITIVE);
                Decay::Exponential(0.5f64.powf(ticks))
            }
            Self::Within(window) => Decay::Window(instants(window, tick)),
            Self::PerTick(r) => Decay::Exponential(r),
            Self::Polynomial(p) => Decay::Polynomial(p),
        }
    }
}

impl Life {
    /// In instants of `tick`.
    pub fn per(self, tick: Span) -> Stay {
        match self {
            Self::Overwrite => Stay::Changes(1),
            Self::Append => Stay::Append,
            Self::Last(changes) => Stay::Changes(changes),
            Self::For(window) => Stay::Window(instants(window, tick)),
        }
    }
}

/// Whole instants in a span.
fn instants(span: Span, tick: Span) -> u32 {
    u32::try_from(span.micros() / tick.micros().max(1)).unwrap_or(u32::MAX)
}

impl Worth {
    /// In instants of `tick`.
    pub fn per(self, tick: Span) -> Shape {
        Shape { decay: self.urgency.per(tick), stay: self.life.per(tick) }
    }
}

impl FromStr for Urgency {
    type Err = Mistake;

    fn from_str(text: &str) -> Result<Self, Mistake> {
        let wrong = |why: &str| Mistake(format!("`{text}` is no urgency: {why}"));
        let (word, rest) = words(text);
        let span = || rest.parse::<Span>().ok().filter(|span| *span > Span::ZERO);
        match word {
            "none" if rest.is_empty() => Ok(Self::None),
            "half-life" => {
                span().map(Self::HalfLife).ok_or_else(|| wrong("write `half-life 30m`"))
            }
            // a window of nothing is the paper's RIR: only what is caught at once counts
            "within" => {
                rest.parse().map(Self::Within).map_err(|_| wrong("write `within 2h`, or `within 0s`"))
            }
            "per-tick" => number(rest, 0.0..=1.0).map(Self::PerTick).ok_or_else(|| {
                wrong("write `per-tick 0.9`: what is left of a change's worth after a tick, from 0 to 1")
            }),
            "polynomial" => number(rest, 1e-6..=1e6)
                .map(Self::Polynomial)
                .ok_or_else(|| wrong("write `polynomial 2`: a power above 0")),
            _ => Err(wrong(
                "known are `none`, `half-life 30m`, `within 2h`, `per-tick 0.9` and `polynomial 2`",
            )),
        }
    }
}

impl FromStr for Life {
    type Err = Mistake;

    fn from_str(text: &str) -> Result<Self, Mistake> {
        let wrong = |why: &str| Mistake(format!("`{text}` is no life: {why}"));
        match words(text) {
            ("overwrite", "") => Ok(Self::Overwrite),
            ("append", "") => Ok(Self::Append),
            ("last", rest) => {
                let count = rest.parse().ok().filter(|count| (1..=MOST_CHANGES).contains(count));
                count.map(Self::Last).ok_or_else(|| wrong("write `last 20`: 1 to 10000 changes"))
            }
            ("for", rest) => {
                let span = rest.parse().ok().filter(|span| *span > Span::ZERO);
                span.map(Self::For).ok_or_else(|| wrong("write `for 7d`"))
            }
            _ => Err(wrong("known are `overwrite`, `append`, `last 20` and `for 7d`")),
        }
    }
}

/// The first word and what follows it.
fn words(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_once(char::is_whitespace).map_or((text, ""), |(word, rest)| (word, rest.trim()))
}

fn number(text: &str, range: std::ops::RangeInclusive<f64>) -> Option<f64> {
    text.parse().ok().filter(|number| range.contains(number))
}

impl fmt::Display for Urgency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::HalfLife(half) => write!(f, "half-life {half}"),
            Self::Within(window) => write!(f, "within {window}"),
            Self::PerTick(r) => write!(f, "per-tick {r}"),
            Self::Polynomial(p) => write!(f, "polynomial {p}"),
        }
    }
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overwrite => f.write_str("overwrite"),
            Self::Append => f.write_str("append"),
            Self::Last(changes) => write!(f, "last {changes}"),
            Self::For(window) => write!(f, "for {window}"),
        }
    }
}

/// life(k, j) for k going back from j, one instant with a chance at a time.
#[derive(Clone, Debug)]
enum Kept {
    All,
    While(u32),
    /// P(no change in (k, j]): overwrite, which needs no list.
    Untouched(f64),
    /// P(q changes in (k, j]) for q below Z.
    Fewer(Vec<f64>),
}

impl Kept {
    fn new(stay: Stay) -> Self {
        match stay {
            Stay::Append => Self::All,
            Stay::Window(last) => Self::While(last),
            Stay::Changes(0 | 1) => Self::Untouched(1.0),
            Stay::Changes(changes) => {
                let mut fewer = vec![0.0; changes as usize];
                fewer[0] = 1.0;
                Self::Fewer(fewer)
            }
        }
    }

    /// The chance of what is `late` instants old.
    fn life(&self, late: u32) -> f64 {
        match self {
            Self::All => 1.0,
            Self::While(last) => f64::from(u8::from(late <= *last)),
            Self::Untouched(none) => *none,
            Self::Fewer(fewer) => fewer.iter().sum(),
        }
    }

    /// Behind an instant that changes with chance π.
    fn step(&mut self, chance: f64) {
        match self {
            Self::All | Self::While(_) => {}
            Self::Untouched(none) => *none *= 1.0 - chance,
            Self::Fewer(fewer) => one_more(fewer, chance),
        }
    }
}

/// P(q changes) after one more instant: the Poisson-binomial recurrence, O(Z).
fn one_more(fewer: &mut [f64], chance: f64) {
    for q in (0..fewer.len()).rev() {
        let below = if q > 0 { fewer[q - 1] } else { 0.0 };
        fewer[q] = (1.0 - chance) * fewer[q] + chance * below;
    }
}

/// The terms of g(·, j), from the newest change back.
#[derive(Clone, Debug)]
pub struct Back<'c> {
    at: u32,
    /// urgency(0), urgency(1), …
    curve: &'c [f64],
    kept: Kept,
}

impl<'c> Back<'c> {
    /// From instant `at` on; `curve` is the urgency, long enough for every delay, `stay` the life.
    pub fn new(at: u32, curve: &'c [f64], stay: Stay) -> Self {
        Self { at, curve, kept: Kept::new(stay) }
    }

    /// urgency(j − k) · π_k · life(k, j) of the next older k.
    pub fn add(&mut self, k: u32, chance: f64) -> f64 {
        let late = self.at - k;
        let term = self.curve[late as usize] * chance * self.kept.life(late);
        self.kept.step(chance);
        term
    }
}

impl Shape {
    /// urgency(0) to urgency(longest).
    pub fn curve(&self, longest: u32) -> Vec<f64> {
        (0..=longest).map(|late| self.decay.at(late)).collect()
    }

    /// The longest delay after which a change can still earn.
    pub fn reach(&self) -> u32 {
        let late = match &self.decay {
            Decay::Exponential(r) if *r <= 0.0 => 0,
            Decay::Exponential(_) | Decay::Polynomial(_) => u32::MAX,
            Decay::Window(last) => *last,
            Decay::Table(table) => {
                u32::try_from(table.len()).map_or(u32::MAX, |len| len.max(1) - 1)
            }
        };
        if let Stay::Window(last) = self.stay { late.min(last) } else { late }
    }

    /// g for importance 1: what a poll at `at` earns of chances in order of time, all at or before it.
    pub fn earns(&self, chances: &[(u32, f64)], at: u32) -> f64 {
        let longest = chances.first().map_or(0, |&(k, _)| at - k);
        let curve = self.curve(longest);
        let mut back = Back::new(at, &curve, self.stay);
        chances.iter().rev().map(|&(k, chance)| back.add(k, chance)).sum()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All pairs the laws are tried on: five lives, eight urgencies.
    pub(crate) fn shapes() -> Vec<Shape> {
        let stays =
            [Stay::Append, Stay::Window(1), Stay::Window(3), Stay::Changes(1), Stay::Changes(3)];
        let decays = [
            Decay::Exponential(1.0),
            Decay::Exponential(0.7),
            Decay::Exponential(0.0),
            Decay::Window(0),
            Decay::Window(2),
            Decay::Polynomial(2.0),
            Decay::Polynomial(0.5),
            Decay::Table(vec![1.0, 0.9, 0.4, 0.4, 0.1]),
        ];
        let pair = |stay| decays.clone().map(|decay| Shape { decay, stay });
        stays.into_iter().flat_map(pair).collect()
    }

    /// Chances of consecutive instants from 1 on.
    pub(crate) fn from_one(chances: &[f64]) -> Vec<(u32, f64)> {
        (1..).zip(chances.iter().copied()).collect()
    }

    #[test]
    fn wc_05_change_window_with_the_corrected_exponent() {
        assert!((Stay::Changes(2).at(0.3, 0) - 1.0).abs() < 1e-15);
        assert!((Stay::Changes(1).at(0.3, 5) - 0.168_07).abs() < 1e-12);
        assert!((Stay::Changes(2).at(0.3, 5) - 0.528_22).abs() < 1e-12);
        // the exponent as printed, N = 20, would give .003583
        let printed: f64 = [(1.0, 0), (5.0, 1)]
            .map(|(ways, q)| ways * 0.3f64.powi(q) * 0.7f64.powi(19 - q))
            .iter()
            .sum();
        assert!((printed - 0.003_583).abs() < 1e-6);
    }

    #[test]
    fn wc_06_urgencies() {
        let falls = |decay: &Decay, expected: [f64; 4]| {
            let at = [0, 1, 2, 5].map(|late| decay.at(late));
            assert!(
                at.iter().zip(expected).all(|(at, expected)| (at - expected).abs() < 1e-15),
                "{at:?}"
            );
        };
        falls(&Decay::Exponential(0.0), [1.0, 0.0, 0.0, 0.0]);
        falls(&Decay::Window(2), [1.0, 1.0, 1.0, 0.0]);
        falls(&Decay::table(vec![1.0, 0.5]).unwrap(), [1.0, 0.5, 0.0, 0.0]);
        assert!((Decay::Polynomial(2.0).at(2) - 1.0 / 9.0).abs() < 1e-15);
        for bad in [vec![], vec![0.9], vec![1.0, 0.5, 0.6], vec![1.0, f64::NAN]] {
            assert!(Decay::table(bad).is_err());
        }
    }

    #[test]
    fn wc_11_steepness() {
        let a = |decay: Decay| decay.steepness(20);
        assert!((a(Decay::Exponential(0.7)) - 0.7).abs() < 1e-12);
        assert!(a(Decay::Window(0)).abs() < 1e-15 && a(Decay::Exponential(0.0)).abs() < 1e-15);
        assert!((a(Decay::Window(3)) - 1.0).abs() < 1e-15);
    }

    /// By hand: π = (.5, .2, .4), overwrite, r = .9, a poll at 3:
    /// .4 + .9·.2·.6 + .81·.5·.8·.6 = .4 + .108 + .1944.
    #[test]
    fn one_poll_by_hand() {
        let chances = from_one(&[0.5, 0.2, 0.4]);
        let earns = |decay: Decay, stay| Shape { decay, stay }.earns(&chances, 3);
        assert!((earns(Decay::Exponential(0.9), Stay::Changes(1)) - 0.7024).abs() < 1e-12);
        assert!((earns(Decay::Exponential(1.0), Stay::Append) - 1.1).abs() < 1e-12);
        assert!((earns(Decay::Window(1), Stay::Append) - 0.6).abs() < 1e-12);
        assert!((earns(Decay::Window(0), Stay::Changes(1)) - 0.4).abs() < 1e-12);
        // the newest two of three: P(fewer than 2 later) = 1, 1, 1 − .2·.4
        assert!(
            (earns(Decay::Exponential(1.0), Stay::Changes(2)) - (0.4 + 0.2 + 0.5 * 0.92)).abs()
                < 1e-12
        );
    }

    #[test]
    fn the_grammar_of_worth() {
        for text in ["none", "half-life 30m", "within 2h", "per-tick 0.9", "polynomial 2"] {
            assert_eq!(text.parse::<Urgency>().unwrap().to_string(), text);
        }
        for text in ["overwrite", "append", "last 20", "for 7d"] {
            assert_eq!(text.parse::<Life>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "soon",
            "half-life",
            "half-life 0s",
            "per-tick 2",
            "per-tick x",
            "polynomial -1",
            "none 3",
        ] {
            let mistake = text.parse::<Urgency>().unwrap_err().to_string();
            assert!(mistake.contains(&format!("`{text}`")), "{mistake}");
        }
        for text in ["", "last", "last 0", "last 99999", "for ever", "append 3"] {
            let mistake = text.parse::<Life>().unwrap_err().to_string();
            assert!(mistake.contains(&format!("`{text}`")), "{mistake}");
        }
    }

    #[test]
    fn time_becomes_instants() {
        let minute = Span::from_secs(60);
        let per = |text: &str| text.parse::<Urgency>().unwrap().per(minute);
        assert_eq!(per("within 2h"), Decay::Window(120));
        assert!((per("half-life 30m").at(60) - 0.25).abs() < 1e-12);
        assert_eq!("for 1h".parse::<Life>().unwrap().per(minute), Stay::Window(60));
        assert_eq!(Life::Overwrite.per(minute), Stay::Changes(1));
    }

    proptest! {
        /// Z = 1 is overwrite; with Z beyond the number of instants nothing is ever lost.
        #[test]
        fn a_change_window_lies_between_overwrite_and_append(
            chances in prop::collection::vec(0.0..=1.0f64, 1..12), z in 1u32..6,
        ) {
            let (chances, at) = (from_one(&chances), u32::try_from(chances.len()).unwrap());
            let earns = |stay| Shape { decay: Decay::Exponential(1.0), stay }.earns(&chances, at);
            let (few, all) = (earns(Stay::Changes(1)), earns(Stay::Append));
            prop_assert!(few <= earns(Stay::Changes(z)) + 1e-12 && earns(Stay::Changes(z)) <= all + 1e-12);
            prop_assert!((earns(Stay::Changes(20)) - all).abs() < 1e-12);
            // overwrite, uniform: P(any change), the windowed product of WC-09
            let any = 1.0 - chances.iter().map(|(_, chance)| 1.0 - chance).product::<f64>();
            prop_assert!((few - any).abs() < 1e-12);
        }

        /// g(a,c) + g(b,d) ≥ g(a,d) + g(b,c), and a later poll before means less to earn (WC-22).
        #[test]
        fn payoffs_are_inverse_monge(
            which in 0usize..40, chances in prop::collection::vec(0.0..=1.0f64, 8), cut in prop::collection::vec(0u32..=8, 4),
        ) {
            let (shape, chances) = (&shapes()[which], from_one(&chances));
            let mut cut = cut;
            cut.sort_unstable();
            let [a, b, c, d] = cut[..] else { unreachable!() };
            let g = |p: u32, j: u32| shape.earns(&chances[p as usize..j as usize], j);
            prop_assert!(g(a, c) + g(b, d) >= g(a, d) + g(b, c) - 1e-12);
            prop_assert!(g(a, d) >= g(b, d) - 1e-12);
        }
    }
}
