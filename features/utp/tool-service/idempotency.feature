@role:utp.tool-service
Feature: A repeated command has one effect
  Messages are delivered again: after a lost acknowledgement, a reconnect, a retry. The same call through
  the same card is the same call. The documents recommend (agent_turn_id, tool_call_id) as its key.

  @UTP-3.2-04
  Rule: A command repeated with the same tool_call_id and card has the effect of one

    @cap:probe.count
    Scenario: A command repeated after its answer runs once
      Given a live Tool Service
      And a command for the count probe
      When the worker sends the command twice in a row
      Then the tool has run once

    @cap:probe.count
    Scenario: A command repeated while the first still runs, runs once
      Given a live Tool Service
      And a command for the count probe
      When the worker sends the command twice at once
      Then the tool has run once

    @cap:probe.count
    Scenario: A command that comes three times runs once
      Given a live Tool Service
      And a command for the count probe
      When the worker sends the command three times in a row
      Then the tool has run once

    @cap:probe.count
    Scenario: A command that comes three times without a pause runs once
      Given a live Tool Service
      And a command for the count probe
      When the worker sends the command three times without a pause
      Then the tool has run once
      And the call has one tool.result card

    @cap:probe.count
    Scenario: A command repeated after many others runs once
      Given a live Tool Service
      And a command for the count probe
      When the worker sends the command and repeats it after 20 others
      Then the tool has run once

    # The first of the others is the fourth call of the scenario, in `turn_4`. A service that knows the last call of a turn
    # runs the repeated one again.
    @cap:probe.count
    Scenario: A command repeated after another of its turn runs once
      Given a live Tool Service
      And a command for the count probe
      And the command's "agent_turn_id" is "turn_4_{unique}"
      When the worker sends the command and repeats it after 3 others
      Then the tool has run once

    # A service that knows a call for two seconds runs it again.
    @cap:probe.count @long
    Scenario: A command repeated a while after its answer runs once
      Given a live Tool Service
      And a command for the count probe
      And the command goes to channel "ch_41"
      When the worker sends the command and repeats it after 3 seconds
      Then the tool has run once

    @cap:probe.count
    @cap:replicas
    Scenario: A command that every replica receives runs once
      Given a live Tool Service
      And a command for the count probe
      When the worker sends the command until every replica has received it
      Then the tool has run once

    @cap:probe.count
    @cap:replicas
    Scenario: A command that every replica receives at once runs once
      Given a live Tool Service
      And a command for the count probe
      When the worker sends the command to every replica at once
      Then the tool has run once

    Scenario Outline: All callbacks of a command sent <twice> report one outcome
      Given a live Tool Service
      And a command for the echo probe
      When the worker sends the command <twice>
      Then the tool has run once

      Examples:
        | twice          |
        | twice in a row |
        | twice at once  |

      @cap:replicas
      Examples: several replicas
        | twice                               |
        | until every replica has received it |
        | to every replica at once            |

    @cap:probe.fail
    Scenario Outline: All callbacks of a failed command sent <twice> report one outcome
      Given a live Tool Service
      And a command for the fail probe
      When the worker sends the command <twice>
      Then the tool has run once

      Examples:
        | twice          |
        | twice in a row |
        | twice at once  |

      @cap:replicas
      Examples: several replicas
        | twice                               |
        | until every replica has received it |
        | to every replica at once            |

  @UTP-3.2-06
  Rule: Callbacks of a repeated command point to one tool.result card

    Scenario: A command repeated after its answer has one card
      Given a live Tool Service
      And a command for the echo probe
      When the worker sends the command twice in a row
      Then the call has one tool.result card

    Scenario: A command repeated while the first still runs has one card
      Given a live Tool Service
      And a command for the echo probe
      When the worker sends the command twice at once
      Then the call has one tool.result card

    @cap:replicas
    Scenario Outline: A command sent <twice> has one card
      Given a live Tool Service
      And a command for the echo probe
      When the worker sends the command <twice>
      Then the call has one tool.result card

      Examples:
        | twice                               |
        | until every replica has received it |
        | to every replica at once            |

    @cap:probe.fail
    Scenario: A failed command repeated after its answer has one card
      Given a live Tool Service
      And a command for the fail probe
      When the worker sends the command twice in a row
      Then the call has one tool.result card

  @UTP-3.2-02
  Rule: The same tool_call_id in another turn is another call

    Scenario: Another turn reuses the tool_call_id
      Given a live Tool Service
      And a command for the echo probe was answered
      And the next command has its tool_call_id in another turn
      When the worker sends the command
      Then the call of the other turn is answered on its own

    @cap:probe.fail
    Scenario: Another turn reuses the tool_call_id of a call that failed
      Given a live Tool Service
      And a command for the fail probe was answered
      And the next command has its tool_call_id in another turn
      When the worker sends the command
      Then the call of the other turn is answered on its own

    # The service knows the call of its first answer as `call_1`, in `turn_1`.
    Scenario: A turn whose id differs in its punctuation only reuses the tool_call_id
      Given a live Tool Service
      And a command for the echo probe
      And the command's "agent_turn_id" is "turn-1-{unique}"
      And the command's "tool_call_id" is "call_1_{unique}"
      When the worker sends the command
      Then the call of the other turn is answered on its own

  @UTP-3.2-04
  Rule: A command repeated in another trace is the same call

    @cap:probe.count
    Scenario Outline: A command repeated <time> in another trace runs once
      Given a live Tool Service
      And a command for the count probe
      When the worker sends the command and repeats it <time> with "traceparent" "00-7d8a3c51e0f24b6996a1c2d3e4f50718-9b8c7d6e5f4a3b2c-01"
      Then the tool has run once

      Examples:
        | time     |
        | in a row |
        | at once  |

    Scenario Outline: All callbacks of a command repeated <time> in another trace report one outcome
      Given a live Tool Service
      And a command for the echo probe
      When the worker sends the command and repeats it <time> with "traceparent" "00-7d8a3c51e0f24b6996a1c2d3e4f50718-9b8c7d6e5f4a3b2c-01"
      Then the tool has run once

      Examples:
        | time     |
        | in a row |
        | at once  |

  # That a repeated command is the same in all its members is not said; who repeats it says which epoch its turn has now.
  @UTP-3.2-04
  Rule: A command repeated in a later epoch of its turn is the same call

    @cap:probe.count @level:should
    Scenario: A command repeated in a later epoch runs once
      Given a live Tool Service
      And a command for the count probe
      When the worker sends the command and repeats it in a row in turn epoch 7
      Then the tool has run once

  @UTP-3.2-04
  Rule: A command that ends its turn is the same call when it is repeated

    @cap:probe.count
    Scenario Outline: A command with after_execution "terminate" that is sent <twice> runs once
      Given a live Tool Service
      And a command for the count probe
      And the command's "after_execution" is "terminate"
      When the worker sends the command <twice>
      Then the tool has run once

      Examples:
        | twice          |
        | twice in a row |
        | twice at once  |
