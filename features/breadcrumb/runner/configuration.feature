@role:breadcrumb.runner
Feature: A tool runs with the configuration that its call names
  A `tool.config.v1` brings keys and settings; which one is used is for the call to say.

  @BRD-41 @cap:tool.config
  Rule: The key is the configuration's

    Scenario Outline: Two calls of <tool> with two configurations
      Given a tool runner
      And a call of <tool> with a configuration of its own
      And a call of <tool> with a configuration of its own
      When the agent makes the call
      Then the provider gets the key of the configuration of each

      @cap:tool.openrouter
      Examples: openrouter
        | tool |
        | openrouter |

      @cap:tool.venice
      Examples: venice
        | tool |
        | venice |

  @BRD-42 @cap:tool.config
  Rule: The model is the configuration's

    Scenario Outline: Two calls of <tool> with two configurations
      Given a tool runner
      And a call of <tool> with a configuration of its own
      And a call of <tool> with a configuration of its own
      When the agent makes the call
      Then the provider gets the model of the configuration of each

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

  @BRD-43 @cap:tool.config
  Rule: The tool's own settings are the configuration's

    Scenario Outline: Two calls of <tool> with two configurations
      Given a tool runner
      And a call of <tool> with a configuration of its own
      And a call of <tool> with a configuration of its own
      When the agent makes the call
      Then the provider gets the custom setting of the configuration of each

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

  @BRD-44 @cap:tool.config
  Rule: A call that names no configuration should not run with another's values

    Scenario Outline: A call of <tool> with <stand-in> in its place
      Given a tool runner
      And a call of <tool> with a configuration of its own
      And a call of <tool> with <stand-in> as its configuration
      When the agent makes the calls, each after the answer to the one before
      Then the last one runs with nothing of a configuration

      @cap:tool.openrouter
      Examples: openrouter
        | tool | stand-in |
        | openrouter | no breadcrumb |
        | openrouter | a note |

      @cap:tool.venice
      Examples: venice
        | tool | stand-in |
        | venice | no breadcrumb |
        | venice | a note |

      @cap:tool.ollama_local
      Examples: ollama_local
        | tool | stand-in |
        | ollama_local | no breadcrumb |
        | ollama_local | a note |

    Scenario Outline: A call of <tool> without a config_id, after one that has it
      Given a tool runner
      And a call of <tool> with a configuration of its own
      And a call of <tool> with no breadcrumb as its configuration
      And it has no config_id
      When the agent makes the calls, each after the answer to the one before
      Then the last one runs with nothing of a configuration

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

  @BRD-16
  Rule: The tool that is named is the one that runs

    Scenario Outline: <tool>
      Given a tool runner
      And a valid call of <tool>
      When the agent makes the call
      Then the output is the work of the tool that was named

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

      @cap:tool.astral
      Examples: astral
        | tool |
        | astral navigate |
