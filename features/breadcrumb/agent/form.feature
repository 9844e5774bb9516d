@role:breadcrumb.agent
Feature: An agent writes its invocation in the exact structure
  An invocation is a JSON object with an action and a breadcrumb. The breadcrumb says what it is, whose session it
  belongs to, what the user reads and which tools are called. Members beyond these are tolerated. The last word of
  a turn has no call; its form is looked at too, and reported as a recommendation.

  @BRD-10 @cap:agent.envelope
  Rule: What the agent says is strict JSON

    Scenario Outline: What is said for <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then every invocation has the right JSON

      Examples:
        | errand              |
        | a memo to be saved  |
        | numbers to be added |

  @BRD-01 @cap:agent.envelope
  Rule: An invocation is one JSON object whose action is create

    Scenario Outline: The action of what is said for <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then every invocation has the right action

      Examples:
        | errand              |
        | a memo to be saved  |
        | numbers to be added |

  @BRD-02 @cap:agent.envelope
  Rule: Everything but the action stands in one object breadcrumb

    Scenario Outline: The breadcrumb of what is said for <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then every invocation has the right breadcrumb

      Examples:
        | errand              |
        | a memo to be saved  |
        | numbers to be added |

  @BRD-03
  Rule: The schema name of an invocation is agent.response.v1

    Scenario Outline: The schema name of what is said for <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then every invocation has the right schema name

      Examples:
        | errand              |
        | a memo to be saved  |
        | numbers to be added |

  @BRD-04
  Rule: An invocation has a title

    Scenario Outline: The title of what is said for <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then every invocation has the right title

      Examples:
        | errand              |
        | a memo to be saved  |
        | numbers to be added |

  @BRD-05
  Rule: An invocation has the tag agent:response

    Scenario Outline: The tags of what is said for <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then every invocation has the right tag

      Examples:
        | errand              |
        | a memo to be saved  |
        | numbers to be added |

  @BRD-06
  Rule: An invocation has a tag with the session of the user's message

    Scenario Outline: The session of what is said for <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then every invocation has the right session

      Examples:
        | errand             |
        | a note             |
        | a memo to be saved |
        | a note that fails  |

    Scenario: Two users at the same time
      Given an agent
      And a user who wants a note
      And another user, who wants numbers to be added
      When both ask at the same time
      Then every invocation has the right session

  @BRD-07
  Rule: The calls of an invocation are listed in context.tool_requests

    Scenario Outline: The calls of what is said for <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then every invocation has the right list of calls

      Examples:
        | errand              |
        | a memo to be saved  |
        | numbers to be added |

  @BRD-08
  Rule: A message to the user is a string

    Scenario Outline: The kind of message that is said for <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then every invocation has the right kind of message

      Examples:
        | errand             |
        | a note             |
        | a memo to be saved |
        | a note that fails  |

  @BRD-09
  Rule: An invocation has a message for the user

    Scenario Outline: The message that comes with the calls for <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then every invocation has the right message

      Examples:
        | errand              |
        | a memo to be saved  |
        | numbers to be added |

  Rule: What is said in a later turn has the same form

    @cap:agent.envelope
    Scenario Outline: The <part> of an invocation in a later turn
      Given an agent
      And a user who wants a note
      And the user then asks for two notes at once
      When the user asks for one after the other
      Then every invocation has the right <part>

      Examples:
        | rule   | part       |
        | BRD-01 | action     |
        | BRD-02 | breadcrumb |
        | BRD-10 | JSON       |

    Scenario Outline: The <part> of what is said in a later turn
      Given an agent
      And a user who wants a note
      And the user then asks for two notes at once
      When the user asks for one after the other
      Then every invocation has the right <part>

      Examples:
        | rule   | part            |
        | BRD-03 | schema name     |
        | BRD-04 | title           |
        | BRD-05 | tag             |
        | BRD-06 | session         |
        | BRD-07 | list of calls   |
        | BRD-08 | kind of message |

  # What the agent said last, it said to one of these two users.
  @BRD-06 @last
  Rule: An invocation has the session of no other user

    Scenario: Two users alone at the same time
      Given an agent
      And a user who wants a note that fails
      And another user, who wants two notes at once
      When both ask at the same time
      Then every invocation has the right session
