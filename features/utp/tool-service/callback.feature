@role:utp.tool-service
Feature: The callback routes and points, and says nothing else
  The callback is the payload of the report. It repeats the ids of the command, gives the status, and points
  to the tool.result card. What the tool has to say is in the card.

  @UTP-4.2-02
  Rule: The callback goes through the report into the caller's Inbox

    Scenario: The caller finds the callback in its Inbox
      Given a Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then the caller's Inbox holds the callback

  Rule: The callback carries what the receiving side needs

    Scenario Outline: A successful call's callback carries "<member>"
      Given a Tool Service
      And a command for the echo probe
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

    @cap:probe.fail
    Scenario Outline: A failed call's callback carries "<member>"
      Given a Tool Service
      And a command for the fail probe
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
      Given a Tool Service
      And a command for the echo probe
      And the command's "<member>" is <value>
      When the worker sends the command
      Then the callback's "<member>" is the command's

      Examples:
        | rule     | member          | value            |
        | TDG-1-08 | after_execution | "suspend"        |
        | TDG-1-08 | after_execution | "terminate"      |

      @until:v1r3
      Examples: until v1r3
        | rule     | member          | value            |
        | TDG-1-05 | agent_turn_id   | "Turn-41_b:{unique}" |
        | TDG-1-06 | turn_epoch      | 7340032          |
        | TDG-1-07 | tool_call_id    | "Call-9X_a:{unique}" |
        | TDG-1-05 | agent_turn_id   | "turn_012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789:{unique}" |
        | TDG-1-06 | turn_epoch      | 0                    |
        | TDG-1-06 | turn_epoch      | 2147483653           |
        | TDG-1-07 | tool_call_id    | "call_9x\|fc_1/a.b:{unique}" |
        | TDG-1-07 | tool_call_id    | "call_012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789:{unique}" |
        | TDG-1-05 | agent_turn_id   | "482910377"          |
        | TDG-1-07 | tool_call_id    | "482910377"          |

    @cap:probe.fail
    Scenario Outline: "<member>" comes back as <value> from a failed call
      Given a Tool Service
      And a command for the fail probe
      And the command's "<member>" is <value>
      When the worker sends the command
      Then the callback's "<member>" is the command's

      Examples:
        | rule     | member          | value            |
        | TDG-1-08 | after_execution | "suspend"        |
        | TDG-1-08 | after_execution | "terminate"      |

      @until:v1r3
      Examples: until v1r3
        | rule     | member          | value            |
        | TDG-1-05 | agent_turn_id   | "Turn-41_b:{unique}" |
        | TDG-1-06 | turn_epoch      | 7340032          |
        | TDG-1-07 | tool_call_id    | "Call-9X_a:{unique}" |

    @TDG-1-08
    Scenario Outline: The registration's <registered> does not replace the command's <sent>
      Given a Tool Service
      And a command for the echo probe
      And the tool is registered with after_execution "<registered>"
      And the command's "after_execution" is "<sent>"
      When the worker sends the command
      Then the callback's "after_execution" is the command's

      Examples:
        | registered | sent      |
        | suspend    | terminate |
        | terminate  | suspend   |

    @TDG-1-08
    Scenario Outline: "after_execution" comes back as "<sent>" where the card holds <content>, if it is answered
      Given a live Tool Service
      And a command for the echo probe
      And the command's "after_execution" is "<sent>"
      And the tool.call card holds <content>
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the callback's "after_execution" is the command's

      Examples:
        | content             | sent      |
        | plain text          | suspend   |
        | plain text          | terminate |
        | an arbitrary object | terminate |

    @TDG-1-08
    Scenario Outline: "after_execution" comes back as "<sent>" beside inline "<member>", if it is answered
      Given a live Tool Service
      And a command for the echo probe
      And the command's "after_execution" is "<sent>"
      And the command carries "<member>" inline
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the callback's "after_execution" is the command's

      Examples:
        | member    | sent      |
        | args      | suspend   |
        | args      | terminate |
        | arguments | terminate |

    @TDG-1-08
    Scenario Outline: "after_execution" comes back as "<sent>" where the card is missing, if it is answered
      Given a live Tool Service
      And a command for the echo probe
      And the command's "after_execution" is "<sent>"
      And the tool.call card is missing
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the callback's "after_execution" is the command's

      Examples:
        | sent      |
        | suspend   |
        | terminate |

  @UTP-4.2-12
  Rule: The callback's after_execution is suspend or terminate

    Scenario Outline: A command with <sent> is called back with a value that there is
      Given a Tool Service
      And a command for the echo probe
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
      Given a Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then the callback has one of the five statuses

    @cap:probe.fail
    Scenario: A failed call has a status that there is
      Given a Tool Service
      And a command for the fail probe
      When the worker sends the command
      Then the callback has one of the five statuses

    Scenario: A refused call, where it is called back at all, has a status that there is
      Given a live Tool Service
      And a command for the echo probe
      And the command lacks "tool_call_card_id"
      When the worker sends the command
      Then the callback, if there is one, has one of the five statuses

    Scenario: A call without its card, where it is called back at all, has a status that there is
      Given a live Tool Service
      And a command for the echo probe
      And the tool.call card is missing
      When the worker sends the command
      Then the callback, if there is one, has one of the five statuses

    @absence
    Scenario: No callback of the whole run has a status of its own
      Given a Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then no callback of the whole run has another status than the five

  @until:v1r3
  @UTP-4.2-13
  Rule: The callback carries the step of the tool.call card

    Scenario: The card's step_id is in the callback
      Given a Tool Service
      And a command for the echo probe
      And the tool.call card's metadata "step_id" is "st_9"
      When the worker sends the command
      Then the callback carries the card's step_id

    @cap:probe.fail
    Scenario: The card's step_id is in the callback of a failed call
      Given a Tool Service
      And a command for the fail probe
      And the tool.call card's metadata "step_id" is "st_9"
      When the worker sends the command
      Then the callback carries the card's step_id

  @UTP-4.2-27
  Rule: The callback does not inline the result

    @cap:probe.fail
    Scenario: The callback of a failed call has no member "result"
      Given a Tool Service
      And a command for the fail probe
      When the worker sends the command
      Then the callback lacks "result"

    Scenario: The callback has no member "result"
      Given a Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then the callback lacks "result"

  @UTP-4.3-15
  Rule: The callback holds routing and pointer members only

    Scenario: A successful call's callback repeats nothing of the result
      Given a Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then the callback holds routing and pointer members only

    @cap:probe.fail
    Scenario: A failed call's callback repeats nothing of the error
      Given a Tool Service
      And a command for the fail probe
      When the worker sends the command
      Then the callback holds routing and pointer members only

  @until:v1r3
  Rule: Ids are not decoded

    Scenario Outline: "<member>" comes back as <value>, which looks encoded
      Given a Tool Service
      And a command for the echo probe
      And the command's "<member>" is <value>
      When the worker sends the command
      Then the callback's "<member>" is the command's

      Examples:
        | rule     | member        | value                          |
        | TDG-1-05 | agent_turn_id | "turn_Zm8v+Yg%3D%3D:{unique}"  |
        | TDG-1-07 | tool_call_id  | "call_Zm8v+Yg%3D%3D:{unique}"  |

  @until:v1r3
  Rule: An argument is none of the command's ids

    Scenario Outline: "<member>" comes back where an argument is called so
      Given a Tool Service
      And a command for the echo probe
      And the tool.call card's argument "<member>" is <value>
      When the worker sends the command
      Then the callback's "<member>" is the command's

      Examples:
        | rule     | member        | value                 |
        | TDG-1-05 | agent_turn_id | "turn_other_{unique}" |
        | TDG-1-06 | turn_epoch    | 99                    |
        | TDG-1-07 | tool_call_id  | "call_other_{unique}" |
        | TDG-2-06 | agent_id      | "ag_helper"           |

  @until:v1r3
  @TDG-1-07
  Rule: An id may have any characters

    Scenario Outline: The call <value> is answered under its id
      Given a Tool Service
      And a command for the echo probe
      And the command's "tool_call_id" is <value>
      When the worker sends the command
      Then the callback's "tool_call_id" is the command's

      Examples:
        | value                   |
        | "call 9x:{unique}"      |
        | "call_9x#1:{unique}"    |
        | "call_høyvann:{unique}" |

  @TDG-1-08
  Rule: A value that is none of the two is not taken for one of them

    Scenario: A command that asks for another end of the call gets no success
      Given a live Tool Service
      And a command for the echo probe
      And the command's "after_execution" is "pause"
      When the worker sends the command
      Then the tool does not run
