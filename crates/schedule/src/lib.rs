//! What to poll next under a budget.
//!
//! | question | file | paper |
//! | --- | --- | --- |
//! | what can happen, and in what words is it told? | [`event`], [`source`], [`time`] | none: ours |
//! | how does a journal become a scheduler? | [`journal`] | none: ours |
//! | who owns budget, manners and beliefs, and asks the policy? | [`scheduler`] | none: ours |
//! | may we spend now? may this host be asked now? | [`budget`], [`politeness`] | none: ours |
//! | who comes before the policy's choice? | [`pinned`], [`newcomers`], on an [`agenda`] | none: ours |
//! | what do we believe about each source? | [`learner`] | `docs/papers/cho-ntoulas-2002.md` |
//! | and of one that is clearly not Poisson? | [`renewal`] | `docs/papers/li-cline-loguinov-2015.md` |
//! | what is a poll worth, and which rates earn most? | [`value`], [`allocate`] | `docs/papers/cho-ntoulas-2002.md` |
//! | how many samples a site; how to share whole polls? | [`sample_size`], [`share`] | `docs/papers/cho-ntoulas-2002.md` |
//! | at which moments of its period should a source be polled? | [`polling_times`] | `docs/papers/polling-times.md` |
//! | what is a captured change worth, given urgency and life? | [`utility`] | `docs/papers/pandey-dhamdhere-olston-2004.md` |
//! | which schedule of an epoch earns most, and how much could anyone? | [`epoch`], [`bound`] | `docs/papers/pandey-dhamdhere-olston-2004.md` |
//! | which source next? | [`policy`], one file each below it | see each file |
//!
//! Pure: no clock, no thread, no file, no address. Time and chance are arguments; sources, sites and
//! hosts are dense ordinals. The daemon and the lab drive this very crate, so a simulated year costs
//! seconds and a journal replays to the same choices.
//!
//! ```
//! use schedule::{Event, Facts, HostIx, Next, Purpose, Round, Scheduler, Settings, SiteIx, SourceIx, Time};
//! use schedule::policy::Spec;
//! use schedule::utility::Worth;
//!
//! let spec: Spec = "round-robin".parse()?;
//! let mut scheduler = Scheduler::new(spec.build(1), Settings::default());
//! let facts = Facts { site: SiteIx::new(0), host: HostIx::new(0), importance: 1.0, known: true, worth: Worth::default() };
//! scheduler.tell(Time::ZERO, Event::Entered(SourceIx::new(0), facts));
//! scheduler.tell(Time::ZERO, Event::Round(Round::of(1, Time::ZERO, Time::MAX, 1)));
//! assert_eq!(scheduler.next(Time::ZERO), Next::Poll(SourceIx::new(0), Purpose::Look));
//! # Ok::<(), schedule::spec::Mistake>(())
//! ```

pub mod agenda;
pub mod allocate;
pub mod bound;
pub mod budget;
pub mod chance;
pub mod epoch;
pub mod event;
pub mod journal;
pub mod learner;
pub mod newcomers;
pub mod pinned;
pub mod policy;
pub mod politeness;
pub mod polling_times;
pub mod renewal;
pub mod sample_size;
pub mod scheduler;
pub mod share;
pub mod source;
pub mod spec;
pub mod time;
pub mod utility;
pub mod value;

pub use budget::Budget;
pub use event::{Event, Gate, Next, Observation, Pin, Purpose, Round, Verdict, Why};
pub use journal::{Entry, Setup};
pub use learner::Beliefs;
pub use policy::Policy;
pub use politeness::Manners;
pub use scheduler::{Scheduler, Settings};
pub use source::{Facts, HostIx, SiteIx, SourceIx};
pub use time::{Span, Time};
