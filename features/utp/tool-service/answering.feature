@role:utp.tool-service
Feature: A Tool Service answers commands
  A worker publishes a command on the tool's subject. The Tool Service reads the tool.call card that the
  command points to, runs the tool, saves a tool.result card and reports a callback that points to it.

  @UTP-1-01
  Rule: A tool command is answered with a tool.result card and a callback

    Scenario: A valid command is answered
      Given a Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then a callback is reported for the call
      And a tool.result card is written for the call

    Scenario Outline: A command whose header <header> is <value> is answered
      Given a Tool Service
      And a command for the echo probe
      And the command's header "<header>" is "<value>"
      When the worker sends the command
      Then a callback is reported for the call
      And a tool.result card is written for the call

      Examples:
        | header             | value                                                   |
        | CG-Recursion-Depth | 0                                                       |
        | CG-Recursion-Depth | 7                                                       |
        | CG-Recursion-Depth | 12                                                      |
        | traceparent        | 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00 |
        | tracestate         | vendor=1,other=a:b                                      |

    @last
    Scenario Outline: The service survives the traceparent <value>
      Given a live Tool Service
      And a command for the echo probe
      And the command's header "traceparent" is "<value>"
      When the worker sends the command
      Then the service answers the next command

      Examples:
        | value                                                   |
        | not-a-trace                                             |
        | 00-00000000000000000000000000000000-0000000000000000-01 |
        | 00-4BF92F3577B34DA6A3CE929D0E0E4736-00F067AA0BA902B7-01 |

  @TDG-2-04
  Rule: The outcome of the tool's own work is what is reported

    Scenario: The result reflects arguments that the target has never seen
      Given a Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then the result shows the arguments of the card

  @TDG-3-01
  Rule: A call that completes normally is reported as success

    Scenario: A completed call has status success and no error
      Given a Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then the call ends as success
      And the tool.result card has no error

  @TDG-1-02
  Rule: Parameters come from the tool.call card that the command points to

    Scenario: The arguments of the card reach the tool
      Given a Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then the result shows the arguments of the card

    Scenario: A second card with other arguments is what counts
      Given a Tool Service
      And a command for the echo probe was answered
      And the next command is for a card of its own
      When the worker sends the command
      Then the result shows the arguments of the card

    Scenario: A card without arguments gives the tool none
      Given a Tool Service
      And a command for the echo probe was answered
      And the next command is for a card without arguments
      When the worker sends the command
      Then the result shows nothing of the earlier arguments

    Scenario Outline: The argument <value> reaches the tool as it is
      Given a Tool Service
      And a command for the echo probe
      And the tool.call card's argument "x" is <value>
      When the worker sends the command
      Then the result holds the card's argument "x"

      Examples:
        | value                           |
        | false                           |
        | 0                               |
        | ""                              |
        | null                            |
        | {}                              |
        | []                              |
        | -0.25                           |
        | 9007199254740993                |
        | "Ærø — 潮 'quoted' <b>&amp;</b>" |
        | [1, [2, {"a": null}], ""]       |
        | {"deep": {"er": [{"x": 0}]}}    |
        | true                            |
        | 0.1                             |
        | "42"                            |
        | "true"                          |
        | "  two  blanks  "               |
        | "one\\n\\ttwo\\r\\n"            |
        | "Re\\u0301union"                |
        | "high tide 🌊"                  |
        | "{project_id} {{agent_id}}"     |
        | [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] |
        | {"maxDays": 3, "Wind-Speed": 4} |
        | "Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind: Lighthouse and harbour, tide and wind:" |
        | "2026-03-29T02:30:00Z" |
        | "2026-03-29" |
        | "no" |
        | "null" |
        | "1e5" |
        | "{\\"a\\": [1]}" |
        | "[1, 2]" |
        | "100%25 of $HOME" |
        | "C:\\\\new\\\\table" |
        | "\\u201cquoted\\u201d\\u00a0and\\u200bjoined" |
        | "<script>tide()</script>" |
        | -42 |
        | 1234.5678901 |
        | 0.0000001 |
        | [3, 1, 3, 2] |
        | [[[[[[[[[["deep"]]]]]]]]]] |
        | {"a.b": 1, "$ref": 2, "_id": 3} |
        | {"Größe": 1, " k ": 2} |
        | {"0": "a", "1": "b"} |
        | "Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood; Ebb and flood;" |
        | 2.718281828459045 |
        | "2031-04-02T10:11:12+02:00" |
        | [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24] |

    # How long a text may be is a service's own business; one that takes it takes all of it.
    Scenario: A text of more than 10000 characters reaches the tool whole, where the service takes it
      Given a Tool Service
      And a command for the echo probe
      And the tool.call card's argument "x" is "{long}"
      When the worker sends the command
      Then the result holds the card's argument "x", where the service takes it

    # A service that adds the arguments of a card to those that it has runs the second call with both.
    Scenario: A card with other arguments gives the tool none of the earlier ones
      Given a Tool Service
      And a command for the echo probe
      And the tool.call card's argument "harbour" is "{token}"
      When the worker sends the command
      Then the call is answered
      Given the next command is for a card without arguments
      And the tool.call card's argument "x" is "plain"
      When the worker sends the command
      Then the result shows nothing of the earlier arguments

    # Members of a command and of a card have such names, and so have parameters of the functions that run tools. What a
    # service may read in a result, such as `error`, is left out.
    Scenario Outline: An argument that is called "<name>" reaches the tool as it is
      Given a Tool Service
      And a command for the echo probe
      And the tool.call card's argument "<name>" is "ebb"
      When the worker sends the command
      Then the result holds the card's argument "<name>", whatever its name

      Examples:
        | name             |
        | id               |
        | name             |
        | type             |
        | result           |
        | content          |
        | arguments        |
        | payload          |
        | self             |
        | args             |
        | project_id       |
        | agent_id         |
        | agent_turn_id    |
        | tool_call_id     |
        | tool_name        |
        | trace_id         |

    # A service that spells names its own way has the second value under the first name.
    Scenario Outline: The arguments "max_days" and "<other>" are two
      Given a Tool Service
      And a command for the echo probe
      And the tool.call card's argument "max_days" is 3
      And the tool.call card's argument "<other>" is 4
      When the worker sends the command
      Then the result holds the card's argument "max_days"

      Examples:
        | other    |
        | maxDays  |
        | max-days |
        | Max_Days |

  @TDG-2-01
  Rule: The service is reached in every project that its subject names

    Scenario: A second project is served like the first
      Given a Tool Service
      And another project with the suffix "-other"
      And a command for the echo probe
      When the worker sends the command
      Then the call is answered
      And the result shows the arguments of the card

    Scenario: A project whose id has capitals is served like the first
      Given a Tool Service
      And another project with the suffix "_Other"
      And a command for the echo probe
      When the worker sends the command
      Then the call is answered
      And the result shows the arguments of the card

  @TDG-2-02
  Rule: The service is reached in every channel that its subject names

    Scenario Outline: Channel "<channel>" is served
      Given a Tool Service
      And a command for the echo probe
      And the command goes to channel "<channel>"
      When the worker sends the command
      Then the call is answered
      And the result shows the arguments of the card

      Examples:
        | channel |
        | public  |
        | ch_7    |
        | Ch-7    |

  @TDG-2-03
  Rule: The service listens where its registration says, and nowhere else

    Scenario: A command on the registered subject is answered
      Given a Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then the call is answered

    @cap:probe.fail
    Scenario: After a call of one tool, another is reached on its own subject
      Given a Tool Service
      And a command for the fail probe was answered
      And a command for the echo probe
      When the worker sends the command
      Then the call is answered
      And the result shows the arguments of the card

    @absence
    Scenario: A command on the subject of another tool is left alone
      Given a live Tool Service
      And a command for the echo probe
      And the command goes to the subject of another tool
      When the worker sends the command
      Then the tool does not run

  @TDG-3-04
  Rule: The answer stays in the command's project and channel

    Scenario: A command in a channel of its own is reported there
      Given a Tool Service
      And a command for the echo probe
      And the command goes to channel "ch_7"
      When the worker sends the command
      Then the answer stays in channel "ch_7"

  @TDG-1-01
  Rule: Running a tool writes nothing to the state tables

    Scenario: A successful call leaves state alone
      Given a live Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then the call is answered
      And nothing is written to state

    @absence
    Scenario: A repeated call leaves state alone
      Given a live Tool Service
      And a command for the echo probe
      When the worker sends the command twice in a row
      Then nothing is written to state

    @absence
    Scenario: An invalid command leaves state alone
      Given a live Tool Service
      And a command for the echo probe
      And the command lacks "tool_call_card_id"
      When the worker sends the command
      Then nothing is written to state

    @cap:probe.fail
    Scenario: A failing call leaves state alone
      Given a live Tool Service
      And a command for the fail probe
      When the worker sends the command
      Then the call is answered
      And nothing is written to state
