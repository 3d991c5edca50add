//! A policy that is named on the command line.

use crate::failure::Failure;
use crate::flags::ScriptFlags;
use crate::script_child;
use calipers::gate::Provenance;
use calipers::io::{LoadedPolicy, PolicyError, load_policy, redact};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The file of a policy, read when it is first asked for and then kept: whether its expressions need a separate process
/// is asked before the command runs.
#[derive(Clone, Debug)]
pub(crate) struct PolicyFile {
    path: String,
    loaded: Arc<OnceLock<Result<LoadedPolicy, PolicyError>>>,
}

impl From<String> for PolicyFile {
    fn from(path: String) -> Self {
        Self { path, loaded: Arc::default() }
    }
}

impl PolicyFile {
    /// The path as it was given.
    pub(crate) fn path(&self) -> &String {
        &self.path
    }

    /// The policy, or all that is wrong with it.
    pub(crate) fn read(&self) -> &Result<LoadedPolicy, PolicyError> {
        self.loaded.get_or_init(|| load_policy(Path::new(&self.path)))
    }

    /// The policy.
    pub(crate) fn load(&self) -> Result<&LoadedPolicy, Failure> {
        self.read().as_ref().map_err(|error| error.clone().into())
    }

    /// True unless it is certain that no script runs, with what is loaded beside it.
    pub(crate) fn scripts(&self, scripts: &ScriptFlags) -> bool {
        self.scripts_with(&scripts.load)
    }

    /// The same with the names of the files that are loaded.
    pub(crate) fn scripts_with(&self, load: &[String]) -> bool {
        // What comes from a pipe can be read only once, and not here.
        if Path::new(&self.path).metadata().is_ok_and(|found| !found.is_file()) {
            return true;
        }
        // What is wrong with a policy is said when it is used.
        let expressions = self.read().as_ref().map(|loaded| loaded.policy.expressions()).unwrap_or_default();
        script_child::is_needed(&expressions, load)
    }

    /// Where a verdict under this policy comes from.
    pub(crate) fn provenance(&self, policy: &LoadedPolicy) -> Provenance {
        Provenance { policy: redact(&self.path), policy_hash: policy.hash.clone(), ..Provenance::default() }
    }
}
