@role:utp.pmo
Feature: The tool.result card holds the outcome and inherits its lineage
  The card store is where results live. The card is saved before the callback points to it, and its trace
  and step ids are those of the tool.call card.

  @UTP-4.2-01
  Rule: The tool.result card is saved before the report

    Scenario: The card is in the store when the report comes
      Given a PMO
      And a command for a built-in
      When the worker sends the command
      Then the tool.result card was saved before the report

    Scenario: The card of a failed call is in the store when the report comes
      Given a PMO
      And a command for a built-in
      And the platform refuses what the built-in asks for
      When the worker sends the command
      Then the tool.result card was saved before the report

  @UTP-4.2-29
  Rule: The callback's pointer addresses the tool.result card of the call

    Scenario: The pointer leads to the card of a successful call
      Given a PMO
      And a command for a built-in
      When the worker sends the command
      Then the callback points to the tool.result card of the call

    Scenario: The pointer leads to the card of a failed call
      Given a PMO
      And a command for a built-in
      And the platform refuses what the built-in asks for
      When the worker sends the command
      Then the callback points to the tool.result card of the call

  @UTP-4.2-28
  Rule: What the built-in has to say is in the card

    Scenario: The outcome is in the card and not in the callback
      Given a PMO
      And a command for a built-in
      When the worker sends the command
      Then the outcome is in the tool.result card only

    # A PMO that answers before the expert does has nothing of it to say yet.
    @cap:builtin.ask_expert
    Scenario: What the expert said is in the card and not in the callback
      Given a PMO
      And a command for ask_expert
      When the worker sends the command and the child that was started first ends first
      Then the outcome is in the tool.result card only

  @TDG-1-24
  Rule: The card's content is a ToolResultContent

    Scenario: A successful call stores a structured content
      Given a PMO
      And a command for a built-in
      When the worker sends the command
      Then the tool.result card is a ToolResultContent

    Scenario: A failed call stores a structured content
      Given a PMO
      And a command for a built-in
      And the platform refuses what the built-in asks for
      When the worker sends the command
      Then the tool.result card is a ToolResultContent

  Rule: Trace and step ids are copied verbatim from the tool.call card

    Scenario Outline: "<member>" is inherited by a successful call
      Given a PMO
      And a command for a built-in
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

    Scenario Outline: "<member>" is inherited after a call with another one
      Given a live PMO
      And a command for a built-in
      And the tool.call card's metadata "<member>" is <value>
      When the worker sends the command
      Then the tool.result card inherits "<member>"

      Examples:
        | rule     | member         | value                              |
        | TDG-1-17 | trace_id       | "a3c05f9e11d84b7290e6fd0c5b8a7e41" |
        | TDG-1-18 | parent_step_id | "Step-Root_1"                      |
        | TDG-1-19 | step_id        | "St-9_x"                           |

    @level:should
    Scenario Outline: "<member>" keeps its spelling
      Given a PMO
      And a command for a built-in
      And the tool.call card's metadata "<member>" is <value>
      When the worker sends the command
      Then the tool.result card inherits "<member>"

      Examples:
        | rule     | member   | value                                  |
        | TDG-1-17 | trace_id | "5F1C0D5E-2B7A-4C66-A1D2-E3F405162738" |

    Scenario Outline: "<member>" is inherited by a failed call
      Given a PMO
      And a command for a built-in
      And the platform refuses what the built-in asks for
      And the tool.call card's metadata "<member>" is <value>
      When the worker sends the command
      Then the tool.result card inherits "<member>"

      Examples:
        | rule     | member         | value                              |
        | TDG-1-17 | trace_id       | "a3c05f9e11d84b7290e6fd0c5b8a7e41" |
        | TDG-1-18 | parent_step_id | "Step-Root_1"                      |
        | TDG-1-19 | step_id        | "St-9_x"                           |

    @cap:builtin.fork_join
    Scenario Outline: "<member>" is inherited by a fork_join
      Given a PMO
      And a command for fork_join
      And the tool.call card's metadata "<member>" is <value>
      When the worker sends the command
      Then the tool.result card inherits "<member>"

      Examples:
        | rule     | member         | value                              |
        | TDG-1-17 | trace_id       | "a3c05f9e11d84b7290e6fd0c5b8a7e41" |
        | TDG-1-18 | parent_step_id | "Step-Root_1"                      |
        | TDG-1-19 | step_id        | "St-9_x"                           |

    @cap:builtin.fork_join
    Scenario Outline: "<member>" is inherited by a fork_join whose children fail
      Given a PMO
      And a command for fork_join
      And its children end as failed
      And the tool.call card's metadata "<member>" is <value>
      When the worker sends the command
      Then the tool.result card inherits "<member>"

      Examples:
        | rule     | member         | value                              |
        | TDG-1-17 | trace_id       | "a3c05f9e11d84b7290e6fd0c5b8a7e41" |
        | TDG-1-18 | parent_step_id | "Step-Root_1"                      |
        | TDG-1-19 | step_id        | "St-9_x"                           |

    # A PMO may validate a command before it reads the card, and then has nothing to copy.
    @level:should
    Scenario Outline: "<member>" is inherited by a refused call, if it is answered
      Given a live PMO
      And a command for a built-in
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
      Given a PMO
      And a command for a built-in
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
      Given a PMO
      And a command for a built-in
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

    @cap:builtin.fork_join
    Scenario Outline: "<member>" of the payload does not reach the card of a fork_join
      Given a PMO
      And a command for fork_join
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

    Scenario Outline: "<member>" of the payload does not reach the card of <builtin>
      Given a PMO
      And a command for <builtin>
      And the tool.call card's metadata lacks "<member>"
      And the command's "<member>" is "from-payload"
      When the worker sends the command
      Then the tool.result card's "<member>" is not the command's

      @until:v1r3
      @cap:builtin.provision_agent
      Examples:
        | rule     | member         | builtin         |
        | TDG-1-20 | trace_id       | provision_agent |
        | TDG-1-21 | parent_step_id | provision_agent |
        | TDG-1-22 | step_id        | provision_agent |

      @until:v1r3
      @cap:builtin.launch_principal
      Examples:
        | rule     | member         | builtin          |
        | TDG-1-20 | trace_id       | launch_principal |
        | TDG-1-21 | parent_step_id | launch_principal |
        | TDG-1-22 | step_id        | launch_principal |

      @until:v1r3
      @cap:builtin.ask_expert
      Examples:
        | rule     | member         | builtin    |
        | TDG-1-20 | trace_id       | ask_expert |
        | TDG-1-21 | parent_step_id | ask_expert |
        | TDG-1-22 | step_id        | ask_expert |

    # A PMO may refuse a call whose card says nothing of it.
    @until:v1r3
    Scenario Outline: "<member>" of the payload does not reach the card of a call whose card has no metadata
      Given a PMO
      And a command for a built-in
      And the tool.call card's metadata lacks "agent_turn_id"
      And the tool.call card's metadata lacks "tool_call_id"
      And the tool.call card's metadata lacks "step_id"
      And the tool.call card's metadata lacks "trace_id"
      And the tool.call card's metadata lacks "parent_step_id"
      And the command's "<member>" is "from-payload"
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the tool.result card's "<member>" is not the command's

      Examples:
        | rule     | member         |
        | TDG-1-20 | trace_id       |
        | TDG-1-21 | parent_step_id |
        | TDG-1-22 | step_id        |

    @until:v1r3
    Scenario Outline: "<member>" of the card wins over the payload's
      Given a PMO
      And a command for a built-in
      And the command's "<member>" is "from-payload"
      When the worker sends the command
      Then the tool.result card inherits "<member>"

      Examples:
        | rule     | member         |
        | TDG-1-17 | trace_id       |
        | TDG-1-18 | parent_step_id |
        | TDG-1-19 | step_id        |
