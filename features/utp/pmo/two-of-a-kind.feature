@role:utp.pmo
Feature: Two calls of a kind in one project
  What is right the first time may be wrong the second time. Each scenario sends a command and another like it, with ids
  of its own; the scenarios of "What holds in every call" judge both.

  @UTP-1-02
  Rule: The second call is answered like the first

    @until:v1r3
    Scenario: Two calls in another channel, with ids of the worker's own in their payloads
      Given a live PMO
      And a command for a built-in
      And the command goes to channel "ch_7"
      And the command's "after_execution" is "terminate"
      And the command's "trace_id" is "from-payload"
      And the command's "parent_step_id" is "from-payload"
      When the worker sends the command and another like it
      Then a callback is reported for the call
      And a tool.result card is written for the call

    Scenario: Two calls that fail
      Given a live PMO
      And a command for a built-in
      And the platform refuses what the built-in asks for
      When the worker sends the command and another like it
      Then a callback is reported for the call
      And a tool.result card is written for the call

    @cap:builtin.fork_join
    Scenario: Two fork_joins
      Given a live PMO
      And a command for fork_join
      When the worker sends the command and another like it
      Then a callback is reported for the call
      And a tool.result card is written for the call

    @cap:builtin.fork_join
    Scenario: Two fork_joins whose children fail
      Given a live PMO
      And a command for fork_join
      And its children end as failed
      When the worker sends the command and another like it
      Then a callback is reported for the call
      And a tool.result card is written for the call

    @since:v1r4
    Scenario: Two calls in another channel
      Given a live PMO
      And a command for a built-in
      And the command goes to channel "ch_7"
      And the command's "after_execution" is "terminate"
      When the worker sends the command and another like it
      Then a callback is reported for the call
      And a tool.result card is written for the call

  @TDG-3-03
  Rule: The second call without its card is refused like the first

    Scenario: Two commands whose cards do not exist
      Given a live PMO
      And a command for a built-in
      And the tool.call card is missing
      When the worker sends the command and another like it
      Then the tool does not run

  @UTP-4.1-25
  Rule: The second command without a card pointer is refused like the first

    Scenario: Two commands that point to no card
      Given a live PMO
      And a command for a built-in
      And the command lacks "tool_call_card_id"
      When the worker sends the command and another like it
      Then the tool does not run

  @UTP-1-02
  Rule: Two calls of one turn are two calls

    Scenario: The second comes while the first is under way
      Given a live PMO
      And a command for a built-in
      When the worker sends the command and another of the same turn at once
      Then a callback is reported for the call
      And the arguments of the card show in what the built-in does

    Scenario Outline: The second <builtin> comes while the first is under way
      Given a live PMO
      And a command for <builtin>
      When the worker sends the command and another of the same turn at once
      Then a callback is reported for the call

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

  @UTP-1-02
  Rule: Each of two calls at once is answered

    Scenario: Two calls of a project are under way together
      Given a PMO
      And a command for a built-in
      When the worker sends the command and another like it at once
      Then for each of the two calls a callback is reported

    Scenario: Two calls of a turn are under way together
      Given a PMO
      And a command for a built-in
      When the worker sends the command and another of the same turn at once
      Then for each of the two calls a callback is reported

    Scenario Outline: Two calls of <builtin> are under way together
      Given a PMO
      And a command for <builtin>
      When the worker sends the command and another like it at once
      Then for each of the two calls a callback is reported

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

    Scenario Outline: Two calls of <builtin> in one turn are under way together
      Given a PMO
      And a command for <builtin>
      When the worker sends the command and another of the same turn at once
      Then for each of the two calls a callback is reported

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

    @cap:builtin.fork_join @level:should
    Scenario: Each of two fork_joins of a turn is answered after its children
      Given a PMO
      And a command for fork_join
      When the worker sends the command and another of the same turn at once
      Then for each of the two calls the answer comes after the last child

  @TDG-1-02
  Rule: Each of two calls has the arguments of its own card

    # The first is given to the other agent of the roster.
    @cap:builtin.delegate_async
    Scenario: Each of two delegations goes to the agent that its card names
      Given a PMO
      And a command for delegate_async was answered
      And a command for delegate_async
      And the tool.call card's argument "target_ref" is "ag_other_helper"
      When the worker sends the command
      Then the arguments of the card show in what the built-in does

    Scenario Outline: Each of two calls of <builtin> at once does what its card says
      Given a PMO
      And a command for <builtin>
      When the worker sends the command and another like it at once
      Then for each of the two calls the arguments of the card show in what the built-in does

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

    Scenario Outline: Each of two calls of <builtin> in one turn does what its card says
      Given a PMO
      And a command for <builtin>
      When the worker sends the command and another of the same turn at once
      Then for each of the two calls the arguments of the card show in what the built-in does

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

    Scenario Outline: A later call of <builtin> in the same turn does what its card says
      Given a PMO
      And a command for <builtin>
      When the worker sends the command and another of the same turn when it is answered
      Then for each of the two calls the arguments of the card show in what the built-in does

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

  @UTP-4.2-28
  Rule: What children say is in the card of the call that asked them

    @cap:builtin.ask_expert
    Scenario Outline: Two experts are asked in one turn, the second <when>
      Given a PMO
      And a command for ask_expert
      When the worker sends the command and another of the same turn <when>
      Then for each of the two calls the outcome is in the tool.result card only

      Examples:
        | when                |
        | at once             |
        | when it is answered |

    @cap:builtin.fork_join
    Scenario Outline: Two fork_joins come in one turn, the second <when>
      Given a PMO
      And a command for fork_join
      When the worker sends the command and another of the same turn <when>
      Then for each of the two calls the outcome is in the tool.result card only

      Examples:
        | when                |
        | at once             |
        | when it is answered |

  # That ids are kept by project and turn is recommended only.
  @UTP-1-02
  Rule: A call of another turn is another call, whatever its id

    @level:should
    Scenario Outline: <builtin> is called in another turn with the tool_call_id of an earlier call
      Given a live PMO
      And a command for <builtin> was answered
      And the next command has its tool_call_id in another turn
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

  @TDG-3-03
  Rule: A card of another project is no card of this one

    @level:should
    Scenario Outline: A call of <builtin> whose ids are those of a call in another project has the arguments of its own card
      Given a live PMO
      And a command for <builtin> was answered
      And the next command has all its ids in another project
      When the worker sends the command
      Then the callback points to the tool.result card of the call
      And the arguments of the card show in what the built-in does

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

  @UTP-1-02
  Rule: Ids that are alike are the ids of two calls

    # The PMO knows the call of its first answer as `call_1`, in `turn_1`.
    Scenario: An id that differs in its letters' case only is another call
      Given a live PMO
      And a command for a built-in
      And the command's "agent_turn_id" is "turn_1_{unique}"
      And the command's "tool_call_id" is "Call_1_{unique}"
      When the worker sends the command
      Then a callback is reported for the call
      And the arguments of the card show in what the built-in does

    # A PMO that keeps the beginning of an id takes the second call for the first.
    Scenario: A long id that differs in its last letter only is another call
      Given a live PMO
      And a command for a built-in
      And the command goes to channel "ch_40"
      And the command's "tool_call_id" is "call_01234567890123456789012345678901234567890123456789012345678901234567890123456789:{unique}-a"
      When the worker sends the command and another whose id has another last letter when it is answered
      Then for each of the two calls the arguments of the card show in what the built-in does

    # A PMO that joins the ids of a call with an underscore takes the second call for the first.
    Scenario: Ids that are alike when they are joined are those of two calls
      Given a live PMO
      And a command for a built-in
      And the command goes to channel "ch_39"
      And the command's "agent_turn_id" is "turn_{unique}"
      And the command's "tool_call_id" is "2_call_{unique}"
      When the worker sends the command
      Then a callback is reported for the call
      Given a command for a built-in
      And the command goes to channel "ch_39"
      And the command's "agent_turn_id" is "turn_{unique}_2"
      And the command's "tool_call_id" is "call_{unique}"
      When the worker sends the command
      Then a callback is reported for the call
      And the arguments of the card show in what the built-in does
