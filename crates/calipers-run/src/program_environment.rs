//! The environment variables that programs get.

use std::ffi::{OsStr, OsString};
use std::fmt;

/// Where programs and libraries are, the user, the language, the clock, temporary files and certificates. Nothing that
/// holds a secret: keys, tokens, and proxies with their passwords are passed by name.
const USUAL: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "TMPDIR",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYTHONPATH",
    "NODE_PATH",
    "LD_LIBRARY_PATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// What programs need on Windows besides.
#[cfg(windows)]
const OF_SYSTEM: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

#[cfg(not(windows))]
const OF_SYSTEM: &[&str] = &[];

/// Locales have a variable for each of their parts.
const LOCALE: &str = "LC_";

/// The environment of the programs of a run: a few usual variables, and those that are named.
///
/// A program does not inherit the rest, because an environment often holds keys that are none of its business. Values are
/// read once; `Debug` prints names only.
///
/// ```
/// use calipers_run::ProgramEnvironment;
///
/// let environment = ProgramEnvironment::usual();
/// assert!(!environment.names().any(|name| name == "OPENAI_API_KEY"));
/// ```
#[derive(Clone)]
pub struct ProgramEnvironment(Vec<(OsString, OsString)>);

impl Default for ProgramEnvironment {
    fn default() -> Self {
        Self::usual()
    }
}

impl ProgramEnvironment {
    /// The usual variables, as far as they are set.
    #[must_use]
    pub fn usual() -> Self {
        Self(std::env::vars_os().filter(|(name, _)| is_usual(name)).collect())
    }

    /// Passes on another variable; the error is that it is not set.
    pub fn pass(mut self, name: &str) -> Result<Self, UnsetVariable> {
        // A name with `=` in it is none, and some systems refuse to look it up.
        let value =
            Some(name).filter(|name| !name.is_empty() && !name.contains(['=', '\0'])).and_then(std::env::var_os);
        let value = value.ok_or_else(|| UnsetVariable(name.to_owned()))?;
        self.0.retain(|(known, _)| known != OsStr::new(name));
        self.0.push((name.into(), value));
        Ok(self)
    }

    /// The names of its variables.
    pub fn names(&self) -> impl Iterator<Item = &OsStr> {
        self.0.iter().map(|(name, _)| &**name)
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

impl fmt::Debug for ProgramEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// A variable that programs should get is not set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsetVariable(pub String);

impl fmt::Display for UnsetVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the environment variable `{}` is not set", self.0)
    }
}

impl std::error::Error for UnsetVariable {}

fn is_usual(name: &OsStr) -> bool {
    let is = |known: &&str| if cfg!(windows) { name.eq_ignore_ascii_case(known) } else { name == OsStr::new(known) };
    USUAL.iter().chain(OF_SYSTEM).any(is) || name.to_str().is_some_and(|name| name.starts_with(LOCALE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_keys_is_not_usual() {
        for name in ["PATH", "HOME", "LC_ALL", "TZ"] {
            assert!(is_usual(OsStr::new(name)), "{name}");
        }
        for name in ["OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "HTTPS_PROXY", "SSH_AUTH_SOCK", "PATHS"]
        {
            assert!(!is_usual(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn a_variable_that_is_not_set_is_an_error() {
        for name in ["CALIPERS_SURELY_NOT_SET", "", "A=B", "A\0"] {
            assert_eq!(ProgramEnvironment::usual().pass(name).err(), Some(UnsetVariable(name.to_owned())));
        }
        let path = ProgramEnvironment(Vec::new()).pass("PATH").expect("tests have a path");
        assert_eq!(path.names().collect::<Vec<_>>(), ["PATH"]);
        assert!(!format!("{path:?}").contains('/'));
    }
}
