@role:utp.pmo
Feature: A refused command that is answered is answered in form
  Whether a refused command is answered is open. Where it is, its callback and its card follow the rules of
  any other: here for a valid command whose tool.call card does not exist.

  Rule: The callback of a refused command carries what the receiving side needs

    Scenario Outline: The callback carries "<member>"
      Given a live PMO
      And a command for a built-in
      And the tool.call card is missing
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the callback carries "<member>"

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

  Rule: The callback of a refused command repeats the command's ids and after_execution

    Scenario Outline: "<member>" comes back unchanged
      Given a live PMO
      And a command for a built-in
      And the command's "<member>" is <value>
      And the tool.call card is missing
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the callback's "<member>" is the command's

      Examples:
        | rule     | member          | value                |
        | TDG-1-08 | after_execution | "terminate"          |

      @until:v1r3
      Examples: until v1r3
        | rule     | member          | value                |
        | TDG-1-05 | agent_turn_id   | "Turn-41_b:{unique}" |
        | TDG-1-06 | turn_epoch      | 7340032              |
        | TDG-1-07 | tool_call_id    | "Call-9X_a:{unique}" |

  Rule: The callback of a refused command continues the command's trace

    Scenario Outline: The callback's trace <property>
      Given a live PMO
      And a command for a built-in
      And the tool.call card is missing
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the callback's trace <property>

      Examples:
        | rule     | property                     |
        | TDG-1-15 | is reported in a well-formed way |

      @until:v1r3
      Examples: until v1r3
        | rule     | property                     |
        | TDG-1-13 | continues the command's      |
        | TDG-1-14 | has a span of its own        |

  Rule: A refused command that is answered has a card, a report and an Inbox record like any other

    @UTP-4.2-01
    Scenario: The card is saved before the report
      Given a live PMO
      And a command for a built-in
      And the tool.call card is missing
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the tool.result card was saved before the report

    @UTP-4.2-29
    Scenario: The pointer leads to the card
      Given a live PMO
      And a command for a built-in
      And the tool.call card is missing
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the callback points to the tool.result card of the call

    @TDG-1-24
    Scenario: The card has a structured content
      Given a live PMO
      And a command for a built-in
      And the tool.call card is missing
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the tool.result card is a ToolResultContent

    @TDG-2-05
    Scenario: The report says tool_result
      Given a live PMO
      And a command for a built-in
      And the tool.call card is missing
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the Inbox record is a tool_result

    @TDG-2-06
    Scenario: The record is addressed to the caller
      Given a live PMO
      And a command for a built-in
      And the command's "agent_id" is "ag_42"
      And the tool.call card is missing
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the Inbox record is addressed to the caller

    @TDG-3-04
    Scenario: The answer stays in the channel
      Given a live PMO
      And a command for a built-in
      And the command goes to channel "ch_7"
      And the tool.call card is missing
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the answer stays in channel "ch_7"

  Rule: The callback of a refused command routes and points, and says nothing else

    @UTP-4.2-27
    Scenario: The callback has no member "result"
      Given a live PMO
      And a command for a built-in
      And the tool.call card is missing
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the callback lacks "result"

    @UTP-4.3-15
    Scenario: The callback repeats nothing of the error
      Given a live PMO
      And a command for a built-in
      And the tool.call card is missing
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the callback holds routing and pointer members only
