//! The providers of remote models: one row each.

/// One row of the table of providers.
#[derive(Debug)]
#[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "only remote models need all of a row"))]
pub(super) struct Provider {
    /// What comes before the slash in the name of a model.
    pub(super) name: &'static str,
    /// Environment variables for the key; the first that is set counts. If the list is empty, no key is needed.
    pub(super) keys: &'static [&'static str],
    /// Environment variables for another address; the first that is set counts.
    pub(super) bases: &'static [&'static str],
    /// The address of the provider.
    pub(super) home: &'static str,
    /// What comes between the address and the path, unless the address already ends with a version.
    pub(super) version: &'static str,
    /// The format of its requests and answers.
    pub(super) wire: Wire,
}

/// The providers of remote models. Names, environment variables and messages follow from this table.
pub(super) static PROVIDERS: [Provider; 4] = [
    Provider {
        name: "openai",
        keys: &["OPENAI_API_KEY"],
        bases: &["OPENAI_BASE_URL"],
        home: "https://api.openai.com/v1",
        version: "",
        wire: Wire::OpenAi,
    },
    Provider {
        name: "anthropic",
        keys: &["ANTHROPIC_API_KEY"],
        bases: &["ANTHROPIC_BASE_URL"],
        home: "https://api.anthropic.com",
        version: "v1",
        wire: Wire::Anthropic,
    },
    Provider {
        name: "google",
        keys: &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
        bases: &["GOOGLE_BASE_URL"],
        home: "https://generativelanguage.googleapis.com",
        version: "v1beta",
        wire: Wire::Google,
    },
    // Ollama supports OpenAI's chat completions besides its own format, with the same content.
    Provider {
        name: "ollama",
        keys: &[],
        bases: &["OLLAMA_BASE_URL", "OLLAMA_HOST"],
        home: "http://localhost:11434",
        version: "v1",
        wire: Wire::OpenAi,
    },
];

impl Provider {
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.name == name)
    }
}

/// A format of requests and answers; see `wire/`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wire {
    OpenAi,
    Anthropic,
    Google,
}
