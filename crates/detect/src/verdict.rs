//! What a look concluded. Every verdict teaches the scheduler something, so none is an error.

use crate::{Fingerprint, Reading, Unreadable};

/// The comparison of a look with the version before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There was no version before.
    First,
    /// It says what it said.
    Same,
    /// It says something else.
    Changed,
    /// It could not be read; the version before stands.
    Unreadable(Unreadable),
}

/// Compares a reading with the fingerprint of the version before it.
pub fn judge(before: Option<&Fingerprint>, after: &Result<Reading, Unreadable>) -> Verdict {
    match (before, after) {
        (_, Err(reason)) => Verdict::Unreadable(reason.clone()),
        (None, Ok(_)) => Verdict::First,
        (Some(before), Ok(after)) if *before == after.fingerprint => Verdict::Same,
        (Some(_), Ok(_)) => Verdict::Changed,
    }
}
