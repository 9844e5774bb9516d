@role:breadcrumb.runner
Feature: How an answer finds its request
  The id of a request is the agent's, and means nothing to the runner.

  @BRD-30
  Rule: The id comes back unchanged, whatever its form

    Scenario Outline: <form>
      Given a tool runner
      And a call
      And its id is <form>
      When the agent makes the call
      Then the answer repeats the id of the request

      Examples:
        | form                   |
        | llm-001                |
        | calc-1                 |
        | search-abc             |
        | s1                     |
        | a UUID                 |
        | one with a colon       |
        | one in capitals        |
        | one with other letters |
        | one of 120 signs       |
        | one like a path        |
        | one of digits          |

    Scenario: After a failure
      Given a tool runner
      And a call with a tool that nobody has
      When the agent makes the call
      Then the answer repeats the id of the request

    Scenario Outline: After a failure: <form>
      Given a tool runner
      And a call with a tool that nobody has
      And its id is <form>
      When the agent makes the call
      Then the answer repeats the id of the request

      Examples:
        | form               |
        | one in capitals    |
        | one like a path    |

  @BRD-31 @last
  Rule: A request without an id is not answered under another one

    Scenario: There is no id
      Given a tool runner
      And a call
      And it has no requestId
      When the agent makes the odd call between two harmless ones
      Then it is not answered under the id of another call
      And the runner goes on serving

    Scenario Outline: requestId is <value>
      Given a tool runner
      And a call
      And its requestId is <value>
      When the agent makes the odd call between two harmless ones
      Then it is not answered under the id of another call
      And the runner goes on serving

      Examples:
        | value |
        | null  |
        | ""    |
        | 17    |
