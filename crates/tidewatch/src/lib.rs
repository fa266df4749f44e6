//! Tidewatch: a change-capture engine for web sources. This is the program; `cli` says what it can do.
//!
//! | question | file |
//! |---|---|
//! | what can be asked of it? | [`cli`] |
//! | how does it live: decide, poll, compare, remember, tell? | [`daemon`] |
//! | what did a person write, and what does it mean? | [`config`], [`source`] |
//! | what is written down, and in what words? | [`journal`] |
//! | how good is a mirrored collection? | [`collection`] |
//! | who is told? | [`push`] |
//! | what does it look like? | [`demo`] |
//! | what time is it? | [`clock`] |

mod budget;
pub mod cli;
pub mod clock;
pub mod collection;
pub mod config;
pub mod daemon;
pub mod demo;
pub mod journal;
pub mod push;
pub mod source;
pub mod words;
