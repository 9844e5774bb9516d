@role:breadcrumb.tools
Feature: openrouter, venice and ollama_local
  A language model's tool hands the conversation on, and brings the reply with what it took.

  @BRD-59
  Rule: A language model's tool gives the text of the reply

    Scenario Outline: Of <tool>
      Given a tool runner
      And a valid call of <tool>
      When the agent makes the call
      Then the output has the text of the reply

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

  @BRD-60
  Rule: A language model's tool names the model that replied

    Scenario Outline: Of <tool>
      Given a tool runner
      And a valid call of <tool>
      When the agent makes the call
      Then the output names the model

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

    Scenario Outline: Of <tool>, which asked for it by a shorter name
      Given a tool runner
      And a valid call of <tool>
      And the provider answers with a longer name of the model
      When the agent makes the call
      Then the output names the model

      @cap:tool.openrouter
      Examples: openrouter
        | tool |
        | openrouter |

      @cap:tool.venice
      Examples: venice
        | tool |
        | venice |

  @BRD-61
  Rule: A language model's tool gives the tokens that were consumed

    Scenario Outline: Of <tool>
      Given a tool runner
      And a valid call of <tool>
      When the agent makes the call
      Then the output has the number of tokens

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

  @BRD-62
  Rule: A cost, where it is given, is an amount of dollars

    Scenario Outline: Of <tool>
      Given a tool runner
      And a valid call of <tool>
      When the agent makes the call
      Then the output has a cost that is an amount

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

  @BRD-63
  Rule: A language model's tool should estimate the cost

    Scenario Outline: Of <tool>
      Given a tool runner
      And a valid call of <tool>
      When the agent makes the call
      Then the output has a cost

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

  @BRD-85
  Rule: A language model's tool hands on every message in its order

    Scenario Outline: Of <tool>
      Given a tool runner
      And a valid call of <tool>
      When the agent makes the call
      Then the model gets all messages in their order

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

    Scenario Outline: Of <tool>, several of a role after each other
      Given a tool runner
      And a valid call of <tool> in which several messages of a role follow each other
      When the agent makes the call
      Then the model gets all messages in their order

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

    Scenario Outline: Of <tool>, with a second instruction on the way
      Given a tool runner
      And a valid call of <tool> in which the model is instructed once more on the way
      When the agent makes the call
      Then the model gets all messages in their order

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

    Scenario Outline: Of <tool>, a long conversation
      Given a tool runner
      And a valid call of <tool> in which forty messages and one follow each other
      When the agent makes the call
      Then the model gets all messages in their order

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

    Scenario Outline: Of <tool>, after a call in another session
      Given a tool runner
      And a valid call of <tool>
      And a valid call of <tool>
      And it is made in another session
      When the agent makes the calls, each after the answer to the one before
      Then the model gets the messages of each call by themselves

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
