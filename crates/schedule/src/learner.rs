//! What we believe about every source. Held by the scheduler, not by a policy, so that P(stale) exists
//! whatever policy decides.
//!
//! Per source: the last moment its state was known, and a Gamma belief about its change rate
//! ([`dynamics::rate`]), begun at the first informative look from what its site has shown so far, and the site's from
//! what all have shown:
//!
//! ```text
//! c, w      polls that saw a change, seconds watched: of the site, of all
//! all       (c + 1) / w
//! site      (c_s + κ) / (w_s + κ / all)        κ = 1: a site's first change counts as much as all others together
//! ```
//!
//! Where a policy wants it, sources with a long history that is clearly not Poisson have a law of their own beside the
//! rate ([`crate::renewal`]); the others cost nothing more.
//!
//! Paper: CN-X4, B5 in its simplest form (`docs/papers/cho-ntoulas-2002.md`).

use dynamics::interval::AgeLaw;
use dynamics::rate::Belief;
use serde::{Deserialize, Serialize};

use crate::renewal::{self, Laws};
use crate::source::grow;
use crate::utility::{Worth, index};
use crate::value::{Objective, elapsed_at};
use crate::{Facts, Observation, SiteIx, SourceIx, Span, Time, Verdict};

/// Questions a policy may ask about a source.
pub trait Beliefs {
    /// P(it changed at least once in (from, to]); WIC's π.
    fn chance(&self, source: SourceIx, from: Time, to: Time) -> f64;
    /// As [`Beliefs::chance`], but a source that has shown nothing is believed to be like its site.
    fn likely(&self, source: SourceIx, from: Time, to: Time) -> f64;
    /// P(our copy is stale at `now`); 1 for a source never seen.
    fn stale(&self, source: SourceIx, now: Time) -> f64;
    /// E\[Δ\]: how often it changes, per second; `None` before anything informative was seen.
    fn rate(&self, source: SourceIx) -> Option<f64>;
    /// What a poll at `now` is worth for the goal, times importance; nothing is worth more than a first look.
    fn value(&self, source: SourceIx, objective: Objective, now: Time) -> f64;
    /// The moment at which a poll is worth `price`; [`Time::MAX`] if that never comes.
    fn ripe(&self, source: SourceIx, objective: Objective, price: f64) -> Time;
    /// The belief about its change rate, if anything informative was seen.
    fn belief(&self, source: SourceIx) -> Option<Belief>;
    /// When the copy was last known to be the source's state.
    fn known_at(&self, source: SourceIx) -> Option<Time>;
}

/// 16 bytes a source: single precision is plenty for a belief, and memory is what a million sources cost.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Mind {
    /// When its state was last known; [`Time::MIN`] if never.
    known_at: Time,
    /// Shape and rate of the Gamma belief; zero before the first informative look.
    belief: (f32, f32),
}

const BLANK: Mind = Mind { known_at: Time::MIN, belief: (0.0, 0.0) };

impl Mind {
    fn known_at(&self) -> Option<Time> {
        (self.known_at > Time::MIN).then_some(self.known_at)
    }

    fn belief(&self) -> Option<Belief> {
        let (a, b) = self.belief;
        (b > 0.0).then(|| Belief::new(f64::from(a), f64::from(b)))
    }

    #[expect(clippy::cast_possible_truncation, reason = "kept in single precision on purpose")]
    fn believe(&mut self, belief: Belief) {
        let (a, b) = belief.parameters();
        self.belief = (
            a.max(f64::from(f32::MIN_POSITIVE)) as f32,
            b.clamp(f64::from(f32::MIN_POSITIVE), 1e30) as f32,
        );
    }
}

/// What sources showed together: polls that saw a change, and seconds watched.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Pool {
    changes: f64,
    watched: f64,
}

impl Pool {
    fn add(&mut self, gap: f64, changed: bool) {
        self.changes += f64::from(u8::from(changed));
        self.watched += gap;
    }

    /// Seconds per change of the site `self`, where all sources change every `all` seconds.
    fn interval(&self, all: f64) -> f64 {
        (self.watched + PULL * all) / (self.changes + PULL)
    }
}

/// κ: how many changes of its own a site must show to weigh as much as all sites.
const PULL: f64 = 1.0;

/// Beliefs about all sources, by ordinal.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Learner {
    minds: Vec<Mind>,
    /// Apart from the minds: what most polls need not read.
    importance: Vec<f32>,
    sites: Vec<SiteIx>,
    /// As long as the longest that says something of it.
    worths: Vec<Worth>,
    /// Where a newcomer's belief starts: by site, and over all.
    pools: Vec<Pool>,
    all: Pool,
    /// Laws, where a policy wants them.
    laws: Option<Laws>,
}

impl Learner {
    /// From now on laws are learned, or forgotten.
    pub(crate) fn learn_laws(&mut self, wanted: bool) {
        self.laws = wanted.then(|| self.laws.take().unwrap_or_default());
    }

    fn law(&self, source: SourceIx) -> Option<&AgeLaw> {
        self.laws.as_ref()?.of(source)
    }

