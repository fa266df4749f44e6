//! The laboratory: worlds and real traces, replayed through the very scheduler that runs live.
//!
//! | question | file |
//! | --- | --- |
//! | what changes when? | [`world`], [`synth`] (made up, seeded), [`trace`] (real) |
//! | which objects did a collection list, and when? | [`listing`] |
//! | what does the copy hold, and how good is it? | [`copy`], [`score`] |
//! | what would a policy have done? | [`run`], in instants [`ticks`] |
//! | how good could anyone have been? | [`oracle`], [`hindsight`], [`listed`] |
//! | which policy is better, and is the difference real? | [`compare`], [`figure`] |
//! | when should a source be polled, and what speaks for it? | [`timing`] |
//! | what is the law of its updates, and what speaks for it? | [`law`] |
//! | what did the papers find, and what do we? | [`papers`] |
//!
//! Synchronous, files only: no network, no store; time is the world's own, and a watch beside the loop only
//! says how long a run took. A policy cannot cheat
//! here, because it hears nothing but what a poll would have told it.

pub mod compare;
pub mod copy;
pub mod figure;
pub mod hindsight;
pub mod law;
pub mod listed;
pub mod listing;
pub mod oracle;
pub mod papers;
pub mod run;
pub mod score;
pub mod synth;
pub mod ticks;
pub mod timing;
pub mod trace;
pub mod world;
