@role:breadcrumb.runner
Feature: A runner and calls that fail
  A failure is an answer like any other, with another status, and no reason to stop.

  @BRD-56
  Rule: A tool that fails is answered with the status error, not with a success that describes it

    Scenario Outline: <failure>
      Given a tool runner
      And a call with <failure>
      When the agent makes the call
      Then the failure is reported as such

      Examples:
        | failure                       |
        | an expression that breaks off |
        | an open bracket               |
        | words for an expression       |
        | a word for seconds            |
        | an update of nothing          |
        | a word behind a number        |
        | a bracket too many            |

    @cap:tool.calculator
    Scenario: A division by zero
      Given a tool runner
      And a call of calculator for "1 / 0"
      When the agent makes the call
      Then the failure is reported as such

    @cap:tool.calculator
    Scenario Outline: "<expression>" has no value
      Given a tool runner
      And a call of calculator for "<expression>"
      When the agent makes the call
      Then the failure is reported as such

      Examples: Divisions
        | expression  |
        | 0 / 0       |
        | 5 / (3 - 3) |

      Examples: What is no arithmetic
        | expression |
        | 12 34      |
        | print(42)  |

  @BRD-81
  Rule: A call that fails does not keep the runner from serving the next one

    Scenario Outline: <failure>
      Given a tool runner
      And a call with <failure>
      When the agent makes the failing call between two harmless ones
      Then the runner goes on serving

      Examples:
        | failure                       |
        | an expression that breaks off |
        | no expression                 |
        | a word for seconds            |
        | an update of nothing          |
        | a tool that nobody has        |

    Scenario: Many failures
      Given a tool runner
      And 40 calls with a tool that nobody has
      When the agent makes the failing calls between two harmless ones
      Then the runner goes on serving

    @cap:tool.calculator
    Scenario Outline: What a language that works out the expression would take for an order: <expression>
      Given a tool runner
      And a call of calculator for "<expression>"
      When the agent makes the failing call between two harmless ones
      Then the runner goes on serving

      Examples:
        | expression      |
        | exit()          |
        | process.exit(1) |

    @cap:tool.calculator @last
    Scenario Outline: What takes more time, or more depth, than there is: <expression>
      Given a tool runner
      And a call of calculator for "<expression>"
      When the agent makes the failing call between two harmless ones
      Then the runner goes on serving

      Examples:
        | expression |
        | 9**9**9    |
        | ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1 |
