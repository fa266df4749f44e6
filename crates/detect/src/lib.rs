//! Bytes in, verdict out: what a source says, and whether it changed.
//!
//! | question | file |
//! | --- | --- |
//! | what of a source matters, as written and as checked? | [`rule`], `pattern` |
//! | what does this body say, its noise aside? | [`reading`], by [`media`] kind, `volatile` |
//! | in which letters is it written? | `charset` |
//! | how are HTML, XML, JSON and text brought into one form? | `html`, `xml`, `json`, `text` |
//! | which elements does CSS mean, and may that be asked of this document? | `css`, `tree` |
//! | is it the same as before? | [`fingerprint`], [`verdict`] |
//! | what changed, in lines, in words, in one sentence? | [`mod@diff`] |
//! | is that worth an event? | [`trigger`], `number` |
//! | how much work may all this be? | [`limits`] |
//!
//! Pure: no network, no clock, no file. The same bytes under the same rule give the same verdict for ever, so
//! work is bounded in bytes, nodes and steps, and what breaks a bound is [`Unreadable`], not slow.
//!
//! ```
//! use detect::{Limits, Rule, RuleText, Verdict, diff, judge, read};
//!
//! let rule = Rule::new(&RuleText { select: vec!["main".into()], ..RuleText::default() }).unwrap();
//! let look = |body: &str| read(&rule, body.as_bytes(), Some("text/html"), &Limits::default());
//!
//! let before = look("<main>price: <b>12</b></main><script>nonce = 1</script>").unwrap();
//! let noise = look("<main>price:  <i>12</i></main><script>nonce = 2</script>");
//! assert_eq!(judge(Some(&before.fingerprint), &noise), Verdict::Same);
//!
//! let after = look("<main>price: <b>14</b></main>");
//! assert_eq!(judge(Some(&before.fingerprint), &after), Verdict::Changed);
//! let change = diff(&before.text, &after.unwrap().text, &Limits::default());
//! assert_eq!(change.summary, "price: 12 → 14");
//! ```

pub mod diff;
pub mod fingerprint;
pub mod items;
pub mod limits;
pub mod media;
pub mod reading;
pub mod rule;
pub mod trigger;
pub mod verdict;

mod charset;
mod css;
mod html;
mod json;
mod number;
mod pattern;
mod text;
mod tree;
mod volatile;
mod xml;

pub use diff::{Change, Span, Tag, diff, marked, words};
pub use fingerprint::Fingerprint;
pub use items::{Items, ItemsText, Listed, NoItems};
pub use limits::Limits;
pub use media::Kind;
pub use reading::{Reading, Unreadable, read};
pub use rule::{Mistake, Rule, RuleText};
pub use trigger::{Trigger, TriggerText};
pub use verdict::{Verdict, judge};
