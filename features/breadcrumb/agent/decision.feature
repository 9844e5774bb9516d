@role:breadcrumb.agent
Feature: An agent has a result come back when it needs it
  The decision tree is advice for a model, so what is found here warns.

  @BRD-45
  Rule: A result that the agent needs comes back to it

    Scenario Outline: The agent needs the result of <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then the result is to come back to the agent

      Examples:
        | errand               |
        | a note               |
        | a memo to be checked |
        | numbers to be added  |
        | a note that decides  |

  @BRD-46
  Rule: A result that only the user needs goes to the user

    Scenario Outline: The user alone needs the result of <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then the result is to go to the user

      Examples:
        | errand             |
        | a sum              |
        | a memo to be saved |
        | a note to be shown |

  Rule: A task of several steps

    @BRD-105
    Scenario Outline: The first result of <errand> comes back
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then the result is to come back to the agent

      Examples:
        | errand              |
        | numbers to be added |
        | a note that decides |

    @BRD-106
    Scenario: The second step is made of the first result
      Given an agent
      And a user who wants numbers to be added
      When the user asks
      Then what follows is made of the result

    @BRD-107
    Scenario Outline: <errand> end without an open call
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then the task ends without an open call

      Examples:
        | errand                 |
        | numbers to be added    |
        | an addition that fails |

    @BRD-107
    Scenario Outline: <errand> in a later turn end without an open call
      Given an agent
      And a user who wants a note
      And the user then asks for <errand>
      When the user asks for one after the other
      Then the task ends without an open call

      Examples:
        | errand                 |
        | numbers to be added    |
        | an addition that fails |

  Rule: A tool that has a fallback

    @BRD-108
    Scenario: The first of two language models fails
      Given an agent
      And a user who wants a question with a fallback
      When the user asks
      Then the agent tries the fallback or informs the user

    @BRD-109
    Scenario: The fallback answers
      Given an agent
      And a user who wants a question with a fallback
      When the user asks
      Then the user is informed what the fallback returned
