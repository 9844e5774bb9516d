@role:breadcrumb.runner
Feature: What a runner takes for an invocation
  An invocation is an agent.response.v1 whose context lists tool requests.

  @BRD-11 @cap:runner.invocations
  Rule: An invocation in the prescribed structure is executed

    Scenario: With all five members
      Given a tool runner
      And a call with a configuration
      When the agent makes the call
      Then the call succeeds

    Scenario: With the four that are required
      Given a tool runner
      And a call
      When the agent makes the call
      Then the answer shows the work of the tool that was named

    Scenario: Without a word to the user
      Given a tool runner
      And a call
      And the message says nothing to the user
      When the agent makes the call
      Then the answer shows the work of the tool that was named

    Scenario: With members that the standard does not know
      Given a tool runner
      And a call
      And its priority is 1
      And its metadata is {"origin": "planner"}
      When the agent makes the call
      Then the answer shows the work of the tool that was named

  @BRD-38
  Rule: A request needs no config_id

    Scenario: A harmless call
      Given a tool runner
      And a call
      When the agent makes the call
      Then the call succeeds

    Scenario Outline: <tool>
      Given a tool runner
      And a call of <tool>
      When the agent makes the call
      Then the call succeeds

      Examples:
        | tool       |
        | calculator |
        | random     |

  @BRD-12 @cap:runner.invocations
  Rule: A breadcrumb of another schema is no invocation

    Scenario Outline: <schema>
      Given a tool runner
      And a call
      When the call stands in a breadcrumb of schema <schema>
      Then the runner serves the harmless calls
      And it is not executed

      Examples:
        | schema            |
        | note.v1           |
        | agent.response.v2 |
        | agent.response    |
        | Agent.Response.V1 |
        | agent.thought.v1  |
        | agent.response.v10   |
        | my.agent.response.v1 |
        | agent-response.v1    |

  @BRD-13 @cap:runner.invocations
  Rule: Where there are no tool requests, nothing is executed

    Scenario Outline: tool_requests is <value>
      Given a tool runner
      When the agent speaks with <value> as its tool_requests
      Then the runner serves the harmless calls
      And nothing is executed for it

      Examples:
        | value |
        | []    |
        | null  |

    Scenario: There is no tool_requests
      Given a tool runner
      When the agent speaks without tool_requests
      Then the runner serves the harmless calls
      And nothing is executed for it
