//! What a trace holds, in figures a person can judge it by before believing a simulation on it.

use std::collections::{BTreeMap, HashMap};

use schedule::Span;
use serde::Serialize;

use super::{Kind, Kinds, Trace};
use crate::score::mean;

/// A trace in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Info {
    /// Sources.
    pub sources: usize,
    /// Sites that have sources.
    pub sites: usize,
    /// All updates.
    pub updates: usize,
    /// Updates by kind.
    pub kinds: BTreeMap<&'static str, usize>,
    /// First second known about.
    #[serde(serialize_with = "rfc3339")]
    pub start: Option<i64>,
    /// Last second known about.
    #[serde(serialize_with = "rfc3339")]
    pub end: Option<i64>,
    /// Share of sources without a change.
    pub never_changed: Option<f64>,
    /// Changes per source at the 5, 25, 50, 75 and 95 % points.
    pub changes_per_source: Vec<usize>,
    /// Sources per site at the same points.
    pub sources_per_site: Vec<usize>,
    /// Length of a cycle in seconds, for the figures below.
    pub cycle_seconds: f64,
    /// Changes in each cycle.
    pub changes_by_cycle: Vec<usize>,
    /// ρ, the share of a site's sources that change in a cycle: (site, cycle) pairs in each tenth of 0..1.
    pub share_histogram: [usize; 10],
    /// Mean over sites of the correlation of ρ between one cycle and the next.
    pub share_autocorrelation: Option<f64>,
}

/// Most (site, cycle) pairs to count: a gigabyte of counters.
const MOST_PAIRS: usize = 100_000_000;

#[expect(clippy::ref_option, reason = "serde hands over a reference to the field")]
fn rfc3339<S: serde::Serializer>(seconds: &Option<i64>, out: S) -> Result<S::Ok, S::Error> {
    seconds.and_then(|t| jiff::Timestamp::from_second(t).ok()).map(|t| t.to_string()).serialize(out)
}

const POINTS: [usize; 5] = [5, 25, 50, 75, 95];

impl Info {
    /// Describes `trace`, cutting time into cycles of `cycle`; `None` if those are too many to count.
    pub fn of(trace: &Trace, kinds: Kinds, cycle: Span) -> Option<Self> {
        let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
        trace.updates.iter().for_each(|&(_, kind)| *counts.entry(kind.word()).or_default() += 1);
        let mut sizes: HashMap<u32, usize> = HashMap::new();
        trace.sources.iter().for_each(|source| *sizes.entry(source.site).or_default() += 1);
        let is_change = |&&(_, kind): &&(i64, Kind)| kinds.has(kind);
        let per_source: Vec<usize> = (0..trace.sources.len())
            .map(|at| trace.updates(at).iter().filter(is_change).count())
            .collect();
        let never = per_source.iter().filter(|&&count| count == 0).count();
        let span = trace.span();
        let (length, seconds) =
            (cycle.micros() / 1_000_000, span.map_or(0, |(start, end)| end - start));
        let cycles = usize::try_from(seconds / length.max(1)).unwrap_or(usize::MAX);
        if cycles.saturating_mul(sizes.len().max(1)) > MOST_PAIRS {
            return None;
        }
        let shares = span.map(|span| Shares::of(trace, kinds, cycle, span)).unwrap_or_default();
        Some(Self {
            sources: trace.sources.len(),
            sites: sizes.len(),
            updates: trace.total_updates(),
            kinds: counts,
            start: span.map(|(start, _)| start),
            end: span.map(|(_, end)| end),
            never_changed: (!per_source.is_empty()).then(|| never as f64 / per_source.len() as f64),
            changes_per_source: points(per_source),
            sources_per_site: points(sizes.into_values().collect()),
            cycle_seconds: cycle.secs(),
            changes_by_cycle: shares.changes,
            share_histogram: shares.histogram,
            share_autocorrelation: shares.autocorrelation,
        })
    }
}

fn points(mut values: Vec<usize>) -> Vec<usize> {
    values.sort_unstable();
    let Some(last) = values.len().checked_sub(1) else { return Vec::new() };
    POINTS.iter().map(|point| values[(last * point + 50) / 100]).collect()
}

#[derive(Default)]
struct Shares {
    changes: Vec<usize>,
    histogram: [usize; 10],
    autocorrelation: Option<f64>,
}

