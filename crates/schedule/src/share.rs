//! Sharing whole polls in proportion to weights, when nobody can take more than a cap.
//!
//! Largest remainder: everyone gets the whole part of the exact share, the polls left over go to the largest
//! fractions. What exceeds a cap is shared again among those with weight and room, then evenly among all with
//! room. Where all weights are zero, evenly from the start.
//!
//! Paper: CN-11 and CN-21's edge cases (`docs/papers/cho-ntoulas-2002.md`).

/// `total` whole polls by weight, at most `caps[i]` each. Gives out all of them as long as there is room.
pub fn share(total: usize, weights: &[f64], caps: &[usize]) -> Vec<usize> {
    let mut given = vec![0; weights.len()];
    let mut left = total.min(caps.iter().sum());
    let even = vec![1.0; weights.len()];
    for weights in [weights, &even] {
        loop {
            let open: Vec<usize> =
                (0..caps.len()).filter(|&i| given[i] < caps[i] && weights[i] > 0.0).collect();
            if left == 0 || open.is_empty() {
                break;
            }
            let parts =
                largest_remainder(left, &open.iter().map(|&i| weights[i]).collect::<Vec<_>>());
            for (&i, part) in open.iter().zip(parts) {
                let taken = part.min(caps[i] - given[i]);
                given[i] += taken;
                left -= taken;
            }
        }
    }
    given
}

/// Whole parts of `total` in proportion to positive weights, adding up to `total`.
fn largest_remainder(total: usize, weights: &[f64]) -> Vec<usize> {
    let sum: f64 = weights.iter().sum();
    let exact: Vec<f64> = weights.iter().map(|weight| total as f64 * weight / sum).collect();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole part of at most `total`"
    )]
    let mut parts: Vec<usize> = exact.iter().map(|&x| x.floor() as usize).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&a, &b| exact[b].fract().total_cmp(&exact[a].fract()).then(a.cmp(&b)));
    let missing = total.saturating_sub(parts.iter().sum());
    order.iter().cycle().take(missing).for_each(|&i| parts[i] += 1);
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// CN-11: 80 polls by 7 : 2 are 62.2 and 17.8, so 62 and 18.
    #[test]
    fn cn_11_example_two() {
        assert_eq!(share(80, &[7.0, 2.0], &[90, 90]), [62, 18]);
    }

    #[test]
    fn cn_21_overflow_goes_to_those_with_weight_then_to_all() {
        assert_eq!(share(50, &[9.0, 1.0, 0.0], &[10, 100, 100]), [10, 40, 0]);
        assert_eq!(share(50, &[9.0, 1.0, 0.0], &[10, 20, 100]), [10, 20, 20]);
        assert_eq!(share(9, &[0.0, 0.0, 0.0], &[5, 5, 5]), [3, 3, 3]);
        assert_eq!(share(99, &[1.0, 2.0], &[3, 4]), [3, 4]);
    }

    proptest! {
        #[test]
        fn gives_out_everything_within_the_caps(
            total in 0usize..500, rows in prop::collection::vec((0.0..10.0f64, 0usize..60), 0..20),
        ) {
            let (weights, caps): (Vec<f64>, Vec<usize>) = rows.into_iter().unzip();
            let given = share(total, &weights, &caps);
            prop_assert_eq!(given.iter().sum::<usize>(), total.min(caps.iter().sum()));
            prop_assert!(given.iter().zip(&caps).all(|(given, cap)| given <= cap));
        }

        #[test]
        fn without_caps_nobody_is_off_by_a_whole_poll(total in 1usize..500, weights in prop::collection::vec(0.1..10.0f64, 1..10)) {
            let given = share(total, &weights, &vec![usize::MAX / 100; weights.len()]);
            let sum: f64 = weights.iter().sum();
            for (given, weight) in given.iter().zip(&weights) {
                prop_assert!((*given as f64 - total as f64 * weight / sum).abs() < 1.0);
            }
        }
    }
}
