@role:utp.openapi
@cap:jina.search
Feature: An executor validates commands before it asks the upstream
  What becomes of an invalid command is open. What is not: the upstream is not asked, no success is reported, and the
  executor goes on to answer the next valid command.

  Rule: A command without a required member is not executed

    Scenario Outline: The executor does not run without "<member>"
      Given a live OpenAPI executor
      And a command for the search tool
      And the command lacks "<member>"
      When the worker sends the command
      Then the tool does not run

      Examples:
        | rule       | member            |
        | UTP-4.1-35 | tool_call_card_id |

      @until:v1r3
      Examples: until v1r3
        | rule       | member            |
        | TDG-1-29   | tool_call_id      |
        | TDG-1-30   | agent_turn_id     |
        | TDG-1-31   | turn_epoch        |
        | TDG-1-32   | agent_id          |

    @level:should
    Scenario Outline: The tool does not run when "<member>" is <value>
      Given a live OpenAPI executor
      And a command for the search tool
      And the command's "<member>" is <value>
      When the worker sends the command
      Then the tool does not run

      Examples:
        | rule       | member            | value |
        | UTP-4.1-35 | tool_call_card_id | null  |
        | UTP-4.1-35 | tool_call_card_id | ""    |

      @until:v1r3
      Examples: until v1r3
        | rule       | member            | value |
        | TDG-1-29   | tool_call_id      | null  |
        | TDG-1-29   | tool_call_id      | ""    |
        | TDG-1-30   | agent_turn_id     | null  |
        | TDG-1-30   | agent_turn_id     | ""    |
        | TDG-1-31   | turn_epoch        | null  |
        | TDG-1-32   | agent_id          | null  |
        | TDG-1-32   | agent_id          | ""    |

  Rule: External tools also ask for the members that the documents call common

    Scenario Outline: The tool does not run without "<member>"
      Given a live OpenAPI executor
      And a command for the search tool
      And the command lacks "<member>"
      When the worker sends the command
      Then the tool does not run

      Examples:
        | rule     | member          |
        | TDG-1-33 | tool_name       |
        | TDG-1-34 | after_execution |

  @TDG-1-34
  Rule: Whatever answers a command without after_execution names a value that there is

    Scenario: A callback for a command without after_execution is well-formed
      Given a live OpenAPI executor
      And a command for the search tool
      And the command lacks "after_execution"
      When the worker sends the command
      Then the callback, if there is one, names suspend or terminate

  @UTP-4.1-28
  Rule: A command without context_box_id is executed

    Scenario: The optional pointer to a context box is left out
      Given an OpenAPI executor
      And a command for the search tool
      And the command lacks "context_box_id"
      When the worker sends the command
      Then the call succeeds

  @until:v1r3
  @UTP-4.1-29
  Rule: A command with context_box_id is executed

    Scenario: The optional pointer to a context box is there
      Given an OpenAPI executor
      And a command for the search tool
      And the command's "context_box_id" is "box_7"
      When the worker sends the command
      Then the call succeeds

  @until:v1r3
  @UTP-4.3-02
  Rule: Unknown members of a command are ignored

    Scenario: Extension fields change nothing
      Given an OpenAPI executor
      And a command for the search tool
      And the command's "x_future" is {"a": 1, "deep": {"b": [true, null]}}
      And the command's "x_list" is [1]
      When the worker sends the command
      Then the call succeeds

  @UTP-1-01
  Rule: A message that is no command does not stop the service

    @last
    Scenario Outline: The service survives <what>
      Given a live OpenAPI executor
      And a command for the search tool
      When the worker sends <what> in place of the command
      Then the service answers the next command

      Examples:
        | what                     |
        | malformed JSON           |
        | a JSON list              |
        | the JSON value null      |
        | a JSON number            |
        | a JSON string            |
        | an empty payload         |
        | a large payload          |
        | bytes that are not UTF-8 |

    @last
    Scenario: The service survives a command without headers
      Given a live OpenAPI executor
      And a command for the search tool
      And the command has no headers
      When the worker sends the command
      Then the service answers the next command

    @last
    Scenario: The service survives a command without a traceparent
      Given a live OpenAPI executor
      And a command for the search tool
      And the command has no header "traceparent"
      When the worker sends the command
      Then the service answers the next command

  Rule: A tool.call card that is no ToolCallContent is not accepted

    Scenario Outline: The tool does not run when the card holds <content>
      Given a live OpenAPI executor
      And a command for the search tool
      And the tool.call card holds <content>
      When the worker sends the command
      Then the tool does not run

      Examples:
        | rule     | content                        |
        | TDG-1-25 | plain text                     |
        | TDG-1-25 | text that looks like arguments |
        | TDG-1-26 | an arbitrary object            |

  @TDG-3-03
  Rule: Without its tool.call card a call does not run

    Scenario: The card that the command points to does not exist
      Given a live OpenAPI executor
      And a command for the search tool
      And the tool.call card is missing
      When the worker sends the command
      Then the tool does not run

    @level:should
    Scenario: The card exists in another project only
      Given a live OpenAPI executor
      And a command for the search tool
      And the tool.call card exists in another project only
      When the worker sends the command
      Then the tool does not run
