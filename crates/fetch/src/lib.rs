//! HTTP, politely and bounded: what did the server say?
//!
//! | question | file |
//! |---|---|
//! | what is asked, and with which credentials? | `request`, `conditional`, `secret` |
//! | what can become of a poll? | `outcome`, `why` |
//! | how long, how much, how often? | `limits`, `patience`, `body`, `coding` |
//! | where may a request go? | `guard`, `guard/address`, `resolve`, `redirect` |
//! | may we, and when? | `host`, `doorman`, `robots`, `retry_after` |
//! | who puts it together? | `client`, `trip` |
//!
//! Every end of a poll is an [`Outcome`]. [`Error`] is only for a client that cannot be built.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use fetch::{Client, Open, Outcome, Request, Settings};
//!
//! let client = Client::new(Settings::default())?;
//! let request = Request::new("https://example.org/news".parse()?)?;
//! let answer = client.fetch(&request, &Open).await;
//! if let Outcome::Fetched(response) = &answer.outcome {
//!     assert_eq!(response.status, 200);
//! }
//! # Ok(())
//! # }
//! ```

mod body;
mod client;
mod coding;
mod conditional;
mod doorman;
mod failure;
mod guard;
mod host;
mod http_date;
mod limits;
mod media;
mod outcome;
mod patience;
mod post;
mod redirect;
mod request;
mod resolve;
mod retry_after;
mod robots;
mod secret;
mod trip;
mod why;

pub use client::{Client, Error, Settings};
pub use conditional::Validators;
pub use doorman::{Doorman, Leave, Open};
pub use guard::{Allowed, BadRange, Guard, Guarded};
pub use host::{Host, NotHttp};
pub use limits::Limits;
pub use media::Media;
pub use outcome::{Answer, Hop, Outcome, Response};
pub use post::Posted;
pub use request::{Auth, BadHeader, Request};
pub use resolve::{Looking, Lookup};
pub use robots::Robots;
pub use secret::Secret;
pub use why::{Broken, Refusal, Timeout, Unreachable};