impl Shares {
    fn of(trace: &Trace, kinds: Kinds, cycle: Span, (start, end): (i64, i64)) -> Self {
        let length = (cycle.micros() / 1_000_000).max(1);
        let slot = |t: i64| usize::try_from((t - start - 1).max(0) / length).unwrap_or(0);
        let cycles = slot(end) + 1;
        let mut changes = vec![0; cycles];
        let mut alive: HashMap<u32, Vec<(u32, u32)>> = HashMap::new();
        for (at, source) in trace.sources.iter().enumerate() {
            let site = alive.entry(source.site).or_insert_with(|| vec![(0, 0); cycles]);
            let first = source.first_seen.map_or(0, |t| slot(t) + 1);
            let last = source.last_seen.map_or(cycles, slot).min(cycles);
            site[first.min(last)..last].iter_mut().for_each(|(present, _)| *present += 1);
            let mut marked = None;
            for &(t, _) in trace.updates(at).iter().filter(|&&(_, kind)| kinds.has(kind)) {
                let here = slot(t);
                changes[here] += 1;
                if marked != Some(here) && (first..last).contains(&here) {
                    site[here].1 += 1;
                    marked = Some(here);
                }
            }
        }
        let observed: HashMap<u32, (usize, usize)> =
            trace.sites.iter().map(|site| (site.id, (slot(site.start), slot(site.end)))).collect();
        let mut histogram = [0; 10];
        let mut correlations = Vec::new();
        for (site, counts) in alive {
            let (from, to) = observed.get(&site).map_or((0, cycles), |&(from, to)| (from, to));
            let present = counts[from.min(to)..to].iter().filter(|&&(present, _)| present > 0);
            let shares: Vec<f64> = present.map(|&(n, x)| f64::from(x) / f64::from(n)).collect();
            shares.iter().for_each(|&share| histogram[tenth(share)] += 1);
            correlations.extend(lag_one(&shares));
        }
        correlations.sort_by(f64::total_cmp);
        Self { changes, histogram, autocorrelation: mean(correlations.into_iter()) }
    }
}

/// Bin b holds (b/10, (b+1)/10], the first one zero as well.
pub fn tenth(share: f64) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 10")]
    let above = (share * 10.0).ceil() as usize;
    above.clamp(1, 10) - 1
}

/// Correlation of a series with itself one step later; `None` for short or constant ones.
fn lag_one(values: &[f64]) -> Option<f64> {
    if values.len() < 6 {
        return None;
    }
    let center = mean(values.iter().copied())?;
    let spread: f64 = values.iter().map(|x| (x - center).powi(2)).sum();
    let along: f64 = values.windows(2).map(|pair| (pair[0] - center) * (pair[1] - center)).sum();
    (spread > 1e-12).then(|| along / spread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Site, Source};

    #[test]
    fn counts_by_hand() {
        let source = |id, site| Source { id, site, host: site, first_seen: None, last_seen: None };
        let sites = vec![Site { id: 0, start: 0, end: 200, name: None }];
        let trace = Trace::of(
            sites,
            [
                (source(0, 0), vec![(50, Kind::Change), (60, Kind::Change), (150, Kind::Bulk)]),
                (source(1, 0), vec![(100, Kind::Rename)]),
            ],
        );
        let info = Info::of(&trace, Kinds::default(), Span::from_secs(100)).unwrap();
        assert_eq!((info.sources, info.sites, info.updates), (2, 1, 4));
        assert_eq!(info.changes_by_cycle, [2, 1]);
        assert_eq!(info.never_changed, Some(0.5));
        // ρ = ½ in the first cycle; the second is cut short by the end of observation
        assert_eq!(info.share_histogram[4], 1);
        assert_eq!(info.changes_per_source.len(), 5);
    }

    #[test]
    fn a_life_beyond_the_last_update_and_cycles_beyond_counting() {
        let source =
            Source { id: 0, site: 0, host: 0, first_seen: Some(0), last_seen: Some(9_000_000_000) };
        let trace = Trace::of(Vec::new(), [(source, vec![(5, Kind::Change)])]);
        assert!(Info::of(&trace, Kinds::default(), Span::DAY).is_some());
        assert!(Info::of(&trace, Kinds::default(), Span::from_secs(1)).is_none());
    }

    #[test]
    fn an_empty_trace_is_described_too() {
        let info = Info::of(&Trace::of(Vec::new(), []), Kinds::default(), Span::DAY).unwrap();
        assert_eq!((info.sources, info.never_changed, info.start), (0, None, None));
    }

    #[test]
    fn tenths_close_on_the_right() {
        assert_eq!([0.0, 0.1, 0.100_1, 0.95, 1.0].map(tenth), [0, 0, 1, 9, 9]);
    }
}
