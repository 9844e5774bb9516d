@role:breadcrumb.runner
Feature: Several requests in one message
  They are independent of each other.

  @BRD-87 @cap:runner.invocations
  Rule: Every request is executed and answered under its own id

    Scenario: Three calls of one tool
      Given a tool runner
      And a call
      And a call
      And a call
      When the agent makes the calls
      Then each is answered under its own id with what it asked for

    Scenario: Calls of several tools
      Given a tool runner
      And a call of calculator
      And a call of echo
      And a call of calculator
      And a call of random
      And a call of echo
      When the agent makes the calls
      Then each is answered under its own id with what it asked for

    Scenario: Two calls of a message that says nothing to the user
      Given a tool runner
      And a call of calculator
      And a call of echo
      And the message says nothing to the user
      When the agent makes the calls
      Then each is answered under its own id with what it asked for

    Scenario: A dozen calls
      Given a tool runner
      And 12 calls
      When the agent makes the calls
      Then each is answered under its own id with what it asked for

    @cap:tool.echo
    Scenario: Two calls that ask for the same
      Given a tool runner
      And a call of echo for "the same words"
      And a call of echo for "the same words"
      When the agent makes the calls
      Then each is answered under its own id with what it asked for

    Scenario: Forty calls
      Given a tool runner
      And 40 calls
      When the agent makes the calls
      Then each is answered under its own id with what it asked for

  @BRD-88 @cap:runner.invocations
  Rule: The requests of a message are executed side by side

    @long
    Scenario: Two timers
      Given a tool runner
      And a call of timer
      And a call of timer
      When the agent makes the calls at the same time
      Then they take no longer than one of them

  @BRD-89 @cap:runner.invocations
  Rule: A request that fails leaves the others alone

    Scenario Outline: <failure>, and two calls
      Given a tool runner
      And a call with <failure>
      And a call
      And a call
      When the agent makes the calls
      Then the first fails, and the others succeed

      Examples:
        | failure                       |
        | an expression that breaks off |
        | no expression                 |
        | a tool that nobody has        |
        | a word for seconds            |
