@role:utp.openapi
@always
Feature: What holds in every call of an OpenAPI executor
  These scenarios send nothing. When all others have ended, they judge every command that was sent in any of them, with
  its tool.result card and its callback: the first call of a scenario as well as the third, and those that only show
  that the target is alive. What is said of the lineage holds for valid commands with a valid card.

  Rule: Every callback carries what the receiving side needs

    Scenario Outline: Every callback carries "<member>"
      Given every command of the run
      Then the callback carries "<member>"

      Examples:
        | rule       | member              |
        | UTP-4.2-09 | tool_result_card_id |
        | UTP-4.2-10 | status              |
        | UTP-4.2-11 | after_execution     |

      @until:v1r3
      Examples: until v1r3
        | rule       | member              |
        | UTP-4.2-05 | tool_call_id        |
        | UTP-4.2-06 | agent_turn_id       |
        | UTP-4.2-07 | turn_epoch          |
        | UTP-4.2-08 | agent_id            |

    Scenario Outline: Every callback repeats "<member>" of its command
      Given every command of the run
      Then the callback's "<member>" is the command's

      Examples:
        | rule     | member          |
        | TDG-1-08 | after_execution |

      @until:v1r3
      Examples: until v1r3
        | rule     | member          |
        | TDG-1-05 | agent_turn_id   |
        | TDG-1-06 | turn_epoch      |
        | TDG-1-07 | tool_call_id    |

    @UTP-4.2-12
    Scenario: Every callback names suspend or terminate
      Given every command of the run
      Then the callback names suspend or terminate

    @UTP-4.2-25
    Scenario: Every callback has a status that there is
      Given every command of the run
      Then the callback has one of the five statuses

    @until:v1r3
    @UTP-4.2-13
    Scenario: Every callback carries the step of its card
      Given every valid command of the run
      Then the callback carries the card's step_id

  Rule: No callback says what only the card should say

    @UTP-4.2-27
    Scenario: No callback has a member "result"
      Given every command of the run
      Then the callback lacks "result"

    @UTP-4.3-15
    Scenario: Every callback holds routing and pointer members only
      Given every command of the run
      Then the callback holds routing and pointer members only

  Rule: Every callback reaches the Inbox of the agent that called

    @UTP-4.2-02
    Scenario: Every report holds a callback
      Given every command of the run
      Then the caller's Inbox holds the callback

    @TDG-2-05
    Scenario: Every report is a tool_result
      Given every command of the run
      Then the Inbox record is a tool_result

    @TDG-2-06
    Scenario: Every report is addressed to the agent that called
      Given every command of the run
      Then the Inbox record is addressed to the caller

    @TDG-3-04
    Scenario: Every report stays in the channel of its command
      Given every command of the run
      Then the answer stays in the channel of the command

    Scenario Outline: The trace of every callback <property>
      Given every command of the run
      Then the callback's trace <property>

      Examples:
        | rule     | property                         |
        | TDG-1-15 | is reported in a well-formed way |

      @until:v1r3
      Examples: until v1r3
        | rule     | property                         |
        | TDG-1-13 | continues the command's          |
        | TDG-1-14 | has a span of its own            |

  Rule: Every tool.result card holds the outcome of its call

    @UTP-4.2-01
    Scenario: Every tool.result card is saved before its report
      Given every command of the run
      Then the tool.result card was saved before the report

    @UTP-4.2-29
    Scenario: Every callback points to the tool.result card of its call
      Given every command of the run
      Then the callback points to the tool.result card of the call

    @UTP-3.2-04
    Scenario: Every call ends in one status, however often it is reported
      Given every valid command of the run
      Then all callbacks of the call report one status

    @UTP-3.2-06
    Scenario: Every call has one tool.result card
      Given every valid command of the run
      Then the call has one tool.result card

    @TDG-1-24
    Scenario: Every tool.result card is a ToolResultContent
      Given every valid command of the run
      Then the tool.result card is a ToolResultContent

    Scenario Outline: Every tool.result card inherits "<member>"
      Given every valid command of the run
      Then the tool.result card inherits "<member>"

      Examples:
        | rule     | member         |
        | TDG-1-17 | trace_id       |
        | TDG-1-18 | parent_step_id |
        | TDG-1-19 | step_id        |

    Scenario Outline: Every failed card has "<member>"
      Given every command of the run
      Then the failed card has "<member>"

      Examples:
        | rule     | member               |
        | UTP-5-08 | result.error_code    |
        | UTP-5-09 | result.error_message |
        | UTP-5-10 | error.code           |
        | UTP-5-11 | error.message        |

    @UTP-5-12
    Scenario: Every failed card has its detail in place
      Given every command of the run
      Then the failed card has its detail in place

  Rule: No call writes to state, and every success is one throughout

    @TDG-1-01
    Scenario: Nothing is written to state by any call
      Given every command of the run
      Then nothing is written to state

    @TDG-3-01
    Scenario: Every success has a card without an error
      Given every command of the run
      Then the tool.result card has no error

  Rule: Every request to the upstream is made as the tool's row says

    @TDG-4-04
    Scenario: Method and path of every request
      Given every valid command of the run
      Then every request for it is made as its row says

    Scenario Outline: The key of every request whose row <names>
      Given every valid command of the run
      And its row <names>
      Then every request for it is made with the key of its row

      Examples:
        | rule     | names       |
        | TDG-4-05 | names a key |
        | TDG-4-06 | names no key |

  Rule: No key stands in what the executor sends elsewhere

    Scenario Outline: The value of <variable>
      Given every command of the run
      Then nothing that the executor sends holds the value of <variable>

      Examples:
        | rule     | variable         |
        | TDG-4-08 | JINA_API_KEY     |
        | TDG-4-08 | CALLMARK_ALT_KEY |
