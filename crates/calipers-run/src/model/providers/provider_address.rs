//! Keys and addresses of a provider.

use super::ProviderOptions;
use super::provider_table::Provider;
use reqwest::Url;

impl Provider {
    /// The key, or an error if one is required. A server at another address often needs none.
    pub(super) fn key<'a>(&self, options: &'a ProviderOptions) -> Result<Option<&'a str>, String> {
        let key = options.variable(self.keys);
        if key.is_none() && !self.keys.is_empty() && self.base(options).is_none() {
            let names = self.keys.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ");
            return Err(format!(
                "`{}` needs a key\n  hint: set {names}, or give a base URL for a server that needs none",
                self.name
            ));
        }
        Ok(key)
    }

    fn base<'a>(&self, options: &'a ProviderOptions) -> Option<&'a str> {
        options.base_url.as_deref().or_else(|| options.variable(self.bases))
    }

    /// True for the provider itself, not for a compatible server.
    pub(super) fn is_home(&self, options: &ProviderOptions) -> bool {
        self.base(options).is_none()
    }

    /// The address that questions to a model go to.
    pub(super) fn url(&self, model: &str, options: &ProviderOptions) -> Result<Url, String> {
        let written = self.base(options).unwrap_or(self.home);
        let mut url = parse(written).ok_or_else(|| {
            format!("the base URL of `{}` is not an address: write it as `https://host/path`", self.name)
        })?;
        if self.name == "ollama" {
            as_client(&mut url, written);
        }
        let is_versioned = last_segment(&url).is_some_and(is_version);
        let mut segments = url.path_segments_mut().map_err(|()| "an address without a path".to_owned())?;
        segments.pop_if_empty();
        if !is_versioned && !self.version.is_empty() {
            segments.push(self.version);
        }
        segments.extend(self.wire.path(model));
        drop(segments);
        Ok(url)
    }
}

/// An address as people write it, which is also `host:port`.
fn parse(written: &str) -> Option<Url> {
    let whole = if written.contains("://") { written.to_owned() } else { format!("http://{written}") };
    Url::parse(&whole).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// `OLLAMA_HOST` is where the server listens. `0.0.0.0` is not an address to connect to, and there is a default port.
fn as_client(url: &mut Url, written: &str) {
    if url.host_str() == Some("0.0.0.0") {
        let _ = url.set_host(Some("127.0.0.1"));
    }
    if !written.contains("://") && url.port().is_none() {
        let _ = url.set_port(Some(11434));
    }
}

fn last_segment(url: &Url) -> Option<&str> {
    url.path_segments()?.rfind(|segment| !segment.is_empty())
}

/// True for `v1`, `v1beta` and the like.
fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(provider: &str, variables: &[(&str, &str)]) -> String {
        let find =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let options = ProviderOptions::from_variables(find);
        Provider::find(provider).expect("a provider").url("m/1", &options).expect("an address").to_string()
    }

    #[test]
    fn addresses_are_completed_as_people_write_them() {
        for (provider, variable, base, want) in [
            ("openai", "", "", "https://api.openai.com/v1/chat/completions"),
            ("openai", "OPENAI_BASE_URL", "http://h:1/v1/", "http://h:1/v1/chat/completions"),
            ("openai", "OPENAI_BASE_URL", "https://h/x?api-version=2", "https://h/x/chat/completions?api-version=2"),
            ("anthropic", "", "", "https://api.anthropic.com/v1/messages"),
            ("anthropic", "ANTHROPIC_BASE_URL", "http://h", "http://h/v1/messages"),
            ("anthropic", "ANTHROPIC_BASE_URL", "http://h/v1/", "http://h/v1/messages"),
            ("google", "GOOGLE_BASE_URL", "http://h", "http://h/v1beta/models/m%2F1:generateContent"),
            ("google", "GOOGLE_BASE_URL", "http://h/v1", "http://h/v1/models/m%2F1:generateContent"),
            ("ollama", "", "", "http://localhost:11434/v1/chat/completions"),
            ("ollama", "OLLAMA_HOST", "0.0.0.0", "http://127.0.0.1:11434/v1/chat/completions"),
            ("ollama", "OLLAMA_HOST", "gpu:8080", "http://gpu:8080/v1/chat/completions"),
            ("ollama", "OLLAMA_BASE_URL", "http://gpu/v1", "http://gpu/v1/chat/completions"),
        ] {
            assert_eq!(url(provider, &[(variable, base)]), want, "{provider} at `{base}`");
        }
    }
}
