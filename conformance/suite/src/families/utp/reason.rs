//! Why a scenario of UTP may judge nothing although nothing went wrong.

use crate::engine::judge::reasons;

reasons! {
    Undeclared,
    Echo: "utp.tool-service.probes"
        => "no probe gives its arguments back: `work` stands in place of `utp.tool-service.probes.echo`",
    Tasks: "utp.pmo.arguments"
        => "`utp.pmo.arguments` has no texts under the names that the suite knows",
}

reasons! {
    Alternative,
    OneByOne: "UTP Tool Protocol §3.1, resolution A-37"
        => "the runtime makes the calls of one answer one by one",
    NoSubmit: "UTP Tool Protocol §2" => "the worker does not offer `submit_result` to the model",
    LookAlike: "UTP Tool Protocol §3.1, resolution A-01"
        => "a plain `suspend` and a plain `terminate` look alike on this runtime",
    NoCall: "Tool Development Guide §4, resolution A-31" => "the worker does not make the call",
    ConsumedHidden: "UTP Tool Protocol §4.2, resolution A-24"
        => "the Inbox does not show records that a turn has gone on with",
    NoSuchVariable: "Tool Development Guide §4, resolution A-31"
        => "the call has no value for the template variable",
    RefusesNames: "Tool Development Guide §3.2, resolution A-17" => "the registry takes no such names",
    RefusesMembers: "Tool Development Guide §3.2, resolution E-77"
        => "the registry takes no definition with a member that it does not know",
    UnansweredFailure: "UTP Tool Protocol §4.1, resolution A-09"
        => "the target does not answer a call that cannot succeed",
    UnansweredRefusal: "UTP Tool Protocol §4.1, resolution A-09"
        => "the target does not answer a command that it refuses",
    NoRefusalCard: "UTP Tool Protocol §4.1, resolution A-09"
        => "the target saves no card for a command that it refuses",
    FewFailures: "UTP Tool Protocol §4.1, resolution A-09" => "fewer than two commands got a failed result",
    NotFailed: "UTP Tool Protocol §4.1, resolution A-07" => "the call has no failed tool.result card",
    UnansweredBare: "UTP Tool Protocol §4.1, resolution A-09"
        => "the target does not answer a call without arguments",
    FixedArguments: "Tool Development Guide §2.4"
        => "the probe takes no argument beside those of the manifest, or returns none as it came",
    RefusesLong: "UTP Tool Protocol §5"
        => "the service refuses a text of this length, or says that it cut it",
    OwnControl: "Tool Development Guide §1" => "the tool makes its control object itself",
    NoNewVersion: "Tool Development Guide §3.2, resolution A-17"
        => "the registry takes no second definition under a name",
    RefusesTask: "UTP Tool Protocol §4.1" => "the built-in does not take tasks of this kind",
    RefusesNoDepth: "CGContext Protocol Spec §5; released implementation"
        => "the target refuses a command without its depth",
    SaysNothing: "UTP Tool Protocol §4.2" => "the built-in says nothing of what it has done",
    NoRequest: "Tool Development Guide §4" => "the target makes no request for a row without `base_url`",
    KeyNotSent: "Tool Development Guide §4"
        => "the target does not send the value of the key, so it has nothing to hide",
    LogsNothing: "Tool Development Guide §4" => "the target logs nothing, so no key can be in its log",
}
