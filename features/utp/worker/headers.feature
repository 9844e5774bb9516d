@role:utp.worker
@since:v1r4
Feature: A worker says in headers whose call it is
  Since v1r4 the identity of a call stands in the headers of its command, and the payload holds what the tool needs and
  nothing else. Receivers take both strictly.

  @R4-01
  Rule: Everything is published on subjects of the revision

    Scenario: The command of a tool
      Given an agent runtime
      And a model that calls a suspend tool
      When the model calls the tool
      Then nothing is published on subjects of another version

    @cap:worker.builtins
    Scenario: The command of a built-in
      Given an agent runtime
      And a model that calls the PMO built-in "provision_agent" with {"action": "ensure", "agent_id": "ag_new"}
      When the model calls the tool
      Then nothing is published on subjects of another version

    Scenario: The end of a turn
      Given an agent runtime
      And a model that submits its result
      When the turn runs
      Then nothing is published on subjects of another version

    @cap:resume
    Scenario: A whole turn
      Given an agent runtime
      And a model that calls a terminate tool
      When the tool is called and answered, and the turn runs on
      Then nothing is published on subjects of another version

  @R4-11
  Rule: Every command has a whole identity in its headers

    Scenario Outline: The command of a tool names "<member>"
      Given an agent runtime
      And a model that calls a suspend tool
      When the model calls the tool
      Then the command carries "<member>"

      Examples:
        | member          |
        | project_id      |
        | channel_id      |
        | agent_id        |
        | agent_turn_id   |
        | turn_epoch      |
        | step_id         |
        | tool_call_id    |
        | recursion_depth |

    Scenario Outline: The command of a terminate tool without arguments names "<member>"
      Given an agent runtime
      And a model that calls a terminate tool
      And the model gives no arguments
      When the model calls the tool
      Then the command carries "<member>"

      Examples:
        | member          |
        | project_id      |
        | channel_id      |
        | agent_id        |
        | agent_turn_id   |
        | turn_epoch      |
        | step_id         |
        | tool_call_id    |
        | recursion_depth |

    Scenario Outline: The commands of two calls in one answer name "<member>"
      Given an agent runtime
      And a model that calls a suspend tool
      And a model that calls a terminate tool
      When the model calls the tool
      Then the command carries "<member>"

      Examples:
        | member        |
        | agent_turn_id |
        | step_id       |
        | tool_call_id  |

    @cap:worker.builtins
    Scenario Outline: The command of "<builtin>" names "<member>"
      Given an agent runtime
      And a model that calls the PMO built-in "<builtin>" with <arguments>
      When the model calls the tool
      Then the command carries "<member>"

      Examples:
        | builtin         | member          | arguments                                                                                |
        | delegate_async  | project_id      | {"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."} |
        | delegate_async  | channel_id      | {"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."} |
        | delegate_async  | agent_id        | {"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."} |
        | delegate_async  | agent_turn_id   | {"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."} |
        | delegate_async  | turn_epoch      | {"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."} |
        | delegate_async  | step_id         | {"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."} |
        | delegate_async  | tool_call_id    | {"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."} |
        | delegate_async  | recursion_depth | {"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."} |
        | provision_agent | agent_turn_id   | {"action": "ensure", "agent_id": "ag_new"}                                               |
        | provision_agent | step_id         | {"action": "ensure", "agent_id": "ag_new"}                                               |
        | provision_agent | tool_call_id    | {"action": "ensure", "agent_id": "ag_new"}                                               |

    Scenario Outline: A turn at depth <depth> makes its calls at that depth
      Given an agent runtime
      And a model that calls a suspend tool
      And the turn runs at depth <depth>
      When the model calls the tool
      Then the command carries "recursion_depth"

      Examples:
        | depth |
        | 0     |
        | 7     |
        | 19    |

    Scenario: A turn at depth 7 makes both calls of one answer at that depth
      Given an agent runtime
      And a model that calls a suspend tool
      And a model that calls a terminate tool
      And the turn runs at depth 7
      When the model calls the tool
      Then the command carries "recursion_depth"

    Scenario: A turn at depth 7 calls a terminate tool at that depth
      Given an agent runtime
      And a model that calls a terminate tool
      And the turn runs at depth 7
      When the model calls the tool
      Then the command carries "recursion_depth"

    @cap:worker.builtins
    Scenario Outline: A turn at depth 7 calls "<builtin>" at that depth
      Given an agent runtime
      And a model that calls the PMO built-in "<builtin>" with <arguments>
      And the turn runs at depth 7
      When the model calls the tool
      Then the command carries "recursion_depth"

      Examples:
        | builtin         | arguments                                                                                |
        | delegate_async  | {"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."} |
        | ask_expert      | {"expert_profile": "general", "question": "When is high water?"}                         |

    Scenario: A turn in another channel names that channel
      Given an agent runtime
      And a model that calls a suspend tool
      And the turn runs in channel "ch_7"
      When the model calls the tool
      Then the command carries "channel_id"

    Scenario Outline: Each command of two agents' turns names its own "<member>"
      Given an agent runtime
      And a model that calls a suspend tool
      And another agent's turn that waits for a suspend call too
      When the model calls the tool
      Then the command carries "<member>"

      Examples:
        | member        |
        | agent_id      |
        | agent_turn_id |
        | tool_call_id  |

    @cap:resume
    Scenario Outline: The command of the model's next call names its own "<member>"
      Given an agent runtime
      And a turn whose model makes another call after the first
      When the tool reports
      Then the next call of the model comes out as a command
      And the command carries "<member>"

      Examples:
        | member          |
        | agent_turn_id   |
        | turn_epoch      |
        | step_id         |
        | tool_call_id    |
        | recursion_depth |

    @cap:resume
    Scenario Outline: The command of the next call of a turn at depth 7 in another channel names the turn's "<member>"
      Given an agent runtime
      And a model that calls a suspend tool
      And the turn runs in channel "ch_7"
      And the turn runs at depth 7
      And a model that calls the same tool again after the result
      When the model calls the tool
      And the tool reports
      Then the next call of the model comes out as a command
      And the command carries "<member>"

      Examples:
        | member          |
        | channel_id      |
        | recursion_depth |

    @cap:worker.builtins
    Scenario Outline: The command of "<builtin>" in another channel names that channel
      Given an agent runtime
      And a model that calls the PMO built-in "<builtin>" with <arguments>
      And the turn runs in channel "ch_7"
      When the model calls the tool
      Then the command goes out on the tool's subject
      And the command carries "channel_id"

      Examples:
        | builtin         | arguments                                                                                |
        | delegate_async  | {"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."} |
        | provision_agent | {"action": "ensure", "agent_id": "ag_new"}                                               |

  @R4-12
  Rule: No payload of a command has a control member

    Scenario Outline: The command of a <kind> tool
      Given an agent runtime
      And a model that calls a <kind> tool
      When the model calls the tool
      Then the command holds no control member

      Examples:
        | kind      |
        | suspend   |
        | terminate |

    Scenario: The command of a call without arguments
      Given an agent runtime
      And a model that calls a suspend tool
      And the model gives no arguments
      When the model calls the tool
      Then the command holds no control member

    @cap:worker.builtins
    Scenario Outline: The command of "<builtin>"
      Given an agent runtime
      And a model that calls the PMO built-in "<builtin>" with <arguments>
      When the model calls the tool
      Then the command holds no control member

      Examples:
        | builtin         | arguments                                                                                |
        | delegate_async  | {"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."} |
        | provision_agent | {"action": "ensure", "agent_id": "ag_new"}                                               |

    @cap:worker.builtins
    Scenario Outline: The command of "<builtin>" of a turn at depth 7
      Given an agent runtime
      And a model that calls the PMO built-in "<builtin>" with <arguments>
      And the turn runs at depth 7
      When the model calls the tool
      Then the command holds no control member

      Examples:
        | builtin         | arguments                                                                                |
        | delegate_async  | {"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."} |
        | ask_expert      | {"expert_profile": "general", "question": "When is high water?"}                         |
