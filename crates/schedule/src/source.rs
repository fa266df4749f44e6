//! Who is watched: dense ordinals for sources, sites and hosts, and what is known about a source.
//!
//! Names and addresses stay outside. Inside, a source is its place in an array, so state is
//! struct-of-arrays and a decision touches few cache lines. No paper.

use serde::{Deserialize, Serialize};

/// The entry at `index`, lengthening the list with `fill` if it is too short.
pub(crate) fn grow<T>(list: &mut Vec<T>, index: usize, fill: impl FnMut() -> T) -> &mut T {
    if index >= list.len() {
        list.resize_with(index + 1, fill);
    }
    &mut list[index]
}

macro_rules! ordinal {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(u32);

        impl $name {
            /// The ordinal 0.
            pub const FIRST: Self = Self(0);

            /// The ordinal with this number.
            ///
            /// # Panics
            /// Above `u32::MAX`: four thousand million things are more than one scheduler holds.
            pub fn new(number: usize) -> Self {
                Self(u32::try_from(number).expect("ordinals fit 32 bits"))
            }

            /// The number as it is stored.
            pub const fn raw(self) -> u32 {
                self.0
            }

            /// The number, to index arrays with.
            pub const fn ix(self) -> usize {
                self.0 as usize
            }
        }
    };
}

ordinal! {
    /// A thing we watch.
    SourceIx
}
ordinal! {
    /// A group of sources that may change alike: drives pooling and sampling.
    SiteIx
}
ordinal! {
    /// Whoever answers for sources: the unit of politeness.
    HostIx
}

/// What the scheduler is told about a source when it enters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Its group.
    pub site: SiteIx,
    /// Who answers for it.
    pub host: HostIx,
    /// How much a change of it matters; 1 is ordinary.
    pub importance: f32,
    /// The copy already holds its present state: the moment of entry counts as a look.
    pub known: bool,
}
