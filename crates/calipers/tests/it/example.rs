//! The example prints what it is known to print, and the README shows nothing else.

#[path = "../../examples/tour.rs"]
#[allow(dead_code, unreachable_pub)]
mod tour;

const PRINTED: &str = include_str!("../../examples/tour.out");
const README: &str = include_str!("../../../../README.md");

#[test]
fn the_tour_prints_what_it_is_known_to_print() {
    let printed = tour::report().expect("the example is valid");
    assert_eq!(printed, PRINTED, "if this change is meant, write the new output to examples/tour.out and the README");
}

#[test]
fn the_readme_shows_lines_that_the_tour_prints() {
    let (_, rest) = README.split_once("## Use it from Rust").expect("the README shows the library");
    let (_, rest) = rest.split_once("```text\n").expect("it has a picture of the output");
    let (shown, _) = rest.split_once("```").expect("the picture ends");
    for line in shown.lines().filter(|line| line.trim() != "…") {
        assert!(PRINTED.lines().any(|printed| printed == line), "the tour does not print: {line}");
    }
}
