@role:breadcrumb.runner
Feature: A runner answers once
  Whoever counts answers, or adds them up, relies on it.

  @BRD-57 @long
  Rule: Each request is answered by exactly one breadcrumb

    Scenario: A success
      Given a tool runner
      And a call
      When the agent makes the calls and waits for one more answer
      Then each is answered once

    Scenario Outline: A failure: <failure>
      Given a tool runner
      And a call with <failure>
      When the agent makes the calls and waits for one more answer
      Then each is answered once

      Examples:
        | failure                       |
        | an expression that breaks off |
        | a tool that nobody has        |

    Scenario: Three calls of one message
      Given a tool runner
      And a call
      And a call
      And a call
      When the agent makes the calls and waits for one more answer
      Then each is answered once

    Scenario: Two dozen calls of one message
      Given a tool runner
      And 24 calls
      When the agent makes the calls and waits for one more answer
      Then each is answered once

    @cap:runner.store
    Scenario: A call whose breadcrumb is changed afterwards
      Given a tool runner
      And a call
      When the agent makes the call, and then changes what they stand in
      Then each is answered once

    @cap:runner.store
    Scenario: Two calls whose breadcrumb is changed afterwards
      Given a tool runner
      And a call with an expression that breaks off
      And a call
      When the agent makes the calls, and then changes what they stand in
      Then each is answered once

    @cap:runner.routing
    Scenario Outline: A call of <tool> for the user
      Given a tool runner
      And a call of <tool> for the user
      When the agent makes the calls and waits for one more answer
      Then each is answered once

      Examples:
        | tool       |
        | calculator |
        | echo       |

    @cap:runner.routing
    Scenario: Two calls for the agent and for the user
      Given a tool runner
      And a call of calculator for the user
      And a call of calculator
      When the agent makes the calls and waits for one more answer
      Then each is answered once
