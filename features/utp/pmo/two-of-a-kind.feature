@role:utp.pmo
Feature: Two calls of a kind in one project
  What is right the first time may be wrong the second time. Each scenario sends a command and another like it, with ids
  of its own; the scenarios of "What holds in every call" judge both.

  @UTP-1-02
  Rule: The second call is answered like the first

    @until:v1r3
    Scenario: Two calls in another channel, with ids of the worker's own in their payloads
      Given a live PMO
      And a command for a built-in
      And the command goes to channel "ch_7"
      And the command's "after_execution" is "terminate"
      And the command's "trace_id" is "from-payload"
      And the command's "parent_step_id" is "from-payload"
      When the worker sends the command and another like it
      Then a callback is reported for the call
      And a tool.result card is written for the call

    Scenario: Two calls that fail
      Given a live PMO
      And a command for a built-in
      And the platform refuses what the built-in asks for
      When the worker sends the command and another like it
      Then a callback is reported for the call
      And a tool.result card is written for the call

    @cap:builtin.fork_join
    Scenario: Two fork_joins
      Given a live PMO
      And a command for fork_join
      When the worker sends the command and another like it
      Then a callback is reported for the call
      And a tool.result card is written for the call

    @cap:builtin.fork_join
    Scenario: Two fork_joins whose children fail
      Given a live PMO
      And a command for fork_join
      And its children end as failed
      When the worker sends the command and another like it
      Then a callback is reported for the call
      And a tool.result card is written for the call

    @since:v1r4
    Scenario: Two calls in another channel
      Given a live PMO
      And a command for a built-in
      And the command goes to channel "ch_7"
      And the command's "after_execution" is "terminate"
      When the worker sends the command and another like it
      Then a callback is reported for the call
      And a tool.result card is written for the call

  @TDG-3-03
  Rule: The second call without its card is refused like the first

    Scenario: Two commands whose cards do not exist
      Given a live PMO
      And a command for a built-in
      And the tool.call card is missing
      When the worker sends the command and another like it
      Then the tool does not run

  @UTP-4.1-25
  Rule: The second command without a card pointer is refused like the first

    Scenario: Two commands that point to no card
      Given a live PMO
      And a command for a built-in
      And the command lacks "tool_call_card_id"
      When the worker sends the command and another like it
      Then the tool does not run

  @UTP-1-02
  Rule: Two calls of one turn are two calls

    Scenario: The second comes while the first is under way
      Given a live PMO
      And a command for a built-in
      When the worker sends the command and another of the same turn at once
      Then a callback is reported for the call
      And the arguments of the card show in what the built-in does

    Scenario Outline: The second <builtin> comes while the first is under way
      Given a live PMO
      And a command for <builtin>
      When the worker sends the command and another of the same turn at once
      Then a callback is reported for the call

      @cap:builtin.provision_agent
      Examples:
        | builtin         |
        | provision_agent |

      @cap:builtin.launch_principal
      Examples:
        | builtin          |
        | launch_principal |

      @cap:builtin.ask_expert
      Examples:
        | builtin    |
        | ask_expert |

      @cap:builtin.fork_join
      Examples:
        | builtin   |
        | fork_join |
