//! The example of an evaluation prints what it is known to print, and leaves a log.

#[path = "../../examples/eval.rs"]
#[allow(dead_code, unreachable_pub)]
mod eval;

const PRINTED: &str = include_str!("../../examples/eval.out");

#[test]
fn the_evaluation_prints_what_it_is_known_to_print() {
    let folder = std::env::temp_dir().join(format!("calipers-eval-example-{}", std::process::id()));
    let printed = eval::report(&folder);
    let logs = std::fs::read_dir(&folder).map_or(0, Iterator::count);
    let _ = std::fs::remove_dir_all(folder);
    let printed = printed.expect("the example is valid");
    assert_eq!(printed, PRINTED, "if this change is meant, write the new output to examples/eval.out");
    assert_eq!(logs, 1);
}
