//! What a recording is, by how it begins.

/// Bytes of the beginning that are looked at.
pub const BEGINNING: usize = 4096;

/// The forms of recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `transcript.jsonl` of a run.
    Transcript,
    /// HTTP Archive 1.2.
    Har,
    /// What `nats sub` prints.
    NatsText,
    /// What `nats sub --dump` writes: a JSON object for each message.
    NatsDump,
    /// The lines of both directions between an MCP client and a server on its standard input and output.
    McpLines,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Transcript, Self::Har, Self::NatsText, Self::NatsDump, Self::McpLines];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transcript => "transcript of a run",
            Self::Har => "HTTP archive",
            Self::NatsText => "text of `nats sub`",
            Self::NatsDump => "dump of `nats sub --dump`",
            Self::McpLines => "MCP messages, one a line",
        }
    }

    /// The form of a recording that begins like this; nothing where it is none that is known.
    pub fn of(beginning: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(beginning);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if let Some(name) = first_name(text) {
            return match name {
                "scenario" | "frame" => Some(Self::Transcript),
                "log" => Some(Self::Har),
                "Subject" | "Reply" | "Header" | "Data" => Some(Self::NatsDump),
                _ => is_rpc(text, name).then_some(Self::McpLines),
            };
        }
        // A batch, unless it is the `[#1]` of `nats sub`.
        if let Some(name) = text.strip_prefix('[').map(str::trim_start).and_then(first_name) {
            return is_rpc(text, name).then_some(Self::McpLines);
        }
        let is_nats = |line: &str| {
            line.starts_with("[#") && line.contains("] Received ") || line.contains(" Subscribing on ")
        };
        text.lines().any(is_nats).then_some(Self::NatsText)
    }
}

/// The name of the first member of an object that begins like this.
fn first_name(text: &str) -> Option<&str> {
    text.strip_prefix('{')?.trim_start().strip_prefix('"')?.split('"').next()
}

/// Whether a first line is a message of JSON-RPC, or the beginning of one that is longer than what is looked at.
fn is_rpc(text: &str, first: &str) -> bool {
    let (line, is_whole) = text.split_once('\n').map_or((text, false), |(line, _)| (line, true));
    let is_member = ["jsonrpc", "id", "method", "params", "result", "error"].contains(&first);
    line.contains("\"jsonrpc\"") || (is_member && !is_whole && line.len() >= BEGINNING / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_known_by_its_beginning() {
        let check =
            |text: &str, expect: Option<Format>| assert_eq!(Format::of(text.as_bytes()), expect, "{text}");
        check(r#"{"scenario":"a/b/1","frame":{"n":1"#, Some(Format::Transcript));
        check("\u{feff}{\n  \"log\": {\"version\": \"1.2\"", Some(Format::Har));
        check(r#"{"Subject":"cg.v1r3.p.c.cmd.tool.x","Reply":"""#, Some(Format::NatsDump));
        check("12:00:00 Subscribing on cg.> \n[#1] Received on \"cg.x\"\n{}\n\n", Some(Format::NatsText));
        check("[#1] Received on \"cg.x\" with reply \"_INBOX.1\"\n", Some(Format::NatsText));
        check(r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#, Some(Format::McpLines));
        check(r#"{"id":1,"jsonrpc":"2.0","result":{}}"#, Some(Format::McpLines));
        check(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Some(Format::McpLines));
        let long = format!(r#"{{"result":{{"text":"{}"}},"jsonrpc":"2.0","id":1}}"#, "x".repeat(BEGINNING));
        check(&long[..BEGINNING], Some(Format::McpLines));
        check(&long.replace("result", "report")[..BEGINNING], None);
        for other in ["", "{", "{}", "[1]", "[{}]", "[{\"id\":1}]", "hello", "{\"id\":1}", "\u{0}\u{1}\u{2}"]
        {
            check(other, None);
        }
    }
}
