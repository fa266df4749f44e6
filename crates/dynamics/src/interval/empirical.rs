//! Values collected, as a distribution. No paper.

/// Values in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Empirical {
    sorted: Vec<f64>,
}

impl FromIterator<f64> for Empirical {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        Self { sorted }
    }
}

impl Empirical {
    /// In order.
    pub fn values(&self) -> &[f64] {
        &self.sorted
    }

    /// Share of the values at most x; `None` of no values.
    pub fn cdf(&self, x: f64) -> Option<f64> {
        let below = self.sorted.partition_point(|&value| value <= x);
        (!self.sorted.is_empty()).then(|| below as f64 / self.sorted.len() as f64)
    }

    /// Mean; `None` of no values.
    pub fn mean(&self) -> Option<f64> {
        let n = self.sorted.len() as f64;
        (n > 0.0).then(|| self.sorted.iter().sum::<f64>() / n)
    }

    /// The value below which a share `q` lies; `None` of no values.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place in the list"
    )]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let last = self.sorted.len().checked_sub(1)?;
        let place = q.clamp(0.0, 1.0) * last as f64;
        let (low, part) = (place.floor() as usize, place.fract());
        Some(self.sorted[low] + part * (self.sorted[(low + 1).min(last)] - self.sorted[low]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let values: Empirical = [3.0, 1.0, 2.0, 2.0].into_iter().collect();
        assert_eq!([0.5, 2.0, 9.0].map(|x| values.cdf(x)), [0.0, 0.75, 1.0].map(Some));
        assert_eq!(values.mean(), Some(2.0));
        assert_eq!([0.0, 0.5, 1.0].map(|q| values.quantile(q)), [1.0, 2.0, 3.0].map(Some));
        let nothing = Empirical::default();
        assert_eq!((nothing.cdf(1.0), nothing.mean(), nothing.quantile(0.5)), (None, None, None));
    }
}
