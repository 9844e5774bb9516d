@role:breadcrumb.runner
Feature: What becomes of the input of a request
  The input is the tool's affair; the runner hands it on.

  @BRD-22
  Rule: The tool receives its input exactly as the request had it

    Scenario Outline: <text>
      Given a tool runner
      And a call of echo with <text>
      When the agent makes the call
      Then the tool has received <text> as it was

      Examples:
        | text                   |
        | many scripts           |
        | two normal forms       |
        | quotes and backslashes |
        | a variable             |
        | digits                 |
        | a zero                 |
        | a truth value          |
        | JSON                   |
        | blanks around it       |
        | blank lines            |
        | control characters     |
        | markup                 |
        | 20 kB                  |

    Scenario: Nested values and numbers
      Given a tool runner
      And a call of breadcrumb-create with nested values and numbers
      When the agent makes the call
      Then the breadcrumb that it stores holds them as they were

    Scenario: Names of members
      Given a tool runner
      And a call of breadcrumb-create with names that are easily altered
      When the agent makes the call
      Then the breadcrumb that it stores holds them as they were

  @BRD-23
  Rule: An empty object will do where nothing is required

    Scenario: The input of random is empty
      Given a tool runner
      And a call of random
      And its input is {}
      When the agent makes the call
      Then the call succeeds

  @BRD-24
  Rule: An input that leaves out what is required ends in an error

    Scenario Outline: calculator with <input>
      Given a tool runner
      And a call with <input>
      When the agent makes the call
      Then the call ends in an error

      Examples:
        | input                           |
        | no expression                   |
        | another name for the expression |

    Scenario: calculator with null for an expression
      Given a tool runner
      And a call of calculator
      And its input is {"expression": null}
      When the agent makes the call
      Then the call ends in an error

    Scenario Outline: calculator with an expression that is <value>
      Given a tool runner
      And a call of calculator
      And its input is {"expression": <value>}
      When the agent makes the call
      Then the call ends in an error

      Examples:
        | value |
        | ""    |
        | "  "  |
        | {}    |

  @BRD-25 @last
  Rule: An input that is no object is refused

    Scenario Outline: <tool> without an input
      Given a tool runner
      And a call of <tool>
      And it has no input
      When the agent makes the odd call between two harmless ones
      Then it is not executed
      And the runner goes on serving

      Examples:
        | tool       |
        | echo       |
        | calculator |
        | random     |

    Scenario Outline: The input of <tool> is <value>
      Given a tool runner
      And a call of <tool>
      And its input is <value>
      When the agent makes the odd call between two harmless ones
      Then it is not executed
      And the runner goes on serving

      Examples:
        | tool       | value     |
        | echo       | "x"       |
        | echo       | [1]       |
        | echo       | null      |
        | calculator | "31 + 11" |
        | random     | "x"       |
        | random     | [1]       |
        | random     | null      |
        | random     | true      |
        | random     | 17        |
        | random     | 0         |
        | random     | ""        |
        | echo       | [{"message": "x"}] |
        | calculator | "{\\"expression\\": \\"31 + 11\\"}" |

    Scenario: The input stands in another member
      Given a tool runner
      And a call of calculator
      And it has no input
      And its arguments is {"expression": "31 + 11"}
      When the agent makes the odd call between two harmless ones
      Then it is not executed
      And the runner goes on serving
