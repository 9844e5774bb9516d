@role:utp.tool-service
@since:v1r4
Feature: The identity of a call travels in headers
  Who calls, in which turn, at which step: the headers of the command say it, and the headers of the report say it
  again. Payloads hold what the call is about, and no member of the control plane.

  @R4-01
  Rule: The service speaks on subjects of its revision

    Scenario: A command on a subject of the revision is answered
      Given a Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then the call is answered
      And nothing is published on subjects of another version

    @cap:probe.fail
    Scenario: A failed call says nothing on subjects of another version
      Given a Tool Service
      And a command for the fail probe
      When the worker sends the command
      Then the call is answered
      And nothing is published on subjects of another version

  @R4-02
  Rule: The identity is that of the headers, and not of the payload

    Scenario: A command whose headers have the whole identity is carried out
      Given a Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then the call succeeds

    Scenario Outline: "<member>" of the payload does not make up for a missing header
      Given a live Tool Service
      And a command for the echo probe
      And the command lacks "<member>"
      And the payload's "<member>" is <value>
      When the worker sends the command
      Then the tool does not run

      Examples:
        | member        | value           |
        | agent_id      | "ag_pilot"      |
        | agent_turn_id | "{turn}" |
        | tool_call_id  | "{call}" |
        | turn_epoch    | 6               |

    Scenario Outline: A refusal is addressed to "<member>" of the headers
      Given a live Tool Service
      And a command for the echo probe
      And the payload's "<member>" is <value>
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the callback's "<member>" is the command's

      Examples:
        | member        | value                 |
        | agent_id      | "ag_helper"           |
        | agent_turn_id | "turn_other_{unique}" |
        | tool_call_id  | "call_other_{unique}" |
        | turn_epoch    | 99                    |
        | step_id       | "step_other"          |

  @R4-08
  Rule: The report is addressed with the identity that came in

    Scenario Outline: "<member>" comes back as <value>
      Given a Tool Service
      And a command for the echo probe
      And the command's "<member>" is <value>
      When the worker sends the command
      Then the callback's "<member>" is the command's

      Examples:
        | member        | value                |
        | agent_id      | "ag_42"              |
        | agent_turn_id | "Turn-41_b:{unique}" |
        | turn_epoch    | 0                    |
        | turn_epoch    | 7340032              |
        | tool_call_id  | "Call-9X_a:{unique}" |
        | agent_id      | "Ag_Pilot-1"         |
        | agent_turn_id | "turn_012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789:{unique}" |
        | turn_epoch    | 2147483653           |
        | tool_call_id  | "call_9x\|fc_1/a.b:{unique}" |
        | tool_call_id  | "call_012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789:{unique}" |

    Scenario: The step comes back
      Given a Tool Service
      And a command for the echo probe
      And the tool.call card's metadata "step_id" is "St-9_x"
      When the worker sends the command
      Then the callback's "step_id" is the command's

    @cap:probe.fail
    Scenario Outline: "<member>" comes back as <value> from a failed call
      Given a Tool Service
      And a command for the fail probe
      And the command's "<member>" is <value>
      When the worker sends the command
      Then the callback's "<member>" is the command's

      Examples:
        | member        | value                |
        | agent_id      | "ag_42"              |
        | agent_turn_id | "Turn-41_b:{unique}" |
        | turn_epoch    | 7340032              |
        | tool_call_id  | "Call-9X_a:{unique}" |

    @cap:probe.fail
    Scenario: The step comes back from a failed call
      Given a Tool Service
      And a command for the fail probe
      And the tool.call card's metadata "step_id" is "St-9_x"
      When the worker sends the command
      Then the callback's "step_id" is the command's

    # What becomes of a command whose card names another step is open.
    Scenario: The step of the headers comes back where the card has another, if the call is answered
      Given a live Tool Service
      And a command for the echo probe
      And the command's "step_id" is "St-hdr_7"
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the callback's "step_id" is the command's

    Scenario Outline: "<member>" comes back as <value> from a refused call, if it is answered
      Given a live Tool Service
      And a command for the echo probe
      And the command's "<member>" is <value>
      And the tool.call card is missing
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the callback's "<member>" is the command's

      Examples:
        | member        | value                |
        | agent_id      | "ag_42"              |
        | agent_turn_id | "Turn-41_b:{unique}" |
        | turn_epoch    | 7340032              |
        | tool_call_id  | "Call-9X_a:{unique}" |

  @R4-21
  Rule: The report has the depth of its command

    Scenario Outline: The depth <depth> comes back
      Given a Tool Service
      And a command for the echo probe
      And the command's "recursion_depth" is <depth>
      When the worker sends the command
      Then the callback's "recursion_depth" is the command's

      Examples:
        | depth |
        | 0     |
        | 1     |
        | 7     |
        | 12    |
        | 19    |

    @cap:probe.fail
    Scenario: The depth comes back from a failed call
      Given a Tool Service
      And a command for the fail probe
      And the command's "recursion_depth" is 7
      When the worker sends the command
      Then the callback's "recursion_depth" is the command's

    Scenario: A command without a depth gets none back, or 0
      Given a Tool Service
      And a command for the echo probe
      And the command lacks "recursion_depth"
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the callback's "recursion_depth" is the command's

  @R4-07
  Rule: The callback holds business members only

    Scenario: The callback of a successful call has no control member
      Given a Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then the callback holds no control member

    @cap:probe.fail
    Scenario: The callback of a failed call has no control member
      Given a Tool Service
      And a command for the fail probe
      When the worker sends the command
      Then the callback holds no control member

    Scenario: The callback of a refused call has no control member, if it is answered
      Given a live Tool Service
      And a command for the echo probe
      And the tool.call card is missing
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the callback holds no control member

    Scenario: The callback of a call with a control member does not repeat it
      Given a live Tool Service
      And a command for the echo probe
      And the payload's "trace_id" is "from-payload"
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the callback holds no control member

  @R4-09
  Rule: The tool.result card is signed by who reports it, and names its tool

    Scenario: The card of a successful call has an author and a function
      Given a Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then the tool.result card's author is who reports it
      And the tool.result card names the tool as its function

    @cap:probe.fail
    Scenario: The card of a failed call has an author and a function
      Given a Tool Service
      And a command for the fail probe
      When the worker sends the command
      Then the tool.result card's author is who reports it
      And the tool.result card names the tool as its function

    Scenario: The card of a refused call has an author and a function, if it is answered
      Given a live Tool Service
      And a command for the echo probe
      And the tool.call card is missing
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the tool.result card's author is who reports it
      And the tool.result card names the tool as its function

    Scenario: The card of a call without the tool's name names some function, if it is answered
      Given a live Tool Service
      And a command for the echo probe
      And the command lacks "tool_name"
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the tool.result card names the tool as its function

  @R4-08
  Rule: Ids are not decoded

    Scenario Outline: "<member>" comes back as <value>, which looks encoded
      Given a Tool Service
      And a command for the echo probe
      And the command's "<member>" is <value>
      When the worker sends the command
      Then the callback's "<member>" is the command's

      Examples:
        | member        | value                          |
        | agent_turn_id | "turn_Zm8v+Yg%3D%3D:{unique}"  |
        | tool_call_id  | "call_Zm8v+Yg%3D%3D:{unique}"  |

  @R4-08
  Rule: A command without a step gets none back

    Scenario: The report of a command without a step has none that its author made up
      Given a live Tool Service
      And a command for the echo probe
      And the command lacks "step_id"
      When the worker sends the command
      Then the refused command is answered, or the scenario does not apply
      And the callback's "step_id" is the command's

  @R4-08
  Rule: An argument is no part of the identity

    Scenario Outline: "<member>" comes back where an argument is called so
      Given a Tool Service
      And a command for the echo probe
      And the tool.call card's argument "<member>" is <value>
      When the worker sends the command
      Then the callback's "<member>" is the command's

      Examples:
        | member        | value                 |
        | agent_id      | "ag_helper"           |
        | agent_turn_id | "turn_other_{unique}" |
        | tool_call_id  | "call_other_{unique}" |
        | turn_epoch    | 99                    |

  @R4-08
  Rule: An id may be long, and have any characters that a header has

    Scenario Outline: "<member>" comes back as <value>, in full
      Given a Tool Service
      And a command for the echo probe
      And the command's "<member>" is <value>
      When the worker sends the command
      Then the callback's "<member>" is the command's

      Examples:
        | member       | value                |
        | agent_id     | "ag_navigator_of_the_northern_coast_and_of_its_harbours" |
        | tool_call_id | "call 9x:{unique}"   |
        | tool_call_id | "call_9x#1:{unique}" |
