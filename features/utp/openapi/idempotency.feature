@role:utp.openapi
@cap:jina.search
Feature: A repeated command of an executor has one effect
  What a search finds differs from time to time, and so does what the suite's upstream answers: an executor that asks
  again for a call that it has answered shows by its result.

  @UTP-3.2-04
  Rule: A command repeated with the same tool_call_id and card has the effect of one

    Scenario Outline: All callbacks of a command sent <twice> report one outcome
      Given a live OpenAPI executor
      And a command for the search tool
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

    # An executor that knows a call for two seconds asks again.
    @long
    Scenario: A command repeated a while after its answer is carried out once
      Given a live OpenAPI executor
      And a command for the search tool
      And the command goes to channel "ch_41"
      When the worker sends the command and repeats it after 3 seconds
      Then the tool has run once

    Scenario: A command that comes three times without a pause is carried out once
      Given a live OpenAPI executor
      And a command for the search tool
      When the worker sends the command three times without a pause
      Then the tool has run once
      And the call has one tool.result card

    Scenario Outline: All callbacks of a failed command sent <twice> report one outcome
      Given a live OpenAPI executor
      And a command for the search tool
      And the upstream answers with status 500
      When the worker sends the command <twice>
      Then the tool has run once

      Examples:
        | twice          |
        | twice in a row |
        | twice at once  |

    Scenario Outline: All callbacks of a command whose upstream <does> report one outcome
      Given a live OpenAPI executor
      And a command for the search tool
      And the upstream <does>
      When the worker sends the command twice in a row
      Then the tool has run once

      Examples:
        | does                                              |
        | answers with status 401                           |
        | redirects with status 302 to {upstream}/{landing} |
        | closes the connection                             |

      @cap:jina.timeout
      @holds
      Examples: silence
        | does                                              |
        | never answers                                     |

    Scenario: All callbacks of a command that ends its turn report one outcome
      Given a live OpenAPI executor
      And a command for the search tool
      And the command's "after_execution" is "terminate"
      When the worker sends the command twice in a row
      Then the tool has run once

    @cap:jina.reader
    Scenario Outline: All callbacks of a reader's command sent <twice> report one outcome
      Given a live OpenAPI executor
      And a command for the reader tool
      When the worker sends the command <twice>
      Then the tool has run once

      Examples:
        | twice          |
        | twice in a row |
        | twice at once  |

    @cap:jina.search
    Scenario Outline: All callbacks of a POST search's command sent <twice> report one outcome
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/method" is "POST"
      When the worker sends the command <twice>
      Then the tool has run once

      Examples:
        | twice          |
        | twice in a row |
        | twice at once  |

    # An executor that forgets a call which failed would have a result for its repeat.
    Scenario Outline: A command whose upstream <does> is not run again for its repeat
      Given a live OpenAPI executor
      And a command for the search tool
      And the upstream <does>
      When the worker sends the command twice in a row
      Then the tool has run once

      Examples:
        | does                             |
        | answers with status 500 at first |
        | answers with status 429 at first |
        | closes the connection at first   |

      @cap:jina.timeout
      @holds
      Examples: silence
        | does                   |
        | never answers at first |

  @UTP-3.2-06
  Rule: Callbacks of a repeated command point to one tool.result card

    Scenario: A command repeated after its answer has one card
      Given a live OpenAPI executor
      And a command for the search tool
      When the worker sends the command twice in a row
      Then the call has one tool.result card

    Scenario: A command repeated while the first still runs has one card
      Given a live OpenAPI executor
      And a command for the search tool
      When the worker sends the command twice at once
      Then the call has one tool.result card

    @cap:replicas
    Scenario Outline: A command sent <twice> has one card
      Given a live OpenAPI executor
      And a command for the search tool
      When the worker sends the command <twice>
      Then the call has one tool.result card

      Examples:
        | twice                               |
        | until every replica has received it |
        | to every replica at once            |

    Scenario: A failed command repeated after its answer has one card
      Given a live OpenAPI executor
      And a command for the search tool
      And the upstream answers with status 500
      When the worker sends the command twice in a row
      Then the call has one tool.result card

  @UTP-3.2-02
  Rule: The same tool_call_id in another turn is another call

    Scenario: Another turn reuses the tool_call_id
      Given a live OpenAPI executor
      And a command for the search tool was answered
      And the next command has its tool_call_id in another turn
      When the worker sends the command
      Then the call of the other turn is answered on its own

  # That a repeated command is the same in all its members is not said; who repeats it says which epoch its turn has now.
  @UTP-3.2-04
  Rule: A command repeated in a later epoch of its turn is the same call

    @level:should
    Scenario: A command repeated in a later epoch runs once
      Given a live OpenAPI executor
      And a command for the search tool
      When the worker sends the command and repeats it in a row in turn epoch 7
      Then the tool has run once
