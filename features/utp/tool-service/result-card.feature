@role:utp.tool-service
Feature: The tool.result card holds the outcome and inherits its lineage
  The card store is where results live. The card is saved before the callback points to it, and its trace
  and step ids are those of the tool.call card.

  @UTP-4.2-01
  Rule: The tool.result card is saved before the report

    Scenario: The card is in the store when the report comes
      Given a Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then the tool.result card was saved before the report

    @cap:probe.fail
    Scenario: The card of a failed call is in the store when the report comes
      Given a Tool Service
      And a command for the fail probe
      When the worker sends the command
      Then the tool.result card was saved before the report

  @UTP-4.2-29
  Rule: The callback's pointer addresses the tool.result card of the call

    Scenario: The pointer leads to the card of a successful call
      Given a Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then the callback points to the tool.result card of the call

    @cap:probe.fail
    Scenario: The pointer leads to the card of a failed call
      Given a Tool Service
      And a command for the fail probe
      When the worker sends the command
      Then the callback points to the tool.result card of the call

  @UTP-4.2-28
  Rule: What the tool has to say is in the card

    Scenario: The echoed value is in the card and not in the callback
      Given a Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then the outcome is in the tool.result card only

  @TDG-1-24
  Rule: The card's content is a ToolResultContent

    Scenario: A successful call stores a structured content
      Given a Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then the tool.result card is a ToolResultContent

    @cap:probe.fail
    Scenario: A failed call stores a structured content
      Given a Tool Service
      And a command for the fail probe
      When the worker sends the command
      Then the tool.result card is a ToolResultContent

  Rule: Trace and step ids are copied verbatim from the tool.call card

    Scenario Outline: "<member>" is inherited by a successful call
      Given a Tool Service
      And a command for the echo probe
      And the tool.call card's metadata "<member>" is <value>
      When the worker sends the command
      Then the tool.result card inherits "<member>"

      Examples:
        | rule     | member         | value                              |
        | TDG-1-17 | trace_id       | "a3c05f9e11d84b7290e6fd0c5b8a7e41" |
        | TDG-1-18 | parent_step_id | "Step-Root_1"                      |
        | TDG-1-19 | step_id        | "St-9_x"                           |
        | TDG-1-18 | parent_step_id | "root_012345678901234567890123456789012345678901234567890123456789" |
        | TDG-1-19 | step_id        | "step_012345678901234567890123456789012345678901234567890123456789" |

    @level:should
    Scenario Outline: "<member>" keeps its spelling
      Given a Tool Service
      And a command for the echo probe
      And the tool.call card's metadata "<member>" is <value>
      When the worker sends the command
      Then the tool.result card inherits "<member>"

      Examples:
        | rule     | member   | value                                  |
        | TDG-1-17 | trace_id | "5F1C0D5E-2B7A-4C66-A1D2-E3F405162738" |

    @cap:probe.fail
    Scenario Outline: "<member>" is inherited by a failed call
      Given a Tool Service
      And a command for the fail probe
      And the tool.call card's metadata "<member>" is <value>
      When the worker sends the command
      Then the tool.result card inherits "<member>"

      Examples:
        | rule     | member         | value                              |
        | TDG-1-17 | trace_id       | "a3c05f9e11d84b7290e6fd0c5b8a7e41" |
        | TDG-1-18 | parent_step_id | "Step-Root_1"                      |
        | TDG-1-19 | step_id        | "St-9_x"                           |

    # A service may validate a command before it reads the card, and then has nothing to copy.
    @level:should
    Scenario Outline: "<member>" is inherited by a refused call, if it is answered
      Given a live Tool Service
      And a command for the echo probe
      And the tool.call card's metadata "<member>" is <value>
      And the command carries "args" inline
      When the worker sends the command
      Then the tool.result card, if there is one, inherits "<member>"

      Examples:
        | rule     | member         | value                              |
        | TDG-1-17 | trace_id       | "a3c05f9e11d84b7290e6fd0c5b8a7e41" |
        | TDG-1-18 | parent_step_id | "Step-Root_1"                      |
        | TDG-1-19 | step_id        | "St-9_x"                           |

    Scenario Outline: "<member>" is inherited although the card lacks "<missing>"
      Given a Tool Service
      And a command for the echo probe
      And the tool.call card's metadata lacks "<missing>"
      When the worker sends the command
      Then the tool.result card inherits "<member>"

      @until:v1r3
      Examples:
        | rule     | member         | missing        |
        | TDG-1-17 | trace_id       | parent_step_id |
        | TDG-1-18 | parent_step_id | trace_id       |
        | TDG-1-19 | step_id        | trace_id       |
        | TDG-1-19 | step_id        | parent_step_id |

  Rule: What the tool.call card lacks is not filled from the command

    Scenario Outline: "<member>" of the payload does not reach the card
      Given a Tool Service
      And a command for the echo probe
      And the tool.call card's metadata lacks "<member>"
      And the command's "<member>" is "from-payload"
      When the worker sends the command
      Then the tool.result card's "<member>" is not the command's

      @until:v1r3
      Examples:
        | rule     | member         |
        | TDG-1-20 | trace_id       |
        | TDG-1-21 | parent_step_id |
        | TDG-1-22 | step_id        |

    # The card of the service's first call has these.
    @until:v1r3
    Scenario Outline: "<member>" of an earlier card does not reach the card
      Given a live Tool Service
      And a command for the echo probe
      And the tool.call card's metadata lacks "<member>"
      And the command's "<member>" is <earlier>
      When the worker sends the command
      Then the tool.result card's "<member>" is not the command's

      Examples:
        | rule     | member         | earlier                            |
        | TDG-1-20 | trace_id       | "5f1c0d5e2b7a4c66a1d2e3f405162738" |
        | TDG-1-21 | parent_step_id | "step_root"                        |

    @until:v1r3
    Scenario Outline: "<member>" of the card wins over the payload's
      Given a Tool Service
      And a command for the echo probe
      And the command's "<member>" is "from-payload"
      When the worker sends the command
      Then the tool.result card inherits "<member>"

      Examples:
        | rule     | member         |
        | TDG-1-17 | trace_id       |
        | TDG-1-18 | parent_step_id |
        | TDG-1-19 | step_id        |

  Rule: Ids that look like numbers are texts

    Scenario Outline: "<member>" <value> is inherited as it is
      Given a Tool Service
      And a command for the echo probe
      And the tool.call card's metadata "<member>" is <value>
      When the worker sends the command
      Then the tool.result card inherits "<member>"

      Examples:
        | rule     | member         | value                              |
        | TDG-1-17 | trace_id       | "12345678901234567890123456789012" |
        | TDG-1-18 | parent_step_id | "1e5"                              |
        | TDG-1-18 | parent_step_id | "007"                              |
        | TDG-1-19 | step_id        | "42"                               |

    Scenario Outline: "<member>" "0" is inherited as it is
      Given a Tool Service
      And a command for the echo probe
      And the tool.call card's metadata "<member>" is "0"
      When the worker sends the command
      Then the tool.result card inherits "<member>"

      Examples:
        | rule     | member         |
        | TDG-1-18 | parent_step_id |
        | TDG-1-19 | step_id        |

      @level:should
      Examples: no trace of W3C
        | rule     | member   |
        | TDG-1-17 | trace_id |
