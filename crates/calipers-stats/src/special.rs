//! Distribution functions and their inverses.

use statrs::distribution::{Beta, Binomial, ContinuousCDF, DiscreteCDF, Normal, StudentsT};

/// Φ(x).
#[must_use]
pub fn normal_cdf(x: f64) -> f64 {
    Normal::standard().cdf(x)
}

/// Φ⁻¹(p).
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}

/// P(T ≤ t) for Student's t with `df` degrees of freedom.
#[must_use]
pub fn t_cdf(t: f64, df: f64) -> f64 {
    StudentsT::new(0.0, 1.0, df).expect("df > 0").cdf(t)
}

/// The quantile of Student's t.
#[must_use]
pub fn t_quantile(p: f64, df: f64) -> f64 {
    StudentsT::new(0.0, 1.0, df).expect("df > 0").inverse_cdf(p)
}

/// The regularised incomplete beta function I_x(a, b).
#[must_use]
pub fn beta_cdf(x: f64, a: f64, b: f64) -> f64 {
    Beta::new(a, b).expect("a, b > 0").cdf(x)
}

/// The quantile of the beta distribution.
#[must_use]
pub fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    Beta::new(a, b).expect("a, b > 0").inverse_cdf(p)
}

/// P(X ≤ k) for X ~ Binomial(n, p).
#[must_use]
pub fn binomial_cdf(k: u64, n: u64, p: f64) -> f64 {
    Binomial::new(p, n).expect("0 <= p <= 1").cdf(k)
}
