@role:utp.worker
Feature: A registration may complete the model's arguments
  A tool's row may hold defaults, fixed values and names of environment variables. The worker applies them
  when it writes the tool.call card, and hides from the model what the model has no say in.

  @TDG-4.1-01
  Rule: A default counts where the model leaves the parameter out

    Scenario Outline: The default <value> is filled in
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool has the default "n" = <value>
      When the model calls the tool
      Then the card's argument "n" is <value>

      Examples:
        | value   |
        | 5       |
        | "metre" |
        | false   |

    Scenario Outline: The default <value> is filled in as it is
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool has the default "m" = <value>
      When the model calls the tool
      Then the card's argument "m" is <value>

      Examples:
        | value                   |
        | 0                       |
        | true                    |
        | ""                      |
        | 0.25                    |
        | []                      |
        | [1, {"deep": [null]}]   |
        | {"unit": "m", "to": {}} |
        | "5"                     |
        | "Ærø, $HOME and 100 %"  |
        | " two blanks "          |

    Scenario Outline: A default of a <kind> tool is filled in where the model gives nothing at all
      Given an agent runtime
      And a model that calls a <kind> tool
      And the tool has the default "m" = <value>
      And the model gives no arguments
      When the model calls the tool
      Then the card's argument "m" is <value>

      Examples:
        | kind      | value   |
        | suspend   | "metre" |
        | terminate | "foot"  |

    Scenario Outline: A default beyond the integers of a double is filled in as it is: <value>
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool has the default "m" = <value>
      When the model calls the tool
      Then the card's argument "m" is <value>

      Examples:
        | value            |
        | 9007199254740993 |

    Scenario: A default of a parameter that is required is filled in
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool has the default "scale" = "metre"
      And the tool requires "scale"
      When the model calls the tool
      Then the card's argument "scale" is "metre"

    @cap:worker.builtins
    Scenario: A default of a PMO built-in is filled in
      Given an agent runtime
      And a model that calls the PMO built-in "ask_expert" with {"expert_profile": "general", "question": "When is high water?"}
      And the tool has the default "unit" = "metre"
      When the model calls the tool
      Then the card's argument "unit" is "metre"

  @TDG-4.1-02
  Rule: A default does not count where the model gives a value

    Scenario Outline: <given> stands against the default <default>
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool has the default "n" = <default>
      And the model gives "n" = <given>
      When the model calls the tool
      Then the card's argument "n" is <given>

      Examples:
        | default | given  |
        | 5       | 1      |
        | 5       | 0      |
        | "metre" | ""     |
        | true    | false  |
        | "metre" | " "    |
        | "metre" | "null" |

    Scenario Outline: <given>, which is easily taken for nothing, stands against the default <default>
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool has the default "m" = <default>
      And the model gives "m" = <given>
      When the model calls the tool
      Then the card's argument "m" is <given>

      Examples:
        | default  | given |
        | 0.5      | 0     |
        | ["a"]    | []    |
        | {"a": 1} | {}    |

    Scenario Outline: <given> takes the place of the whole default <default>
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool has the default "m" = <default>
      And the model gives "m" = <given>
      When the model calls the tool
      Then the card's argument "m" is <given>

      Examples:
        | default          | given        |
        | {"a": 1, "b": 2} | {"b": 3}     |
        | ["a", "b"]       | ["c"]        |
        | "metre"          | "{agent_id}" |

  @TDG-4.1-03
  Rule: Null is a value

    Scenario: Null stands against the default
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool has the default "n" = 5
      And the model gives "n" = null
      When the model calls the tool
      Then the card's argument "n" is null

  @TDG-4.1-04
  Rule: A fixed value counts whatever the model gives

    Scenario Outline: The fixed value stands against <given>
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool fixes "n" = 9
      And the model gives "n" = <given>
      When the model calls the tool
      Then the card's argument "n" is 9

      Examples:
        | given |
        | 1     |
        | null  |
        | 0     |

    Scenario Outline: The fixed value <fixed> stands against <given>
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool fixes "m" = <fixed>
      And the model gives "m" = <given>
      When the model calls the tool
      Then the card's argument "m" is <fixed>

      Examples:
        | fixed    | given    |
        | false    | true     |
        | ""       | "x"      |
        | {"c": 1} | {"b": 2} |
        | ["a"]    | ["b"]    |

    Scenario Outline: A fixed null stands against <given>
      Given an agent runtime
      And a model that calls a suspend tool
      And the model gives "m" = <given>
      And the tool fixes "m" = null
      When the model calls the tool
      Then the card's argument "m" is null

      Examples:
        | given |
        | "x"   |
        | 5     |

  @TDG-4.1-05
  Rule: A fixed value counts where the model leaves the parameter out

    Scenario: The fixed value is filled in
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool fixes "n" = 9
      When the model calls the tool
      Then the card's argument "n" is 9

    Scenario Outline: The fixed value <value> is filled in as it is
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool fixes "m" = <value>
      When the model calls the tool
      Then the card's argument "m" is <value>

      Examples:
        | value              |
        | 0                  |
        | false              |
        | ""                 |
        | ["a", [2.5, null]] |
        | "12"               |
        | "true"             |

    Scenario Outline: A fixed value of a <kind> tool is filled in where the model gives nothing at all
      Given an agent runtime
      And a model that calls a <kind> tool
      And the tool fixes "m" = <value>
      And the model gives no arguments
      When the model calls the tool
      Then the card's argument "m" is <value>

      Examples:
        | kind      | value    |
        | suspend   | "fathom" |
        | terminate | "cable"  |

    Scenario Outline: Nothing is made of the fixed value <value>
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool fixes "m" = <value>
      When the model calls the tool
      Then the card's argument "m" is <value>

      Examples:
        | value                                                    |
        | "  two fathoms  "                                        |
        | "$HOME and 100 %"                                        |
        | 9007199254740995                                         |
        | 0.75                                                     |
        | 0.123456                                                 |
        | "Ærø, 漢字 and <b> & 'quotes'"                           |
        | "one line\\nand\\tanother, with \\\\n as it is"         |
        | {"north": {"pier": {"berths": [4, {}]}}}                 |

    @cap:worker.builtins
    Scenario: A fixed value of a PMO built-in is filled in
      Given an agent runtime
      And a model that calls the PMO built-in "ask_expert" with {"expert_profile": "general", "question": "When is high water?"}
      And the tool fixes "unit" = "fathom"
      When the model calls the tool
      Then the card's argument "unit" is "fathom"

  @TDG-4.1-06
  Rule: The model sees nothing of a fixed parameter

    Scenario: A fixed parameter is neither offered nor required
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool fixes "tenant" = "fixed-7731"
      And the tool requires "tenant"
      When the model calls the tool
      Then the model is shown neither "tenant" nor "fixed-7731"

    Scenario: It is not offered to another agent either
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool fixes "tenant" = "fixed-7731"
      And the tool requires "tenant"
      And another agent's turn that waits for a suspend call too
      When the model calls the tool
      Then the model is shown neither "tenant" nor "fixed-7731"

    @cap:resume
    Scenario: It is not offered later in the turn either
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool fixes "tenant" = "fixed-7731"
      And the tool requires "tenant"
      When the tool is called and answered, and the turn runs on
      Then the model is shown neither "tenant" nor "fixed-7731"

    Scenario: A fixed parameter of a terminate tool is not offered either
      Given an agent runtime
      And a model that calls a terminate tool
      And the tool fixes "berth" = "fixed-5523"
      And the tool requires "berth"
      When the model calls the tool
      Then the model is shown neither "berth" nor "fixed-5523"

    Scenario Outline: A parameter that is fixed to <value> is neither offered nor required
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool fixes "<name>" = <value>
      And the tool requires "<name>"
      When the model calls the tool
      Then the model is not shown "<name>"

      Examples:
        | name           | value                  |
        | berth_zero     | 0                      |
        | berth_false    | false                  |
        | berth_empty    | ""                     |
        | berth_null     | null                   |
        | berth_object   | {"pier": {"north": 4}} |
        | berth_list     | ["north", 4]           |
        | berth_template | "{project_id}"         |

    Scenario Outline: Of two fixed parameters "<name>" is neither offered nor required
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool fixes "tenant" = "fixed-7731"
      And the tool fixes "region" = "fixed-8842"
      And the tool requires "tenant"
      And the tool requires "region"
      When the model calls the tool
      Then the model is shown neither "<name>" nor "<value>"

      Examples:
        | name   | value      |
        | tenant | fixed-7731 |
        | region | fixed-8842 |

    Scenario: It is not offered where another parameter has a default
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool has the default "n" = 5
      And the tool fixes "mooring" = "fixed-6614"
      And the tool requires "mooring"
      When the model calls the tool
      Then the model is shown neither "mooring" nor "fixed-6614"

    Scenario: It is not offered where another parameter comes from the environment
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool takes "api_key" from the environment variable "CALLMARK_PARAM_KEY"
      And the tool fixes "anchorage" = "fixed-3390"
      And the tool requires "anchorage"
      When the model calls the tool
      Then the model is shown neither "anchorage" nor "fixed-3390"

    Scenario Outline: A parameter that is fixed to the number <value> is shown with neither name nor value
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool fixes "<name>" = <value>
      And the tool requires "<name>"
      When the model calls the tool
      Then the model is shown neither "<name>" nor "<value>"

      Examples:
        | name     | value    |
        | draught  | 77310429 |
        | position | 48.38317 |

    Scenario Outline: Of five fixed parameters "<name>" is neither offered nor required
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool fixes "quay" = "fixed-1101"
      And the tool fixes "dock" = "fixed-1202"
      And the tool fixes "crane" = "fixed-1303"
      And the tool fixes "lock" = "fixed-1404"
      And the tool fixes "buoy" = "fixed-1505"
      And the tool requires "lock"
      And the tool requires "buoy"
      When the model calls the tool
      Then the model is shown neither "<name>" nor "<value>"

      Examples:
        | name | value      |
        | lock | fixed-1404 |
        | buoy | fixed-1505 |

  @TDG-4.1-07
  Rule: For a parameter from the environment the card names the variable

    Scenario: The variable's name is in the card
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool takes "api_key" from the environment variable "CALLMARK_PARAM_KEY"
      When the model calls the tool
      Then the card says that "api_key" comes from "CALLMARK_PARAM_KEY"

    Scenario Outline: The variable's name is in the card of a <kind> call without arguments
      Given an agent runtime
      And a model that calls a <kind> tool
      And the tool takes "api_key" from the environment variable "CALLMARK_PARAM_KEY"
      And the model gives no arguments
      When the model calls the tool
      Then the card says that "api_key" comes from "CALLMARK_PARAM_KEY"

      Examples:
        | kind      |
        | suspend   |
        | terminate |

    Scenario Outline: Of two variables that of "<name>" is in the card
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool takes "api_key" from the environment variable "CALLMARK_PARAM_KEY"
      And the tool takes "map_key" from the environment variable "CALLMARK_MAP_KEY"
      When the model calls the tool
      Then the card says that "<name>" comes from "<variable>"

      Examples:
        | name    | variable           |
        | api_key | CALLMARK_PARAM_KEY |
        | map_key | CALLMARK_MAP_KEY   |

    Scenario Outline: The variable's name is in the card where another parameter has a <kind> value
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool takes "api_key" from the environment variable "CALLMARK_PARAM_KEY"
      And the tool <giver> "unit" = "metre"
      When the model calls the tool
      Then the card says that "api_key" comes from "CALLMARK_PARAM_KEY"

      Examples:
        | kind    | giver           |
        | fixed   | fixes           |
        | default | has the default |

  @TDG-4.1-08
  @cap:environment
  Rule: The value of a variable is in no card

    Scenario: The variable's value is in no card
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool takes "api_key" from the environment variable "CALLMARK_PARAM_KEY"
      When the model calls the tool
      Then no card holds the variable's value

    Scenario: Nor is it in a card of a terminate tool
      Given an agent runtime
      And a model that calls a terminate tool
      And the tool takes "pass_key" from the environment variable "CALLMARK_PARAM_KEY"
      When the model calls the tool
      Then no card holds the variable's value

    Scenario: Nor is that of the second of two variables
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool takes "map_key" from the environment variable "CALLMARK_MAP_KEY"
      And the tool takes "zone_key" from the environment variable "CALLMARK_PARAM_KEY"
      When the model calls the tool
      Then no card holds the variable's value

  Rule: Defaults and fixed values do not get in each other's way

    Scenario Outline: "<name>" of a tool that has two defaults and two fixed values
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool has the default "n" = 5
      And the tool has the default "m" = "metre"
      And the tool fixes "tenant" = "fixed-7731"
      And the tool fixes "region" = "fixed-8842"
      When the model calls the tool
      Then the card's argument "<name>" is <value>

      Examples:
        | rule       | name   | value        |
        | TDG-4.1-01 | n      | 5            |
        | TDG-4.1-01 | m      | "metre"      |
        | TDG-4.1-05 | tenant | "fixed-7731" |
        | TDG-4.1-05 | region | "fixed-8842" |

  Rule: The ten ID fields are filled in

    Scenario Outline: "{<variable>}" in a fixed value
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool fixes "z" = "({<variable>}) ({<variable>})"
      When the model calls the tool
      Then the card's argument "z" holds the call's "<variable>"

      Examples:
        | rule        | variable       |
        | TDG-4.1-12  | project_id     |
        | TDG-4.1-13  | channel_id     |
        | TDG-4.1-14  | agent_id       |
        | TDG-4.1-15  | agent_turn_id  |
        | TDG-4.1-16  | step_id        |
        | TDG-4.1-17  | tool_call_id   |
        | TDG-4.1-18  | parent_step_id |
        | TDG-4.1-19  | trace_id       |
        | TDG-4.1-20  | turn_epoch     |
        | TDG-4.1-21  | context_box_id |

    Scenario Outline: "{<variable>}" in a default
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool has the default "z" = "({<variable>}) ({<variable>})"
      When the model calls the tool
      Then the card's argument "z" holds the call's "<variable>"

      Examples:
        | rule        | variable       |
        | TDG-4.1-12  | project_id     |
        | TDG-4.1-13  | channel_id     |
        | TDG-4.1-14  | agent_id       |
        | TDG-4.1-15  | agent_turn_id  |
        | TDG-4.1-16  | step_id        |
        | TDG-4.1-17  | tool_call_id   |
        | TDG-4.1-18  | parent_step_id |
        | TDG-4.1-19  | trace_id       |
        | TDG-4.1-20  | turn_epoch     |
        | TDG-4.1-21  | context_box_id |

  @TDG-4.1-22
  Rule: No other placeholder is filled in

    Scenario: Neither the environment nor another field comes into the text
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool fixes "z" = "a {CALLMARK_PARAM_KEY} b {tool_name}"
      When the model calls the tool, if the worker lets it
      Then the card's argument "z" brings no value of the environment or of the tool

    Scenario Outline: Nor does it when it is a <kind> value: <value>
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool <giver> "z" = <value>
      When the model calls the tool, if the worker lets it
      Then the card's argument "z" brings no value of the environment or of the tool

      Examples:
        | kind    | giver           | value                                                  |
        | default | has the default | "a {CALLMARK_PARAM_KEY} b {tool_name}"                 |
        | default | has the default | "a $CALLMARK_PARAM_KEY b ${CALLMARK_PARAM_KEY} c"      |
        | fixed   | fixes           | "a $CALLMARK_PARAM_KEY b ${CALLMARK_PARAM_KEY} c"      |
        | fixed   | fixes           | "a {env.CALLMARK_PARAM_KEY} b %CALLMARK_PARAM_KEY% c" |

  Rule: Different variables in one text are all filled in

    Scenario Outline: Agent and channel in a <kind> value: <rule>
      Given an agent runtime
      And a model that calls a suspend tool
      And the turn runs in channel "ch_7"
      And the tool <giver> "z" = <value>
      When the model calls the tool
      Then the card's argument "z" is "(ag_pilot) (ch_7)"

      Examples:
        | rule       | kind    | giver           | value                          |
        | TDG-4.1-13 | fixed   | fixes           | "({agent_id}) ({channel_id})" |
        | TDG-4.1-13 | default | has the default | "({agent_id}) ({channel_id})" |

  @TDG-4.1-14
  Rule: A variable is filled in wherever it stands in a text

    Scenario Outline: A variable in the <kind> value <value>
      Given an agent runtime
      And a model that calls a suspend tool
      And the turn runs in channel "ch_7"
      And the tool <giver> "z" = <value>
      When the model calls the tool
      Then the card's argument "z" is <filled>

      Examples:
        | kind    | giver           | value                                     | filled                            |
        | fixed   | fixes           | "{agent_id}"                              | "ag_pilot"                        |
        | default | has the default | "{agent_id}"                              | "ag_pilot"                        |
        | fixed   | fixes           | "{agent_id} on duty"                      | "ag_pilot on duty"                |
        | default | has the default | "{agent_id} on duty"                      | "ag_pilot on duty"                |
        | fixed   | fixes           | "on duty: {agent_id}"                     | "on duty: ag_pilot"               |
        | default | has the default | "on duty: {agent_id}"                     | "on duty: ag_pilot"               |
        | fixed   | fixes           | "({agent_id}{channel_id})"                | "(ag_pilotch_7)"                  |
        | default | has the default | "({agent_id}{channel_id})"                | "(ag_pilotch_7)"                  |
        | fixed   | fixes           | "100 % of {agent_id}, $5"                 | "100 % of ag_pilot, $5"           |
        | fixed   | fixes           | "the first line\\nand {agent_id}"         | "the first line\\nand ag_pilot"   |
        | fixed   | fixes           | "{agent_id}, {agent_id} and {agent_id}"   | "ag_pilot, ag_pilot and ag_pilot" |
        | default | has the default | "{agent_id}, {agent_id} and {agent_id}"   | "ag_pilot, ag_pilot and ag_pilot" |

    Scenario Outline: A variable in the second of two <kind> values
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool <giver> "y" = "berth {agent_id}"
      And the tool <giver> "z" = "pier {agent_id}"
      When the model calls the tool
      Then the card's argument "<name>" is <filled>

      Examples:
        | kind    | giver           | name | filled           |
        | fixed   | fixes           | y    | "berth ag_pilot" |
        | fixed   | fixes           | z    | "pier ag_pilot"  |
        | default | has the default | y    | "berth ag_pilot" |
        | default | has the default | z    | "pier ag_pilot"  |

    Scenario: A variable in a default, where another value is fixed
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool has the default "z" = "buoy {agent_id}"
      And the tool fixes "tenant" = "fixed-7731"
      When the model calls the tool
      Then the card's argument "z" is "buoy ag_pilot"

    Scenario Outline: A variable in a <kind> value of a call without arguments
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool <giver> "z" = "quay {agent_id}"
      And the model gives no arguments
      When the model calls the tool
      Then the card's argument "z" is "quay ag_pilot"

      Examples:
        | kind    | giver           |
        | fixed   | fixes           |
        | default | has the default |

  @TDG-4.1-17
  Rule: The id of a call is filled in as it is

    Scenario Outline: "{tool_call_id}" of a call whose id is <form>
      Given an agent runtime
      And a model that calls a suspend tool
      And the model's id of the call is <form>
      And the tool fixes "z" = "({tool_call_id}) ({tool_call_id})"
      When the model calls the tool
      Then the card's argument "z" holds the call's "tool_call_id"

      Examples:
        | form                           |
        | a path                         |
        | in both cases                  |
        | over a hundred characters long |

  @TDG-4.1-01
  Rule: A default of null is a default

    Scenario Outline: The default null of a <kind> tool is filled in
      Given an agent runtime
      And a model that calls a <kind> tool
      And the tool has the default "pilot" = null
      When the model calls the tool
      Then the card's argument "pilot" is null

      Examples:
        | kind      |
        | suspend   |
        | terminate |
