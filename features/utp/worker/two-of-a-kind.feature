@role:utp.worker
Feature: Two turns of a kind, and two calls
  What is right in the first turn of a project may be wrong in the second. The scenarios of "What holds in every command
  of a worker" judge all of these commands as well.

  Rule: Two turns side by side are kept apart

    Scenario Outline: The turns of two agents in two channels: <rule>
      Given an agent runtime
      And a model that calls a suspend tool
      And the turn runs in channel "ch_7"
      And another agent's turn that waits for a suspend call too
      When the model calls the tool
      Then the subject names the turn's channel
      And the command goes out on the tool's subject

      Examples:
        | rule       |
        | TDG-2-02   |
        | UTP-4.1-01 |

    @until:v1r3
    Scenario Outline: Each command of two agents' turns carries its own "<member>"
      Given an agent runtime
      And a model that calls a suspend tool
      And another agent's turn that waits for a suspend call too
      When the model calls the tool
      Then the command carries "<member>"

      Examples:
        | rule       | member        |
        | UTP-4.1-04 | agent_id      |
        | UTP-4.1-05 | agent_turn_id |
        | UTP-4.1-07 | tool_call_id  |

    @UTP-4.1-10
    Scenario: A suspend tool and a terminate tool in one answer keep their own after_execution
      Given an agent runtime
      And a model that calls a suspend tool
      And a model that calls a terminate tool
      When the model calls the tool
      Then the command's after_execution is the registered one

    @TDG-3.2-15
    Scenario: Each of two calls in one answer has its own arguments
      Given an agent runtime
      And a model that calls a suspend tool
      And the model gives "q" = {"only": "in the first"}
      And a model that calls a suspend tool
      When the model calls the tool
      Then each card holds the arguments of its own call
