@role:utp.execution
@since:v1r4
Feature: A report is checked before it is taken, and what follows it names its turn in headers
  A report of v1r4 has its identity in headers, and points to the card that its own author wrote for that call. What does
  not fit is refused and leaves nothing in the Inbox. Wakeup and task event carry the identity of the turn in headers.

  @R4-01
  Rule: Everything is published on subjects of the revision

    Scenario: A wakeup is published on a subject of the revision
      Given an agent runtime
      And a turn that waits for a suspend call
      When the tool reports
      Then the agent is woken
      And nothing is published on subjects of another version

    @cap:resume
    Scenario: The end of a turn is published on a subject of the revision
      Given an agent runtime
      And a model that calls a terminate tool
      When the tool is called and answered, and the turn runs on
      Then the turn ends
      And nothing is published on subjects of another version

  @R4-10
  Rule: A report whose card is not the result of its call, written by its author, is refused

    Scenario Outline: A report of a <kind> call is refused when its card <defect>
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the tool.result card <defect>
      When the tool reports
      Then the report is refused

      Examples:
        | kind      | defect                  |
        | suspend   | is missing              |
        | suspend   | is of another type      |
        | suspend   | belongs to another call |
        | suspend   | names no function       |
        | suspend   | is by another author    |
        | terminate | is missing              |
        | terminate | is of another type      |
        | terminate | belongs to another call |
        | terminate | names no function       |
        | terminate | is by another author    |

    @cap:inbox
    Scenario Outline: Nothing is written to the Inbox when the card <defect>
      Given an agent runtime
      And a turn that waits for a suspend call
      And the agent is served by "pool_blue" from now on
      And the tool.result card <defect>
      When the tool reports
      Then the Inbox holds nothing of the call until a correct report comes

      Examples:
        | defect                  |
        | is missing              |
        | is of another type      |
        | belongs to another call |
        | names no function       |
        | is by another author    |

    Scenario Outline: A report is refused when the card's "<member>" is <value>
      Given an agent runtime
      And a turn that waits for a suspend call
      And the card's "<member>" is <value>
      When the tool reports
      Then the report is refused

      Examples:
        | member                  | value           |
        | /author_id              | "ag_pilot"      |
        | /author_id              | "tool.tides.v2" |
        | /type                   | "tool.call"     |
        | /type                   | "tool.results"  |
        | /author_id              | ""              |
        | /author_id              | null            |
        | /metadata/function_name | ""              |
        | /metadata/function_name | null            |

    @cap:resume
    Scenario Outline: The call does not succeed when the card <defect>
      Given an agent runtime
      And a turn that waits for a suspend call
      And the tool.result card <defect>
      When the tool reports
      Then the call does not succeed by it
      And a correct callback still answers it, unless the failure shows

      Examples:
        | defect               |
        | names no function    |
        | is by another author |

    Scenario: A report is refused when its card names another call than its correlation_id
      Given an agent runtime
      And a turn that waits for a suspend call
      And the report's "correlation_id" is "call_of_another"
      When the tool reports
      Then the report is refused

    Scenario: A report is refused when who reports is of another project
      Given an agent runtime
      And a turn that waits for a suspend call
      And the report's "source_agent_id" is "ag_abroad"
      And the card's "/author_id" is "ag_abroad"
      When the tool reports
      Then the report is refused

    @cap:inbox
    Scenario: Nothing is written to the Inbox when who reports is of another project
      Given an agent runtime
      And a turn that waits for a suspend call
      And the agent is served by "pool_blue" from now on
      And the report's "source_agent_id" is "ag_abroad"
      And the card's "/author_id" is "ag_abroad"
      When the tool reports
      Then the Inbox holds nothing of the call until a correct report comes

    Scenario Outline: A report is refused when who reports is a stranger, "<source>"
      Given an agent runtime
      And a turn that waits for a suspend call
      And the report's "source_agent_id" is "<source>"
      And the card's "/author_id" is "<source>"
      When the tool reports
      Then the report is refused

      Examples:
        | source   |
        | toolbox  |
        | system.x |

    Scenario Outline: A report of "<source>" is taken
      Given an agent runtime
      And a turn that waits for a suspend call
      And the report's "source_agent_id" is "<source>"
      And the card's "/author_id" is "<source>"
      When the tool reports
      Then the report is taken

      Examples:
        | source         |
        | tool.tides     |
        | tool.logs.read |
        | sys.pmo        |
        | ag_pilot       |

    Scenario: The function of another tool is refused or taken
      Given an agent runtime
      And a turn that waits for a suspend call
      And the card's "/metadata/function_name" is "vessel_log"
      When the tool reports
      Then it is noted whether the report is refused

    @cap:resume
    Scenario: The call does not succeed when neither report nor card says who reports
      Given an agent runtime
      And a turn that waits for a suspend call
      And the report's "source_agent_id" is ""
      And the card's "/author_id" is ""
      When the tool reports
      Then the call does not succeed by it

    Scenario Outline: A report is refused when the card's "<member>" is nearly right: <value>
      Given an agent runtime
      And a turn that waits for a suspend call
      And the card's "<member>" is <value>
      When the tool reports
      Then the report is refused

      Examples:
        | member     | value        |
        | /author_id | "tool."      |
        | /author_id | "tool"       |
        | /author_id | "Tool.Tides" |
        | /metadata  | null         |

    Scenario Outline: A report is refused when who reports is nearly known, "<source>"
      Given an agent runtime
      And a turn that waits for a suspend call
      And the report's "source_agent_id" is "<source>"
      And the card's "/author_id" is "<source>"
      When the tool reports
      Then the report is refused

      Examples:
        | source   |
        | Tool.x   |
        | SYS.pmo  |
        | AG_PILOT |
        | ag_pilo  |

    Scenario Outline: A report of a call that ended as <status> is refused when its card <defect>
      Given an agent runtime
      And a turn that waits for a suspend call
      And the call ended as "<status>"
      And the tool.result card <defect>
      When the tool reports
      Then the report is refused

      Examples:
        | status   | defect                  |
        | failed   | belongs to another call |
        | failed   | names no function       |
        | failed   | is by another author    |
        | canceled | is by another author    |
        | timeout  | is by another author    |
        | partial  | is by another author    |

    Scenario Outline: A second report of a turn is refused when its card <defect>
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      And the second call was reported
      And the tool.result card <defect>
      When the tool reports
      Then the report is refused

      Examples:
        | defect                  |
        | is missing              |
        | is of another type      |
        | belongs to another call |
        | names no function       |
        | is by another author    |

    Scenario: A report of a failed call is refused when who reports is a stranger
      Given an agent runtime
      And a turn that waits for a suspend call
      And the call ended as "failed"
      And the report's "source_agent_id" is "toolbox"
      And the card's "/author_id" is "toolbox"
      When the tool reports
      Then the report is refused

    Scenario: A second report of a turn is refused when who reports is a stranger
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      And the second call was reported
      And the report's "source_agent_id" is "toolbox"
      And the card's "/author_id" is "toolbox"
      When the tool reports
      Then the report is refused

    Scenario: A report of "sys.pmo" is refused when its card names no function
      Given an agent runtime
      And a turn that waits for a suspend call
      And the report's "source_agent_id" is "sys.pmo"
      And the card's "/author_id" is "sys.pmo"
      And the card's "/metadata/function_name" is ""
      When the tool reports
      Then the report is refused

    Scenario: A report of "sys.pmo" is refused when a tool wrote its card
      Given an agent runtime
      And a turn that waits for a suspend call
      And the report's "source_agent_id" is "sys.pmo"
      When the tool reports
      Then the report is refused

  @R4-13
  @cap:resume
  Rule: A report of another depth than its command's is refused

    Scenario Outline: A report with the depth <depth> is refused
      Given an agent runtime
      And a turn that waits for a suspend call
      And the report's header "CG-Recursion-Depth" is "<depth>"
      When the tool reports
      Then the report is refused

      Examples:
        | depth |
        | 0     |
        | 7     |
        | 19    |
        | 20    |
        | 10    |
        | -1    |
        | 1.5   |
        | one   |

    @cap:inbox
    Scenario Outline: Nothing is written to the Inbox of a report with the depth <depth>
      Given an agent runtime
      And a turn that waits for a suspend call
      And the agent is served by "pool_blue" from now on
      And the report's header "CG-Recursion-Depth" is "<depth>"
      When the tool reports
      Then the Inbox holds nothing of the call until a correct report comes

      Examples:
        | depth |
        | 7     |
        | -1    |
        | one   |

    Scenario: A report as deep as its command is taken
      Given an agent runtime
      And a model that calls a suspend tool
      And the turn runs at depth 7
      When the tool is called and answered
      Then the report is taken

    Scenario Outline: So is one of a turn at depth <depth>
      Given an agent runtime
      And a model that calls a suspend tool
      And the turn runs at depth <depth>
      When the tool is called and answered
      Then the report is taken

      Examples:
        | depth |
        | 0     |
        | 19    |

    Scenario: The call does not succeed by a report of another depth
      Given an agent runtime
      And a turn that waits for a terminate call
      And the report's header "CG-Recursion-Depth" is "7"
      When the tool reports
      Then the call does not succeed by it

    Scenario Outline: A depth that wraps around to the command's is refused: <depth>
      Given an agent runtime
      And a turn that waits for a suspend call
      And the report's header "CG-Recursion-Depth" is "<depth>"
      When the tool reports
      Then the report is refused

      Examples:
        | depth      |
        | 257        |
        | 65537      |
        | 4294967297 |

    Scenario: A report whose depth is empty is refused
      Given an agent runtime
      And a turn that waits for a suspend call
      And the report's header "CG-Recursion-Depth" is ""
      When the tool reports
      Then the report is refused

    Scenario Outline: A depth that a language's own reading of numbers makes the command's is refused: <depth>
      Given an agent runtime
      And a model that calls a suspend tool
      And the turn runs at depth 10
      When the model calls the tool
      Given the report's header "CG-Recursion-Depth" is "<depth>"
      When the tool reports
      Then the report is refused

      Examples:
        | depth |
        | 1_0   |
        | 0xA   |
        | 10.0  |
        | 1e1   |

    Scenario Outline: A report of a call that ended as <status> is refused with another depth
      Given an agent runtime
      And a turn that waits for a suspend call
      And the call ended as "<status>"
      And the report's header "CG-Recursion-Depth" is "7"
      When the tool reports
      Then the report is refused

      Examples:
        | status  |
        | failed  |
        | timeout |

    Scenario: A second report of a turn is refused with another depth
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      And the second call was reported
      And the report's header "CG-Recursion-Depth" is "7"
      When the tool reports
      Then the report is refused

  @R4-15
  Rule: A wakeup carries the identity of its turn in headers, and nothing of the call

    Scenario Outline: The wakeup after a <kind> call that ended as <status>
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the call ended as "<status>"
      When the tool reports
      Then the agent is woken
      And the wakeup carries the identity of the report in headers
      And the wakeup carries nothing of the call

      Examples:
        | kind      | status  |
        | suspend   | success |
        | suspend   | failed  |
        | terminate | success |

    Scenario: The wakeup of an agent that others serve
      Given an agent runtime
      And a turn that waits for a suspend call
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Then the agent is woken
      And the wakeup carries the identity of the report in headers
      And the wakeup carries nothing of the call

    Scenario: The wakeup after a report that names the parents of its turn
      Given an agent runtime
      And a turn that waits for a suspend call
      And the report's header "CG-Parent-Agent-Id" is "ag_boss"
      And the report's header "CG-Parent-Turn-Id" is "turn_9"
      And the report's header "CG-Parent-Step-Id" is "step_9"
      When the tool reports
      Then the agent is woken
      And the wakeup carries nothing of the call

    Scenario: The wakeup of a turn in another channel
      Given an agent runtime
      And a model that calls a suspend tool
      And the turn runs in channel "ch_7"
      When the tool is called and answered
      Then the agent is woken
      And the wakeup carries the identity of the report in headers

  @R4-17
  @cap:resume
  Rule: Of several reports for one call at most one is applied

    Scenario: A second report with another card is not applied
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      When the first call is reported, again with other members and another card, and then the second
      Then the model receives the result once

    Scenario Outline: A second report under <step> is not applied
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      When the first call is reported, again under <step> and with another card, and then the second
      Then the model receives the result once

      Examples:
        | step         |
        | another step |
        | no step      |

    Scenario: A second report with another card is not applied once the turn has gone on
      Given an agent runtime
      And a turn that waits for a suspend call
      When the tool reports, and once more with another card
      Then the model receives the result once

    Scenario: Of two reports that come together one is applied
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      When the first call is reported by two cards at once and then the second
      Then the model receives one result of the first call

    Scenario: A report is applied once where a second one would end the turn
      Given an agent runtime
      And a turn whose model makes another call after the first
      When the tool reports, and once more with a card that ends the turn
      Then the next call of the model comes out as a command
      And the turn does not end before the second call is answered

  @R4-18
  Rule: Record and wakeup continue the trace of the report

    Scenario: The trace of the report goes on
      Given an agent runtime
      And a turn that waits for a suspend call
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Then the woken worker's trace continues the report's

  @R4-20
  @cap:resume
  Rule: A task event may drop control members from its payload

    Scenario: The task event repeats its identity or drops it
      Given an agent runtime
      And a model that calls a terminate tool
      When the tool is called and answered, and the turn runs on
      Then it is noted whether the task event has control members in its payload

  @R4-23
  @cap:resume
  Rule: The task event carries the identity of its turn in headers

    Scenario Outline: The task event of a turn with a <kind> call
      Given an agent runtime
      And a model that calls a <kind> tool
      When the tool is called and answered, and the turn runs on
      Then the task event carries the identity of its turn in headers

      Examples:
        | kind      |
        | suspend   |
        | terminate |

    Scenario: The task event of a turn that submits its result
      Given an agent runtime
      And a model that submits its result
      And a model that calls a suspend tool
      When the tool is called and answered, and the turn runs on
      Then the task event carries the identity of its turn in headers

    Scenario: The task event of a turn in another channel
      Given an agent runtime
      And a model that calls a terminate tool
      And the turn runs in channel "ch_7"
      When the tool is called and answered, and the turn runs on
      Then the task event carries the identity of its turn in headers

  @TDG-2-06
  Rule: The identity of a report is that of its headers

    Scenario: An agent that only the payload names is not woken
      Given an agent runtime
      And a turn that waits for a suspend call
      And another agent's turn that waits for a suspend call too
      And the payload's "agent_id" is "ag_pilot_second"
      When the tool reports
      Then "ag_pilot_second" is not woken by it
