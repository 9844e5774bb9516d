@role:utp.pmo
Feature: What holds for one built-in holds for every other
  The PMO's built-ins differ in what they do and in how long they take; the way in which they answer is one.
  Those that wait for child agents answer when these have ended.

  Rule: The callback of every built-in repeats ids and after_execution unchanged

    Scenario Outline: "<member>" of <builtin> comes back as <value>
      Given a PMO
      And a command for <builtin>
      And the command's "<member>" is <value>
      When the worker sends the command
      Then the callback's "<member>" is the command's

      @cap:builtin.provision_agent
      Examples:
        | builtin | rule | member | value |
        | provision_agent | TDG-1-08 | after_execution | "terminate" |

      @until:v1r3
      @cap:builtin.provision_agent
      Examples: until v1r3
        | builtin | rule | member | value |
        | provision_agent | TDG-1-05 | agent_turn_id | "Turn-41_b:{unique}" |
        | provision_agent | TDG-1-06 | turn_epoch | 7340032 |
        | provision_agent | TDG-1-07 | tool_call_id | "Call-9X_a:{unique}" |

      @cap:builtin.launch_principal
      Examples:
        | builtin | rule | member | value |
        | launch_principal | TDG-1-08 | after_execution | "terminate" |

      @until:v1r3
      @cap:builtin.launch_principal
      Examples: until v1r3
        | builtin | rule | member | value |
        | launch_principal | TDG-1-05 | agent_turn_id | "Turn-41_b:{unique}" |
        | launch_principal | TDG-1-06 | turn_epoch | 7340032 |
        | launch_principal | TDG-1-07 | tool_call_id | "Call-9X_a:{unique}" |

      @cap:builtin.ask_expert
      Examples:
        | builtin | rule | member | value |
        | ask_expert | TDG-1-08 | after_execution | "terminate" |

      @until:v1r3
      @cap:builtin.ask_expert
      Examples: until v1r3
        | builtin | rule | member | value |
        | ask_expert | TDG-1-05 | agent_turn_id | "Turn-41_b:{unique}" |
        | ask_expert | TDG-1-06 | turn_epoch | 7340032 |
        | ask_expert | TDG-1-07 | tool_call_id | "Call-9X_a:{unique}" |

      @cap:builtin.fork_join
      Examples:
        | builtin | rule | member | value |
        | fork_join | TDG-1-08 | after_execution | "terminate" |

      @until:v1r3
      @cap:builtin.fork_join
      Examples: until v1r3
        | builtin | rule | member | value |
        | fork_join | TDG-1-05 | agent_turn_id | "Turn-41_b:{unique}" |
        | fork_join | TDG-1-06 | turn_epoch | 7340032 |
        | fork_join | TDG-1-07 | tool_call_id | "Call-9X_a:{unique}" |

    @TDG-1-08
    Scenario Outline: "after_execution" of <builtin> comes back as "terminate" where the platform refuses what it asks for
      Given a PMO
      And a command for <builtin>
      And the tool is registered with after_execution "terminate"
      And the command's "after_execution" is "terminate"
      And the platform refuses what the built-in asks for
      When the worker sends the command
      Then the callback's "after_execution" is the command's

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

    @TDG-1-08
    Scenario Outline: "after_execution" of <builtin> comes back as "terminate" when its children fail
      Given a PMO
      And a command for <builtin>
      And the tool is registered with after_execution "terminate"
      And the command's "after_execution" is "terminate"
      And its children end as failed
      When the worker sends the command
      Then the callback's "after_execution" is the command's

      @cap:builtin.ask_expert
      Examples:
        | builtin    |
        | ask_expert |

      @cap:builtin.fork_join
      Examples:
        | builtin   |
        | fork_join |

  @UTP-4.2-02
  Rule: The callback of every built-in is the caller's, and lies in its Inbox

    Scenario Outline: The caller of <builtin> finds its callback
      Given a PMO
      And a command for <builtin>
      When the worker sends the command
      Then the caller's Inbox holds the callback

      @cap:builtin.provision_agent
      Examples:
        | builtin |
        | provision_agent |

      @cap:builtin.launch_principal
      Examples:
        | builtin |
        | launch_principal |

      @cap:builtin.ask_expert
      Examples:
        | builtin |
        | ask_expert |

      @cap:builtin.fork_join
      Examples:
        | builtin |
        | fork_join |

  @TDG-2-06
  Rule: The callback of every built-in names the caller

    Scenario Outline: The callback of <builtin> names the agent that called
      Given a PMO
      And a command for <builtin>
      When the worker sends the command
      Then the callback's "agent_id" is the command's

      @cap:builtin.provision_agent
      Examples:
        | builtin |
        | provision_agent |

      @cap:builtin.launch_principal
      Examples:
        | builtin |
        | launch_principal |

      @cap:builtin.ask_expert
      Examples:
        | builtin |
        | ask_expert |

      @cap:builtin.fork_join
      Examples:
        | builtin |
        | fork_join |

  @UTP-4.2-01
  Rule: Every built-in saves its card before it reports

    Scenario Outline: The card of <builtin> comes first
      Given a PMO
      And a command for <builtin>
      When the worker sends the command
      Then the tool.result card was saved before the report

      @cap:builtin.provision_agent
      Examples:
        | builtin |
        | provision_agent |

      @cap:builtin.launch_principal
      Examples:
        | builtin |
        | launch_principal |

      @cap:builtin.ask_expert
      Examples:
        | builtin |
        | ask_expert |

      @cap:builtin.fork_join
      Examples:
        | builtin |
        | fork_join |

  @TDG-1-24
  Rule: Every built-in saves a ToolResultContent

    Scenario Outline: The card of <builtin> is typed
      Given a PMO
      And a command for <builtin>
      When the worker sends the command
      Then the tool.result card is a ToolResultContent

      @cap:builtin.provision_agent
      Examples:
        | builtin |
        | provision_agent |

      @cap:builtin.launch_principal
      Examples:
        | builtin |
        | launch_principal |

      @cap:builtin.ask_expert
      Examples:
        | builtin |
        | ask_expert |

      @cap:builtin.fork_join
      Examples:
        | builtin |
        | fork_join |

  @UTP-4.2-27
  Rule: No callback of a built-in inlines the result

    Scenario Outline: The callback of <builtin> has no member "result"
      Given a PMO
      And a command for <builtin>
      When the worker sends the command
      Then the callback lacks "result"

      @cap:builtin.provision_agent
      Examples:
        | builtin |
        | provision_agent |

      @cap:builtin.launch_principal
      Examples:
        | builtin |
        | launch_principal |

      @cap:builtin.ask_expert
      Examples:
        | builtin |
        | ask_expert |

      @cap:builtin.fork_join
      Examples:
        | builtin |
        | fork_join |

  @UTP-4.3-15
  Rule: No callback of a built-in repeats what the card says

    Scenario Outline: The callback of <builtin> routes and points
      Given a PMO
      And a command for <builtin>
      When the worker sends the command
      Then the callback holds routing and pointer members only

      @cap:builtin.provision_agent
      Examples:
        | builtin |
        | provision_agent |

      @cap:builtin.launch_principal
      Examples:
        | builtin |
        | launch_principal |

      @cap:builtin.ask_expert
      Examples:
        | builtin |
        | ask_expert |

      @cap:builtin.fork_join
      Examples:
        | builtin |
        | fork_join |

  @TDG-3-04
  Rule: Every built-in answers in the channel of its command

    Scenario Outline: <builtin> answers in channel "ch_7"
      Given a PMO
      And a command for <builtin>
      And the command goes to channel "ch_7"
      When the worker sends the command
      Then the answer stays in channel "ch_7"

      @cap:builtin.provision_agent
      Examples:
        | builtin |
        | provision_agent |

      @cap:builtin.launch_principal
      Examples:
        | builtin |
        | launch_principal |

      @cap:builtin.ask_expert
      Examples:
        | builtin |
        | ask_expert |

      @cap:builtin.fork_join
      Examples:
        | builtin |
        | fork_join |

  @TDG-1-03
  Rule: No built-in takes its parameters from inline `args`

    Scenario Outline: <builtin> does not use inline `args`
      Given a PMO
      And a command for <builtin>
      And the command carries "args" inline
      When the worker sends the command
      Then the inline value is not used

      @cap:builtin.provision_agent
      Examples:
        | builtin |
        | provision_agent |

      @cap:builtin.launch_principal
      Examples:
        | builtin |
        | launch_principal |

      @cap:builtin.ask_expert
      Examples:
        | builtin |
        | ask_expert |

      @cap:builtin.fork_join
      Examples:
        | builtin |
        | fork_join |

  @TDG-1-04
  Rule: No built-in takes its parameters from inline `arguments`

    Scenario Outline: <builtin> does not use inline `arguments`
      Given a PMO
      And a command for <builtin>
      And the command carries "arguments" inline
      When the worker sends the command
      Then the inline value is not used

      @cap:builtin.provision_agent
      Examples:
        | builtin |
        | provision_agent |

      @cap:builtin.launch_principal
      Examples:
        | builtin |
        | launch_principal |

      @cap:builtin.ask_expert
      Examples:
        | builtin |
        | ask_expert |

      @cap:builtin.fork_join
      Examples:
        | builtin |
        | fork_join |

  Rule: The callback of a later call is that of its own caller

    Scenario Outline: "<member>" of a later call of <builtin> comes back as <value>
      Given a live PMO
      And a command for <builtin> was answered
      And the next command is for a card of its own
      And the command's "<member>" is <value>
      When the worker sends the command
      Then the callback's "<member>" is the command's

      @cap:builtin.provision_agent
      Examples:
        | builtin         | rule     | member   | value   |
        | provision_agent | TDG-2-06 | agent_id | "ag_42" |

      @until:v1r3
      @cap:builtin.provision_agent
      Examples: until v1r3
        | builtin         | rule     | member     | value      |
        | provision_agent | TDG-1-06 | turn_epoch | 2147483653 |

      @since:v1r4
      @cap:builtin.provision_agent
      Examples: since v1r4
        | builtin         | rule  | member     | value      |
        | provision_agent | R4-08 | turn_epoch | 2147483653 |

      @cap:builtin.delegate_async
      Examples:
        | builtin        | rule     | member   | value   |
        | delegate_async | TDG-2-06 | agent_id | "ag_42" |

      @until:v1r3
      @cap:builtin.delegate_async
      Examples: until v1r3
        | builtin        | rule     | member     | value      |
        | delegate_async | TDG-1-06 | turn_epoch | 2147483653 |

      @since:v1r4
      @cap:builtin.delegate_async
      Examples: since v1r4
        | builtin        | rule  | member     | value      |
        | delegate_async | R4-08 | turn_epoch | 2147483653 |

      @cap:builtin.launch_principal
      Examples:
        | builtin          | rule     | member   | value   |
        | launch_principal | TDG-2-06 | agent_id | "ag_42" |

      @until:v1r3
      @cap:builtin.launch_principal
      Examples: until v1r3
        | builtin          | rule     | member     | value      |
        | launch_principal | TDG-1-06 | turn_epoch | 2147483653 |

      @since:v1r4
      @cap:builtin.launch_principal
      Examples: since v1r4
        | builtin          | rule  | member     | value      |
        | launch_principal | R4-08 | turn_epoch | 2147483653 |

      @cap:builtin.ask_expert
      Examples:
        | builtin    | rule     | member   | value   |
        | ask_expert | TDG-2-06 | agent_id | "ag_42" |

      @until:v1r3
      @cap:builtin.ask_expert
      Examples: until v1r3
        | builtin    | rule     | member     | value      |
        | ask_expert | TDG-1-06 | turn_epoch | 2147483653 |

      @since:v1r4
      @cap:builtin.ask_expert
      Examples: since v1r4
        | builtin    | rule  | member     | value      |
        | ask_expert | R4-08 | turn_epoch | 2147483653 |

      @cap:builtin.fork_join
      Examples:
        | builtin   | rule     | member   | value   |
        | fork_join | TDG-2-06 | agent_id | "ag_42" |

      @until:v1r3
      @cap:builtin.fork_join
      Examples: until v1r3
        | builtin   | rule     | member     | value      |
        | fork_join | TDG-1-06 | turn_epoch | 2147483653 |

      @since:v1r4
      @cap:builtin.fork_join
      Examples: since v1r4
        | builtin   | rule  | member     | value      |
        | fork_join | R4-08 | turn_epoch | 2147483653 |
