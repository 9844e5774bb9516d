@role:utp.tool-service
Feature: Two calls of a kind in one project
  What is right the first time may be wrong the second time. Each scenario sends a command and another like it, with ids
  of its own; the scenarios of "What holds in every call" judge both.

  @UTP-1-01
  Rule: The second call is answered like the first

    @until:v1r3
    Scenario: Two calls in another channel, with ids of the worker's own in their payloads
      Given a live Tool Service
      And a command for the echo probe
      And the command goes to channel "ch_7"
      And the command's "after_execution" is "terminate"
      And the command's "trace_id" is "from-payload"
      And the command's "parent_step_id" is "from-payload"
      And the command's "step_id" is "from-payload"
      When the worker sends the command and another like it
      Then a callback is reported for the call
      And a tool.result card is written for the call

    @cap:probe.fail
    Scenario: Two calls that fail
      Given a live Tool Service
      And a command for the fail probe
      When the worker sends the command and another like it
      Then a callback is reported for the call
      And a tool.result card is written for the call

    @cap:probe.fail
    Scenario: Three calls that fail
      Given a live Tool Service
      And a command for the fail probe was answered
      And a command for the fail probe
      When the worker sends the command and another like it
      Then a callback is reported for the call
      And a tool.result card is written for the call

    @since:v1r4
    Scenario: Two calls in another channel
      Given a live Tool Service
      And a command for the echo probe
      And the command goes to channel "ch_7"
      And the command's "after_execution" is "terminate"
      When the worker sends the command and another like it
      Then a callback is reported for the call
      And a tool.result card is written for the call

  @TDG-3-03
  Rule: The second call without its card is refused like the first

    Scenario: Two commands whose cards do not exist
      Given a live Tool Service
      And a command for the echo probe
      And the tool.call card is missing
      When the worker sends the command and another like it
      Then the tool does not run

  @UTP-4.1-35
  Rule: The second command without a card pointer is refused like the first

    Scenario: Two commands that point to no card
      Given a live Tool Service
      And a command for the echo probe
      And the command lacks "tool_call_card_id"
      When the worker sends the command and another like it
      Then the tool does not run

  @UTP-1-01
  Rule: Two calls of one turn are two calls

    Scenario: The second comes while the first is under way
      Given a live Tool Service
      And a command for the echo probe
      When the worker sends the command and another of the same turn at once
      Then a callback is reported for the call
      And the result shows the arguments of the card

    # The service knows the call of its first answer as `call_1`, in `turn_1`.
    Scenario: An id that differs in its letters' case only is another call
      Given a live Tool Service
      And a command for the echo probe
      And the command's "agent_turn_id" is "turn_1_{unique}"
      And the command's "tool_call_id" is "Call_1_{unique}"
      When the worker sends the command
      Then a callback is reported for the call
      And the result shows the arguments of the card

    # Without their punctuation, end to end, or cut at a separator, these ids are those of that first call.
    Scenario Outline: The call <call> of the turn <turn> is another call
      Given a live Tool Service
      And a command for the echo probe
      And the command's "agent_turn_id" is <turn>
      And the command's "tool_call_id" is <call>
      When the worker sends the command
      Then a callback is reported for the call
      And the result shows the arguments of the card

      Examples:
        | turn               | call                         |
        | "turn_1_{unique}"  | "call-1-{unique}"            |
        | "turn_1_{unique}c" | "all_1_{unique}"             |
        | "turn_1_{unique}"  | "call_other/call_1_{unique}" |
        | "turn_1_{unique}"  | "call_other:call_1_{unique}" |
        | "turn_1_{unique}"  | "call_1_{unique}\|fc_2"      |

    # A service that keeps the beginning of an id takes the second call for the first.
    Scenario: A long id that differs in its last letter only is another call
      Given a live Tool Service
      And a command for the echo probe
      And the command goes to channel "ch_40"
      And the command's "tool_call_id" is "call_01234567890123456789012345678901234567890123456789012345678901234567890123456789:{unique}-a"
      When the worker sends the command and another whose id has another last letter when it is answered
      Then for each of the two calls the result shows the arguments of the card

  @UTP-1-01
  Rule: A call is answered however others of its turn end

    # The failed call is the second of the scenario, in `turn_2`.
    @cap:probe.fail
    Scenario: A call after one of the same turn that failed
      Given a live Tool Service
      And a command for the fail probe was answered
      And a command for the echo probe
      And the command's "agent_turn_id" is "turn_2_{unique}"
      And the tool is registered with after_execution "terminate"
      And the command's "after_execution" is "terminate"
      When the worker sends the command
      Then a callback is reported for the call
      And the result shows the arguments of the card

    # A service that runs the calls of a turn as one group ends the other when the first fails.
    @cap:probe.fail
    Scenario: A call beside one of the same turn that fails
      Given a live Tool Service
      And a command for the fail probe
      And the command goes to channel "ch_43"
      When the worker sends the command
      Given a command for the echo probe
      And the command goes to channel "ch_43"
      And the command's "agent_turn_id" is "turn_2_{unique}"
      When the worker sends the command and another of the same turn at once
      Then for each of the two calls a callback is reported
      And for each of the two calls the result shows the arguments of the card

    Scenario: A call after one of the same turn that terminates
      Given a live Tool Service
      And a command for the echo probe
      And the command's "after_execution" is "terminate"
      When the worker sends the command and another of the same turn when it is answered
      Then for each of the two calls a callback is reported
      And for each of the two calls the result shows the arguments of the card

    Scenario: Five calls of one turn at once
      Given a live Tool Service
      And a command for the echo probe
      And the command goes to channel "ch_42"
      When the worker sends the command
      Given a command for the echo probe
      And the command goes to channel "ch_42"
      And the command's "agent_turn_id" is "turn_2_{unique}"
      When the worker sends the command
      Given a command for the echo probe
      And the command goes to channel "ch_42"
      And the command's "agent_turn_id" is "turn_2_{unique}"
      When the worker sends the command
      Given a command for the echo probe
      And the command goes to channel "ch_42"
      And the command's "agent_turn_id" is "turn_2_{unique}"
      When the worker sends the command and another of the same turn at once
      Then for each of the two calls a callback is reported
      And for each of the two calls the result shows the arguments of the card

  @cap:probe.fail
  @TDG-2-04
  Rule: The second of two failures is not reported with the message of the first

    Scenario: A call that fails after another with its own message
      Given a Tool Service
      And a command for the fail probe was answered
      And the next command is for a card without arguments
      When the worker sends the command
      Then the result shows nothing of the earlier arguments

  @until:v1r3
  @TDG-1-06
  Rule: The second call of a turn has an epoch of its own

    Scenario: The second call comes in a later epoch
      Given a live Tool Service
      And a command for the echo probe
      And the command's "agent_turn_id" is "turn_1_{unique}"
      And the command's "turn_epoch" is 7
      When the worker sends the command
      Then the callback's "turn_epoch" is the command's

  @since:v1r4
  @R4-08
  Rule: The second call of a turn has an epoch of its own

    Scenario: The report of the second call has its epoch
      Given a live Tool Service
      And a command for the echo probe
      And the command's "agent_turn_id" is "turn_1_{unique}"
      And the command's "turn_epoch" is 7
      When the worker sends the command
      Then the callback's "turn_epoch" is the command's

  Rule: The second call of a turn has a step and a lineage of its own

    Scenario Outline: "<member>" is that of the second call's card
      Given a live Tool Service
      And a command for the echo probe
      And the command's "agent_turn_id" is "turn_1_{unique}"
      And the tool.call card's metadata "<member>" is <value>
      When the worker sends the command
      Then the tool.result card inherits "<member>"

      Examples:
        | rule     | member         | value                              |
        | TDG-1-17 | trace_id       | "a3c05f9e11d84b7290e6fd0c5b8a7e41" |
        | TDG-1-18 | parent_step_id | "Step-Root_1"                      |
        | TDG-1-19 | step_id        | "St-9_x"                           |

    @until:v1r3
    @UTP-4.2-13
    Scenario: The second callback carries the step of its own card
      Given a live Tool Service
      And a command for the echo probe
      And the command's "agent_turn_id" is "turn_1_{unique}"
      And the tool.call card's metadata "step_id" is "St-9_x"
      When the worker sends the command
      Then the callback carries the card's step_id

    @since:v1r4
    @R4-08
    Scenario: The second report is made at the step of its own command
      Given a live Tool Service
      And a command for the echo probe
      And the command's "agent_turn_id" is "turn_1_{unique}"
      And the tool.call card's metadata "step_id" is "St-9_x"
      When the worker sends the command
      Then the callback's "step_id" is the command's

  @TDG-1-08
  Rule: The second call of a turn has an after_execution of its own

    Scenario: The first says suspend and the second terminate
      Given a live Tool Service
      And a command for the echo probe
      And the command's "agent_turn_id" is "turn_1_{unique}"
      And the command's "after_execution" is "terminate"
      When the worker sends the command
      Then the callback's "after_execution" is the command's

  @since:v1r4
  @R4-21
  Rule: The second call has a depth of its own

    Scenario: The second call is deeper than the first
      Given a live Tool Service
      And a command for the echo probe
      And the command's "recursion_depth" is 7
      When the worker sends the command
      Then the callback's "recursion_depth" is the command's

  @UTP-1-01
  Rule: Each of two simultaneous calls has its own arguments

    Scenario: Two calls of one turn at once
      Given a live Tool Service
      And a command for the echo probe
      When the worker sends the command and another of the same turn at once
      Then for each of the two calls the result shows the arguments of the card

    Scenario: Two calls of two turns at once
      Given a live Tool Service
      And a command for the echo probe
      When the worker sends the command and another like it at once
      Then for each of the two calls the result shows the arguments of the card

  @TDG-3-03
  Rule: A card of another project is no card of this one

    @level:should
    Scenario: A call whose ids are those of a call in another project
      Given a live Tool Service
      And a command for the echo probe was answered
      And the next command has all its ids in another project
      When the worker sends the command
      Then the callback points to the tool.result card of the call
      And the result shows the arguments of the card
