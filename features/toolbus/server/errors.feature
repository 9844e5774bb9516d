@role:toolbus.server
Feature: A failure is an MCP error
  A tool that cannot do its work answers with an error and never with an envelope. A JSON-RPC error is what
  the contract's examples name; a result with `isError` is taken with a warning.

  @BUS-69
  Rule: A failed call is answered by an MCP error

    Scenario: A tool that does not exist
      Given an MCP server of its own
      And a call of a tool that does not exist
      When the client makes the call
      Then the call is answered by an MCP error

    Scenario Outline: A call of the <probe> probe
      Given an MCP server of its own
      And a call of the <probe> probe
      When the client makes the call
      Then the call is answered by an MCP error

      @cap:probe.invalid
      Examples:
        | probe   |
        | invalid |

      @cap:probe.fail
      Examples: at run time
        | probe |
        | fail  |

    Scenario Outline: A call of the <probe> probe in the mode "compact"
      Given an MCP server of its own
      And a call of the <probe> probe
      When the client makes the call in "compact" mode
      Then the call is answered by an MCP error

      @cap:probe.invalid
      Examples:
        | probe   |
        | invalid |

      @cap:probe.fail
      Examples: at run time
        | probe |
        | fail  |

    Scenario Outline: A call of the <probe> probe whose result would be shaped
      Given an MCP server of its own
      And a call of the <probe> probe
      And the output is {"pick": ["alpha"]}
      When the client makes the call
      Then the call is answered by an MCP error

      @cap:probe.invalid
      Examples:
        | probe   |
        | invalid |

      @cap:probe.fail
      Examples: at run time
        | probe |
        | fail  |

    Scenario Outline: A call of the <probe> probe with correlation ids
      Given an MCP server of its own
      And a call of the <probe> probe
      And its correlation ids
      When the client makes the call
      Then the call is answered by an MCP error

      @cap:probe.invalid
      Examples:
        | probe   |
        | invalid |

      @cap:probe.fail
      Examples: at run time
        | probe |
        | fail  |

    Scenario Outline: A call of the <probe> probe whose result would be stored
      Given an MCP server of its own
      And a call of the <probe> probe
      And the result is stored under "key-6"
      When the client makes the call
      Then the call is answered by an MCP error

      @cap:probe.invalid
      Examples:
        | probe   |
        | invalid |

      @cap:probe.fail
      Examples: at run time
        | probe |
        | fail  |

    Scenario Outline: The same call of the <probe> probe once more
      Given an MCP server of its own
      And a call of the <probe> probe
      When the client makes the call twice
      Then the call is answered by an MCP error

      @cap:probe.invalid
      Examples:
        | probe   |
        | invalid |

      @cap:probe.fail
      Examples: at run time
        | probe |
        | fail  |

  Rule: The error names the kind of failure

    @BUS-70 @cap:probe.invalid
    Scenario: Invalid arguments are invalid params
      Given an MCP server of its own
      And a call of the invalid probe
      When the client makes the call
      Then the error says that the params are invalid

    @BUS-70 @cap:root.none @cap:probe.invalid
    Scenario: So they are without a context root
      Given an MCP server without a context root
      And a call of the invalid probe
      When the client makes the call
      Then the error says that the params are invalid

    @BUS-71 @cap:probe.fail
    Scenario: A failure at run time is not
      Given an MCP server of its own
      And a call of the fail probe
      When the client makes the call
      Then the error does not say that the params are invalid

    @BUS-72
    Scenario: The error of an unknown tool has a message
      Given an MCP server of its own
      And a call of a tool that does not exist
      When the client makes the call
      Then the error has a message

    @BUS-72
    Scenario Outline: The error of the <probe> probe has a message
      Given an MCP server of its own
      And a call of the <probe> probe
      When the client makes the call
      Then the error has a message

      @cap:probe.invalid
      Examples:
        | probe   |
        | invalid |

      @cap:probe.fail
      Examples: at run time
        | probe |
        | fail  |

  @BUS-73
  Rule: A failure does not stop the server

    Scenario: After a call of an unknown tool
      Given an MCP server of its own
      And a call of a tool that does not exist
      When the client makes the call and then an echo call
      Then the echo call succeeds

    Scenario Outline: After a call of the <probe> probe
      Given an MCP server of its own
      And a call of the <probe> probe
      When the client makes the call and then an echo call
      Then the echo call succeeds

      @cap:probe.invalid
      Examples:
        | probe   |
        | invalid |

      @cap:probe.fail
      Examples: at run time
        | probe |
        | fail  |

    Scenario Outline: After two calls of the <probe> probe
      Given an MCP server of its own
      And a call of the <probe> probe
      And the client has made the call
      When the client makes the call and then an echo call
      Then the echo call succeeds

      @cap:probe.invalid
      Examples:
        | probe   |
        | invalid |

      @cap:probe.fail
      Examples: at run time
        | probe |
        | fail  |

    # Workers that each failure costs are few.
    Scenario Outline: After many calls of the <probe> probe
      Given an MCP server of its own
      And a call of the <probe> probe
      When the client makes the call up to 40 times, and then an echo call
      Then the echo call succeeds

      @cap:probe.invalid
      Examples:
        | probe   |
        | invalid |

      @cap:probe.fail
      Examples: at run time
        | probe |
        | fail  |

    @cap:root.none @cap:probe.fail
    Scenario: After a call that fails where there is no context root
      Given an MCP server without a context root
      And a call of the fail probe
      When the client makes the call and then an echo call
      Then the echo call succeeds

    # A client may give a call up while its error is on the way.
    Scenario: After a call that failed and is cancelled too late
      Given an MCP server of its own
      And a call of a tool that does not exist
      When the client makes the call, sends a cancellation of it, and then makes an echo call
      Then the echo call succeeds

    @level:should
    Scenario: After a line that is no JSON
      Given an MCP server of its own
      And a call of a tool that does not exist
      When the client makes the call, sends a line that is no JSON, and then makes an echo call
      Then the echo call succeeds

    Scenario Outline: After a call whose arguments are <arguments>
      Given an MCP server of its own
      And a call of the echo probe
      And its arguments are <arguments>
      When the client makes the call and then an echo call
      Then the echo call succeeds

      Examples:
        | arguments |
        | [1]       |
        | "x"       |
        | 5         |
        | true      |

  @cap:probe.partial
  Rule: A result that calls for a follow-up says what comes next

    @BUS-74
    Scenario: The envelope names the next step
      Given an MCP server
      And a call of the partial probe
      When the client makes the call
      Then the envelope says what comes next

    @BUS-75
    Scenario: The hint has the same form each time
      Given an MCP server
      And a call of the partial probe
      When the client makes the call twice
      Then both envelopes say it in the same form

  @BUS-76
  Rule: An error shows no secret

    Scenario Outline: A secret under "<key>" among the arguments of the <probe> probe is not repeated
      Given an MCP server of its own
      And a call of the <probe> probe
      And a secret under "<key>" among its arguments
      When the client makes the call
      Then no secret is in the error

      @cap:probe.invalid
      Examples:
        | probe   | key      |
        | invalid | password |
        | invalid | api_key  |

      @cap:probe.fail
      Examples: at run time
        | probe | key      |
        | fail  | password |

    Scenario: A secret among the arguments of a tool that does not exist is not repeated
      Given an MCP server of its own
      And a call of a tool that does not exist
      And a secret under "password" among its arguments
      When the client makes the call
      Then no secret is in the error

  @BUS-70
  Rule: An argument that is missing is no failure of the tool

    Scenario: A call without an argument that its tool requires
      Given an MCP server of its own
      When the client makes a call without an argument that its tool requires
      Then the error says that the argument is missing

  @BUS-76
  Rule: An error about output shows no secret of the result

    Scenario Outline: <output>, which fits nothing, shows no secret
      Given an MCP server
      And a call of the echo probe with a secret under "password"
      And the output is <output>
      When the client makes the call
      Then no secret is in the answer

      Examples:
        | output                                     |
        | {"path": "missing"}                        |
        | {"path": "password.deeper"}                |
        | {"path": "user", "map": {"pick": ["x"]}}   |

  @BUS-70 @cap:probe.invalid
  Rule: Invalid arguments are invalid params, whatever else the call asks for

    Scenario: With correlation ids
      Given an MCP server of its own
      And a call of the invalid probe
      And its correlation ids
      When the client makes the call
      Then the error says that the params are invalid

    Scenario: With a shape for the result
      Given an MCP server of its own
      And a call of the invalid probe
      And the output is {"pick": ["alpha"]}
      When the client makes the call
      Then the error says that the params are invalid

    Scenario: With a key for the result
      Given an MCP server of its own
      And a call of the invalid probe
      And the result is stored under "key-6"
      When the client makes the call
      Then the error says that the params are invalid

    Scenario: In the mode "compact"
      Given an MCP server of its own
      And a call of the invalid probe
      When the client makes the call in "compact" mode
      Then the error says that the params are invalid

    Scenario: A second time
      Given an MCP server of its own
      And a call of the invalid probe
      When the client makes the call twice
      Then the error says that the params are invalid

  # What a caller gets wrong is no failure of the tool, so that nothing may switch it off for that.
  @BUS-73 @cap:probe.invalid
  Rule: Calls that are refused do not stop a tool

    Scenario Outline: After several refused calls one of the <probe> probe succeeds
      Given an MCP server of its own
      And a call of the invalid probe
      And the client has made the call
      And the client has made the call
      And the client has made the call
      And the client has made the call
      And the client has made the call
      And a call of the <probe> probe
      When the client makes the call
      Then the call succeeds

      @cap:probe.first-other
      Examples:
        | probe       |
        | first other |

      @cap:probe.third-other
      Examples: another action
        | probe       |
        | third other |
