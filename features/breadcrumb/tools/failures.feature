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

    Scenario Outline: Of <tool>, whose provider answers with <answer>
      Given a tool runner
      And a valid call of <tool>
      And the provider answers with <answer>
      When the agent makes the call
      Then the failure has the form of the standard

      @cap:tool.openrouter
      Examples: openrouter
        | tool | answer |
        | openrouter | status 400 |
        | openrouter | status 401 |
        | openrouter | status 402 |
        | openrouter | status 403 |
        | openrouter | status 404 |
        | openrouter | status 422 |
        | openrouter | status 429 |
        | openrouter | status 503 |
        | openrouter | an error in place of a reply |
        | openrouter | a page of HTML |
        | openrouter | an empty body |
        | openrouter | a body that breaks off |

      @cap:tool.venice
      Examples: venice
        | tool | answer |
        | venice | status 400 |
        | venice | status 401 |
        | venice | status 402 |
        | venice | status 403 |
        | venice | status 404 |
        | venice | status 422 |
        | venice | status 429 |
        | venice | status 503 |
        | venice | an error in place of a reply |
        | venice | a page of HTML |
        | venice | an empty body |
        | venice | a body that breaks off |

      @cap:tool.ollama_local
      Examples: ollama_local
        | tool | answer |
        | ollama_local | status 400 |
        | ollama_local | status 401 |
        | ollama_local | status 402 |
        | ollama_local | status 403 |
        | ollama_local | status 404 |
        | ollama_local | status 422 |
        | ollama_local | status 429 |
        | ollama_local | status 503 |
        | ollama_local | an error in place of a reply |
        | ollama_local | a page of HTML |
        | ollama_local | an empty body |
        | ollama_local | a body that breaks off |

    @cap:tool.calculator
    Scenario: Of calculator, for a value that there is not
      Given a tool runner
      And a call of calculator for "1 / 0"
      When the agent makes the call
      Then the failure has the form of the standard

    @cap:tool.timer
    Scenario: Of timer, for a word in place of the seconds
      Given a tool runner
      And a call with a word for seconds
      When the agent makes the call
      Then the failure has the form of the standard

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
