@role:utp.worker
Feature: A worker sends the PMO its built-ins
  The five built-ins of the PMO are called like tools, on subjects of the PMO's own, and their commands say
  more than those of external tools: the step that makes the call as well.

  @UTP-4.1-03
  @cap:worker.builtins
  Rule: A PMO built-in is called on the PMO's subject, which ends in its name

    Scenario Outline: "<builtin>" is called on its own subject
      Given an agent runtime
      And a model that calls the PMO built-in "<builtin>" with <arguments>
      When the model calls the tool
      Then the command goes out on the tool's subject
      And nothing of the call goes anywhere else

      Examples:
        | builtin          | arguments                                                                                              |
        | delegate_async   | {"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."}               |
        | launch_principal | {"profile_name": "general", "instruction": "Read the log."}                                           |
        | ask_expert       | {"expert_profile": "general", "question": "When is high water?"}                                      |
        | fork_join        | {"tasks": [{"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."}]} |
        | provision_agent  | {"action": "ensure", "agent_id": "ag_new"}                                                             |

    Scenario: Two built-ins are called in one answer
      Given an agent runtime
      And a model that calls the PMO built-in "delegate_async" with {"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."}
      And a model that calls the PMO built-in "provision_agent" with {"action": "ensure", "agent_id": "ag_new"}
      When the model calls the tool
      Then the command goes out on the tool's subject
      And nothing of the call goes anywhere else

    Scenario: Two other built-ins are called in one answer
      Given an agent runtime
      And a model that calls the PMO built-in "ask_expert" with {"expert_profile": "general", "question": "When is high water?"}
      And a model that calls the PMO built-in "provision_agent" with {"action": "ensure", "agent_id": "ag_new"}
      When the model calls the tool
      Then the command goes out on the tool's subject
      And nothing of the call goes anywhere else

    Scenario Outline: "<builtin>" is called in the channel of its turn
      Given an agent runtime
      And a model that calls the PMO built-in "<builtin>" with <arguments>
      And the turn runs in channel "ch_7"
      When the model calls the tool
      Then the command goes out on the tool's subject
      And nothing of the call goes anywhere else

      Examples:
        | builtin         | arguments                                                                                |
        | delegate_async  | {"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."} |
        | provision_agent | {"action": "ensure", "agent_id": "ag_new"}                                               |

    @cap:resume
    Scenario: A built-in is called after a tool's result
      Given an agent runtime
      And a model that calls a suspend tool
      And a model that calls the PMO built-in "provision_agent" after the result, with {"action": "ensure", "agent_id": "ag_new"}
      When the model calls the tool
      And the tool reports
      Then the next call of the model comes out as a command
      And the command goes out on the tool's subject
      And nothing of the call goes anywhere else

    @cap:resume
    Scenario: A built-in is called after a tool's result in the channel of its turn
      Given an agent runtime
      And a model that calls a suspend tool
      And the turn runs in channel "ch_7"
      And a model that calls the PMO built-in "provision_agent" after the result, with {"action": "ensure", "agent_id": "ag_new"}
      When the model calls the tool
      And the tool reports
      Then the next call of the model comes out as a command
      And the command goes out on the tool's subject
      And nothing of the call goes anywhere else

    Scenario: Three built-ins of one answer are called in the channel of their turn
      Given an agent runtime
      And a model that calls the PMO built-in "launch_principal" with {"profile_name": "general", "instruction": "Read the log."}
      And a model that calls the PMO built-in "ask_expert" with {"expert_profile": "general", "question": "When is high water?"}
      And a model that calls the PMO built-in "fork_join" with {"tasks": [{"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."}]}
      And the turn runs in channel "ch_7"
      When the model calls the tool
      Then the command goes out on the tool's subject
      And nothing of the call goes anywhere else

  @cap:worker.builtins
  Rule: A command to the PMO carries the ids of turn, step and call, and what is to follow the result

    Scenario Outline: The command carries "<member>"
      Given an agent runtime
      And a model that calls the PMO built-in "fork_join" with {"tasks": [{"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."}]}
      When the model calls the tool
      Then the command carries "<member>"

      @until:v1r3
      Examples: until v1r3
        | rule       | member            |
        | UTP-4.1-11 | agent_id          |
        | UTP-4.1-12 | agent_turn_id     |
        | UTP-4.1-13 | turn_epoch        |
        | UTP-4.1-14 | step_id           |
        | UTP-4.1-15 | tool_call_id      |

      Examples:
        | rule       | member            |
        | UTP-4.1-16 | after_execution   |
        | UTP-4.1-17 | tool_call_card_id |
        | UTP-4.1-18 | tool_name         |

    Scenario Outline: The command of another built-in carries "<member>"
      Given an agent runtime
      And a model that calls the PMO built-in "provision_agent" with {"action": "ensure", "agent_id": "ag_new"}
      When the model calls the tool
      Then the command carries "<member>"

      @until:v1r3
      Examples: until v1r3
        | rule       | member            |
        | UTP-4.1-11 | agent_id          |
        | UTP-4.1-12 | agent_turn_id     |
        | UTP-4.1-13 | turn_epoch        |
        | UTP-4.1-14 | step_id           |
        | UTP-4.1-15 | tool_call_id      |

      Examples:
        | rule       | member            |
        | UTP-4.1-16 | after_execution   |
        | UTP-4.1-17 | tool_call_card_id |
        | UTP-4.1-18 | tool_name         |

    Scenario Outline: The commands of two built-ins in one answer carry "<member>"
      Given an agent runtime
      And a model that calls the PMO built-in "delegate_async" with {"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."}
      And a model that calls the PMO built-in "provision_agent" with {"action": "ensure", "agent_id": "ag_new"}
      When the model calls the tool
      Then the command carries "<member>"

      @until:v1r3
      Examples: until v1r3
        | rule       | member            |
        | UTP-4.1-11 | agent_id          |
        | UTP-4.1-12 | agent_turn_id     |
        | UTP-4.1-13 | turn_epoch        |
        | UTP-4.1-14 | step_id           |
        | UTP-4.1-15 | tool_call_id      |

      Examples:
        | rule       | member            |
        | UTP-4.1-16 | after_execution   |
        | UTP-4.1-17 | tool_call_card_id |
        | UTP-4.1-18 | tool_name         |

    Scenario Outline: The command of "delegate_async" carries "<member>"
      Given an agent runtime
      And a model that calls the PMO built-in "delegate_async" with {"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."}
      When the model calls the tool
      Then the command carries "<member>"

      @until:v1r3
      Examples: until v1r3
        | rule       | member            |
        | UTP-4.1-11 | agent_id          |
        | UTP-4.1-12 | agent_turn_id     |
        | UTP-4.1-13 | turn_epoch        |
        | UTP-4.1-14 | step_id           |
        | UTP-4.1-15 | tool_call_id      |

      Examples:
        | rule       | member            |
        | UTP-4.1-16 | after_execution   |
        | UTP-4.1-17 | tool_call_card_id |
        | UTP-4.1-18 | tool_name         |

    Scenario Outline: The command of "launch_principal" carries "<member>"
      Given an agent runtime
      And a model that calls the PMO built-in "launch_principal" with {"profile_name": "general", "instruction": "Read the log."}
      When the model calls the tool
      Then the command carries "<member>"

      @until:v1r3
      Examples: until v1r3
        | rule       | member            |
        | UTP-4.1-11 | agent_id          |
        | UTP-4.1-12 | agent_turn_id     |
        | UTP-4.1-13 | turn_epoch        |
        | UTP-4.1-14 | step_id           |
        | UTP-4.1-15 | tool_call_id      |

      Examples:
        | rule       | member            |
        | UTP-4.1-16 | after_execution   |
        | UTP-4.1-17 | tool_call_card_id |
        | UTP-4.1-18 | tool_name         |

    Scenario Outline: The command of "ask_expert" carries "<member>"
      Given an agent runtime
      And a model that calls the PMO built-in "ask_expert" with {"expert_profile": "general", "question": "When is high water?"}
      When the model calls the tool
      Then the command carries "<member>"

      @until:v1r3
      Examples: until v1r3
        | rule       | member            |
        | UTP-4.1-11 | agent_id          |
        | UTP-4.1-12 | agent_turn_id     |
        | UTP-4.1-13 | turn_epoch        |
        | UTP-4.1-14 | step_id           |
        | UTP-4.1-15 | tool_call_id      |

      Examples:
        | rule       | member            |
        | UTP-4.1-16 | after_execution   |
        | UTP-4.1-17 | tool_call_card_id |
        | UTP-4.1-18 | tool_name         |

    @cap:resume
    Scenario Outline: The commands of two built-ins, each after a result, carry "<member>"
      Given an agent runtime
      And a model that calls a suspend tool
      And a model that calls the PMO built-in "provision_agent" after the result, with {"action": "ensure", "agent_id": "ag_new"}
      And a model that calls the PMO built-in "ask_expert" after the result, with {"expert_profile": "general", "question": "When is high water?"}
      When the model makes one call after another, and each is answered
      Then the command of each built-in carries "<member>"

      @until:v1r3
      Examples: until v1r3
        | rule       | member            |
        | UTP-4.1-11 | agent_id          |
        | UTP-4.1-12 | agent_turn_id     |
        | UTP-4.1-13 | turn_epoch        |
        | UTP-4.1-14 | step_id           |
        | UTP-4.1-15 | tool_call_id      |

      Examples:
        | rule       | member            |
        | UTP-4.1-16 | after_execution   |
        | UTP-4.1-17 | tool_call_card_id |
        | UTP-4.1-18 | tool_name         |

  Rule: submit_result stays inside the worker

    @UTP-0-01
    Scenario: submit_result is no command
      Given an agent runtime
      And a model that submits its result
      When the turn runs
      Then submit_result goes to nobody

    @UTP-0-01
    @cap:resume
    Scenario: submit_result is no command after a tool call either
      Given an agent runtime
      And a model that submits its result
      And a model that calls a suspend tool
      When the tool is called and answered, and the turn runs on
      Then submit_result goes to nobody

    @UTP-0-01
    Scenario: submit_result is no command where the same answer calls a tool
      Given an agent runtime
      And a model that submits its result in the same answer as its calls
      And a model that calls a suspend tool
      When the turn runs, and the tool answers if it is called
      Then submit_result goes to nobody

    @UTP-1-03
    Scenario: submit_result ends the turn without a row, a subject or a card
      Given an agent runtime
      And a model that submits its result
      When the turn runs
      Then the turn ends with what was submitted

    @UTP-1-03
    @cap:resume
    Scenario: submit_result ends the turn without them after a tool call, too
      Given an agent runtime
      And a model that submits its result
      And a model that calls a suspend tool
      When the tool is called and answered, and the turn runs on
      Then the turn ends with what was submitted

    @UTP-1-03
    @cap:resume
    Scenario: submit_result ends the turn without them in the model's third answer, too
      Given an agent runtime
      And a model that submits its result
      And a model that calls a suspend tool
      And a model that calls the same tool again after the result
      When the model makes one call after another, and each is answered
      Then the turn ends with what was submitted
