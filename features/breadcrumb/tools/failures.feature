@role:breadcrumb.tools
Feature: What a tool answers when it fails
  Every tool fails in the same form, so that an agent looks in one place.

  @BRD-79
  Rule: A failure has status, error and tool

    Scenario Outline: Of <tool>
      Given a tool runner
      And a call of <tool> that fails
      When the agent makes the call
      Then the failure has the form of the standard

      @cap:tool.calculator
      Examples: calculator
        | tool |
        | calculator |

      @cap:tool.breadcrumb-update
      Examples: breadcrumb-update
        | tool |
        | breadcrumb-update |

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

      Examples: a tool that there is not
        | tool |
        | no-such-tool |

    Scenario Outline: Of <tool>, whose provider answers with status <status>
      Given a tool runner
      And a valid call of <tool>
      And the provider answers with status <status>
      When the agent makes the call
      Then the failure has the form of the standard

      @cap:tool.openrouter
      Examples: openrouter
        | tool | status |
        | openrouter | 400 |
        | openrouter | 429 |

      @cap:tool.venice
      Examples: venice
        | tool | status |
        | venice | 400 |
        | venice | 429 |

      @cap:tool.ollama_local
      Examples: ollama_local
        | tool | status |
        | ollama_local | 400 |
        | ollama_local | 429 |

  @BRD-80
  Rule: The error should be something that a person can read

    Scenario Outline: Of <tool>
      Given a tool runner
      And a call of <tool> that fails
      When the agent makes the call
      Then a person can read the error

      @cap:tool.calculator
      Examples: calculator
        | tool |
        | calculator |

      @cap:tool.breadcrumb-update
      Examples: breadcrumb-update
        | tool |
        | breadcrumb-update |

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

      Examples: a tool that there is not
        | tool |
        | no-such-tool |