    /// Makes room for this many sources.
    pub(crate) fn expect(&mut self, sources: usize) {
        self.minds.reserve(sources.saturating_sub(self.minds.len()));
        self.importance.reserve(sources.saturating_sub(self.importance.len()));
        self.sites.reserve(sources.saturating_sub(self.sites.len()));
    }

    pub(crate) fn entered(&mut self, now: Time, source: SourceIx, facts: &Facts) {
        let mind = grow(&mut self.minds, source.ix(), || BLANK);
        if facts.known && mind.known_at().is_none() {
            mind.known_at = now;
        }
        *grow(&mut self.importance, source.ix(), || 1.0) = facts.importance;
        *grow(&mut self.sites, source.ix(), || SiteIx::FIRST) = facts.site;
        if facts.worth != Worth::default() || source.ix() < self.worths.len() {
            *grow(&mut self.worths, source.ix(), Worth::default) = facts.worth;
        }
        grow(&mut self.pools, facts.site.ix(), Pool::default);
    }

    /// A source that comes back starts from nothing.
    pub(crate) fn left(&mut self, source: SourceIx) {
        if let Some(mind) = self.minds.get_mut(source.ix()) {
            *mind = BLANK;
        }
        if let Some(laws) = &mut self.laws {
            laws.forget(source);
        }
    }

    pub(crate) fn heard(&mut self, heard: &Observation) {
        let Some(mind) = self.minds.get_mut(heard.source.ix()) else { return };
        let changed = match heard.verdict {
            Verdict::Lost | Verdict::Unreadable => return,
            Verdict::First => None,
            Verdict::Same => Some(false),
            Verdict::Changed => Some(true),
        };
        mind.known_at = heard.sent;
        if let (Some(changed), Some(since)) = (changed, heard.since) {
            let gap = (heard.sent - since).secs();
            let site = self.sites[heard.source.ix()].ix();
            let prior = || {
                let all = (self.all.watched + gap) / (self.all.changes + 1.0);
                Belief::at_first_look(self.pools[site].interval(all))
            };
            let before = mind.belief().unwrap_or_else(prior);
            mind.believe(before.after(gap, changed));
            self.pools[site].add(gap, changed);
            self.all.add(gap, changed);
            if let Some(laws) = &mut self.laws {
                laws.hear(heard.source, since, heard.sent, changed);
            }
        }
    }

    /// What is believed of it, or else what its site and all sources have shown.
    fn opinion(&self, source: SourceIx) -> Option<Belief> {
        let pooled = || {
            let all = self.all.watched / (self.all.changes + 1.0);
            Belief::at_first_look(self.pool(source).interval(all))
        };
        self.mind(source).belief().or_else(|| (self.all.watched > 0.0).then(pooled))
    }

    fn pool(&self, source: SourceIx) -> Pool {
        let site = self.sites.get(source.ix());
        site.and_then(|site| self.pools.get(site.ix())).copied().unwrap_or_default()
    }

    fn importance(&self, source: SourceIx) -> f32 {
        self.importance.get(source.ix()).copied().unwrap_or(1.0)
    }

    fn worth(&self, source: SourceIx) -> Worth {
        self.worths.get(source.ix()).copied().unwrap_or_default()
    }

    /// E\[V(τ)\] for the goal; for utility by the source's own urgency and life.
    fn worth_after(
        &self,
        source: SourceIx,
        objective: Objective,
        belief: Belief,
        secs: f64,
    ) -> f64 {
        match (objective, self.worth(source)) {
            (Objective::Utility, worth) if worth != Worth::default() => {
                index::value(belief, worth, secs)
            }
            _ => objective.believed_value(belief, secs),
        }
    }

    fn mind(&self, source: SourceIx) -> &Mind {
        self.minds.get(source.ix()).unwrap_or(&BLANK)
    }
}

impl Beliefs for Learner {
    /// Before any informative look even odds are all we can say.
    fn chance(&self, source: SourceIx, from: Time, to: Time) -> f64 {
        if to <= from {
            return 0.0;
        }
        let elapsed = (to - from).secs();
        if let Some(law) = self.law(source) {
            return law.age_cdf(elapsed);
        }
        self.mind(source).belief().map_or(0.5, |belief| belief.chance(elapsed))
    }

    fn likely(&self, source: SourceIx, from: Time, to: Time) -> f64 {
        self.opinion(source).map_or_else(
            || self.chance(source, from, to),
            |belief| belief.chance((to - from).secs()),
        )
    }

    fn stale(&self, source: SourceIx, now: Time) -> f64 {
        self.mind(source).known_at().map_or(1.0, |known_at| self.chance(source, known_at, now))
    }

    fn rate(&self, source: SourceIx) -> Option<f64> {
        self.mind(source).belief().map(Belief::mean)
    }

