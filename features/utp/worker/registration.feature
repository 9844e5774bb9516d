@role:utp.worker
Feature: A registration counts for every call of its tool
  What is right for a tool's first call may be wrong for the next: after the result, in the model's second answer, or
  in the second of two calls.

  @cap:resume
  Rule: Defaults and fixed values count in the model's next answer as well

    Scenario Outline: <what> is filled in for the call after the result: <rule>
      Given an agent runtime
      And a model that calls a suspend tool
      And the <giver> "unit" = <value>
      And a model that calls the same tool again after the result
      When the model makes one call after another, and each is answered
      Then each card's argument "unit" is <value>

      Examples:
        | rule       | what          | giver                | value    |
        | TDG-4.1-01 | A default     | tool has the default | "metre"  |
        | TDG-4.1-05 | A fixed value | tool fixes           | "fathom" |

    @TDG-4.1-04
    Scenario: A fixed value stands against what the model gives after the result
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool fixes "count" = 9
      And the model gives "count" = 1
      And a model that calls the same tool again after the result
      When the model makes one call after another, and each is answered
      Then each card's argument "count" is 9

    Scenario Outline: "{<variable>}" in a <kind> value is that of the call after the result
      Given an agent runtime
      And a model that calls a suspend tool
      And the <giver> "label" = "({<variable>}) ({<variable>})"
      And a model that calls the same tool again after the result
      When the model makes one call after another, and each is answered
      Then each card's argument "label" holds its own call's "<variable>"

      Examples:
        | rule       | variable     | kind    | giver                |
        | TDG-4.1-16 | step_id      | fixed   | tool fixes           |
        | TDG-4.1-16 | step_id      | default | tool has the default |
        | TDG-4.1-17 | tool_call_id | fixed   | tool fixes           |
        | TDG-4.1-17 | tool_call_id | default | tool has the default |

  @TDG-4.1-07
  Rule: The variable stands in every card

    Scenario: Each of two calls in one answer names the variable
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool takes "api_key" from the environment variable "CALLMARK_PARAM_KEY"
      And a model that calls the same tool once more in that answer
      When the model calls the tool
      Then each card says that "api_key" comes from "CALLMARK_PARAM_KEY"

    @cap:resume
    Scenario: The call after the result names the variable
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool takes "api_key" from the environment variable "CALLMARK_PARAM_KEY"
      And a model that calls the same tool again after the result
      When the model makes one call after another, and each is answered
      Then each card says that "api_key" comes from "CALLMARK_PARAM_KEY"

    Scenario: A variable in small letters is named as it is
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool takes "map_key" from the environment variable "callmark_Map_key2"
      When the model calls the tool
      Then the card says that "map_key" comes from "callmark_Map_key2"

  Rule: Values of the environment are the executor's

    @TDG-4.1-08
    @cap:environment
    @cap:resume
    Scenario: The value is in no card of the whole turn, its deliverable included
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool takes "api_key" from the environment variable "CALLMARK_PARAM_KEY"
      When the tool is called and answered, and the turn runs on
      Then no card holds the variable's value

    @TDG-3.2-15
    Scenario: What the model writes like a variable of the environment comes through
      Given an agent runtime
      And a model that calls a suspend tool
      And the model gives "q" = "$CALLMARK_PARAM_KEY or ${CALLMARK_PARAM_KEY}"
      When the model calls the tool
      Then the card's argument "q" is "$CALLMARK_PARAM_KEY or ${CALLMARK_PARAM_KEY}"

  Rule: A registration may fix all that there is, and at any length

    @TDG-4.1-06
    Scenario Outline: Where every parameter is fixed, "<name>" is neither offered nor required
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool fixes "harbour" = "Brest"
      And the tool fixes "token" = "fixed-7731"
      And the tool requires "<name>"
      And the model gives no arguments
      When the model calls the tool
      Then the model is not shown "<name>"

      Examples:
        | name    |
        | harbour |
        | token   |

    Scenario Outline: A long text is filled in whole: <rule>
      Given an agent runtime
      And a model that calls a suspend tool
      And the <giver> "<name>" = "Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: ."
      When the model calls the tool
      Then the card's argument "<name>" is "Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: ."

      Examples:
        | rule       | giver                | name   |
        | TDG-4.1-01 | tool has the default | note   |
        | TDG-4.1-05 | tool fixes           | remark |

  @TDG-4.1-12
  Rule: An id is filled in as it is written

    Scenario Outline: The id of a project in both cases is filled in, in a <kind> value
      Given an agent runtime in a project whose id ends in "-Ab"
      And a model that calls a suspend tool
      And the <giver> "z" = "({project_id}) ({project_id})"
      When the model calls the tool
      Then the card's argument "z" holds the call's "project_id"

      Examples:
        | kind    | giver                |
        | fixed   | tool fixes           |
        | default | tool has the default |
