@role:toolbus.server
Feature: Standard output belongs to MCP
  A server that is reached over standard input and output writes its messages there, each on a line, and nothing else: what it
  prints for people is taken for a message by its client. It has standard error for that.

  @MCP-27 @cap:stdio
  Rule: Standard output is for messages

    Scenario Outline: A server that is asked <what> writes nothing else
      Given a new MCP server over standard input and output
      And a call of <what>
      When the client makes the call
      Then the answer came with nothing but messages on standard output

      Examples:
        | what                       |
        | the echo probe             |
        | a tool that does not exist |

      @cap:probe.first-other
      Examples: another tool
        | what                  |
        | the first other probe |

      @cap:probe.second-other
      Examples: a third tool
        | what                   |
        | the second other probe |

      @cap:probe.state
      Examples: the state
        | what            |
        | the state probe |

      @cap:probe.invalid
      Examples: invalid arguments
        | what              |
        | the invalid probe |

      @cap:probe.fail
      Examples: a call that fails at run time
        | what           |
        | the fail probe |

      @cap:probe.large
      Examples: a large result
        | what                       |
        | the large probe for 64 KiB |

      @cap:probe.partial
      Examples: a result that calls for a follow-up
        | what              |
        | the partial probe |

      @cap:probe.break-glass
      Examples: a tool with a break-glass flag
        | what                  |
        | the break-glass probe |

    Scenario: Nor does one that is asked for a short answer
      Given a new MCP server over standard input and output
      And a call of the echo probe
      When the client makes the call in "compact" mode
      Then the answer came with nothing but messages on standard output

    @cap:root.none
    Scenario: Nor does a server without a context root
      Given an MCP server without a context root
      And a call of the echo probe
      When the client makes the call
      Then the answer came with nothing but messages on standard output
