@role:breadcrumb.runner
Feature: Where a runner sends results
  return_to_llm says of each request whether its result comes back to the agent or goes to the user.

  @BRD-33 @cap:runner.routing
  Rule: What returns to the agent comes back to it

    Scenario Outline: A result of <tool>
      Given a tool runner
      And a call of <tool>
      When the agent makes the call
      Then its result comes back to the agent

      Examples:
        | tool       |
        | calculator |
        | echo       |

  @BRD-34 @cap:runner.routing
  Rule: What returns to the agent is not shown to the user ahead of it

    Scenario Outline: The agent says nothing of a result of <tool>
      Given a tool runner
      And a call of <tool>
      When the agent makes the call, and then one for the user
      Then the user is shown the later result only

      Examples:
        | tool       |
        | calculator |
        | echo       |

  @BRD-35 @cap:runner.routing
  Rule: What does not return is shown to the user without a step of the agent

    Scenario Outline: A result of <tool>
      Given a tool runner
      And a call of <tool> for the user
      When the agent makes the call
      Then the user is shown the result

      Examples:
        | tool       |
        | calculator |
        | echo       |
        | workflow   |

    # Another session may speak while a tool works.
    @cap:tool.workflow @cap:tool.timer @cap:tool.echo
    Scenario: To the user who asked, of two at once
      Given a tool runner
      And a workflow that waits for the user
      And a workflow that waits for the user
      And it is made in another session
      When the agent makes the calls, those of each session in a message of their own
      Then the user is shown the result

    Scenario Outline: What <tool> brings
      Given a tool runner
      And a valid call of <tool> for the user
      When the agent makes the call
      Then the user is shown the result

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

      @cap:tool.breadcrumb-search
      Examples: breadcrumb-search
        | tool |
        | breadcrumb-search |

    Scenario: Two results
      Given a tool runner
      And a call of calculator for the user
      And a call of calculator for the user
      When the agent makes the calls
      Then the user is shown the result

    @level:should
    Scenario: A failure
      Given a tool runner
      And a call with an expression that breaks off for the user
      When the agent makes the calls
      Then its failure is reported

  @BRD-36 @cap:runner.routing
  Rule: No language model is called with what goes to the user

    Scenario Outline: A result of <tool>
      Given a tool runner
      And a call of <tool> for the user
      When the agent makes the calls and says nothing more
      Then no language model is asked about it, and no agent turn starts

      Examples:
        | tool       |
        | calculator |
        | echo       |
        | workflow   |

    Scenario Outline: What <tool> brings
      Given a tool runner
      And a valid call of <tool> for the user
      When the agent makes the calls and says nothing more
      Then no language model is asked about it, and no agent turn starts

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

      @cap:tool.breadcrumb-search
      Examples: breadcrumb-search
        | tool |
        | breadcrumb-search |

  @BRD-37 @cap:runner.routing @cap:runner.invocations
  Rule: Each request of a message goes its own way

    Scenario: For the agent, and for the user
      Given a tool runner
      And a call of calculator
      And a call of calculator for the user
      When the agent makes the calls and says nothing more
      Then each result goes its own way

    Scenario: For the user, and for the agent
      Given a tool runner
      And a call of calculator for the user
      And a call of calculator
      When the agent makes the calls and says nothing more
      Then each result goes its own way

    Scenario: Two texts, for the agent and for the user
      Given a tool runner
      And a call of echo
      And a call of echo for the user
      When the agent makes the calls and says nothing more
      Then each result goes its own way

    Scenario: In turns
      Given a tool runner
      And a call of calculator
      And a call of calculator for the user
      And a call of calculator
      And a call of calculator for the user
      When the agent makes the calls and says nothing more
      Then each result goes its own way

    # An id is unique in its session, and no further.
    Scenario: Two calls with one id, each in a session of its own
      Given a tool runner
      And a call of calculator
      And its id is calc-1
      And it is made in another session
      And a call of calculator for the user
      And its id is calc-1
      When the agent makes the calls, each after the answer to the one before
      Then each result goes its own way

    Scenario: Two calls for the agent with one id, each in a session of its own
      Given a tool runner
      And a call of calculator
      And its id is calc-1
      And it is made in another session
      And a call of calculator
      And its id is calc-1
      When the agent makes the calls, each after the answer to the one before
      Then each result goes its own way

  @BRD-84 @cap:runner.routing
  Rule: A single call for the user ends with its value there and takes no turn

    Scenario: Pattern 1
      Given a tool runner
      And a call of calculator for the user
      When the agent makes the calls and says nothing more
      Then the user is shown the result
      And no language model is asked about it, and no agent turn starts
