@role:toolbus.server
@since:2026-07-28
Feature: Every request of MCP stands for itself
  Since its revision 2026-07-28, MCP has no handshake and no sessions: each request says which revision it is in and what
  its client can do, and each answer says whether it is complete.

  Rule: A server says what it is and has

    @MCP-02
    Scenario: It answers to be discovered
      Given an MCP server
      And a request of "server/discover"
      When the client sends the request
      Then the answer says what the server is and has

    Scenario Outline: What "<method>" gives <property>
      Given an MCP server
      And a request of "<method>"
      When the client sends the request
      Then the answer <property>

      Examples:
        | rule   | method          | property                     |
        | MCP-01 | server/discover | says whether it is complete  |
        | MCP-01 | tools/list      | says whether it is complete  |
        | MCP-03 | server/discover | says how long it holds       |
        | MCP-03 | tools/list      | says how long it holds       |
        | MCP-04 | server/discover | says who may share it        |
        | MCP-04 | tools/list      | says who may share it        |
        | MCP-09 | server/discover | names only revisions of MCP  |
        | MCP-26 | server/discover | names the server that made it |

    Scenario Outline: Every page of the list of tools <property>
      Given an MCP server
      And a request of "tools/list"
      When the client sends the request and reads on to the last page
      Then every page <property>

      Examples:
        | rule   | property                    |
        | MCP-01 | says whether it is complete |
        | MCP-03 | says how long it holds      |
        | MCP-04 | says who may share it       |

    @MCP-26
    Scenario: The result of a call names the server, too
      Given an MCP server
      And a call of the echo probe
      When the client makes the call
      Then the answer names the server that made it

  Rule: A result says whether the request is complete

    @MCP-01
    Scenario: A call that succeeds
      Given an MCP server
      And a call of the echo probe
      When the client makes the call
      Then the answer says whether it is complete

  Rule: A request without what each must say is refused

    @MCP-05
    Scenario Outline: A request of "<method>" that names no revision
      Given an MCP server of its own
      And a request of "<method>"
      And its `_meta` lacks "protocolVersion"
      When the client sends the request
      Then it is refused since no revision is named

      Examples:
        | method          |
        | tools/list      |
        | server/discover |

    @MCP-05
    Scenario: A call that names no revision
      Given an MCP server of its own
      And a call of the echo probe
      And its `_meta` lacks "protocolVersion"
      When the client makes the call
      Then it is refused since no revision is named

    @MCP-06
    Scenario: A request that does not say what the client can do
      Given an MCP server of its own
      And a request of "tools/list"
      And its `_meta` lacks "clientCapabilities"
      When the client sends the request
      Then it is refused since its `_meta` is incomplete

    @MCP-06
    Scenario: A request of "server/discover" that does not say what the client can do
      Given an MCP server of its own
      And a request of "server/discover"
      And its `_meta` lacks "clientCapabilities"
      When the client sends the request
      Then it is refused since its `_meta` is incomplete

    @MCP-06
    Scenario: A call that does not say what the client can do
      Given an MCP server of its own
      And a call of the echo probe
      And its `_meta` lacks "clientCapabilities"
      When the client makes the call
      Then it is refused since its `_meta` is incomplete

    @MCP-05
    Scenario Outline: A request that has <value> as its revision
      Given an MCP server of its own
      And a request of "tools/list"
      And its `_meta` has <value> as "protocolVersion"
      When the client sends the request
      Then it is refused since its `_meta` is malformed

      Examples:
        | value          |
        | null           |
        | 20260728       |
        | ["2026-07-28"] |

    @MCP-05
    Scenario: A call that has null as its revision
      Given an MCP server of its own
      And a call of the echo probe
      And its `_meta` has null as "protocolVersion"
      When the client makes the call
      Then it is refused since its `_meta` is malformed

    @MCP-06
    Scenario Outline: A request whose client can do <value>
      Given an MCP server of its own
      And a request of "tools/list"
      And its `_meta` has <value> as "clientCapabilities"
      When the client sends the request
      Then it is refused since its `_meta` is malformed

      Examples:
        | value |
        | null  |

      @level:should
      Examples: something else than an object
        | value  |
        | true   |
        | "none" |
        | []     |

    @MCP-06
    Scenario: A call whose client can do null
      Given an MCP server of its own
      And a call of the echo probe
      And its `_meta` has null as "clientCapabilities"
      When the client makes the call
      Then it is refused since its `_meta` is malformed

  # A server may keep the revision of a process that its first request was in, so each is sent to one of its own.
  @cap:stdio
  Rule: A revision that there is not is refused

    @MCP-07
    Scenario Outline: A request of "<method>" in a revision that MCP does not have
      Given an MCP server over standard input and output that was asked nothing yet
      And a request of "<method>"
      And it is in the revision "2099-01-01"
      When the client sends the request
      Then it is refused since the revision is unknown

      Examples:
        | method                  |
        | tools/list              |
        | server/discover         |
        | callmark/no-such-method |

    @MCP-07
    Scenario: A call in a revision that MCP does not have
      Given an MCP server over standard input and output that was asked nothing yet
      And a call of the echo probe
      And it is in the revision "2099-01-01"
      When the client makes the call
      Then it is refused since the revision is unknown

    @MCP-07
    Scenario Outline: A request in "<revision>", which is like a revision of MCP and is none
      Given an MCP server over standard input and output that was asked nothing yet
      And a request of "tools/list"
      And it is in the revision "<revision>"
      When the client sends the request
      Then it is refused since the revision is unknown

      Examples:
        | revision     |
        | 2026-07-28-x |
        | 2026-01-01   |
        | 1999-12-31   |
        | latest       |
        | 2026-07-01   |

    @MCP-07 @cap:probe.invalid
    Scenario: A call with invalid arguments in a revision that MCP does not have
      Given an MCP server over standard input and output that was asked nothing yet
      And a call of the invalid probe
      And it is in the revision "2099-01-01"
      When the client makes the call
      Then it is refused since the revision is unknown

    @MCP-07
    Scenario Outline: A request in "<revision>", an earlier revision of MCP that the server does not name
      Given an MCP server over standard input and output that was asked nothing yet
      And a request of "server/discover"
      And the client has made the call
      And a request of "tools/list"
      And it is in the revision "<revision>"
      When the client sends the request
      Then it is refused unless the server has the revision

      Examples:
        | revision   |
        | 2024-11-05 |
        | 2025-11-25 |

    Scenario Outline: The refusal <property>
      Given an MCP server over standard input and output that was asked nothing yet
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
      Given an MCP server over standard input and output that was asked nothing yet
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
      Given an MCP server over standard input and output that was asked nothing yet
      And a call of the echo probe
      And it is in the revision "2099-01-01"
      When the client makes the call
      Then the answer names the revisions that there are

  @MCP-14
  Rule: A method that there is not is refused

    Scenario: A method of nobody's
      Given an MCP server of its own
      And a request of "callmark/no-such-method"
      When the client sends the request
      Then it is refused since the method is unknown

    Scenario Outline: "<method>", which is like a method of MCP and is none
      Given an MCP server of its own
      And a request of "<method>"
      When the client sends the request
      Then it is refused since the method is unknown

      Examples:
        | method      |
        | Tools/List  |
        | tools/lists |
        | tools       |
        | tools/list/ |

    Scenario Outline: "<method>", which a client has
      Given an MCP server of its own
      And a request of "<method>"
      When the client sends the request
      Then it is refused since the method is unknown

      Examples:
        | method                 |
        | roots/list             |
        | sampling/createMessage |
        | elicitation/create     |

    Scenario Outline: "<method>", which earlier revisions have
      Given an MCP server of its own
      And a request of "<method>"
      When the client sends the request
      Then it is refused since the method is unknown

      Examples:
        | method                |
        | ping                  |
        | logging/setLevel      |
        | resources/subscribe   |
        | resources/unsubscribe |

  Rule: A server remembers nothing of its client

    @MCP-18 @cap:stdio
    Scenario: The first request of a process is a call
      Given an MCP server over standard input and output that was asked nothing yet
      And a call of the echo probe
      When the client makes the call
      Then the call succeeds

    @MCP-18 @cap:stdio
    Scenario Outline: The first request of a process is a call of the <probe> probe
      Given an MCP server over standard input and output that was asked nothing yet
      And a call of the <probe> probe
      When the client makes the call
      Then the call succeeds

      @cap:probe.first-other
      Examples:
        | probe       |
        | first other |

      @cap:probe.second-other
      Examples: a further tool
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

      @cap:probe.break-glass
      Examples: a tool with a break-glass flag
        | probe       |
        | break-glass |

    @MCP-18 @cap:stdio @cap:probe.large
    Scenario: The first request of a process is a call of the large probe
      Given an MCP server over standard input and output that was asked nothing yet
      And a call of the large probe for 4 KiB
      When the client makes the call
      Then the call succeeds

    @MCP-18 @cap:http @cap:started.http
    Scenario: The first request to an endpoint is a call
      Given an MCP server over HTTP that was asked nothing yet
      And a call of the echo probe
      When the client makes the call
      Then the call succeeds

    @MCP-19
    Scenario: A call does not change the list of tools
      Given an MCP server
      And a request of "tools/list"
      When the client sends the request, makes an echo call, and sends the request again
      Then both lists hold the same tools

    @MCP-19
    Scenario Outline: Nor does a call of the <probe> probe
      Given an MCP server of its own
      And a request of "tools/list"
      And the client has made the call
      And a call of the <probe> probe
      And the client has made the call
      And a request of "tools/list"
      When the client sends the request
      Then both lists hold the same tools

      @cap:probe.first-other
      Examples:
        | probe       |
        | first other |

      @cap:probe.second-other
      Examples: a further tool
        | probe        |
        | second other |

      @cap:probe.invalid
      Examples: invalid arguments
        | probe   |
        | invalid |

      @cap:probe.fail
      Examples: a call that fails at run time
        | probe |
        | fail  |

      @cap:probe.state
      Examples: the state
        | probe |
        | state |

      @cap:probe.large
      Examples: the tool of large results
        | probe |
        | large |

      @cap:probe.partial
      Examples: a result that calls for a follow-up
        | probe   |
        | partial |

    @MCP-19
    Scenario: Nor does a call that stores its result
      Given an MCP server of its own
      And a request of "tools/list"
      And the client has made the call
      And a call of the echo probe
      And the result is stored under "key-9"
      And the client has made the call
      And a request of "tools/list"
      When the client sends the request
      Then both lists hold the same tools

  Rule: What an earlier request said holds for no later one

    @MCP-05
    Scenario Outline: A request of "<method>" that names no revision, after one that did
      Given an MCP server of its own
      And a request of "tools/list"
      And the client has made the call
      And a request of "<method>"
      And its `_meta` lacks "protocolVersion"
      When the client sends the request
      Then it is refused since no revision is named

      Examples:
        | method          |
        | tools/list      |
        | server/discover |

    @MCP-05
    Scenario: A call that names no revision, after one that did
      Given an MCP server of its own
      And a call of the echo probe
      And the client has made the call
      And its `_meta` lacks "protocolVersion"
      When the client makes the call
      Then it is refused since no revision is named

    @MCP-06
    Scenario: A call that does not say what the client can do, after one that did
      Given an MCP server of its own
      And a call of the echo probe
      And the client has made the call
      And its `_meta` lacks "clientCapabilities"
      When the client makes the call
      Then it is refused since its `_meta` is incomplete

    @MCP-21
    Scenario: A call that asks for no log messages, after one that did
      Given an MCP server of its own
      And a call of the echo probe
      And its `_meta` has "debug" as "logLevel"
      And the client has made the call
      And a call of the echo probe
      When the client makes the call
      Then the answer came without log messages

  # MCP asks a client to say who it is and does not demand it, and lets a request say more than it has to.
  @BUS-01
  Rule: A call need not say who its client is, and may ask for more

    Scenario: A call that does not say who its client is
      Given an MCP server
      And a call of the echo probe
      And its `_meta` lacks "clientInfo"
      When the client makes the call
      Then the call succeeds

    Scenario: A call that asks for log messages
      Given an MCP server
      And a call of the echo probe
      And its `_meta` has "error" as "logLevel"
      When the client makes the call
      Then the call succeeds
