@role:utp.worker
Feature: The tool.call card holds the parameters of a call
  The command points to a card that was saved before it. The card names the tool and its arguments, in a form
  that the Tool Service can read without knowing the model.

  @UTP-4.1-36
  Rule: The card is there when the command goes out

    Scenario: The card was saved first, under the call's id
      Given an agent runtime
      And a model that calls a suspend tool
      When the model calls the tool
      Then the tool.call card was there before the command

    Scenario: The cards of two calls in one answer were saved first
      Given an agent runtime
      And a model that calls a suspend tool
      And a model that calls a terminate tool
      When the model calls the tool
      Then the tool.call card was there before the command

    @cap:worker.builtins
    Scenario: The card of a PMO built-in was saved first
      Given an agent runtime
      And a model that calls the PMO built-in "provision_agent" with {"action": "ensure", "agent_id": "ag_new"}
      When the model calls the tool
      Then the tool.call card was there before the command

  @TDG-1-23
  Rule: The card's content is a ToolCallContent

    Scenario: The card holds the tool's name and its arguments as an object
      Given an agent runtime
      And a model that calls a suspend tool
      When the model calls the tool
      Then the tool.call card holds a ToolCallContent

    Scenario: A call without arguments has an object too
      Given an agent runtime
      And a model that calls a suspend tool
      And the model gives no arguments
      When the model calls the tool
      Then the tool.call card holds a ToolCallContent

    Scenario: Each of two calls in one answer has a card of its own form
      Given an agent runtime
      And a model that calls a suspend tool
      And a model that calls a terminate tool
      When the model calls the tool
      Then the tool.call card holds a ToolCallContent

  @TDG-3.2-15
  Rule: The parameters of the call are in the card

    Scenario Outline: <value> comes through
      Given an agent runtime
      And a model that calls a suspend tool
      And the model gives "q" = <value>
      When the model calls the tool
      Then the card's argument "q" is <value>

      Examples:
        | value                      |
        | "x1"                       |
        | "Ærø — 'quoted' {braces}" |
        | 7340032                    |
        | false                      |
        | null                       |
        | [1, [2, {"a": null}]]      |
        | {"deep": {"er": ["x"]}}    |
        | {}                         |
        | []                         |
        | 0                          |
        | ""                         |
        | -12.5                      |
        | 9007199254740993           |
        | {"a": null, "b": [], "c": 0} |
        | "Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind:" |
        | "  two blanks around  "      |
        | "one line\\nand\\tanother\\n" |
        | "007"                        |
        | "true"                       |
        | "{\\"a\\": [1]}"             |
        | "[1, 2]"                     |
        | ["only"]                     |
        | [null, 0]                    |
        | 0.123456789                  |
        | -7                           |
        | "<b> &amp; \\\\ %20"         |
        | "🚢 𝄞 한글"                   |
        | {"Key.A-1": 1, "key.a-1": 2} |
        | "Ångström, Çelik, é"       |

    Scenario Outline: Nothing is made of <value>
      Given an agent runtime
      And a model that calls a suspend tool
      And the model gives "q" = <value>
      When the model calls the tool
      Then the card's argument "q" is <value>

      Examples:
        | value                                               |
        | "2031-04-02T10:11:12Z"                              |
        | "2031-04-02"                                        |
        | "12"                                                |
        | "-0.50"                                             |
        | "no"                                                |
        | "one\\r\\ntwo"                                      |
        | "bell \\u0007 end"                                  |
        | "zero\\u200bwidth"                                  |
        | "nb\\u00a0sp"                                       |
        | "“quoted”"                                          |
        | "https://pier.test/a%20b/"                          |
        | "~/log"                                             |
        | {"harbourName": 1}                                  |
        | {" a ": 1}                                          |
        | {"_id": 1, "$ref": 2}                               |
        | {"a": {"b": {"c": {"d": {"e": {"f": {"g": [1]}}}}}}} |
        | [{"a": 1}]                                          |
        | ["b", "a", "b"]                                     |
        | [1, null, 2]                                        |
        | 3.141592653589793                                   |

    Scenario: A long text comes through
      Given an agent runtime
      And a model that calls a suspend tool
      And the model gives "q" a text of 12 kB
      When the model calls the tool
      Then each card holds the arguments of its own call

    # A registration's own texts have their variables filled in; the model's do not.
    Scenario: A text of the model that looks like a variable comes through
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool fixes "z" = "({agent_id}) ({agent_id})"
      And the model gives "q" = "{project_id} and {agent_id}"
      When the model calls the tool
      Then the card's argument "q" is "{project_id} and {agent_id}"

    Scenario Outline: An argument that is called "<name>" comes through
      Given an agent runtime
      And a model that calls a suspend tool
      And the model gives "<name>" = <value>
      When the model calls the tool
      Then the card's argument "<name>" is <value>

      Examples:
        | name            | value           |
        | agent_id        | "ag_of_another" |
        | tool_name       | "barometer"     |
        | after_execution | "terminate"     |
        | arguments       | {"k": 1}        |
        | status          | "closed"        |
        | Q               | "capital"       |
        | harbour.name-2  | "Brest"         |
