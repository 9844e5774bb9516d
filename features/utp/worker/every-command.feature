@role:utp.worker
@always
Feature: What holds in every command of a worker
  These scenarios send nothing. When all others have ended, they judge every command that the worker sent in any of
  them: the first of a turn as well as the third, with whatever arguments.

  Rule: Every command to a tool says what the tool needs

    Scenario Outline: Every command to a tool carries "<member>"
      Given every command to a tool
      Then the command carries "<member>"

      @until:v1r3
      Examples: until v1r3
        | rule       | member            |
        | UTP-4.1-04 | agent_id          |
        | UTP-4.1-05 | agent_turn_id     |
        | UTP-4.1-06 | turn_epoch        |
        | UTP-4.1-07 | tool_call_id      |

      Examples:
        | rule       | member            |
        | UTP-4.1-08 | after_execution   |
        | UTP-4.1-09 | tool_call_card_id |

    @UTP-4.1-33
    Scenario: No command repeats the parameters
      Given every command to a tool
      Then the command holds no parameters

    @UTP-4.1-36
    Scenario: Every card was saved before its command
      Given every command to a tool
      Then the tool.call card was there before the command

    @TDG-1-23
    Scenario: Every card holds a ToolCallContent
      Given every command to a tool
      Then the tool.call card holds a ToolCallContent

  @cap:worker.builtins
  Rule: Every command to the PMO says what the PMO needs

    Scenario Outline: Every command to the PMO carries "<member>"
      Given every command to the PMO
      Then the command carries "<member>"

      @until:v1r3
      Examples: until v1r3
        | rule       | member            |
        | UTP-4.1-11 | agent_id          |
        | UTP-4.1-12 | agent_turn_id     |
        | UTP-4.1-13 | turn_epoch        |
        | UTP-4.1-14 | step_id           |
        | UTP-4.1-15 | tool_call_id      |

      Examples:
        | rule       | member            |
        | UTP-4.1-16 | after_execution   |
        | UTP-4.1-17 | tool_call_card_id |
        | UTP-4.1-18 | tool_name         |

    @UTP-4.1-33
    Scenario: No command to the PMO repeats the parameters
      Given every command to the PMO
      Then the command holds no parameters

    @UTP-4.1-36
    Scenario: Every card of a built-in was saved before its command
      Given every command to the PMO
      Then the tool.call card was there before the command

    @TDG-1-23
    Scenario: Every card of a built-in holds a ToolCallContent
      Given every command to the PMO
      Then the tool.call card holds a ToolCallContent

  Rule: Every command points to a card

    @UTP-4.1-34
    Scenario: Every command to a tool points to a card
      Given every command to a tool
      Then the command carries "tool_call_card_id"

    @UTP-4.1-34 @cap:worker.builtins
    Scenario: Every command to the PMO points to a card
      Given every command to the PMO
      Then the command carries "tool_call_card_id"

    @TDG-3.2-15
    Scenario: Every card holds what the model gave
      Given every command to a tool
      Then the card holds what the model gave

    @TDG-4.1-08 @cap:environment
    Scenario: The value of a variable is in no card of any command
      Given every command to anyone
      Then no card holds the variable's value

  Rule: Every command goes where it belongs

    @UTP-4.1-02
    Scenario: The subject of every command to a tool has the usual form
      Given every command to anyone
      Then its subject has the usual form

    @TDG-2-01
    Scenario: Every subject names the project of its turn
      Given every command to anyone
      Then the subject names the turn's project

    @TDG-2-02
    Scenario: Every subject names the channel of its turn
      Given every command to anyone
      Then the subject names the turn's channel

    @UTP-4.1-03 @cap:worker.builtins
    Scenario: Every built-in is called on the PMO's subject
      Given every command to anyone
      Then a built-in is called on the PMO's subject for it

    @UTP-0-01
    Scenario: No command hands over a result
      Given every command to anyone
      Then submit_result goes to nobody
