@role:utp.pmo
@since:v1r4
Feature: A PMO refuses commands whose headers are no identity
  What becomes of such a command is written in three ways: it is refused and answered, refused without a word, or it is
  open which. In none of them does the built-in do anything.

  @R4-03
  Rule: A command without the id of its call is not carried out

    Scenario: The tool does not run without an id
      Given a live PMO
      And a command for a built-in
      And the command lacks "tool_call_id"
      When the worker sends the command
      Then the tool does not run

    Scenario: Where the card names the call, the refusal is reported
      Given a live PMO
      And a command for a built-in
      And the command lacks "tool_call_id"
      When the worker sends the command
      Then the call ends as failed
      And the call fails with code "bad_request" or "protocol_violation"

    Scenario: Where there is no card either, nothing is reported
      Given a live PMO
      And a command for a built-in
      And the command lacks "tool_call_id"
      And the tool.call card is missing
      When the worker sends the command
      Then no callback is reported for the call
      And the tool does not run

    @level:should
    Scenario: The tool does not run when the id is empty
      Given a live PMO
      And a command for a built-in
      And the command's "tool_call_id" is ""
      When the worker sends the command
      Then the tool does not run

  @R4-04
  Rule: A command without its agent is not carried out

    Scenario: The tool does not run without an agent
      Given a live PMO
      And a command for a built-in
      And the command lacks "agent_id"
      When the worker sends the command
      Then the tool does not run

    @level:should
    Scenario: The tool does not run when the agent is empty
      Given a live PMO
      And a command for a built-in
      And the command's "agent_id" is ""
      When the worker sends the command
      Then the tool does not run

  @R4-05
  Rule: A command with a control member in its payload is refused

    Scenario Outline: The tool does not run when the payload has "<member>"
      Given a live PMO
      And a command for a built-in
      And the payload's "<member>" is <value>
      When the worker sends the command
      Then the tool does not run
      And the call is refused with code "bad_request" or "protocol_violation"

      Examples:
        | member               | value                                                     |
        | project_id           | "{project}"                                               |
        | channel_id           | "public"                                                  |
        | channel              | "public"                                                  |
        | agent_id             | "ag_pilot"                                                |
        | agent_turn_id        | "{turn}"                                                 |
        | turn_epoch           | 6                                                         |
        | step_id              | "step_3"                                                  |
        | tool_call_id         | "{call}"                                                 |
        | trace_id             | "5f1c0d5e2b7a4c66a1d2e3f405162738"                        |
        | traceparent          | "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" |
        | tracestate           | "vendor=1"                                                |
        | parent_agent_id      | "ag_parent"                                               |
        | parent_agent_turn_id | "turn_parent"                                             |
        | parent_step_id       | "step_root"                                               |
        | parent_traceparent   | "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" |
        | recursion_depth      | 1                                                         |

    Scenario Outline: The tool does not run when the payload's "<member>" is <value>
      Given a live PMO
      And a command for a built-in
      And the payload's "<member>" is <value>
      When the worker sends the command
      Then the tool does not run
      And the call is refused with code "bad_request" or "protocol_violation"

      Examples:
        | member          | value |
        | turn_epoch      | 0     |
        | recursion_depth | 0     |
        | step_id         | ""    |

    Scenario Outline: The tool does not run when the payload of a command that ends its turn has "<member>"
      Given a live PMO
      And a command for a built-in
      And the tool is registered with after_execution "terminate"
      And the command's "after_execution" is "terminate"
      And the payload's "<member>" is <value>
      When the worker sends the command
      Then the tool does not run
      And the call is refused with code "bad_request" or "protocol_violation"

      Examples:
        | member         | value       |
        | agent_id       | "ag_pilot"  |
        | tool_call_id   | "{call}"    |
        | parent_step_id | "step_root" |

  @R4-06
  Rule: A command whose headers contradict its subject is not carried out

    Scenario Outline: The tool does not run when "<member>" is another than the subject's
      Given a live PMO
      And a command for a built-in
      And the command's "<member>" is <value>
      When the worker sends the command
      Then the tool does not run

      Examples:
        | member     | value           |
        | project_id | "prj_elsewhere" |
        | channel_id | "ch_elsewhere"  |
        | channel_id | "PUBLIC"        |
        | channel_id | "public_2"      |
        | channel_id | "pub"           |
        | channel_id | "blic"          |

    Scenario Outline: A command without "<member>" is carried out where its subject says
      Given a PMO
      And a command for a built-in
      And the command lacks "<member>"
      When the worker sends the command
      Then the call succeeds

      Examples:
        | member     |
        | project_id |
        | channel_id |

  @R4-22
  Rule: A command without its turn, or with numbers that are none, gets no success

    Scenario: A command without its turn
      Given a live PMO
      And a command for a built-in
      And the command lacks "agent_turn_id"
      When the worker sends the command
      Then the tool does not run

    Scenario Outline: A command whose "<member>" is <value>
      Given a live PMO
      And a command for a built-in
      And the command's "<member>" is <value>
      When the worker sends the command
      Then the tool does not run

      Examples:
        | member          | value |
        | turn_epoch      | "six" |
        | turn_epoch      | -1    |
        | turn_epoch      | 6.5   |
        | recursion_depth | "one" |
        | recursion_depth | -1    |
        | recursion_depth | 1.5   |
        | turn_epoch      | "1e1" |
        | recursion_depth | "1e0" |
        | turn_epoch      | "1_0" |
        | recursion_depth | "1_0" |
        | turn_epoch      | "0x6" |

    Scenario: A command without an epoch gets none back, or 0
      Given a PMO
      And a command for a built-in
      And the command lacks "turn_epoch"
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the callback's "turn_epoch" is the command's

  @R4-18
  Rule: The report continues the trace of its command

    Scenario: The report of a successful call belongs to the command's trace
      Given a PMO
      And a command for a built-in
      When the worker sends the command
      Then the callback's trace continues the command's

    Scenario: The report of a failed call belongs to the command's trace
      Given a PMO
      And a command for a built-in
      And the platform refuses what the built-in asks for
      When the worker sends the command
      Then the callback's trace continues the command's

    Scenario: The report of a refused call belongs to the command's trace, if it is answered
      Given a live PMO
      And a command for a built-in
      And the tool.call card is missing
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the callback's trace continues the command's

  Rule: No built-in does anything for a command whose headers are no identity

    Scenario Outline: <builtin> does nothing without "<member>"
      Given a live PMO
      And a command for <builtin>
      And the command lacks "<member>"
      When the worker sends the command
      Then the tool does not run

      @cap:builtin.provision_agent
      Examples:
        | rule  | member        | builtin         |
        | R4-03 | tool_call_id  | provision_agent |
        | R4-04 | agent_id      | provision_agent |
        | R4-22 | agent_turn_id | provision_agent |

      @cap:builtin.launch_principal
      Examples:
        | rule  | member        | builtin          |
        | R4-03 | tool_call_id  | launch_principal |
        | R4-04 | agent_id      | launch_principal |
        | R4-22 | agent_turn_id | launch_principal |

      @cap:builtin.ask_expert
      Examples:
        | rule  | member        | builtin    |
        | R4-03 | tool_call_id  | ask_expert |
        | R4-04 | agent_id      | ask_expert |
        | R4-22 | agent_turn_id | ask_expert |

      @cap:builtin.fork_join
      Examples:
        | rule  | member        | builtin   |
        | R4-03 | tool_call_id  | fork_join |
        | R4-04 | agent_id      | fork_join |
        | R4-22 | agent_turn_id | fork_join |

    Scenario Outline: <builtin> does nothing when "<member>" is <value>
      Given a live PMO
      And a command for <builtin>
      And the command's "<member>" is <value>
      When the worker sends the command
      Then the tool does not run

      @cap:builtin.provision_agent
      Examples:
        | rule  | member          | value           | builtin         |
        | R4-06 | project_id      | "prj_elsewhere" | provision_agent |
        | R4-06 | channel_id      | "ch_elsewhere"  | provision_agent |
        | R4-22 | turn_epoch      | "six"           | provision_agent |
        | R4-22 | recursion_depth | -1              | provision_agent |

      @cap:builtin.launch_principal
      Examples:
        | rule  | member          | value           | builtin          |
        | R4-06 | project_id      | "prj_elsewhere" | launch_principal |
        | R4-06 | channel_id      | "ch_elsewhere"  | launch_principal |
        | R4-22 | turn_epoch      | "six"           | launch_principal |
        | R4-22 | recursion_depth | -1              | launch_principal |

      @cap:builtin.ask_expert
      Examples:
        | rule  | member          | value           | builtin    |
        | R4-06 | project_id      | "prj_elsewhere" | ask_expert |
        | R4-06 | channel_id      | "ch_elsewhere"  | ask_expert |
        | R4-22 | turn_epoch      | "six"           | ask_expert |
        | R4-22 | recursion_depth | -1              | ask_expert |

      @cap:builtin.fork_join
      Examples:
        | rule  | member          | value           | builtin   |
        | R4-06 | project_id      | "prj_elsewhere" | fork_join |
        | R4-06 | channel_id      | "ch_elsewhere"  | fork_join |
        | R4-22 | turn_epoch      | "six"           | fork_join |
        | R4-22 | recursion_depth | -1              | fork_join |

    Scenario Outline: <builtin> does nothing when the payload has "<member>"
      Given a live PMO
      And a command for <builtin>
      And the payload's "<member>" is <value>
      When the worker sends the command
      Then the tool does not run
      And the call is refused with code "bad_request" or "protocol_violation"

      @cap:builtin.provision_agent
      Examples:
        | rule  | member   | value                              | builtin         |
        | R4-05 | agent_id | "ag_pilot"                         | provision_agent |
        | R4-05 | trace_id | "5f1c0d5e2b7a4c66a1d2e3f405162738" | provision_agent |

      @cap:builtin.launch_principal
      Examples:
        | rule  | member   | value                              | builtin          |
        | R4-05 | agent_id | "ag_pilot"                         | launch_principal |
        | R4-05 | trace_id | "5f1c0d5e2b7a4c66a1d2e3f405162738" | launch_principal |

      @cap:builtin.ask_expert
      Examples:
        | rule  | member   | value                              | builtin    |
        | R4-05 | agent_id | "ag_pilot"                         | ask_expert |
        | R4-05 | trace_id | "5f1c0d5e2b7a4c66a1d2e3f405162738" | ask_expert |

      @cap:builtin.fork_join
      Examples:
        | rule  | member   | value                              | builtin   |
        | R4-05 | agent_id | "ag_pilot"                         | fork_join |
        | R4-05 | trace_id | "5f1c0d5e2b7a4c66a1d2e3f405162738" | fork_join |

  @R4-06
  Rule: A project is compared with all of its id

    Scenario Outline: The tool does not run when the project is <value>
      Given a live PMO
      And a command for a built-in
      And the command's "project_id" is <value>
      When the worker sends the command
      Then the tool does not run

      Examples:
        | value           |
        | "{project}_2"   |
        | "prj_"          |
        | "PRJ_{unique}"  |
        | "{unique}"      |
