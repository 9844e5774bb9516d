@role:utp.pmo
Feature: A repeated command for a built-in has one effect
  Messages are delivered again: after a lost acknowledgement, a reconnect, a retry. The same call through
  the same card is the same call: what it has begun is not begun again.

  @UTP-3.2-05
  Rule: A command repeated with the same tool_call_id and card has the effect of one

    Scenario Outline: <builtin> does its work once when its command is sent <twice>
      Given a live PMO
      And a command for <builtin>
      When the worker sends the command <twice>
      Then the tool has run once

      @cap:builtin.delegate_async
      Examples:
        | builtin        | twice          |
        | delegate_async | twice in a row |
        | delegate_async | twice at once  |

      @cap:builtin.launch_principal
      Examples:
        | builtin          | twice          |
        | launch_principal | twice in a row |
        | launch_principal | twice at once  |

      @cap:builtin.provision_agent
      Examples:
        | builtin         | twice          |
        | provision_agent | twice in a row |
        | provision_agent | twice at once  |

      @cap:builtin.ask_expert
      Examples:
        | builtin    | twice          |
        | ask_expert | twice in a row |
        | ask_expert | twice at once  |

      @cap:builtin.fork_join
      Examples:
        | builtin   | twice          |
        | fork_join | twice in a row |
        | fork_join | twice at once  |

    @cap:replicas
    Scenario Outline: A built-in does its work once when its command is sent <twice>
      Given a live PMO
      And a command for a built-in
      When the worker sends the command <twice>
      Then the tool has run once

      Examples:
        | twice                               |
        | until every replica has received it |
        | to every replica at once            |

    Scenario: A command that comes three times does its work once
      Given a live PMO
      And a command for a built-in
      When the worker sends the command three times in a row
      Then the tool has run once

    Scenario: A command repeated after many others does its work once
      Given a live PMO
      And a command for a built-in
      When the worker sends the command and repeats it after 20 others
      Then the tool has run once

    # A PMO that knows a call for two seconds carries it out again.
    @long
    Scenario: A command repeated a while after its answer does its work once
      Given a live PMO
      And a command for a built-in
      And the command goes to channel "ch_41"
      When the worker sends the command and repeats it after 3 seconds
      Then the tool has run once

    Scenario Outline: All callbacks of a failed command sent <twice> report one outcome
      Given a live PMO
      And a command for a built-in
      And the platform refuses what the built-in asks for
      When the worker sends the command <twice>
      Then the tool has run once

      Examples:
        | twice          |
        | twice in a row |
        | twice at once  |

  @UTP-3.2-06
  Rule: Callbacks of a repeated command point to one tool.result card

    Scenario: A command repeated after its answer has one card
      Given a live PMO
      And a command for a built-in
      When the worker sends the command twice in a row
      Then the call has one tool.result card

    Scenario: A command repeated while the first still runs has one card
      Given a live PMO
      And a command for a built-in
      When the worker sends the command twice at once
      Then the call has one tool.result card

    @cap:replicas
    Scenario Outline: A command sent <twice> has one card
      Given a live PMO
      And a command for a built-in
      When the worker sends the command <twice>
      Then the call has one tool.result card

      Examples:
        | twice                               |
        | until every replica has received it |
        | to every replica at once            |

    Scenario: A failed command repeated after its answer has one card
      Given a live PMO
      And a command for a built-in
      And the platform refuses what the built-in asks for
      When the worker sends the command twice in a row
      Then the call has one tool.result card

    @cap:builtin.fork_join
    Scenario Outline: fork_join sent <twice> has one card
      Given a live PMO
      And a command for fork_join
      When the worker sends the command <twice>
      Then the call has one tool.result card

      Examples:
        | twice          |
        | twice in a row |
        | twice at once  |

  @UTP-3.2-05
  Rule: A command repeated while its children work has the effect of one

    Scenario Outline: <builtin> starts its children once when its command comes again while they work
      Given a PMO
      And a command for <builtin>
      When the worker sends the command and repeats it while its children work
      Then the tool has run once

      @cap:builtin.ask_expert
      Examples:
        | builtin    |
        | ask_expert |

      @cap:builtin.fork_join
      Examples:
        | builtin   |
        | fork_join |

  @UTP-3.2-06
  Rule: A failed built-in that is repeated is not tried again

    Scenario Outline: A failed <builtin> repeated after its answer has one card
      Given a live PMO
      And a command for <builtin>
      And the platform refuses what the built-in asks for
      When the worker sends the command twice in a row
      Then the call has one tool.result card

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

    Scenario Outline: <builtin> repeated after its children have failed has one card
      Given a live PMO
      And a command for <builtin>
      And its children end as failed
      When the worker sends the command twice in a row
      Then the call has one tool.result card

      @cap:builtin.ask_expert
      Examples:
        | builtin    |
        | ask_expert |

      @cap:builtin.fork_join
      Examples:
        | builtin   |
        | fork_join |

  @UTP-3.2-05
  Rule: A command repeated in another trace, or of a call that ends its turn, has the effect of one

    Scenario Outline: A command repeated <time> in another trace does its work once
      Given a live PMO
      And a command for a built-in
      When the worker sends the command and repeats it <time> with "traceparent" "00-7d8a3c51e0f24b6996a1c2d3e4f50718-9b8c7d6e5f4a3b2c-01"
      Then the tool has run once

      Examples:
        | time     |
        | in a row |
        | at once  |

    Scenario Outline: <builtin> that ends its turn does its work once when its command is sent twice in a row
      Given a live PMO
      And a command for <builtin>
      And the tool is registered with after_execution "terminate"
      And the command's "after_execution" is "terminate"
      When the worker sends the command twice in a row
      Then the tool has run once

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
