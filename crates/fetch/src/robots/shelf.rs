//! The shelf of robots.txt files: one per host, for a day, never more than fit.
//!
//! Two generations stand in for an exact order of use: a host that is asked moves to the young one; when
//! that is half the shelf, the old one is thrown away. Each host has its own lock, so that polls that
//! arrive together fetch the file once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Robots;
use crate::{Host, Outcome};

/// How long a file holds (RFC 9309, section 2.4).
const DAY: Duration = Duration::from_secs(24 * 3600);

/// When a host that did not give it is asked again.
const SOON: Duration = Duration::from_secs(300);

/// What is known of one host, behind its lock.
pub(crate) type Slot = Arc<tokio::sync::Mutex<Option<Known>>>;

/// The file, or why there is none.
pub(crate) type Rules = Result<Arc<Robots>, Outcome>;

pub(crate) struct Known {
    rules: Rules,
    until: Instant,
}

impl Known {
    /// What holds after another attempt: a file already read outlives a failure to read it again.
    pub(crate) fn after(before: Option<Self>, now: Instant, rules: Rules) -> Self {
        match (before, rules) {
            (_, Ok(robots)) => Self { rules: Ok(robots), until: now + DAY },
            (Some(Self { rules: Ok(robots), .. }), Err(_)) => {
                Self { rules: Ok(robots), until: now + SOON }
            }
            (_, Err(outcome)) => {
                let until = now + wait(&outcome);
                Self { rules: Err(outcome), until }
            }
        }
    }

    pub(crate) fn rules(&self) -> Rules {
        self.rules.clone()
    }

    pub(crate) fn holds(&self, now: Instant) -> bool {
        now < self.until
    }
}

fn wait(outcome: &Outcome) -> Duration {
    match outcome {
        Outcome::Busy { retry_after: Some(wait), .. } => SOON.max(*wait),
        _ => SOON,
    }
}

pub(crate) struct Shelf {
    half: usize,
    generations: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    young: HashMap<Host, Slot>,
    old: HashMap<Host, Slot>,
}

impl Shelf {
    pub(crate) fn new(hosts: usize) -> Self {
        Self { half: hosts.div_ceil(2), generations: Mutex::default() }
    }

    pub(crate) fn slot(&self, host: &Host) -> Slot {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = generations.young.get(host) {
            return Arc::clone(slot);
        }
        if generations.young.len() >= self.half {
            generations.old = std::mem::take(&mut generations.young);
        }
        let slot = generations.old.remove(host).unwrap_or_default();
        generations.young.insert(host.clone(), Arc::clone(&slot));
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(number: usize) -> Host {
        format!("https://h{number}.example").parse().unwrap()
    }

    fn busy(secs: u64) -> Outcome {
        Outcome::Busy { status: 503, retry_after: Some(Duration::from_secs(secs)) }
    }

    #[test]
    fn the_shelf_never_holds_more_than_fit_and_keeps_who_is_asked() {
        let shelf = Shelf::new(10);
        let kept = shelf.slot(&host(0));
        for number in 1..1000 {
            shelf.slot(&host(number));
            assert!(Arc::ptr_eq(&kept, &shelf.slot(&host(0))));
            let generations = shelf.generations.lock().unwrap();
            assert!(generations.young.len() + generations.old.len() <= 10);
        }
    }

    #[test]
    fn a_file_holds_a_day_a_failure_minutes() {
        let now = Instant::now();
        let file = Known::after(None, now, Ok(Arc::new(Robots::none())));
        assert!(file.holds(now + DAY - SOON) && !file.holds(now + DAY));
        let failed = Known::after(None, now, Err(busy(0)));
        assert!(failed.rules().is_err() && !failed.holds(now + SOON));
        assert!(Known::after(None, now, Err(busy(3600))).holds(now + 2 * SOON));
    }

    #[test]
    fn a_file_outlives_a_failure_to_read_it_again() {
        let now = Instant::now();
        let file =
            Known::after(None, now, Ok(Arc::new(Robots::parse(b"user-agent: *\ndisallow: /a"))));
        let rules = file.rules();
        let later = Known::after(Some(file), now + DAY, Err(busy(0)));
        assert_eq!(later.rules(), rules);
        assert!(!later.holds(now + DAY + SOON));
    }
}
