@role:utp.pmo
Feature: A PMO validates commands before it has others do something
  What becomes of an invalid command is open: a failed result, or no answer at all. What is not open: no turn is
  started, no agent is entered into the roster, no success is reported, and the PMO answers the next valid command.

  Rule: A command without a required member is not executed

    Scenario Outline: A built-in does nothing without "<member>"
      Given a live PMO
      And a command for a built-in
      And the command lacks "<member>"
      When the worker sends the command
      Then the tool does not run

      Examples:
        | rule       | member            |
        | UTP-4.1-24 | after_execution   |
        | UTP-4.1-25 | tool_call_card_id |

      @until:v1r3
      Examples: until v1r3
        | rule       | member            |
        | UTP-4.1-19 | agent_id          |
        | UTP-4.1-20 | agent_turn_id     |
        | UTP-4.1-21 | turn_epoch        |
        | UTP-4.1-22 | step_id           |
        | UTP-4.1-23 | tool_call_id      |

    Scenario Outline: <builtin> does nothing without "<member>"
      Given a live PMO
      And a command for <builtin>
      And the command lacks "<member>"
      When the worker sends the command
      Then the tool does not run

      @cap:builtin.provision_agent
      Examples:
        | rule       | member            | builtin         |
        | UTP-4.1-24 | after_execution   | provision_agent |
        | UTP-4.1-25 | tool_call_card_id | provision_agent |

      @until:v1r3
      @cap:builtin.provision_agent
      Examples: until v1r3
        | rule       | member            | builtin         |
        | UTP-4.1-19 | agent_id          | provision_agent |
        | UTP-4.1-20 | agent_turn_id     | provision_agent |
        | UTP-4.1-21 | turn_epoch        | provision_agent |
        | UTP-4.1-22 | step_id           | provision_agent |
        | UTP-4.1-23 | tool_call_id      | provision_agent |

      @cap:builtin.fork_join
      Examples:
        | rule       | member            | builtin   |
        | UTP-4.1-24 | after_execution   | fork_join |
        | UTP-4.1-25 | tool_call_card_id | fork_join |

      @until:v1r3
      @cap:builtin.fork_join
      Examples: until v1r3
        | rule       | member            | builtin   |
        | UTP-4.1-19 | agent_id          | fork_join |
        | UTP-4.1-20 | agent_turn_id     | fork_join |
        | UTP-4.1-21 | turn_epoch        | fork_join |
        | UTP-4.1-22 | step_id           | fork_join |
        | UTP-4.1-23 | tool_call_id      | fork_join |

      @cap:builtin.launch_principal
      Examples:
        | rule       | member            | builtin          |
        | UTP-4.1-24 | after_execution   | launch_principal |
        | UTP-4.1-25 | tool_call_card_id | launch_principal |

      @until:v1r3
      @cap:builtin.launch_principal
      Examples: until v1r3
        | rule       | member            | builtin          |
        | UTP-4.1-19 | agent_id          | launch_principal |
        | UTP-4.1-20 | agent_turn_id     | launch_principal |
        | UTP-4.1-21 | turn_epoch        | launch_principal |
        | UTP-4.1-22 | step_id           | launch_principal |
        | UTP-4.1-23 | tool_call_id      | launch_principal |

      @cap:builtin.ask_expert
      Examples:
        | rule       | member            | builtin    |
        | UTP-4.1-24 | after_execution   | ask_expert |
        | UTP-4.1-25 | tool_call_card_id | ask_expert |

      @until:v1r3
      @cap:builtin.ask_expert
      Examples: until v1r3
        | rule       | member            | builtin    |
        | UTP-4.1-19 | agent_id          | ask_expert |
        | UTP-4.1-20 | agent_turn_id     | ask_expert |
        | UTP-4.1-21 | turn_epoch        | ask_expert |
        | UTP-4.1-22 | step_id           | ask_expert |
        | UTP-4.1-23 | tool_call_id      | ask_expert |

    @level:should
    Scenario Outline: A built-in does nothing when "<member>" is <value>
      Given a live PMO
      And a command for a built-in
      And the command's "<member>" is <value>
      When the worker sends the command
      Then the tool does not run

      Examples:
        | rule       | member            | value   |
        | UTP-4.1-24 | after_execution   | null    |
        | UTP-4.1-24 | after_execution   | ""      |
        | UTP-4.1-24 | after_execution   | "pause" |
        | UTP-4.1-25 | tool_call_card_id | null    |
        | UTP-4.1-25 | tool_call_card_id | ""      |

      @until:v1r3
      Examples: until v1r3
        | rule       | member            | value   |
        | UTP-4.1-19 | agent_id          | null    |
        | UTP-4.1-19 | agent_id          | ""      |
        | UTP-4.1-20 | agent_turn_id     | null    |
        | UTP-4.1-20 | agent_turn_id     | ""      |
        | UTP-4.1-21 | turn_epoch        | null    |
        | UTP-4.1-22 | step_id           | null    |
        | UTP-4.1-22 | step_id           | ""      |
        | UTP-4.1-23 | tool_call_id      | null    |
        | UTP-4.1-23 | tool_call_id      | ""      |

    Scenario Outline: A built-in that ends the turn does nothing without "<member>"
      Given a live PMO
      And a command for a built-in
      And the tool is registered with after_execution "terminate"
      And the command's "after_execution" is "terminate"
      And the command lacks "<member>"
      When the worker sends the command
      Then the tool does not run

      Examples:
        | rule       | member            |
        | UTP-4.1-25 | tool_call_card_id |

      @until:v1r3
      Examples: until v1r3
        | rule       | member            |
        | UTP-4.1-19 | agent_id          |
        | UTP-4.1-20 | agent_turn_id     |
        | UTP-4.1-21 | turn_epoch        |
        | UTP-4.1-22 | step_id           |
        | UTP-4.1-23 | tool_call_id      |

    Scenario Outline: A provision_agent that ends the turn does nothing without "<member>"
      Given a live PMO
      And a command for provision_agent
      And the tool is registered with after_execution "terminate"
      And the command's "after_execution" is "terminate"
      And the command lacks "<member>"
      When the worker sends the command
      Then the tool does not run

      @cap:builtin.provision_agent
      Examples:
        | rule       | member            |
        | UTP-4.1-25 | tool_call_card_id |

      @until:v1r3
      @cap:builtin.provision_agent
      Examples: until v1r3
        | rule       | member            |
        | UTP-4.1-19 | agent_id          |
        | UTP-4.1-20 | agent_turn_id     |
        | UTP-4.1-21 | turn_epoch        |
        | UTP-4.1-22 | step_id           |
        | UTP-4.1-23 | tool_call_id      |

  @UTP-4.1-28
  Rule: A command without context_box_id is executed

    Scenario: The optional pointer to a context box is left out
      Given a PMO
      And a command for a built-in
      And the command lacks "context_box_id"
      When the worker sends the command
      Then the call succeeds

  @until:v1r3
  @UTP-4.1-29
  Rule: A command with context_box_id is executed

    Scenario: The optional pointer to a context box is there
      Given a PMO
      And a command for a built-in
      And the command's "context_box_id" is "box_7"
      When the worker sends the command
      Then the call succeeds

    Scenario Outline: <builtin> does what its card says beside a pointer to a context box
      Given a PMO
      And a command for <builtin>
      And the command's "context_box_id" is "box_7"
      When the worker sends the command
      Then the arguments of the card show in what the built-in does

      @cap:builtin.provision_agent
      Examples:
        | builtin         |
        | provision_agent |

      @cap:builtin.launch_principal
      Examples:
        | builtin          |
        | launch_principal |

      @cap:builtin.ask_expert
      Examples:
        | builtin    |
        | ask_expert |

      @cap:builtin.fork_join
      Examples:
        | builtin   |
        | fork_join |

  @until:v1r3
  @UTP-4.3-03
  Rule: Unknown members of a command are ignored

    Scenario: Extension fields change nothing
      Given a PMO
      And a command for a built-in
      And the command's "x_future" is {"a": 1, "deep": {"b": [true, null]}}
      And the command's "x_list" is [1]
      When the worker sends the command
      Then the call succeeds

    Scenario Outline: An extension field that is <value> changes nothing
      Given a PMO
      And a command for a built-in
      And the command's "x_future" is <value>
      When the worker sends the command
      Then the call succeeds

      Examples:
        | value |
        | true  |
        | 7     |
        | "on"  |
        | null  |

    Scenario Outline: <builtin> does what its card says beside extension fields
      Given a PMO
      And a command for <builtin>
      And the command's "x_future" is {"a": 1, "deep": {"b": [true, null]}}
      And the command's "x_list" is [1]
      When the worker sends the command
      Then the arguments of the card show in what the built-in does

      @cap:builtin.provision_agent
      Examples:
        | builtin         |
        | provision_agent |

      @cap:builtin.launch_principal
      Examples:
        | builtin          |
        | launch_principal |

      @cap:builtin.ask_expert
      Examples:
        | builtin    |
        | ask_expert |

      @cap:builtin.fork_join
      Examples:
        | builtin   |
        | fork_join |

  Rule: A tool.call card that is no ToolCallContent is not accepted

    Scenario Outline: A built-in does nothing when the card holds <content>
      Given a live PMO
      And a command for a built-in
      And the tool.call card holds <content>
      When the worker sends the command
      Then the tool does not run

      Examples:
        | rule     | content                        |
        | TDG-1-25 | plain text                     |
        | TDG-1-25 | text that looks like arguments |
        | TDG-1-26 | an arbitrary object            |

    Scenario Outline: <builtin> does nothing when the card holds <content>
      Given a live PMO
      And a command for <builtin>
      And the tool.call card holds <content>
      When the worker sends the command
      Then the tool does not run

      @cap:builtin.provision_agent
      Examples:
        | rule     | content                        | builtin         |
        | TDG-1-25 | plain text                     | provision_agent |
        | TDG-1-25 | text that looks like arguments | provision_agent |
        | TDG-1-26 | an arbitrary object            | provision_agent |

      @cap:builtin.launch_principal
      Examples:
        | rule     | content                        | builtin          |
        | TDG-1-25 | plain text                     | launch_principal |
        | TDG-1-25 | text that looks like arguments | launch_principal |
        | TDG-1-26 | an arbitrary object            | launch_principal |

      @cap:builtin.ask_expert
      Examples:
        | rule     | content                        | builtin    |
        | TDG-1-25 | plain text                     | ask_expert |
        | TDG-1-25 | text that looks like arguments | ask_expert |
        | TDG-1-26 | an arbitrary object            | ask_expert |

      @cap:builtin.fork_join
      Examples:
        | rule     | content                        | builtin   |
        | TDG-1-25 | plain text                     | fork_join |
        | TDG-1-25 | text that looks like arguments | fork_join |
        | TDG-1-26 | an arbitrary object            | fork_join |

  @TDG-3-03
  Rule: Without its tool.call card a call does not run

    Scenario: The card that the command points to does not exist
      Given a live PMO
      And a command for a built-in
      And the tool.call card is missing
      When the worker sends the command
      Then the tool does not run

    @cap:builtin.provision_agent
    Scenario: The card is missing and no agent is made
      Given a live PMO
      And a command for provision_agent
      And the tool.call card is missing
      When the worker sends the command
      Then the tool does not run

    Scenario Outline: The card is missing and <builtin> does nothing
      Given a live PMO
      And a command for <builtin>
      And the tool.call card is missing
      When the worker sends the command
      Then the tool does not run

      @cap:builtin.launch_principal
      Examples:
        | builtin          |
        | launch_principal |

      @cap:builtin.ask_expert
      Examples:
        | builtin    |
        | ask_expert |

      @cap:builtin.fork_join
      Examples:
        | builtin   |
        | fork_join |

    @level:should
    Scenario: The card exists in another project only
      Given a live PMO
      And a command for a built-in
      And the tool.call card exists in another project only
      When the worker sends the command
      Then the tool does not run
