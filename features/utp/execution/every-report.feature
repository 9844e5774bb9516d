@role:utp.execution
@always
Feature: What holds after every valid callback
  These scenarios send nothing. When all others have ended, they judge what came of every valid callback that was
  reported in any of them: the Inbox record where the Inbox was read, the wakeup, and what the turn did.

  @cap:inbox
  Rule: Every callback stands in the Inbox as it was reported

    Scenario Outline: "<member>" of every record
      Given every valid callback that was reported
      Then the Inbox record's "<member>" is the callback's

      Examples:
        | rule       | member              |
        | UTP-4.3-05 | agent_turn_id       |
        | UTP-4.3-06 | turn_epoch          |
        | UTP-4.3-07 | tool_call_id        |
        | UTP-4.3-08 | after_execution     |
        | UTP-4.3-09 | tool_result_card_id |

    Scenario Outline: The status "<status>" in every record
      Given every valid callback that was reported
      And its "status" is "<status>"
      Then the Inbox record's "status" is the callback's

      Examples:
        | rule       | status   |
        | UTP-4.2-20 | success  |
        | UTP-4.2-21 | failed   |
        | UTP-4.2-22 | canceled |
        | UTP-4.2-23 | timeout  |
        | UTP-4.2-24 | partial  |

    @UTP-4.3-12
    Scenario Outline: Both values of every override with "<value>" can be traced
      Given every valid callback that was reported
      And its card has the override "<value>"
      Then the Inbox record's "after_execution" is the callback's
      And the card still overrides with "<value>"

      Examples:
        | value     |
        | suspend   |
        | terminate |

  @cap:inbox
  Rule: Every record is a tool_result for the agent of its callback

    @TDG-2-05
    Scenario: Every record is a tool_result message
      Given every valid callback that was reported
      Then the Inbox record is a tool_result message

    @TDG-2-06
    Scenario: Every record is addressed to the agent
      Given every valid callback that was reported
      Then the Inbox record is addressed to the agent of the callback

  Rule: Every wakeup is for the agent of the callback, and continues its trace

    @TDG-2-06
    Scenario: Every wakeup names the agent
      Given every valid callback that was reported
      Then the wakeup names the agent of the callback

    Scenario Outline: Every trace <property>
      Given every valid callback that was reported
      Then the woken worker's trace <property>

      @until:v1r3
      Examples: until v1r3
        | rule     | property                         |
        | TDG-1-13 | continues the report's           |
        | TDG-1-14 | has a span of its own            |

      Examples:
        | rule     | property                         |
        | TDG-1-15 | is reported in a well-formed way |

  @cap:resume
  Rule: Every turn does after a result what the result says

    Scenario Outline: Every turn goes on after a suspend call that ended as <status>
      Given every valid callback that was reported
      And its "after_execution" is "suspend"
      And its "status" is "<status>"
      And its card has no control
      Then the turn goes on

      Examples:
        | rule       | status   |
        | UTP-3.1-01 | success  |
        | UTP-3.1-02 | timeout  |
        | UTP-3.1-03 | canceled |

    @UTP-3.1-06
    Scenario: Every turn ends after a terminate call
      Given every valid callback that was reported
      And its "after_execution" is "terminate"
      And its card has no control
      Then the turn ends
      And the model is not asked again

    @UTP-3.1-12
    Scenario Outline: Every <kind> call without an override is followed by what follows a plain one
      Given every valid callback that was reported
      And its "after_execution" is "<kind>"
      And its card has no control
      Then the turn behaves as after a plain <kind>

      Examples:
        | kind      |
        | suspend   |
        | terminate |

    Scenario Outline: Every <kind> call with the override "<other>" is followed by what follows a plain <other>
      Given every valid callback that was reported
      And its "after_execution" is "<kind>"
      And its card has the override "<other>"
      Then the turn behaves as after a plain <other>

      Examples:
        | rule       | kind      | other     |
        | UTP-3.1-05 | suspend   | terminate |
        | UTP-3.1-09 | suspend   | terminate |
        | UTP-3.1-10 | terminate | suspend   |

  @cap:resume
  Rule: Every result takes effect once, and with its reason

    @UTP-3.2-01
    Scenario: The model receives every result once
      Given every valid callback that was reported
      Then the model receives the result once

    Scenario Outline: The reason of every failure is passed on, whatever its code
      Given every valid callback that was reported
      And its "status" is "failed"
      And its card has no control
      Then the reason of the failure is passed on

      Examples:
        | rule       |
        | UTP-4.3-14 |
        | UTP-5-07   |
