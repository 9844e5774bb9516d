@role:utp.pmo
@since:v1r4
Feature: The turns that a PMO starts know how deep they are
  Agents that give work to agents could do so without end, so each turn knows how deep it is nested. The platform gives
  a turn its id; the PMO says by a correlation id which start it means.

  @R4-14
  Rule: A turn is one level deeper than the call that starts it

    Scenario Outline: <builtin> at depth <depth> starts turns at the next one
      Given a PMO
      And a command for <builtin>
      And the command's "recursion_depth" is <depth>
      When the worker sends the command
      Then the turns that the call starts are one level deeper

      @cap:builtin.delegate_async
      Examples:
        | builtin        | depth |
        | delegate_async | 0     |
        | delegate_async | 1     |
        | delegate_async | 7     |
        | delegate_async | 18    |

      @cap:builtin.launch_principal
      Examples:
        | builtin          | depth |
        | launch_principal | 0     |
        | launch_principal | 7     |

      @cap:builtin.ask_expert
      Examples:
        | builtin    | depth |
        | ask_expert | 0     |
        | ask_expert | 7     |

      @cap:builtin.fork_join
      Examples:
        | builtin   | depth |
        | fork_join | 0     |
        | fork_join | 7     |

    Scenario Outline: <builtin> at depth 18 does what its card says, one level deeper
      Given a PMO
      And a command for <builtin>
      And the command's "recursion_depth" is 18
      When the worker sends the command
      Then the arguments of the card show in what the built-in does
      And the turns that the call starts are one level deeper

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

    @cap:builtin.delegate_async
    Scenario: delegate_async at depth 7 starts a turn at the next one after a call at another
      Given a live PMO
      And a command for delegate_async
      And the command's "recursion_depth" is 7
      When the worker sends the command
      Then the turns that the call starts are one level deeper

    Scenario Outline: <builtin> at depth 19 starts nothing, and says so
      Given a live PMO
      And a command for <builtin>
      And the command's "recursion_depth" is 19
      When the worker sends the command
      Then the tool does not run
      And the call ends as failed

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

    @cap:builtin.delegate_async
    Scenario Outline: delegate_async at depth <depth> starts nothing
      Given a live PMO
      And a command for delegate_async
      And the command's "recursion_depth" is <depth>
      When the worker sends the command
      Then the tool does not run

      Examples:
        | depth |
        | 20    |
        | 21    |
        | 100   |

    Scenario Outline: <builtin> at depth 20 starts nothing
      Given a live PMO
      And a command for <builtin>
      And the command's "recursion_depth" is 20
      When the worker sends the command
      Then the tool does not run

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

    Scenario Outline: <builtin> without a depth starts turns at depth 1, if it is carried out
      Given a PMO
      And a command for <builtin>
      And the command lacks "recursion_depth"
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the turns that the call starts are one level deeper

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

    Scenario Outline: <builtin> with after_execution "terminate" starts turns one level deeper, too
      Given a PMO
      And a command for <builtin>
      And the tool is registered with after_execution "terminate"
      And the command's "after_execution" is "terminate"
      And the command's "recursion_depth" is 6
      When the worker sends the command
      Then the turns that the call starts are one level deeper

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

  @R4-16
  Rule: The platform chooses the ids of turns

    Scenario Outline: <builtin> leaves the ids of its turns to the platform
      Given a PMO
      And a command for <builtin>
      When the worker sends the command
      Then the platform chooses the ids of the turns

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
