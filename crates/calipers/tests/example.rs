//! The example prints what it is known to print.

#[path = "../examples/tour.rs"]
#[allow(dead_code, unreachable_pub)]
mod tour;

#[test]
fn the_tour_prints_what_the_readme_shows() {
    let printed = tour::report().expect("the example is valid");
    let expected = include_str!("../examples/tour.out");
    assert_eq!(printed, expected, "if this change is meant, write the new output to examples/tour.out and the README");
}
