//! WIC, online: a round is an instant; poll whatever earns most now.
//!
//! ```text
//! at every Round    g ← one instant on, π = P(changed within the round); the largest g are polled
//! at an answer      g starts again from 0; a poll that told nothing takes nothing
//! ```
//!
//! π comes from what is believed of the source, or of its site before it has shown anything. Urgency and life are the
//! source's own; [`crate::utility::running`] keeps g. With a `period`, the hours in which each site changes are learned, too. Sources of shut hosts wait, the next best is polled instead.
//!
//! Paper: WC-08..WC-10, WC-26 (`docs/papers/pandey-dhamdhere-olston-2004.md`). Cost: O(sources) a round.

use serde::{Deserialize, Serialize};

use super::ticking::{Seat, Seats};
use crate::epoch::greedy::{Idle, Options, Ties};
use crate::spec::{Call, Mistake};
use crate::utility::Shape;
use crate::utility::running::Running;
use crate::{Beliefs, Event, Next, Policy, Purpose, Round, SourceIx, Span, Time};

/// What a person may set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Ties and polls that earn nothing.
    pub options: Options,
    /// The period of hours that sites keep, to be learned.
    pub period: Option<Span>,
}

impl Settings {
    pub(super) fn read(call: &mut Call) -> Result<Self, Mistake> {
        Ok(Self { options: Options::read(call)?, period: period(call)? })
    }
}

/// `period=1d`; none unless set.
pub(super) fn period(call: &mut Call) -> Result<Option<Span>, Mistake> {
    let period = call.take("period", Span::ZERO)?;
    if period > Span::ZERO && period < Span::from_secs(60) {
        return Err(Mistake(format!("`period={period}` of `{}` must be at least `1m`", call.name)));
    }
    Ok(Some(period).filter(|period| *period > Span::ZERO))
}

/// Polls what earns most now.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Wic {
    options: Options,
    seats: Seats<Running>,
    /// This round's best, best first; as many as it can pay for and some to spare.
    best: Vec<SourceIx>,
}

/// Spare candidates for hosts that shut: so many times the round's polls, and some.
const SPARE: usize = 4;
const SOME: usize = 64;

impl Wic {
    /// With no sources yet. `alike`: every source's worth, in instants; else each source's own.
    pub fn new(settings: Settings, alike: Option<Shape>) -> Self {
        let seats = Seats::new(alike, settings.period);
        Self { options: settings.options, seats, best: Vec::new() }
    }

    fn round(&mut self, round: Round, beliefs: &dyn Beliefs) {
        self.seats.begin(round);
        let mut ranked: Vec<(f64, Time, SourceIx)> = Vec::with_capacity(self.seats.len());
        let at = self.seats.at();
        self.seats.each(beliefs, |source, seat, shape, chance| {
            let running = seat.state.get_or_insert_with(|| Running::new(shape));
            let value = seat.importance * running.step(at, chance(round.start, round.end));
            ranked.push((value, seat.polled_at, source));
        });
        if self.options.idle == Idle::Skip {
            ranked.retain(|(value, ..)| *value > 0.0);
        }
        let ties = self.options.ties;
        let order = |a: &(f64, Time, SourceIx), b: &(f64, Time, SourceIx)| {
            let longest =
                if ties == Ties::Longest { a.1.cmp(&b.1) } else { std::cmp::Ordering::Equal };
            b.0.total_cmp(&a.0).then(longest).then(a.2.cmp(&b.2))
        };
        let polls = usize::try_from(round.polls).unwrap_or(usize::MAX);
        let most = polls.saturating_mul(SPARE).saturating_add(SOME);
        if ranked.len() > most {
            ranked.select_nth_unstable_by(most, order);
            ranked.truncate(most);
        }
        ranked.sort_unstable_by(order);
        self.best.clear();
        self.best.extend(ranked.into_iter().map(|(_, _, source)| source));
    }
}

impl Policy for Wic {
    fn tell(&mut self, now: Time, event: &Event, beliefs: &dyn Beliefs) {
        match event {
            Event::Round(round) => self.round(*round, beliefs),
            Event::Heard(heard) => {
                let caught = self.seats.heard(heard);
                if let Some(Seat { state: Some(running), .. }) = caught {
                    running.reset();
                }
            }
            other => self.seats.tell(now, other),
        }
    }

    fn next(&self, _now: Time, _left: f64, _beliefs: &dyn Beliefs) -> Next {
        let free = self.best.iter().find(|&&source| self.seats.may_be_polled(source));
        free.map_or(Next::RoundOver, |&source| Next::Poll(source, Purpose::Look))
    }

    fn why(&self, source: SourceIx, _now: Time, _beliefs: &dyn Beliefs) -> String {
        let Some(seat) = self.seats.get(source) else { return "it is not watched".to_owned() };
        let earns = seat.state.as_ref().map_or(0.0, |running| seat.importance * running.value());
        let place = self.best.iter().position(|&other| other == source);
        place.map_or_else(
            || format!("a poll would earn {earns:.3}, too little in this round"),
            |place| format!("a poll would earn {earns:.3}; {place} would earn more in this round"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::greedy;
    use crate::epoch::tests::alike;
    use crate::policy::ticking::tests::{Told, play};
    use crate::utility::tests::shapes;

    /// The policy behind the scheduler decides as the paper's loop over an epoch does.
    #[test]
    fn wc_08_the_policy_is_the_paper_s_schedule() {
        for (seed, shape) in (0u64..).zip(shapes()) {
            let chance =
                |page: u64, k: u64| crate::chance::below(100, seed, [page, k]) as f64 / 100.0;
            let chances: Vec<Vec<f64>> =
                (0..6).map(|page| (1..=20).map(|k| chance(page, k)).collect()).collect();
            let epoch = alike(&shape, 2, &chances);
            for ties in [Ties::First, Ties::Longest] {
                let options = Options { ties, idle: Idle::Poll };
                let wic = Wic::new(Settings { options, period: None }, Some(shape.clone()));
                assert_eq!(
                    play(wic, &Told(chances.clone()), 2),
                    greedy::wic(&epoch, options),
                    "{shape:?}"
                );
            }
        }
    }
}
