//! The providers, and what their models cost.

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// The tool `openrouter`.
    OpenRouter,
    /// The tool `venice`.
    Venice,
    /// The tool `ollama_local`.
    Ollama,
}

impl Provider {
    /// The name of the tool.
    pub fn tool(self) -> &'static str {
        match self {
            Self::OpenRouter => "openrouter",
            Self::Venice => "venice",
            Self::Ollama => "ollama_local",
        }
    }

    pub(super) fn description(self) -> &'static str {
        match self {
            Self::OpenRouter => "Asks a language model of OpenRouter.",
            Self::Venice => "Asks a language model of Venice.",
            Self::Ollama => "Asks a language model that runs on this machine, by way of Ollama.",
        }
    }

    /// Where its key is, for calls that name no configuration.
    pub(super) fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::OpenRouter => Some("OPENROUTER_API_KEY"),
            Self::Venice => Some("VENICE_API_KEY"),
            Self::Ollama => None,
        }
    }

    /// The model of calls that name none, in the call or in its configuration.
    pub(super) fn default_model(self) -> &'static str {
        match self {
            Self::OpenRouter => "openrouter/auto",
            Self::Venice => "llama-3.3-70b",
            Self::Ollama => "llama3.2",
        }
    }
}

/// What a model costs, in USD for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Of its input.
    pub prompt: f64,
    /// Of its output.
    pub completion: f64,
}
