//! Who is watched: dense ordinals for sources, sites and hosts, and what is known about a source.
//!
//! Names and addresses stay outside. Inside, a source is its place in an array, so state is
//! struct-of-arrays and a decision touches few cache lines. For the same reason an ordinal is kept one higher than
//! it is, never zero: an `Option` of one takes no more room. No paper.

use serde::{Deserialize, Serialize};

use crate::utility::Worth;

/// The entry at `index`, lengthening the list with `fill` if it is too short.
pub(crate) fn grow<T>(list: &mut Vec<T>, index: usize, fill: impl FnMut() -> T) -> &mut T {
    if index >= list.len() {
        list.resize_with(index + 1, fill);
    }
    &mut list[index]
}

/// A kind of ordinal.
macro_rules! ordinal {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "u32", into = "u32")]
        pub struct $name(std::num::NonZeroU32);

        impl $name {
            /// The ordinal 0.
            pub const FIRST: Self = Self(std::num::NonZeroU32::MIN);

            /// The ordinal with this number.
            ///
            /// # Panics
            /// From `u32::MAX` on: four thousand million things are more than one scheduler holds.
            pub fn new(number: usize) -> Self {
                let number = u32::try_from(number).ok();
                number.and_then(|number| number.try_into().ok()).expect("ordinals fit 32 bits")
            }

            /// The number itself.
            pub const fn raw(self) -> u32 {
                self.0.get() - 1
            }

            /// The number, to index arrays with.
            pub const fn ix(self) -> usize {
                self.raw() as usize
            }
        }

        impl TryFrom<u32> for $name {
            type Error = &'static str;

            fn try_from(number: u32) -> Result<Self, Self::Error> {
                let kept = number.checked_add(1).and_then(std::num::NonZeroU32::new);
                kept.map(Self).ok_or("an ordinal must be below 4294967295")
            }
        }

        impl From<$name> for u32 {
            fn from(ordinal: $name) -> Self {
                ordinal.raw()
            }
        }
    };
}

pub(crate) use ordinal;

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
    /// What a change of it is worth when it is found late, and how long it can be found.
    pub worth: Worth,
}
