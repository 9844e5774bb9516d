@role:breadcrumb.tools
Feature: The output of every tool
  Whoever reads an output relies on the members that its schema declares.

  @BRD-53
  Rule: An output has the members of its schema, with their types

    Scenario Outline: Of <tool>
      Given a tool runner
      And a valid call of <tool>
      When the agent makes the call
      Then the output has the members of its schema

      @cap:tool.calculator
      Examples: calculator
        | tool |
        | calculator |

      @cap:tool.random
      Examples: random
        | tool |
        | random |

      @cap:tool.echo
      Examples: echo
        | tool |
        | echo |

      @cap:tool.timer @long
      Examples: timer
        | tool |
        | timer |

      @cap:tool.breadcrumb-create
      Examples: breadcrumb-create
        | tool |
        | breadcrumb-create |

      @cap:tool.breadcrumb-update
      Examples: breadcrumb-update
        | tool |
        | breadcrumb-update |

      @cap:tool.breadcrumb-search
      Examples: breadcrumb-search
        | tool |
        | breadcrumb-search |

      @cap:tool.openrouter
      Examples: openrouter
        | tool |
        | openrouter |

      @cap:tool.venice
      Examples: venice
        | tool |
        | venice |

      @cap:tool.ollama_local
      Examples: ollama_local
        | tool |
        | ollama_local |

      @cap:tool.astral @long
      Examples: astral
        | tool |
        | astral navigate |
        | astral extract |
        | astral click |
        | astral screenshot |
        | astral evaluate |

    @cap:tool.extra
    Scenario: Of every further tool
      Given a tool runner
      And calls of all further tools
      When the agent makes the call
      Then the output has the members of its schema