    fn value(&self, source: SourceIx, objective: Objective, now: Time) -> f64 {
        let worth = match (self.known_at(source), self.opinion(source)) {
            (None, _) => objective.ceiling(0.0),
            (Some(known_at), opinion) => {
                let elapsed = (now - known_at).secs();
                if let Some(law) = self.law(source) {
                    let worth = renewal::value(law, objective, elapsed);
                    return f64::from(self.importance(source)) * worth;
                }
                // with nothing to go by, about one change since the last look
                let belief = opinion.unwrap_or_else(|| Belief::at_first_look(elapsed));
                self.worth_after(source, objective, belief, elapsed)
            }
        };
        f64::from(self.importance(source)) * worth
    }

    fn ripe(&self, source: SourceIx, objective: Objective, price: f64) -> Time {
        match (self.known_at(source), self.opinion(source)) {
            (None, _) => Time::MIN,
            (Some(known_at), None) => known_at,
            (Some(known_at), Some(belief)) => {
                let price = price / f64::from(self.importance(source).max(f32::MIN_POSITIVE));
                let worth = |secs| self.worth_after(source, objective, belief, secs);
                let waits = match self.law(source) {
                    Some(law) => renewal::elapsed_at(law, objective, price),
                    None => elapsed_at(-belief.mean().ln(), price, worth),
                };
                waits.map_or(Time::MAX, |secs| known_at + Span::from_secs_f64(secs))
            }
        }
    }

    fn belief(&self, source: SourceIx) -> Option<Belief> {
        self.mind(source).belief()
    }

    fn known_at(&self, source: SourceIx) -> Option<Time> {
        self.mind(source).known_at()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::{Life, Urgency};
    use crate::{HostIx, Purpose};

    const FACTS: Facts = Facts {
        site: SiteIx::FIRST,
        host: HostIx::FIRST,
        importance: 2.0,
        known: false,
        worth: Worth { urgency: Urgency::None, life: Life::Overwrite },
    };

    fn heard(since: Option<i64>, sent: i64, verdict: Verdict) -> Observation {
        Observation {
            source: SourceIx::FIRST,
            purpose: Purpose::Look,
            sent: Time::from_secs(sent),
            since: since.map(Time::from_secs),
            verdict,
            age: None,
        }
    }

    #[test]
    fn a_source_never_seen_is_stale_for_certain_and_worth_most() {
        let mut learner = Learner::default();
        learner.entered(Time::ZERO, SourceIx::FIRST, &FACTS);
        assert!((learner.stale(SourceIx::FIRST, Time::ZERO) - 1.0).abs() < 1e-12);
        assert!(
            (learner.value(SourceIx::FIRST, Objective::Captured, Time::ZERO) - 2.0).abs() < 1e-12
        );
    }

    #[test]
    fn a_look_makes_it_fresh_and_time_makes_it_stale() {
        let mut learner = Learner::default();
        learner.entered(Time::ZERO, SourceIx::FIRST, &FACTS);
        learner.heard(&heard(None, 0, Verdict::First));
        assert!(learner.stale(SourceIx::FIRST, Time::ZERO) < 1e-12);
        assert!(learner.value(SourceIx::FIRST, Objective::Captured, Time::ZERO) < 1e-12);
        learner.heard(&heard(Some(0), 100, Verdict::Changed));
        assert!(learner.stale(SourceIx::FIRST, Time::from_secs(100)) < 1e-12);
        let (soon, late) = (Time::from_secs(110), Time::from_secs(500));
        assert!(learner.stale(SourceIx::FIRST, soon) < learner.stale(SourceIx::FIRST, late));
    }

    /// Ten quiet pages of one site and ten busy ones of another: a page seen once is believed to be like its site.
    #[test]
    fn a_newcomer_is_believed_to_be_like_its_site() {
        let mut learner = Learner::default();
        let page = |at: usize| {
            let site = SiteIx::new(at % 2);
            (SourceIx::new(at), Facts { site, known: true, ..FACTS })
        };
        for (source, facts) in (0..22).map(page) {
            learner.entered(Time::ZERO, source, &facts);
        }
        for at in 0..20 {
            let verdict = if at % 2 == 0 { Verdict::Same } else { Verdict::Changed };
            learner
                .heard(&Observation { source: SourceIx::new(at), ..heard(Some(0), 100, verdict) });
        }
        let worth =
            |at| learner.value(SourceIx::new(at), Objective::Captured, Time::from_secs(100));
        assert!(worth(21) > 2.0 * worth(20), "{} {}", worth(21), worth(20));
        assert!(
            learner.ripe(SourceIx::new(21), Objective::Captured, 0.5)
                < learner.ripe(SourceIx::new(20), Objective::Captured, 0.5)
        );
    }

    #[test]
    fn a_lost_or_unreadable_poll_teaches_nothing() {
        let mut learner = Learner::default();
        learner.entered(Time::ZERO, SourceIx::FIRST, &FACTS);
        learner.heard(&heard(None, 0, Verdict::First));
        learner.heard(&heard(Some(0), 100, Verdict::Same));
        let before = learner.stale(SourceIx::FIRST, Time::from_secs(300));
        learner.heard(&heard(Some(100), 200, Verdict::Lost));
        learner.heard(&heard(Some(100), 200, Verdict::Unreadable));
        let after = learner.stale(SourceIx::FIRST, Time::from_secs(300));
        assert!((before - after).abs() < 1e-15);
    }
}
