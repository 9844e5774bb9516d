@role:utp.worker
Feature: Two turns of a kind, and two calls
  What is right in the first turn of a project may be wrong in the second. The scenarios of "What holds in every command
  of a worker" judge all of these commands as well.

  Rule: Two turns side by side are kept apart

    Scenario Outline: The turns of two agents in two channels: <rule>
      Given an agent runtime
      And a model that calls a suspend tool
      And the turn runs in channel "ch_7"
      And another agent's turn that waits for a suspend call too
      When the model calls the tool
      Then the subject names the turn's channel
      And the command goes out on the tool's subject

      Examples:
        | rule       |
        | TDG-2-02   |
        | UTP-4.1-01 |

    @until:v1r3
    Scenario Outline: Each command of two agents' turns carries its own "<member>"
      Given an agent runtime
      And a model that calls a suspend tool
      And another agent's turn that waits for a suspend call too
      When the model calls the tool
      Then the command carries "<member>"

      Examples:
        | rule       | member        |
        | UTP-4.1-04 | agent_id      |
        | UTP-4.1-05 | agent_turn_id |
        | UTP-4.1-07 | tool_call_id  |

    @UTP-4.1-10
    Scenario: A suspend tool and a terminate tool in one answer keep their own after_execution
      Given an agent runtime
      And a model that calls a suspend tool
      And a model that calls a terminate tool
      When the model calls the tool
      Then the command's after_execution is the registered one

    @TDG-3.2-15
    Scenario: Each of two calls in one answer has its own arguments
      Given an agent runtime
      And a model that calls a suspend tool
      And the model gives "q" = {"only": "in the first"}
      And a model that calls a suspend tool
      When the model calls the tool
      Then each card holds the arguments of its own call

  Rule: Two calls of the same tool are kept apart

    @TDG-4.1-01
    Scenario: A default is filled in for each of two calls in one answer
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool has the default "m" = "metre"
      And a model that calls the same tool once more in that answer
      When the model calls the tool
      Then each card's argument "m" is "metre"

    @TDG-4.1-01
    Scenario: What the model gives in one call is no default of the other
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool has the default "n" = 5
      And the model gives "n" = 1
      And a model that calls the same tool once more in that answer
      When the model calls the tool
      Then the second card's argument "n" is 5

    @TDG-4.1-17
    Scenario Outline: "{tool_call_id}" in a <kind> value is that of each of two calls in one answer
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool <giver> "z" = "({tool_call_id}) ({tool_call_id})"
      And a model that calls the same tool once more in that answer
      When the model calls the tool
      Then each card's argument "z" holds its own call's "tool_call_id"

      Examples:
        | kind    | giver           |
        | fixed   | fixes           |
        | default | has the default |

    Scenario Outline: "{<variable>}" in a fixed value is that of each of two agents' calls
      Given an agent runtime
      And a model that calls a suspend tool
      And the turn runs in channel "ch_7"
      And the tool fixes "z" = "({<variable>}) ({<variable>})"
      And a model that calls the same tool in another agent's turn, in channel "ch_8"
      When the model calls the tool
      Then each card's argument "z" holds its own call's "<variable>"

      Examples:
        | rule       | variable       |
        | TDG-4.1-13 | channel_id     |
        | TDG-4.1-14 | agent_id       |
        | TDG-4.1-15 | agent_turn_id  |
        | TDG-4.1-16 | step_id        |
        | TDG-4.1-18 | parent_step_id |
        | TDG-4.1-19 | trace_id       |
        | TDG-4.1-21 | context_box_id |

    @UTP-4.1-09
    Scenario: Two calls of one answer that differ in nothing but their ids have a card each
      Given an agent runtime
      And a model that calls a suspend tool
      And the model gives "q" = "just as before"
      And a model that calls the same tool once more in that answer, with the same arguments
      When the model calls the tool, if the worker lets it
      Then each command points to a card of its own

  @cap:resume
  Rule: Two turns of one agent, one after the other, are kept apart

    Scenario Outline: The second turn of an agent runs in another channel: <rule>
      Given an agent runtime
      And a model that calls a suspend tool
      And the turn runs in channel "ch_7"
      And a further turn of the agent that calls the same tool, in channel "ch_8"
      When the first turn ends and the further turn makes its call
      Then the subject names the turn's channel
      And the command goes out on the tool's subject

      Examples:
        | rule       |
        | TDG-2-02   |
        | UTP-4.1-01 |

    @UTP-4.1-01
    Scenario: The call of an agent's second turn goes to its tool alone
      Given an agent runtime
      And a model that calls a suspend tool
      And the turn runs in channel "ch_7"
      And a further turn of the agent that calls the same tool, in channel "ch_8"
      When the first turn ends and the further turn makes its call
      Then nothing of the call goes anywhere else

    @until:v1r3
    Scenario Outline: The command of an agent's second turn carries its own "<member>"
      Given an agent runtime
      And a model that calls a suspend tool
      And the turn runs in channel "ch_7"
      And a further turn of the agent that calls the same tool, in channel "ch_8"
      When the first turn ends and the further turn makes its call
      Then the command carries "<member>"

      Examples:
        | rule       | member        |
        | UTP-4.1-04 | agent_id      |
        | UTP-4.1-05 | agent_turn_id |
        | UTP-4.1-06 | turn_epoch    |

    Scenario Outline: "{<variable>}" in a fixed value is that of the agent's second turn
      Given an agent runtime
      And a model that calls a suspend tool
      And the turn runs in channel "ch_7"
      And the tool fixes "lineage" = "({<variable>}) ({<variable>})"
      And a further turn of the agent that calls the same tool, in channel "ch_8"
      When the first turn ends and the further turn makes its call
      Then each card's argument "lineage" holds its own call's "<variable>"

      Examples:
        | rule       | variable       |
        | TDG-4.1-13 | channel_id     |
        | TDG-4.1-15 | agent_turn_id  |
        | TDG-4.1-18 | parent_step_id |
        | TDG-4.1-19 | trace_id       |
        | TDG-4.1-20 | turn_epoch     |
        | TDG-4.1-21 | context_box_id |

    @since:v1r4
    @R4-11
    Scenario: The second turn of an agent makes its calls at its own depth
      Given an agent runtime
      And a model that calls a suspend tool
      And the turn runs at depth 7
      And a further turn of the agent that calls the same tool, in channel "ch_8"
      When the first turn ends and the further turn makes its call
      Then the command carries "recursion_depth"

    @UTP-4.1-09
    Scenario: A call of the second turn has a card of its own, although the model gives it the id of the first
      Given an agent runtime
      And a model that calls a suspend tool
      And a further turn of the agent, whose model gives its call the same id
      When the first turn ends and the further turn makes its call
      Then each command points to a card of its own

  @cap:resume
  Rule: All calls of one answer are made

    @UTP-4.1-01
    Scenario: Three tools are called in one answer
      Given an agent runtime
      And a model that calls a suspend tool
      And a model that calls a suspend tool
      And a model that calls a suspend tool
      When the model calls the tools, and each answers at once
      Then the command goes out on the tool's subject

    @UTP-4.1-01
    Scenario: Four tools are called in one answer
      Given an agent runtime
      And a model that calls a suspend tool
      And a model that calls a suspend tool
      And a model that calls a suspend tool
      And a model that calls a suspend tool
      When the model calls the tools, and each answers at once
      Then the command goes out on the tool's subject

    @until:v1r3
    Scenario Outline: Each command of three calls in one answer carries its turn's "<member>"
      Given an agent runtime
      And a model that calls a suspend tool
      And a model that calls a suspend tool
      And a model that calls a suspend tool
      When the model calls the tools, and each answers at once
      Then the command carries "<member>"

      Examples:
        | rule       | member        |
        | UTP-4.1-04 | agent_id      |
        | UTP-4.1-05 | agent_turn_id |
        | UTP-4.1-06 | turn_epoch    |
        | UTP-4.1-07 | tool_call_id  |

  @cap:resume
  Rule: A call after a result has an identity of its own

    @until:v1r3
    Scenario Outline: The command of the model's next call carries its own "<member>"
      Given an agent runtime
      And a turn whose model makes another call after the first
      When the tool reports
      Then the next call of the model comes out as a command
      And the command carries "<member>"

      Examples:
        | rule       | member        |
        | UTP-4.1-05 | agent_turn_id |
        | UTP-4.1-06 | turn_epoch    |
        | UTP-4.1-07 | tool_call_id  |

    @TDG-3.2-15
    Scenario: The card of the model's next call holds its own arguments
      Given an agent runtime
      And a turn whose model makes another call after the first
      When the tool reports
      Then the next call of the model comes out as a command
      And each card holds the arguments of its own call

    @UTP-4.1-01
    Scenario: The model's next call goes out on the subject of its own tool
      Given an agent runtime
      And a turn whose model makes another call after the first
      When the tool reports
      Then the next call of the model comes out as a command
      And the command goes out on the tool's subject

    Scenario Outline: Each of three calls, one after the result of the other, goes out in the channel of its turn: <rule>
      Given an agent runtime
      And a model that calls a suspend tool
      And the turn runs in channel "ch_7"
      And a model that calls the same tool again after the result
      And a model that calls the same tool again after the result
      When the model makes one call after another, and each is answered
      Then the subject names the turn's channel
      And the command goes out on the tool's subject

      Examples:
        | rule       |
        | TDG-2-02   |
        | UTP-4.1-01 |

    @UTP-4.1-01
    Scenario: The model's next call goes to its own tool alone
      Given an agent runtime
      And a turn whose model makes another call after the first
      When the tool reports
      Then the next call of the model comes out as a command
      And nothing of the call goes anywhere else

    @UTP-4.1-09
    Scenario: The command of the model's next call points to a card of its own
      Given an agent runtime
      And a turn whose model makes another call after the first
      When the tool reports
      Then the next call of the model comes out as a command
      And each command points to a card of its own

    @UTP-4.1-09
    Scenario: Each of four calls, one after the result of the other, points to a card of its own
      Given an agent runtime
      And a model that calls a suspend tool
      And a model that calls the same tool again after the result
      And a model that calls the same tool again after the result
      And a model that calls the same tool again after the result
      When the model makes one call after another, and each is answered
      Then each command points to a card of its own

    @TDG-3.2-15
    Scenario: The card of each of four calls, one after the result of the other, holds its own arguments
      Given an agent runtime
      And a model that calls a suspend tool
      And a model that calls the same tool again after the result
      And a model that calls the same tool again after the result
      And a model that calls the same tool again after the result
      When the model makes one call after another, and each is answered
      Then each card holds the arguments of its own call

  @cap:worker.builtins
  Rule: What is registered for one tool is not given to another

    @TDG-3.2-15
    Scenario Outline: The model's "<name>" stands in a call of "<builtin>" beside a tool that fixes it
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool fixes "<name>" = "fixed-7731"
      And a model that calls the PMO built-in "<builtin>" with <arguments>
      When the model calls the tool
      Then the second card's argument "<name>" is <value>

      Examples:
        | builtin         | name     | value                 | arguments                                                               |
        | ask_expert      | question | "When is high water?" | {"expert_profile": "general", "question": "When is high water?"}        |
        | provision_agent | agent_id | "ag_new"              | {"action": "ensure", "agent_id": "ag_new"}                              |
