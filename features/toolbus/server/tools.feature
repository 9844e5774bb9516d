@role:toolbus.server
Feature: What the bus promises it keeps for every tool
  The semantic arguments are those of the bus and not of a tool: each form of `output` shapes the result of whatever
  tool is called, that of the state among them, and `store_as` stores it.

  # The call is made once before, so that there is a result to take the key from.
  @BUS-20
  Rule: Each form of output shapes the result of every tool

    Scenario Outline: When the output <uses> one key of it, the result of the <probe> probe <property>
      Given an MCP server
      And a call of the <probe> probe
      And the client has made the call
      And the output <uses> one key of the result
      When the client makes the call
      Then the result <property>

      @cap:probe.first-other
      Examples:
        | probe       | uses    | property                                    |
        | first other | omits   | lacks only the key that was omitted         |
        | first other | follows | is what stands under the key that was followed |

      @cap:probe.second-other
      Examples: a further tool
        | probe        | uses    | property                                    |
        | second other | omits   | lacks only the key that was omitted         |
        | second other | follows | is what stands under the key that was followed |

      @cap:probe.third-other
      Examples: another action
        | probe       | uses  | property                           |
        | third other | picks | has only the key that was picked   |
        | third other | omits   | lacks only the key that was omitted         |
        | third other | follows | is what stands under the key that was followed |

      @cap:probe.state
      Examples: the state
        | probe | uses    | property                                    |
        | state | picks   | has only the key that was picked            |
        | state | omits   | lacks only the key that was omitted         |
        | state | follows | is what stands under the key that was followed |

      @cap:probe.large
      Examples: the tool of large results
        | probe | uses    | property                                    |
        | large | follows | is what stands under the key that was followed |

      @cap:probe.partial
      Examples: a result that calls for a follow-up
        | probe   | uses  | property                            |
        | partial | omits | lacks only the key that was omitted |

      @cap:probe.break-glass
      Examples: the tool that may break the glass
        | probe       | uses    | property                                    |
        | break-glass | picks   | has only the key that was picked            |
        | break-glass | omits   | lacks only the key that was omitted         |
        | break-glass | follows | is what stands under the key that was followed |

  @BUS-22 @cap:probe.state
  Rule: What output keeps of the result of another tool is what is stored

    Scenario Outline: What a pick keeps of the result of the <probe> probe is stored
      Given an MCP server
      And a call of the <probe> probe
      And the output picks one key of the result
      And the result is stored under "key-5"
      When the client makes the call
      Then the state holds the result under "key-5"

      @cap:probe.first-other
      Examples:
        | probe       |
        | first other |

      @cap:probe.second-other
      Examples: a further tool
        | probe        |
        | second other |

  @BUS-29 @cap:probe.state
  Rule: Every tool's result can be stored, whatever the tool is for

    Scenario Outline: The result of the <probe> probe is stored, too
      Given an MCP server
      And a call of the <probe> probe
      And the result is stored under "key-5"
      When the client makes the call
      Then the state holds the result under "key-5"

      @cap:probe.third-other
      Examples:
        | probe       |
        | third other |

      @cap:probe.partial
      Examples: a result that calls for a follow-up
        | probe   |
        | partial |

      @cap:probe.large
      Examples: the tool of large results
        | probe |
        | large |

      @cap:probe.state
      Examples: the state
        | probe |
        | state |
