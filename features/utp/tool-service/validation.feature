@role:utp.tool-service
Feature: A Tool Service validates commands before it runs a tool
  What becomes of an invalid command is open: a failed result, or no answer at all. What is not open: the
  tool does not run, no success is reported, and the service goes on to answer the next valid command.

  Rule: A command without a required member is not executed

    Scenario Outline: The <probe> probe does not run without "<member>"
      Given a live Tool Service
      And a command for the <probe> probe
      And the command lacks "<member>"
      When the worker sends the command
      Then the tool does not run

      Examples:
        | rule       | member            | probe |
        | UTP-4.1-35 | tool_call_card_id | echo  |

      @until:v1r3
      Examples: until v1r3
        | rule       | member            | probe |
        | TDG-1-29   | tool_call_id      | echo  |
        | TDG-1-30   | agent_turn_id     | echo  |
        | TDG-1-31   | turn_epoch        | echo  |
        | TDG-1-32   | agent_id          | echo  |

      @cap:probe.count
      Examples: counted
        | rule       | member            | probe |
        | UTP-4.1-35 | tool_call_card_id | count |

      @until:v1r3
      @cap:probe.count
      Examples: counted
        | rule       | member            | probe |
        | TDG-1-29   | tool_call_id      | count |
        | TDG-1-30   | agent_turn_id     | count |
        | TDG-1-31   | turn_epoch        | count |
        | TDG-1-32   | agent_id          | count |

    @level:should
    Scenario Outline: The tool does not run when "<member>" is <value>
      Given a live Tool Service
      And a command for the echo probe
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
      Given a live Tool Service
      And a command for the echo probe
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
      Given a live Tool Service
      And a command for the echo probe
      And the command lacks "after_execution"
      When the worker sends the command
      Then the callback, if there is one, names suspend or terminate

  @UTP-4.1-26
  Rule: A command may leave out the tool's name

    Scenario: What becomes of a command without tool_name is recorded
      Given a live Tool Service
      And a command for the echo probe
      And the command lacks "tool_name"
      When the worker sends the command
      Then it is noted whether the tool ran

  @UTP-4.1-28
  Rule: A command without context_box_id is executed

    Scenario: The optional pointer to a context box is left out
      Given a Tool Service
      And a command for the echo probe
      And the command lacks "context_box_id"
      When the worker sends the command
      Then the call succeeds

  @until:v1r3
  @UTP-4.1-29
  Rule: A command with context_box_id is executed

    Scenario: The optional pointer to a context box is there
      Given a Tool Service
      And a command for the echo probe
      And the command's "context_box_id" is "box_7"
      When the worker sends the command
      Then the call succeeds

  @until:v1r3
  @UTP-4.3-02
  Rule: Unknown members of a command are ignored

    Scenario: Extension fields change nothing
      Given a Tool Service
      And a command for the echo probe
      And the command's "x_future" is {"a": 1, "deep": {"b": [true, null]}}
      And the command's "x_list" is [1]
      When the worker sends the command
      Then the call succeeds

    Scenario Outline: An extension field that is <value> changes nothing
      Given a Tool Service
      And a command for the echo probe
      And the command's "x_future" is <value>
      When the worker sends the command
      Then the call succeeds

      Examples:
        | value |
        | true  |
        | 7     |
        | "on"  |
        | null  |

  @UTP-1-01
  Rule: A message that is no command does not stop the service

    @last
    Scenario Outline: The service survives <what>
      Given a live Tool Service
      And a command for the echo probe
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
      Given a live Tool Service
      And a command for the echo probe
      And the command has no headers
      When the worker sends the command
      Then the service answers the next command

    @last
    Scenario: The service survives a command without a traceparent
      Given a live Tool Service
      And a command for the echo probe
      And the command has no header "traceparent"
      When the worker sends the command
      Then the service answers the next command

    @last
    Scenario Outline: The service survives a command whose "<member>" is <value>
      Given a live Tool Service
      And a command for the echo probe
      And the command's "<member>" is <value>
      When the worker sends the command
      Then the service answers the next command

      Examples:
        | member            | value    |
        | tool_call_card_id | {"a": 1} |

      @until:v1r3
      Examples: until v1r3
        | member        | value    |
        | tool_call_id  | {"a": 1} |
        | agent_turn_id | [1]      |
        | agent_id      | 7        |

  Rule: A tool.call card that is no ToolCallContent is not accepted

    Scenario Outline: The tool does not run when the card holds <content>
      Given a live Tool Service
      And a command for the echo probe
      And the tool.call card holds <content>
      When the worker sends the command
      Then the tool does not run

      Examples:
        | rule     | content                        |
        | TDG-1-25 | plain text                     |
        | TDG-1-25 | text that looks like arguments |
        | TDG-1-26 | an arbitrary object            |

    Scenario Outline: The <probe> probe does not run when the card holds <content>
      Given a live Tool Service
      And a command for the <probe> probe
      And the tool.call card holds <content>
      When the worker sends the command
      Then the tool does not run

      @cap:probe.count
      Examples: counted
        | rule     | content             | probe |
        | TDG-1-25 | plain text          | count |
        | TDG-1-26 | an arbitrary object | count |

      @cap:probe.ctl
      Examples: overriding
        | rule     | content             | probe |
        | TDG-1-25 | plain text          | ctl   |
        | TDG-1-26 | an arbitrary object | ctl   |

    Scenario Outline: A tool whose call ends its turn does not run when the card holds <content>
      Given a live Tool Service
      And a command for the echo probe
      And the command's "after_execution" is "terminate"
      And the tool.call card holds <content>
      When the worker sends the command
      Then the tool does not run

      Examples:
        | rule     | content             |
        | TDG-1-25 | plain text          |
        | TDG-1-26 | an arbitrary object |

  @TDG-3-03
  Rule: Without its tool.call card a call does not run

    Scenario: The card that the command points to does not exist
      Given a live Tool Service
      And a command for the echo probe
      And the tool.call card is missing
      When the worker sends the command
      Then the tool does not run

    @cap:probe.count
    Scenario: The card is missing and nothing is counted
      Given a live Tool Service
      And a command for the count probe
      And the tool.call card is missing
      When the worker sends the command
      Then the tool does not run

    @level:should
    Scenario: The card exists in another project only
      Given a live Tool Service
      And a command for the echo probe
      And the tool.call card exists in another project only
      When the worker sends the command
      Then the tool does not run

  @UTP-1-01
  Rule: A command of other types does not stop the service

    @last
    Scenario Outline: The service survives a command whose member "<member>" is <value>
      Given a live Tool Service
      And a command for the echo probe
      And the command's "<member>" is <value>
      When the worker sends the command
      Then the service answers the next command

      Examples:
        | member          | value    |
        | tool_name       | [1]      |
        | tool_name       | null     |
        | after_execution | {"a": 1} |

      @until:v1r3
      Examples: until v1r3
        | member          | value    |
        | turn_epoch      | {"a": 1} |
        | step_id         | null     |

    @last
    Scenario: The service survives an empty object
      Given a live Tool Service
      And a command for the echo probe
      And the command has no headers
      And the command lacks "agent_id"
      And the command lacks "agent_turn_id"
      And the command lacks "turn_epoch"
      And the command lacks "tool_call_id"
      And the command lacks "after_execution"
      And the command lacks "tool_call_card_id"
      And the command lacks "tool_name"
      When the worker sends the command
      Then the service answers the next command

    @last
    Scenario Outline: The service survives <what> in place of a command
      Given a live Tool Service
      And a command for the echo probe
      When the worker sends <what> in place of the command
      Then the service answers the next command

      Examples:
        | what                               |
        | JSON nested a thousand levels deep |

    @last
    Scenario Outline: The service survives a tool.call card that <defect>
      Given a live Tool Service
      And a command for the echo probe
      And the tool.call card <defect>
      When the worker sends the command
      Then the service answers the next command

      Examples:
        | defect                      |
        | holds null                  |
        | holds a list                |
        | has null as its arguments   |
        | has text as its arguments   |
        | has a list as its arguments |

    @last
    Scenario Outline: The service survives an argument that is <value>
      Given a live Tool Service
      And a command for the echo probe
      And the tool.call card's argument "note" is <value>
      When the worker sends the command
      Then the service answers the next command

      Examples:
        | value               |
        | "ebb\\u0000flood"   |
        | {"\\u0000": "ebb"}  |
