@role:breadcrumb.agent
Feature: An agent deals with what its tools answer
  Answers come in any order and name their call. Each has a status, which is looked at first.

  @BRD-58
  Rule: Answers are matched to calls by request_id

    Scenario: The answer to the second of two calls comes first
      Given an agent
      And a user who wants two notes at once
      When the user asks
      Then each answer is reported as that of its call

    Scenario: None of three answers comes at the turn of its call, from the front or from the back
      Given an agent
      And a user who wants three notes at once
      When the user asks
      Then each answer is reported as that of its call

  @BRD-82
  Rule: Nothing in an answer of status error is a result

    Scenario Outline: The failure of <errand> has an output all the same
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then nothing of the failure is reported or used as a result

      Examples:
        | errand                       |
        | a note that fails            |
        | a sum that fails             |
        | a question that fails        |
        | an addition that fails       |
        | a memo that fails            |
        | levels that fail             |
        | tides that fail              |
        | two notes of which one fails |
        | a question with a fallback   |

  @BRD-83
  Rule: An error is followed by some action

    Scenario Outline: The agent reacts to the failure of <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then the agent tries again, informs the user or calls another tool

      Examples:
        | errand                       |
        | a note that fails            |
        | a sum that fails             |
        | a question that fails        |
        | an addition that fails       |
        | a memo that fails            |
        | levels that fail             |
        | tides that fail              |
        | two notes of which one fails |
        | a question with a fallback   |

  @BRD-86
  Rule: The answer of a language model is worked into a last message

    Scenario: The language model answers
      Given an agent
      And a user who wants a question
      When the user asks
      Then a message without a call follows

  @BRD-82
  Rule: Nothing in a later answer of status error is a result either

    Scenario Outline: The failures of <first> and then of <then> have outputs all the same
      Given an agent
      And a user who wants <first>
      And the user then asks for <then>
      When the user asks for one after the other
      Then nothing of the failure is reported or used as a result

      Examples:
        | first             | then              |
        | a note that fails | a note that fails |
        | a sum that fails  | a note that fails |
        | a note that fails | a sum that fails  |
        | a note            | a note that fails |

    Scenario Outline: The failures of <one> and of <other> at the same time have outputs all the same
      Given an agent
      And a user who wants <one>
      And another user, who wants <other>
      When both ask at the same time
      Then nothing of the failure is reported or used as a result

      Examples:
        | one                   | other                        |
        | a note that fails     | a sum that fails             |
        | a question that fails | two notes of which one fails |

  @BRD-83
  Rule: A later error is followed by some action too

    Scenario Outline: The agent reacts to the failures of <first> and then of <then>
      Given an agent
      And a user who wants <first>
      And the user then asks for <then>
      When the user asks for one after the other
      Then the agent tries again, informs the user or calls another tool

      Examples:
        | first                 | then                         |
        | a note that fails     | a note that fails            |
        | a note that fails     | a sum that fails             |
        | a question that fails | two notes of which one fails |
