@role:utp.tool-service
Feature: The report wakes the agent that called
  L0 writes the Inbox record for the callback's agent and wakes it where the roster says at that moment. A
  Tool Service addresses the report rightly and leaves waking to L0.

  @TDG-2-05
  Rule: The Inbox record is a tool_result message

    Scenario: The report says tool_result
      Given a Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then the Inbox record is a tool_result

    @cap:probe.fail
    Scenario: The report of a failed call says tool_result
      Given a Tool Service
      And a command for the fail probe
      When the worker sends the command
      Then the Inbox record is a tool_result

  @TDG-2-06
  Rule: The record is addressed to the agent that called

    @cap:probe.fail
    Scenario: The caller's Inbox gets the record of a failed call
      Given a Tool Service
      And a command for the fail probe
      And the command's "agent_id" is "ag_42"
      When the worker sends the command
      Then the Inbox record is addressed to the caller

    Scenario: The caller's Inbox gets the record
      Given a Tool Service
      And a command for the echo probe
      And the command's "agent_id" is "ag_42"
      When the worker sends the command
      Then the Inbox record is addressed to the caller

    Scenario: The caller's Inbox gets the record, however the caller is spelt
      Given a Tool Service
      And a command for the echo probe
      And the command's "agent_id" is "Ag_Pilot-1"
      When the worker sends the command
      Then the Inbox record is addressed to the caller

  @TDG-2-07
  Rule: The wakeup goes to the agent's worker target

    Scenario: An agent is woken where the roster says
      Given a live Tool Service
      And a command for the echo probe
      And the caller is served by "pool_blue"
      When the worker sends the command
      Then the caller is woken on "pool_blue" and no target of the service's own

    @cap:probe.fail
    Scenario: The caller of a failed call is woken where the roster says
      Given a live Tool Service
      And a command for the fail probe
      And the caller is served by "pool_blue"
      When the worker sends the command
      Then the caller is woken on "pool_blue" and no target of the service's own

  @TDG-2-08
  Rule: The wakeup target is not fixed to worker_generic

    Scenario: Nothing is sent to worker_generic
      Given a live Tool Service
      And a command for the echo probe
      And the caller is served by "pool_blue"
      When the worker sends the command
      Then the caller is never woken on "worker_generic"

    @cap:probe.fail
    Scenario: Nothing is sent to worker_generic after a failed call
      Given a live Tool Service
      And a command for the fail probe
      And the caller is served by "pool_blue"
      When the worker sends the command
      Then the caller is never woken on "worker_generic"

  @TDG-2-09
  Rule: The roster at the time of the callback counts

    Scenario: The agent moves between command and answer
      Given a live Tool Service
      And a command for the echo probe
      And the caller is served by "pool_blue"
      When the worker sends the command and the caller moves to "pool_red" before the answer
      Then the caller is woken on "pool_red" only

    @cap:probe.fail
    Scenario: The agent moves between command and failure
      Given a live Tool Service
      And a command for the fail probe
      And the caller is served by "pool_blue"
      When the worker sends the command and the caller moves to "pool_red" before the answer
      Then the caller is woken on "pool_red" only

  @TDG-2-06
  Rule: The record is addressed to the whole id of the caller

    Scenario: The caller's Inbox gets the record, however long the caller's id is
      Given a Tool Service
      And a command for the echo probe
      And the command's "agent_id" is "ag_navigator_of_the_northern_coast_and_of_its_harbours"
      When the worker sends the command
      Then the Inbox record is addressed to the caller
