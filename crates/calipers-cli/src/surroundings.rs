//! What the surroundings of a command say about the version that is evaluated: the variables of CI systems, or else git.

use calipers_view::RunDescription;
use std::process::{Command, Stdio};

/// The variables of a CI system. Earlier names count more: on a pull request, some have two branches.
struct CiSystem {
    /// Set wherever the system runs something.
    sign: &'static str,
    version: &'static [&'static str],
    branch: &'static [&'static str],
    commit: &'static [&'static str],
}

const CI_SYSTEMS: [CiSystem; 9] = [
    CiSystem {
        sign: "GITHUB_ACTIONS",
        version: &[],
        branch: &["GITHUB_HEAD_REF", "GITHUB_REF_NAME"],
        commit: &["GITHUB_SHA"],
    },
    CiSystem {
        sign: "GITLAB_CI",
        version: &["CI_COMMIT_TAG"],
        branch: &["CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_BRANCH", "CI_COMMIT_REF_NAME"],
        commit: &["CI_COMMIT_SHA"],
    },
    CiSystem {
        sign: "BUILDKITE",
        version: &["BUILDKITE_TAG"],
        branch: &["BUILDKITE_BRANCH"],
        commit: &["BUILDKITE_COMMIT"],
    },
    CiSystem { sign: "CIRCLECI", version: &["CIRCLE_TAG"], branch: &["CIRCLE_BRANCH"], commit: &["CIRCLE_SHA1"] },
    CiSystem {
        sign: "JENKINS_URL",
        version: &["TAG_NAME"],
        branch: &["CHANGE_BRANCH", "BRANCH_NAME", "GIT_BRANCH"],
        commit: &["GIT_COMMIT"],
    },
    CiSystem {
        sign: "TF_BUILD",
        version: &[],
        branch: &["SYSTEM_PULLREQUEST_SOURCEBRANCH", "BUILD_SOURCEBRANCHNAME"],
        commit: &["BUILD_SOURCEVERSION"],
    },
    CiSystem {
        sign: "BITBUCKET_BUILD_NUMBER",
        version: &["BITBUCKET_TAG"],
        branch: &["BITBUCKET_BRANCH"],
        commit: &["BITBUCKET_COMMIT"],
    },
    CiSystem {
        sign: "DRONE",
        version: &["DRONE_TAG"],
        branch: &["DRONE_SOURCE_BRANCH", "DRONE_BRANCH"],
        commit: &["DRONE_COMMIT_SHA"],
    },
    CiSystem {
        sign: "TRAVIS",
        version: &["TRAVIS_TAG"],
        branch: &["TRAVIS_PULL_REQUEST_BRANCH", "TRAVIS_BRANCH"],
        commit: &["TRAVIS_COMMIT"],
    },
];

/// What the CI system says, or git where there is none.
pub(crate) fn describe_surroundings() -> RunDescription {
    from_variables(&|name| std::env::var(name).ok().filter(|value| !value.is_empty())).unwrap_or_else(from_git)
}

/// What the variables of a CI system say; none outside of one.
fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Option<RunDescription> {
    let system = CI_SYSTEMS.iter().find(|system| variable(system.sign).is_some())?;
    let first = |names: &[&str]| names.iter().find_map(|name| variable(name));
    let mut said = RunDescription {
        version: first(system.version),
        branch: first(system.branch).map(|branch| branch.trim_start_matches("refs/heads/").to_owned()),
        commit: first(system.commit),
        ..RunDescription::default()
    };
    // On GitHub the name of a tag stands where otherwise that of a branch does.
    if variable("GITHUB_REF_TYPE").as_deref() == Some("tag") {
        said.version = said.branch.take();
    }
    Some(said)
}

/// What git says of the folder that the command runs in; nothing where there is no git or no repository.
fn from_git() -> RunDescription {
    let mut said = RunDescription::default();
    let Some(commit) = ask_git(&["rev-parse", "--verify", "--quiet", "HEAD"]) else { return said };
    said.commit = Some(commit);
    said.branch = ask_git(&["symbolic-ref", "--quiet", "--short", "HEAD"]);
    said.version = ask_git(&["describe", "--tags", "--exact-match", "HEAD"]);
    // The commit is not what was evaluated if files differ from it.
    let is_changed = ask_git(&["status", "--porcelain", "--untracked-files=no"]).is_some();
    if is_changed {
        said.tags.insert("uncommitted".to_owned(), "yes".to_owned());
    }
    said
}

/// The answer of git, if it has one. A repository must not start a program of its own here.
fn ask_git(words: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks"])
        .args(words)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let answer = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !answer.is_empty()).then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ci_system_says_what_it_builds() {
        for (variables, want) in [
            (
                &[("GITHUB_ACTIONS", "true"), ("GITHUB_REF_NAME", "main"), ("GITHUB_SHA", "abc")][..],
                (None, Some("main"), Some("abc")),
            ),
            (
                &[("GITHUB_ACTIONS", "true"), ("GITHUB_HEAD_REF", "fix"), ("GITHUB_REF_NAME", "12/merge")],
                (None, Some("fix"), None),
            ),
            (
                &[("GITHUB_ACTIONS", "true"), ("GITHUB_REF_NAME", "v1.4"), ("GITHUB_REF_TYPE", "tag")],
                (Some("v1.4"), None, None),
            ),
            (
                &[("GITLAB_CI", "true"), ("CI_COMMIT_TAG", "v2"), ("CI_COMMIT_SHA", "def")],
                (Some("v2"), None, Some("def")),
            ),
            (&[("TF_BUILD", "True"), ("SYSTEM_PULLREQUEST_SOURCEBRANCH", "refs/heads/x")], (None, Some("x"), None)),
        ] {
            let find =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into());
            let said = from_variables(&find).expect("a system");
            let found = (said.version.as_deref(), said.branch.as_deref(), said.commit.as_deref());
            assert_eq!(found, want, "{variables:?}");
        }
        // A commit alone is no sign of a system: others use such names too.
        assert_eq!(from_variables(&|name| (name == "GIT_COMMIT").then(|| "abc".into())), None);
    }
}
