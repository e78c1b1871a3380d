//! Medians and quartiles: what is left of noisy figures.

use std::fmt;

/// The middle half of some figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quartiles {
    /// A quarter is below it.
    pub low: f64,
    /// Half is below it.
    pub median: f64,
    /// A quarter is above it.
    pub high: f64,
}

impl Quartiles {
    /// Those of `figures`, in any order; what is not a number is left out. `None` if nothing remains.
    #[must_use]
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Option<Quartiles> {
        let mut sorted: Vec<f64> = figures.into_iter().filter(|figure| figure.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            // Between two figures where the share falls between them.
            let position = share * (sorted.len() - 1) as f64;
            let (below, above) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
            below + (above - below) * position.fract()
        };
        (!sorted.is_empty()).then(|| Quartiles { low: at(0.25), median: at(0.5), high: at(0.75) })
    }
}

impl fmt::Display for Quartiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}..{}]", three_digits(self.median), three_digits(self.low), three_digits(self.high))
    }
}

/// A figure with three digits that count, and no more.
#[must_use]
pub fn three_digits(figure: f64) -> String {
    let size = figure.abs();
    let decimals = if size >= 100.0 {
        0
    } else if size >= 10.0 {
        1
    } else if size >= 1.0 {
        2
    } else {
        3
    };
    format!("{figure:.decimals$}")
}

/// Quartiles as text, or a dash where nothing was measured.
#[must_use]
pub fn shown(figures: impl IntoIterator<Item = f64>) -> String {
    Quartiles::of(figures).map_or_else(|| "-".to_owned(), |quartiles| quartiles.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_the_figures() {
        let quartiles = Quartiles::of([5.0, 1.0, 3.0, f64::NAN, 2.0, 4.0]).unwrap();
        assert_eq!(quartiles, Quartiles { low: 2.0, median: 3.0, high: 4.0 });
        assert_eq!(Quartiles::of([1.0, 2.0]).unwrap().median, 1.5);
        assert_eq!(Quartiles::of([f64::INFINITY]), None);
    }

    #[test]
    fn figures_show_three_digits() {
        assert_eq!([0.0931, 1.234, 12.34, 1234.5].map(three_digits), ["0.093", "1.23", "12.3", "1234"]);
        assert_eq!(shown([2.0]), "2.00 [2.00..2.00]");
    }
}
