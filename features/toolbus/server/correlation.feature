@role:toolbus.server
Feature: Correlation ids pass through every call
  A caller may name a trace, a span and a parent span. Every tool takes them, none needs them, and those
  that were given come back in the envelope.

  Rule: Every tool takes the correlation ids

    Scenario Outline: The <probe> probe takes "<argument>"
      Given an MCP server
      And a call of the <probe> probe
      And the argument "<argument>" is "id-01"
      When the client makes the call
      Then the call succeeds

      Examples:
        | rule   | argument       | probe |
        | BUS-04 | trace_id       | echo  |
        | BUS-05 | span_id        | echo  |
        | BUS-06 | parent_span_id | echo  |

      @cap:probe.first-other
      Examples: another tool
        | rule   | argument       | probe       |
        | BUS-04 | trace_id       | first other |
        | BUS-05 | span_id        | first other |
        | BUS-06 | parent_span_id | first other |

      @cap:probe.second-other
      Examples: a third tool
        | rule   | argument       | probe        |
        | BUS-04 | trace_id       | second other |
        | BUS-05 | span_id        | second other |
        | BUS-06 | parent_span_id | second other |

      @cap:probe.state
      Examples: the state
        | rule   | argument       | probe |
        | BUS-04 | trace_id       | state |
        | BUS-05 | span_id        | state |
        | BUS-06 | parent_span_id | state |

      @cap:probe.third-other
      Examples: another action
        | rule   | argument       | probe       |
        | BUS-04 | trace_id       | third other |
        | BUS-05 | span_id        | third other |
        | BUS-06 | parent_span_id | third other |

      @cap:probe.partial
      Examples: a result that calls for a follow-up
        | rule   | argument       | probe   |
        | BUS-04 | trace_id       | partial |
        | BUS-05 | span_id        | partial |
        | BUS-06 | parent_span_id | partial |

      @cap:probe.large
      Examples: the tool of large results
        | rule   | argument       | probe |
        | BUS-04 | trace_id       | large |
        | BUS-05 | span_id        | large |
        | BUS-06 | parent_span_id | large |

      @cap:probe.break-glass
      Examples: the tool that may break the glass
        | rule   | argument       | probe       |
        | BUS-04 | trace_id       | break-glass |
        | BUS-05 | span_id        | break-glass |
        | BUS-06 | parent_span_id | break-glass |

  Rule: The ids of a call come back in its trace

    Scenario Outline: "<argument>" comes back
      Given an MCP server
      And a call of the echo probe
      And its correlation ids
      When the client makes the call
      Then the trace has the call's "<argument>"

      Examples:
        | rule   | argument       |
        | BUS-07 | trace_id       |
        | BUS-08 | span_id        |
        | BUS-09 | parent_span_id |

    Scenario Outline: "<argument>" comes back when it is given alone
      Given an MCP server
      And a call of the echo probe
      And the argument "<argument>" is "Id-02-A"
      When the client makes the call
      Then the trace has the call's "<argument>"

      Examples:
        | rule   | argument       |
        | BUS-07 | trace_id       |
        | BUS-08 | span_id        |
        | BUS-09 | parent_span_id |

    Scenario Outline: "<argument>" comes back from the <probe> probe
      Given an MCP server
      And a call of the <probe> probe
      And its correlation ids
      When the client makes the call
      Then the trace has the call's "<argument>"

      @cap:probe.first-other
      Examples: another tool
        | rule   | argument       | probe       |
        | BUS-07 | trace_id       | first other |
        | BUS-08 | span_id        | first other |
        | BUS-09 | parent_span_id | first other |

      @cap:probe.second-other
      Examples: a third tool
        | rule   | argument       | probe        |
        | BUS-07 | trace_id       | second other |
        | BUS-08 | span_id        | second other |
        | BUS-09 | parent_span_id | second other |

      @cap:probe.state
      Examples: the state
        | rule   | argument       | probe |
        | BUS-07 | trace_id       | state |
        | BUS-08 | span_id        | state |
        | BUS-09 | parent_span_id | state |

  @BUS-10
  Rule: The correlation ids are optional

    Scenario: A call without ids succeeds and has a trace
      Given an MCP server
      And a call of the echo probe
      When the client makes the call
      Then the response has its trace

    @cap:probe.first-other
    Scenario: So does a call of another tool
      Given an MCP server
      And a call of the first other probe
      When the client makes the call
      Then the response has its trace

    Scenario: So does a call that has no arguments at all
      Given an MCP server
      And a call without arguments
      When the client makes the call
      Then the response has its trace

  @BUS-11 @cap:root
  Rule: Calls without ids are distinguished

    Scenario: Two calls without ids have different artifacts
      Given an MCP server
      And a call of the echo probe
      When the client makes the call twice
      Then the calls have different artifacts

  Rule: What an id looks like, and what another call was given, changes nothing

    Scenario Outline: "<argument>" comes back, however long it is
      Given an MCP server
      And a call of the echo probe
      And the argument "<argument>" is "id-of-a-name-as-long-as-a-uuid-is-02"
      When the client makes the call
      Then the trace has the call's "<argument>"

      Examples:
        | rule   | argument       |
        | BUS-07 | trace_id       |
        | BUS-09 | parent_span_id |

    @BUS-11 @cap:root
    Scenario: A call without ids does not get those of the call before
      Given an MCP server of its own
      And a call of the echo probe
      And its correlation ids
      And the client has made the call
      And a call of the echo probe
      When the client makes the call
      Then the calls have different artifacts

    @BUS-11 @cap:root
    Scenario: Two calls of one trace that name no span have different artifacts
      Given an MCP server
      And a call of the echo probe
      And the argument "trace_id" is "tr-03"
      When the client makes the call twice
      Then the calls have different artifacts

    # Processes that each count from one give the same ids.
    @BUS-11 @cap:root @cap:replicas
    Scenario: Calls without ids at two replicas have different artifacts
      Given an MCP server of its own with replicas
      And a call of the echo probe
      And the client has made the call
      When the client makes the call at another replica
      Then the calls have different artifacts

    # Ids that are made of the time alone are the same for calls of one moment.
    @BUS-11 @cap:root
    Scenario: Calls without ids that are made at once have different artifacts
      Given an MCP server
      And a call of the echo probe with {"note": "of one moment"}
      When the client makes the call a dozen times at once
      Then the calls have different artifacts

  Rule: An id comes back as it was written, whatever it looks like

    Scenario Outline: "<id>" comes back as "<argument>"
      Given an MCP server
      And a call of the echo probe
      And the argument "<argument>" is "<id>"
      When the client makes the call
      Then the trace has the call's "<argument>"

      Examples: digits
        | rule   | argument       | id   |
        | BUS-07 | trace_id       | 0042 |
        | BUS-08 | span_id        | 42   |
        | BUS-09 | parent_span_id | 42   |

      Examples: UUIDs
        | rule   | argument       | id                                   |
        | BUS-07 | trace_id       | 4BF92F35-77B3-4DA6-A3CE-929D0E0E4736 |
        | BUS-08 | span_id        | 4bf92f3577b34da6a3ce929d0e0e4736     |
        | BUS-09 | parent_span_id | 4bf92f35-77b3-4da6-a3ce-929d0e0e4736 |

    # Whether a server takes an id as long as this is its own business; one that takes it gives it back.
    Scenario Outline: One of more than a hundred letters comes back as "<argument>", where the server takes it
      Given an MCP server
      And a call of the echo probe
      And the argument "<argument>" is "<id>"
      When the client makes the call
      Then the trace has the call's "<argument>", where the server takes it

      Examples:
        | rule   | argument | id                                                                                                           |
        | BUS-07 | trace_id | tr-of-a-name-that-is-as-long-as-a-path-of-several-services-each-of-which-has-added-its-own-name-to-it-is-05 |
        | BUS-08 | span_id  | sp-of-a-name-that-is-as-long-as-a-path-of-several-services-each-of-which-has-added-its-own-name-to-it-is-05 |

    Scenario Outline: An id <of what> comes back as "<argument>", where the server takes it
      Given an MCP server
      And a call of the echo probe
      And the argument "<argument>" is "<id>"
      When the client makes the call
      Then the trace has the call's "<argument>", where the server takes it

      Examples:
        | rule   | argument       | id                | of what               |
        | BUS-07 | trace_id       | depot:tr-07       | with a colon          |
        | BUS-08 | span_id        | depot:sp-07       | with a colon          |
        | BUS-09 | parent_span_id | depot:sp-06       | with a colon          |
        | BUS-07 | trace_id       | depot.v2.tr-07    | with dots             |
        | BUS-08 | span_id        | depot.v2.sp-07    | with dots             |
        | BUS-09 | parent_span_id | depot.v2.sp-06    | with dots             |
        | BUS-07 | trace_id       | трасса-水-07      | in letters of the world |
        | BUS-08 | span_id        | ślad-水-07        | in letters of the world |

  Rule: An id comes back whatever the others are, and whether or not there are others

    @BUS-08
    Scenario: A span that has the id of its trace comes back
      Given an MCP server
      And a call of the echo probe
      And the argument "trace_id" is "id-07"
      And the argument "span_id" is "id-07"
      When the client makes the call
      Then the trace has the call's "span_id"

    Scenario Outline: "<argument>" comes back beside "<other>" alone
      Given an MCP server
      And a call of the echo probe
      And the argument "<argument>" is "id-08"
      And the argument "<other>" is "id-09"
      When the client makes the call
      Then the trace has the call's "<argument>"

      Examples:
        | rule   | argument       | other          |
        | BUS-07 | trace_id       | span_id        |
        | BUS-07 | trace_id       | parent_span_id |
        | BUS-08 | span_id        | trace_id       |
        | BUS-08 | span_id        | parent_span_id |
        | BUS-09 | parent_span_id | trace_id       |
        | BUS-09 | parent_span_id | span_id        |
