@role:utp.execution
Feature: A report goes into the Inbox, and a wakeup announces it
  The execution service writes the callback into the Inbox of its agent as it is, then wakes the agent where
  the roster says at that moment. An Inbox may show only what no turn has gone on with yet, so records are read
  of an agent that others serve.

  @UTP-4.2-03
  Rule: A wakeup follows the report

    Scenario: The agent of the callback is woken
      Given an agent runtime
      And a turn that waits for a suspend call
      When the tool reports
      Then the agent is woken

    Scenario Outline: So it is after a <kind> call that ended as <status>
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the call ended as "<status>"
      When the tool reports
      Then the agent is woken

      Examples:
        | kind      | status   |
        | suspend   | failed   |
        | suspend   | canceled |
        | suspend   | timeout  |
        | suspend   | partial  |
        | terminate | success  |
        | terminate | failed   |
        | terminate | canceled |
        | terminate | timeout  |
        | terminate | partial  |

    Scenario Outline: So it is while a <other> call keeps the turn waiting
      Given an agent runtime
      And a turn that waits for a suspend call and a <other> call
      When the tool reports
      Then the agent is woken

      Examples:
        | other     |
        | suspend   |
        | terminate |

    Scenario: So it is while the record of another call is there that no turn has gone on with
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      And the agent is served by "pool_blue" from now on
      And the second call was reported
      When the tool reports
      Then the agent is woken

    Scenario: So it is after a second report of its turn
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      And the second call was reported
      When the tool reports
      Then the agent is woken

  @UTP-4.2-04
  @cap:inbox
  Rule: The wakeup does not precede the Inbox record

    Scenario: Who is woken finds the record
      Given an agent runtime
      And a turn that waits for a suspend call
      And the agent is served by "pool_blue" from now on
      When the tool reports, and the Inbox is read as soon as the agent is woken
      Then the Inbox holds the record

    Scenario Outline: Who is woken after a <kind> call that ended as <status> finds the record
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the call ended as "<status>"
      And the agent is served by "pool_blue" from now on
      When the tool reports, and the Inbox is read as soon as the agent is woken
      Then the Inbox holds the record

      Examples:
        | kind      | status  |
        | suspend   | failed  |
        | suspend   | partial |
        | terminate | success |

    Scenario: Who is woken for a second result finds the record
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      And the agent is served by "pool_blue" from now on
      And the second call was reported
      When the tool reports, and the Inbox is read as soon as the agent is woken
      Then the Inbox holds the record

    Scenario Outline: Who is woken after a <kind> call that is overridden with <other> finds the record
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the result's override is "<other>"
      And the agent is served by "pool_blue" from now on
      When the tool reports, and the Inbox is read as soon as the agent is woken
      Then the Inbox holds the record

      Examples:
        | kind      | other     |
        | suspend   | terminate |
        | terminate | suspend   |

    Scenario: The record of an earlier call is still there when a later one has been reported
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      And the agent is served by "pool_blue" from now on
      When the tool reports
      And the second call is reported
      Then the Inbox record's "tool_call_id" is the callback's

  @TDG-2-05
  @cap:inbox
  Rule: The Inbox record is a tool_result message

    Scenario: The record's type is tool_result
      Given an agent runtime
      And a turn that waits for a suspend call
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Then the Inbox record is a tool_result message

  @TDG-2-06
  Rule: Record and wakeup are for the agent of the callback

    @cap:inbox
    Scenario: The record is addressed to the agent
      Given an agent runtime
      And a turn that waits for a suspend call
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Then the Inbox record is addressed to the agent of the callback

    Scenario: The wakeup names the agent
      Given an agent runtime
      And a turn that waits for a suspend call
      When the tool reports
      Then the wakeup names the agent of the callback

    @cap:inbox
    Scenario: The Inbox of an agent shows nothing of another agent
      Given an agent runtime
      And a turn that waits for a suspend call
      And the agent is served by "pool_blue" from now on
      And another agent's turn that waits for a suspend call too
      And the second call was reported
      When the tool reports
      Then the Inbox record is addressed to the agent of the callback
      And the Inbox shows nothing of another agent

  Rule: The roster says where the agent is woken

    @TDG-2-07
    Scenario: The agent is woken on its worker target
      Given an agent runtime
      And a turn that waits for a suspend call
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Then the agent is woken on "pool_blue"

    @TDG-2-07
    Scenario: The worker target is taken as it is
      Given an agent runtime
      And a turn that waits for a suspend call
      And the agent is served by "Pool-7" from now on
      When the tool reports
      Then the agent is woken on "Pool-7"

    @TDG-2-07
    Scenario: The agent is woken on its own target while another agent has another one
      Given an agent runtime
      And a turn that waits for a suspend call
      And the agent is served by "pool_blue" from now on
      And another agent's turn that waits for a suspend call too
      When the tool reports
      Then the agent is woken on "pool_blue"

    @TDG-2-08
    Scenario: The agent is not woken on a fixed target
      Given an agent runtime
      And a turn that waits for a suspend call
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Then the agent is woken on "pool_blue"
      And it is woken nowhere but on "pool_blue"

    @TDG-2-08
    Scenario Outline: Nor is it after a <kind> call that ended as <status>
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the call ended as "<status>"
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Then the agent is woken on "pool_blue"
      And it is woken nowhere but on "pool_blue"

      Examples:
        | kind      | status   |
        | suspend   | failed   |
        | suspend   | canceled |
        | suspend   | timeout  |
        | suspend   | partial  |
        | terminate | success  |
        | terminate | failed   |

    @TDG-2-08
    Scenario Outline: Nor is it after a <kind> call whose result overrides it with <other>
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the result's override is "<other>"
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Then the agent is woken on "pool_blue"
      And it is woken nowhere but on "pool_blue"

      Examples:
        | kind      | other     |
        | suspend   | terminate |
        | terminate | suspend   |

    @TDG-2-09
    Scenario: What the roster says when the report comes counts
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      And the second call was reported
      And the agent is served by "pool_red" from now on
      When the tool reports
      Then the agent is woken on "pool_red"
      And it is woken nowhere but on "pool_red"

    @TDG-2-09
    Scenario: What the roster says counts also right after an earlier report
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Given the agent is served by "pool_red" from now on
      When the second call is reported
      Then the agent is woken on "pool_red"

    @TDG-2-09
    Scenario: What the roster says counts when the report of a failed call comes
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      And the second call was reported
      And the agent is served by "pool_red" from now on
      And the call ended as "failed"
      When the tool reports
      Then the agent is woken on "pool_red"
      And it is woken nowhere but on "pool_red"

  @cap:inbox
  Rule: The callback stands in the Inbox as it was reported

    Scenario Outline: "<member>" is kept as <value>
      Given an agent runtime
      And a turn that waits for a suspend call
      And the callback's "<member>" is <value>
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Then the Inbox record's "<member>" is the callback's

      Examples:
        | rule       | member     | value     |
        | UTP-4.2-20 | status     | "success" |
        | UTP-4.3-08 | after_execution | "suspend" |

    Scenario Outline: "<member>" is kept
      Given an agent runtime
      And a turn that waits for a suspend call
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Then the Inbox record's "<member>" is the callback's

      Examples:
        | rule       | member              |
        | UTP-4.3-05 | agent_turn_id       |
        | UTP-4.3-06 | turn_epoch          |
        | UTP-4.3-07 | tool_call_id        |
        | UTP-4.3-09 | tool_result_card_id |

    @UTP-4.3-07
    Scenario Outline: The id of a call is kept that is <form>
      Given an agent runtime
      And a turn that waits for a suspend call whose id is <form>
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Then the Inbox record's "tool_call_id" is the callback's

      Examples:
        | form          |
        | a number      |
        | a path        |
        | in both cases |

    @UTP-4.3-09
    Scenario Outline: A pointer that is <form> is kept
      Given an agent runtime
      And a turn that waits for a suspend call
      And the id of the tool.result card is <form>
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Then the Inbox record's "tool_result_card_id" is the callback's

      Examples:
        | form                           |
        | a number                       |
        | in both cases                  |
        | over a hundred characters long |

    @UTP-4.3-07
    Scenario: The id of a call is kept at its whole length
      Given an agent runtime
      And a turn that waits for a suspend call whose id is over a hundred characters long
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Then the Inbox record's "tool_call_id" is the callback's

    @UTP-4.3-05
    @until:v1r3
    Scenario: The id of a turn is kept in both cases
      Given an agent runtime
      And the turn's id is in both cases
      And a turn that waits for a suspend call
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Then the Inbox record's "agent_turn_id" is the callback's

    @TDG-2-06
    Scenario: An agent whose id is in both cases has the record
      Given an agent runtime
      And the turn is that of the agent "Ag_Pilot-2"
      And a turn that waits for a suspend call
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Then the Inbox record is addressed to the agent of the callback
      And the wakeup names the agent of the callback

    @UTP-4.2-21
    Scenario: The status of a call that failed is kept after another call of the turn succeeded
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      And the agent is served by "pool_blue" from now on
      And the second call was reported
      And the call ended as "failed"
      When the tool reports
      Then the Inbox record's "status" is the callback's

    @UTP-4.3-08
    Scenario Outline: after_execution is kept, also where the result overrides <kind> with <other>
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the result's override is "<other>"
      When the tool reports
      Then the Inbox record's "after_execution" is the callback's

      Examples:
        | kind      | other     |
        | suspend   | terminate |
        | terminate | suspend   |

    @UTP-4.3-12
    Scenario: Both values of an override can be traced
      Given an agent runtime
      And a turn that waits for a suspend call
      And the result's override is "terminate"
      When the tool reports
      Then the Inbox record's "after_execution" is the callback's
      And the card still overrides with "terminate"

    @UTP-4.3-12
    Scenario Outline: Both values of a <kind> call can be traced where no turn has gone on with the record
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the result's override is "<other>"
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Then the Inbox record's "after_execution" is the callback's
      And the card still overrides with "<other>"

      Examples:
        | kind      | other     |
        | suspend   | terminate |
        | terminate | suspend   |

  Rule: Record and wakeup continue the trace of the report

    Scenario Outline: The trace <property>
      Given an agent runtime
      And a turn that waits for a suspend call
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Then the woken worker's trace <property>

      @until:v1r3
      Examples: until v1r3
        | rule     | property                     |
        | TDG-1-13 | continues the report's       |
        | TDG-1-14 | has a span of its own        |

      Examples:
        | rule     | property                     |
        | TDG-1-15 | is reported in a well-formed way |

    @TDG-1-13
    @until:v1r3
    Scenario: A trace that nobody samples goes on as well
      Given an agent runtime
      And a turn that waits for a suspend call
      And the report's header "traceparent" is "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Then the woken worker's trace continues the report's

    @TDG-1-13
    @until:v1r3
    Scenario: A trace with a further flag goes on as well
      Given an agent runtime
      And a turn that waits for a suspend call
      And the report's header "traceparent" is "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03"
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Then the woken worker's trace continues the report's

    @TDG-1-16
    Scenario: A tracestate is passed on or not
      Given an agent runtime
      And a turn that waits for a suspend call
      And the report's header "tracestate" is "vendor=1"
      When the tool reports
      Then it is noted whether the wakeup has a tracestate
