@role:utp.openapi
@cap:jina.search
Feature: An executor's callback routes and points, and says nothing else
  It repeats the ids of the command, gives the status, and points to the tool.result card, whatever the upstream did.

  @UTP-4.2-02
  Rule: The callback goes through the report into the caller's Inbox

    Scenario: The caller finds the callback in its Inbox
      Given an OpenAPI executor
      And a command for the search tool
      When the worker sends the command
      Then the caller's Inbox holds the callback

  Rule: The callback carries what the receiving side needs

    Scenario Outline: A successful call's callback carries "<member>"
      Given an OpenAPI executor
      And a command for the search tool
      When the worker sends the command
      Then the callback carries "<member>"

      Examples:
        | rule       | member              |
        | UTP-4.2-09 | tool_result_card_id |
        | UTP-4.2-10 | status              |
        | UTP-4.2-11 | after_execution     |

      @until:v1r3
      Examples: until v1r3
        | rule       | member              |
        | UTP-4.2-05 | tool_call_id        |
        | UTP-4.2-06 | agent_turn_id       |
        | UTP-4.2-07 | turn_epoch          |
        | UTP-4.2-08 | agent_id            |

    Scenario Outline: A failed call's callback carries "<member>"
      Given an OpenAPI executor
      And a command for the search tool
      And the upstream answers with status 500
      When the worker sends the command
      Then the callback carries "<member>"

      Examples:
        | rule       | member              |
        | UTP-4.2-09 | tool_result_card_id |
        | UTP-4.2-10 | status              |
        | UTP-4.2-11 | after_execution     |

      @until:v1r3
      Examples: until v1r3
        | rule       | member              |
        | UTP-4.2-05 | tool_call_id        |
        | UTP-4.2-06 | agent_turn_id       |
        | UTP-4.2-07 | turn_epoch          |
        | UTP-4.2-08 | agent_id            |

  Rule: The callback repeats the command's ids and after_execution unchanged

    Scenario Outline: "<member>" comes back as <value>
      Given an OpenAPI executor
      And a command for the search tool
      And the command's "<member>" is <value>
      When the worker sends the command
      Then the callback's "<member>" is the command's

      Examples:
        | rule     | member          | value                |
        | TDG-1-08 | after_execution | "suspend"            |
        | TDG-1-08 | after_execution | "terminate"          |

      @until:v1r3
      Examples: until v1r3
        | rule     | member          | value                |
        | TDG-1-05 | agent_turn_id   | "Turn-41_b:{unique}" |
        | TDG-1-06 | turn_epoch      | 7340032              |
        | TDG-1-07 | tool_call_id    | "Call-9X_a:{unique}" |

    Scenario Outline: "<member>" comes back as <value> from a failed call
      Given an OpenAPI executor
      And a command for the search tool
      And the upstream answers with status 500
      And the command's "<member>" is <value>
      When the worker sends the command
      Then the callback's "<member>" is the command's

      Examples:
        | rule     | member          | value                |
        | TDG-1-08 | after_execution | "suspend"            |
        | TDG-1-08 | after_execution | "terminate"          |

      @until:v1r3
      Examples: until v1r3
        | rule     | member          | value                |
        | TDG-1-05 | agent_turn_id   | "Turn-41_b:{unique}" |
        | TDG-1-06 | turn_epoch      | 7340032              |
        | TDG-1-07 | tool_call_id    | "Call-9X_a:{unique}" |

    @TDG-1-08
    Scenario Outline: The registration's <registered> does not replace the command's <sent>
      Given an OpenAPI executor
      And a command for the search tool
      And the tool is registered with after_execution "<registered>"
      And the command's "after_execution" is "<sent>"
      When the worker sends the command
      Then the callback's "after_execution" is the command's

      Examples:
        | registered | sent      |
        | suspend    | terminate |
        | terminate  | suspend   |

  @UTP-4.2-12
  Rule: The callback's after_execution is suspend or terminate

    Scenario Outline: A command with <sent> is called back with a value that there is
      Given an OpenAPI executor
      And a command for the search tool
      And the command's "after_execution" is "<sent>"
      When the worker sends the command
      Then the callback names suspend or terminate

      Examples:
        | sent      |
        | suspend   |
        | terminate |

  @UTP-4.2-25
  Rule: The callback's status is one of the five

    Scenario: A successful call has a status that there is
      Given an OpenAPI executor
      And a command for the search tool
      When the worker sends the command
      Then the callback has one of the five statuses

    Scenario: A failed call has a status that there is
      Given an OpenAPI executor
      And a command for the search tool
      And the upstream answers with status 500
      When the worker sends the command
      Then the callback has one of the five statuses

    Scenario: A refused call, where it is called back at all, has a status that there is
      Given a live OpenAPI executor
      And a command for the search tool
      And the command lacks "tool_call_card_id"
      When the worker sends the command
      Then the callback, if there is one, has one of the five statuses

    Scenario: A call without its card, where it is called back at all, has a status that there is
      Given a live OpenAPI executor
      And a command for the search tool
      And the tool.call card is missing
      When the worker sends the command
      Then the callback, if there is one, has one of the five statuses

    @absence
    Scenario: No callback of the whole run has a status of its own
      Given an OpenAPI executor
      And a command for the search tool
      When the worker sends the command
      Then no callback of the whole run has another status than the five

  @until:v1r3
  @UTP-4.2-13
  Rule: The callback carries the step of the tool.call card

    Scenario: The card's step_id is in the callback
      Given an OpenAPI executor
      And a command for the search tool
      And the tool.call card's metadata "step_id" is "st_9"
      When the worker sends the command
      Then the callback carries the card's step_id

    Scenario: The card's step_id is in the callback of a failed call
      Given an OpenAPI executor
      And a command for the search tool
      And the upstream answers with status 500
      And the tool.call card's metadata "step_id" is "st_9"
      When the worker sends the command
      Then the callback carries the card's step_id

  @UTP-4.2-27
  Rule: The callback does not inline the result

    Scenario: The callback of a failed call has no member "result"
      Given an OpenAPI executor
      And a command for the search tool
      And the upstream answers with status 500
      When the worker sends the command
      Then the callback lacks "result"

    Scenario: The callback has no member "result"
      Given an OpenAPI executor
      And a command for the search tool
      When the worker sends the command
      Then the callback lacks "result"

  @UTP-4.3-15
  Rule: The callback holds routing and pointer members only

    Scenario: A successful call's callback repeats nothing of the result
      Given an OpenAPI executor
      And a command for the search tool
      When the worker sends the command
      Then the callback holds routing and pointer members only

    Scenario: A failed call's callback repeats nothing of the error
      Given an OpenAPI executor
      And a command for the search tool
      And the upstream answers with status 500
      When the worker sends the command
      Then the callback holds routing and pointer members only

  @TDG-1-08
  Rule: A value that is none of the two is not taken for one of them

    Scenario: A command that asks for another end of the call gets no success
      Given a live OpenAPI executor
      And a command for the search tool
      And the command's "after_execution" is "pause"
      When the worker sends the command
      Then the tool does not run

  @until:v1r3
  Rule: An argument is none of the command's ids

    Scenario Outline: "<member>" comes back where an argument is called so
      Given an OpenAPI executor
      And a command for the search tool
      And the tool.call card's argument "<member>" is <value>
      When the worker sends the command
      Then the callback's "<member>" is the command's

      Examples:
        | rule     | member        | value                 |
        | TDG-1-05 | agent_turn_id | "turn_other_{unique}" |
        | TDG-1-06 | turn_epoch    | 99                    |
        | TDG-1-07 | tool_call_id  | "call_other_{unique}" |
        | TDG-2-06 | agent_id      | "ag_helper"           |
