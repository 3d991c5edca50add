//! The Python package and the main workspace have the same dependencies in the same versions with the same features, so that each is
//! compiled once for both.

use crate::process;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The features of each package with its version.
type FeaturesByPackage = BTreeMap<String, BTreeSet<String>>;

/// An error that names each package which would be compiled twice.
pub(crate) fn check(root: &Path, manifest: &str) -> Result<(), String> {
    let main = features(root, &["--workspace", "--edges", "normal,build,dev"])?;
    let ours = features(root, &["--manifest-path", manifest, "--features", "shared", "--edges", "normal,build"])?;
    let differences = differences(&main, &ours);
    if differences.is_empty() {
        return Ok(());
    }
    let hint = format!(
        "what the main workspace has more goes into the feature `shared` of {manifest}, and the rest into the dev-dependencies of calipers-io"
    );
    Err(format!("these packages are compiled twice:\n  {}\n  hint: {hint}", differences.join("\n  ")))
}

/// What differs between two graphs, of packages that both have. Ours are compiled in both anyway, because they are members of one.
fn differences(main: &FeaturesByPackage, ours: &FeaturesByPackage) -> Vec<String> {
    let name = |package: &str| package.split(' ').next().unwrap_or_default().to_owned();
    let versions = |all: &FeaturesByPackage| -> BTreeMap<String, BTreeSet<String>> {
        let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for package in all.keys() {
            versions.entry(name(package)).or_default().insert(package.clone());
        }
        versions
    };
    let (of_main, of_ours) = (versions(main), versions(ours));
    let list = |all: &BTreeSet<String>| all.iter().cloned().collect::<Vec<_>>().join(", ");
    let mut found = Vec::new();
    for (name, packages) in of_ours.iter().filter(|(name, _)| !name.starts_with("calipers")) {
        let Some(known) = of_main.get(name) else { continue };
        if let Some(other) = packages.difference(known).next() {
            found.push(format!("{other}: the main workspace has {}", list(known)));
        }
        for package in packages.intersection(known).filter(|package| main[*package] != ours[*package]) {
            let more: BTreeSet<String> = main[package].difference(&ours[package]).cloned().collect();
            let fewer: BTreeSet<String> = ours[package].difference(&main[package]).cloned().collect();
            let side = |who: &str, features: &BTreeSet<String>| match features.is_empty() {
                true => String::new(),
                false => format!(" {who} has {}", list(features)),
            };
            found.push(format!("{package}:{}{}", side("the main workspace", &more), side("python", &fewer)));
        }
    }
    found
}

fn features(root: &Path, args: &[&str]) -> Result<FeaturesByPackage, String> {
    let mut tree = process::cargo(root);
    tree.args(["tree", "--locked", "--prefix", "none", "--no-dedupe", "--format", "{p}|{f}"]).args(args);
    let line = process::line(&tree);
    let printed = process::output(&mut tree).ok_or_else(|| format!("`{line}` failed"))?;
    let mut all = FeaturesByPackage::new();
    for (package, features) in printed.lines().filter_map(|line| line.rsplit_once('|')) {
        // `name v1.2.3 (proc-macro)`, or a folder in place of the last part.
        let package: Vec<&str> = package.split(' ').take(2).collect();
        let known = all.entry(package.join(" ")).or_default();
        known.extend(features.split(',').filter(|feature| !feature.is_empty()).map(str::to_owned));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_versions_and_other_features_are_differences() {
        let graph = |packages: &[(&str, &[&str])]| -> FeaturesByPackage {
            let features = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            packages.iter().map(|(package, names)| ((*package).to_owned(), features(names))).collect()
        };
        let main =
            graph(&[("tokio v1.0.0", &["rt", "test-util"]), ("rand v0.9.0", &[]), ("calipers v0.1.0", &["run"])]);
        let ours =
            graph(&[("tokio v1.0.0", &["rt"]), ("rand v0.8.0", &[]), ("calipers v0.1.0", &[]), ("pyo3 v0.30.0", &[])]);
        assert_eq!(
            differences(&main, &ours),
            ["rand v0.8.0: the main workspace has rand v0.9.0", "tokio v1.0.0: the main workspace has test-util"]
        );
        assert_eq!(differences(&main, &main), [""; 0]);
    }
}
