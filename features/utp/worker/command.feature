@role:utp.worker
Feature: A worker turns a model's tool call into a command
  The worker saves a tool.call card with the arguments and publishes a command that points to it, on the
  subject under which the tool is registered. The command itself holds ids and pointers only.

  Rule: The command goes out on the subject under which the tool is registered

    @UTP-4.1-01
    Scenario: The subject does not follow from the tool's name
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool "alpha" is registered on "beta.run"
      When the model calls the tool
      Then the command goes out on the tool's subject
      And nothing of the call goes anywhere else

    @UTP-4.1-01
    Scenario Outline: A tool is called on its subject as it is: "<target>"
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool "alpha" is registered on "<target>"
      When the model calls the tool
      Then the command goes out on the tool's subject
      And nothing of the call goes anywhere else

      Examples:
        | target           |
        | Beta.Run-2       |
        | beta.run.fast.eu |
        | beta             |

    @UTP-4.1-01
    Scenario: Two tools are called in one answer
      Given an agent runtime
      And a model that calls a suspend tool
      And a model that calls a terminate tool
      When the model calls the tool
      Then the command goes out on the tool's subject
      And nothing of the call goes anywhere else

    @UTP-4.1-02
    Scenario: The subject has the usual form
      Given an agent runtime
      And a model that calls a suspend tool
      When the model calls the tool
      Then its subject has the usual form

    @TDG-2-01
    Scenario: The project takes the place of its placeholder
      Given an agent runtime
      And a model that calls a suspend tool
      When the model calls the tool
      Then the subject names the turn's project

    @TDG-2-01
    Scenario: The project's id stands in the subjects of two calls as it is written
      Given an agent runtime in a project whose id ends in "-Ab"
      And a model that calls a suspend tool
      And a model that calls a terminate tool
      When the model calls the tool
      Then the subject names the turn's project

    @TDG-2-02
    Scenario Outline: Channel "<channel>" takes the place of its placeholder
      Given an agent runtime
      And a model that calls a suspend tool
      And the turn runs in channel "<channel>"
      When the model calls the tool
      Then the subject names the turn's channel

      Examples:
        | channel |
        | public  |
        | ch_7    |
        | quay-4  |
        | Ch_A    |

    @TDG-2-02
    Scenario: So it does for a tool that ends the turn
      Given an agent runtime
      And a model that calls a terminate tool
      And the turn runs in channel "ch_7"
      When the model calls the tool
      Then the subject names the turn's channel

    @UTP-4.1-01
    Scenario Outline: Two tools of similar names are told apart: "<name>" and "vessel_log"
      Given an agent runtime
      And a model that calls a suspend tool
      And the tool "<name>" is registered on "beta.run"
      And a model that calls a terminate tool
      When the model calls the tool
      Then the command goes out on the tool's subject
      And nothing of the call goes anywhere else

      Examples:
        | name          |
        | vessel        |
        | Vessel_Log    |
        | vessel_log_2  |

  Rule: A tool command carries the ids of turn and call, and what is to follow the result

    Scenario Outline: A tool command carries "<member>"
      Given an agent runtime
      And a model that calls a suspend tool
      When the model calls the tool
      Then the command carries "<member>"

      @until:v1r3
      Examples: until v1r3
        | rule       | member            |
        | UTP-4.1-04 | agent_id          |
        | UTP-4.1-05 | agent_turn_id     |
        | UTP-4.1-06 | turn_epoch        |
        | UTP-4.1-07 | tool_call_id      |

      Examples:
        | rule       | member            |
        | UTP-4.1-08 | after_execution   |
        | UTP-4.1-09 | tool_call_card_id |

    @UTP-4.1-07
    @until:v1r3
    Scenario Outline: A tool command carries an id that is <form>
      Given an agent runtime
      And a model that calls a suspend tool
      And the model's id of the call is <form>
      When the model calls the tool
      Then the command carries "tool_call_id"

      Examples:
        | form                           |
        | a number                       |
        | a path                         |
        | in both cases                  |
        | over a hundred characters long |

    Scenario Outline: A command of an agent and a turn whose ids are in both cases carries "<member>"
      Given an agent runtime
      And the turn is that of the agent "Ag_Pilot-2"
      And the turn's id is in both cases
      And a model that calls a <kind> tool
      When the model calls the tool
      Then the command carries "<member>"

      @until:v1r3
      Examples: until v1r3
        | rule       | member        | kind      |
        | UTP-4.1-04 | agent_id      | suspend   |
        | UTP-4.1-04 | agent_id      | terminate |
        | UTP-4.1-05 | agent_turn_id | suspend   |
        | UTP-4.1-05 | agent_turn_id | terminate |

      @since:v1r4
      Examples: since v1r4
        | rule  | member   | kind      |
        | R4-11 | agent_id | suspend   |
        | R4-11 | agent_id | terminate |

    Scenario Outline: A command of a terminate tool without arguments carries "<member>"
      Given an agent runtime
      And a model that calls a terminate tool
      And the model gives no arguments
      When the model calls the tool
      Then the command carries "<member>"

      @until:v1r3
      Examples: until v1r3
        | rule       | member            |
        | UTP-4.1-04 | agent_id          |
        | UTP-4.1-05 | agent_turn_id     |
        | UTP-4.1-06 | turn_epoch        |
        | UTP-4.1-07 | tool_call_id      |

      Examples:
        | rule       | member            |
        | UTP-4.1-08 | after_execution   |
        | UTP-4.1-09 | tool_call_card_id |

    Scenario Outline: The commands of two calls in one answer carry "<member>"
      Given an agent runtime
      And a model that calls a suspend tool
      And a model that calls a terminate tool
      When the model calls the tool
      Then the command carries "<member>"

      @until:v1r3
      Examples: until v1r3
        | rule       | member            |
        | UTP-4.1-04 | agent_id          |
        | UTP-4.1-05 | agent_turn_id     |
        | UTP-4.1-06 | turn_epoch        |
        | UTP-4.1-07 | tool_call_id      |

      Examples:
        | rule       | member            |
        | UTP-4.1-08 | after_execution   |
        | UTP-4.1-09 | tool_call_card_id |

  @UTP-4.1-10
  Rule: The command's after_execution is the one under which the tool is registered

    Scenario Outline: A tool that is registered with "<kind>"
      Given an agent runtime
      And a model that calls a <kind> tool
      When the model calls the tool
      Then the command's after_execution is the registered one

      Examples:
        | kind      |
        | suspend   |
        | terminate |

    Scenario Outline: A <kind> and a <other> tool that are registered on one subject keep their own
      Given an agent runtime
      And a model that calls a <kind> tool
      And the tool "tide_table" is registered on "logs.read"
      And a model that calls a <other> tool
      When the model calls the tool
      Then the command's after_execution is the registered one

      Examples:
        | kind      | other     |
        | suspend   | terminate |
        | terminate | suspend   |

    @cap:resume
    Scenario: A terminate tool that is called after the result of a suspend tool keeps its own
      Given an agent runtime
      And a turn whose model makes a terminate call after a suspend call
      When the tool reports
      Then the next call of the model comes out as a command
      And the command's after_execution is the registered one

    @cap:worker.builtins
    Scenario: A built-in that is called beside a terminate tool keeps its own
      Given an agent runtime
      And a model that calls a terminate tool
      And a model that calls the PMO built-in "ask_expert" with {"expert_profile": "general", "question": "When is high water?"}
      When the model calls the tool
      Then the command's after_execution is the registered one

    @cap:worker.builtins
    Scenario: A built-in that is registered with "terminate"
      Given an agent runtime
      And a model that calls the PMO built-in "launch_principal" with {"profile_name": "general", "instruction": "Read the log."}
      And its row says terminate
      When the model calls the tool
      Then the command's after_execution is the registered one

  @UTP-4.1-33
  Rule: The command does not repeat the parameters

    Scenario Outline: Parameters of a <kind> tool are in the card alone
      Given an agent runtime
      And a model that calls a <kind> tool
      When the model calls the tool
      Then the command holds no parameters

      Examples:
        | kind      |
        | suspend   |
        | terminate |

    Scenario: No parameters are not in the command either
      Given an agent runtime
      And a model that calls a suspend tool
      And the model gives no arguments
      When the model calls the tool
      Then the command holds no parameters

    @cap:worker.builtins
    Scenario: Parameters of a PMO built-in are in the card alone
      Given an agent runtime
      And a model that calls the PMO built-in "delegate_async" with {"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."}
      When the model calls the tool
      Then the command holds no parameters

  @UTP-4.1-34
  Rule: Every command points to a card

    Scenario: A call without arguments has a card too
      Given an agent runtime
      And a model that calls a suspend tool
      And the model gives no arguments
      When the model calls the tool
      Then the command carries "tool_call_card_id"

    @cap:worker.builtins
    Scenario Outline: The command of "<builtin>" points to a card
      Given an agent runtime
      And a model that calls the PMO built-in "<builtin>" with <arguments>
      When the model calls the tool
      Then the command carries "tool_call_card_id"

      Examples:
        | builtin         | arguments                                                                                |
        | delegate_async  | {"target_strategy": "reuse", "target_ref": "ag_helper", "instruction": "Read the log."} |
        | provision_agent | {"action": "ensure", "agent_id": "ag_new"}                                               |

  @UTP-4.1-26
  Rule: A tool command may name its tool

    Scenario: The tool's name is noted
      Given an agent runtime
      And a model that calls a suspend tool
      When the model calls the tool
      Then it is noted whether the command carries "tool_name"

  @UTP-4.1-27
  Rule: A tool command may name the context box of its turn

    Scenario: The context box is noted
      Given an agent runtime
      And a model that calls a suspend tool
      When the model calls the tool
      Then it is noted whether the command carries "context_box_id"
