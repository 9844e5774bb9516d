@role:toolbus.server
@since:2026-07-28
@cap:http
Feature: Over HTTP, headers repeat what a request says
  A request of MCP since 2026-07-28 is one POST whose headers name its revision, its method, its tool, and those of its
  arguments that the tool marks, so that what stands between client and server need not read bodies. Both must agree.

  Rule: Headers and body agree

    Scenario Outline: A call without the header "<header>"
      Given an MCP server over HTTP
      And a call of the echo probe
      And it lacks the header "<header>"
      When the client makes the call
      Then it is refused since headers and body do not agree

      Examples:
        | rule   | header               |
        | MCP-10 | Mcp-Method           |
        | MCP-11 | Mcp-Name             |

    @MCP-12
    Scenario: A call without the header "MCP-Protocol-Version"
      Given an MCP server over HTTP
      And a call of the echo probe
      And it lacks the header "MCP-Protocol-Version"
      When the client makes the call
      Then it is refused since no header names its revision

    @MCP-12
    Scenario: A call whose header "MCP-Protocol-Version" names another revision than its body
      Given an MCP server over HTTP
      And a call of the echo probe
      And its header "MCP-Protocol-Version" is "2025-11-25"
      When the client makes the call
      Then it is refused since no header names its revision

    Scenario Outline: A call whose header "<header>" is "<value>"
      Given an MCP server over HTTP
      And a call of the echo probe
      And its header "<header>" is "<value>"
      When the client makes the call
      Then it is refused since headers and body do not agree

      Examples:
        | rule   | header               | value                 |
        | MCP-10 | Mcp-Method           | tools/list            |
        | MCP-10 | Mcp-Method           | Tools/Call            |
        | MCP-10 | Mcp-Method           | tools/calls           |
        | MCP-10 | Mcp-Method           | tools                 |
        | MCP-11 | Mcp-Name             | callmark_another_tool |

    @MCP-12
    Scenario Outline: A call whose header "MCP-Protocol-Version" is "<version>", which its body does not name
      Given an MCP server over HTTP
      And a call of the echo probe
      And its header "MCP-Protocol-Version" is "<version>"
      When the client makes the call
      Then it is refused since no header names its revision

      Examples:
        | version      |
        | 2026-07-28-x |
        | 2099-01-01   |

    @MCP-11
    Scenario Outline: A call whose header "Mcp-Name" <fault>
      Given an MCP server over HTTP
      And a call of the echo probe
      And its header "Mcp-Name" <fault>
      When the client makes the call
      Then it is refused since headers and body do not agree

      Examples:
        | fault           |
        | differs in case |
        | is cut short    |
        | is longer       |
        | is empty        |

    @MCP-11 @cap:probe.first-other
    Scenario: A call whose header "Mcp-Name" names another tool that there is
      Given an MCP server over HTTP
      And a call of the echo probe
      And its header "Mcp-Name" names the tool of the first other probe
      When the client makes the call
      Then it is refused since headers and body do not agree

    @MCP-10
    Scenario: A list without the header "Mcp-Method"
      Given an MCP server over HTTP
      And a request of "tools/list"
      And it lacks the header "Mcp-Method"
      When the client sends the request
      Then it is refused since headers and body do not agree

    @MCP-10
    Scenario: A discovery without the header "Mcp-Method"
      Given an MCP server over HTTP
      And a request of "server/discover"
      And it lacks the header "Mcp-Method"
      When the client sends the request
      Then it is refused since headers and body do not agree

    @MCP-10
    Scenario Outline: A request of "<method>" whose header "Mcp-Method" names another one
      Given an MCP server over HTTP
      And a request of "<method>"
      And its header "Mcp-Method" is "tools/call"
      When the client sends the request
      Then it is refused since headers and body do not agree

      Examples:
        | method          |
        | tools/list      |
        | server/discover |

    @MCP-12
    Scenario Outline: A request of "<method>" without the header "MCP-Protocol-Version"
      Given an MCP server over HTTP
      And a request of "<method>"
      And it lacks the header "MCP-Protocol-Version"
      When the client sends the request
      Then it is refused since no header names its revision

      Examples:
        | method          |
        | tools/list      |
        | server/discover |

    @MCP-12
    Scenario Outline: A request of "<method>" whose header "MCP-Protocol-Version" names another revision than its body
      Given an MCP server over HTTP
      And a request of "<method>"
      And its header "MCP-Protocol-Version" is "2025-11-25"
      When the client sends the request
      Then it is refused since no header names its revision

      Examples:
        | method          |
        | tools/list      |
        | server/discover |

    @MCP-13
    Scenario Outline: A call whose argument's header <fault>
      Given an MCP server over HTTP
      And a call whose argument's header <fault>
      When the client makes the call
      Then it is refused since headers and body do not agree

      Examples:
        | fault               |
        | is missing          |
        | says something else |
        | differs in case     |
        | is cut short        |
        | is longer           |
        | is empty            |

  Rule: Refusals have their HTTP status

    Scenario Outline: A request of "<method>" that is refused since <why>
      Given an MCP server over HTTP
      And a request of "<method>"
      And <fault>
      When the client sends the request
      Then it is refused since <why>

      Examples:
        | rule   | method                  | fault                                | why                       |
        | MCP-05 | tools/list              | its `_meta` lacks "protocolVersion"    | no revision is named      |
        | MCP-06 | tools/list              | its `_meta` lacks "clientCapabilities" | its `_meta` is incomplete |
        | MCP-07 | tools/list              | it is in the revision "2099-01-01"     | the revision is unknown   |
        | MCP-07 | server/discover         | it is in the revision "2099-01-01"     | the revision is unknown   |
        | MCP-07 | callmark/no-such-method | it is in the revision "2099-01-01"     | the revision is unknown   |
        | MCP-05 | server/discover         | its `_meta` lacks "protocolVersion"    | no revision is named      |
        | MCP-05 | tools/list              | it has no `_meta`                      | no revision is named      |
        | MCP-05 | server/discover         | it has no `_meta`                      | no revision is named      |
        | MCP-06 | server/discover         | its `_meta` lacks "clientCapabilities" | its `_meta` is incomplete |
        | MCP-07 | tools/list              | it is in the revision "2026-07-28-x"   | the revision is unknown   |
        | MCP-07 | tools/list              | it is in the revision "2026-01-01"     | the revision is unknown   |
        | MCP-07 | tools/list              | it is in the revision "1999-12-31"     | the revision is unknown   |
        | MCP-05 | tools/list              | its `_meta` has null as "protocolVersion"           | its `_meta` is malformed |
        | MCP-05 | tools/list              | its `_meta` has ["2026-07-28"] as "protocolVersion" | its `_meta` is malformed |
        | MCP-06 | tools/list              | its `_meta` has null as "clientCapabilities"        | its `_meta` is malformed |
        | MCP-06 | tools/list              | its `_meta` has true as "clientCapabilities"        | its `_meta` is malformed |
        | MCP-07 | tools/list              | it is in the revision "latest"         | the revision is unknown   |
        | MCP-07 | tools/list              | it is in the revision "2026-07-01"     | the revision is unknown   |

    @MCP-05
    Scenario: A call without `_meta`
      Given an MCP server over HTTP
      And a call of the echo probe
      And it has no `_meta`
      When the client makes the call
      Then it is refused since no revision is named

    @MCP-07
    Scenario: A call in a revision that MCP does not have
      Given an MCP server over HTTP
      And a call of the echo probe
      And it is in the revision "2099-01-01"
      When the client makes the call
      Then it is refused since the revision is unknown

    Scenario Outline: The refusal of a revision <property>
      Given an MCP server over HTTP
      And a request of "tools/list"
      And it is in the revision "2099-01-01"
      When the client sends the request
      Then the answer <property>

      Examples:
        | rule   | property                           |
        | MCP-08 | names the revisions that there are |
        | MCP-09 | names only revisions of MCP        |

    @MCP-08
    Scenario Outline: The refusal of "<method>" in a revision that MCP does not have names those that there are
      Given an MCP server over HTTP
      And a request of "<method>"
      And it is in the revision "2099-01-01"
      When the client sends the request
      Then the answer names the revisions that there are

      Examples:
        | method                  |
        | server/discover         |
        | callmark/no-such-method |

    @MCP-08
    Scenario: So does that of a call
      Given an MCP server over HTTP
      And a call of the echo probe
      And it is in the revision "2099-01-01"
      When the client makes the call
      Then the answer names the revisions that there are

    @MCP-07
    Scenario: A request in an earlier revision of MCP that the server does not name
      Given an MCP server over HTTP
      And a request of "server/discover"
      And the client has made the call
      And a request of "tools/list"
      And it is in the revision "2024-11-05"
      When the client sends the request
      Then it is refused unless the server has the revision

    @MCP-14
    Scenario: A method of nobody's
      Given an MCP server over HTTP
      And a request of "callmark/no-such-method"
      When the client sends the request
      Then it is refused since the method is unknown

    @MCP-14
    Scenario Outline: "<method>", which earlier revisions have
      Given an MCP server over HTTP
      And a request of "<method>"
      When the client sends the request
      Then it is refused since the method is unknown

      Examples:
        | method                |
        | ping                  |
        | logging/setLevel      |
        | resources/subscribe   |
        | resources/unsubscribe |

    @MCP-25
    Scenario: A call from a page of a foreign origin
      Given an MCP server over HTTP
      And a call of the echo probe
      And its header "Origin" is "http://callmark-origin.example"
      When the client makes the call
      Then it is answered with HTTP status 403

    @MCP-25
    Scenario Outline: A call from a page of <origin>, whose name begins like one of the server's own host
      Given an MCP server over HTTP
      And a call of the echo probe
      And its header "Origin" is "<origin>"
      When the client makes the call
      Then it is answered with HTTP status 403

      Examples:
        | origin                                   |
        | http://localhost.callmark-origin.example |
        | http://127.0.0.1.callmark-origin.example |

    @MCP-25
    Scenario: A call from a page whose host's name ends like one of the server's own host
      Given an MCP server over HTTP
      And a call of the echo probe
      And its header "Origin" is "http://callmark-localhost"
      When the client makes the call
      Then it is answered with HTTP status 403

    @MCP-25
    Scenario Outline: A request of "<method>" for a page of a foreign origin
      Given an MCP server over HTTP
      And a request of "<method>"
      And its header "Origin" is "http://callmark-origin.example"
      When the client sends the request
      Then it is answered with HTTP status 403

      Examples:
        | method          |
        | tools/list      |
        | server/discover |

  Rule: There are no sessions

    Scenario Outline: The answer to "<method>" names none
      Given an MCP server over HTTP
      And a request of "<method>"
      When the client sends the request
      Then the answer names no session

      Examples:
        | rule   | method                  |
        | MCP-15 | server/discover         |
        | MCP-15 | tools/list              |
        | MCP-15 | callmark/no-such-method |

    @MCP-15
    Scenario: Nor does the answer to a call
      Given an MCP server over HTTP
      And a call of the echo probe
      When the client makes the call
      Then the answer names no session

    @MCP-16
    Scenario: One that a call names is ignored
      Given an MCP server over HTTP
      And a call of the echo probe
      And its header "Mcp-Session-Id" is "callmark-no-such-session"
      When the client makes the call
      Then the call succeeds

    @MCP-16
    Scenario Outline: Nor is one that a request of "<method>" names regarded
      Given an MCP server over HTTP
      And a request of "<method>"
      And its header "Mcp-Session-Id" is "callmark-no-such-session"
      When the client sends the request
      Then the call succeeds

      Examples:
        | method          |
        | tools/list      |
        | server/discover |

    @MCP-17
    Scenario Outline: <method> is not served
      Given an MCP server over HTTP
      When the client sends <method> to the endpoint
      Then it is answered with HTTP status 405

      Examples:
        | method |
        | GET    |
        | DELETE |

  @MCP-25
  Rule: A foreign page that came over TLS is a foreign one

    Scenario: A call from a page of a foreign origin with "https"
      Given an MCP server over HTTP
      And a call of the echo probe
      And its header "Origin" is "https://callmark-origin.example:8443"
      When the client makes the call
      Then it is answered with HTTP status 403

    # The origin of a page in a sandbox, or of one that came from a file.
    Scenario: A call from a page that has no origin of its own
      Given an MCP server over HTTP
      And a call of the echo probe
      And its header "Origin" is "null"
      When the client makes the call
      Then it is answered with HTTP status 403

  @MCP-13
  Rule: Every argument that is marked is compared, and rightly

    Scenario: A call whose headers repeat its arguments is not refused for them
      Given an MCP server over HTTP
      When the client makes each call with an argument that a header repeats
      Then none is refused for its headers

    Scenario Outline: Each call with an argument whose header <fault>
      Given an MCP server over HTTP
      When the client makes each call with an argument whose header <fault>
      Then each is refused since headers and body do not agree

      Examples:
        | fault               |
        | is missing          |
        | says something else |
        | differs in case     |
        | is cut short        |
        | is longer           |
        | is empty            |

  @MCP-11
  Rule: A name in base64 is compared as what it stands for

    Scenario: A call whose header "Mcp-Name" has the base64 of another name
      Given an MCP server over HTTP
      And a call of the echo probe
      And its header "Mcp-Name" is "=?base64?Y2FsbG1hcmtfYW5vdGhlcl90b29s?="
      When the client makes the call
      Then it is refused since headers and body do not agree

    Scenario: A call of a tool that does not exist is not refused for the base64 of its name
      Given an MCP server over HTTP
      And a call of a tool that does not exist
      And its header "Mcp-Name" is "=?base64?Y2FsbG1hcmtfbm9fc3VjaF90b29s?="
      When the client makes the call
      Then none is refused for its headers

  @MCP-13
  Rule: An argument in base64 is compared as what it stands for

    Scenario: Each call with an argument whose header is in base64
      Given an MCP server over HTTP
      When the client makes each call with an argument whose header is in base64
      Then none is refused for its headers

  @MCP-11
  Rule: The name of every tool is compared

    Scenario Outline: A call of the <probe> probe whose header "Mcp-Name" names another tool
      Given an MCP server over HTTP
      And a call of the <probe> probe
      And its header "Mcp-Name" is "callmark_another_tool"
      When the client makes the call
      Then it is refused since headers and body do not agree

      @cap:probe.first-other
      Examples:
        | probe       |
        | first other |

      @cap:probe.second-other
      Examples: a third tool
        | probe        |
        | second other |

      @cap:probe.partial
      Examples: a result that calls for a follow-up
        | probe   |
        | partial |

      @cap:probe.state
      Examples: the state
        | probe |
        | state |

    Scenario Outline: A call of the <probe> probe without the header "Mcp-Name"
      Given an MCP server over HTTP
      And a call of the <probe> probe
      And it lacks the header "Mcp-Name"
      When the client makes the call
      Then it is refused since headers and body do not agree

      @cap:probe.first-other
      Examples:
        | probe       |
        | first other |

      @cap:probe.second-other
      Examples: a third tool
        | probe        |
        | second other |

    Scenario: A call whose header "Mcp-Name" is no base64, though it says so
      Given an MCP server over HTTP
      And a call of the echo probe
      And its header "Mcp-Name" is "=?base64?!!!!?="
      When the client makes the call
      Then it is refused since headers and body do not agree

  @MCP-14
  Rule: Nor is there a method that is like one, or is a client's

    Scenario Outline: "<method>"
      Given an MCP server over HTTP
      And a request of "<method>"
      When the client sends the request
      Then it is refused since the method is unknown

      Examples:
        | method                 |
        | tools/list/            |
        | roots/list             |
        | sampling/createMessage |
        | elicitation/create     |

  @MCP-25
  Rule: A page of a foreign origin may call no tool, and no program that shows pages is at home here

    Scenario Outline: A call of the <probe> probe from a page of a foreign origin
      Given an MCP server over HTTP
      And a call of the <probe> probe
      And its header "Origin" is "http://callmark-origin.example"
      When the client makes the call
      Then it is answered with HTTP status 403

      @cap:probe.first-other
      Examples:
        | probe       |
        | first other |

      @cap:probe.second-other
      Examples: a third tool
        | probe        |
        | second other |

      @cap:probe.state
      Examples: the state
        | probe |
        | state |

    Scenario Outline: A call from a page of <origin>
      Given an MCP server over HTTP
      And a call of the echo probe
      And its header "Origin" is "<origin>"
      When the client makes the call
      Then it is answered with HTTP status 403

      Examples:
        | origin                                              |
        | file://                                             |
        | chrome-extension://callmarkcallmarkcallmarkcallmark |
