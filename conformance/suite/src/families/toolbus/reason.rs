//! Why a scenario of the tool bus may judge nothing although nothing went wrong.

use crate::engine::judge::reasons;

reasons! {
    Undeclared,
    OtherProbe: "toolbus.probes.other"
        => "`toolbus.probes.other` names the tool of the echo, so nothing tells two tools apart",
    BareCall: "toolbus.probes"
        => "no harmless call of `toolbus.probes` (`other`, `partial`) is without arguments",
    NoScope: "toolbus.scopes"
        => "without a session no scope is known to be within reach: `toolbus.scopes` names none, or there is no `toolbus.probes.state`",
    MarkedArgument: "toolbus.probes"
        => "no call of `toolbus.probes` passes an argument that the server marks with `x-mcp-header`",
    RequiredArgument: "toolbus.probes"
        => "no call of `toolbus.probes` passes an argument that `tools/list` says its tool requires",
    ChangedHeader: "toolbus.probes"
        => "the name that `toolbus.probes` gives the tool cannot be changed in this way in the header `{}`",
    KeyOfResult: "toolbus.probes"
        => "the result of the {} probe of `toolbus.probes` is no object with several keys that an `output` could name",
    SecretPlace: "toolbus.probes.secret" => "the call of `toolbus.probes.secret` puts no secret under `{}`",
}

reasons! {
    Alternative,
    NoArtifacts: "Tool bus v1 L30, resolution A9" => "a call that fails leaves no artifacts",
    RefusesShape: "Tool bus v1 L19, resolution A5"
        => "the server does not give what stands beside the secret for this `output` either",
    RefusesOutput: "Tool bus v1 L19, resolution A5" => "the server refuses this form of `output`",
    LeavesResultOut: "Tool bus v1 L24, resolution A19" => "the compact envelope leaves the result out",
    RefusesIds: "Tool bus v1 L31, errors (ids not usable in a path)"
        => "the server keeps no artifacts under ids that not every path can hold",
    RefusesLarge: "Tool bus v1 L27, resolution A7" => "the server refuses a large result",
    PlainTrace: "Tool bus v1 L27, resolution A3"
        => "`trace` is a plain string, so there is no place for other ids",
    KeepsNoSecret: "Tool bus v1 L20, resolution A6"
        => "the state gives back nothing of a result that holds secrets",
    LegacyDefault: "MCP 2026-07-28, Basic, Transports, Streamable HTTP"
        => "the server answers a request whose header names no modern revision as one of the legacy era",
    HasRevision: "MCP 2026-07-28, Basic, Versioning" => "the server has this revision as well",
    NeedsNoArgument: "Tool bus v1 L35"
        => "the tool does its work without an argument that `tools/list` says it requires",
    LongText: "Tool bus v1 L26" => "the text is too long to be kept; whether it may be is another rule",
}
