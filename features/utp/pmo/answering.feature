@role:utp.pmo
Feature: A PMO answers commands for its built-in tools
  A worker publishes a command below `cmd.sys.pmo.internal.`. The PMO reads the tool.call card, has other agents do
  what it says, saves a tool.result card and reports a callback: at once, or when what was begun is done.

  @UTP-1-02
  Rule: A command for a built-in is answered with a tool.result card and a callback

    Scenario: A valid command is answered
      Given a PMO
      And a command for a built-in
      When the worker sends the command
      Then a callback is reported for the call
      And a tool.result card is written for the call

    Scenario Outline: <builtin> is answered
      Given a PMO
      And a command for <builtin>
      When the worker sends the command
      Then a callback is reported for the call
      And a tool.result card is written for the call

      @cap:builtin.provision_agent
      Examples:
        | builtin         |
        | provision_agent |

      @cap:builtin.delegate_async
      Examples:
        | builtin        |
        | delegate_async |

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

    Scenario Outline: A command whose header <header> is <value> is answered
      Given a PMO
      And a command for a built-in
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

    Scenario: A command in a channel whose name has a capital and a hyphen is answered
      Given a PMO
      And a command for a built-in
      And the command goes to channel "Ch-7"
      When the worker sends the command
      Then a callback is reported for the call
      And the arguments of the card show in what the built-in does

    Scenario: A command in a project whose id has capitals is answered
      Given a PMO
      And another project with the suffix "_Other"
      And a command for a built-in
      When the worker sends the command
      Then a callback is reported for the call
      And the arguments of the card show in what the built-in does

  @UTP-1-02
  Rule: A built-in that waits for its children is answered when they are done, however they end

    # The documents do not say which built-ins wait; that fork_join does is what its name says.
    @cap:builtin.fork_join @level:should
    Scenario Outline: fork_join is answered after its children, when the <order> ends first
      Given a PMO
      And a command for fork_join
      When the worker sends the command and the child that was started <order> ends first
      Then the call is answered after its last child

      Examples:
        | order |
        | first |
        | last  |

    Scenario Outline: <builtin> is answered when its children end as <status>
      Given a PMO
      And a command for <builtin>
      And its children end as <status>
      When the worker sends the command
      Then a callback is reported for the call

      @cap:builtin.fork_join
      Examples:
        | builtin   | status   |
        | fork_join | failed   |
        | fork_join | canceled |
        | fork_join | timeout  |
        | fork_join | partial  |

      @cap:builtin.ask_expert
      Examples:
        | builtin    | status   |
        | ask_expert | failed   |
        | ask_expert | canceled |
        | ask_expert | timeout  |
        | ask_expert | partial  |

    @cap:builtin.fork_join
    Scenario Outline: fork_join is answered when one child ends as <status> and the others as success
      Given a PMO
      And a command for fork_join
      And its first child ends as <status> and the others as success
      When the worker sends the command
      Then a callback is reported for the call

      Examples:
        | status   |
        | failed   |
        | canceled |
        | timeout  |
        | partial  |

  @UTP-1-02
  Rule: A message that is no command does not stop the PMO

    @last
    Scenario Outline: The PMO survives <what>
      Given a live PMO
      And a command for a built-in
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
    Scenario Outline: <builtin> is answered after <what> on its subject
      Given a live PMO
      And a command for <builtin>
      When the worker sends <what> in place of the command
      And the worker sends the command
      Then a callback is reported for the call

      @cap:builtin.provision_agent
      Examples:
        | builtin         | what           |
        | provision_agent | malformed JSON |
        | provision_agent | a JSON list    |

      @cap:builtin.launch_principal
      Examples:
        | builtin          | what           |
        | launch_principal | malformed JSON |
        | launch_principal | a JSON list    |

      @cap:builtin.ask_expert
      Examples:
        | builtin    | what           |
        | ask_expert | malformed JSON |
        | ask_expert | a JSON list    |

      @cap:builtin.fork_join
      Examples:
        | builtin   | what           |
        | fork_join | malformed JSON |
        | fork_join | a JSON list    |

    @last
    Scenario: The PMO survives a command without headers
      Given a live PMO
      And a command for a built-in
      And the command has no headers
      When the worker sends the command
      Then the service answers the next command

    @last
    Scenario: The PMO survives a command without a traceparent
      Given a live PMO
      And a command for a built-in
      And the command has no header "traceparent"
      When the worker sends the command
      Then the service answers the next command

    @last
    Scenario Outline: The PMO survives the traceparent <value>
      Given a live PMO
      And a command for a built-in
      And the command's header "traceparent" is "<value>"
      When the worker sends the command
      Then the service answers the next command

      Examples:
        | value                                                   |
        | not-a-trace                                             |
        | 00-00000000000000000000000000000000-0000000000000000-01 |
        | 00-4BF92F3577B34DA6A3CE929D0E0E4736-00F067AA0BA902B7-01 |

    @last
    Scenario Outline: The PMO survives a command whose "<member>" is <value>
      Given a live PMO
      And a command for a built-in
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

  @TDG-1-02
  Rule: Arguments come from the tool.call card that the command points to

    Scenario Outline: What the card says is what <builtin> does
      Given a PMO
      And a command for <builtin>
      When the worker sends the command
      Then the arguments of the card show in what the built-in does

      @cap:builtin.provision_agent
      Examples:
        | builtin         |
        | provision_agent |

      @cap:builtin.delegate_async
      Examples:
        | builtin        |
        | delegate_async |

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

    Scenario: A second card with other arguments is what counts
      Given a PMO
      And a command for a built-in was answered
      And the next command is for a card of its own
      When the worker sends the command
      Then the arguments of the card show in what the built-in does

    Scenario: A card without arguments brings back nothing of an earlier one
      Given a PMO
      And a command for a built-in was answered
      And the next command is for a card without arguments
      When the worker sends the command
      Then the result shows nothing of the earlier arguments

    Scenario Outline: A second card with other arguments is what counts for <builtin>
      Given a PMO
      And a command for <builtin> was answered
      And the next command is for a card of its own
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

  @TDG-3-04
  Rule: The answer stays in the command's project and channel

    Scenario: A command in a channel of its own is reported there
      Given a PMO
      And a command for a built-in
      And the command goes to channel "ch_7"
      When the worker sends the command
      Then the answer stays in channel "ch_7"

  @TDG-1-02
  Rule: Every task of the card is given to a child, as the card says it

    @cap:builtin.fork_join
    Scenario: Of three tasks two are for one agent
      Given a PMO
      And a command for fork_join
      And its card has a third task for the agent of the second
      When the worker sends the command
      Then each task of the card is given to a child, or the call fails

    @cap:builtin.fork_join
    Scenario: A single task is for a child
      Given a PMO
      And a command for fork_join
      And its card has a single task
      When the worker sends the command
      Then each task of the card is given to a child, or the call fails

    @cap:builtin.fork_join
    Scenario: Of seven tasks each is for a child
      Given a PMO
      And a command for fork_join
      And its card has 7 tasks
      When the worker sends the command
      Then each task of the card is given to a child, or the call fails

    @cap:builtin.fork_join
    Scenario: Of fourteen tasks each is for a child
      Given a PMO
      And a command for fork_join
      And its card has 14 tasks
      When the worker sends the command
      Then each task of the card is given to a child, or the call fails

    # That tasks which are alike are all meant is not said.
    @cap:builtin.fork_join @level:should
    Scenario: Of three tasks two are alike
      Given a PMO
      And a command for fork_join
      And its card has a third task like the second
      When the worker sends the command
      Then each task of the card is given to a child, or the call fails

    Scenario Outline: A long text reaches the child of <builtin> whole
      Given a PMO
      And a command for <builtin>
      And what its card asks for is a text of more than 20000 characters
      When the worker sends the command
      Then each task of the card is given to a child, or the call fails

      @cap:builtin.delegate_async
      Examples:
        | builtin        |
        | delegate_async |

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

    # A column of a database may hold 65535 bytes.
    @cap:builtin.delegate_async
    Scenario: A very long text reaches the child of delegate_async whole
      Given a PMO
      And a command for delegate_async
      And what its card asks for is a text of more than 70000 characters
      When the worker sends the command
      Then each task of the card is given to a child, or the call fails

    Scenario Outline: A text of several lines and alphabets reaches the child of <builtin> as it is
      Given a PMO
      And a command for <builtin>
      And what its card asks for is a text of several lines and alphabets
      When the worker sends the command
      Then each task of the card is given to a child, or the call fails

      @cap:builtin.delegate_async
      Examples:
        | builtin        |
        | delegate_async |

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
