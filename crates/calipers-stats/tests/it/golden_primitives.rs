//! Distribution functions against scipy.

use calipers_stats::special;
use calipers_testing::golden::check;
use serde_json::json;

#[test]
fn distribution_functions() {
    check("primitives", &["norm_ppf", "t_ppf", "t_cdf", "beta_ppf", "binom_cdf"], |v| {
        let pairs = |x: &str| -> Vec<(f64, f64)> { v.numbers(x).into_iter().zip(v.numbers("df")).collect() };
        match v.statistic.as_str() {
            "norm_ppf" => json!({"x": v.numbers("p").into_iter().map(special::normal_quantile).collect::<Vec<_>>()}),
            "t_ppf" => json!({"x": pairs("p").iter().map(|&(p, df)| special::t_quantile(p, df)).collect::<Vec<_>>()}),
            "t_cdf" => json!({"p": pairs("t").iter().map(|&(t, df)| special::t_cdf(t, df)).collect::<Vec<_>>()}),
            "beta_ppf" => {
                let (p, a, b) = (v.numbers("p"), v.numbers("a"), v.numbers("b"));
                json!({"x": (0..p.len()).map(|i| special::beta_quantile(p[i], a[i], b[i])).collect::<Vec<_>>()})
            }
            _ => {
                let (k, n, p) = (v.counts("k"), v.counts("n"), v.numbers("p"));
                json!({"cdf": (0..p.len()).map(|i| special::binomial_cdf(k[i], n[i], p[i])).collect::<Vec<_>>()})
            }
        }
    });
}
