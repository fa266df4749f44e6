//! The daemon's clock: wall time that never goes back and never stands still.
//!
//! Scheduler time is what the journal records, so it may not run backwards whatever the machine's clock does. It is
//! the wall clock at the start, carried on by the monotonic one; where the wall clock turns out to be ahead (a laptop
//! that slept, a clock set right) it catches up at once, where it fell behind it is ignored. A jump forward causes no
//! storm: the budget saves up no more than its burst.

use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use schedule::{Span, Time};

/// What time it is, for the scheduler.
#[derive(Debug)]
pub enum Clock {
    /// The machine's.
    Wall(Mutex<Wall>),
    /// A test's: it moves when told.
    Manual(Mutex<Time>),
}

/// Where the two clocks of the machine stood.
#[derive(Clone, Copy, Debug)]
pub struct Wall {
    at: Time,
    since: Instant,
}

/// A wall clock ahead by less is only drift between the two clocks.
const DRIFT: Span = Span::from_secs(2);

impl Clock {
    /// The machine's clock, not before `not_before`, the last time in the journal.
    pub fn wall(not_before: Time) -> Self {
        let at = wall_now().max(not_before);
        Self::Wall(Mutex::new(Wall { at, since: Instant::now() }))
    }

    /// A clock that stands at `at` until it is set.
    pub fn manual(at: Time) -> Self {
        Self::Manual(Mutex::new(at))
    }

    /// Now.
    pub fn now(&self) -> Time {
        match self {
            Self::Manual(at) => *lock(at),
            Self::Wall(wall) => lock(wall).read(wall_now(), Instant::now()),
        }
    }

    /// Moves a manual clock forward.
    pub fn advance(&self, by: Span) {
        if let Self::Manual(at) = self {
            let mut at = lock(at);
            *at = *at + by;
        }
    }

    /// How long to really wait until `until`; a manual clock never waits.
    pub fn real_wait(&self, until: Time, at_most: Duration) -> Duration {
        match self {
            Self::Manual(_) => Duration::ZERO,
            Self::Wall(_) => {
                let left = (until - self.now()).micros().unsigned_abs();
                Duration::from_micros(left).min(at_most)
            }
        }
    }
}

impl Wall {
    fn read(&mut self, wall: Time, now: Instant) -> Time {
        let passed = now.saturating_duration_since(self.since).as_micros();
        let steady = self.at + Span::from_micros(i64::try_from(passed).unwrap_or(i64::MAX));
        if wall > steady + DRIFT {
            *self = Self { at: wall, since: now };
            return wall;
        }
        steady
    }
}

/// The wall clock in whole microseconds since 1970.
pub fn wall_now() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// A clock is a number: a panic elsewhere leaves it as good as it was.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> Time {
        Time::from_secs(secs)
    }

    #[test]
    fn it_follows_a_jump_forward_and_ignores_one_back() {
        let start = Instant::now();
        let later = |secs| start + Duration::from_secs(secs);
        let mut wall = Wall { at: at(1_000), since: start };
        assert_eq!(wall.read(at(1_001), later(1)), at(1_001), "as usual");
        assert_eq!(wall.read(at(5_000), later(2)), at(5_000), "the laptop slept");
        assert_eq!(wall.read(at(10), later(3)), at(5_001), "the clock was set back");
        assert_eq!(wall.read(at(11), later(4)), at(5_002), "and time goes on");
    }

    #[test]
    fn it_never_starts_before_the_journal_ends() {
        let future = wall_now() + Span::DAY;
        assert!(Clock::wall(future).now() >= future);
    }
}
