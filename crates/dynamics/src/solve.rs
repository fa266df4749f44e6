//! The one root finder: where does a falling function cross zero? No paper.

/// Enough halvings to exhaust the digits of any bracket of positive numbers.
const STEPS: u32 = 200;

/// The x in [low, high] at which `f`, falling there, crosses zero; the nearer end if it does not.
///
/// Bisection, geometric while the bracket spans more than a factor of two (rates span many decades).
/// `low` must be positive.
pub fn falling(low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (low, high);
    for _ in 0..STEPS {
        let middle = if high > 2.0 * low { (low * high).sqrt() } else { f64::midpoint(low, high) };
        if middle <= low || middle >= high {
            break;
        }
        if f(middle) > 0.0 { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn finds_the_crossing_over_many_decades(root in -12.0..12.0f64) {
            let root = 10f64.powf(root);
            let found = falling(1e-15, 1e15, |x| root - x);
            prop_assert!((found / root - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn without_a_crossing_the_nearer_end_is_returned() {
        assert!((falling(1.0, 2.0, |_| 1.0) - 2.0).abs() < 1e-12);
        assert!((falling(1.0, 2.0, |_| -1.0) - 1.0).abs() < 1e-12);
    }
}
