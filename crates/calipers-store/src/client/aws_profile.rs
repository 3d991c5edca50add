//! Profiles of the AWS tools: `~/.aws/credentials` and `~/.aws/config`.

use std::collections::HashMap;
use std::path::PathBuf;

/// What a profile says, as far as we use it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AwsProfile {
    pub(super) name: String,
    pub(super) values: HashMap<String, String>,
    /// True when the profile is in one of the files.
    pub(super) is_found: bool,
}

/// Longer files are not read.
const LENGTH_MAX: u64 = 1 << 20;

impl AwsProfile {
    /// The profile that the environment names, or the default one.
    pub(super) fn find() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let name = variable("AWS_PROFILE").or_else(|| variable("AWS_DEFAULT_PROFILE")).unwrap_or("default".into());
        let home = || variable(if cfg!(windows) { "USERPROFILE" } else { "HOME" }).map(PathBuf::from);
        let file = |named: &str, usual: &str| {
            let path = variable(named).map(PathBuf::from).or_else(|| Some(home()?.join(".aws").join(usual)))?;
            let is_short = std::fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() <= LENGTH_MAX);
            if is_short { std::fs::read_to_string(&path).ok() } else { None }
        };
        let config = file("AWS_CONFIG_FILE", "config").unwrap_or_default();
        let credentials = file("AWS_SHARED_CREDENTIALS_FILE", "credentials").unwrap_or_default();
        Self::parse(&name, &config, &credentials)
    }

    /// The credentials of a profile come before what its configuration says.
    fn parse(name: &str, config: &str, credentials: &str) -> Self {
        let mut profile = Self { name: name.to_owned(), ..Self::default() };
        profile.read(config, &|section| section == format!("profile {name}") || section == name && name == "default");
        profile.read(credentials, &|section| section == name);
        profile
    }

    fn read(&mut self, text: &str, is_ours: &dyn Fn(&str) -> bool) {
        let mut inside = false;
        for line in text.lines() {
            // Nested settings are indented; none of them is ours.
            let is_nested = line.starts_with([' ', '\t']);
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', ';']) || is_nested {
                continue;
            }
            if let Some(section) = line.strip_prefix('[').and_then(|line| line.split(']').next()) {
                inside = is_ours(section.trim());
                self.is_found |= inside;
            } else if let (true, Some((key, value))) = (inside, line.split_once('=')) {
                self.values.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
            }
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The way to sign in that the profile asks for and that only the tools of AWS know.
    pub(super) fn foreign_way(&self) -> Option<&'static str> {
        ["sso_session", "sso_start_url", "credential_process", "source_profile", "credential_source", "login_session"]
            .into_iter()
            .find(|key| self.get(key).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_read_as_the_aws_tools_read_them() {
        let config = "[default]\nregion = eu-west-1\n[profile team]\n# note\nregion=us-west-2\ns3 =\n  addressing_style = path\nsso_session = x\n";
        let credentials = "[default]\naws_access_key_id = A\naws_secret_access_key=B=C\n[other]\naws_access_key_id=Z\n";
        let usual = AwsProfile::parse("default", config, credentials);
        assert_eq!(usual.get("aws_access_key_id"), Some("A"));
        assert_eq!(usual.get("aws_secret_access_key"), Some("B=C"));
        assert_eq!(usual.get("region"), Some("eu-west-1"));
        assert_eq!(usual.foreign_way(), None);
        let team = AwsProfile::parse("team", config, credentials);
        assert_eq!((team.get("region"), team.get("aws_access_key_id")), (Some("us-west-2"), None));
        assert_eq!(team.foreign_way(), Some("sso_session"));
        assert!(!AwsProfile::parse("nobody", config, credentials).is_found);
        assert!(!AwsProfile::parse("team", "[team]\nregion=x\n", "").is_found, "only `default` goes without `profile`");
    }
}
