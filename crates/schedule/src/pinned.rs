//! Pinned sources: those a user insists on looking at every so often, whatever the policy thinks of it.
//!
//! ```text
//! every = 10m    due 10 minutes after the last look was sent; the first look is due at once
//! ```
//!
//! A collection with a target for its quality is pinned anew after each look, due when the target is foretold to be
//! reached: the `quality-target` rule. Until it is told anew, a look that came to nothing is due again after the same
//! interval.
//!
//! They are charged like any poll and come before the policy's choices. A lost poll is due again after the same
//! interval: a user who asked for ten minutes did not ask for more load in trouble. Paper: SA-09 for targets
//! (`docs/papers/repository-quality.md`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::agenda::Agenda;
use crate::{Gate, HostIx, Pin as Why, SourceIx, Span, Time};

/// When each pinned source is due.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pinned {
    pins: BTreeMap<SourceIx, Pin>,
    agenda: Agenda,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Pin {
    host: HostIx,
    every: Span,
    why: Why,
    due: Time,
}

impl Pinned {
    pub(crate) fn add(&mut self, now: Time, source: SourceIx, host: HostIx, every: Span, why: Why) {
        let due = match why {
            Why::Asked => now,
            Why::Target(due) => due,
        };
        self.pins.insert(source, Pin { host, every: every.max(Span::TICK), why, due });
        self.agenda.add(host, due, source);
    }

    /// Whether it was here.
    pub(crate) fn remove(&mut self, source: SourceIx) -> bool {
        let Some(pin) = self.pins.remove(&source) else { return false };
        self.agenda.take(pin.host, pin.due, source);
        true
    }

    pub(crate) fn holds(&self, source: SourceIx) -> bool {
        self.pins.contains_key(&source)
    }

    pub(crate) fn sent(&mut self, now: Time, source: SourceIx) {
        if let Some(pin) = self.pins.get_mut(&source) {
            self.agenda.take(pin.host, pin.due, source);
            pin.due = now + pin.every;
        }
    }

    pub(crate) fn heard(&mut self, source: SourceIx) {
        if let Some(pin) = self.pins.get(&source) {
            self.agenda.add(pin.host, pin.due, source);
        }
    }

    pub(crate) fn gate(&mut self, host: HostIx, gate: Gate) {
        self.agenda.gate(host, gate);
    }

    /// The next one due at an open host, and when.
    pub(crate) fn first(&self) -> Option<(Time, SourceIx)> {
        self.agenda.first()
    }

    /// Who is pinned, how often and why; a target with the time it is due now.
    pub(crate) fn into_pins(self) -> impl Iterator<Item = (SourceIx, Span, Why)> {
        self.pins.into_iter().map(|(source, pin)| {
            let why = match pin.why {
                Why::Asked => Why::Asked,
                Why::Target(_) => Why::Target(pin.due),
            };
            (source, pin.every, why)
        })
    }

    /// How often, and why.
    pub(crate) fn pin(&self, source: SourceIx) -> Option<(Span, Why)> {
        self.pins.get(&source).map(|pin| (pin.every, pin.why))
    }
}
