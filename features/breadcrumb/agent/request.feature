@role:breadcrumb.agent
Feature: An agent describes each call completely
  A call names its tool, brings its input, has an id of its own and says where its result goes. It may name a
  configuration.

  @BRD-14
  Rule: A call names its tool

    Scenario Outline: The tool of each call for <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then every call has the right tool

      Examples:
        | errand              |
        | a memo to be saved  |
        | numbers to be added |

  @BRD-15
  Rule: A tool is spelt as in the catalog

    Scenario Outline: The name of each tool for <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then every call names a tool of the catalog

      Examples:
        | errand                     |
        | a sum                      |
        | a note                     |
        | a memo to be saved         |
        | a question with a fallback |
        | the tides of the day       |

  @BRD-20
  Rule: An input is a JSON object

    Scenario Outline: The input of each call for <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then every call has the right input

      Examples:
        | errand               |
        | a sum                |
        | a memo to be saved   |
        | numbers to be added  |
        | the tides of the day |

  @BRD-21
  Rule: An input meets the requirements of its tool

    Scenario Outline: The parameters of each call for <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then every input meets the requirements of its tool

      Examples:
        | errand               |
        | a sum                |
        | a memo to be saved   |
        | a list of levels     |
        | another list of levels |
        | a question           |
        | numbers to be added  |
        | the tides of the day |

  @BRD-26
  Rule: A call has an id

    Scenario Outline: The id of each call for <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then every call has the right request id

      Examples:
        | errand              |
        | a sum               |
        | a memo to be saved  |
        | numbers to be added |

  @BRD-27
  Rule: No two calls of a message have the same id

    Scenario Outline: The ids of the calls for <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then no two calls of a message have the same id

      Examples:
        | errand                       |
        | two notes at once            |
        | two notes of which one fails |

  @BRD-28
  Rule: No id is used again in its session

    Scenario Outline: The ids of <first> and then <then>
      Given an agent
      And a user who wants <first>
      And the user then asks for <then>
      When the user asks for one after the other
      Then no id is used twice in the session

      Examples:
        | first               | then                |
        | a note              | a note              |
        | a sum               | a sum               |
        | a note that fails   | a note              |
        | a memo to be saved  | numbers to be added |
        | numbers to be added | two notes at once   |

    Scenario: The ids of the same call in three turns
      Given an agent
      And a user who wants a sum of fixed numbers
      And the user then asks for a note
      And the user then asks for a sum of fixed numbers
      When the user asks for one after the other
      Then no id is used twice in the session

    Scenario: The ids of a task of several steps
      Given an agent
      And a user who wants numbers to be added
      When the user asks
      Then no id is used twice in the session

  @BRD-29
  Rule: An id consists of a prefix, a hyphen and a suffix

    Scenario Outline: The form of the ids for <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then every call has the right form of request id

      Examples:
        | errand              |
        | a sum               |
        | two notes at once   |
        | a memo to be saved  |
        | numbers to be added |

  @BRD-32
  Rule: A call says with a boolean whether its result comes back

    Scenario Outline: The flag of each call for <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then every call has the right flag

      Examples:
        | errand              |
        | a sum               |
        | a memo to be saved  |
        | numbers to be added |

  @BRD-39 @cap:agent.config
  Rule: A configuration is named by a UUID

    Scenario Outline: The configuration for <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then every configuration is named by a UUID

      Examples:
        | errand                     |
        | a question                 |
        | a question with a fallback |

  @BRD-40 @cap:agent.config
  Rule: A configuration that is named exists

    Scenario Outline: The configuration for <errand>
      Given an agent
      And a user who wants <errand>
      When the user asks
      Then every configuration that is named is in the store

      Examples:
        | errand                     |
        | a question                 |
        | a question with a fallback |

  Rule: A call in a later turn is described as completely

    Scenario Outline: The <member> of a call in a later turn
      Given an agent
      And a user who wants a note
      And the user then asks for two notes at once
      When the user asks for one after the other
      Then every call has the right <member>

      Examples:
        | rule   | member     |
        | BRD-14 | tool       |
        | BRD-20 | input      |
        | BRD-26 | request id |
        | BRD-32 | flag       |

    @BRD-15
    Scenario: The name of a tool in a later turn
      Given an agent
      And a user who wants a note
      And the user then asks for two notes at once
      When the user asks for one after the other
      Then every call names a tool of the catalog

    @BRD-21
    Scenario: The parameters of a call in a later turn
      Given an agent
      And a user who wants a note
      And the user then asks for two notes at once
      When the user asks for one after the other
      Then every input meets the requirements of its tool

    @BRD-21
    Scenario: The parameters of the same call in a later turn
      Given an agent
      And a user who wants a list of levels
      And the user then asks for a list of levels
      When the user asks for one after the other
      Then every input meets the requirements of its tool

  @BRD-28
  Rule: A session of many calls has as many ids

    @long
    Scenario: The ids of eleven calls
      Given an agent
      And a user who wants two notes at once
      And the user then asks for two notes at once
      And the user then asks for two notes at once
      And the user then asks for two notes at once
      And the user then asks for two notes at once
      And the user then asks for a note
      When the user asks for one after the other
      Then no id is used twice in the session
