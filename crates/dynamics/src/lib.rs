//! How sources change, and how to learn it from polls.
//!
//! | question | file | paper |
//! | --- | --- | --- |
//! | how long between two updates, and how old is the current version? | [`process`] | `docs/papers/li-cline-loguinov-2015.md` |
//! | what did a poller see, and what can that tell at all? | [`history`], [`diagnosis`] | `docs/papers/li-cline-loguinov-2015.md` |
//! | what is the law of the time between updates, from polls alone? | [`interval`], compared by [`distance`] | `docs/papers/li-cline-loguinov-2015.md` |
//! | how fresh, and how old, is a copy that is looked at every `I`? | [`freshness`] | `docs/papers/cho-ntoulas-2002.md` |
//! | how often does this source change, as far as the polls can tell? | [`rate`] | `docs/papers/cho-ntoulas-2002.md` |
//! | how long do objects of a collection live? | [`survival`] | `docs/papers/repository-quality.md` |
//! | how many arrive? | [`arrival`] | `docs/papers/repository-quality.md` |
//! | how does the quality of a copy decay, as a time series? | [`decay`] | `docs/papers/repository-quality.md` |
//! | what do looks at a collection show? | [`collection`] | `docs/papers/repository-quality.md` |
//! | how good is the copy now, and when must it be synced? | [`quality`] | `docs/papers/repository-quality.md` |
//! | when in its period does it change, and is it periodic at all? | [`profile`] | `docs/papers/polling-times.md` |
//! | how sure is a share seen in a sample? | [`binomial`] | `docs/papers/cho-ntoulas-2002.md` |
//!
//! Pure: numbers in, numbers out. No clock, no identity, no host, no file, no thread. Time is `f64` in
//! whatever unit the caller uses throughout; a rate is per that unit.
//!
//! ```
//! // Looked at once a day, a source that changes once a day (Poisson) is fresh 63 % of the time.
//! let fresh = dynamics::freshness::periodic_freshness(1.0, 1.0);
//! assert!((fresh - 0.632_120_558_8).abs() < 1e-9);
//! ```

pub mod arrival;
pub mod binomial;
pub mod climb;
pub mod collection;
pub mod decay;
pub mod diagnosis;
pub mod distance;
pub mod freshness;
pub mod history;
pub mod integral;
pub mod interval;
pub mod process;
pub mod profile;
pub mod quality;
pub mod rate;
pub mod solve;
pub mod survival;
