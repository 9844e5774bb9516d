@role:toolbus.server
Feature: A caller may choose the response mode
  `ai` is the default and gives the envelope as strict JSON; `compact` is, for now, the same. The choice
  holds for one call.

  @BUS-32
  Rule: Every tool takes response_mode and none needs it

    Scenario Outline: The <probe> probe takes the mode "<mode>"
      Given an MCP server
      And a call of the <probe> probe
      When the client makes the call in "<mode>" mode
      Then the call succeeds

      Examples:
        | probe | mode    |
        | echo  | ai      |
        | echo  | compact |

      @cap:probe.first-other
      Examples: another tool
        | probe       | mode    |
        | first other | ai      |
        | first other | compact |

      @cap:probe.second-other
      Examples: a third tool
        | probe        | mode    |
        | second other | ai      |
        | second other | compact |

      @cap:probe.state
      Examples: the state
        | probe | mode    |
        | state | ai      |
        | state | compact |

      @cap:probe.partial
      Examples: a result that calls for a follow-up
        | probe   | mode    |
        | partial | ai      |
        | partial | compact |

      @cap:probe.third-other
      Examples: another action
        | probe       | mode    |
        | third other | ai      |
        | third other | compact |

      @cap:probe.break-glass
      Examples: the tool that may break the glass
        | probe       | mode    |
        | break-glass | ai      |
        | break-glass | compact |

      @cap:probe.large
      Examples: the tool of large results
        | probe | mode    |
        | large | ai      |
        | large | compact |

    Scenario Outline: The <probe> probe needs no mode
      Given an MCP server
      And a call of the <probe> probe
      When the client makes the call
      Then the call succeeds

      Examples:
        | probe |
        | echo  |

      @cap:probe.first-other
      Examples: another tool
        | probe       |
        | first other |

  Rule: Both modes give the envelope as strict JSON

    Scenario Outline: The response in "<mode>" mode <property>
      Given an MCP server
      And a call of the echo probe
      When the client makes the call in "<mode>" mode
      Then the response <property>

      Examples:
        | rule   | mode    | property            |
        | BUS-33 | ai      | is strict JSON      |
        | BUS-34 | compact | is strict JSON      |
        | BUS-34 | compact | has the stable keys |

    @BUS-34
    Scenario: The mode "compact" changes no value
      Given an MCP server
      And a call of the echo probe with {"alpha": [1, {"beta": "x"}], "gamma": 1}
      When the client makes the call in "compact" mode
      Then the result is still the value

    @BUS-34
    Scenario: The mode "compact" shapes as the other does
      Given an MCP server
      And a call of the echo probe with {"alpha": 0, "gamma": 1}
      And the output is {"pick": ["gamma"]}
      When the client makes the call in "compact" mode
      Then the result is {"gamma": 1}

    @BUS-34 @cap:probe.first-other
    Scenario: The mode "compact" is strict JSON for another tool
      Given an MCP server
      And a call of the first other probe
      When the client makes the call in "compact" mode
      Then the response is strict JSON

  @BUS-35
  Rule: The default is ai

    Scenario: A call without a mode gives what a call in ai mode gives
      Given an MCP server
      And a call of the echo probe
      And the client has made the call
      When the client makes the call in "ai" mode
      Then the envelopes are alike

  @BUS-36
  Rule: compact is for now the same as ai

    Scenario: A call in compact mode leaves nothing out
      Given an MCP server
      And a call of the echo probe
      And the client has made the call
      When the client makes the call in "compact" mode
      Then the second envelope is not trimmed

  @BUS-37
  Rule: The mode holds for one call

    Scenario: The mode of one call is not that of the next
      Given an MCP server of its own
      And a call of the echo probe
      And the client has made the call
      When the client makes the call in "compact" mode and then without a mode
      Then the envelopes are alike

  @BUS-38
  Rule: An unknown mode never gives another form of text

    Scenario: The mode "xml" is refused or ignored
      Given an MCP server
      And a call of the echo probe
      When the client makes the call in "xml" mode
      Then the answer is an error or strict JSON

    # The contract lists two modes, so one that servers for people have is as unknown as any other.
    Scenario: The mode "markdown" is refused or ignored
      Given an MCP server
      And a call of the echo probe
      When the client makes the call in "markdown" mode
      Then the answer is an error or strict JSON

  # What is stored is the whole result, whatever the answer shows of it.
  @BUS-36 @cap:probe.state
  Rule: compact leaves the results of no tool out

    Scenario Outline: The <probe> probe gives in compact mode what it stores
      Given an MCP server
      And a call of the <probe> probe
      And the result is stored under "key-9"
      When the client makes the call in "compact" mode
      Then the state holds the result under "key-9"

      @cap:probe.first-other
      Examples:
        | probe       |
        | first other |

      @cap:probe.second-other
      Examples: a third tool
        | probe        |
        | second other |

  Rule: compact gives each value as it is, and shapes as ai does

    @BUS-34
    Scenario Outline: In the mode "compact" <value> is still the value
      Given an MCP server
      And a call of the echo probe with <value>
      When the client makes the call in "compact" mode
      Then the result is still the value

      Examples:
        | value                                                              |
        | {"text": "a text of more than forty letters, all of which stay"}   |
        | {"list": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], "other": 1}      |
        | {"deep": {"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}}, "other": 1}  |
        | {"yes": true, "no": false, "zero": 0, "half": 0.5}                 |

    # Trimming is reserved, so that it may leave out what is empty one day.
    @BUS-36
    Scenario Outline: In the mode "compact" nothing is left out of <value>
      Given an MCP server
      And a call of the echo probe with <value>
      And the client has made the call
      When the client makes the call in "compact" mode
      Then the second envelope is not trimmed

      Examples:
        | value                                              |
        | {"none": null, "other": 1}                         |
        | {"text": "", "list": [], "object": {}, "other": 1} |

    Scenario Outline: In the mode "compact" <output> over <value> gives <result>
      Given an MCP server
      And a call of the echo probe with <value>
      And the output is <output>
      When the client makes the call in "compact" mode
      Then the result is <result>

      Examples:
        | rule   | value                                | output                                    | result       |
        | BUS-34 | {"alpha": 0, "gamma": 1}             | {"omit": ["alpha"]}                       | {"gamma": 1} |
        | BUS-34 | {"alpha": {"beta": 5}, "gamma": 1}   | {"path": "alpha"}                         | {"beta": 5}  |
        | BUS-36 | {"rows": [{"id": 1, "x": 2}], "x": 4} | {"path": "rows", "map": {"pick": ["id"]}} | [{"id": 1}]  |
