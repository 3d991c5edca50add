//! Every metric's documentation has the same headings, so that a reader finds the same answers in the same place.

use std::path::Path;

const HEADINGS: [&str; 5] =
    ["*What it tells you.*", "*When it misleads.*", "*Formula.*", "*Interval.*", "*Example.*\n///\n/// ```"];

#[test]
fn every_metric_says_the_same_things_in_the_same_order() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/metric");
    let registry = calipers_core::Registry::builtin();
    let mut documented = 0;
    for file in std::fs::read_dir(folder).expect("the metrics have a folder") {
        let source = std::fs::read_to_string(file.expect("readable").path()).expect("readable");
        for name in registry.names() {
            let starts = ["(", "<"].map(|next| source.find(&format!("\npub fn {name}{next}")));
            let Some(place) = starts.into_iter().flatten().next() else { continue };
            let docs = source[..place].rsplit("\n\n").next().expect("there is always a last part");
            let places = HEADINGS.map(|heading| docs.find(heading));
            assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{name}: {places:?}");
            documented += 1;
        }
    }
    assert_eq!(documented, registry.names().count());
}
